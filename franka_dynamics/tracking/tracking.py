# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Predicts a PD controller's tracking error along a recorded motion, for feedforward torques.

Where a stiff inner loop makes the measured torque tau_J the commanded one, a controller has to add
tau_J - g(q) along the measured motion, because the robot adds g(q). Its gain kp makes up for the
part that it does not feed forward: the tracking error is that part divided by kp.

The robot adds g(q) of its own model, whatever arm the controller knows. That is taken to be the
published arm of the same name, hand and payload, and the given arm where there is none.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import with_argument_checks
from ..arm import ArmDescription
from ..arm.friction import LinearFriction
from ..arm.robot_arm import published_arm, robot_arm
from ..arm_io import ArmLike, as_description
from ..arrays import Array, ArrayLike
from ..constants import GRAVITY
from ..control.settings import values_per_joint
from ..control.terms import FrictionFeedforward
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import SettingsError
from ..recordings.options import SignalOptions
from ..recordings.preprocessing import Motion, to_motion
from ..recordings.recording import read_recording, Recording
from ..recordings.replay import filtered_friction

FRANKA_ROS2_NAME = 'franka_ros2'
# kp and kd of franka_ros2's joint_impedance_with_ik_example_controller [N m/rad, N m s/rad].
FRANKA_ROS2_GAINS = (600.0,) * 4 + (250.0, 150.0, 50.0), (30.0,) * 4 + (10.0, 10.0, 5.0)
# Where kd is not given, as franka_ros2's first four joints.
_KD_TO_KP_S = FRANKA_ROS2_GAINS[1][0] / FRANKA_ROS2_GAINS[0][0]
# A PD with such gains follows a motion up to this frequency.
_CUTOFF_FREQUENCY_HZ = 5.0
# Enough samples for it.
_MAX_SAMPLING_RATE_HZ = 200.0


@dataclass(frozen=True, eq=False)
class TrackingPrediction:
    """
    Predicted tracking errors of a PD controller with gains kp, kd along a recorded motion.

    It is a prediction: the measured motion is the reference, torques are made without error or
    delay, and no arm was moved. `errors` (k, n) [rad] are root mean squares by joint, one row for
    each of `feedforward_names`, which say what is fed forward. `kp` and `kd` are (n,)
    [N m/rad, N m s/rad].
    """

    joint_names: tuple[str, ...]
    kp: Array
    kd: Array
    feedforward_names: tuple[str, ...]
    errors: Array

    @property
    def total_errors(self) -> Array:
        """Rms tracking error over all joints with each feedforward torque, (k,) [rad]."""
        return np.asarray(np.sqrt(np.mean(self.errors**2, axis=1)))


def predict_tracking(
    recording: Recording | str | Path,
    arm: ArmLike,
    kp: ArrayLike | str,
    kd: ArrayLike | None = None,
    *,
    gravity: ArrayLike = GRAVITY,
) -> TrackingPrediction:
    """
    Predict a PD controller's tracking error along a motion for several feedforward torques.

    The terms are those of `arm` and, if it is not the published set of its name, of that as well.
    Friction is commanded with its offset (terms.friction and terms.offset) and with its margin
    (`FrictionFeedforward`), and without the margin where the arm knows one.

    Parameters
    ----------
    recording : Recording, str or Path
        The recorded motion with measured torques, gravity included, or the path of its bag.
    arm : ArmDescription, str or Path
        The arm, or its name or file.
    kp, kd : array_like, shape (n,), a number; kp also '600,...' or 'franka_ros2'
        The gains; kd is by default kp times 0.05 s, and with 'franka_ros2' its example's.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].

    Raises
    ------
    SettingsError
        If kp is not positive at every joint, or kd negative.
    RecordingError
        If the recording cannot be read or is too slow.

    """
    arm = as_description(arm)
    if not isinstance(recording, Recording):
        recording = with_argument_checks(read_recording)(recording, arm.joint_names)
    stiffness, damping = pd_gains(kp, kd, arm)
    rate = 1.0 / float(np.median(np.diff(recording.time)))
    signal = SignalOptions(min(rate, _MAX_SAMPLING_RATE_HZ), _CUTOFF_FREQUENCY_HZ)
    motion = to_motion(recording, signal)
    names = []
    errors = []
    for name, torque in _torques_left_to_gains(motion, arm, damping, gravity):
        names.append(name)
        errors.append(np.sqrt(np.mean((torque / stiffness) ** 2, axis=0)))
    return TrackingPrediction(arm.joint_names, stiffness, damping, tuple(names), np.array(errors))


def pd_gains(kp: Any, kd: ArrayLike | None, arm: ArmDescription) -> tuple[Array, Array]:
    """Return gains kp [N m/rad] and kd [N m s/rad], (n,); SettingsError if they are unusable."""
    if isinstance(kp, str) and kp == FRANKA_ROS2_NAME:
        kp = FRANKA_ROS2_GAINS[0]
        kd = FRANKA_ROS2_GAINS[1] if kd is None else kd
    elif isinstance(kp, str):
        try:
            kp = [float(number) for number in kp.split(',')]
        except ValueError:
            raise SettingsError(
                f'There are no gains {kp:.80}; give kp [N m/rad], one number or one for each '
                f'joint, or {FRANKA_ROS2_NAME}.'
            ) from None
    stiffness = values_per_joint('kp', kp, arm.n)
    damping = _KD_TO_KP_S * stiffness if kd is None else values_per_joint('kd', kd, arm.n)
    if not (stiffness > 0.0).all() or (damping < 0.0).any():
        raise SettingsError(
            'A tracking error is predicted for a kp above zero at every joint, and a kd of zero '
            f'or more; got kp {stiffness.tolist()!s:.80} and kd {damping.tolist()!s:.80}.'
        )
    return stiffness, damping


def _torques_left_to_gains(
    motion: Motion, arm: ArmDescription, kd: Array, gravity: ArrayLike
) -> Iterator[tuple[str, Array]]:
    """Yield each feedforward's name, and the torque that PD feedback adds to it, (N, n) [N m]."""
    q = motion.q
    dq = motion.dq
    ddq = motion.ddq
    effort = motion.effort
    published = published_arm(arm)
    robot = robot_arm(arm)
    gravity_left = effort - PinocchioModel(robot, gravity).gravity(q)
    yield 'PD that damps to rest', gravity_left + kd * dq
    yield 'PD with velocity reference', gravity_left
    arms = _named_arms(arm, published)
    rigid_torques = {}
    left_torques = {}
    for name, known_arm in arms.items():
        model = PinocchioModel(known_arm, gravity)
        rigid_torques[name] = model.inverse_dynamics(q, dq, ddq)
        left_torques[name] = gravity_left - (rigid_torques[name] - model.gravity(q))
        yield f'+ C dq + M ddq, {name}', left_torques[name]
    for name, known_arm in arms.items():
        friction = known_arm.friction
        if friction is None:
            continue
        left_torque = left_torques[name]
        rigid_torque = rigid_torques[name]
        adds_other_gravity = (known_arm is arm) != (robot is arm)
        offset: Array | float = 0.0
        if isinstance(friction, LinearFriction):
            offset = friction.offset_to_command(adds_other_gravity)
        if isinstance(friction, LinearFriction) and friction.covariance is not None:
            friction_torque = filtered_friction(friction, motion, rigid_torque)
            offset_change = offset - friction.offset
            without_margin = left_torque - friction_torque - offset_change
            yield f'+ friction, {name}, without margin', without_margin
        feedforward = FrictionFeedforward(friction)
        commanded_torque = _commanded_friction(feedforward, motion, rigid_torque) + offset
        yield f'+ friction, {name}', left_torque - commanded_torque


def _named_arms(
    arm: ArmDescription, published: ArmDescription | None
) -> dict[str, ArmDescription]:
    """Return the published arm of equal name, if there is another, and the arm, by their names."""
    taken_names = ['', 'published']
    if published is not None:
        taken_names.append(published.inertial_set)
    own_name = 'this arm' if arm.inertial_set in taken_names else arm.inertial_set
    return {own_name: arm} if published is None else {'published': published, own_name: arm}


def _commanded_friction(
    feedforward: FrictionFeedforward, motion: Motion, rigid_torque: Array
) -> Array:
    """
    Return the friction commanded along a motion, filtered like its efforts, (N, n) [N m].

    It is that of the recorded states, because filtered positions turn later and less often. Only
    what grows with the load is of the filtered states, at which `rigid_torque` (N, n) [N m] is
    known.
    """
    torque_along = feedforward.torque_along

    def without_load(q: Array, dq: Array) -> Array:
        """Return the friction torque of bodies without torque, (N, n, 1) [N m]."""
        return torque_along(q, dq, np.zeros_like(dq))[..., None]

    commanded = motion.filter(without_load)[..., 0]  # (N, n), N m
    if not feedforward.grows_with_load:
        return commanded
    for piece_id in np.unique(motion.piece_ids):
        in_piece = motion.piece_ids == piece_id
        q = motion.q[in_piece]
        dq = motion.dq[in_piece]
        with_load = torque_along(q, dq, rigid_torque[in_piece])
        commanded[in_piece] += with_load - without_load(q, dq)[..., 0]
    return commanded
