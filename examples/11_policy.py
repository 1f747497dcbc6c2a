#!/usr/bin/env python3
# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A policy's joint targets at 30 Hz become feedforward torques at 1 kHz, without ROS.

A learned policy (LeRobot, a gymnasium environment) gives joint positions 10 to 50 times a second,
one target at a time or in chunks. Three controllers with the same weak PD gains follow a policy's
targets on a simulated arm: the PD torque alone with the latest target held, the single targets as
a smooth stream with feedforward, and chunks of targets with feedforward. For each controller a
line gives the rms error from the policy's motion at the delay at which this motion fits best, and
the delay; policy.png shows a joint's motions.

Replace the function `policy` by your policy, and `ArmSimulation` by your arm's interface.
"""

from dataclasses import replace

import numpy as np

try:
    from matplotlib.figure import Figure
    import mujoco  # noqa: F401
except ImportError as error:
    raise SystemExit(f"{error}; run, in the clone, pip install '.[sim,replay]'") from None

import franka_dynamics as fd
from franka_dynamics.simulation.arm_simulation import ArmSimulation

KP = (40.0, 40.0, 40.0, 40.0, 24.0, 24.0, 12.0)  # N m/rad
KD = (4.0, 4.0, 4.0, 4.0, 1.0, 1.0, 0.5)  # N m s/rad
STEP_S = 1e-3  # control cycle
PERIOD_S = 0.033  # time between two targets of the policy
CHUNK = 30  # targets in a chunk
CHUNK_EVERY = 15  # after so many targets the next chunk comes
SETTLE_S = 1.0
DURATION_S = 8.0
MOST_DELAY_S = 0.4  # largest delay that is tried
SWING = np.array([0.4, 0.2, 0.3, 0.2, 0.4, 0.3, 0.5])  # [rad]
SHOWN = 3  # the joint in the picture, counted from 0


def policy(arm, time):
    """Return the policy's joint positions (n,) [rad] at a time [s]; at rest before time zero."""
    x = np.clip(time / 2.0, 0.0, 1.0)
    swing = SWING * np.sin(2.0 * np.pi * 0.6 * time + np.arange(arm.n))
    return arm.home + x**3 * (10.0 - 15.0 * x + 6.0 * x**2) * swing


def send(controller, k, way):
    """Send the policy's k-th target, or every CHUNK_EVERY targets the next chunk."""
    arm = controller.description
    now = k * PERIOD_S
    if way == 'stream':
        controller.follow(policy(arm, now))
    elif k % CHUNK_EVERY == 0:
        ahead = PERIOD_S * np.arange(1, CHUNK + 1)  # replaces the rest of the previous chunk
        controller.follow([policy(arm, now + t) for t in ahead], ahead)


def follow(arm, way):
    """Return one controller's times (k,) [s] and positions (k, n) [rad]."""
    plant = fd.random_plant(arm)
    simulated = ArmSimulation(plant.arm, replace(plant.settings, gravity_compensation=True))
    controller = fd.Feedforward(arm, 'fci', kp=KP, kd=KD)
    every = round(PERIOD_S / STEP_S)
    rows = []
    for step in range(round((SETTLE_S + DURATION_S) / STEP_S)):
        state = simulated.read()
        count = step - round(SETTLE_S / STEP_S)
        if way == 'PD alone':
            target = policy(arm, max(0, count // every) * PERIOD_S)
            torque = KP * (target - state.position) - KD * state.velocity
        else:
            if count >= 0 and count % every == 0:
                send(controller, count // every, way)
            torque = controller.step(
                state.position, state.velocity, state.time, effort=state.effort
            )
            if controller.faulty:
                raise SystemExit(f'{way}: the controller stopped: {controller.status}')
        simulated.step(torque)
        rows.append((count * STEP_S, simulated.position))
    return tuple(np.array(column) for column in zip(*rows))


def delay_and_error(arm, times, positions):
    """Return the delay [s] at which the policy's motion fits `positions` best, and its error."""
    delays = np.arange(0.0, MOST_DELAY_S, 0.005)
    late = times > 2.0 + MOST_DELAY_S
    times = times[late][::10]
    positions = positions[late][::10]
    errors = [
        np.sqrt(np.mean((np.array([policy(arm, t - d) for t in times]) - positions) ** 2))
        for d in delays
    ]
    best = int(np.argmin(errors))
    return delays[best], errors[best]


def main() -> None:
    """Print errors and delays, and draw one joint's motions."""
    arm = fd.load('fr3')
    figure = Figure(figsize=(9.0, 4.0), layout='constrained')
    axes = figure.add_subplot()
    for way in ('PD alone', 'stream', 'chunks'):
        times, positions = follow(arm, way)
        delay, error = delay_and_error(arm, times, positions)
        print(f'{way}: {1e3 * error:.1f} mrad rms off, {1e3 * delay:.0f} ms late')
        axes.plot(times, positions[:, SHOWN], label=way)
    axes.plot(times, [policy(arm, time)[SHOWN] for time in times], 'k--', label='policy')
    axes.set(xlabel='time [s]', ylabel=f'{arm.joint_names[SHOWN]} [rad]')
    axes.legend(loc='upper right')
    figure.savefig('policy.png', dpi=110)


if __name__ == '__main__':
    main()
