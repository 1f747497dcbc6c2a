# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Deviations of the external torque of an identified arm where nobody touches it.

What identified arms leave on left-out motion is what an estimate of external torque shows without
contact. Below the cut-off of a replay it is the residual of the parts left out of the fits; the
momentum observer passes vibration, too, and is therefore run along the recordings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from .results import Identification
from ..arm import ArmDescription, FrictionModel, MaxwellSlipFriction
from ..arm.arm_fields import TorqueDeviation
from ..arm.friction import friction_torque
from ..arm.friction_state import FrictionState
from ..arrays import Array, ArrayLike
from ..dynamics.external_torque import MomentumObserver, OBSERVER_SETTLING_TIME_S
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import FrankaDynamicsError
from ..fit.result_parts import TorqueErrors
from ..fit.sources import AnyRecording, as_recording
from ..recordings.preprocessing import Motion, without_idle_effort
from ..recordings.recording import Recording

# The observer runs along so many messages of so many recordings: 20 s each at 1 kHz.
MAX_OBSERVED_MESSAGE_COUNT = 20_000
MAX_OBSERVED_RECORDING_COUNT = 5
# Two deviations are to cover this share. Of a normal distribution with a known deviation 1.96 do;
# this one is estimated from stretches of one second, which count as independent, and motions that
# nobody has seen may leave more or less than those.
_COVERED_SHARE = 0.95
_KNOWN_STD_COUNT = 1.96
_MIN_DEVIATION = 1e-9  # [N m or N], of an arm without any residual


def with_torque_deviations(
    result: Identification, sources: Sequence[AnyRecording]
) -> Identification:
    """
    Return a result whose arms have the `torque_deviation` that recordings show.

    `sources` are the recordings used in the identification. One that cannot be read is left out,
    and so are stretches of zero efforts, which are no measurements; without a recording that is
    not filtered yet no arm gets deviations.
    """
    recordings = list(islice(_recordings(result, sources), MAX_OBSERVED_RECORDING_COUNT))
    if not recordings:
        return result
    published = result.published_fit
    return replace(
        result,
        arm=_with_deviation(result.arm, result.arm_errors, result, recordings),
        published_fit=replace(
            published,
            arm=_with_deviation(published.arm, published.errors, result, recordings),
        ),
    )


def _recordings(result: Identification, sources: Sequence[AnyRecording]) -> Iterator[Recording]:
    """Yield the recordings along which the observer is run, with whole efforts."""
    for source in sources:
        if isinstance(source, Motion):
            continue  # it is filtered, and shows no vibration
        try:
            recording = as_recording(source, 'a recording', result.start)
            measured = without_idle_effort(recording)
            whole = result.options.with_whole_effort(measured, result.start)
        except FrankaDynamicsError:
            continue
        yield whole.select(slice(0, MAX_OBSERVED_MESSAGE_COUNT))


def _with_deviation(
    arm: ArmDescription,
    errors: TorqueErrors,
    result: Identification,
    recordings: Sequence[Recording],
) -> ArmDescription:
    """Return an arm with the deviations of its torque errors, on parts left out and observed."""
    from scipy.stats import t

    used = result.recordings
    seconds = sum(note.sample_count for note in used.notes) / used.signal.rate
    degrees_of_freedom = _degrees_of_freedom(seconds, errors.fold_errors)
    quantile = float(t.ppf(0.5 + 0.5 * _COVERED_SHARE, degrees_of_freedom))
    factor = quantile / _KNOWN_STD_COUNT
    left_out_variance = np.square(errors.test.per_joint)  # (n,), N^2 m^2
    fitted_variance = np.square(errors.train.per_joint)
    along_recordings = _observed_variance(arm, result.options.gravity, recordings)
    # The observer sees motion that the arm was fitted to: what is left more without it is added.
    left_more = np.maximum(left_out_variance - fitted_variance, 0.0)
    observed_variance = np.maximum(along_recordings + left_more, left_out_variance)
    deviation = TorqueDeviation(
        filtered=np.maximum(factor * np.sqrt(left_out_variance), _MIN_DEVIATION),
        observed=np.maximum(factor * np.sqrt(observed_variance), _MIN_DEVIATION),
        cutoff=used.signal.cutoff,
    )
    return replace(arm, torque_deviation=deviation)


def _degrees_of_freedom(seconds: float, part_errors: Sequence[float]) -> float:
    """
    Return the degrees of freedom with which torques of unseen motion are t-distributed.

    `part_errors` are E on each part left out. Where motions differ, so do the variances that they
    leave, and unseen motion has one of its own. If variances of parts are drawn like chi-squared
    ones of f degrees of freedom, their mean squared over their variance is f / 2 (Satterthwaite
    1946, "An approximate distribution of estimates of variance components", Biometrics 2(6)), and
    torques have about a t distribution of f. Of k parts k - 1 at least are taken.
    """
    of_samples = max(seconds - 1.0, 1.0)
    variances = np.square(part_errors)
    if len(variances) < 2 or not np.ptp(variances):
        return of_samples
    of_parts = 2.0 * float(np.mean(variances) ** 2 / np.var(variances, ddof=1))
    return min(of_samples, max(of_parts, len(variances) - 1.0))


def _observed_variance(
    arm: ArmDescription, gravity: ArrayLike, recordings: Sequence[Recording]
) -> Array:
    """
    Return the variance of the observer's external torque along recordings, (n,) [N^2 m^2].

    It is that of a normal distribution with the band that holds 95 % of the torques. Some joints
    vibrate, and a lost state makes a short peak: of a Rokae xMate3 Pro three peaks of a few
    milliseconds each would make a mean of squares four times too wide. The band hardly changes by
    them.
    """
    torques = np.concatenate([observed_torque(arm, one, gravity) for one in recordings])
    band = np.quantile(np.abs(torques), _COVERED_SHARE, axis=0)  # (n,), N m
    return np.square(band / _KNOWN_STD_COUNT)


def observed_torque(arm: ArmDescription, recording: Recording, gravity: ArrayLike) -> Array:
    """
    Return the momentum observer's external torque along a recording, (N, n) [N m].

    Friction of the arm is subtracted; the observer's first `OBSERVER_SETTLING_TIME_S` are left
    out. `gravity` is in the space frame [m/s^2]. The observer restarts after gaps of more than
    50 ms, and so at each message of a recording below 20 Hz: its torque then contains M ddq.
    """
    model = PinocchioModel(arm, gravity)
    observer = MomentumObserver(model)
    without_friction = recording.effort - _friction_along(arm.friction, recording, model)
    estimates = np.empty_like(recording.effort)
    states = zip(recording.time.tolist(), recording.q, recording.dq, without_friction)
    for k, (stamp, q, dq, effort) in enumerate(states):
        estimates[k] = observer.update(stamp, q, dq, effort)
    return estimates[recording.time > OBSERVER_SETTLING_TIME_S]


def _friction_along(
    friction: FrictionModel | None, recording: Recording, model: PinocchioModel
) -> Array:
    """Return the friction torque along a recording, (N, n) [N m], as `FrictionState` gives it."""
    if friction is None:
        return np.zeros_like(recording.effort)
    state = FrictionState(friction)
    load = None
    if state.grows_with_load:
        # Accelerations are not measured: the load is that of a steady motion, as in the guard.
        load = np.array([model.nonlinear_effects(*one) for one in zip(recording.q, recording.dq)])
    if not isinstance(friction, MaxwellSlipFriction):
        return friction_torque(friction, recording.dq, load)
    slip_states = np.empty((len(recording), *state.slip_state.shape))  # (N, k, n)
    for k, (stamp, q) in enumerate(zip(recording.time.tolist(), recording.q)):
        state.update(stamp, q)
        slip_states[k] = state.slip_state
    return friction.torque(recording.dq, slip_states, load)
