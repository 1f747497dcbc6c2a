# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Synthetic logs with what logs from elsewhere had: vibration, strong friction, a fitted hand."""

from dataclasses import replace

import numpy as np

from franka_dynamics.arm.friction import friction_along, ViscousCoulombFriction
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.recordings.recording import Recording

START_NS = 1_700_000_000_000_000_000


def motion(arm, seconds, rate, seed=0, widest=0.15):
    """Return time, q, dq, ddq of a smooth motion about the arm's home pose, (N, n) each."""
    rng = np.random.default_rng(seed)
    time = np.arange(round(seconds * rate)) / rate
    omega = 2.0 * np.pi * rng.uniform(0.3, 1.0, (4, arm.n)) * 0.3
    phase = time[:, None, None] * omega + rng.uniform(0.0, 2.0 * np.pi, (4, arm.n))
    reach = widest / (1.0 + np.arange(4))[:, None]
    home = np.asarray(arm.home)
    return (
        time,
        home + (reach * np.sin(phase)).sum(axis=1),
        (reach * omega * np.cos(phase)).sum(axis=1),
        -(reach * omega**2 * np.sin(phase)).sum(axis=1),
    )


def carried(arm, seconds=20.0, rate=100.0, seed=0, noise=0.0, widest=0.15):
    """Return the log of an arm with the hand of its description, friction as of its file."""
    time, q, dq, ddq = motion(arm, seconds, rate, seed, widest)
    effort = NewtonEulerModel(arm).inverse_dynamics(q, dq, ddq)
    if arm.friction is not None:
        effort = effort + friction_along(arm.friction, q, dq)
    effort = effort + noise * np.random.default_rng(seed).standard_normal(q.shape)
    stamp_ns = START_NS + np.round(time * 1e9).astype(np.int64)
    return Recording('foreign', '/joint_states', arm.joint_names, stamp_ns, q, dq, effort)


def geared(arm, coulomb, seconds=30.0, rate=125.0, seed=0, noise=0.0, widest=0.15):
    """Return the log of an arm whose gears rub by `coulomb` [N m], a number or one a joint."""
    rubbing = coulomb * np.ones(arm.n)
    friction = ViscousCoulombFriction(0.1 * rubbing, rubbing, np.zeros(arm.n))
    return carried(replace(arm, friction=friction), seconds, rate, seed, noise, widest)


def teleoperated(arm, amplitude, joint=3, frequency=12.0, seconds=40.0, rate=100.0, seed=0):
    """
    Return the log of an arm that vibrates by `amplitude` [N m] in bursts, as followers do.

    The torque sensor of `joint` (from 0) sees the vibration, the encoders next to nothing of it.
    """
    log = carried(arm, seconds, rate, seed, noise=0.05)
    bursts = np.maximum(0.0, np.sin(2.0 * np.pi * 0.2 * log.time)) ** 4
    shaken = bursts * np.sin(2.0 * np.pi * frequency * log.time)
    return replace(log, effort=log.effort + np.outer(shaken, amplitude * np.eye(arm.n)[joint]))
