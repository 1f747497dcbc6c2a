# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings as slow, teleoperated work gives them: poor motion, friction, drifting sensors."""

import numpy as np

from franka_dynamics.arm import MaxwellSlipFriction
from franka_dynamics.arm.friction import friction_along
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.recordings.recording import Recording

_STRONGEST = 87.0  # [N m], by which noise and friction of a joint are scaled


def slow_work(
    arm, friction, seed, *, duration=40.0, rate=100.0, noise=0.15, reach=0.25, resting=()
):
    """
    Return the recording of an arm led from pose to pose near home, with pauses.

    Between poses at most `reach` [rad] from home it moves in 1.5 to 4 s with least jerk. Joints
    in `resting` do a fiftieth of that. Torques come from the Newton-Euler recursion in DH frames
    with friction, white noise [N m] and a drift, both scaled by the joints' torque limits.
    """
    rng = np.random.default_rng(seed)
    home, time = np.array(arm.home), np.arange(round(duration * rate) + 1) / rate
    poses, at = [], 0.0
    q, dq, ddq = (np.zeros((len(time), arm.n)) for _ in range(3))
    share = np.full(arm.n, reach)
    share[list(resting)] /= 50.0
    poses = [home + share * rng.uniform(-1.0, 1.0, arm.n)]
    row = 0
    while row < len(time):
        poses.append(home + share * rng.uniform(-1.0, 1.0, arm.n))
        at, steps = rng.uniform(1.5, 4.0), 0
        steps = min(round(at * rate), len(time) - row)
        s = np.arange(steps)[:, None] / rate / at
        way = poses[-1] - poses[-2]
        moving = slice(row, row + steps)
        q[moving] = poses[-2] + (10 * s**3 - 15 * s**4 + 6 * s**5) * way
        dq[moving] = (30 * s**2 - 60 * s**3 + 30 * s**4) * way / at
        ddq[moving] = (60 * s - 180 * s**2 + 120 * s**3) * way / at**2
        row += steps
        pause = round(rng.uniform(0.0, 0.8) * rate)
        q[row : row + pause] = poses[-1]
        row += pause
    scale = arm.limit('effort') / _STRONGEST
    drift = 0.01 * np.cumsum(rng.standard_normal(q.shape), axis=0) / np.sqrt(rate)
    effort = (
        NewtonEulerModel(arm).inverse_dynamics(q, dq, ddq)
        + friction_along(friction, q, dq)
        + noise * np.sqrt(scale) * rng.standard_normal(q.shape)
        + scale * drift
    )
    stamp_ns = 1 + np.round(time * 1e9).astype(np.int64)
    return Recording(
        f'run{seed}',
        '/joint_states',
        arm.joint_names,
        stamp_ns,
        q + 1e-5 * rng.standard_normal(q.shape),
        dq + 2e-3 * rng.standard_normal(q.shape),
        effort,
    )


def drawn_friction(arm, seed):
    """Return friction with both slip elements, of the size that joints of such arms have."""
    rng = np.random.default_rng(seed)
    part = np.where(arm.limit('effort') > 50.0, 1.0, 0.35)

    def drawn(low, high):
        return part * rng.uniform(low, high, arm.n)

    return MaxwellSlipFriction(
        drawn(0.2, 1.0),
        drawn(0.1, 0.5),
        drawn(0.0, 0.2),
        drawn(-0.1, 0.1),
        np.array([drawn(0.1, 0.5), drawn(0.1, 0.6)]),
        np.array([0.004, 0.3]),
    )
