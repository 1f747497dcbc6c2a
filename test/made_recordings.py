# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings as arms would give them: motions, torques by the Newton-Euler recursion, noise."""

from dataclasses import replace

import numpy as np

from franka_dynamics.arm import LinkInertia, MaxwellSlipFriction
from franka_dynamics.arm.friction import friction_along
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.recordings.recording import Recording

_STRONGEST = 87.0  # [N m], by which noise and friction of a joint are scaled
_START_NS = 1_700_000_000_000_000_000


def recorded(arm, time, q, dq, ddq, *, friction=None, noise=0.0, rng=None):
    """Return the recording of a motion (N, n): torques by Newton-Euler, friction, white noise."""
    effort = NewtonEulerModel(arm).inverse_dynamics(q, dq, ddq)
    if friction is not None:
        effort = effort + friction_along(friction, q, dq)
    if rng is not None:
        effort = effort + noise * rng.standard_normal(q.shape)
    stamp_ns = _START_NS + np.round(time * 1e9).astype(np.int64)
    return Recording('made', '/joint_states', arm.joint_names, stamp_ns, q, dq, effort)


def simulate(arm, *, duration=12.0, rate=30.0, noise=0.0, friction=None, seed=0):
    """Return the recording of a seeded Fourier series within an arm's limits, with exact dq."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(duration * rate) + 1) / rate
    harmonics = 2.0 * np.pi * np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    phase = np.multiply.outer(time, harmonics)
    a, b = rng.uniform(-1.0, 1.0, (2, len(harmonics), arm.n))
    # The middle of each joint's range, and at most 0.8 of the way to its ends.
    middle = 0.5 * (arm.limit('upper') + arm.limit('lower'))
    scale = (0.4 * (arm.limit('upper') - arm.limit('lower'))) / (np.abs(a) + np.abs(b)).sum(axis=0)
    q = middle + scale * (np.sin(phase) @ a + np.cos(phase) @ b)
    dq = scale * ((harmonics * np.cos(phase)) @ a - (harmonics * np.sin(phase)) @ b)
    ddq = -scale * ((harmonics**2 * np.sin(phase)) @ a + (harmonics**2 * np.cos(phase)) @ b)
    return recorded(arm, time, q, dq, ddq, friction=friction, noise=noise, rng=rng)


def smooth_motion(arm, seconds, rate, seed, widest=0.4):
    """Return time and q, dq, ddq (N, n) of incommensurate sines about an arm's home pose."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(seconds * rate)) / rate
    omega = 2.0 * np.pi * rng.uniform(0.3, 1.0, (4, arm.n)) * 0.3
    phase = time[:, None, None] * omega + rng.uniform(0.0, 2.0 * np.pi, (4, arm.n))
    reach = widest / (1.0 + np.arange(4))[:, None]
    return (
        time,
        np.asarray(arm.home) + (reach * np.sin(phase)).sum(axis=1),
        (reach * omega * np.cos(phase)).sum(axis=1),
        -(reach * omega**2 * np.sin(phase)).sum(axis=1),
    )


def least_jerk_work(rng, home, start, reach, rows, rate):
    """Return q, dq, ddq (3, rows, n) of least jerk from pose to pose near home, with pauses."""
    motion = np.zeros((3, rows, len(home)))
    pose = start
    row = 0
    while row < rows:
        target = home + reach * rng.uniform(-1.0, 1.0, len(home))
        takes = rng.uniform(1.5, 4.0)
        steps = min(round(takes * rate), rows - row)
        s = np.arange(steps)[:, None] / rate / takes
        least_jerk = (
            10 * s**3 - 15 * s**4 + 6 * s**5,
            (30 * s**2 - 60 * s**3 + 30 * s**4) / takes,
            (60 * s - 180 * s**2 + 120 * s**3) / takes**2,
        )
        motion[:, row : row + steps] = np.array(least_jerk) * (target - pose)
        motion[0, row : row + steps] += pose
        row += steps
        pause = round(rng.uniform(0.0, 0.8) * rate)
        motion[0, row : row + pause] = target
        pose = target
        row = row + pause
    return motion


def slow_work(arm, friction, seed, *, duration=40, rate=100.0, noise=0.15, reach=0.25, resting=()):
    """
    Return the recording of an arm led from pose to pose near home, with pauses.

    Joints in `resting` move a fiftieth of that. Torques have friction, white noise [N m] and a
    drift, both scaled by the joints' torque limits.
    """
    rng = np.random.default_rng(seed)
    home = np.array(arm.home)
    time = np.arange(round(duration * rate) + 1) / rate
    share = np.full(arm.n, reach)
    share[list(resting)] /= 50.0
    start = home + share * rng.uniform(-1.0, 1.0, arm.n)
    motion = least_jerk_work(rng, home, start, share, len(time), rate)
    scale = arm.limit('effort') / _STRONGEST
    drift = 0.01 * np.cumsum(rng.standard_normal(motion[0].shape), axis=0) / np.sqrt(rate)
    log = recorded(arm, time, *motion, friction=friction, noise=noise * np.sqrt(scale), rng=rng)
    return replace(
        log,
        q=log.q + 1e-5 * rng.standard_normal(log.q.shape),
        dq=log.dq + 2e-3 * rng.standard_normal(log.q.shape),
        effort=log.effort + scale * drift,
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
        drawn(-0.1, 0.1),
        np.array([drawn(0.1, 0.5), drawn(0.1, 0.6)]),
        np.array([0.004, 0.3]),
    )


def with_load(motion, arm, mass):
    """Return a motion with the torques that a load at the flange adds by calculation."""
    body = LinkInertia.from_center_of_mass(mass, (0.0, 0.0, 0.08), 1e-3 * mass * np.eye(3))
    states = motion.q, motion.dq, motion.ddq
    models = NewtonEulerModel(arm.with_payload(body)), NewtonEulerModel(arm)
    loaded, bare = (model.inverse_dynamics(*states) for model in models)
    return replace(motion, effort=motion.effort + loaded - bare)
