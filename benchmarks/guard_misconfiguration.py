# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Simulate arms with a wrong setting or sensor, a contact or nothing wrong; print their peak speed.

The situations are those that the core's guard is for (docs/reference/what-stops-the-arm.md). Each
is run with and without measured effort, with the gains that it names, on each arm, with the guard
and without, in a node or in a loop; the fr3 also as one of another make (`other_plant.py`). A row
has the fastest joint's speed without the guard and with it, the largest displacement of a joint,
the largest change of a torque and the largest joint torque of the last command, and why the arm
was stopped. It says FAST above 2.1 rad/s, and WORSE if the guard then makes the arm over 20 %
faster. Rows are counted by plant, and by what is wrong.

Exit status 1 if a row is worse, but where two things are wrong at once, or if over 3 % of the rows
with true sensors are fast. `--draw` chooses the arms and their motion: draw 0, the shipped arms,
was looked at while the bounds were chosen; every other draw, with inertias about 10 % off and
another motion, is for judging. `make guard-misconfiguration` draws a sample of rows.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
import sys
from typing import Any

import guard_runs as runs
from guard_runs import Case, Channel, JointState, Loop, STEP_S
import numpy as np

from franka_dynamics.arm import ArmDescription
from franka_dynamics.arrays import Array
from franka_dynamics.demo.random_plant import random_plant
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.simulation.arm_simulation import Push, SimulationSettings
from franka_dynamics.simulation.joint_elasticity import franka_elasticity

AT = 1000  # number of the step before which live changes are made
FAST = 2.1  # [rad/s]
MOST_FAST = 0.03  # share of rows that may be faster
WAYS = np.array([0.30, 0.45, -0.25, 0.35, 0.40, 0.30, -0.50])  # of the joints that move [rad]
# Turns of the joints from home [rad], and direction, in which the flange is pushed.
POSES = {
    'at home': ((0.0,) * 7, (0.0, 1.0, 0.0)),
    'stretched': ((0.3, 0.6, -0.2, 1.0, 0.4, -0.6, 0.5), (0.8, 0.0, -0.6)),
    'folded': ((-0.8, -0.3, 0.5, -0.3, -0.7, 0.8, -0.9), (-0.6, 0.64, 0.48)),
}
# Words in the names of cases that are counted apart. The sensors of all others are right, or say
# that they are not.
TWO_FAULTS = 'two things wrong at once'
GROUPS = {
    TWO_FAULTS: ('cease for 1 s, 1 kg undeclared',),
    'sensors that are wrong': (
        'stuck',
        'frozen',
        'velocities zero',
        'impossible',
        'no number',
    ),
    'states that cease': ('cease',),
    'somebody else drives': ('somebody',),
}
FEW = ('none', 'gentle')
STIFF = ('gentle', 'firm')


def moves(loop: Loop) -> Iterator[None]:
    """Move all joints, each by another distance, within 1.2 s, from step 700 on."""
    yield from loop.until(700)
    arm = loop.known
    draw = loop.draw
    share = np.linspace(0.0, 1.0, 25)
    blend = 10.0 * share**3 - 15.0 * share**4 + 6.0 * share**5
    ways = WAYS[: arm.n]
    if draw:
        rng = np.random.default_rng(draw)
        ways = rng.uniform(0.25, 0.5, arm.n) * rng.choice([-1.0, 1.0], arm.n)
        low = arm.limit('lower') + 0.1
        high = arm.limit('upper') - 0.1
        ways = np.clip(arm.home_position + ways, low, high) - arm.home_position
    loop.ask(loop.core.follow, arm.home_position + np.outer(blend, ways), 1.2 * share)


def live(loop: Loop, **changes: Any) -> Iterator[None]:
    """Change the core's settings at step AT."""
    yield from loop.until(AT)
    loop.ask(loop.core.change, **changes)


def gains_while_silent(loop: Loop, gains: str) -> Iterator[None]:
    """Set other gains between a stop and a start."""
    return runs.changes_while_silent(loop, **runs.gains_of(loop.known, gains))


def carries(loop: Loop, mass: float) -> Iterator[None]:
    """Put another load on the flange at step AT."""
    yield from loop.until(AT)
    loop.arm.set_payload(runs.body(mass))


def chases(loop: Loop, ahead: float, joints: slice = slice(None)) -> Iterator[None]:
    """Send set-points that stay a distance [rad] ahead of some joints' true positions."""
    yield from loop.until(701)
    while True:
        q = loop.arm.position
        q[joints] += ahead
        loop.ask(loop.core.follow, q, dq=np.zeros_like(q))
        yield


def wall(loop: Loop, stiffness: float, damping: float) -> Iterator[None]:
    """Put an elastic wall 5 cm from the flange along base x; stiffness [N/m], damping [N s/m]."""
    start = before = float(loop.arm.data.site_xpos[loop.arm.flange_site][0])
    while True:
        place = float(loop.arm.data.site_xpos[loop.arm.flange_site][0])
        depth = place - start - 0.05
        speed = (place - before) / STEP_S
        force = -max(0.0, stiffness * depth + damping * speed) if depth > 0.0 else 0.0
        loop.arm.push = Push((force, 0.0, 0.0), 0.0, 1e9)
        before = place
        yield


def at_once(loop: Loop, act: Callable[[Loop], None], at: int = AT) -> Iterator[None]:
    """Do something to the arm of another make at a step."""
    yield from loop.until(at)
    act(loop)


def closes(loop: Loop) -> None:
    """Close the brakes of all joints."""
    loop.arm.brakes[:] = True


def adds(loop: Loop, more: Callable[[Array, Array], Array]) -> None:
    """Let somebody else add torques, by position and velocity."""
    loop.wire = lambda torque: torque + more(loop.arm.position, np.array(loop.arm.data.qvel))


def adds_gravity(loop: Loop, mass: float | None = None) -> None:
    """Let somebody add g(q), or the gravity torque of an absent load [kg]."""
    arm = PinocchioModel(loop.known)
    load = runs.body(mass or 1.0)
    loaded = PinocchioModel(replace(loop.known, rated_load=None).with_payload(load))

    def load_torque(q: Array, _: Array) -> Array:
        return loaded.gravity(q) - arm.gravity(q)

    adds(loop, load_torque if mass else lambda q, _: arm.gravity(q))


def adds_feedback(loop: Loop, away: float) -> None:
    """Let the feedback of a second sender pull to a pose so far away [rad], with firm gains."""
    gains = runs.gains_of(loop.known, 'firm')
    kp = np.array(gains['kp'])
    kd = np.array(gains['kd'])
    goal = loop.arm.position + away
    adds(loop, lambda q, dq: kp * (goal - q) - kd * dq)


def adds_another(loop: Loop) -> None:
    """Let the torques of a second core with the same settings be added."""
    core = loop.core
    given = {name: getattr(core.settings, name) for name in ('target', 'kp', 'kd')}
    second = type(core)(loop.known, **given)

    def both(torque: Array) -> Array:
        state = loop.arm.read()
        return torque + second.step(state.position, state.velocity, state.time)

    loop.wire = both


# Channels ----------------------------------------------------------------------------------------


def efforts(change: Callable[[Array], Array]) -> Channel:
    """Return a channel that changes measured efforts."""

    def passed(state: JointState) -> JointState:
        return state if state.effort is None else replace(state, effort=change(state.effort))

    return passed


def repeats(since: float, what: str) -> Channel:
    """
    Return a channel that repeats what was measured before `since` [s], under new stamps.

    `what` is effort (efforts alone), frozen (the whole state) or stuck (positions, with a velocity
    of zero).
    """
    kept: list[JointState] = []

    def passed(state: JointState) -> JointState:
        if state.stamp < since:
            kept[:] = [state]
            return state
        old = kept[0]
        if what == 'effort':
            return replace(state, effort=old.effort)
        if what == 'stuck':
            return replace(state, q=old.q, dq=np.zeros_like(old.dq))
        return replace(state, q=old.q, dq=old.dq, effort=old.effort)

    return passed


def becomes_late(states: int) -> Channel:
    """Return a channel in which states become late within 20 steps, from step AT on."""
    kept: list[JointState] = []

    def passed(state: JointState) -> JointState:
        kept.append(state)
        old = kept[-1 - min(states, max(0, (len(kept) - AT) // 2))]
        return replace(old, age=state.stamp - old.stamp)

    return passed


def reads(value: float, joint: int, since: float) -> Channel:
    """Return a channel in which a joint, counted from 0, reads one position from a time [s] on."""

    def passed(state: JointState) -> JointState:
        q = state.q.copy()
        q[joint] = value if state.stamp >= since else q[joint]
        return replace(state, q=q)

    return passed


def without_velocities(since: float = 0.0) -> Channel:
    """Return a channel whose velocities are all zero from a time [s] on."""

    def passed(state: JointState) -> JointState:
        return replace(state, dq=np.zeros_like(state.dq)) if state.stamp >= since else state

    return passed


def ceases(duration: float) -> Channel:
    """Return a channel in which joint states cease for a time [s] in the motion."""

    def passed(state: JointState) -> JointState | None:
        return None if 1.3 <= state.stamp < 1.3 + duration else state

    return passed


def refused_at_first() -> Channel:
    """Return a channel whose first three positions, all zero, no FR3 has."""

    def passed(state: JointState) -> JointState:
        return replace(state, q=np.zeros_like(state.q)) if state.stamp < 2.5e-3 else state

    return passed


def coarse_stamps() -> Channel:
    """Return a channel whose stamps have a resolution of 10 ms."""

    def passed(state: JointState) -> JointState:
        return replace(state, stamp=np.floor(100.0 * state.stamp + 1e-6) / 100.0)

    return passed


def without_gravity(arm: ArmDescription) -> Channel:
    """Return a channel whose efforts lack the gravity torque."""
    model = PinocchioModel(arm)

    def passed(state: JointState) -> JointState:
        effort = None if state.effort is None else state.effort - model.gravity(state.q)
        return replace(state, effort=effort)

    return passed


# The cases ---------------------------------------------------------------------------------------
CARRIED = {'gravity_compensation': True}
# Target, and whether the arm carries itself, of the cases on both.
BOTH: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({'target': 'fci'}, CARRIED),
    ({'target': 'mujoco'}, {}),
)


@cache
def cases(family: str) -> dict[str, Case]:
    """Return every case (wrong setting or sensor, contact, none) of an arm by its name."""
    arm = replace(runs.arm_of(family), rated_load=None)  # some cases declare 5 kg
    listed = [*_settings(), *_sensors(arm), *_contacts(arm), *_others(family, arm)]
    listed += [*_somebody_adds(), *_impossible(), *_lost_states()]
    listed += _of_other_make(arm) if family == 'fr3' else ()
    return {case.name: replace(case, known=case.known or arm) for case in listed}


def _settings() -> Iterator[Case]:
    """Yield wrong targets, loads and gravity vectors, set before, live and while silent."""
    fci = {'target': 'fci'}
    mujoco = {'target': 'mujoco'}
    unknown = {'payload_known_to_robot': False}
    yield Case('fci, nothing wrong', fci, CARRIED, (moves,))
    yield Case('mujoco, nothing wrong', mujoco, {}, (moves,))
    for loop in (False, True):
        where = ', loop' if loop else ''
        for target in ('mujoco', 'gz_ros2_control')[: 1 if loop else 2]:
            name = f'{target}, arm carries itself{where}'
            yield Case(name, {'target': target}, CARRIED, loop=loop)
        yield Case(f'fci, nobody carries the arm{where}', fci, loop=loop)
        yield Case(
            f'mujoco, weightless{where}',
            mujoco,
            {'gravity': (0.0, 0.0, 0.0)},
            loop=loop,
        )
        for mass in (0.5, 1.5, 3.0, 5.0):
            settings = {**unknown, 'payload': runs.payload(mass)}
            name = f'fci, {mass:g} kg declared'
            later = (partial(live, payload=runs.payload(mass)),)
            yield Case(f'{name} and absent{where}', settings, CARRIED, loop=loop)
            yield Case(f'{name} live and absent{where}', unknown, CARRIED, later, loop=loop)
            if mass < 5.0:
                there = {'payload': runs.body(mass)}
                taken = (partial(carries, mass=mass),)
                name = f'mujoco, {mass:g} kg there, undeclared{where}'
                yield Case(name, mujoco, there, loop=loop)
                name = f'fci, {mass:g} kg picked up, undeclared{where}'
                yield Case(name, fci, CARRIED, taken, loop=loop)
    later = (partial(live, payload=runs.payload(3.0)),)
    yield Case('mujoco, 3 kg declared live and absent', mujoco, {}, later)
    taken = (partial(carries, mass=3.0),)
    lost = (partial(carries, mass=0.0),)
    yield Case('mujoco, 3 kg picked up, undeclared', mujoco, {}, taken)
    there = {'payload': runs.body(3.0)}
    settings = {**mujoco, 'payload': runs.payload(3.0)}
    yield Case('mujoco, 3 kg lost, still declared', settings, there, lost)
    for degrees in (10, 20, 30, 60, 90, 120, 150, 180):
        gravity = runs.tilted_settings(degrees, 'fci')
        later = (partial(live, **gravity),)
        gains = FEW if degrees > 90 else Case.gains
        yield Case(f'fci, gravity {degrees} deg wrong', gravity, CARRIED, gains=gains)
        yield Case(f'fci, gravity {degrees} deg wrong, live', fci, CARRIED, later, gains)
        if degrees % 30 == 0:
            for target, carried in BOTH:
                name = target['target']
                tilt = {**carried, 'gravity': runs.tilted(degrees)}
                loop = degrees % 60 == 0
                where = ', loop' if loop else ''
                settings = {**target, **runs.tilted_settings(degrees, name)}
                wrong = f'{name}, gravity {degrees} deg wrong in a level arm{where}'
                yield Case(wrong, settings, carried, gains=FEW, loop=loop)
                wrong = f'{name}, mounted at {degrees} deg, undeclared{where}'
                yield Case(wrong, target, tilt, gains=FEW, loop=loop)
    for loop in (False, True):
        where = 'loop' if loop else 'node'
        for target, carried in BOTH:
            other = 'mujoco' if target['target'] == 'fci' else 'fci'
            settings = {'payload_known_to_robot': False, **target}
            for what, change in (
                (f'target {other}', {'target': other}),
                ('gravity 45 deg wrong', runs.tilted_settings(45, target['target'])),
                ('2.9 kg absent', {'payload': runs.payload(2.9)}),
            ):
                # A node that is not started again sends nothing: its arm falls without a guard.
                for starts in (True, False) if loop else (True,):
                    name = f'{target["target"]}, {what}, set while silent, {where}'
                    script = partial(runs.changes_while_silent, starts=starts, **change)
                    name += '' if starts else ', not started'
                    yield Case(name, settings, carried, (script,), FEW, loop=loop)
            for gains in ('none', 'firm'):
                script = partial(gains_while_silent, gains=gains)
                name = f'{target["target"]}, {gains} gains set while silent, {where}'
                yield Case(name, settings, carried, (script,), ('gentle',), loop=loop)


def _sensors(arm: ArmDescription) -> Iterator[Case]:
    """Yield wrong efforts, repeated states, late states and other cycles."""
    sign = turned(arm, 4)
    for name, change in (
        ('effort sign of joint 4', lambda effort: effort * sign),
        ('effort halved', lambda effort: 0.5 * effort),
        ('effort doubled', lambda effort: 2.0 * effort),
        ('effort NaN', lambda effort: np.full_like(effort, np.nan)),
        ('effort zero', np.zeros_like),
    ):
        channel = partial(efforts, change)
        yield Case(f'fci, {name}', {}, CARRIED, (moves,), channel=channel)
    channel = partial(repeats, 0.5, 'effort')
    yield Case('fci, effort frozen', {}, CARRIED, (moves,), channel=channel)
    for what in ('frozen', 'stuck'):
        for since, where in ((0.6, 'at rest, then moving'), (1.2, 'in motion')):
            channel = partial(repeats, since, what)
            for target, carried in BOTH:
                for loop in (False, True):
                    name = f'{target["target"]}, all joints {what} {where}'
                    name += ', loop' if loop else ''
                    yield Case(name, target, carried, (moves,), STIFF, channel, loop=loop)
        shove = {**CARRIED, 'push': Push((0.0, 30.0, 0.0), 0.8, 1.0)}
        channel = partial(repeats, 0.6, what)
        yield Case(f'fci, all joints {what} at rest, 30 N for 1 s', {}, shove, channel=channel)
    push = {**CARRIED, 'push': Push((20.0, 0.0, 0.0), 0.8, 0.1)}
    for late in (10, 20, 40):
        yield Case(
            f'fci, states {late} ms late, 20 N for 0.1 s',
            {},
            push,
            channel=runs.delayed(late),
        )
    push = {**CARRIED, 'push': Push((0.0, 65.0, 0.0), 1.2, 0.3)}
    for late in (5, 10):
        name = f'fci, states become {late} ms late, 65 N for 0.3 s'
        yield Case(name, {}, push, (), STIFF, partial(becomes_late, late))
    for every in (1, 2, 5):
        settings = {'target': 'mujoco', 'payload': runs.payload(2.5)}
        name = f'mujoco, 2.5 kg declared and absent, loop of {every} ms'
        yield Case(name, settings, gains=FEW, loop=True, every=every)
        gravity = runs.tilted_settings(45, 'fci')
        name = f'fci, gravity 45 deg wrong, loop of {every} ms'
        yield Case(name, gravity, CARRIED, gains=FEW, loop=True, every=every)
    for target, carried in BOTH:
        settings = {**target, 'kd': (0.3,)}
        yield Case(f'{target["target"]}, kd 0.3', settings, carried, gains=('none',))


def _lost_states() -> Iterator[Case]:
    """Yield joint states that cease in a motion, in a node."""
    for target, carried in BOTH:
        for seconds in (0.3, 1.0):
            name = f'{target["target"]}, states cease for'
            channel = partial(ceases, seconds)
            fields: dict[str, Any] = {'channel': channel, 'seconds': 3.0}
            yield Case(f'{name} {seconds:g} s', target, carried, (moves,), **fields)
        loaded = {**carried, 'payload': runs.body(1.0)}
        yield Case(f'{name} 1 s, 1 kg undeclared', target, loaded, (moves,), **fields)


def _somebody_adds() -> Iterator[Case]:
    """Yield rows in which others add torques to the sent ones, at the start or in motion."""
    for target, carried in BOTH:
        for what, act in (
            ('g(q)', adds_gravity),
            ('g(q) of absent 2 kg', partial(adds_gravity, mass=2.0)),
            ('g(q) of absent 4 kg', partial(adds_gravity, mass=4.0)),
            ('feedback 0.25 rad away', partial(adds_feedback, away=0.25)),
            ('a second core', adds_another),
        ):
            for at, when in ((0, ''), (AT, ' in motion')):
                script = partial(at_once, act=act, at=at)
                name = f'{target["target"]}, somebody adds {what}{when}'
                yield Case(name, target, carried, (moves, script), seconds=2.6)


def _impossible() -> Iterator[Case]:
    """Yield velocities that are all zero, and one joint's positions that no arm has."""
    for target, carried in BOTH:
        for what, channel in (
            ('all velocities zero', without_velocities),
            ('all velocities zero in motion', partial(without_velocities, 1.2)),
            ('joint 6 impossible in motion', partial(reads, 9.0, 5, 1.2)),
            ('joint 2 no number in motion', partial(reads, np.nan, 1, 1.2)),
        ):
            for loop in (False, True):
                name = f'{target["target"]}, {what}{", loop" if loop else ""}'
                yield Case(name, target, carried, (moves,), STIFF, channel, loop=loop)


def _of_other_make(arm: ArmDescription) -> Iterator[Case]:
    """Yield motors, brakes and torques that fail, efforts and stamps of other receivers."""
    other: dict[str, Any] = {'plants': ('other',), 'seconds': 2.6}
    for target, carried in BOTH:
        name = target['target']
        closed = {**carried, 'brake_release_after': 1e9}
        yield Case(f'{name}, brakes stay closed', target, closed, (moves,), **other)
        script = partial(at_once, act=closes)
        yield Case(
            f'{name}, all brakes close in motion',
            target,
            carried,
            (moves, script),
            **other,
        )
        for what, channel in (
            ('effort of the other sign', partial(efforts, np.negative)),
            ('effort without gravity', partial(without_gravity, arm)),
            ('stamps of 10 ms', coarse_stamps),
        ):
            yield Case(f'{name}, {what}', target, carried, (moves,), channel=channel, **other)
    mujoco = {'target': 'mujoco'}
    wrong = {**mujoco, 'gravity_vector': (0.0, 0.0, 9.81)}
    yield Case('mujoco, gravity of the wrong sign', wrong, **other)
    loop = {'channel': refused_at_first, 'loop': True, **other}
    yield Case('mujoco, three states refused at first, loop', mujoco, **loop)
    firm = {
        'kp': (600.0,) * 4 + (250.0, 100.0, 20.0),
        'kd': (50.0,) * 4 + (6.0, 3.0, 1.0),
    }
    name = 'mujoco, gains that rotors bear, nothing wrong'
    yield Case(name, {**mujoco, **firm}, {}, (moves,), ('none',), loop=True, **other)


def _contacts(arm: ArmDescription) -> Iterator[Case]:
    """Yield walls, pushes and set-points that run ahead of the arm."""
    yield Case('fci, wall', {}, CARRIED, (moves, partial(wall, stiffness=3e4, damping=100.0)))
    yield Case(
        'fci, spring',
        {},
        CARRIED,
        (moves, partial(wall, stiffness=1.5e3, damping=10.0)),
    )
    for target, carried, force, duration in (
        ('fci', CARRIED, 10.0, 1.0),
        ('fci', CARRIED, 30.0, 1.0),
        ('fci', CARRIED, 15.0, 0.03),
        ('mujoco', {}, 30.0, 1.0),
    ):
        push = Push((0.0, force, 0.0), 0.8, duration)
        name = f'{target}, pushed by {force:g} N for {duration:g} s'
        yield Case(name, {'target': target}, {**carried, 'push': push})
    for pose, (turns, way) in POSES.items():
        posed = replace(arm, home=tuple(arm.home_position + np.array(turns)[: arm.n]))
        for force in (55.0, 65.0, 80.0):
            push = Push(tuple(force * np.array(way)), 0.8, 0.5)
            name = f'fci, pushed by {force:g} N for 0.5 s, {pose}'
            both = {'known': posed, 'real': posed}
            yield Case(name, {}, {**CARRIED, 'push': push}, gains=STIFF, **both)
    for what, options in (
        ('set-points 0.09 rad ahead', {'ahead': 0.09}),
        ('set-points of joint 2 ahead', {'ahead': -0.09, 'joints': slice(1, 2)}),
    ):
        yield Case(f'fci, {what}', {}, CARRIED, (partial(chases, **options),), STIFF)


def _others(family: str, arm: ArmDescription) -> Iterator[Case]:
    """Yield, of a Franka arm, another hand."""
    if not runs.is_franka_arm(arm):
        return
    mujoco = {'target': 'mujoco'}
    hand = runs.arm_of(family, 'franka_hand')
    bare = runs.arm_of(family, 'none')
    yield Case('mujoco, hand declared, absent', mujoco, known=hand, real=bare)
    yield Case('mujoco, hand there, undeclared', mujoco, known=bare, real=hand)


def turned(arm: ArmDescription, joint: int) -> Array:
    """Return factors of the joints' torques, (n,): -1 for joint 1 to n, 1 for the others."""
    return 1.0 - 2.0 * np.eye(arm.n)[joint - 1]


# The rows ----------------------------------------------------------------------------------------


# Plant, arm, case, whether effort is measured, gains, draw, least period of joint states [ms].
Job = tuple[str, str, str, bool, str, int, int]
# Of the sensors of the plant of another make; the package's own is without noise here.
NOISE = {'position_noise': 1e-6, 'velocity_noise': 4e-3, 'effort_noise': 0.15}


def row(job: Job) -> tuple[Job, runs.Run, runs.Run]:
    """Run one job with the guard and without."""
    return job, run_of(job), run_of(job, runs.Unguarded)


def run_of(job: Job, core: type[runs.Feedforward] = runs.Feedforward) -> runs.Run:
    """Run one job by a core."""
    kind, family, name, effort, gains, draw, every = job
    case = cases(family)[name]
    case = replace(case, every=max(case.every, every))
    real = case.real or runs.arm_of(family)
    known = case.known or runs.arm_of(family)
    if draw:
        real = replace(random_plant(real, draw).arm, friction=real.friction)
    settings = SimulationSettings().with_real_effects(real)
    elasticity = franka_elasticity(real) if runs.is_franka_arm(real) else None
    settings = replace(settings, brake_release_after=0.1, armature=False, elasticity=elasticity)
    settings = replace(settings, **(NOISE if kind == 'other' else {}), **case.plant)
    plant = runs.plant_of(kind, real, settings, case, draw)
    return runs.simulate(case, known, plant, effort, gains, draw, kind=core)


def parser_of(draw: int) -> argparse.ArgumentParser:
    """Return a parser of the options of benches whose rows are those of `jobs_of`."""
    parser = runs.parser_of(sys.modules['__main__'].__doc__, draw)
    parser.add_argument('--every', type=int, default=1, help='period of joint states [ms]')
    return parser


def jobs_of(given: argparse.Namespace) -> list[Job]:
    """Return all jobs that the options choose."""
    return [
        (kind, family, case.name, effort, gains, given.draw, given.every)
        for arm in given.arms
        for case in cases(arm).values()
        for kind, family in runs.keys_of(given, case)
        if family == arm
        for effort in (True, False)
        for gains in case.gains
    ]


def main() -> int:
    """Run the cases in parallel; print a row for each run, and how many are fast or worse."""
    given = parser_of(0).parse_args()
    rows = []
    for job, run, free in runs.rows_of(row, jobs_of(given), given):
        rows.append((job, run, free))
        kind, family, name, effort, gains, *_ = job
        key = f'{kind} {family} | {name} | {"effort" if effort else "-"} | {gains}'
        print(
            f'{key:<84} {free.peak:6.2f} -> {run.peak:6.2f} rad/s {run.moved:6.3f} rad '
            f'{run.leap:5.2f} {run.torque:5.1f} N m{"  refused" if run.refused else ""}'
            f'{"  WORSE" if is_worse(run, free) else ""}{"  FAST" if run.peak > FAST else ""}'
            f'  {run.stopped[:200]}',
            flush=True,
        )
    return _summary(rows, given.draw)


def is_worse(run: runs.Run, free: runs.Run) -> bool:
    """Return whether a run is fast, and over 20 % faster than the one without the guard."""
    return run.peak > FAST and run.peak > 1.2 * free.peak


def group_of(job: Job) -> tuple[str, str]:
    """Return plant and group of a row."""
    names = (n for n, words in GROUPS.items() if any(word in job[2] for word in words))
    return job[0], next(names, 'true sensors')


def _summary(rows: list[tuple[Job, runs.Run, runs.Run]], draw: int) -> int:
    """Print how many rows of each group are fast or worse; return the exit status."""
    failed = False
    for key in sorted({group_of(job) for job, *_ in rows}, reverse=True):
        of = [one for one in rows if group_of(one[0]) == key]
        fast, free = (sum(one[k].peak > FAST for one in of) for k in (1, 2))
        worse = sum(is_worse(*pair) for _, *pair in of)
        print(
            f'draw {draw}, {key[0]} plant, {key[1]}: {len(of)} rows, {fast} above {FAST:g} rad/s '
            f'({100.0 * fast / len(of):.1f} %), without guard {free}; {worse} worse'
        )
        failed |= key[1] == 'true sensors' and fast > MOST_FAST * len(of)
        failed |= key[1] != TWO_FAULTS and worse > 0
    stopped = sum('nothing wrong' in job[2] and bool(run.stopped) for job, run, _ in rows)
    print(f'draw {draw}: {stopped} rows with nothing wrong stopped')
    return int(failed)


if __name__ == '__main__':
    sys.exit(main())
