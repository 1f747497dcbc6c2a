# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Predicts how far and how late an arm follows a recorded motion under an impedance law.

Along the recorded motion q_r the arm needed the torque tau, its friction and load included. Under
a law with targets q_t the arm's deviation d = q - q_r obeys, to first order in d,

    M d'' + D d' + K d = K (q_t - q_r) + D (dq_t - dq_r) - (tau - g - C dq_r) - (f(dq) - f(dq_r))

with M, D and K at the recorded pose, and D dq_t = 0 where the law damps to rest. g is the gravity
torque that the robot adds, that of its own model (`robot_arm`). f is the friction
of the arm file, which changes with the velocity: the arm reverses later than its target. Of an arm
without known friction the last bracket is left out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .laws import tracking_law, TrackingLaw
from ..arguments import with_argument_checks
from ..arm import ArmDescription
from ..arm.friction import friction_torque, grows_with_load
from ..arm.robot_arm import robot_arm
from ..arm_io import ArmLike, as_description
from ..arrays import Array, ArrayLike
from ..constants import GRAVITY
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import RecordingError, require_extra, SettingsError
from ..recordings.options import SignalOptions
from ..recordings.preprocessing import Motion, to_motion
from ..recordings.recording import read_recording, Recording
from ..recordings.replay import filtered_load_friction

# What policies and people command is slower.
_CUTOFF_FREQUENCY_HZ = 5.0
_MAX_SAMPLING_RATE_HZ = 200.0
_STEP_S = 0.002  # of the integration; the fastest of the laws' poles are at some 100 rad/s
# The arm begins on the target, with its velocity: the softest law's transient is over by then.
_SETTLING_S = 1.0
_MAX_LAG_S = 0.6
# Rms error of all joints up to which a prediction is one. In closed loop on a simulated arm errors
# of 10 to 140 mrad were predicted to 13 %, one of 360 mrad to 12 %, and one of 1.1 rad at a third.
MAX_LINEAR_ERROR_RAD = 0.2
_MIN_SPEED_RAD_S = 0.005  # rms; the lag of a slower joint is not defined
_MIN_CHORD_SPEED_RAD_S = 1e-6  # smallest speed for the slope of friction's chord
_PROGRESS_STEPS = 1000


@dataclass(frozen=True, eq=False)
class LawPrediction:
    """
    Predicted lags and errors of an arm under k laws, along a recorded motion that is the target.

    `lags` (k, n) [s] are the delays after which the target is most like the motion, NaN for a
    joint that hardly moves; `total_lags` (k,) those of all joints together. `errors` (k, n) [rad]
    are root mean squares of target minus motion, `flange_errors` (k,) [m] those of the flange's
    distance from its target. `differences` (k,) [rad] are those of each law's
    motion from that of the first law, over all joints, for the same targets.
    """

    joint_names: tuple[str, ...]
    law_names: tuple[str, ...]
    lags: Array
    total_lags: Array
    errors: Array
    flange_errors: Array
    differences: Array

    @property
    def total_errors(self) -> Array:
        """Rms of target minus motion over all joints under each law, (k,) [rad]."""
        return np.asarray(np.sqrt(np.mean(self.errors**2, axis=1)))


def predict_laws(
    recording: Recording | str | Path,
    arm: ArmLike,
    laws: Sequence[TrackingLaw | str],
    *,
    gravity: ArrayLike = GRAVITY,
    progress: Callable[[int, int], None] | None = None,
) -> LawPrediction:
    """
    Predict lag and error of an arm that follows a recorded motion under each of several laws.

    Parameters
    ----------
    recording : Recording, str or Path
        The recorded motion with measured torques, gravity included, or the path of its bag.
    arm : ArmDescription, str or Path
        The arm, or its name or file, with the friction that it knows.
    laws : sequence of TrackingLaw or str
        The laws, or the names of published ones: polymetis, droid, crisp, franky.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    progress : callable, optional
        Called with the number of steps done, and of all.

    Raises
    ------
    SettingsError
        If there is no law of a name, no law at all, or gains do not fit the arm.
    RecordingError
        If the recording cannot be read, or is too slow or too short.
    MissingDependencyError
        If scipy is not installed.

    """
    arm = as_description(arm)
    chosen = [tracking_law(law) if isinstance(law, str) else law for law in laws]
    if not chosen:
        raise SettingsError('There is no law to predict; name one, such as droid.')
    if not isinstance(recording, Recording):
        recording = with_argument_checks(read_recording)(recording, arm.joint_names)
    paths = _recorded_paths(recording, arm, gravity)
    targets = [path.q for path in paths]
    settled_targets = np.concatenate([path.q[path.settled] for path in paths])  # (N, n), rad
    settled_speeds = np.concatenate([path.dq[path.settled] for path in paths])
    settled_motions = []  # under each law, (N, n)
    joint_lags = []
    total_lags = []
    flange_errors = []
    for motions in _motions_by_law(paths, chosen, progress):
        settled_motions.append(
            np.concatenate([q[path.settled] for q, path in zip(motions, paths)])
        )
        lags, total_lag = _lags(targets, motions, settled_speeds)
        joint_lags.append(lags)
        total_lags.append(total_lag)
        flange_gaps = [path.flange_gaps(q - path.q) for q, path in zip(motions, paths)]
        flange_errors.append(_rms(np.concatenate(flange_gaps)))
    return LawPrediction(
        joint_names=arm.joint_names,
        law_names=tuple(law.name for law in chosen),
        lags=np.array(joint_lags),
        total_lags=np.array(total_lags),
        errors=np.array([_rms(settled_targets - q, axis=0) for q in settled_motions]),
        flange_errors=np.array(flange_errors),
        differences=np.array([_rms(q - settled_motions[0]) for q in settled_motions]),
    )


def _rms(values: Array, axis: int | None = None) -> Array:
    """Return the root mean square of values, of all or along an axis."""
    return np.asarray(np.sqrt(np.mean(values**2, axis=axis)))


def _motions_by_law(
    paths: Sequence['_RecordedPath'],
    laws: Sequence[TrackingLaw],
    progress: Callable[[int, int], None] | None,
) -> Iterator[list[Array]]:
    """Yield for each law how the arm moves along each path, (steps, n) [rad]."""
    total_steps = len(laws) * sum(len(path.time) for path in paths)
    done_steps = 0
    for law in laws:
        motions = []
        for path in paths:

            def report(steps: int, before: int = done_steps) -> None:
                """Report the number of steps done."""
                if progress is not None:
                    progress(before + steps, total_steps)

            motions.append(path.q + path.deviation(law, report))
            done_steps += len(path.time)
        yield motions


def _recorded_paths(
    recording: Recording, arm: ArmDescription, gravity: ArrayLike
) -> list['_RecordedPath']:
    """Return a recording's pieces without gaps; RecordingError if none is long enough."""
    rate = 1.0 / float(np.median(np.diff(recording.time)))
    cutoff = min(_CUTOFF_FREQUENCY_HZ, 0.4 * rate)  # DROID's 15 Hz hold motions up to 6 Hz
    motion = to_motion(recording, SignalOptions(min(rate, _MAX_SAMPLING_RATE_HZ), cutoff))
    min_duration = 2.0 * _SETTLING_S
    pieces = [piece for piece in motion.pieces() if piece.time[-1] - piece.time[0] > min_duration]
    if not pieces:
        raise RecordingError(
            f'{recording.source} has no {min_duration:g} s without a gap, too short for the '
            'lag of a law; record longer.'
        )
    return [_RecordedPath(piece, arm, gravity) for piece in pieces]


class _RecordedPath:
    """
    A recorded motion without gaps, in steps of _STEP_S, with what a deviation from it obeys.

    `time` (N,) [s] begins at 0, `q` and `dq` are (N, n), and `settled` selects the samples after
    the transient from the first. Step i lies between the recorded samples `_before[i]` and
    `_before[i]` + 1, after `_fraction[i]` of the time between them.
    """

    def __init__(self, piece: Motion, arm: ArmDescription, gravity: ArrayLike) -> None:
        """Evaluate the model at the recorded states, and prepare the steps."""
        with require_extra('Predicting a law needs scipy', 'identify'):
            from scipy.interpolate import CubicHermiteSpline

        self._arm = arm
        self._piece = piece
        stamps = piece.time - piece.time[0]
        self._position = CubicHermiteSpline(stamps, piece.q, piece.dq)
        self._velocity = self._position.derivative()
        self.time = np.arange(int(stamps[-1] / _STEP_S) + 1) * _STEP_S
        self.settled = slice(round(_SETTLING_S / _STEP_S), None)
        self.q = self._position(self.time)
        self.dq = self._velocity(self.time)
        before = np.searchsorted(stamps, self.time, side='right') - 1
        self._before = np.minimum(before, len(stamps) - 2)
        stamps_before = stamps[self._before]
        self._fraction = (self.time - stamps_before) / (stamps[self._before + 1] - stamps_before)
        model = PinocchioModel(arm, gravity)
        self._inertia = model.mass_matrix(piece.q)  # M, (samples, n, n)
        self._flange_jacobian = model.jacobian(piece.q)[:, :3]  # (samples, 3, n)
        # tau - g - C dq - f(dq) along the recorded motion, (samples, n), N m.
        gravity_and_coriolis = model.inverse_dynamics(piece.q, piece.dq, np.zeros_like(piece.q))
        # The robot adds the gravity torque of its own model, not that of an identified arm.
        robot_gravity = PinocchioModel(robot_arm(arm), gravity).gravity(piece.q)
        own_gravity = model.gravity(piece.q)
        needed_torque = piece.effort - gravity_and_coriolis + own_gravity - robot_gravity
        friction = arm.friction
        if friction is not None:
            along = piece.filter(lambda _, dq: friction_torque(friction, dq, 0.0)[..., None])
            needed_torque = needed_torque - along[..., 0]
        # Friction that grows with the load has that of the recorded motion.
        self._load: Array | None = None
        if friction is not None and grows_with_load(friction):
            load = model.inverse_dynamics(piece.q, piece.dq, piece.ddq)
            needed_torque = needed_torque - filtered_load_friction(friction, piece, load)
            self._load = self._at_steps(load)
        self._needed_torque = self._at_steps(needed_torque)

    def _at_steps(self, values: Array) -> Array:
        """Return values (samples, n), interpolated linearly to the steps, (N, n)."""
        fraction = self._fraction[:, None]
        return np.asarray(
            (1.0 - fraction) * values[self._before] + fraction * values[self._before + 1]
        )

    def flange_gaps(self, deviation: Array) -> Array:
        """Return the flange's distances [m] from its target at `settled` steps, (N,)."""
        jacobian = self._flange_jacobian[self._before[self.settled]]  # (N, 3, n)
        flange_deviation = jacobian @ deviation[self.settled, :, None]  # (N, 3, 1), m
        return np.asarray(np.linalg.norm(flange_deviation[..., 0], axis=-1))

    def _targets(self, law: TrackingLaw) -> tuple[Array, Array]:
        """Return the positions and velocities that the law follows, (N, n) each."""
        sent_at = self.time - law.latency  # when the target that acts at each step was sent
        comes_in_steps = np.isfinite(law.target_rate)
        if comes_in_steps:
            # Rounding must not take the target before one that has just come.
            sent_at = np.floor(sent_at * law.target_rate + 1e-9) / law.target_rate
        sent_at = np.maximum(sent_at, 0.0)
        q = self._position(sent_at)
        dq = np.zeros_like(q)
        if law.has_target_velocity and not comes_in_steps:
            has_begun = (sent_at > 0.0)[:, None]
            dq = self._velocity(sent_at) * has_begun
        if np.isfinite(law.filter_cutoff):
            from scipy.signal import lfilter

            decay = float(np.exp(-2.0 * np.pi * law.filter_cutoff * _STEP_S))
            q = q[0] + lfilter([1.0 - decay], [1.0, -decay], q - q[0], axis=0)
            dq = lfilter([1.0 - decay], [1.0, -decay], dq, axis=0)
        return q, dq

    def deviation(self, law: TrackingLaw, report: Callable[[int], None]) -> Array:
        """
        Return the deviation (N, n) [rad] from the recorded motion that a law leaves.

        Damping and friction are integrated implicitly, the stiffness by the midpoint rule. Instead
        of friction's slope its chord from rest is taken, so that no joint reverses within a step.
        """
        stiffness, damping = law.joint_gains(self._arm, self._piece.q)  # (samples, n, n) each
        target, target_velocity = self._targets(law)
        friction = self._arm.friction
        friction_at_rest = np.zeros(self._arm.n)  # such as an offset
        if friction is not None:
            friction_at_rest = friction_torque(friction, friction_at_rest, 0.0)
        h = _STEP_S
        d = np.zeros(self._arm.n)  # deviation, rad
        d_rate = np.zeros(self._arm.n)
        deviations = np.empty_like(self.q)
        for i, (k, fraction) in enumerate(zip(self._before, self._fraction)):
            if i % _PROGRESS_STEPS == 0:
                report(i)
            deviations[i] = d
            K = (1.0 - fraction) * stiffness[k] + fraction * stiffness[k + 1]
            D = (1.0 - fraction) * damping[k] + fraction * damping[k + 1]
            M = (1.0 - fraction) * self._inertia[k] + fraction * self._inertia[k + 1]
            recorded_dq = self.dq[i]
            force = K @ (target[i] - self.q[i] - d) - self._needed_torque[i]
            force += D @ (target_velocity[i] - recorded_dq)
            # (M / h + D + h K / 2) d_rate at the next step = M / h d_rate now + force.
            matrix = M / h + D + 0.5 * h * K
            if friction is not None:
                dq = recorded_dq + d_rate
                dq[np.abs(dq) < _MIN_CHORD_SPEED_RAD_S] = _MIN_CHORD_SPEED_RAD_S
                load = None if self._load is None else self._load[i]
                chord_slope = (friction_torque(friction, dq, load) - friction_at_rest) / dq
                force -= friction_at_rest + chord_slope * recorded_dq
                matrix[np.diag_indices_from(matrix)] += chord_slope
            d_rate = np.linalg.solve(matrix, M @ d_rate / h + force)
            d = d + h * d_rate
        report(len(deviations))
        return deviations


def _lags(targets: list[Array], motions: list[Array], speeds: Array) -> tuple[Array, float]:
    """
    Return each joint's lag, (n,), and that of all joints [s], of motions behind their targets.

    A lag is the shift with the smallest mean square of target minus motion, each joint's mean
    left out: friction holds a joint beside its target. It is NaN where `speeds` (N, n) are small.
    """
    settling = round(_SETTLING_S / _STEP_S)
    max_shift = min(round(_MAX_LAG_S / _STEP_S), settling)
    mean_squares = np.zeros((max_shift + 1, targets[0].shape[1]))  # (shifts, n), rad^2
    for shift in range(max_shift + 1):
        differences = [
            motion[settling:] - target[settling - shift : len(target) - shift]
            for target, motion in zip(targets, motions)
        ]
        mean_squares[shift] = np.var(np.concatenate(differences), axis=0)
    is_moving = _rms(speeds, axis=0) > _MIN_SPEED_RAD_S
    lags = [
        _best_lag(squares) if moves else np.nan
        for squares, moves in zip(mean_squares.T, is_moving)
    ]
    total_lag = _best_lag(mean_squares.sum(axis=1)) if is_moving.any() else np.nan
    return np.array(lags), total_lag


def _best_lag(squares: Array) -> float:
    """Return the lag [s] with the smallest of `squares` (shifts,), by a parabola through three."""
    k = int(np.argmin(squares))
    if 0 < k < len(squares) - 1:
        before, here, after = squares[k - 1 : k + 2]
        curve = before - 2.0 * here + after
        if curve > 0.0:
            return float(_STEP_S * (k + 0.5 * (before - after) / curve))
    return k * _STEP_S
