# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Run a simulated arm under the core's command: what the benches of the core's guard share.

A `Case` says what is set, what is there and what happens. Scripts are generators that are resumed
once before each step; a channel changes joint states on their way to the core, a wiring the
torques on their way to the arm. `simulate` runs a case, with the guard or without. The plant of a
row is the package's own simulation, or `other_plant.py`, an FR3 of another make.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
import logging
import math
import os
from typing import Any, TypeVar

import numpy as np
from other_plant import Make, OtherPlant

from franka_dynamics.arm import ArmDescription, LinkInertia, load
from franka_dynamics.arm.payload import payload_from_array
from franka_dynamics.arm_io import load_arm
from franka_dynamics.arrays import Array
from franka_dynamics.control.default_gains import default_gains, low_gains
from franka_dynamics.control.ending import Reason, ReasonCode
from franka_dynamics.control.feedforward import Feedforward, StateLimits
from franka_dynamics.control.feedforward import State as CoreState
from franka_dynamics.control.settings import RECEIVER_PROFILES
from franka_dynamics.control.speed_watcher import (
    MAX_FOLLOW_SPEED_TO_LIMIT,
    MAX_SPEED_TO_LIMIT,
)
from franka_dynamics.errors import FrankaDynamicsError
from franka_dynamics.motion.reference import ReferenceState
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings
from franka_dynamics.simulation.receiver import COMMAND_TIMEOUT_S

STEP_S = 1e-3
# Names of the arms; the last two are read from URDFs, without friction and gears: one with six
# joints, and one like a LBR iiwa 14 (masses of Drake's iiwa_description).
ARMS = ('fer', 'fr3', 'fr3v2', 'urdf', 'iiwa')
# The package's own simulation, and an fr3 of another make.
PLANTS = ('own', 'other')
_FRANKA_GAINS: dict[str, dict[str, tuple[float, ...]]] = {
    # The simulated wrist lacks the rotors behind its gears, so it bears a smaller kd than a real
    # one.
    'gentle': {
        'kp': (60.0,) * 4 + (15.0, 15.0, 5.0),
        'kd': (6.0,) * 4 + (1.0, 1.0, 0.06),
    },
    'firm': {
        'kp': (600.0,) * 4 + (250.0, 100.0, 10.0),
        'kd': (50.0,) * 4 + (6.0, 3.0, 0.06),
    },
}
# Axis, place in the link before [m], mass [kg], centre of mass [m], largest torque [N m] and speed
# [rad/s] of each joint; home [rad].
_FROM_URDF = {
    'urdf': (
        (
            ('0 0 1', '0 0 0.18', 5.0, '0 0.02 0', 200.0, 3.0),
            ('0 1 0', '0 0.12 0', 11.0, '0.24 0 0', 200.0, 3.0),
            ('0 1 0', '0.5 -0.1 0', 4.0, '0.2 0 0', 120.0, 3.0),
            ('0 1 0', '0.4 0.02 0', 1.6, '0 0.05 0', 40.0, 3.0),
            ('0 0 1', '0 0.1 0', 1.5, '0 0 0.04', 40.0, 3.0),
            ('0 1 0', '0 0 0.1', 0.4, '0.01 0.05 0', 30.0, 3.0),
        ),
        (0.2, -1.0, 1.4, -0.4, 1.0, 0.3),
    ),
    'iiwa': (
        (
            ('0 0 1', '0 0 0.1575', 5.76, '0 -0.03 0.12', 320.0, 1.48),
            ('0 1 0', '0 0 0.2025', 6.35, '0 0.042 0.059', 320.0, 1.48),
            ('0 0 1', '0 0 0.2045', 3.5, '0 0.03 0.13', 176.0, 1.75),
            ('0 -1 0', '0 0 0.2155', 3.5, '0 0.034 0.067', 176.0, 1.31),
            ('0 0 1', '0 0 0.1845', 3.5, '0 0.021 0.076', 110.0, 2.27),
            ('0 1 0', '0 0 0.2155', 1.8, '0 0.0006 0.0004', 40.0, 2.36),
            ('0 0 1', '0 0 0.081', 1.2, '0 0 0.02', 40.0, 2.36),
        ),
        (0.2, 0.6, 0.1, -1.2, 0.1, 1.0, 0.2),
    ),
}


@cache
def arm_of(name: str, hand: str = 'as_listed') -> ArmDescription:
    """Return an arm of ARMS; those from URDFs have no hand."""
    if name not in _FROM_URDF:
        return load(name, hand=hand)
    joints, home = _FROM_URDF[name]
    parts = [f'<robot name="{name}"><link name="link0"/>']
    for i, (axis, place, mass, center, effort, speed) in enumerate(joints, 1):
        own = 0.02 * mass
        parts.append(
            f'<joint name="joint{i}" type="revolute"><parent link="link{i - 1}"/>'
            f'<child link="link{i}"/><origin xyz="{place}"/><axis xyz="{axis}"/>'
            f'<limit lower="-3" upper="3" velocity="{speed}" effort="{effort}"/></joint>'
            f'<link name="link{i}"><inertial><mass value="{mass}"/><origin xyz="{center}"/>'
            f'<inertia ixx="{own}" iyy="{own}" izz="{own}" ixy="0" ixz="0" iyz="0"/></inertial>'
            '</link>'
        )
    arm = load_arm(''.join((*parts, '</robot>')))
    accelerated = tuple(
        replace(joint, limits=replace(joint.limits, acceleration=15.0)) for joint in arm.joints
    )
    return replace(arm, joints=accelerated, home=home)


def is_franka_arm(arm: ArmDescription) -> bool:
    """Return whether an arm is not one of those read from URDFs."""
    return arm.limit('effort')[-1] == 12.0


def gains_of(arm: ArmDescription, name: str) -> dict[str, tuple[float, ...]]:
    """Return kp and kd by name: none, damped (kd alone), gentle, firm, or a node's default."""
    if name == 'none':
        return {}
    if name == 'damped':
        return {'kd': gains_of(arm, 'gentle')['kd']}
    if is_franka_arm(arm) and name in _FRANKA_GAINS:
        return _FRANKA_GAINS[name]
    chosen = {
        'gentle': lambda: low_gains(arm, 20.0),
        'firm': lambda: default_gains(arm, 0.02),
        'default': lambda: default_gains(arm, COMMAND_TIMEOUT_S),
    }
    return dict(zip(('kp', 'kd'), (tuple(gain.tolist()) for gain in chosen[name]())))


class Unguarded(Feedforward):
    """A core that believes all possible states, refuses no first torque and brakes no arm."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.checks.clear()
        # setattr, because a type checker takes neither for a method that may be replaced.
        for part, rule, answer in (
            (self.open_loop_stop, 'begin_stop', lambda now: None),
            (self.disturbances, 'violation', lambda *bounds: None),
        ):
            assert hasattr(part, rule), f'{rule} was renamed'
            setattr(part, rule, answer)

    def _start_refusal(self) -> Reason | None:
        return None if self.states.has_enough_states else ReasonCode.STATES_AWAITED()


# A part of the guard that is renamed must be renamed here.
assert '_start_refusal' in dir(Feedforward)


@dataclass
class JointState:
    """A joint state on its way to the core; efforts (n,) or None, age [s] or None."""

    stamp: float
    q: Array
    dq: Array
    effort: Array | None
    age: float | None = None


Wiring = Callable[[Array], Array]


@dataclass
class Loop:
    """Argument of a script: arm, core, what the core knows, draw, wiring and present step."""

    arm: ArmSimulation | OtherPlant
    core: Feedforward
    known: ArmDescription
    draw: int
    wire: Wiring
    step: int = 0
    refused: str = ''  # the first refusal of `ask`

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.draw, 1])

    def ask(self, request: Callable[..., object], *values: Any, **settings: Any) -> None:
        """Call a method of the core; a refused request changes nothing, and is kept."""
        try:
            request(*values, **settings)
        except FrankaDynamicsError as error:
            self.refused = self.refused or f'refused: {error}'

    def until(self, step: int) -> Iterator[None]:
        """Wait until a step."""
        while self.step < step:
            yield


Script = Callable[[Loop], Iterator[None]]
Channel = Callable[[JointState], 'JointState | None']


@dataclass(frozen=True)
class Case:
    """
    What is set, there and happening.

    `settings` and `limits` are the core's, `plant` changes the simulated arm's. `known` is the
    core's model and `real` the simulated arm; None stands for the row's arm. In a `loop` the core
    is called every `every` milliseconds and its torque always applied; otherwise as a node calls
    it. `deviation` and `stiction` are those of drawn plants, and `plants` the rows' kinds.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    plant: dict[str, Any] = field(default_factory=dict)
    scripts: tuple[Script, ...] = ()
    gains: Sequence[str] = ('none', 'gentle', 'firm')
    channel: Callable[[], Channel] = lambda: lambda state: state
    wiring: Wiring = np.asarray
    known: ArmDescription | None = None
    real: ArmDescription | None = None
    limits: dict[str, Any] = field(default_factory=dict)
    loop: bool = False
    every: int = 1
    begin: int = 0  # step from which the scripts run
    seconds: float = 2.2
    deviation: float = 0.1
    stiction: float = 1.0
    plants: Sequence[str] = PLANTS


@dataclass
class Run:
    """
    Peak speed [rad/s], way [rad], torques [N m], the end, and what stopped the arm.

    `too_fast`: a joint exceeded the guard's bound on speeds. `torque` is the last one, `leap` the
    largest change between two that were sent.
    """

    peak: float = 0.0
    too_fast: bool = False
    moved: float = 0.0
    leap: float = 0.0
    torque: float = 0.0
    refused: bool = True
    why: str = ''
    stopped: str = ''  # the first stop or fault, and when


def simulate(
    case: Case,
    known: ArmDescription,
    plant: ArmSimulation | OtherPlant,
    effort: bool,
    gains: str,
    draw: int,
    *,
    kind: type[Feedforward] = Feedforward,
    until_stopped: bool = False,
) -> Run:
    """Run a case by a core; the speed is the fastest joint's, the way the largest of a joint."""
    try:
        core = kind(
            known,
            period=case.every * STEP_S,
            limits=StateLimits(**case.limits),
            applied_when_silent=case.loop,
            **{**gains_of(known, gains), **case.settings},
        )
    except FrankaDynamicsError as error:
        return Run(why=f'refused: {error}', stopped=f'refused: {error}')
    loop = Loop(plant, core, known, draw, case.wiring)
    channel = case.channel()
    scripts = [script(loop) for script in case.scripts]
    command = None
    found = Run()
    start = loop.arm.position
    fastest = known.limit('velocity')
    for loop.step in range(round(case.seconds / STEP_S)):
        reading = loop.arm.read()
        state = channel(
            JointState(
                reading.time,
                reading.position.copy(),
                reading.velocity.copy(),
                reading.effort.copy() if effort else None,
            )
        )
        for script in scripts if loop.step >= case.begin else ():
            next(script, None)
        if state is not None and loop.step % case.every == 0:
            command_now = core.step(
                state.q,
                state.dq,
                state.stamp,
                effort=state.effort,
                age=state.age,
                now=reading.time,
            )
        elif not case.loop:
            command_now = core.tick(reading.time)
        fresh = case.loop or core.sends
        if fresh and command is not None:
            found.leap = max(found.leap, float(np.abs(command_now - command).max()))
        command = command_now if fresh else command
        loop.arm.step(None if command is None else loop.wire(command), is_new=fresh)
        speed = np.abs(loop.arm.data.qvel)
        found.peak = max(found.peak, float(speed.max()))
        follows = core.reference.counts[ReferenceState.ACCEPTED]  # or has followed a motion
        ratio = MAX_FOLLOW_SPEED_TO_LIMIT if follows else MAX_SPEED_TO_LIMIT
        found.too_fast |= bool((speed > ratio * fastest).any())
        found.moved = max(found.moved, float(np.abs(loop.arm.position - start).max()))
        if core.counts['stops'] or core.counts['faults'] or loop.arm.runaway_text:
            why = core.why or loop.arm.runaway_text
            found.stopped = found.stopped or f'{loop.step * STEP_S:.2f} s: {why}'
        if loop.arm.runaway_text or (until_stopped and (found.stopped or loop.refused)):
            break
    running = core.state is CoreState.RUNNING
    found.stopped = found.stopped or loop.refused or ('' if running else f'no torque: {core.why}')
    found.torque = 0.0 if command is None else float(np.abs(command).max())
    found.refused = command is None
    found.why = '' if running else str(core.status)
    return found


def plant_of(
    kind: str, real: ArmDescription, settings: SimulationSettings, case: Case, draw: int
) -> ArmSimulation | OtherPlant:
    """Return the simulated arm of a row: `real`, or an FR3 of another make with the same hand."""
    if kind == 'own':
        return ArmSimulation(real, settings)
    hand = 'hand' in (real.hand or '')
    make = Make(draw, case.deviation, case.stiction, hand)
    return OtherPlant(real.home_position, settings, make)


# What benches set, carry and send ----------------------------------------------------------------


def payload(mass: float, beside: float = 0.0) -> tuple[float, ...]:
    """
    Return a load as the ten numbers of the parameter `payload`.

    Its centre of mass is 0.1 m in front of the flange and a distance [m] beside that.
    """
    side = 0.003 * mass
    center = (beside, 0.0, 0.1) if mass else (0.0,) * 3
    return (mass, *center, side, 0.0, 0.0, side, 0.0, side)


def body(mass: float, beside: float = 0.0) -> LinkInertia:
    """Return the load of `payload`."""
    return payload_from_array(np.array(payload(mass, beside)))


def tilted(degrees: float, axis: str = 'y') -> tuple[float, float, float]:
    """Return gravity in a base that is tilted about its x or y axis [m/s^2]."""
    angle = math.radians(degrees)
    across = 9.81 * math.sin(angle)
    down = -9.81 * math.cos(angle)
    return (across, 0.0, down) if axis == 'y' else (0.0, across, down)


def tilted_settings(degrees: float, target: str, axis: str = 'y') -> dict[str, Any]:
    """Return the settings of a base that is tilted so, of which the receiver does not know."""
    settings: dict[str, Any] = {'gravity_vector': tilted(degrees, axis)}
    if RECEIVER_PROFILES[target].receiver_adds_gravity:
        settings['mount_tilt_compensated_by'] = 'node'
    return settings


def changes_while_silent(
    loop: Loop, mass: float | None = None, starts: bool = True, **changes: Any
) -> Iterator[None]:
    """Stop at 1 s, and 0.3 s later change settings, take a load of `mass` [kg] and start."""
    yield from loop.until(1000)
    loop.core.stop('the user stops')
    yield from loop.until(1300)
    if mass is not None:
        loop.arm.set_payload(body(mass))
    loop.ask(loop.core.change, **changes)
    yield from loop.until(1350)
    if starts:
        loop.ask(loop.core.start)


def delayed(states: int) -> Callable[[], Channel]:
    """Return a channel that delays joint states by a number of steps and adds ages."""

    def begin() -> Channel:
        kept: list[JointState] = []

        def passed(state: JointState) -> JointState | None:
            kept.append(state)
            if len(kept) <= states:
                return None
            old = kept[-1 - states]
            return replace(old, age=state.stamp - old.stamp)

        return passed

    return begin


# Command line ------------------------------------------------------------------------------------
Job = TypeVar('Job')
Row = TypeVar('Row')


def parser_of(text: str | None, draw: int) -> argparse.ArgumentParser:
    """Return a parser of the options of the benches."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument('--arms', nargs='+', default=ARMS, choices=ARMS)
    parser.add_argument('--plants', nargs='+', default=PLANTS, choices=PLANTS)
    parser.add_argument('--part', default='', help='only cases whose names contain this')
    parser.add_argument('--draw', type=int, default=draw, help='seed of arms, motion and sample')
    parser.add_argument('--sample', type=int, metavar='N', help='only N rows, drawn')
    return parser


def keys_of(given: argparse.Namespace, case: Case) -> Iterator[tuple[str, str]]:
    """Yield plant and arm of the rows of a case; the other plant is an fr3."""
    for plant in given.plants:
        for family in given.arms:
            if plant in case.plants and given.part in case.name:
                if plant == 'own' or family == 'fr3':
                    yield plant, family


def rows_of(
    run: Callable[[Job], Row], jobs: list[Job], given: argparse.Namespace
) -> Iterator[Row]:
    """Run the chosen jobs in parallel; yield their rows in order."""
    logging.disable()
    if given.sample is not None and given.sample < len(jobs):
        chosen = np.random.default_rng(given.draw).choice(len(jobs), given.sample, replace=False)
        jobs = [jobs[i] for i in sorted(chosen)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(run, jobs)
