# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Simulate the force that guides an arm by hand, depending on what the controller compensates.

The cases compensate gravity, gravity and payload, or gravity, payload and friction. An arm in
MuJoCo with elastic joints, noisy sensors, a payload and the Maxwell-slip friction that was
identified from a real FER is pulled by its flange along a line, to and fro, and then let go. The
controller has no stiffness, and its reference follows the measured motion. In the case with
friction the controller adds the friction torque at the reference velocity: none below 0.005 rad/s,
and each coefficient reduced by two standard deviations. Run `python examples/03_hand_guiding.py`;
it prints a table and writes `hand_guiding.png`. A real arm under FCI compensates gravity and part
of its friction itself, so the node commands no friction.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from franka_dynamics.arm import load, MaxwellSlipFriction
from franka_dynamics.control.feedforward import Feedforward, State
from franka_dynamics.control.settings import Settings, Terms
from franka_dynamics.errors import ReferenceRefusedError
from franka_dynamics.simulation.arm_simulation import ArmSimulation, Push, SimulationSettings
from franka_dynamics.simulation.joint_elasticity import franka_elasticity

STEP_S, PERIOD_S = 1e-3, 0.004
# Friction that this package identified from a 1 kHz recording of a real FER (Gaz et al. 2019).
FRICTION = MaxwellSlipFriction(
    viscous=np.array([0, 0, 0, 0, 0.023, 0, 0]),
    coulomb=np.array([0.174, 0.107, 0, 0.299, 0.129, 0.111, 0.132]),
    offset=np.array([-0.163, -0.151, 0.052, -0.209, -0.032, 0.055, -0.006]),
    slip=np.array(
        [[0, 0.145, 0.242, 0.182, 0.162, 0, 0.14], [0.182, 0.037, 0, 0.142, 0.037, 0.102, 0.014]]
    ),
    reach=np.array([0.004, 0.3]),
    deviations=np.array(
        [
            [0.038, 0, 0, 0, 0.015, 0.031, 0],
            [0.031, 0.042, 0, 0.046, 0.026, 0.023, 0.025],
            [0.015, 0.038, 0.022, 0.025, 0.007, 0.011, 0.005],
            [0, 0.043, 0.02, 0.048, 0.026, 0, 0.026],
            [0.027, 0.018, 0, 0.013, 0.009, 0.02, 0.007],
        ]
    ),
)
ARM = replace(load('fer'), friction=FRICTION)
LOWER, UPPER, FASTEST = (ARM.limit(name) for name in ('lower', 'upper', 'velocity'))
# Mass, centre of mass and inertia of the payload, as arguments of libfranka's setLoad.
PAYLOAD = (0.8, 0.0, 0.0, 0.08, 0.002, 0.0, 0.0, 0.002, 0.0, 0.001)
NOTHING = (0.0,) * 10
# The hand: springs and dampers between the flange's planned and actual poses.
HAND_STIFFNESS, HAND_DAMPING = 1000.0, 60.0  # N/m, N s/m
WRIST_STIFFNESS, WRIST_DAMPING = 30.0, 2.0  # N m/rad, N m s/rad, against rotation
# Displacement of the hand [m], duration of one cycle to and fro [s], number of cycles.
WAY, CYCLE_S, CYCLES = np.array([0.10, 0.10, 0.05]), 4.0, 2
START_S, LET_GO_S = 1.0, 2.0  # [s] at rest before the motion; after the hand lets go
# Time constant of the low-pass filter of the velocity at which friction is compensated.
SMOOTHING_S = 0.01

ROWS = {
    'mujoco: gravity': ('mujoco', False, False),
    'mujoco: gravity, payload': ('mujoco', True, False),
    'mujoco: gravity, payload, friction': ('mujoco', True, True),
    'fci: gravity by the robot': ('fci', False, False),
    'fci: gravity by the robot, payload': ('fci', True, False),
}


@dataclass(frozen=True, eq=False)
class Run:
    """N times [s]; hand force [N], flange position [m], (N, 3); joint velocity (N, n) [rad/s]."""

    time: np.ndarray
    force: np.ndarray
    flange: np.ndarray
    velocity: np.ndarray

    @property
    def guided(self) -> np.ndarray:
        """Mask of the samples taken while the hand guides the arm."""
        return (self.time > START_S) & (self.time <= START_S + CYCLES * CYCLE_S)

    @property
    def rms(self) -> float:
        """Root mean square of the hand's force while the hand guides the arm [N]."""
        return float(np.sqrt((self.force[self.guided] ** 2).sum(axis=1).mean()))

    @property
    def largest(self) -> float:
        """Largest force of the hand while the hand guides the arm [N]."""
        return float(np.linalg.norm(self.force[self.guided], axis=1).max())

    @property
    def drift(self) -> float:
        """How far the flange moves between 1 s and 2 s after the hand let go [m]."""
        after = self.time > self.time[-1] - 1.0
        return float(np.linalg.norm(self.flange[-1] - self.flange[after][0]))


def hand(time: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the hand's displacement from its start (3,) [m] and velocity (3,) [m/s]."""
    phase = 2.0 * np.pi / CYCLE_S
    since = min(max(time - START_S, 0.0), CYCLES * CYCLE_S)
    return (
        0.5 * WAY * (1.0 - np.cos(phase * since)),
        0.5 * WAY * phase * np.sin(phase * since),
    )


class Follower:
    """Lets the controller's reference follow the measured motion, every 4 ms."""

    def __init__(self, controller: Feedforward) -> None:
        self._controller = controller
        self._last, self._position = 0.0, np.array(ARM.home)
        self._velocity = np.zeros(ARM.n)

    def update(self, stamp: float, q: np.ndarray) -> None:
        """Every 4 ms send the controller a set-point: measured position, filtered velocity."""
        elapsed, before = stamp - self._last, self._position
        if elapsed < PERIOD_S - 0.5 * STEP_S:
            return
        self._last, self._position = stamp, q
        if self._controller.state is not State.RUNNING:
            return
        # Velocity from positions, because the measured velocity is the motors' and noisier.
        share = elapsed / (SMOOTHING_S + elapsed)
        self._velocity = self._velocity + share * ((q - before) / elapsed - self._velocity)
        at = np.clip(q, LOWER, UPPER)
        velocity = np.clip(self._velocity, -FASTEST, FASTEST)
        try:
            self._controller.follow(at, dq=velocity, ddq=np.zeros(ARM.n))
        except ReferenceRefusedError:
            pass  # towards a joint limit the reference stays where it is


def run(target: str, payload: bool, friction: bool, *, seed: int = 0) -> Run:
    """Simulate a hand that guides the arm along the line and lets it go."""
    settings = Settings(
        target=target,
        terms=Terms(inertia=False, friction=friction),
        payload=PAYLOAD if payload else NOTHING,
        payload_known_to_robot=False,
    )
    simulation = ArmSimulation(
        ARM,
        SimulationSettings(
            payload=replace(settings, payload=PAYLOAD).payload_inertia(),
            friction=True,
            elasticity=franka_elasticity(ARM),
            gravity_compensation=target == 'fci',
            position_noise=2e-6,
            velocity_noise=3e-3,
            effort_noise=0.05,
            brake_release_after=0.1,
            seed=seed,
        ),
    )
    controller = Feedforward(ARM, **vars(settings))
    follower = Follower(controller)
    model = controller.law.terms.true
    start, rows = None, []
    for _ in range(round((START_S + CYCLES * CYCLE_S + LET_GO_S) / STEP_S)):
        reading = simulation.read()
        time = reading.time
        torque = controller.step(reading.position, reading.velocity, time, effort=reading.effort)
        follower.update(time, reading.position)
        pose = model.frames(simulation.position)[-1]
        flange, velocity = pose[:3, 3], np.array(simulation.data.qvel)
        twist = model.jacobian(simulation.position) @ velocity
        force, moment = np.zeros(3), np.zeros(3)
        if time < START_S + CYCLES * CYCLE_S:
            start = pose if start is None else start
            way, pace = hand(time)
            force = HAND_STIFFNESS * (start[:3, 3] + way - flange) + HAND_DAMPING * (
                pace - twist[:3]
            )
            turn = pin.log3(start[:3, :3] @ pose[:3, :3].T)
            moment = WRIST_STIFFNESS * turn - WRIST_DAMPING * twist[3:]
        simulation.push = Push(tuple(force), 0.0, 1e9, tuple(moment))
        rows.append(np.concatenate([[time], force, flange, velocity]))
        simulation.step(torque)
    table = np.array(rows)
    return Run(table[:, 0], table[:, 1:4], table[:, 4:7], table[:, 7:])


def report(found: dict[str, Run]) -> str:
    """Return a table of the hand's forces and the arm's drift after release, by case."""
    lines = [
        f'{"compensated":<36}{"force rms [N]":>14}{"largest [N]":>13}{"let go, drift [mm]":>20}'
    ]
    lines += [
        f'{name:<36}{row.rms:14.1f}{row.largest:13.1f}{1e3 * row.drift:20.2f}'
        for name, row in found.items()
    ]
    return '\n'.join(lines)


def draw(found: dict[str, Run], path: str) -> None:
    """Draw the hand's force over time in the cases whose target is mujoco."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 4), layout='constrained')
    for name, row in found.items():
        if name.startswith('mujoco'):
            axis.plot(row.time, np.linalg.norm(row.force, axis=1), label=name, lw=1)
    axis.set(
        xlabel='time [s]',
        ylabel='force of the hand [N]',
        title='Simulation: guiding a FER with 0.8 kg by its flange',
        ylim=(0, None),
    )
    axis.legend()
    axis.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Guide the arm in every case of ROWS, print the table, draw the forces."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--plot', default='hand_guiding.png', metavar='FILE')
    arguments = parser.parse_args()
    found = {name: run(*row) for name, row in ROWS.items()}
    print(report(found))
    draw(found, arguments.plot)


if __name__ == '__main__':
    main()
