# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What `identify` says of logs that were broken on purpose: refused or accepted, and the cause named.

    python benchmarks/broken_logs.py FOLDER [--only gain]

FOLDER holds the two public recordings of bare FER that docs/performance.md names, as bags
(`fer_excitation`, `fer_gaz2019_1khz`). Faults are calculated into the sound log; in three cases
gravity, hand or arm are declared wrongly. If a log is accepted whose fault `identify` should name,
the identified arm is `harmless` if it predicts the sound log better than gaz2019 with friction
fitted in the same way, otherwise `HARMFUL`. All faults of one recording take about
two minutes of processor time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.signal import butter, filtfilt

from franka_dynamics.arm import ArmDescription, LinkInertia, load
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import FrankaDynamicsError
from franka_dynamics.identification.bags import Bag
from franka_dynamics.identification.identify import identify
from franka_dynamics.identification.options import IdentificationOptions
from franka_dynamics.recordings.plausibility import faults
from franka_dynamics.recordings.preprocessing import prepare
from franka_dynamics.recordings.recording import read_recording, Recording
from franka_dynamics.recordings.replay import fit, replay_columns

FER, FR3 = load('fer'), load('fr3')
HANDS = [load('fer', hand=hand) for hand in ('none', 'franka_hand', 'hand_ledezma2021')]
OPTIONS = IdentificationOptions()
TILTED = replace(OPTIONS, gravity=9.81 * np.array([np.sin(0.1745), 0.0, -np.cos(0.1745)]))

# A case's name, the kind of fault that identify should name ('' for none), a function that puts
# the fault into the log, the arm and the options that identify is given.
Case = tuple[str, str, Callable[[Recording], Recording], ArmDescription, IdentificationOptions]


def scaled(joint: int, gain: float) -> Callable[[Recording], Recording]:
    """Return a function that multiplies one joint's effort by a gain."""
    factor = np.where(np.arange(FER.n) == joint, gain, 1.0)
    return lambda log: replace(log, effort=log.effort * factor)


def exchanged(one: int, other: int) -> Callable[[Recording], Recording]:
    """Return a function that exchanges the efforts of two joints."""
    order = np.arange(FER.n)
    order[[one, other]] = other, one
    return lambda log: replace(log, effort=log.effort[:, order])


def late(seconds: float) -> Callable[[Recording], Recording]:
    """Return a function that delays the effort by a time [s]."""

    def change(log: Recording) -> Recording:
        columns = [np.interp(log.time - seconds, log.time, one) for one in log.effort.T]
        return replace(log, effort=np.column_stack(columns))

    return change


def pushed(force: float) -> Callable[[Recording], Recording]:
    """Return a function that adds pushes of 1 s at the flange [N], along base y, later base z."""

    def change(log: Recording) -> Recording:
        effort, model = log.effort.copy(), PinocchioModel(FER)
        for axis, part in ((1, 0.3), (2, 0.7)):
            begin = part * log.time[-1]
            for k in np.flatnonzero((log.time > begin) & (log.time < begin + 1.0)):
                effort[k] -= force * model.jacobian(log.q[k])[axis]
        return replace(log, effort=effort)

    return change


def loaded(mass: float) -> Callable[[Recording], Recording]:
    """Return a function that adds a load [kg] to the flange in the second half of a log."""

    def change(log: Recording) -> Recording:
        body = LinkInertia.from_center_of_mass(mass, (0.0, 0.02, 0.06), 1e-3 * np.eye(3))
        models = [PinocchioModel(arm) for arm in (FER.with_payload(body), FER)]
        b, a = butter(2, 3.0, fs=1.0 / float(np.median(np.diff(log.time))))
        ddq = np.gradient(filtfilt(b, a, log.dq, axis=0), log.time, axis=0)
        effort = log.effort.copy()
        for k in np.flatnonzero(log.time > 0.5 * log.time[-1]):
            with_it, without = (
                one.inverse_dynamics(log.q[k], log.dq[k], ddq[k]) for one in models
            )
            effort[k] += with_it - without
        return replace(log, effort=effort)

    return change


def dropped(log: Recording) -> Recording:
    """Return a log that lost a fifth of its messages."""
    return log.part(np.random.default_rng(0).random(len(log)) > 0.2)


def cases() -> Iterator[Case]:
    """Yield every case, first the sound log."""
    yield 'sound', '', lambda log: log, FER, OPTIONS
    for joint in range(FER.n):
        for gain in (0.5, 0.8, 1.3, 2.0, -1.0):
            name = (
                f'gain {gain:g} of joint {joint + 1}'
                if gain > 0.0
                else f'sign of joint {joint + 1}'
            )
            yield name, 'gain' if gain > 0.0 else 'sign', scaled(joint, gain), FER, OPTIONS
    for joint in range(FER.n - 1):
        name = f'joints {joint + 1} and {joint + 2} exchanged'
        yield name, 'exchanged', exchanged(joint, joint + 1), FER, OPTIONS
    for delay in (0.01, 0.02, 0.05, 0.1):
        yield f'{1e3 * delay:g} ms late', 'delay', late(delay), FER, OPTIONS
    for force in (10.0, 25.0):
        yield f'two pushes of {force:g} N', 'contact', pushed(force), FER, OPTIONS
    for mass in (0.3, 1.0, 2.0):
        yield f'{mass:g} kg from halfway on', 'load', loaded(mass), FER, OPTIONS
    yield 'gravity tilted by 10 degrees', 'tilt', lambda log: log, FER, TILTED
    yield 'named with a hand', 'hand', lambda log: log, HANDS[1], OPTIONS
    yield 'named as fr3', '', lambda log: replace(log, joint_names=FR3.joint_names), FR3, OPTIONS
    for step in (0.05, 0.2):
        name = f'effort in steps of {step:g} N m'
        yield (
            name,
            '',
            lambda log, s=step: replace(log, effort=s * np.round(log.effort / s)),
            FER,
            OPTIONS,
        )
    yield 'a fifth of the messages lost', '', dropped, FER, OPTIONS
    yield 'effort in mN m', 'unit', lambda log: replace(log, effort=1e3 * log.effort), FER, OPTIONS
    yield (
        'position in degrees',
        'degrees',
        lambda log: replace(log, q=np.degrees(log.q)),
        FER,
        OPTIONS,
    )
    yield (
        'velocity in deg/s',
        'deg/s',
        lambda log: replace(log, dq=np.degrees(log.dq)),
        FER,
        OPTIONS,
    )
    yield (
        'stamps in ms',
        'ms',
        lambda log: replace(log, stamp_ns=1000 * log.stamp_ns),
        FER,
        OPTIONS,
    )


def outcome(case: Case, log: Recording, published: float) -> str:
    """Return "refused" and the cause, or "accepted" and the prediction error E, as a string."""
    _, expected, change, arm, options = case
    broken = change(log)
    wrong = faults(broken, arm, gravity=options.gravity)
    if wrong:
        return f'refused: {wrong[0][:60]}'
    hands = HANDS if arm.name == 'fer' else []
    try:
        result = identify([broken], arm, [arm], options, hands=hands)
    except FrankaDynamicsError as error:
        return f'refused: {str(error)[:60]}'
    fault, error = result.diagnosis.fault, result.arm_score.test.whole
    if not result.accepted:
        named = 'no cause' if fault is None else fault.kind
        if fault is not None and fault.values and fault.kind in ('gain', 'delay', 'load'):
            named += f' {fault.values[0]:.2g}'
        if fault is not None and fault.joints:
            named += ' of joint ' + ' and '.join(f'{joint + 1}' for joint in fault.joints)
        return f'refused: {named}{"" if fault is None or fault.kind == expected else " WRONG"}'
    sound = prepare(
        replace(log, joint_names=arm.joint_names), columns=replay_columns(result.arm.friction)
    )
    there = fit(result.arm, sound).whole.whole
    harm = 'harmless' if there < published else 'HARMFUL'
    return f'accepted: E {error:.3f}, of the sound log {there:.3f}' + (
        f', {harm}' if expected else ''
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('folder', type=Path, help='holds both recordings')
    parser.add_argument('--only', default='', help='cases whose name contains this')
    arguments = parser.parse_args()
    for name in ('fer_excitation', 'fer_gaz2019_1khz'):
        log = read_recording(str(arguments.folder / name), FER.joint_names)
        sound = identify([Bag(str(arguments.folder / name), FER.joint_names)], FER, [FER], OPTIONS)
        published = sound.published[0].test.whole
        for case in cases():
            if arguments.only in case[0]:
                print(f'{name:18s} {case[0]:32s} {outcome(case, log, published)}', flush=True)


if __name__ == '__main__':
    main()
