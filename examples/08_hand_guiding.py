# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Simulate the force that guides an arm by hand, depending on what the controller compensates.

The controller compensates gravity, gravity and payload, or gravity, payload and friction. An arm
in MuJoCo with elastic joints, noisy sensors, a payload and the Maxwell-slip friction that was
identified from a real FER is pulled by its flange along a line, to and fro, and then let go. The
controller has no stiffness, and its reference follows the measured motion. In the case with
friction the controller adds the friction torque at the reference velocity, less two standard
deviations, and none below 0.005 rad/s. Run `python examples/08_hand_guiding.py`; it prints a
table and writes `hand_guiding.png`.
"""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pinocchio as pin

try:
    from matplotlib.figure import Figure
except ImportError as error:
    raise SystemExit(f"{error}; run, in the clone, pip install '.[sim,replay]'") from None

import franka_dynamics as fd
from franka_dynamics.arm import MaxwellSlipFriction
from franka_dynamics.control.feedforward import Feedforward
from franka_dynamics.control.settings import Settings
from franka_dynamics.errors import ReferenceRefusedError
from franka_dynamics.simulation.arm_simulation import (
    ArmSimulation,
    Push,
    SimulationSettings,
)
from franka_dynamics.simulation.joint_elasticity import franka_elasticity

STEP_S = 1e-3  # control cycle
PERIOD_S = 0.004  # time between two set-points
# Standard deviations of the coefficients of FRICTION, in the order of its fields.
DEVIATIONS = np.array(
    [
        [0.038, 0, 0, 0, 0.015, 0.031, 0],
        [0.031, 0.042, 0, 0.046, 0.026, 0.023, 0.025],
        [0.015, 0.038, 0.022, 0.025, 0.007, 0.011, 0.005],
        [0, 0.043, 0.02, 0.048, 0.026, 0, 0.026],
        [0.027, 0.018, 0, 0.013, 0.009, 0.02, 0.007],
    ]
)
# Friction that this package identified from a 1 kHz recording of a real FER (Gaz et al. 2019).
FRICTION = MaxwellSlipFriction(
    viscous=np.array([0, 0, 0, 0, 0.023, 0, 0]),
    coulomb=np.array([0.174, 0.107, 0, 0.299, 0.129, 0.111, 0.132]),
    offset=np.array([-0.163, -0.151, 0.052, -0.209, -0.032, 0.055, -0.006]),
    slip=np.array(
        [
            [0, 0.145, 0.242, 0.182, 0.162, 0, 0.14],
            [0.182, 0.037, 0, 0.142, 0.037, 0.102, 0.014],
        ]
    ),
    reach=np.array([0.004, 0.3]),
    covariance=np.array([np.diag(joint**2) for joint in DEVIATIONS.T]),
)
ARM = replace(fd.load('fer'), friction=FRICTION)
LOWER, UPPER, FASTEST = (ARM.limit(name) for name in ('lower', 'upper', 'velocity'))
# Mass, centre of mass and inertia of the payload, as arguments of libfranka's setLoad.
PAYLOAD = (0.8, 0.0, 0.0, 0.08, 0.002, 0.0, 0.0, 0.002, 0.0, 0.001)
NOTHING = (0.0,) * 10
# The hand: springs and dampers between the flange's planned and actual poses.
HAND_STIFFNESS = 1000.0  # N/m
HAND_DAMPING = 60.0  # N s/m
WRIST_STIFFNESS = 30.0  # N m/rad, against rotation
WRIST_DAMPING = 2.0  # N m s/rad
# Displacement of the hand [m], duration of one cycle to and fro [s], number of cycles.
WAY = np.array([0.10, 0.10, 0.05])
CYCLE_S = 4.0
CYCLES = 2
START_S = 1.0  # at rest before the motion
LET_GO_S = 2.0  # after the hand lets go
# Time constant of the low-pass filter of the velocity at which friction is compensated.
SMOOTHING_S = 0.01
CASES = {  # target of the controller, payload compensated, friction compensated
    'mujoco: gravity': ('mujoco', False, False),
    'mujoco: gravity, payload': ('mujoco', True, False),
    'mujoco: gravity, payload, friction': ('mujoco', True, True),
    'fci: gravity by the robot': ('fci', False, False),
    'fci: gravity by the robot, payload': ('fci', True, False),
}


def hand_wrench(time, start, pose, twist):
    """Return the force [N] and moment [N m] of the hand at the flange, base axes."""
    phase = 2.0 * np.pi / CYCLE_S
    since = min(max(time - START_S, 0.0), CYCLES * CYCLE_S)
    way = 0.5 * WAY * (1.0 - np.cos(phase * since))
    pace = 0.5 * WAY * phase * np.sin(phase * since)
    force = HAND_STIFFNESS * (start[:3, 3] + way - pose[:3, 3]) + HAND_DAMPING * (pace - twist[:3])
    turn = pin.log3(start[:3, :3] @ pose[:3, :3].T)
    return force, WRIST_STIFFNESS * turn - WRIST_DAMPING * twist[3:]


def run(target, payload, friction):
    """Return times [s], hand forces [N], flange positions [m] and joint velocities [rad/s]."""
    settings = Settings(
        target=target,
        terms=fd.Terms(inertia=False, friction=friction, offset=friction),
        payload=PAYLOAD if payload else NOTHING,
        payload_known_to_robot=False,
    )
    plant = SimulationSettings(
        payload=replace(settings, payload=PAYLOAD).payload_inertia(),
        friction=True,
        elasticity=franka_elasticity(ARM),
        gravity_compensation=target == 'fci',
        position_noise=2e-6,
        velocity_noise=3e-3,
        effort_noise=0.05,
        brake_release_after=0.1,
    )
    simulation = ArmSimulation(ARM, plant)
    controller = Feedforward(ARM, **vars(settings))
    home = ARM.home_position
    model = fd.Model(ARM)
    velocity = np.zeros(ARM.n)
    before = home
    sent = 0.0
    start = model.frames(home)[-1]
    let_go = START_S + CYCLES * CYCLE_S
    rows = []
    for _ in range(round((let_go + LET_GO_S) / STEP_S)):
        state = simulation.read()
        q = state.position
        time = state.time
        torque = controller.step(q, state.velocity, time, effort=state.effort)
        if time - sent >= PERIOD_S - 0.5 * STEP_S:
            # Velocity from positions, because the measured velocity is the motors' and noisier.
            elapsed = time - sent
            share = elapsed / (SMOOTHING_S + elapsed)
            velocity = velocity + share * ((q - before) / elapsed - velocity)
            before = q
            sent = time
            at = np.clip(q, LOWER, UPPER)
            pace = np.clip(velocity, -FASTEST, FASTEST)
            with suppress(ReferenceRefusedError):  # while braking, or at a limit
                controller.follow(at, dq=pace, ddq=np.zeros(ARM.n))
        pose = model.frames(simulation.position)[-1]
        dq = np.array(simulation.data.qvel)
        twist = model.jacobian(simulation.position) @ dq
        held = time < let_go
        force, moment = hand_wrench(time, start, pose, twist) if held else np.zeros((2, 3))
        simulation.push = Push(tuple(force), 0.0, 1e9, tuple(moment))
        rows.append((time, force, pose[:3, 3], dq))
        simulation.step(torque)
    return tuple(np.array(column) for column in zip(*rows))


def main():
    """Guide the arm in every case, print the forces and draw those whose target is mujoco."""
    figure = Figure(figsize=(8, 4), layout='constrained')
    axes = figure.add_subplot()
    print(f'{"compensated":<36}force rms [N]  largest [N]  let go, drift [mm]')
    for name, case in CASES.items():
        time, force, flange, _ = run(*case)
        size = np.linalg.norm(force, axis=1)
        guided = size[(time > START_S) & (time <= START_S + CYCLES * CYCLE_S)]
        drift = 1e3 * np.linalg.norm(flange[-1] - flange[time > time[-1] - 1.0][0])
        rms = np.sqrt(np.mean(guided**2))
        print(f'{name:<36}{rms:13.1f}{guided.max():13.1f}{drift:20.2f}', flush=True)
        if case[0] == 'mujoco':
            axes.plot(time, size, label=name.removeprefix('mujoco: '), lw=1)
    axes.set(xlabel='time [s]', ylabel='force of the hand [N]', ylim=(0, None))
    axes.set_title('guiding a FER with 0.8 kg by its flange, by what is compensated')
    figure.legend(loc='outside lower center', ncols=3)
    axes.grid(alpha=0.3)
    figure.savefig('hand_guiding.png', dpi=110)


if __name__ == '__main__':
    main()
