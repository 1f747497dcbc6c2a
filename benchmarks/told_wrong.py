# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Simulate arms with a wrong setting or sensor, a contact or nothing wrong; print their peak speed.

The simulated arms have elastic gears with ripple and, if something moves, all joints move. Each
case is run with and without measured effort, with no, gentle and firm gains (some cases with
fewer gains), on each arm. A row has the fastest joint's speed, the largest displacement of a joint
and the largest joint torque of the last command. `make told-wrong` runs all cases (ten minutes of
processor time); `--json FILE` keeps the rows, and `--against FILE` compares with rows that were
kept before. `--without-guard` runs the cases as if the guard found nothing wrong. `--draw` chooses
the arms and their motion: draw 0, the shipped arms, was looked at while the bounds were chosen;
every other draw, with inertias about 10 % off and another motion, is for judging.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
import functools
import json
import logging
import math
import os
from pathlib import Path
import sys
from typing import Any

import numpy as np

from franka_dynamics.arm import ArmDescription, LinkInertia, load
from franka_dynamics.control.feedforward import Feedforward
from franka_dynamics.errors import FrankaDynamicsError
from franka_dynamics.simulation.arm_simulation import ArmSimulation, Push, SimulationSettings
from franka_dynamics.simulation.joint_elasticity import franka_elasticity
from franka_dynamics.simulation.model_trial import draw_plant
from franka_dynamics.typing import Array

ARMS = ('fer', 'fr3', 'fr3v2')
STEP_S = 1e-3
AT = 1000  # number of the step before which live changes are made
WAYS = np.array([0.30, 0.45, -0.25, 0.35, 0.40, 0.30, -0.50])  # of the joints that move [rad]
# Poses in which the flange is pushed, as turns of the joints from home [rad], and directions.
POSES = {
    'at home': (0.0,) * 7,
    'stretched': (0.3, 0.6, -0.2, 1.0, 0.4, -0.6, 0.5),
    'folded': (-0.8, -0.3, 0.5, -0.3, -0.7, 0.8, -0.9),
}
PUSHES = ((0.0, 1.0, 0.0), (0.8, 0.0, -0.6), (-0.6, 0.64, 0.48))
_chosen = {'draw': 0}  # of this process
GAINS: dict[str, dict[str, tuple[float, ...]]] = {
    'none': {},
    # The simulated wrist lacks the rotors behind its gears, so it bears a smaller kd than a real
    # one.
    'gentle': {'kp': (60.0,) * 4 + (15.0, 15.0, 5.0), 'kd': (6.0,) * 4 + (1.0, 1.0, 0.06)},
    'firm': {'kp': (600.0,) * 4 + (250.0, 100.0, 10.0), 'kd': (50.0,) * 4 + (6.0, 3.0, 0.06)},
}


@dataclass
class State:
    """A joint state on its way to the controller; efforts (n,) or None, age [s] or None."""

    stamp: float
    q: Array
    dq: Array
    effort: Array | None
    arrival: float
    age: float | None = None


@dataclass
class Bench:
    """Argument of a case's hooks: simulated arm, controller and number of the step."""

    arm: ArmSimulation
    controller: Feedforward
    step: int = 0

    def change(self, **changes: Any) -> None:
        """Change live settings."""
        self.controller.change(**changes)


Hook = Callable[[Bench], None]
Channel = Callable[[State], State | None]


@dataclass(frozen=True)
class Case:
    """
    What is simulated: a wrong setting, a wrong sensor, a contact, or nothing wrong.

    `settings` are the controller's, `simulation` the simulated arm's. `known` is the controller's
    model and `real` the simulated arm; None stands for the shipped arm. `hooks` make functions
    that are called before each step, `channel` makes the function that changes joint states on
    their way to the controller, and `wiring` changes the command on its way to the arm.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    simulation: dict[str, Any] = field(default_factory=dict)
    known: ArmDescription | None = None
    real: ArmDescription | None = None
    hooks: tuple[Callable[[ArmDescription], Hook], ...] = ()
    channel: Callable[[], Channel] | None = None
    wiring: Callable[[Array], Array] = lambda command: command
    gains: Sequence[str] = tuple(GAINS)
    seconds: float = 2.2


@dataclass
class Row:
    """One run: largest joint speed [rad/s], displacement [rad] and last commanded torque [N m]."""

    arm: str
    case: str
    effort: bool
    gains: str
    peak: float
    moved: float
    torque: float
    at_end: float
    refused: bool
    mode: str
    why: str

    @property
    def key(self) -> str:
        """The row's arm, case, use of effort and gains, by which --against finds the old row."""
        return f'{self.arm} | {self.case} | {"effort" if self.effort else "-"} | {self.gains}'


def run(arm: ArmDescription, case: Case, effort: bool, gains: str) -> Row:
    """Run one case."""
    real, known = case.real or arm, case.known or arm
    if _chosen['draw']:
        real = replace(draw_plant(real, _chosen['draw']).arm, friction=real.friction)
    simulated = SimulationSettings(
        **{
            'brake_release_after': 0.1,
            'friction': _has_friction(real),
            'elasticity': franka_elasticity(real),
            **case.simulation,
        }
    )
    known = replace(known, rated_load=None)  # some cases declare 5 kg
    try:
        controller = Feedforward(
            known, applied_when_silent=False, **{**case.settings, **GAINS[gains]}
        )
    except FrankaDynamicsError as error:
        return Row(
            arm.name, case.name, effort, gains, 0.0, 0.0, 0.0, 0.0, True, 'refused', str(error)
        )
    bench = Bench(ArmSimulation(real, simulated), controller)
    channel = case.channel() if case.channel else lambda state: state
    hooks = [hook(arm) for hook in case.hooks]
    command: Array | None = None
    positions, speeds = [], []
    for bench.step in range(round(case.seconds / STEP_S)):
        reading = bench.arm.read()
        measured = reading.effort.copy() if effort else None
        state = channel(
            State(reading.time, reading.position, reading.velocity, measured, reading.time)
        )
        for hook in hooks:
            try:
                hook(bench)
            except FrankaDynamicsError:
                pass  # a refused request commands nothing
        if state is None:
            torque = controller.tick(reading.time)
        else:
            torque = controller.step(
                state.q,
                state.dq,
                state.stamp,
                effort=state.effort,
                age=state.age,
                now=state.arrival,
            )
        torque = torque if controller.sends else None
        command = command if torque is None else torque
        bench.arm.step(None if command is None else case.wiring(command), fresh=torque is not None)
        positions.append(bench.arm.position)
        speeds.append(np.array(bench.arm.data.qvel[: arm.n]))
        if bench.arm.ran_away:
            break
    speed, position = np.abs(np.array(speeds)), np.array(positions)
    return Row(
        arm.name,
        case.name,
        effort,
        gains,
        float(speed.max()),
        float(np.abs(position - position[0]).max()),
        0.0 if command is None else float(np.abs(command).max()),
        float(speed[-1].max()),
        command is None,
        controller.state.value,
        controller.status.why[:160] if controller.state.value != 'running' else '',
    )


def _has_friction(arm: ArmDescription) -> bool:
    return arm.friction is not None or arm.simulated_friction is not None


# Hooks, channels and wirings of the cases ------------------------------------------------------


def body(mass: float) -> LinkInertia:
    """Return a load whose centre of mass is 0.1 m in front of the flange."""
    if not mass:
        return LinkInertia.zero()
    side = 0.003 * mass
    return LinkInertia.from_center_of_mass(
        mass, (0.0, 0.0, 0.1), np.array([side, 0.0, 0.0, side, 0.0, side])
    )


def payload(mass: float) -> tuple[float, ...]:
    """Return the load of `body` as the ten numbers of the parameter `payload`."""
    return (mass, 0.0, 0.0, 0.1, 0.003 * mass, 0.0, 0.0, 0.003 * mass, 0.0, 0.003 * mass)


def tilted(degrees: float) -> tuple[float, float, float]:
    """Return gravity in a base that is tilted about its y axis [m/s^2]."""
    angle = math.radians(degrees)
    return 9.81 * math.sin(angle), 0.0, -9.81 * math.cos(angle)


def live(**changes: Any) -> Callable[[ArmDescription], Hook]:
    """Change the controller's settings at step AT."""

    def hook(bench: Bench) -> None:
        if bench.step == AT:
            bench.change(**changes)

    return lambda arm: hook


def carries(mass: float) -> Callable[[ArmDescription], Hook]:
    """Put another load on the flange at step AT."""

    def hook(bench: Bench) -> None:
        if bench.step == AT:
            bench.arm.carry(body(mass))

    return lambda arm: hook


def moves(arm: ArmDescription) -> Hook:
    """Move all joints, each by another distance, within 1.2 s, from step 700 on."""
    assert arm.home is not None
    times = np.linspace(0.0, 1.2, 25)
    share = times / times[-1]
    blend = 10.0 * share**3 - 15.0 * share**4 + 6.0 * share**5
    ways, draw = WAYS, _chosen['draw']
    if draw:
        rng = np.random.default_rng(draw)
        ways = rng.uniform(0.25, 0.5, arm.n) * rng.choice([-1.0, 1.0], arm.n)
        low, high = arm.limit('lower') + 0.1, arm.limit('upper') - 0.1
        ways = np.clip(np.array(arm.home) + ways, low, high) - arm.home
    path = np.array(arm.home) + np.outer(blend, ways)

    def hook(bench: Bench) -> None:
        if bench.step == 700:
            bench.controller.follow(path, times)

    return hook


def chases(ahead: float | Sequence[float]) -> Callable[[ArmDescription], Hook]:
    """Send set-points that stay a distance [rad] ahead of the arm's true position."""

    def begin(arm: ArmDescription) -> Hook:
        def hook(bench: Bench) -> None:
            if bench.step > 700:
                q = bench.arm.position + np.asarray(ahead)
                bench.controller.follow(q, dq=np.zeros_like(q))

        return hook

    return begin


def wall(stiffness: float, damping: float) -> Callable[[ArmDescription], Hook]:
    """Put an elastic wall 5 cm from the flange along base x; stiffness [N/m], damping [N s/m]."""

    def begin(arm: ArmDescription) -> Hook:
        places: list[float] = []

        def hook(bench: Bench) -> None:
            places.append(float(bench.arm.data.site_xpos[bench.arm.flange_site][0]))
            depth = places[-1] - places[0] - 0.05
            speed = (places[-1] - places[-2]) / STEP_S if len(places) > 1 else 0.0
            force = -max(0.0, stiffness * depth + damping * speed) if depth > 0.0 else 0.0
            bench.arm.push = Push((force, 0.0, 0.0), 0.0, 1e9)

        return hook

    return begin


def efforts(change: Callable[[Array], Array]) -> Callable[[], Channel]:
    """Return a `Case.channel` that changes the measured effort of joint states."""

    def passed(state: State) -> State:
        if state.effort is not None:
            state.effort = change(state.effort)
        return state

    return lambda: passed


def frozen() -> Channel:
    """Return a function that from 0.5 s on repeats the last effort measured before."""
    last: list[Array] = []

    def passed(state: State) -> State:
        if state.effort is not None:
            if state.stamp < 0.5 or not last:
                last[:] = [state.effort]
            state.effort = last[0]
        return state

    return passed


def delayed(states: int) -> Callable[[], Channel]:
    """Return a `Case.channel` that delays joint states by a number of steps and adds ages."""

    def begin() -> Channel:
        kept: list[State] = []

        def passed(state: State) -> State | None:
            kept.append(state)
            if len(kept) <= states:
                return None
            old = kept[-1 - states]
            return replace(old, arrival=state.stamp, age=state.stamp - old.stamp)

        return passed

    return begin


def becomes_late(states: int) -> Channel:
    """Return a function by which states become late within 20 steps, from step AT on."""
    kept: list[State] = []

    def passed(state: State) -> State:
        kept.append(state)
        old = kept[-1 - min(states, max(0, (len(kept) - AT) // 2))]
        return replace(old, arrival=state.stamp, age=state.stamp - old.stamp)

    return passed


def swapped(one: int, other: int) -> Callable[[], Channel]:
    """Return a `Case.channel` that swaps position, velocity and effort of two joints."""

    def passed(state: State) -> State:
        order = np.arange(len(state.q))
        order[[one, other]] = order[[other, one]]
        effort = None if state.effort is None else state.effort[order]
        return replace(state, q=state.q[order], dq=state.dq[order], effort=effort)

    return lambda: passed


def turned(arm: ArmDescription, joint: int) -> Array:
    """Return factors of the joints' torques, (n,): -1 for joint 1 to n, 1 for the others."""
    return 1.0 - 2.0 * np.eye(arm.n)[joint - 1]


def cases(arm: ArmDescription, family: str) -> Iterator[Case]:
    """Yield every case (wrong setting or sensor, contact, none) of the shipped arm `family`."""
    carried = {'gravity_compensation': True}
    mujoco = {'target': 'mujoco'}
    unknown = {'payload_known_to_robot': False}
    yield Case('fci, nothing wrong', {}, carried, hooks=(moves,))
    yield Case('mujoco, nothing wrong', mujoco, hooks=(moves,))
    for target in ('mujoco', 'gz_ros2_control'):
        yield Case(f'{target}, arm carries itself', {'target': target}, carried)
    yield Case('fci, nobody carries the arm')
    yield Case('mujoco, weightless', mujoco, {'gravity': (0.0, 0.0, 0.0)})
    for mass in (0.5, 1.5, 3.0, 5.0):
        told = {**unknown, 'payload': payload(mass)}
        yield Case(f'fci, {mass:g} kg declared and absent', told, carried)
        hooks = (live(payload=payload(mass)),)
        yield Case(f'fci, {mass:g} kg declared live and absent', unknown, carried, hooks=hooks)
    for mass in (0.5, 1.5, 3.0):
        there = {'payload': body(mass)}
        yield Case(f'mujoco, {mass:g} kg there, undeclared', mujoco, there)
        yield Case(f'fci, {mass:g} kg picked up, undeclared', {}, carried, hooks=(carries(mass),))
    three = {'target': 'mujoco'}
    yield Case('mujoco, 3 kg declared live and absent', three, hooks=(live(payload=payload(3.0)),))
    yield Case('mujoco, 3 kg picked up, undeclared', mujoco, hooks=(carries(3.0),))
    yield Case(
        'mujoco, 3 kg lost, still declared',
        {**three, 'payload': payload(3.0)},
        {'payload': body(3.0)},
        hooks=(carries(0.0),),
    )
    for degrees in (10, 20, 30, 60, 90):
        yield Case(
            f'fci, gravity {degrees} deg wrong', {'gravity_vector': tilted(degrees)}, carried
        )
        hooks = (live(gravity_vector=tilted(degrees)),)
        yield Case(f'fci, gravity {degrees} deg wrong, live', {}, carried, hooks=hooks)
    yield Case('mujoco, gravity 30 deg wrong', {**mujoco, 'gravity_vector': tilted(30)})
    hand, bare = load(family, hand='franka_hand'), load(family, hand='none')
    yield Case('mujoco, hand declared, absent', mujoco, known=hand, real=bare)
    yield Case('mujoco, hand there, undeclared', mujoco, known=bare, real=hand)
    other = load('fr3' if family == 'fer' else 'fer')
    yield Case('mujoco, another arm', mujoco, real=other, known=arm)
    sign = turned(arm, 4)
    for name, change in (
        ('effort sign of joint 4', lambda effort: effort * sign),
        ('effort halved', lambda effort: 0.5 * effort),
        ('effort doubled', lambda effort: 2.0 * effort),
        ('effort NaN', lambda effort: np.full_like(effort, np.nan)),
        ('effort zero', np.zeros_like),
    ):
        yield Case(f'fci, {name}', {}, carried, channel=efforts(change), hooks=(moves,))
    yield Case('fci, effort frozen', {}, carried, channel=frozen, hooks=(moves,))
    yield Case('mujoco, joints 1 and 3 swapped', mujoco, channel=swapped(0, 2), hooks=(moves,))
    yield Case('mujoco, joints 5 and 7 swapped', mujoco, channel=swapped(4, 6), hooks=(moves,))
    yield Case('mujoco, joint 4 driven backwards', mujoco, wiring=lambda torque: torque * sign)
    for joint in (1, 4, 6, 7):
        backwards = functools.partial(np.multiply, turned(arm, joint))
        name = f'fci, joint {joint} driven backwards'
        yield Case(name, {}, carried, wiring=backwards, hooks=(moves,))
    yield Case('fci, joints 1 and 3 swapped', {}, carried, channel=swapped(0, 2), hooks=(moves,))
    yield Case('fci, joints 5 and 7 swapped', {}, carried, channel=swapped(4, 6), hooks=(moves,))
    push = {**carried, 'push': Push((20.0, 0.0, 0.0), 0.8, 0.1)}
    for late in (10, 20, 40):
        yield Case(f'fci, states {late} ms late, 20 N for 0.1 s', {}, push, channel=delayed(late))
    push = {**carried, 'push': Push((0.0, 65.0, 0.0), 1.2, 0.3)}
    for late in (5, 10):
        yield Case(
            f'fci, states become {late} ms late, 65 N for 0.3 s',
            {},
            push,
            channel=functools.partial(becomes_late, late),
            gains=('gentle', 'firm'),
        )
    yield Case('mujoco, kd 0.3', {'target': 'mujoco', 'kd': (0.3,)}, gains=('none',))
    yield Case('fci, kd 0.3', {'kd': (0.3,)}, carried, gains=('none',))
    yield Case('fci, wall', {}, carried, hooks=(moves, wall(3e4, 100.0)))
    yield Case('fci, spring', {}, carried, hooks=(moves, wall(1.5e3, 10.0)))
    for force in (10.0, 30.0):
        pushed = Push((0.0, force, 0.0), 0.8, 1.0)
        yield Case(f'fci, pushed by {force:g} N for 1 s', {}, {**carried, 'push': pushed})
    for (pose, turns), way in zip(POSES.items(), np.array(PUSHES)):
        assert arm.home is not None
        posed = replace(arm, home=tuple(np.array(arm.home) + turns))
        for force in (55.0, 65.0, 80.0):
            yield Case(
                f'fci, pushed by {force:g} N for 0.5 s, {pose}',
                {},
                {**carried, 'push': Push(tuple(force * way), 0.8, 0.5)},
                known=posed,
                real=posed,
                gains=('gentle', 'firm'),
            )
    yield Case(
        'mujoco, pushed by 30 N for 1 s', mujoco, {'push': Push((0.0, 30.0, 0.0), 0.8, 1.0)}
    )
    tap = Push((0.0, 15.0, 0.0), 0.8, 0.03)
    yield Case('fci, tapped with 15 N for 30 ms', {}, {**carried, 'push': tap})
    with_gains = ('gentle', 'firm')
    ahead = np.zeros(arm.n)
    ahead[1] = -0.09
    yield Case(
        'fci, set-points 0.09 rad ahead', {}, carried, hooks=(chases(0.09),), gains=with_gains
    )
    yield Case(
        'fci, set-points of joint 2 ahead', {}, carried, hooks=(chases(ahead),), gains=with_gains
    )


def rows(family: str, name: str) -> list[Row]:
    """Run one arm's case; return a row for each choice of measured effort and gains."""
    arm = load(family)
    return [
        run(arm, case, effort, gains)
        for case in cases(arm, family)
        if case.name == name
        for effort in (True, False)
        for gains in case.gains
    ]


def _begin(draw: int, guarded: bool) -> None:
    """Choose the draw; let this process's cores stop no arm and refuse no first torque."""
    _chosen['draw'] = draw
    if not guarded:
        Feedforward._running_violation = lambda *_: ''
        Feedforward._start_blocker = lambda core: '' if core.usable else 'not yet'


# The table on the page on performance: mistake, and case.
PAGE = {
    'target `mujoco` on an arm that compensates gravity': 'mujoco, arm carries itself',
    '`fci` on an arm that does not compensate gravity': 'fci, nobody carries the arm',
    '`fci`, 3 kg declared and absent': 'fci, 3 kg declared and absent',
    '`mujoco`, 3 kg mounted and undeclared': 'mujoco, 3 kg there, undeclared',
    '`fci`, `gravity_vector` 30 degrees wrong': 'fci, gravity 30 deg wrong',
    'a person pushes with 30 N for 1 s': 'fci, pushed by 30 N for 1 s',
    'states 20 ms late, and a push': 'fci, states 20 ms late, 20 N for 0.1 s',
    '`fci`, torque of joint 1 reversed': 'fci, joint 1 driven backwards',
    '`fci`, torque of joint 7 reversed': 'fci, joint 7 driven backwards',
    '`mujoco`, torque of joint 4 reversed': 'mujoco, joint 4 driven backwards',
}
WIRED = ('swapped', 'backwards')


def page(guarded: list[Row], free: list[Row]) -> str:
    """Return the page's table and counts, of rows with and without guard."""

    def peak(rows: list[Row], case: str, efforts: Sequence[bool]) -> str:
        of = [one for one in rows if one.case == case and one.effort in efforts]
        of = [one for one in of if one.gains != 'firm']
        return 'refused' if all(one.refused for one in of) else f'{max(r.peak for r in of):.1f}'

    lines = [
        f'| {text} | {peak(free, case, (True, False))} | {peak(guarded, case, (True,))} | '
        f'{peak(guarded, case, (False,))} |'
        for text, case in PAGE.items()
    ]
    before = {row.key: row for row in free}
    for wired, what in ((False, 'without'), (True, 'with')):
        rows = [r for r in guarded if any(word in r.case for word in WIRED) == wired]
        pairs = [(row, before[row.key]) for row in rows]
        worse = [a.key for a, b in pairs if _is_worse(a, b)]
        lines.append(
            f'{len(rows)} rows {what} swapped or reversed joints: above 2.1 rad/s '
            f'{sum(a.peak > 2.1 for a, _ in pairs)}, without guard '
            f'{sum(b.peak > 2.1 for _, b in pairs)}; worse {len(worse)}: {"; ".join(worse)}'
        )
    return '\n'.join(lines)


def _kept(path: Path | None) -> list[Row]:
    return [Row(**one) for one in json.loads(path.read_text('utf-8'))] if path else []


def _is_worse(row: Row, before: Row | None) -> bool:
    return before is not None and row.peak > max(1.1 * before.peak, before.peak + 0.1)


def main() -> int:
    """
    Run the cases in parallel and print a row for each run.

    A row says WORSE if its speed exceeds that in --against by over 10 % and over 0.1 rad/s.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--arms', nargs='+', default=ARMS, choices=ARMS)
    parser.add_argument('--part', default='', help='only cases whose names contain this')
    parser.add_argument('--json', type=Path, help='keep the rows in this file')
    parser.add_argument('--against', type=Path, help='compare with rows kept before')
    parser.add_argument('--draw', type=int, default=0, help='seed of arms and motion (0: shipped)')
    parser.add_argument('--without-guard', action='store_true', help='run without the guard')
    parser.add_argument('--page', type=Path, help='only print the table of rows kept here')
    given = parser.parse_args()
    if given.page:
        print(page(_kept(given.page), _kept(given.against)))
        return 0
    logging.disable()
    names = [(family, case.name) for family in given.arms for case in cases(load(family), family)]
    chosen = [name for name in names if given.part in name[1]]
    before = {row.key: row for row in _kept(given.against)}
    found: list[Row] = []
    worse = 0
    chosen_by = (given.draw, not given.without_guard)
    with ProcessPoolExecutor(os.cpu_count(), initializer=_begin, initargs=chosen_by) as pool:
        for batch in pool.map(rows, *zip(*chosen)):
            for row in batch:
                found.append(row)
                old = before.get(row.key)
                is_worse = _is_worse(row, old)
                worse += is_worse
                print(
                    f'{row.key:<72} {"" if old is None else f"{old.peak:6.2f} ->"} {row.peak:6.2f}'
                    f' rad/s {row.moved:6.3f} rad {row.torque:5.1f} N m at the end'
                    f'{"  refused" if row.refused else ""}{"  WORSE" if is_worse else ""}  '
                    f'{row.why}',
                    flush=True,
                )
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in found], indent=1), 'utf-8')
    fast = [row for row in found if row.peak > 2.1]
    stopped = [row for row in found if 'nothing wrong' in row.case and row.why]
    print(f'{len(stopped)} rows with nothing wrong stopped')
    print(f'{len(found)} rows; {len(fast)} above 2.1 rad/s; {worse} worse than before')
    return 0


if __name__ == '__main__':
    sys.exit(main())
