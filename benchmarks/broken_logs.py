# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Print what the verdict says of logs that were broken on purpose, and whether it is right.

    python benchmarks/broken_logs.py BAG ... [--arm fer] [--only gain]

BAG is a bag of joint states; `franka-dynamics bag import` makes one of any other log. Faults are
calculated into sound logs of an arm. Each line has one of these outcomes:

    named      the right cause, with its size
    unknown    not sound, without a cause
    asked      a question: a common scale or a load, or an offset
    in range   a fault that looks like other masses, within the range that is printed
    accepted   accepted, and the identified arm predicts the sound log better than the best
               published set with friction fitted (of a sound log: accepted)

and these must not occur: WRONG NAME, HARMFUL (accepted without a question, and worse than the
published set), REFUSED (a sound log). A case takes some seconds of processor time.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from timing import new_parser

from franka_dynamics.arm import (
    ArmDescription,
    available_arms,
    available_sets,
    LinkInertia,
)
from franka_dynamics.arm_io import load_arm
from franka_dynamics.arrays import Array
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.identification.faults import Diagnosis
from franka_dynamics.identification.faults.torques import gravity_axes
from franka_dynamics.identification.fit import (
    fit_consistent_parameters,
    PhysicalConstraints,
)
from franka_dynamics.identification.least_squares import (
    common_noise,
    fit_friction,
    FOLD_COUNT,
    GramStack,
    weighted_equations,
)
from franka_dynamics.identification.options import (
    DEFAULT_PRIOR_PRECISION,
    FRICTION_MODELS,
    IdentificationOptions,
)
from franka_dynamics.identification.prior import Prior
from franka_dynamics.identification.published_masses import MassAmbiguity
from franka_dynamics.identification.torque_model import TorqueModel
from franka_dynamics.identification.verdict import judge_motion
from franka_dynamics.recordings.plausibility import fatal_faults
from franka_dynamics.recordings.preprocessing import Motion, to_motion
from franka_dynamics.recordings.recording import read_recording, Recording

Change = Callable[[Motion], Motion]
# A case's name, the kind and joints (from 0) that may be named or asked, a function that puts the
# fault into a prepared motion, and the gravity that is declared [m/s^2].
Case = tuple[str, str, tuple[int, ...], Change, Array]


def efforts(change: Callable[[Motion], Any]) -> Change:
    """Return a function that replaces the efforts of a motion."""
    return lambda motion: replace(motion, effort=change(motion))


def scaled(gains: dict[int, float]) -> Change:
    """Return a function that multiplies joints' efforts by gains."""

    def change(motion: Motion) -> Any:
        factors = [gains.get(joint, 1.0) for joint in range(motion.q.shape[1])]
        return motion.effort * factors

    return efforts(change)


def drifting(joints: Sequence[int], last: float) -> Change:
    """Return a function whose gain of joints' efforts grows from 1 to `last`."""

    def change(motion: Motion) -> Any:
        moved = np.isin(np.arange(motion.q.shape[1]), joints)
        rise = np.linspace(0.0, last - 1.0, len(motion))
        return motion.effort * (1.0 + np.outer(rise, moved))

    return efforts(change)


def exchanged(one: int, other: int) -> Change:
    """Return a function that exchanges the efforts of two joints."""

    def change(motion: Motion) -> Any:
        effort = motion.effort.copy()
        effort[:, [one, other]] = effort[:, [other, one]]
        return effort

    return efforts(change)


def off(joint: int, value: float) -> Change:
    """Return a function that adds a torque [N m] to a joint's effort."""
    return efforts(lambda motion: motion.effort + value * np.eye(motion.q.shape[1])[joint])


def rising(joint: int, value: float) -> Change:
    """Return a function that lets a joint's effort drift by a torque [N m], zero on average."""

    def change(motion: Motion) -> Any:
        return motion.effort + np.outer(
            value * np.linspace(-0.5, 0.5, len(motion)),
            np.eye(motion.q.shape[1])[joint],
        )

    return efforts(change)


def turned(joint: int, value: float) -> Change:
    """Return a function that adds an angle [rad] to a joint's position."""
    return lambda motion: replace(motion, q=motion.q + value * np.eye(motion.q.shape[1])[joint])


def late(seconds: float) -> Change:
    """Return a function that delays the effort by a time [s]."""

    def change(motion: Motion) -> Any:
        moved = [np.interp(motion.time - seconds, motion.time, one) for one in motion.effort.T]
        return np.column_stack(moved)

    return efforts(change)


def lagging(seconds: float) -> Change:
    """Return a function that delays velocities and what follows from them by a time [s]."""

    def change(motion: Motion) -> Motion:
        def later(rows: Any, time: Any) -> Any:
            return np.column_stack([np.interp(time - seconds, time, one) for one in rows.T])

        filters = tuple(
            replace(one, piece=replace(one.piece, dq=later(one.piece.dq, one.piece.time)))
            for one in motion.filters
        )
        dq, ddq = (later(rows, motion.time) for rows in (motion.dq, motion.ddq))
        return replace(motion, dq=dq, ddq=ddq, filters=filters)

    return change


def pushed(arm: ArmDescription, force: float) -> Change:
    """Return a function that adds pushes of 1 s at the flange [N], along base y, later base z."""
    model = PinocchioModel(arm)

    def change(motion: Motion) -> Any:
        effort, time = motion.effort.copy(), motion.time - motion.time[0]
        for axis, part in ((1, 0.3), (2, 0.7)):
            begin = part * time[-1]
            for k in np.flatnonzero((time > begin) & (time < begin + 1.0)):
                effort[k] -= force * model.jacobian(motion.q[k])[axis]
        return effort

    return efforts(change)


def loaded(arm: ArmDescription, gravity: Array, mass: float, begin: float) -> Change:
    """Return a function that adds a load [kg] to the flange after a part of the log."""
    body = LinkInertia.from_center_of_mass(mass, (0.0, 0.02, 0.06), 1e-3 * np.eye(3))
    models = [NewtonEulerModel(one, gravity) for one in (arm.with_payload(body), arm)]

    def change(motion: Motion) -> Any:
        held, bare = (one.inverse_dynamics(motion.q, motion.dq, motion.ddq) for one in models)
        there = np.arange(len(motion)) >= begin * len(motion)
        return motion.effort + (held - bare) * there[:, None]

    return efforts(change)


def weightless(arm: ArmDescription, gravity: Array) -> Change:
    """Return a function that takes gravity out of the efforts."""
    model = NewtonEulerModel(arm, gravity)

    def change(motion: Motion) -> Any:
        return motion.effort - model.gravity(motion.q)

    return efforts(change)


def stretched(times: float) -> Change:
    """Return a function that multiplies times, and divides what is per second."""

    def change(motion: Motion) -> Motion:
        filters = tuple(
            replace(one, piece=replace(one.piece, dq=one.piece.dq / times))
            for one in motion.filters
        )
        dq, ddq = motion.dq / times, motion.ddq / times**2
        return replace(motion, dq=dq, ddq=ddq, filters=filters)

    return change


def rounded(step: float) -> Change:
    """Return a function that rounds efforts to steps [N m]."""
    return efforts(lambda motion: step * np.round(motion.effort / step))


def unchanged(motion: Motion) -> Motion:
    """Return the motion."""
    return motion


def cases(arm: ArmDescription, down: Array) -> Iterator[Case]:
    """Yield every case, first the sound log, for an arm whose gravity is `down` (3,) [m/s^2]."""
    every = tuple(range(arm.n))
    yield 'sound', '', (), unchanged, down
    for joint in every:
        for gain in (0.5, 0.8, 0.9, 1.1, 1.3, 2.0, -1.0):
            yield (
                f'gain {gain:g} of {joint + 1}',
                'gain',
                (joint,),
                scaled({joint: gain}),
                down,
            )
        for angle in (0.1, 0.3):
            # That of the first joint is a turn of the base.
            named = ('zero', (joint,)) if joint else ('gravity', ())
            yield f'zero {angle:g} of {joint + 1}', *named, turned(joint, angle), down
        yield f'offset 2 of {joint + 1}', 'offset', (joint,), off(joint, 2.0), down
        yield (
            f'1 N m rising of {joint + 1}',
            'offset_drift',
            (joint,),
            rising(joint, 1.0),
            down,
        )
        yield (
            f'drift 1.3 of {joint + 1}',
            'drift',
            (joint,),
            drifting((joint,), 1.3),
            down,
        )
    for one, other in ((0.8, 1.2), (1.2, 1.3), (0.8, 0.8)):
        for pair in ((1, 3), (0, 2)):
            change = scaled(dict(zip(pair, (one, other))))
            name = f'gains {one:g} {other:g} of {pair[0] + 1} {pair[1] + 1}'
            yield name, 'gain', pair, change, down
    for gain in (0.8, 0.9, 1.1, 1.2, -1.0):
        yield f'all x {gain:g}', 'gain', (), scaled(dict.fromkeys(every, gain)), down
    for joint in every[:-1]:
        pair = joint, joint + 1
        yield (
            f'exchanged {joint + 1} {joint + 2}',
            'exchanged',
            pair,
            exchanged(*pair),
            down,
        )
    for delay in (0.01, 0.02, 0.05, 0.1):
        yield f'{1e3 * delay:g} ms late', 'delay', (), late(delay), down
    for delay in (0.03, 0.06):
        yield f'velocity {1e3 * delay:g} ms late', 'lag', (), lagging(delay), down
    for force in (10.0, 25.0):
        yield f'two pushes of {force:g} N', 'contact', (), pushed(arm, force), down
    for mass, begin in ((0.3, 0.5), (1.0, 0.5), (2.0, 0.5), (1.0, 0.33), (1.0, 0.8)):
        name = f'{mass:g} kg from {begin:g} on'
        yield name, 'load_change', (), loaded(arm, down, mass, begin), down
    for mass in (0.5, 1.0):
        yield f'{mass:g} kg undeclared', 'load', (), loaded(arm, down, mass, 0.0), down
    for times in (0.5, 0.8, 1.25, 2.0):
        yield f'times x {times:g}', 'time', (), stretched(times), down
    for angle in np.radians([1.0, 2.0, 5.0, 10.0, 90.0]):
        tilted = np.cos(angle) * down + np.sin(angle) * gravity_axes(down)[0]
        yield (
            f'tilted by {np.degrees(angle):.0f} degrees',
            'gravity',
            (),
            unchanged,
            tilted,
        )
    yield 'without gravity', 'gravity', (), weightless(arm, down), down
    for step in (0.05, 0.2):
        yield f'effort in steps of {step:g}', '', (), rounded(step), down


def right(found: Diagnosis, kind: str, joints: tuple[int, ...]) -> bool:
    """Return whether a cause or question is the one that a case allows."""
    if found.kind in ('unexplained', 'driven'):
        return bool(kind)  # no fault is named, or that a sign is wrong
    gains = {'gain', 'drift', 'one_way'}
    alike = {'gain': gains, 'drift': gains, 'offset_drift': {'offset_drift', 'drift'}}
    kinds = alike.get(kind, {kind})
    part = set(found.joints) <= set(joints) and bool(found.joints) == bool(joints)
    return found.kind in kinds and part


def clipped(recording: Recording, arm: ArmDescription, share: float) -> str:
    """Return the outcome of efforts clipped at a share of each joint's largest."""
    most = share * np.abs(recording.effort).max(axis=0)
    found = fatal_faults(replace(recording, effort=np.clip(recording.effort, -most, most)), arm)
    return 'named' if any('clipped' in one for one in found) else 'HARMFUL'


def outcome(
    case: Case,
    motion: Motion,
    arm: ArmDescription,
    sets: Sequence[ArmDescription],
    limit: float,
    options: IdentificationOptions,
    usual: Sequence[Diagnosis],
) -> tuple[str, str]:
    """
    Return a case's outcome and figures.

    `limit` is the published set's E on the sound log, `usual` are the sound log's questions.
    """
    _, kind, joints, change, gravity = case
    model = replace(options, gravity=gravity).torque_model(arm)
    broken = change(motion)
    found = judge_motion(broken, model, sets, 'log')
    before = {(one.kind, one.joints): one.values[0] for one in usual}
    asked = [one for one in found.questions if (one.kind, one.joints) not in before]
    # An offset that is put in changes the number of a question that the sound log has, too.
    changed = kind == 'offset' and any(
        abs(one.values[0] - before.get((one.kind, one.joints), np.inf)) > 1.0
        for one in found.questions
        if one.joints == joints
    )
    figures = ', '.join(
        f'{one.kind} {[joint + 1 for joint in one.joints]} {np.round(one.values, 2).tolist()}'
        for one in (*found.causes, *found.questions)
    )
    if not all(right(one, kind, joints) for one in (*found.causes, *asked)):
        return 'WRONG NAME', figures
    ranges = found.mass_ambiguity
    if ranges is not None:
        figures += f' scale {np.round(ranges.scale_range, 2).tolist()}'
        figures += f' load {np.round(ranges.load_range, 2).tolist()}'
    if found.causes:
        return 'named', figures
    if not found.sound:
        figures = f'{[joint + 1 for joint in found.suspected_joints]} {figures}'
        return ('unknown' if kind else 'REFUSED'), figures
    if not kind:
        return 'accepted', figures
    if asked or changed or (ranges is not None and ranges.has_questions):
        return 'asked', figures
    theta = identified(model, arm, GramStack.from_motion(model, broken))
    error = error_of(GramStack.from_motion(model, motion), theta)
    figures = f'E on the sound log {error:.3f}, of the published set {limit:.3f} {figures}'
    if error < limit:
        return 'accepted', figures
    return ('in range' if ranges is not None and within(ranges, case[0]) else 'HARMFUL'), figures


def identified(model: TorqueModel, arm: ArmDescription, sums: GramStack) -> Array:
    """Return base and friction parameters of the physically consistent arm, (p,)."""
    prior = Prior.centered_at(arm, model, sums.max_torque)
    noise = common_noise(sums, prior, DEFAULT_PRIOR_PRECISION)
    links, rows = (
        PhysicalConstraints.from_prior(prior, arm),
        weighted_equations(sums, prior, noise),
    )
    standard, friction = fit_consistent_parameters(rows, prior, links, DEFAULT_PRIOR_PRECISION)
    return np.append(model.base.matrix @ standard, friction)


def within(ranges: MassAmbiguity, name: str) -> bool:
    """Return whether the range that is printed contains the fault of a case."""
    first, second, *_, last = words = name.split()
    if name.startswith('all x'):
        return ranges.scale_range[0] <= float(last) <= ranges.scale_range[1]
    if 'undeclared' in words:
        return ranges.load_range[0] <= float(first) <= ranges.load_range[1]
    return any(
        first == kind and joint + 1 == int(last) and low <= float(second) <= high
        for kind, joint, low, high in ranges.joint_ranges
    )


def error_of(sums: GramStack, theta: Any) -> float:
    """Return E of parameters (p,) [N m]."""
    return float(np.sqrt(sums.squared_residuals(theta).sum() / sums.sample_counts.sum()))


def published(
    model: TorqueModel,
    arm: ArmDescription,
    motion: Motion,
    sets: Sequence[ArmDescription],
) -> float:
    """Return E of the best published set on left-out folds of the sound log."""
    sums, errors = GramStack.from_motion(model, motion), []
    for one in sets:
        prior = Prior.centered_at(one, model, sums.max_torque)
        squares = sum(
            sums.with_folds([k])
            .squared_residuals(fit_friction(sums.with_folds(rest), prior, prior.expected_residual))
            .sum()
            for k, rest in enumerate(combinations(range(FOLD_COUNT)[::-1], FOLD_COUNT - 1))
        )
        errors.append(float(np.sqrt(squares / sums.sample_counts.sum())))
    return min(errors)


def main() -> None:
    """Print the table."""
    parser = new_parser(__doc__)
    parser.add_argument('bags', nargs='+', help='sound recordings of the arm')
    parser.add_argument('--arm', default='fer', help='shipped arm, or its file (default: fer)')
    parser.add_argument('--hand', default='none', help='the mounted hand (default: none)')
    parser.add_argument(
        '--gravity',
        nargs=3,
        type=float,
        default=(0.0, 0.0, -9.81),
        metavar=('X', 'Y', 'Z'),
    )
    parser.add_argument('--friction', choices=FRICTION_MODELS, default=FRICTION_MODELS[0])
    parser.add_argument('--rotor-inertia', action='store_true', help='as of identify arm')
    parser.add_argument('--only', default='', help='cases whose name contains this')
    arguments = parser.parse_args()
    arm = load_arm(arguments.arm, hand=arguments.hand)
    names = available_sets(arguments.arm) if arguments.arm in available_arms() else ()
    sets = [load_arm(arguments.arm, one, hand=arguments.hand) for one in names] or [arm]
    options = IdentificationOptions(
        arguments.gravity,
        friction=arguments.friction,
        rotor_inertia=arguments.rotor_inertia,
    )
    model, down = options.torque_model(arm), np.array(arguments.gravity)
    for bag in arguments.bags:
        recording = read_recording(bag, arm.joint_names)
        motion = to_motion(recording)
        limit, counts = published(model, arm, motion, sets), Counter[str]()
        usual = judge_motion(motion, model, sets, 'log').questions
        for case in cases(arm, down):
            if arguments.only in case[0]:
                said, figures = outcome(case, motion, arm, sets, limit, options, usual)
                counts[said] += 1
                print(f'{case[0]:26s} {said:10s} {figures}', flush=True)
        for share in (0.6, 0.85):
            if arguments.only in (name := f'clipped at {share:.0%}'):
                said = clipped(recording, arm, share)
                counts[said] += 1
                print(f'{name:26s} {said}', flush=True)
        print(f'{bag}: {dict(counts)}', flush=True)


if __name__ == '__main__':
    main()
