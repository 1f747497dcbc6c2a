# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Run situations in which nothing is wrong; count those in which the core stops the arm.

Every situation runs on a plant that differs from the model as a real arm does (inertias, friction,
elastic gears with ripple, vibration, sensor noise, 0.2 kg undeclared; `random_plant`), with and
without measured effort, on Franka arms with their hand and an arm from a URDF, in a node and in
loops, and on an fr3 of another make (`other_plant.py`). A row that is stopped runs again without
the guard. Where the arm then is faster than the guard's bound on speeds (led by hand or falling,
0.6 of a joint's limit; while it follows a motion, 1.15), the guard stopped it as its page says,
and the row is counted apart. `--draw` chooses the plants: draw 0 was looked at while the bounds
were chosen, every other draw is for judging. `make guard-false-alarms` draws a sample of rows.
Exit status 1 if more than MOST_STOPPED of the rows are stopped below that bound.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
import sys
from typing import Any

import guard_runs as runs
from guard_runs import Case, Channel, JointState, Loop, Script, STEP_S
import numpy as np

from franka_dynamics.arm.friction import ViscousCoulombFriction
from franka_dynamics.arrays import Array
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.demo.random_plant import random_plant
from franka_dynamics.excitation.excitation import random_trajectory
from franka_dynamics.excitation.excitation_problem import ExcitationProblem
from franka_dynamics.excitation.limits import ExcitationLimits
from franka_dynamics.simulation.arm_simulation import Push

BEGIN = 800  # step at which a situation begins: the arm is held at home before
MOST_STOPPED = 0.02  # share of rows that are no faster than the guard's bound on speeds
SWING_HZ = 0.5
# A simulation without noise and without gears: at rest its states repeat bit by bit.
EXACT: dict[str, Any] = {f'{of}_noise': 0.0 for of in ('position', 'velocity', 'effort')} | {
    'vibration_rms': 0.0,
    'elasticity': None,
}

# What happens ------------------------------------------------------------------------------------


def swinging(loop: Loop, ahead: float | Array = 0.0) -> Array:
    """Return a policy's joint positions `ahead` [s] of now, (..., n); it begins at rest."""
    time = np.maximum(0.0, (loop.step - BEGIN) * STEP_S + np.asarray(ahead))[..., None]
    grows = np.minimum(1.0, time / 1.5)
    n = loop.known.n
    size = np.resize([0.30, 0.20, 0.25, 0.20, 0.30, 0.25, 0.40], n)
    blend = grows**3 * (10.0 - 15.0 * grows + 6.0 * grows**2)
    swing = np.sin(2.0 * np.pi * SWING_HZ * time + np.arange(n))
    return np.asarray(loop.known.home_position + blend * size * swing)


def policy(
    loop: Loop,
    rate: float,
    jitter: float = 0.0,
    lost: float = 0.0,
    noise: float = 0.0,
    smooth: float = 1.0,
) -> Iterator[None]:
    """Send a policy's set-points at a rate [Hz] with jitter [s], loss and noise [rad]."""
    count = 0
    due = 0.0
    before = None
    while True:
        if (loop.step - BEGIN) * STEP_S >= due:
            count += 1
            due = count / rate + abs(loop.rng.normal(0.0, jitter))
            wanted = swinging(loop) + loop.rng.normal(0.0, noise, loop.known.n)
            before = wanted if before is None else before + smooth * (wanted - before)
            if loop.rng.random() >= lost:
                loop.ask(loop.core.follow, before)
        yield


def chunks(
    loop: Loop, points: int, period: float, every: float, noise: float = 0.0
) -> Iterator[None]:
    """Send chunks of `points` positions `period` [s] apart, a new one `every` [s]."""
    times = period * np.arange(1, points + 1)
    for k in range(1000):
        yield from loop.until(BEGIN + round(k * every / STEP_S))
        q = swinging(loop, times)
        loop.ask(loop.core.follow, q + loop.rng.normal(0.0, noise, q.shape), times)


def moves(loop: Loop, share: float, kind: str = 'random', at: int = BEGIN) -> Iterator[None]:
    """Follow a random motion at a share of the limits, or a multisine of that amplitude [rad]."""
    yield from loop.until(at)
    arm = loop.known
    duration = 3.0
    if kind == 'multisine':
        motion = multisine(arm, duration, share)
        loop.ask(loop.core.follow, motion.positions, motion.times, motion.velocities)
        return
    problem = ExcitationProblem(arm, ExcitationLimits(fraction=share, position_margin=0.2))
    drawn = random_trajectory(problem, arm.home_position, duration, loop.rng)
    times = np.linspace(0.0, duration, round(50 * duration) + 1)
    q, dq, ddq = drawn.states_at(times)
    loop.ask(loop.core.follow, q, 1.0 + times, dq, ddq)


def pushes(loop: Loop, force: tuple[float, float, float], duration: float) -> Iterator[None]:
    """Push the flange with a force [N]."""
    loop.arm.push = Push(force, (BEGIN + 200) * STEP_S, duration)
    yield


def guided(loop: Loop, speed: float) -> Iterator[None]:
    """Lead the flange by hand along a circle at a speed [m/s], its orientation held."""
    data = loop.arm.data
    site = loop.arm.flange_site
    radius = 0.1

    def pose() -> tuple[Array, Array]:
        return np.array(data.site_xpos[site]), np.array(data.site_xmat[site]).reshape(3, 3)

    def sine(before: Array, after: Array) -> Array:
        # The axes' cross products are twice the sine of the angle between two orientations.
        return np.asarray(0.5 * np.cross(before.T, after.T).sum(axis=0))

    start = before = pose()
    while True:
        now = pose()
        time = max(0.0, (loop.step - BEGIN) * STEP_S)
        angle = speed / radius * (time - 0.5 * min(1.0, time))
        wanted = start[0] + radius * np.array([np.cos(angle) - 1.0, np.sin(angle), 0.0])
        force = 300.0 * (wanted - now[0]) - 60.0 * (now[0] - before[0]) / STEP_S
        # A hand's damping; ten times as much swings the light wrist at 1 ms a step.
        moment = 5.0 * sine(now[1], start[1]) - 0.3 * sine(before[1], now[1]) / STEP_S
        loop.arm.push = Push(tuple(force), 0.0, 1e9, tuple(moment))
        before = now
        yield


def displaced(loop: Loop, distance: float) -> Iterator[None]:
    """Let a person pull the flange sideways by a distance [m] within 1 s, and hold it there."""
    start = before = np.array(loop.arm.data.site_xpos[loop.arm.flange_site])
    while True:
        place = np.array(loop.arm.data.site_xpos[loop.arm.flange_site])
        share = min(1.0, (loop.step - BEGIN) * STEP_S)
        wanted = start + np.array([0.0, distance * share, 0.0])
        force = 400.0 * (wanted - place) - 20.0 * (place - before) / STEP_S
        loop.arm.push = Push(tuple(force), 0.0, 1e9)
        before = place
        yield


def picks_up(
    loop: Loop, mass: float, late: float, back: bool = False, beside: float = 0.0
) -> Iterator[None]:
    """
    Take a load [kg] and set `payload` `late` [s] after it; `back`: set the load down again.

    The load is held `beside` [m] its centre of mass.
    """
    take = BEGIN + 800
    steps = []
    for at, carried in ((take, mass), (take + 1000, 0.0))[: 1 + back]:
        steps.append((at, partial(loop.arm.set_payload, runs.body(carried, beside))))
        change = partial(loop.ask, loop.core.change, payload=runs.payload(carried, beside))
        steps.append((at + round(late / STEP_S), change))
    for at, act in sorted(steps, key=lambda one: one[0]):
        yield from loop.until(at)
        act()


def changes_gains(loop: Loop) -> Iterator[None]:
    """Change kp and kd ten times a second while the arm moves."""
    gentle = runs.gains_of(loop.known, 'gentle')
    yield from moves(loop, 0.4, 'multisine')
    while True:
        if loop.step % 100 == 0:
            factor = 0.6 + 0.4 * loop.rng.random()
            changed = {name: tuple(factor * k for k in gain) for name, gain in gentle.items()}
            loop.ask(loop.core.change, **changed)
        yield


def pauses(loop: Loop) -> Iterator[None]:
    """Send set-points that cease for half a second and go on from there, again and again."""
    sent = 0
    while True:
        since = loop.step - BEGIN
        if since % 1500 < 1000 and since % 33 == 0:
            loop.ask(loop.core.follow, swinging(loop, sent * 0.033 - since * STEP_S))
            sent += 1
        yield


def taps(loop: Loop, torque: tuple[float, ...], duration: int) -> Iterator[None]:
    """Load the joints with a torque [N m], below the bounds that pages name, for some steps."""
    yield from loop.until(BEGIN + 200)
    loop.arm.tap = np.array(torque)
    yield from loop.until(BEGIN + 200 + duration)
    loop.arm.tap = np.zeros(loop.known.n)


def turns(loop: Loop) -> Iterator[None]:
    """Move all joints by 0.25 to 0.5 rad within 1.2 s."""
    yield from loop.until(BEGIN)
    share = np.linspace(0.0, 1.0, 25)[:, None]
    ways = np.resize([0.30, 0.45, -0.25, 0.35, 0.40, 0.30, -0.50], loop.known.n)
    blend = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    loop.ask(loop.core.follow, loop.known.home_position + blend * ways, 1.2 * share[:, 0])


def rounded(count: float = 1e-4) -> Channel:
    """Return a channel that rounds positions to counts [rad], as a coarse encoder does."""

    def passed(state: JointState) -> JointState:
        return replace(state, q=np.round(state.q / count) * count)

    return passed


# The situations ----------------------------------------------------------------------------------


def situation(
    name: str,
    gains: str = 'gentle',
    *scripts: Script,
    target: str = 'fci',
    plant: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    seconds: float = 4.0,
    begin: int = BEGIN,
    **fields: Any,
) -> Case:
    """Return a case whose plant carries itself if the target says so."""
    carried = {'gravity_compensation': target == 'fci', 'brake_release_after': 0.1}
    return Case(
        name,
        {'target': target, **(settings or {})},
        {**carried, **(plant or {})},
        scripts,
        (gains,),
        seconds=seconds,
        begin=begin,
        **fields,
    )


def situations() -> Iterator[Case]:
    """Yield every situation."""
    half: Script = partial(moves, share=0.5)
    for rate in (10.0, 30.0, 50.0, 100.0):
        for gains in ('gentle', 'firm'):
            yield situation(
                f'policy {rate:g} Hz, {gains} gains', gains, partial(policy, rate=rate)
            )
    for what, gains, options in (
        ('30 Hz, 6 ms jitter', 'firm', {'jitter': 0.006}),
        ('30 Hz, one in ten lost', 'firm', {'lost': 0.1}),
        ('30 Hz, 1 mrad noise', 'firm', {'noise': 1e-3}),
        ('50 Hz, 3 mrad noise', 'gentle', {'rate': 50.0, 'noise': 3e-3}),
        ('30 Hz, smoothed', 'gentle', {'smooth': 0.3}),
        ('30 Hz, default gains', 'default', {}),
    ):
        yield situation(f'policy {what}', gains, partial(policy, **{'rate': 30.0, **options}))
    yield situation('policy 30 Hz, mujoco', 'firm', partial(policy, rate=30.0), target='mujoco')
    yield situation('policy that pauses', 'gentle', pauses)
    for points, period, every, gains, noise in (
        (8, 0.033, 0.1, 'gentle', 0.0),
        (30, 0.033, 0.5, 'firm', 0.0),
        (16, 0.05, 0.4, 'gentle', 1e-3),
    ):
        sent = partial(chunks, points=points, period=period, every=every, noise=noise)
        yield situation(f'chunks of {points} every {every:g} s', gains, sent)
    for target in ('fci', 'mujoco'):
        for gains in ('default', 'gentle', 'firm'):
            for share in (0.5, 0.9):
                yield situation(
                    f'motion at {share:g} of the limits, {gains} gains, {target}',
                    gains,
                    partial(moves, share=share),
                    target=target,
                    seconds=6.0,
                )
    for gains in ('default', 'gentle'):
        wave = partial(moves, share=0.5, kind='multisine')
        yield situation(f'multisine, {gains} gains', gains, wave)
    yield situation('no gains, no reference', 'none')
    for gains, word in (('none', 'no gains'), ('damped', 'kd alone')):
        for speed in (0.3, 0.5):
            led = partial(guided, speed=speed)
            yield situation(f'{word}, guided at {speed:g} m/s', gains, led)
    # Without gains nobody else holds this arm, whose masses are off: the hand is there from the
    # first torque on.
    led = partial(guided, speed=0.3)
    yield situation('no gains, guided, mujoco', 'none', led, target='mujoco', begin=0)
    for name, gains, force, duration in (
        ('contact of 5 N for 1 s', 'gentle', (0.0, 5.0, 0.0), 1.0),
        ('contact of 10 N for 1 s', 'gentle', (0.0, 10.0, 0.0), 1.0),
        ('contact of 20 N for 1 s', 'gentle', (0.0, 20.0, 0.0), 1.0),
        ('contact of 20 N from above, firm', 'firm', (0.0, 0.0, -20.0), 1.0),
        ('bump of 30 N for 50 ms', 'gentle', (30.0, 0.0, 0.0), 0.05),
        ('bump of 30 N, firm', 'firm', (0.0, 30.0, 0.0), 0.05),
    ):
        yield situation(name, gains, partial(pushes, force=force, duration=duration))
    contact = partial(pushes, force=(10.0, 0.0, 0.0), duration=1.0)
    yield situation('contact of 10 N, mujoco', 'gentle', contact, target='mujoco')
    yield situation('displaced by 10 cm', 'gentle', partial(displaced, distance=0.1))
    known = {'payload_known_to_robot': False}
    for mass, late, gains, word in (
        (1.0, -0.8, 'firm', 'declared before'),
        (1.0, 0.0, 'firm', 'declared at once'),
        (1.0, 0.3, 'firm', 'declared 0.3 s late'),
        (2.2, -0.8, 'firm', 'declared before'),
        (2.2, 0.0, 'firm', 'declared at once'),
        (2.2, -0.8, 'gentle', 'declared before, gentle'),
    ):  # 2.2 kg declared 0.3 s late exceed the bounds, as they should
        taken = partial(picks_up, mass=mass, late=late)
        yield situation(f'{mass:g} kg picked up, {word}', gains, taken, settings=known)
    for target, settings in (('fci', known), ('mujoco', {})):
        taken = partial(picks_up, mass=2.0, late=-0.8, beside=0.15)
        name = f'2 kg picked up at its end, declared before, {target}'
        yield situation(name, 'firm', taken, target=target, settings=settings)
    back = partial(picks_up, mass=1.0, late=0.0, back=True)
    yield situation('1 kg picked up and set down, mujoco', 'firm', back, target='mujoco')
    back = partial(picks_up, mass=2.0, late=-0.2, back=True)
    yield situation('2 kg set down, declared before', 'firm', back, settings=known)
    for gains in ('gentle', 'firm'):
        yield situation(f'cold arm, {gains} gains', gains, half, stiction=3.0, seconds=6.0)
    off = partial(moves, share=0.7)
    yield situation('inertias 15 % off', 'firm', off, deviation=0.15)
    yield situation('inertias 15 % off, mujoco', 'gentle', half, target='mujoco', deviation=0.15)
    yield situation('states 5 ms late', 'gentle', half, channel=runs.delayed(5))
    yield situation('states 10 ms late', 'default', half, channel=runs.delayed(10))
    for noise, of in (
        (0.005, 'velocity'),
        (0.02, 'velocity'),
        (1e-4, 'position'),
        (1.0, 'effort'),
    ):
        plant = {f'{of}_noise': noise}
        yield situation(f'{of} noise of {noise:g}', 'gentle', half, plant=plant)
    yield situation('gains changed in motion', 'gentle', changes_gains)
    yield from in_loops(half)
    yield from at_rest_and_mounted(half)


def in_loops(half: Script) -> Iterator[Case]:
    """Yield cycles of 1 to 10 ms in nodes and loops, and right changes after a stop."""
    for loop in (False, True):
        where = 'loop' if loop else 'node'
        for every in (1, 2, 5) if loop else (2, 5, 10):
            for target in ('fci', 'mujoco'):
                gains = 'gentle' if every < 5 else 'default'
                fields = {'every': every, 'loop': loop}
                name = f'states every {every} ms, {target}, {where}'
                yield situation(name, gains, half, target=target, **fields)
        for target in ('fci', 'mujoco'):
            settings = {} if target == 'mujoco' else {'payload_known_to_robot': False}
            later = partial(moves, share=0.5, at=2200)
            fields = {
                'settings': settings,
                'target': target,
                'loop': loop,
                'seconds': 5.0,
            }
            for name, change in (
                (
                    '1.5 kg taken and declared',
                    {'mass': 1.5, 'payload': runs.payload(1.5)},
                ),
                ('firm gains set', {'kp': None, 'kd': None}),
            ):
                script = partial(_changes_rightly, **change)
                what = f'{name} while silent, {target}, {where}'
                yield situation(what, 'gentle', script, later, begin=0, **fields)
    yield situation('policy 30 Hz, loop', 'firm', partial(policy, rate=30.0), loop=True)
    yield situation('no gains, no reference, loop', 'none', loop=True)
    yield situation('no reference, mujoco, loop', 'gentle', target='mujoco', loop=True)


def _changes_rightly(loop: Loop, **changes: Any) -> Iterator[None]:
    if 'kp' in changes:
        changes = runs.gains_of(loop.known, 'firm')
    return runs.changes_while_silent(loop, **changes)


def at_rest_and_mounted(half: Script) -> Iterator[Case]:
    """Yield arms whose states repeat because they rest, coarse encoders, and tilted mounts."""
    for loop in (False, True):
        where = 'loop' if loop else 'node'
        for target in ('fci', 'mujoco'):
            fields = {'target': target, 'plant': EXACT, 'loop': loop}
            yield situation(f'no noise, at rest, {target}, {where}', 'gentle', **fields)
            later = partial(moves, share=0.5, at=2500)
            name = f'no noise, at rest, then moves, {target}, {where}'
            yield situation(name, 'gentle', later, seconds=6.0, **fields)
    plant = {**EXACT, 'brake_release_after': 1e9}
    yield situation('no noise, brakes stay closed', 'gentle', plant=plant)
    for script, word in (((), 'at rest'), ((half,), 'in motion')):
        yield situation(f'positions to 0.1 mrad, {word}', 'gentle', *script, channel=rounded)
    for count in (5e-5, 1e-4):
        coarse = partial(rounded, count)
        for gains in ('gentle', 'firm'):
            name = f'positions to {1e3 * count:g} mrad, {gains} gains, moved at once'
            yield situation(name, gains, turns, channel=coarse)
    for gains, torque, steps in (
        ('gentle', (0.0, 14.0, 0.0, 0.0, 0.0, 0.0, 2.0), 300),
        ('gentle', (0.0, 14.0, 0.0, 8.0, 2.0, 2.0, 2.0), 300),
        ('firm', (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.5), 300),
        ('gentle', (0.0, 0.0, 8.0, 0.0, 0.0, 3.0, 0.0), 50),
    ):
        tap = partial(taps, torque=torque, duration=steps)
        name = f'tap of {max(torque):g} N m for {steps} ms, {gains} gains'
        yield situation(name, gains, tap, plants=('other',))
    for degrees in (30, 45, 60, 90, 120, 150, 180):
        for target in ('fci', 'mujoco'):
            axis = 'y' if degrees % 60 else 'x'
            gravity = runs.tilted(degrees, axis)
            yield situation(
                f'mounted at {degrees} degrees about {axis}, {target}',
                'gentle',
                half,
                target=target,
                settings=runs.tilted_settings(degrees, target, axis),
                plant={'gravity': gravity},
                loop=axis == 'y',
            )


def row(job: tuple[str, str, str, bool, int]) -> tuple[str, str, bool]:
    """
    Run one job; return its name, why it was stopped, and whether it is too fast without the guard.

    The reason names the speed without the guard.
    """
    kind, family, name, effort, draw = job
    case = next(one for one in situations() if one.name == name)
    arm = runs.arm_of(family, 'franka_hand')
    drawn = random_plant(arm, draw, case.deviation)
    friction = drawn.arm.friction
    assert isinstance(friction, ViscousCoulombFriction)
    rough = ViscousCoulombFriction(
        case.stiction * friction.viscous,
        case.stiction * friction.coulomb,
        friction.offset,
    )
    real = replace(drawn.arm, friction=rough)
    settings = replace(drawn.settings, **case.plant)

    def run(**options: Any) -> runs.Run:
        plant = runs.plant_of(kind, real, settings, case, draw)
        return runs.simulate(case, arm, plant, effort, case.gains[0], draw, **options)

    stopped = run(until_stopped=True).stopped
    free = runs.Run()
    if stopped:
        free = run(kind=runs.Unguarded)
        stopped += f' [{free.peak:.2f} rad/s without guard]'
    return (
        f'{kind} {family} | {name} | {"effort" if effort else "-"}',
        stopped,
        free.too_fast,
    )


def main() -> int:
    """Run the situations in parallel; print the stopped ones."""
    given = runs.parser_of(__doc__, 7).parse_args()
    jobs = [
        (*key, one.name, effort, given.draw)
        for one in situations()
        for key in runs.keys_of(given, one)
        for effort in (True, False)
    ]
    count = stopped = fast = 0
    for name, why, too_fast in runs.rows_of(row, jobs, given):
        count += 1
        stopped += bool(why) and not too_fast
        fast += too_fast
        if why:
            print(f'{name:<76} {why}{"  TOO FAST" if too_fast else ""}', flush=True)
    print(
        f'draw {given.draw}: {count} rows, {stopped} stopped ({100.0 * stopped / count:.1f} %), '
        f'{fast} more that exceed the bound on speeds by themselves'
    )
    return int(stopped > MOST_STOPPED * count)


if __name__ == '__main__':
    sys.exit(main())
