# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Print what the verdict says of logs that were changed on purpose, and whether it is right.

    python benchmarks/broken_logs.py BAG ... [--arm fer] [--only gain] [--plot effects.png]

BAG is a bag of joint states; `franka-dynamics bag import` makes one of any other log. Changes are
calculated into sound logs of an arm: faults, and what does no harm. Each line has the true effect
of the change, which is E of the arm identified from the changed log relative to E of the one
identified from the log as it is, both on the log as it is; the effect that the verdict states;
and one of these outcomes:

    named      not sound, for the right cause
    unknown    not sound, without a cause
    asked      a question: a common scale or a load, an offset, or another harmless fault
    in range   a fault that looks like other masses, within the range that is printed
    accepted   sound
    hidden     sound, though the true effect is above 2: without the fault in a fit, parts of the
               changed log that are left out are predicted as well as those of the log as it is

Three must not occur: WRONG NAME, REFUSED (a true effect below 1.2) and HARMFUL (accepted without a
question, though the true effect is above 2, and not hidden). A case takes one or two seconds of
processor time. After each log stand the number of cases with each outcome, and stated relative to
true effects: the median and the middle half, of cases that are not accepted, below 10.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
import os
from pathlib import Path
from typing import NamedTuple

# As the command does: threads of OpenBLAS, which reads this when numpy is first imported, only
# wait for each other. On a busy machine with two processors a case of a log at 1 kHz takes 20 s
# with two threads, and 2 s with one.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

from log_faults import Case, cases
import numpy as np
from timing import new_parser

from franka_dynamics.arm import ArmDescription, available_arms, available_sets
from franka_dynamics.arm_io import load_arm
from franka_dynamics.arrays import Array
from franka_dynamics.errors import RecordingError
from franka_dynamics.fit.consistent_fit import fit_consistent_parameters, PhysicalConstraints
from franka_dynamics.fit.least_squares import common_noise, GramStack, weighted_equations
from franka_dynamics.fit.options import FRICTION_MODELS, IdentificationOptions
from franka_dynamics.fit.prior import Prior
from franka_dynamics.fit.prior_widths import DEFAULT_PRIOR_PRECISION
from franka_dynamics.fit.torque_model import TorqueModel
from franka_dynamics.judge.fits import Fits
from franka_dynamics.judge.published_masses import MassAmbiguity
from franka_dynamics.judge.recordings import judge_motion
from franka_dynamics.judge.sums import Sums
from franka_dynamics.judge.verdict import Diagnosis, RecordingVerdict
from franka_dynamics.recordings.plausibility import fatal_faults
from franka_dynamics.recordings.preprocessing import Motion, to_motion, without_rest
from franka_dynamics.recordings.recording import read_recording, Recording

LEAST_HARM = 1.2  # smallest true effect that may be refused
MOST_HARM = 2.0  # from this true effect on it must be refused
MOST_COMPARED = 10.0  # larger true effects say nothing about how good stated ones are
MOST_HIDDEN = 1.05  # E on left-out parts with a hidden fault, relative to that without


class Setting(NamedTuple):
    """An arm, its published sets, and the options of an identification."""

    arm: ArmDescription
    sets: Sequence[ArmDescription]
    options: IdentificationOptions


class SoundLog(NamedTuple):
    """
    A sound log with its sums, and what is asked about it.

    `error` is E of the arm identified from it, `left_out_error` E on parts left out of the fit.
    """

    recording: Recording
    grams: GramStack
    error: float
    left_out_error: float
    questions: tuple[Diagnosis, ...]


class Outcome(NamedTuple):
    """What the verdict says of a case, the true and the stated effect, and figures."""

    text: str
    true_effect: float
    stated_effect: float
    figures: str


def identified(model: TorqueModel, arm: ArmDescription, sums: GramStack) -> Array:
    """Return base and friction parameters of the physically consistent arm, (p,)."""
    prior = Prior.centered_at(arm, model, sums.max_torque)
    noise = common_noise(sums, prior, DEFAULT_PRIOR_PRECISION)
    links = PhysicalConstraints.from_prior(prior, arm)
    rows = weighted_equations(sums, prior, noise)
    standard, friction = fit_consistent_parameters(rows, prior, links, DEFAULT_PRIOR_PRECISION)
    return np.append(model.base.matrix @ standard, friction)


def sums_of(model: TorqueModel, motion: Motion) -> GramStack:
    """Return the sums over a motion, without samples at which the arm rests."""
    return GramStack.from_motion(model, without_rest(motion))


def error_of(sums: GramStack, theta: Array) -> float:
    """Return E of parameters (p,) [N m]."""
    return float(np.sqrt(sums.squared_residuals(theta).sum() / sums.sample_count))


def left_out_error(model: TorqueModel, arm: ArmDescription, motion: Motion) -> float:
    """Return E on left-out parts by fits without faults but a common gain, a load, and offsets."""
    sums = Sums.from_motion(model, without_rest(motion))
    return Fits(sums, Prior.centered_at(arm, model, sums.max_torque)).without.error


def sound_log(recording: Recording, setting: Setting) -> SoundLog:
    """Return a sound log with the sums and the error to which changed ones are compared."""
    model = setting.options.torque_model(setting.arm)
    motion = to_motion(recording)
    sums = sums_of(model, motion)
    error = error_of(sums, identified(model, setting.arm, sums))
    left_out = left_out_error(model, setting.arm, motion)
    asked = judge_motion(motion, model, setting.sets, 'log').questions
    return SoundLog(recording, sums, error, left_out, asked)


def right(found: Diagnosis, case: Case) -> bool:
    """Return whether a cause or question is the one that a case allows."""
    if found.kind in ('unexplained', 'driven'):
        return bool(case.kind)  # no fault is named, or that a sign is wrong
    if found.kind in ('changed', 'contact'):
        return case.kind in ('changed', 'contact', 'plateau')
    alike = {'gain': {'gain', 'one_way'}, 'one_way': {'gain', 'one_way'}}
    kinds = alike.get(case.kind, {case.kind})
    part = set(found.joints) <= set(case.joints) and bool(found.joints) == bool(case.joints)
    return found.kind in kinds and part


def within(ranges: MassAmbiguity, case: Case) -> bool:
    """Return whether the range that is printed contains the fault of a case."""
    words = case.name.split()
    if len(words) < 3:  # it has no size
        return False
    first, second, *_, last = words
    if case.name.startswith('all x'):
        return ranges.scale_range[0] <= float(last) <= ranges.scale_range[1]
    if 'undeclared' in words:
        return ranges.load_range[0] <= float(first) <= ranges.load_range[1]
    return any(
        first == kind and joint + 1 == int(last) and low <= float(second) <= high
        for kind, joint, low, high in ranges.joint_ranges
    )


def stated_effect(found: RecordingVerdict) -> float:
    """Return the largest effect of the causes and questions, 1 without any."""
    effects = [one.effect for one in (*found.causes, *found.questions)]
    return max([1.0, *(one for one in effects if np.isfinite(one))])


def outcome(case: Case, log: SoundLog, setting: Setting) -> Outcome:
    """Return what the verdict says of a case, and what is true."""
    model = replace(setting.options, gravity=case.gravity).torque_model(setting.arm)
    changed = case.change(log.recording)
    try:
        fatal = fatal_faults(changed, setting.arm)
        motion = to_motion(changed)
        found = judge_motion(motion, model, setting.sets, 'log')
    except RecordingError as error:
        return Outcome('REFUSED' if not case.kind else 'named', np.nan, np.nan, f'{error}')
    theta = identified(model, setting.arm, sums_of(model, motion))
    grams = log.grams
    if not np.array_equal(case.gravity, setting.options.gravity):
        # The arm is used with the gravity that was declared.
        grams = sums_of(model, to_motion(log.recording))
    true = error_of(grams, theta) / log.error
    text, figures = judged(case, found, fatal, log, true)
    if text == 'HARMFUL':
        shown = left_out_error(model, setting.arm, motion) / log.left_out_error
        text = 'hidden' if shown < MOST_HIDDEN else text
        figures = f'E on left-out parts x {shown:.2f} {figures}'
    return Outcome(text, true, stated_effect(found), figures)


def judged(
    case: Case,
    found: RecordingVerdict,
    fatal: Sequence[str],
    log: SoundLog,
    true_effect: float,
) -> tuple[str, str]:
    """Return the outcome of a case, and figures, by its verdict and its true effect."""
    before = {(one.kind, one.joints): one.values[0] for one in log.questions}
    asked = [one for one in found.questions if (one.kind, one.joints) not in before]
    # An offset that is put in changes the number of a question that the sound log has, too.
    changed = case.kind == 'offset' and any(
        abs(one.values[0] - before.get((one.kind, one.joints), np.inf)) > 1.0
        for one in found.questions
        if one.joints == case.joints
    )
    figures = ', '.join(
        f'{one.kind} {[joint + 1 for joint in one.joints]} {np.round(one.values, 2).tolist()}'
        for one in (*found.causes, *found.questions)
    )
    if fatal:
        return ('named' if true_effect > LEAST_HARM or case.kind else 'REFUSED'), fatal[0]
    if not found.sound:
        if true_effect < LEAST_HARM:
            return 'REFUSED', f'{[k + 1 for k in found.suspected_joints]} {figures}'
        if not all(right(one, case) for one in found.causes):
            return 'WRONG NAME', figures
        return ('named' if found.causes else 'unknown'), figures
    ranges = found.mass_ambiguity
    if ranges is not None:
        figures += f' scale {np.round(ranges.scale_range, 2).tolist()}'
        figures += f' load {np.round(ranges.load_range, 2).tolist()}'
    if asked or changed or (ranges is not None and ranges.has_questions):
        return 'asked', figures
    if true_effect < MOST_HARM:
        return 'accepted', figures
    return ('in range' if ranges is not None and within(ranges, case) else 'HARMFUL'), figures


def stated_to_true(outcomes: Sequence[Outcome]) -> str:
    """Return the quartiles of stated relative to true effects, in words."""
    ratios = [
        one.stated_effect / one.true_effect
        for one in outcomes
        if one.text != 'accepted'  # what is said of the log as it is
        and one.stated_effect > 1.0
        and one.true_effect < MOST_COMPARED
    ]
    if not ratios:
        return 'no effect is stated'
    low, median, high = np.quantile(ratios, (0.25, 0.5, 0.75))
    return f'{median:.2f}, half of {len(ratios)} within {low:.2f} to {high:.2f}'


def plot_effects(path: Path, outcomes: Sequence[tuple[Case, Outcome]]) -> None:
    """Write a picture of the stated beside the true effects."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 5.0), layout='constrained')
    axes = figure.subplots()
    for text in sorted({one.text for _, one in outcomes}):
        both = [(one.true_effect, one.stated_effect) for _, one in outcomes if one.text == text]
        axes.loglog(*zip(*both), 'o', markersize=4, label=text)
    axes.axline((1.0, 1.0), (10.0, 10.0), color='black', linewidth=0.5)
    axes.axvspan(LEAST_HARM, MOST_HARM, color='0.9')
    axes.set(
        xlabel='true effect: E of the arm identified from the changed log\n'
        'over E of that from the log as it is, both on the log as it is',
        ylabel='effect that the verdict states, 1 if it states none',
    )
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Print the table, and write the picture."""
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
    parser.add_argument('--plot', type=Path, help='picture of stated and true effects')
    arguments = parser.parse_args()
    arm = load_arm(arguments.arm, hand=arguments.hand)
    names = available_sets(arguments.arm) if arguments.arm in available_arms() else ()
    sets = [load_arm(arguments.arm, one, hand=arguments.hand) for one in names] or [arm]
    down = np.array(arguments.gravity)
    options = IdentificationOptions(
        down, friction=arguments.friction, rotor_inertia=arguments.rotor_inertia
    )
    setting = Setting(arm, sets, options)
    outcomes = list[tuple[Case, Outcome]]()
    for bag in arguments.bags:
        log = sound_log(read_recording(bag, arm.joint_names), setting)
        of_log = list[Outcome]()
        for case in cases(arm, down):
            if arguments.only in case.name:
                said = outcome(case, log, setting)
                of_log.append(said)
                outcomes.append((case, said))
                effects = f'{said.true_effect:7.2f} {said.stated_effect:7.2f}'
                print(
                    f'{case.name:34s} {effects}  {said.text:10s} {said.figures}',
                    flush=True,
                )
        print(f'{bag}: {dict(Counter(one.text for one in of_log))}')
        print(f'{bag}: stated relative to true effects {stated_to_true(of_log)}', flush=True)
    if arguments.plot:
        plot_effects(arguments.plot, outcomes)


if __name__ == '__main__':
    main()
