# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loops closed over old states: their delay margins by linearisation, and arms simulated so."""

from dataclasses import fields

import numpy as np
from scipy.linalg import expm
import yaml

from franka_dynamics.control.default_gains import home_pose
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.supervision import SupervisionLimits
from franka_dynamics.resources import share_directory
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings

STEP_S = 1e-3
# Of an arm in Gazebo, as its parameter file has them.
_FILE = share_directory() / 'config' / 'feedforward' / 'gz_ros2_control.yaml'
_GIVEN = yaml.safe_load(_FILE.read_text(encoding='utf-8'))['/**']['ros__parameters']
LIMITS = SupervisionLimits(
    **{
        field.name: _GIVEN[field.name]
        for field in fields(SupervisionLimits)
        if field.name in _GIVEN
    }
)


def hold_radius(linear, kp, kd, period, age=0.0):
    """
    Return the spectral radius when each torque is held for a period [s]; stable below 1.

    That is a loop in which states come once per period, and are that old when they come: the age
    of the state that a torque belongs to grows from `age` to `age` + `period`, as it does while
    joint states are silent. Exact: one step takes the state from one sample to the next, through
    the torque before last and the last one, which the age puts there (Astrom, Wittenmark 1997,
    Computer-Controlled Systems, section 2.3).

    Parameters
    ----------
    linear : Linearization
        Of the forward dynamics at rest, without dependence on velocity.
    kp, kd : array_like, shape (n,)
        Gains of tau = g(q) - kp (q - q0) - kd dq.
    period : float
        How long a torque is held [s].
    age : float
        How old a state is when its torque begins to act [s].

    """
    n = len(linear.ddq)
    by_q, per_torque = linear.A[n:, :n], linear.B[n:]
    # g(q) is part of the feedback, and A_qq = -M^-1 dg/dq at rest.
    stiffness = np.diag(kp) + np.linalg.solve(per_torque, by_q)
    gain = np.hstack((stiffness, np.diag(kd)))

    def flow(time):
        """Return what a while makes of a state, and a constant feedback of it."""
        rates = np.zeros((4 * n, 4 * n))
        rates[: 2 * n, : 2 * n], rates[n : 2 * n, 2 * n :] = linear.A, -per_torque @ gain
        whole = expm(rates * time)
        return whole[: 2 * n, : 2 * n], whole[: 2 * n, 2 * n :]

    # From one sampled state to the next the torque of the sample `whole` + 1 before acts first,
    # for `rest`, then that of the sample `whole` before.
    whole = int(age / period)
    rest = age - whole * period
    (free, _), (then, late), (_, early) = flow(period), flow(period - rest), flow(rest)
    size = len(free)
    closed = np.eye(size * (whole + 2), k=-size)
    closed[:size] = 0.0
    closed[:size, :size] = free
    closed[:size, size * whole : size * (whole + 1)] += late
    closed[:size, size * (whole + 1) :] += then @ early
    return float(np.abs(np.linalg.eigvals(closed)).max())


def simulate(arm, gains, *, seconds, delay=0.0, gaps=(), gap=0.2, disturbed=0.0):
    """
    Return the largest error, that at the end [rad], and the stops, of an arm that holds home.

    Parameters
    ----------
    arm, gains
        Whose, and with what.
    seconds : float
        How long [s].
    delay : float
        Age of every state [s].
    gaps : sequence of float
        When the node hears nothing and computes nothing [s].
    gap : float
        How long each time [s].
    disturbed : float
        By how much it is moved after a second [rad].

    """
    start = home_pose(arm)
    kp, kd = (tuple(values) for values in gains)
    settings = Settings(target='mujoco', kp=kp, kd=kd, max_tracking_error=(0.0,))
    controller = FeedforwardController(arm, settings, LIMITS)
    # As under use_sim_time: stamps and clock are one time.
    controller.supervisor.ages_are_delays = True
    controller.enable()
    simulation = ArmSimulation(arm, SimulationSettings(start=start, brake_release_after=0.0))
    command, errors, readings, late = None, [], [], round(delay / STEP_S)
    for k in range(round(seconds / STEP_S)):
        reading = simulation.read()
        readings.append((reading.position, reading.velocity, reading.effort))
        now = STEP_S * k
        if not any(at <= now < at + gap for at in gaps) and k >= late:
            q, dq, effort = readings[k - late]
            cycle = controller.cycle(
                STEP_S * (k - late), q, dq, now, effort=effort, age=STEP_S * late
            )
            command = cycle.command if cycle.command is not None else command
            controller.update_monitors(cycle)
        if (torque := controller.stop_step(STEP_S)) is not None:
            command = torque
        if k == 1000:
            simulation.data.qpos[:] += disturbed
        if command is not None:
            simulation.step(command)
        errors.append(float(np.abs(simulation.position - start).max()))
    assert command is not None
    return max(errors), errors[-1], controller.counters.stops
