# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds joints whose torques arrive late, reversed or at another joint.

Where a joint gets another torque than is sent to it, the difference either follows what is sent or
does not. Torques in another order, late or reversed do: braking drives the arm, and letting go
ends it. What somebody else adds, such as gravity, a load or a second controller, does not: letting
go leaves the arm to it. So both are fitted to the last states, each with the inertia of the rotors
between drive and sensor, which the model lacks:

    received(t) = +- sent(t - delay) to some joint - J ddq(t), with one delay for all joints
    received(t) = sent(t - short delay) + a constant - J ddq(t)

Where received torques are estimated, those of other joints count with a short delay only.

Few states tell only a joint's own reversed torque from a push, and so do more while no other joint
misses its own torque: an exchange shows in two. Where a single joint gets much, and the other one
hardly misses its own, an estimated torque must fit closely. A joint that gets next to nothing is
no evidence: its torque may be lost, or another joint may get it, to which little is sent.
"""

import numpy as np

from ..arrays import Array, NDArray

# Delays of torques, in states: what a receiver in order may have, from which on braking with its
# time constant is given up, and the longest that is looked for.
MAX_USUAL_DELAY_STEPS = 5
MIN_WRONG_DELAY_STEPS = 2 * MAX_USUAL_DELAY_STEPS
MAX_FITTED_DELAY_STEPS = 50
# Torques that are estimated by the motion rise and fall gradually, so at longer delays one of many
# joints fits a push by chance, as in 9 of 10 pushes of an FR3's flange that were taken for that.
MAX_EXCHANGE_DELAY_STEPS = 20
# So many of the last states are fitted: 50 ms at 1 kHz. No more than a short delay say nothing.
FITTED_STATE_COUNT, MIN_FITTED_STATE_COUNT = MAX_FITTED_DELAY_STEPS, MAX_USUAL_DELAY_STEPS + 1
MAX_ROTOR_INERTIA_KG_M2 = 0.25  # MuJoCo Menagerie has 0.195 for the FR3's largest
# What was sent explains received torques if it leaves these shares of what constants leave, where
# they are measured and where they are estimated from the motion. In 80 runs of three makes of
# plant (draws 61 and 62 of benchmarks/guard_misconfiguration.py) shares were at most 0.3 at some
# time where torques were mixed up, else at least 0.6, and 0.47 without measured torque.
MAX_MEASURED_TO_CONSTANT_RESIDUAL, MAX_ESTIMATED_TO_CONSTANT_RESIDUAL = 0.5, 0.35
# The latter where one joint gets what another hardly misses. The least share of four such pushes,
# taken for exchanges (7 to 11 rad/s in three), was 0.23; exchanges need more than 0.15.
MAX_UNPAIRED_TO_CONSTANT_RESIDUAL = 0.2
# Torques below this share of the bound on noticeable ones are next to nothing.
MIN_RECEIVED_TO_NOTICEABLE_TORQUE = 0.6
KEPT_STATE_COUNT = FITTED_STATE_COUNT + MAX_FITTED_DELAY_STEPS


def find_misdirected_joints(
    samples: Array, excess_bound: Array, noticeable_bound: Array, period: float, *, measured: bool
) -> NDArray[np.bool_] | None:
    """
    Return the mask (n,) of joints found to get reversed or exchanged torques, or None.

    None unless delayed, exchanged or reversed sent torques explain every received excess.
    `samples`, (N, 3+, n), are sent and received torques [N m], without the gravity that the target
    adds, and velocities, at the last states. There must be an excess above `excess_bound`, (n,),
    and all above `noticeable_bound`, (n,), count. `period` is the time between two states [s];
    `measured`: received torques are.
    """
    sent, received, dq = samples.swapaxes(0, 1)[:3]
    if not len(samples) or all((np.abs(received[-1] - sent[-1]) <= excess_bound).tolist()):
        return None
    excess = np.abs(received - sent)
    k, ddq = MAX_USUAL_DELAY_STEPS, np.zeros_like(dq)  # differentiated over k states
    ddq[k:] = (dq[k:] - dq[:-k]) / (k * period)
    joints = np.flatnonzero(excess[-1] > noticeable_bound).tolist()
    by_constants, by_sent, substantial = [], [], []  # of each of these
    for i in joints:
        count = _state_count_since_small_excess(excess[:, i] <= 0.5 * noticeable_bound[i])
        if count < MIN_FITTED_STATE_COUNT:
            return None
        torque, size = received[-count:, i], count * noticeable_bound[i] ** 2
        constant, residuals = _fit_residuals(sent, torque, ddq[-count:, i], i)
        misses_own = excess[-1] > np.minimum(noticeable_bound, noticeable_bound[i])
        if np.count_nonzero(misses_own) == 1:
            residuals[:, :, ~misses_own] = np.inf
        if not measured:
            residuals[MAX_EXCHANGE_DELAY_STEPS:, :, np.arange(len(excess_bound)) != i] = np.inf
        by_constants.append(constant / size)
        by_sent.append(residuals / size)
        substantial.append(torque @ torque > MIN_RECEIVED_TO_NOTICEABLE_TORQUE**2 * size)
    if not measured and substantial.count(True) == 1:
        one = substantial.index(True)
        poor = by_sent[one] > MAX_UNPAIRED_TO_CONSTANT_RESIDUAL**2 * by_constants[one]
        by_sent[one][poor & (excess[-1] <= noticeable_bound)] = np.inf
    delays = min(map(len, by_sent))
    fits = np.array([residuals[:delays] for residuals in by_sent])
    fits = fits[:, fits.min(axis=(2, 3)).sum(axis=0).argmin()]
    ratio = MAX_MEASURED_TO_CONSTANT_RESIDUAL if measured else MAX_ESTIMATED_TO_CONSTANT_RESIDUAL
    most = ratio**2 * np.array(by_constants)
    left = fits.min(axis=(1, 2)) - most
    if not (left.sum() < 0.0 and left[substantial].sum() < 0.0):
        return None
    misdirected = np.zeros(len(noticeable_bound), dtype=bool)
    for i, fit, limit in zip(joints, fits, most, strict=True):
        if fit[0, i] > max(limit, fit.min()):  # its own torque, late, does not explain it
            misdirected[[i, fit.argmin() % len(misdirected)]] = True
    return misdirected


def _state_count_since_small_excess(small_excess_mask: Array) -> int:
    """Return how many states followed the last small excess, at most FITTED_STATE_COUNT."""
    last = np.flatnonzero(small_excess_mask[::-1])
    return min(FITTED_STATE_COUNT, int(last[0]) if last.size else len(small_excess_mask))


def _fit_residuals(sent: Array, received: Array, ddq: Array, joint: int) -> tuple[float, Array]:
    """
    Return sums of squared residuals of two explanations of what one joint received.

    First that it got its own torque plus a constant (the least over usual delays), then that it
    got a torque sent to any joint, by delay, sign and joint, (k, 2, n); both with its inertia.
    `sent` has shape (N, n), `received` and `ddq` are those of the joint in the last states.
    """
    count, r, a = len(received), received, ddq
    delays = min(MAX_FITTED_DELAY_STEPS, len(sent) - count) + 1
    # (delays, n, count), the shortest delay first
    u = np.lib.stride_tricks.sliding_window_view(sent[-count - delays + 1 :], count, axis=0)[::-1]
    added = r - u[:MAX_USUAL_DELAY_STEPS, joint]
    added, varied = added - added.mean(axis=1, keepdims=True), a - a.mean()
    constant = _residual_sum((added * added).sum(axis=1), added @ varied, float(varied @ varied))
    (ru, au), uu = np.moveaxis(u @ np.stack((r, a), axis=1), -1, 0), np.einsum('dnt,dnt->dn', u, u)
    signs = np.array([1.0, -1.0])[:, None, None]
    delayed = _residual_sum(r @ r - 2.0 * signs * ru + uu, r @ a - signs * au, float(a @ a))
    delayed[0, :MIN_WRONG_DELAY_STEPS, joint] = np.inf  # in order
    delayed = delayed.swapaxes(0, 1)
    if count < MIN_WRONG_DELAY_STEPS:  # few states are like those of one of many others by chance
        delayed = delayed[:MAX_USUAL_DELAY_STEPS]
        delayed[:, 0], delayed[:, 1, np.arange(delayed.shape[2]) != joint] = np.inf, np.inf
    return float(constant.min()), delayed


def _residual_sum(torque_squared: Array, torque_times_ddq: Array, ddq_squared: float) -> Array:
    """
    Return the sum of squared torques left after a fit of rotor inertia times acceleration.

    `torque_times_ddq` is a sum, too, `ddq_squared` that of squared accelerations.
    """
    inertia = np.clip(-torque_times_ddq / max(ddq_squared, 1e-9), 0.0, MAX_ROTOR_INERTIA_KG_M2)
    return np.asarray(torque_squared + 2.0 * inertia * torque_times_ddq + inertia**2 * ddq_squared)
