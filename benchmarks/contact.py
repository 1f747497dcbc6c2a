# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
False alarms and detection times of the contact flag, over an hour of simulated motion each.

A FER with its friction and noisy sensors moves without pause at up to its usual speeds, with and
without a payload that the model does not know; in the last row it is pushed with 10 N at the
flange, in a random direction every three seconds. `python benchmarks/contact.py --help`
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
import json
from pathlib import Path

import numpy as np
import pinocchio as pin
from rich import print
from rich.progress import Progress
from rich.table import Table

from franka_dynamics.arm import ArmDescription, LinkInertia, load
from franka_dynamics.control.contact import ContactLimits, ContactMonitor
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.simulation.arm_simulation import ArmSimulation, Push, SimulationSettings
from franka_dynamics.simulation.joint_elasticity import franka_elasticity

SENSORS = {'friction': True, 'position_noise': 1e-5, 'velocity_noise': 1e-3, 'effort_noise': 0.1}
# What a real FER's states at 1 kHz scatter by beyond what its gears do.
REAL_SENSORS = {
    'friction': True,
    'position_noise': 2e-6,
    'velocity_noise': 3e-3,
    'effort_noise': 0.05,
}
JITTER_S = 2e-4  # of its stamps
STIFFNESS, DAMPING = 400.0, 40.0  # [1/s^2, 1/s] times M
SPEED_SHARE = 0.5  # of the velocity limits, at most; the elastic arm goes to 0.85
PUSH_N, PUSH_EVERY_S, PUSH_S = 10.0, 3.0, 0.4
CALM_S = 1.0  # after a push, while the arm swings back, nothing is counted as an alarm
START_S = 1.0  # before the monitor has settled, nobody pushes
PIECE_S = 600.0  # after which another motion begins
SLOW = 0.1


@dataclass
class Outcome:
    """What one run gave; times in seconds, masses in kg, torques in N m."""

    duration: float = 0.0
    alarms: int = 0
    levers: list[float] = field(default_factory=list)  # largest joint torque of each push
    delays: list[float] = field(default_factory=list)  # infinite where a push was not flagged
    masses: list[float] = field(default_factory=list)
    fastest: float = 0.0
    share: float = 0.0  # of the threshold, largest while nobody pushed

    def add(self, other: Outcome) -> None:
        """Append another run."""
        self.duration += other.duration
        self.alarms += other.alarms
        self.levers += other.levers
        self.delays += other.delays
        self.masses += other.masses
        self.fastest = max(self.fastest, other.fastest)
        self.share = max(self.share, other.share)


def wander(
    arm: ArmDescription, seed: int, pace: float = 1.0, speed: float = SPEED_SHARE
) -> Callable[[np.ndarray], np.ndarray]:
    """
    Return a motion without period within the limits, four sines a joint, at a pace.

    It takes times, shape (k,), and gives position, velocity, acceleration, shape (3, k, n).
    """
    rng = np.random.default_rng(seed)
    w = 2.0 * np.pi * rng.uniform(0.03, 0.3, (4, arm.n))
    phase = rng.uniform(0.0, 2.0 * np.pi, (4, arm.n))
    share = rng.uniform(0.2, 1.0, (4, arm.n))
    lower, upper = arm.limit('lower'), arm.limit('upper')
    room = 0.45 * (upper - lower) / share.sum(axis=0)
    scale = share * np.minimum(room, speed * arm.limit('velocity') / (w * share).sum(axis=0))
    middle = 0.5 * (lower + upper)
    w *= pace

    def motion(times: np.ndarray) -> np.ndarray:
        angle = w * times[:, None, None] + phase
        s, c = scale * np.sin(angle), scale * np.cos(angle)
        return np.stack([middle + s.sum(axis=1), (w * c).sum(axis=1), -(w * w * s).sum(axis=1)])

    return motion


class Pushes:
    """Pushes the simulated arm now and then, and notes when each was flagged."""

    def __init__(self, simulation: ArmSimulation, model: PinocchioModel, seed: int) -> None:
        self._simulation, self._model = simulation, model
        self._rng = np.random.default_rng(seed)
        self._waiting = False
        self._next = START_S

    def disturbing(self, time: float) -> bool:
        """Return whether a push acts, or has not been forgotten."""
        push = self._simulation.push
        return push.start <= time < push.start + push.duration + CALM_S

    def step(self, time: float, q: np.ndarray, flagged: bool, outcome: Outcome) -> None:
        """Begin and end pushes; `flagged` says that a contact begins at this state."""
        push = self._simulation.push
        if self._waiting and (flagged or time > push.start + PUSH_S):
            outcome.delays.append(time - push.start if flagged else float('inf'))
            self._waiting = False
        if time >= self._next:
            self._next += PUSH_EVERY_S
            direction = self._rng.standard_normal(3)
            force = PUSH_N * direction / np.linalg.norm(direction)
            self._simulation.push = Push((force[0], force[1], force[2]), time, PUSH_S)
            outcome.levers.append(float(np.abs(self._model.jacobian(q)[:3].T @ force).max()))
            self._waiting = True


def run(
    arm: ArmDescription,
    duration: float,
    *,
    mass: float = 0.0,
    push: bool = False,
    pace: float = 1.0,
    elastic: bool = False,
    seed: int = 0,
    limits: ContactLimits | None = None,
    progress: Callable[[float], None] = lambda seconds: None,
) -> Outcome:
    """Simulate; the model knows neither the payload nor the pushes."""
    motion = wander(arm, seed, pace, 0.85 if elastic else SPEED_SHARE)
    jitter = np.random.default_rng(seed + 2)
    payload = LinkInertia.from_center_of_mass(
        mass, [0.0, 0.02, 0.05], 0.002 * mass * np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
    )
    simulation = ArmSimulation(
        arm,
        SimulationSettings(
            start=motion(np.zeros(1))[0, 0],
            payload=payload,
            brake_release_after=0.0,
            seed=seed,
            elasticity=franka_elasticity(arm) if elastic else None,
            **(REAL_SENSORS if elastic else SENSORS),
        ),
    )
    model = PinocchioModel(arm)
    monitor = ContactMonitor(model, limits, arm.friction)
    pushes = Pushes(simulation, model, seed + 1)
    outcome = Outcome(duration)
    for second in range(round(duration)):
        desired = motion(second + 1e-3 * np.arange(1000))
        for at, speed, acceleration in desired.swapaxes(0, 1):
            reading = simulation.read()
            time, q, dq = reading.time, reading.position, reading.velocity
            stamp = time + float(np.clip(jitter.normal(0.0, JITTER_S), -4e-4, 4e-4)) * elastic
            flagged = monitor.update(stamp, q, dq, reading.effort) and monitor.in_contact
            if push:
                pushes.step(time, q, flagged, outcome)
            if not pushes.disturbing(time):
                outcome.alarms += flagged
                outcome.share = max(outcome.share, monitor.largest_share)
            monitor.largest_share = 0.0
            simulation.step(
                pin.rnea(
                    model.model,
                    model.data,
                    q,
                    dq,
                    acceleration + STIFFNESS * (at - q) + DAMPING * (speed - dq),
                )
            )
        outcome.fastest = max(outcome.fastest, float(np.abs(desired[1]).max()))
        outcome.masses.append(monitor.load_mass()[0])
        progress(1.0)
    return outcome


ROWS = {
    'nothing carried': {},
    '0.2 kg unknown': {'mass': 0.2},
    '0.5 kg unknown': {'mass': 0.5},
    'pushed with 10 N': {'push': True},
    'pushed with 10 N, slow': {'push': True, 'pace': SLOW},
    'elastic, nothing carried': {'elastic': True},
    'elastic, 0.2 kg unknown': {'elastic': True, 'mass': 0.2},
    'elastic, pushed with 10 N': {'elastic': True, 'push': True},
    'elastic, pushed with 10 N, slow': {'elastic': True, 'push': True, 'pace': SLOW},
    'elastic, pushed with 10 N, at rest': {'elastic': True, 'push': True, 'pace': 0.0},
}


def summary(outcome: Outcome) -> dict[str, float]:
    """Return the figures of one row."""
    delays, levers = (
        1e3 * np.array(outcome.delays),
        np.array(outcome.levers[: len(outcome.delays)]),
    )
    mass = np.array(outcome.masses)
    figures = {
        'simulated time [s]': outcome.duration,
        'fastest joint [rad/s]': outcome.fastest,
        'false alarms': outcome.alarms,
        'largest share of the threshold, unpushed [%]': 100.0 * outcome.share,
        'load [kg]': float(np.nanmean(mass)),
        'its deviation [kg]': float(np.nanstd(mass)),
    }
    if not len(delays):
        return figures
    flagged = delays[np.isfinite(delays)]
    strong = delays[levers >= 2.5]
    return {
        **figures,
        'pushes': len(delays),
        'flagged within 50 ms [%]': 100.0 * float(np.mean(delays <= 50.0)),
        'not flagged [%]': 100.0 * float(np.mean(np.isinf(delays))),
        'time to the flag p50 [ms]': float(np.percentile(flagged, 50)),
        'time to the flag p95 [ms]': float(np.percentile(flagged, 95)),
        'pushes with 2.5 N m or more at some joint': len(strong),
        'of these flagged within 50 ms [%]': 100.0 * float(np.mean(strong <= 50.0)),
        'of these not flagged [%]': 100.0 * float(np.mean(np.isinf(strong))),
    }


def main() -> None:
    """Run the rows that were asked for and write their figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--arm', default='fer')
    parser.add_argument(
        '--duration',
        type=float,
        default=3600.0,
        metavar='S',
        help='simulated time of each row [s] (default: %(default)s)',
    )
    parser.add_argument(
        '--row', action='append', choices=list(ROWS), help='only this row; may be repeated'
    )
    parser.add_argument(
        '--seed', type=int, default=0, help='of motions, noise and pushes (default: %(default)s)'
    )
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the figures here')
    arguments = parser.parse_args()
    arm = load(arguments.arm)
    rows, pieces = arguments.row or list(ROWS), max(1, round(arguments.duration / PIECE_S))
    figures = {}
    with Progress() as bar:
        for row in rows:
            task = bar.add_task(row, total=arguments.duration)
            outcome = Outcome()
            for piece in range(pieces):
                outcome.add(
                    run(
                        arm,
                        arguments.duration / pieces,
                        seed=arguments.seed + 10 * piece,
                        **ROWS[row],
                        progress=lambda seconds, task=task: bar.advance(task, seconds),
                    )
                )
            figures[row] = summary(outcome)
            if arguments.json:
                arguments.json.write_text(json.dumps(figures, indent=2) + '\n')
    table = Table(title=f'Contact flag on a simulated {arm.name}')
    names = list(dict.fromkeys(name for row in figures.values() for name in row))
    for heading in ('', *figures):
        table.add_column(heading, justify='right')
    for name in names:
        table.add_row(
            name, *(f'{row[name]:.4g}' if name in row else '' for row in figures.values())
        )
    print(table)


if __name__ == '__main__':
    main()
