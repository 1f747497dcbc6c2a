# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Plans poses at which an arm rests, so that torques tell the mass and the centre of its load.

Poses are chosen one after the other from random ones, each so that the covariance of mass and
centre becomes as small as it can (Atkinson and Donev 1992, "Optimum Experimental Designs"). Each
is approached twice, all joints moving up and all joints moving down, because dry friction holds a
resting joint by a torque that has the sign of the approach.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .excitation_problem import ExcitationProblem, start_advice
from .limits import DEFAULT_REST_POSES, ExcitationLimits, MAX_REST_POSES, MIN_REST_POSES
from ..arm import ArmDescription, LinkInertia
from ..arrays import Array, ArrayLike
from ..constants import GRAVITY
from ..errors import IdentificationError
from ..motion.trajectory import rest_states, Trajectory

_CANDIDATE_COUNT = 1500
# All joints approach a pose from so far [rad or m]: far beyond what dry friction's gears yield.
_APPROACH_DISTANCE = 0.1
_APPROACH_DURATION_S = 1.0
_REST_DURATION_S = 2.0
_MAX_SPEED_TO_LIMIT = 0.3  # of velocity, and of acceleration
# The quintic from rest to rest over a distance s in a time T has the velocity 1.875 s / T and the
# acceleration 5.7735 s / T^2 at most.
_PEAK_VELOCITY = 1.875
_PEAK_ACCELERATION = 5.7735
_PATH_SAMPLE_COUNT = 40
# Places of first moment and mass among a link's ten parameters.
_REST_PARAMETERS = slice(6, 10)
# The criterion weighs deviations of the first moment of 1 kg [kg m] and of the mass [kg] by these.
_ALLOWED_DEVIATIONS = np.array([0.005, 0.005, 0.005, 0.02])
# Standard deviations of the weak prior, with which the first pose is chosen [kg m, kg].
_PRIOR_DEVIATIONS = np.array([1.0, 1.0, 1.0, 10.0])


@dataclass(frozen=True, eq=False)
class RestPosePlan:
    """
    Poses at rest, the motion that visits them, and what they tell of a load.

    `poses` (k, n) [rad or m] are in the order in which they were chosen, the most telling first.
    The motion goes from `start_position` (n,) to each time the nearest of those left, and back.
    `times` (m,) [s] and `positions` (m, n) are its points, at each of which the arm rests.
    `mass_std` [kg] and `center_std` (3,) [m] are the standard deviations for a load of 1 kg, from
    recordings of the motion without and with the load.
    """

    start_position: Array
    poses: Array
    times: Array
    positions: Array
    mass_std: float
    center_std: Array

    @property
    def trajectory(self) -> Trajectory:
        """The motion, quintics from rest to rest."""
        return Trajectory(self.times, rest_states(self.positions))


def plan_rest_poses(
    arm: ArmDescription,
    limits: ExcitationLimits,
    start: ArrayLike,
    *,
    pose_count: int = DEFAULT_REST_POSES,
    gravity: ArrayLike = GRAVITY,
    progress: Callable[[int, int], None] | None = None,
) -> RestPosePlan:
    """
    Return poses from which torques at rest tell mass and centre of a load, and a motion to them.

    Torques are checked with the arm's rated load, if it has one. All paths are straight lines of
    joints, which keep `limits`; where none leads from a pose to the next, the arm goes by `start`
    (n,) [rad or m]. `progress` is called with the number of poses found, and `pose_count`.

    Raises IdentificationError if `pose_count` is not 8 to 16, `start` keeps no limits, or too few
    poses can be reached.
    """
    if not MIN_REST_POSES <= pose_count <= MAX_REST_POSES:
        raise IdentificationError(
            f'{pose_count} poses are asked for; give {MIN_REST_POSES} to {MAX_REST_POSES}.'
        )
    start_position = arm.joint_vector(start, 'start')
    problem = ExcitationProblem(_with_rated_load(arm), limits, gravity)
    space = _Space(problem)
    if not space.is_free(start_position[None]):
        raise IdentificationError(
            'The start pose is beyond a limit, too near to the table or to the arm itself, or its '
            f'torques are too large; {start_advice(problem)}.'
        )
    candidates = _reachable_poses(space, arm, start_position)
    if len(candidates) < pose_count:
        raise IdentificationError(
            f'Only {len(candidates)} of {_CANDIDATE_COUNT} random poses can be reached from the '
            f'start pose, fewer than {pose_count}; lower --table or the margins, or choose '
            'another --start.'
        )
    chosen, covariance = _chosen_poses(arm, candidates, pose_count, gravity, progress)
    poses = candidates[chosen]
    times, positions = _motion(arm, space, start_position, poses)
    # Each pose gives two torques at rest without the load and two with it, of which the fit takes
    # the differences: the variances of the two recordings add up, and the two approaches halve
    # the sum.
    std = np.sqrt(np.diag(covariance))  # of first moment [kg m] and mass [kg], (4,)
    return RestPosePlan(
        start_position,
        poses,
        times,
        positions,
        mass_std=float(std[3]),
        center_std=std[:3],  # the first moment of 1 kg is its centre
    )


def _with_rated_load(arm: ArmDescription) -> ArmDescription:
    """Return an arm with what is left of its rated load as a point mass on the flange."""
    if arm.rated_load is None or arm.rated_load <= arm.carried_mass:
        return arm
    added_mass = arm.rated_load - arm.carried_mass
    return arm.with_payload(LinkInertia.from_center_of_mass(added_mass, np.zeros(3), np.zeros(6)))


class _Space:
    """What an arm at rest may occupy: its limits, the room above the table, its own links."""

    def __init__(self, problem: ExcitationProblem) -> None:
        """Keep the problem whose limits count."""
        self._problem = problem

    def is_free(self, q: Array) -> bool:
        """Return whether all poses (..., n) keep the limits at rest."""
        return bool(self.free_mask(q).all())

    def free_mask(self, q: Array) -> Array:
        """Return whether each pose (..., n) keeps the limits at rest, (...)."""
        at_rest = np.zeros_like(q)
        margins = self._problem.state_margins(q, at_rest, at_rest)
        return np.asarray(margins.min(axis=-1) >= 0.0)

    def is_path_free(self, first: Array, last: Array) -> bool:
        """Return whether the straight line between two poses (n,) keeps the limits."""
        share_of_path = np.linspace(0.0, 1.0, _PATH_SAMPLE_COUNT)[:, None]
        return self.is_free(first + share_of_path * (last - first))


def _reachable_poses(space: _Space, arm: ArmDescription, start: Array) -> Array:
    """Return random poses (k, n) with both approaches, on free straight lines from the start."""
    rng = np.random.default_rng(0)
    lower = np.maximum(arm.limit('lower'), start - np.pi) + _APPROACH_DISTANCE
    upper = np.minimum(arm.limit('upper'), start + np.pi) - _APPROACH_DISTANCE
    poses = rng.uniform(lower, upper, (_CANDIDATE_COUNT, arm.n))
    approach_offsets = _APPROACH_DISTANCE * np.array([-1.0, 0.0, 1.0])[:, None]
    with_approaches = poses[:, None] + approach_offsets  # (poses, 3, n)
    poses = poses[space.free_mask(with_approaches).all(axis=1)]
    # The arm comes to the place from which it approaches, and may leave from the pose.
    share_of_path = np.linspace(0.0, 1.0, _PATH_SAMPLE_COUNT)[:, None]
    for offset in (0.0, -_APPROACH_DISTANCE):
        ends = poses[:, None] + offset
        paths = start + share_of_path * (ends - start)  # (poses, samples, n)
        poses = poses[space.free_mask(paths).all(axis=1)]
    return poses


def _chosen_poses(
    arm: ArmDescription,
    candidates: Array,
    count: int,
    gravity: ArrayLike,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[int], Array]:
    """Return the indices of `count` poses, and the covariance (4, 4) of first moment and mass."""
    problem = ExcitationProblem(arm, ExcitationLimits(), gravity)
    at_rest = np.zeros_like(candidates)
    base_columns = problem.model.base.regressor(candidates, at_rest, at_rest)
    load_columns = base_columns @ problem.model.payload_to_base_matrix  # (poses, n, 10)
    rest_columns = load_columns[..., _REST_PARAMETERS]  # of first moment and mass
    whitened = rest_columns / problem.prior.expected_residual[:, None]
    pose_information = np.swapaxes(whitened, -1, -2) @ whitened  # (poses, 4, 4)
    information = np.diag(_PRIOR_DEVIATIONS**-2.0)
    chosen: list[int] = []
    for _ in range(count):
        covariances = np.linalg.inv(information + pose_information)  # with each pose added
        variances = np.diagonal(covariances, axis1=-2, axis2=-1)  # (poses, 4)
        cost = (variances / _ALLOWED_DEVIATIONS**2).sum(axis=-1)
        cost[chosen] = np.inf
        best = int(np.argmin(cost))
        chosen.append(best)
        information = information + pose_information[best]
        if progress is not None:
            progress(len(chosen), count)
    return chosen, np.asarray(np.linalg.inv(information))


def _motion(arm: ArmDescription, space: _Space, start: Array, poses: Array) -> tuple[Array, Array]:
    """Return times (m,) [s] and positions (m, n) of a motion to the poses in turn, and back."""
    times = [0.0]
    positions = [start]

    def add_point(duration: float, q: Array) -> None:
        """Add a point `duration` [s] after the last one, at which the arm rests at q (n,)."""
        times.append(times[-1] + duration)
        positions.append(q)

    def go(q: Array) -> None:
        """Add a move from rest to rest to a pose (n,)."""
        distance = np.abs(q - positions[-1])
        max_speed = _MAX_SPEED_TO_LIMIT * arm.limit('velocity')
        max_acceleration = _MAX_SPEED_TO_LIMIT * arm.limit('acceleration')
        by_speed = _PEAK_VELOCITY * distance / max_speed
        by_acceleration = np.sqrt(_PEAK_ACCELERATION * (distance / max_acceleration))
        add_point(max(_APPROACH_DURATION_S, by_speed.max(), by_acceleration.max()), q)

    for pose in _nearest_first(start, poses):
        below = pose - _APPROACH_DISTANCE
        above = pose + _APPROACH_DISTANCE
        if not space.is_path_free(positions[-1], below):
            go(start)
        for approached_from in (below, above):
            go(approached_from)
            go(pose)
            add_point(_REST_DURATION_S, pose)
    go(start)
    return np.array(times), np.array(positions)


def _nearest_first(start: Array, poses: Array) -> Iterator[Array]:
    """Yield poses (k, n), each time the nearest to the last one."""
    remaining = list(poses)
    last = start
    while remaining:
        distances = [np.abs(pose - last).max() for pose in remaining]
        last = remaining.pop(int(np.argmin(distances)))
        yield last
