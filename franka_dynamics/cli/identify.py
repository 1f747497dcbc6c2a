# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify arm`: recordings -> an arm file that predicts the arm's torques."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ._arm_options import add_hand_option, load_arm
from ._options import (
    add_gravity_option,
    add_json_option,
    add_output_option,
    output_file,
)
from ._recording_options import (
    add_recording_options,
    joint_names,
    progress_bar,
    reading,
    signal_options,
)
from ._say import terminal, write_json
from ..arm import ArmDescription, available_hands, available_sets
from ..arm.arm_file import AS_LISTED
from ..arm.hand_file import NO_HAND
from ..arm.shapes import FRANKA_ARMS
from ..errors import IdentificationError

if TYPE_CHECKING:
    from rich.progress import Progress

    from ..identification.bag_job import BagJob, BagNote
    from ..identification.options import IdentificationOptions
    from ..identification.result import Identification
    from ..recordings.preprocessing import Motion, SignalOptions

SUMMARY = "Identify an arm's inertias and friction from recordings of it."
IDENTIFIED = 'identified'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        'bags',
        nargs='+',
        metavar='BAG',
        help='rosbag2 folders, or .mcap or .db3 files, of one arm and one load',
    )
    parser.add_argument(
        '--test',
        dest='tests',
        nargs='+',
        action='extend',
        default=[],
        metavar='BAG',
        help='unseen bags of the same arm and load that decide '
        'whether the result is better; without them parts of the bags are left '
        'out in turn',
    )
    add_output_option(
        parser,
        'write the identified arm to this file, fitted to all bags, if it is better '
        'than the best published set',
    )
    parser.add_argument(
        '--anyway',
        action='store_true',
        help='write the file even if it is not '
        'better, or if the bags show another hand than the named one, unit or sign',
    )
    add_recording_options(parser)
    parser.add_argument(
        '--set',
        dest='inertial_set',
        metavar='SET',
        help="starting set (default: the arm file's own)",
    )
    add_hand_option(parser)
    add_gravity_option(parser, 'base', default=(0.0, 0.0, -9.81))
    parser.add_argument(
        '--friction',
        choices=('maxwell_slip', 'viscous_coulomb', 'sigmoid'),
        default='maxwell_slip',
        help='what the arm file holds; the sigmoid '
        "(Gaz's) is fitted to what the inertias leave (default: %(default)s)",
    )
    parser.add_argument(
        '--friction-width',
        type=float,
        default=0.01,
        metavar='RAD_PER_S',
        help='where Coulomb friction has turned over (default: %(default)s)',
    )
    parser.add_argument(
        '--rotor-inertia', action='store_true', help='identify one rotor inertia per joint as well'
    )
    parser.add_argument(
        '--mass-factor',
        type=float,
        default=3.0,
        metavar='F',
        help='masses stay within this factor of the start (default: %(default)s)',
    )
    parser.add_argument(
        '--prior',
        '--pull',
        type=float,
        metavar='PRECISION',
        help='how precisely the starting set counts as known before: P for masses known to '
        '1/sqrt(P), such as 100 for 10 %% (default: chosen by cross-validation)',
    )
    parser.add_argument(
        '--effort-unit',
        choices=('Nm', 'A'),
        default='Nm',
        help='of the recorded efforts; from motor currents (A) one scale per '
        'joint is found along with the rest, and rotor inertias are identified '
        '(default: %(default)s)',
    )
    parser.add_argument(
        '--effort-scale',
        type=float,
        nargs='+',
        metavar='NM_PER_UNIT',
        help='what one unit of effort is, joint by joint, where it is known',
    )
    parser.add_argument(
        '--encoder-noise',
        type=float,
        nargs=2,
        metavar=('RAD', 'RAD_PER_S'),
        help='report by how much noise of these standard deviations in position '
        'and velocity biases the estimates',
    )
    parser.add_argument(
        '--also-at',
        type=float,
        nargs='*',
        default=[5.0],
        metavar='HZ',
        help='further cut-offs to report E at (default: 5)',
    )
    parser.add_argument(
        '--dask',
        metavar='ADDRESS',
        help='map the bags over the Dask cluster '
        'whose scheduler listens there (tcp://host:8786); its workers must see '
        'them under the same paths',
    )
    parser.add_argument(
        '--skip-bad-bags',
        action='store_true',
        help='go on without bags that cannot be used, and name them',
    )
    parser.add_argument(
        '--report', type=output_file, metavar='FILE', help='write an HTML page with plots'
    )
    add_json_option(parser)
    parser.add_argument(
        '--require',
        type=float,
        metavar='E',
        help='exit with 1, and write no arm '
        'file, unless E on what was left out is at most this [N m]',
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the figures and write what was asked for; exit 1 if the result is no better."""
    from ..files import write_text
    from ..report.identification import identification_as_data, print_identification
    from ..report.identification_page import identification_page

    console = terminal()
    start = load_arm(arguments)
    with progress_bar(console) as bar:
        found = (_here if arguments.dask is None else _on_cluster)(arguments, start, bar)
    result = found.result
    print_identification(console, result, found.bags, found.failures)
    if arguments.json:
        data = identification_as_data(result, found.bags, found.signal, found.failures)
        write_json(arguments.json, data)
    if arguments.report:
        write_text(
            arguments.report,
            identification_page(result, found.bags, found.signal, found.motions, found.failures),
        )
        console.print(f'page: {arguments.report}')
    refused = _refusal(arguments, result)
    if refused:
        console.print(refused, style='red')
        return 1
    if arguments.output:
        write_text(arguments.output, identified_arm_text(result, found.bags, arguments.payload))
        count = f'all {len(result.bags)} bags' if len(result.bags) > 1 else 'all of the bag'
        console.print(f'arm file: {arguments.output} (set {IDENTIFIED}, fitted to {count})')
    return 0


def _refusal(arguments: argparse.Namespace, result: Identification) -> str:
    """Return why the answer is no, if it is."""
    error = result.arm_score.test.whole
    if arguments.require is not None and not error <= arguments.require:
        return (
            f'E on what was left out is above the required {arguments.require:g} N m; no '
            'arm file was written.'
        )
    if result.verdict.better or arguments.anyway:
        return ''
    return (
        'The identified arm is not better than what is published, so no arm file was written; '
        '--anyway writes it nevertheless.'
    )


@dataclass(frozen=True, eq=False)
class _Found:
    """A result with the bags it is from; `motions` is empty if their samples are elsewhere."""

    result: Identification
    bags: list[BagNote]
    signal: SignalOptions
    motions: list[Motion]
    failures: list[str]


def identified_arm_text(
    result: Identification, bags: Sequence[BagNote], payload: str | None = None
) -> str:
    """
    Return the identified arm as the text of an arm file, with where it comes from.

    A payload that was on the flange is taken off again: the file is of the arm without it.
    """
    from ..arm import LinkInertia
    from ..arm.arm_file_writer import arm_file_text
    from ..arm.payload import read_payload

    names = [Path(one.bag).name for one in bags]
    shown = ', '.join(names[:5]) + (f' and {len(names) - 5} more' if len(names) > 5 else '')
    source = f'identified by franka-dynamics from {shown}'
    notes = (
        f'E on what was left out {result.arm_score.test.whole:.4f} N m, without friction and '
        f'offset {result.verdict.rigid:.4f} N m; {"" if result.verdict.better else "NOT "}better '
        'than the best published set; fitted to all of the data; physically consistent; prior '
        f'about {result.start.inertial_set} of precision {result.consistent.regularization:g}'
    )
    if result.options.scale_unknown:
        notes += '; N m per A of motor current: ' + ', '.join(
            f'{value:.4g}' for value in result.effort_scale
        )
    suspicions = [f'{Path(one.bag).name}: {text}' for one in bags for text in one.suspicions]
    warnings = [*result.contradictions, *result.remarks, *suspicions]
    if warnings:
        notes += f'; {len(warnings)} warnings when it was made: {" | ".join(warnings[:10])}'
    arm = replace(result.arm, inertial_set=IDENTIFIED)
    if payload is not None:
        arm = arm.with_payload(LinkInertia.zero() - read_payload(payload))
        notes += f'; recorded with the payload {payload}, which is not in these numbers'
    return arm_file_text(
        arm, title=f'{arm.name}, identified', source=source, notes=notes, friction_source=source
    )


def _jobs(arguments: argparse.Namespace, start: ArmDescription) -> list[BagJob]:
    from ..identification.bag_job import BagJob

    return [
        BagJob(
            bag,
            joint_names(arguments, start),
            arguments.topic,
            arguments.stamps,
            signal_options(arguments),
            tuple(arguments.also_at),
            arguments.gravity,
            arguments.effort_unit == 'Nm',
            None if arguments.effort_scale is None else tuple(arguments.effort_scale),
            arguments.anyway,
        )
        for bag in (*arguments.bags, *arguments.tests)
    ]


def _here(arguments: argparse.Namespace, start: ArmDescription, bar: Progress) -> _Found:
    """Identify in this process, which keeps the samples for pictures."""
    from ..errors import FrankaDynamicsError
    from ..identification.bag_job import require_one_arm
    from ..identification.identify import identify

    bags, motions, names, failures = [], [], [], []
    others: dict[float, list[Motion]] = {}
    options = _options(arguments)
    model = options.torque_model(start)
    tests = 0
    for number, job in enumerate(_jobs(arguments, start)):
        try:
            recording = job.recording(reading(bar, job.path))
            motion, at_others = job.motions(recording, model)
            bags.append(job.note(recording, motion, start))
        except FrankaDynamicsError as error:
            if not arguments.skip_bad_bags:
                raise
            failures.append(str(error))
            continue
        tests += number >= len(arguments.bags)
        motions.append(replace(motion, remarks=()))
        names.append(job.name)
        for cutoff, prepared in at_others.items():
            others.setdefault(cutoff, []).append(prepared)
    others = {cutoff: one for cutoff, one in others.items() if len(one) == len(motions)}
    learnt = len(motions) - tests
    if not learnt:
        raise IdentificationError(f'No bag can be used: {failures[0]}')
    require_one_arm(bags)
    task = bar.add_task('identifying', total=None)
    result = identify(
        motions[:learnt],
        start,
        _published(arguments, start),
        options,
        tests=motions[learnt:],
        hands=_hands(arguments, start),
        names=names,
        other_cutoffs=others,
        progress=lambda done, total: bar.update(task, completed=done, total=total),
    )
    bar.update(task, total=1, completed=1)
    return _Found(result, bags, signal_options(arguments), motions, failures)


def _on_cluster(arguments: argparse.Namespace, start: ArmDescription, bar: Progress) -> _Found:
    """Identify on a Dask cluster, which keeps the samples to itself."""
    from ..identification.cluster import connect, identify_on_cluster

    jobs, learnt = _jobs(arguments, start), len(arguments.bags)
    task = bar.add_task('summarising bags', total=len(jobs))
    with connect(arguments.dask) as client:
        result, bags, failures = identify_on_cluster(
            client,
            jobs[:learnt],
            start,
            _published(arguments, start),
            _options(arguments),
            tests=jobs[learnt:],
            hands=_hands(arguments, start),
            skip_failures=arguments.skip_bad_bags,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    return _Found(result, bags, signal_options(arguments), [], failures)


def _published(arguments: argparse.Namespace, start: ArmDescription) -> list[ArmDescription]:
    hand = start.hand if arguments.hand == AS_LISTED else arguments.hand
    return [load_arm(arguments, name, hand) for name in available_sets(arguments.arm)]


def _hands(arguments: argparse.Namespace, start: ArmDescription) -> list[ArmDescription]:
    """Return the sets bare, with each hand and with the named one, if hands fit the arm."""
    if start.name not in FRANKA_ARMS or arguments.effort_unit != 'Nm':
        return []
    return [
        load_arm(arguments, name, hand)
        for name in available_sets(arguments.arm)
        for hand in dict.fromkeys((NO_HAND, *available_hands(), start.hand))
    ]


def _options(arguments: argparse.Namespace) -> IdentificationOptions:
    from ..identification.options import IdentificationOptions

    currents = arguments.effort_unit != 'Nm'
    return IdentificationOptions(
        gravity=arguments.gravity,
        friction=arguments.friction,
        friction_width=arguments.friction_width,
        rotor_inertia=arguments.rotor_inertia or currents,
        mass_factor=arguments.mass_factor,
        regularization=arguments.prior,
        effort_unit=arguments.effort_unit,
        effort_scale=None if arguments.effort_scale is None else tuple(arguments.effort_scale),
        anyway=arguments.anyway,
        encoder_noise=None
        if arguments.encoder_noise is None
        else (arguments.encoder_noise[0], arguments.encoder_noise[1]),
    )
