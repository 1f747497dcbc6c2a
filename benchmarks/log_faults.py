# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults, and changes that do no harm, which are calculated into sound recordings of an arm."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from franka_dynamics.arm import ArmDescription, LinkInertia
from franka_dynamics.arrays import Array
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.judge.columns import gravity_axes
from franka_dynamics.recordings.preprocessing import to_motion
from franka_dynamics.recordings.recording import Recording

Change = Callable[[Recording], Recording]


class Case(NamedTuple):
    """
    A change of sound recordings, and what a verdict on them may name.

    `kind` is the kind of the fault ('' for a change that does no harm) and `joints` are its
    joints, counted from 0; `gravity` (3,) [m/s^2] is the one that is declared.
    """

    name: str
    kind: str
    joints: tuple[int, ...]
    change: Change
    gravity: Array


def columns(values: Array, new_time: Array, time: Array) -> Array:
    """Return columns of `values` at `time`, (N, n), interpolated at `new_time`, (M, n)."""
    return np.column_stack([np.interp(new_time, time, one) for one in values.T])


def effort(change: Callable[[Recording], Array]) -> Change:
    """Return a function that replaces the efforts of a recording."""
    return lambda log: replace(log, effort=change(log))


def unchanged(log: Recording) -> Recording:
    """Return the recording."""
    return log


def in_bursts(log: Recording) -> Recording:
    """Return the recording with each fifth row in place of the four behind it."""
    rows = np.arange(len(log)) // 5 * 5
    return replace(log, q=log.q[rows], dq=log.dq[rows], effort=log.effort[rows])


def one_sided_velocities(log: Recording) -> Recording:
    """Return the recording with the change of positions over the last 50 ms as velocities."""
    before = columns(log.q, log.time - 0.05, log.time)
    return replace(log, dq=(log.q - before) / 0.05)


def at_times(log: Recording, time: Array) -> Recording:
    """Return the recording interpolated at times [s]."""
    stamps = log.stamp_ns[0] + np.round(1e9 * time).astype(np.int64)
    q, dq, torque = (columns(one, time, log.time) for one in (log.q, log.dq, log.effort))
    return replace(log, stamp_ns=stamps, q=q, dq=dq, effort=torque)


def at_1_khz_from_30_hz(log: Recording) -> Recording:
    """Return the recording at 30 Hz, interpolated at 1 kHz."""
    slow = at_times(log, np.arange(0.0, log.duration, 1.0 / 30.0))
    return at_times(slow, np.arange(0.0, slow.duration, 1e-3))


def with_gaps(log: Recording) -> Recording:
    """Return the recording without ten times 0.2 s."""
    begins = np.linspace(0.05, 0.95, 10)[:, None] * log.duration
    left_out = np.any((log.time >= begins) & (log.time < begins + 0.2), axis=0)
    return log.select(np.asarray(~left_out))


def noisy(share: float) -> Change:
    """Return a function that adds noise to efforts, a share of each joint's largest."""

    def change(log: Recording) -> Array:
        noise = np.random.default_rng(0).standard_normal(log.effort.shape)
        return log.effort + share * np.abs(log.effort).max(axis=0) * noise

    return effort(change)


def rounded(step: float) -> Change:
    """Return a function that rounds efforts to steps [N m]."""
    return effort(lambda log: step * np.round(log.effort / step))


def scaled(gains: dict[int, float]) -> Change:
    """Return a function that multiplies joints' efforts by gains."""
    return effort(lambda log: log.effort * [gains.get(k, 1.0) for k in range(log.q.shape[1])])


def drifting(joints: Sequence[int], last: float) -> Change:
    """Return a function whose gain of joints' efforts grows from 1 to `last`."""

    def change(log: Recording) -> Array:
        moved = np.isin(np.arange(log.q.shape[1]), joints)
        rise = np.linspace(0.0, last - 1.0, len(log))
        return log.effort * (1.0 + np.outer(rise, moved))

    return effort(change)


def one_way(joint: int, gain: float) -> Change:
    """Return a function that multiplies a joint's efforts where it moves positively."""

    def change(log: Recording) -> Array:
        there = (log.dq > 0.0) & (np.arange(log.q.shape[1]) == joint)
        return np.where(there, gain * log.effort, log.effort)

    return effort(change)


def exchanged(one: int, other: int, names: Sequence[str] = ('effort',)) -> Change:
    """Return a function that exchanges columns of two joints."""

    def change(log: Recording) -> Recording:
        order = np.arange(log.q.shape[1])
        order[[one, other]] = other, one
        return replace(log, **{name: getattr(log, name)[:, order] for name in names})

    return change


def off(joint: int, value: float) -> Change:
    """Return a function that adds a torque [N m] to a joint's effort."""
    return effort(lambda log: log.effort + value * np.eye(log.q.shape[1])[joint])


def rising(joint: int, value: float) -> Change:
    """Return a function that lets a joint's effort drift by a torque [N m], zero on average."""

    def change(log: Recording) -> Array:
        added = value * np.linspace(-0.5, 0.5, len(log))
        return log.effort + np.outer(added, np.eye(log.q.shape[1])[joint])

    return effort(change)


def turned(joint: int, value: float) -> Change:
    """Return a function that adds an angle [rad] to a joint's position."""
    return lambda log: replace(log, q=log.q + value * np.eye(log.q.shape[1])[joint])


def reversed_axis(joint: int) -> Change:
    """Return a function that changes the signs of a joint's positions, velocities and efforts."""

    def change(log: Recording) -> Recording:
        signs = np.where(np.arange(log.q.shape[1]) == joint, -1.0, 1.0)
        return replace(log, q=signs * log.q, dq=signs * log.dq, effort=signs * log.effort)

    return change


def late(seconds: float) -> Change:
    """Return a function that delays the effort by a time [s]."""
    return effort(lambda log: columns(log.effort, log.time - seconds, log.time))


def lagging(seconds: float) -> Change:
    """Return a function that delays velocities by a time [s]."""
    return lambda log: replace(log, dq=columns(log.dq, log.time - seconds, log.time))


def stretched(times: float) -> Change:
    """Return a function that multiplies times, and divides what is per second."""

    def change(log: Recording) -> Recording:
        stamps = np.round(times * (log.stamp_ns - log.stamp_ns[0])).astype(np.int64)
        return replace(log, stamp_ns=log.stamp_ns[0] + stamps, dq=log.dq / times)

    return change


def added(torque: Callable[[Array, Array, Array], Array], begin: float = 0.0) -> Change:
    """Return a function that adds torques of q, dq, ddq after a part of the recording."""

    def change(log: Recording) -> Array:
        motion = to_motion(log)
        more = columns(torque(motion.q, motion.dq, motion.ddq), log.time, motion.time)
        return log.effort + more * (log.time >= begin * log.duration)[:, None]

    return effort(change)


def pressed(arm: ArmDescription, force: Sequence[float], begin: float = 0.0) -> Change:
    """Return a function that adds a force [N] on the flange after a part of the recording."""
    jacobian = NewtonEulerModel(arm).jacobian
    return added(lambda q, dq, ddq: -np.asarray(force) @ jacobian(q)[:, :3], begin)


def pushed(arm: ArmDescription, force: float) -> Change:
    """Return a function that adds pushes of 1 s at the flange [N], along base y, later base z."""
    model = NewtonEulerModel(arm)

    def change(log: Recording) -> Array:
        torque = log.effort.copy()
        for axis, part in ((1, 0.3), (2, 0.7)):
            begin = part * log.duration
            touched = (log.time > begin) & (log.time < begin + 1.0)
            if touched.any():
                torque[touched] -= force * model.jacobian(log.q[touched])[:, axis]
        return torque

    return effort(change)


def loaded(arm: ArmDescription, gravity: Array, mass: float, begin: float) -> Change:
    """Return a function that adds a load [kg] to the flange after a part of the recording."""
    body = LinkInertia.from_center_of_mass(mass, (0.0, 0.02, 0.06), 1e-3 * np.eye(3))
    held, bare = (NewtonEulerModel(one, gravity) for one in (arm.with_payload(body), arm))

    def weight(*state: Array) -> Array:
        """Return the torques that the load adds at q, dq, ddq."""
        return held.inverse_dynamics(*state) - bare.inverse_dynamics(*state)

    return added(weight, begin)


def weightless(arm: ArmDescription, gravity: Array) -> Change:
    """Return a function that takes gravity out of the efforts."""
    model = NewtonEulerModel(arm, gravity)
    return effort(lambda log: log.effort - model.gravity(log.q))


def by_position(joint: int, share: float) -> Change:
    """Return a function that adds a torque by a joint's position, a share of its largest."""

    def change(log: Recording) -> Array:
        most = share * np.abs(log.effort[:, joint]).max()
        return log.effort + most * np.sin(log.q[:, [joint]] + 0.4) * np.eye(log.q.shape[1])[joint]

    return effort(change)


def weightless_at(arm: ArmDescription, gravity: Array, joint: int) -> Change:
    """Return a function that takes gravity out of one joint's efforts."""
    model = NewtonEulerModel(arm, gravity)
    return effort(lambda log: log.effort - model.gravity(log.q) * np.eye(arm.n)[joint])


def on_a_cart(arm: ArmDescription, size: float, frequency: float) -> Change:
    """Return a function that shakes the base along x and y [m/s^2], at a frequency [Hz]."""
    along_x, along_y = (NewtonEulerModel(arm, axis) for axis in np.eye(3)[:2])

    def change(log: Recording) -> Array:
        phase = 2.0 * np.pi * frequency * log.time[:, None]
        shaken = np.sin(phase) * along_x.gravity(log.q)
        shaken = shaken + 0.6 * np.sin(0.63 * phase + 1.0) * along_y.gravity(log.q)
        return log.effort - size * shaken

    return effort(change)


def leant_on(arm: ArmDescription, force: Sequence[float], begin: float, seconds: float) -> Change:
    """Return a function that adds a force [N] on the flange for some seconds after a part."""
    model = NewtonEulerModel(arm)

    def change(log: Recording) -> Array:
        torque = log.effort.copy()
        since = log.time - begin * log.duration
        touched = (since > 0.0) & (since < seconds)
        torque[touched] -= np.asarray(force) @ model.jacobian(log.q[touched])[:, :3]
        return torque

    return effort(change)


def with_rotors(share: float) -> Change:
    """Return a function that adds rotors, whose torque is a share of each joint's largest."""

    def change(log: Recording) -> Array:
        motion = to_motion(log)
        fastest = np.maximum(np.abs(motion.ddq).max(axis=0), 1.0)
        inertia = share * np.abs(log.effort).max(axis=0) / fastest
        return log.effort + columns(motion.ddq * inertia, log.time, motion.time)

    return effort(change)


def frozen(joint: int) -> Change:
    """Return a function that holds a joint's effort for one of every five seconds."""

    def change(log: Recording) -> Array:
        torque = log.effort.copy()
        for begin in np.arange(1.0, log.duration - 1.0, 5.0):
            rows = np.flatnonzero((log.time >= begin) & (log.time < begin + 1.0))
            torque[rows, joint] = torque[rows[:1], joint]
        return torque

    return effort(change)


def clipped(share: float) -> Change:
    """Return a function that clips efforts at a share of each joint's largest."""

    def change(log: Recording) -> Array:
        most = share * np.abs(log.effort).max(axis=0)
        return np.clip(log.effort, -most, most)

    return effort(change)


def harmless_cases(down: Array) -> Iterator[Case]:
    """Yield changes that do no harm, first none."""
    for name, change in (
        ('sound', unchanged),
        ('rows in bursts of five', in_bursts),
        ('effort in steps of 0.05', rounded(0.05)),
        ('effort in steps of 0.2', rounded(0.2)),
        ('effort in steps of 0.5', rounded(0.5)),
        ('velocity over 50 ms', one_sided_velocities),
        ('1 kHz from 30 Hz', at_1_khz_from_30_hz),
        ('ten gaps of 0.2 s', with_gaps),
        ('noise of 5 %', noisy(0.05)),
    ):
        yield Case(name, '', (), change, down)


def effort_cases(arm: ArmDescription, down: Array) -> Iterator[Case]:
    """Yield faults of efforts, loads and forces."""
    every = tuple(range(arm.n))
    for joint in every:
        for gain in (0.5, 0.8, 0.9, 1.1, 1.3, 2.0, -1.0):
            change = scaled({joint: gain})
            yield Case(f'gain {gain:g} of {joint + 1}', 'gain', (joint,), change, down)
        change = one_way(joint, 0.85)
        yield Case(f'gain 0.85 one way of {joint + 1}', 'one_way', (joint,), change, down)
        yield Case(f'offset 2 of {joint + 1}', 'offset', (joint,), off(joint, 2.0), down)
        yield Case(
            f'1 N m rising of {joint + 1}',
            'changed',
            (joint,),
            rising(joint, 1.0),
            down,
        )
        change = drifting((joint,), 1.3)
        yield Case(f'drift 1.3 of {joint + 1}', 'changed', (joint,), change, down)
    for one, other in ((0.8, 1.2), (1.2, 1.3), (0.8, 0.8)):
        for pair in ((1, 3), (0, 2)):
            change = scaled(dict(zip(pair, (one, other))))
            name = f'gains {one:g} {other:g} of {pair[0] + 1} {pair[1] + 1}'
            yield Case(name, 'gain', pair, change, down)
    for gain in (0.8, 0.9, 1.1, 1.2, -1.0):
        change = scaled(dict.fromkeys(every, gain))
        yield Case(f'all x {gain:g}', 'gain', (), change, down)
    yield Case('drift 0.85 of all', 'changed', (), drifting(every, 0.85), down)
    for joint in every[:-1]:
        pair = joint, joint + 1
        name = f'efforts exchanged {joint + 1} {joint + 2}'
        yield Case(name, 'exchanged', pair, exchanged(*pair), down)
    for delay in (0.01, 0.02, 0.05, 0.1):
        yield Case(f'{1e3 * delay:g} ms late', 'delay', (), late(delay), down)
    for force in (10.0, 25.0):
        yield Case(f'two pushes of {force:g} N', 'contact', (), pushed(arm, force), down)
    for begin in (0.0, 0.5, 0.67):
        kind = 'changed' if begin else 'force'
        name = f'8 N from {begin:g} on'
        yield Case(name, kind, (), pressed(arm, (6.0, 0.0, 5.0), begin), down)
    for mass, begin in ((0.3, 0.5), (1.0, 0.5), (1.5, 0.5), (1.0, 0.33), (1.0, 0.8)):
        name = f'{mass:g} kg from {begin:g} on'
        yield Case(name, 'changed', (), loaded(arm, down, mass, begin), down)
    for mass in (0.5, 1.0):
        yield Case(f'{mass:g} kg undeclared', 'load', (), loaded(arm, down, mass, 0.0), down)
    yield Case('without gravity', 'gravity', (), weightless(arm, down), down)
    yield Case('effort of 2 frozen', 'plateau', (1,), frozen(1), down)
    for share in (0.6, 0.85):
        yield Case(f'clipped at {share:.0%}', 'plateau', every, clipped(share), down)


def state_cases(arm: ArmDescription, down: Array) -> Iterator[Case]:
    """Yield faults of positions, velocities, times and of the declared gravity."""
    for joint in range(arm.n):
        for angle in (0.03, 0.1, 0.3):
            # That of the first joint is a turn of the base.
            kind, named = ('zero', (joint,)) if joint else ('gravity', ())
            change = turned(joint, angle)
            yield Case(f'zero {angle:g} of {joint + 1}', kind, named, change, down)
        if joint in (3, arm.n - 2):
            change = turned(joint, 0.5 * np.pi)
            yield Case(f'zero 1.57 of {joint + 1}', 'quarter_turn', (joint,), change, down)
        change = reversed_axis(joint)
        yield Case(f'axis of {joint + 1} the other way', 'axis', (joint,), change, down)
    for pair in ((0, 2), (1, 3), (2, arm.n - 1)):
        states = 'position and velocity', ('q', 'dq')
        for what, names in (
            ('velocity', ('dq',)),
            states,
            ('all columns', ('q', 'dq', 'effort')),
        ):
            name = f'{what} exchanged {pair[0] + 1} {pair[1] + 1}'
            yield Case(name, 'columns', pair, exchanged(*pair, names), down)
    for delay in (0.03, 0.06):
        yield Case(f'velocity {1e3 * delay:g} ms late', 'lag', (), lagging(delay), down)
    for times in (0.5, 0.8, 1.25, 2.0):
        yield Case(f'times x {times:g}', 'time', (), stretched(times), down)
    for angle in np.radians([1.0, 2.0, 5.0, 10.0, 90.0]):
        tilted = np.cos(angle) * down + np.sin(angle) * gravity_axes(down)[0]
        yield Case(
            f'tilted by {np.degrees(angle):.0f} degrees',
            'gravity',
            (),
            unchanged,
            tilted,
        )


def owner_cases(arm: ArmDescription, down: Array) -> Iterator[Case]:
    """Yield what owners have: springs, wrists, a cart, somebody who leans on the arm, rotors."""
    n = arm.n
    for joint in (n - 2, n - 1):
        change = scaled({joint: 0.1})
        yield Case(f'gain 0.1 of {joint + 1}', 'gain', (joint,), change, down)
    wrist = n - 2, n - 1
    for what, names in (
        ('all columns', ('q', 'dq', 'effort')),
        ('position and velocity', ('q', 'dq')),
    ):
        name = f'{what} exchanged {n - 1} {n}'
        yield Case(name, 'columns', wrist, exchanged(*wrist, names), down)
    change = scaled({n - 2: 0.5, n - 1: 2.0})
    yield Case(f'gains 0.5 2 of {n - 1} {n}', 'gain', wrist, change, down)
    for joint in (1, 3):
        name = f'spring at {joint + 1}'
        yield Case(name, 'position', (joint,), by_position(joint, 0.4), down)
    for joint in (1, 2, 3, n - 2):
        change = weightless_at(arm, down, joint)
        yield Case(f'gravity left out of {joint + 1}', 'gravity', (joint,), change, down)
    yield Case('hand undeclared', 'load', (), loaded(arm, down, 0.73, 0.0), down)
    for size, frequency in ((1.0, 0.4), (0.3, 0.7)):
        change = on_a_cart(arm, size, frequency)
        yield Case(f'base moves {size:g}', 'base', (), change, down)
    for name, force, begin, seconds in (
        ('touched 3 s by 20 N', (0.0, 20.0, 0.0), 0.4, 3.0),
        ('touched 1.5 s by 30 N', (15.0, 0.0, 26.0), 0.6, 1.5),
        ('leant on 4 s by 10 N', (0.0, 0.0, -10.0), 0.2, 4.0),
    ):
        yield Case(name, 'contact', (), leant_on(arm, force, begin, seconds), down)
    yield Case('rotors of motors', 'rotors', (), with_rotors(0.3), down)


def cases(arm: ArmDescription, down: Array) -> Iterator[Case]:
    """Yield every case, first the sound log, for an arm whose gravity is `down` (3,) [m/s^2]."""
    yield from harmless_cases(down)
    yield from effort_cases(arm, down)
    yield from state_cases(arm, down)
    yield from owner_cases(arm, down)
