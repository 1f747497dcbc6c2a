# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Computes disturbance torques over a recording by the measured one, and learns their bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .disturbance import disturbance_bounds, MAX_COUNTED_STEP_S, MAX_DISTURBANCE_TIME_S
from .external_torque import MAX_GAP_S, MomentumObserver, OBSERVER_SETTLING_TIME_S
from ..arm import ArmDescription
from ..arm.friction_state import FrictionState
from ..dynamics.model import GRAVITY
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import RecordingError
from ..typing import Array

# Ratio of a learnt bound to the largest disturbance torque of a recording without contact. Hours
# of operation bring larger ones than minutes of recording.
LEARNING_MARGIN_RATIO = 1.5
NOT_JUDGED = (
    f'The guard is not judged: it starts anew after each gap of more than {MAX_GAP_S:g} s between '
    'states, which come too slowly here; record the topic at its full rate.'
)


@dataclass(frozen=True, eq=False)
class DisturbanceReplay:
    """
    Result of running the momentum observer over a recording.

    `share`, shape (n,), is the largest disturbance torque of each joint as a share of its default
    bound. `watched` is the time during which they were counted [s], `stopped` when the core would
    have stopped the arm, counted from the first state [s]; NaN if never. `judged` is whether they
    were counted at most states.
    """

    share: Array
    watched: float
    stopped: float
    judged: bool


def replay_disturbances(
    arm: ArmDescription,
    time: Array,
    q: Array,
    dq: Array,
    effort: Array,
    *,
    gravity: ArrayLike = GRAVITY,
    progress: Callable[[int, int], None] | None = None,
) -> DisturbanceReplay:
    """
    Compute the disturbance torques of recorded joint states by the momentum observer, one by one.

    `arm` includes the payload that the arm carried during the recording. Torques of the friction
    model `arm.friction`, unless None, are subtracted from the measured efforts (by default the
    node subtracts friction for the target fci only). `time`, shape (N,), are increasing stamps
    [s], `q` [rad], `dq` [rad/s] and the measured torque `effort` [N m] have shape (N, n),
    `gravity` is in the space frame [m/s^2]. `progress` is called every 500 states with the number
    of states done and the number of all states.
    """
    bound, observer = disturbance_bounds(arm)[1], MomentumObserver(PinocchioModel(arm, gravity))
    friction, external = FrictionState(arm.friction), np.empty_like(effort)
    for k, stamp in enumerate(time.tolist()):
        friction.update(stamp, q[k])
        torque = effort[k] - friction.torque(dq[k])
        external[k] = np.abs(observer.update(stamp, q[k], dq[k], torque))
        if progress is not None and k % 500 == 0:
            progress(k, len(time))
    elapsed = np.diff(time, prepend=time[0])
    # The observer restarts after a gap. It has settled after four times its own settling time,
    # even if states come slowly or the arm moved then.
    restarted = np.maximum.accumulate(np.where(elapsed > MAX_GAP_S, time, time[0]))
    settled = time - restarted > 4.0 * OBSERVER_SETTLING_TIME_S
    largest = external.max(axis=0, where=settled[:, None], initial=0.0)
    over = settled & (external > bound).any(axis=1)
    total = np.cumsum(np.minimum(elapsed, MAX_COUNTED_STEP_S) * over)
    held = total - np.maximum.accumulate(np.where(over, 0.0, total)) >= MAX_DISTURBANCE_TIME_S
    stopped = float(time[held.argmax()] - time[0]) if held.any() else float('nan')
    watched, judged = float(elapsed[settled].sum()), bool(settled.mean() > 0.5)
    return DisturbanceReplay(largest / bound, watched, stopped, judged)


def learn_joint_factors(replay: DisturbanceReplay) -> tuple[float, ...]:
    """
    Return the parameter guard.joint_factors from the replay of a recording without contact.

    Each joint's bound becomes LEARNING_MARGIN_RATIO times the largest one, but never lower
    than the default: a short recording can show that a bound is too low, not that a bound is too
    high. Raises RecordingError if the replay is not `judged`.
    """
    if not replay.judged:
        raise RecordingError(NOT_JUDGED)
    factors = np.maximum(1.0, LEARNING_MARGIN_RATIO * replay.share)
    # Factors are rounded up, so that a factor in a parameter file is never too low.
    return tuple((np.ceil(1e3 * factors) * 1e-3).round(3).tolist())
