# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify`: recordings of an arm -> an arm file that predicts its torques."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ._arm_options import load_arm
from ._options import add_option, output_file
from ._recording_options import (
    add_recording_options,
    joint_names,
    progress_bar,
    reading,
    signal_options,
)
from ..arm import ArmDescription, available_sets
from ..arm.arm_file import AS_LISTED, NO_HAND
from ..errors import IdentificationError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ..identification.bag_job import BagJob, BagNote
    from ..identification.result import Identification, IdentificationOptions
    from ..recordings.preprocessing import Motion, SignalOptions

SUMMARY = "Identify an arm's inertias and friction from recordings of it."
GROUP = 'from recordings'
IDENTIFIED = 'identified'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument('bags', nargs='+', metavar='BAG',
                        help='rosbag2 folders, or .mcap or .db3 files, of one arm and one load')
    add_option(parser, '--output', '--out', type=output_file, metavar='FILE',
               help='write the identified arm to this file')
    add_recording_options(parser)
    parser.add_argument('--set', dest='inertial_set', metavar='SET',
                        help="starting set (default: the arm file's own)")
    parser.add_argument('--hand', default=NO_HAND, metavar='HAND',
                        help='what was mounted: none, franka_hand, hand_ledezma2021, or as_listed '
                        'for that of the starting set (default: %(default)s)')
    parser.add_argument('--gravity', type=float, nargs=3, default=(0.0, 0.0, -9.81),
                        metavar=('X', 'Y', 'Z'), help='in the base frame [m/s^2]')
    parser.add_argument('--friction', choices=('viscous_coulomb', 'sigmoid'),
                        default='viscous_coulomb', help='what the arm file holds; the sigmoid '
                        "(Gaz's) is fitted to what the inertias leave (default: %(default)s)")
    parser.add_argument('--friction-width', type=float, default=0.02, metavar='RAD_PER_S',
                        help='where Coulomb friction has turned over (default: %(default)s)')
    parser.add_argument('--rotor-inertia', action='store_true',
                        help='identify one rotor inertia per joint as well')
    parser.add_argument('--mass-factor', type=float, default=3.0, metavar='F',
                        help='masses stay within this factor of the start (default: %(default)s)')
    parser.add_argument('--pull', type=float, metavar='STRENGTH',
                        help='towards the starting set, s for known to 1/sqrt(s) (default: chosen '
                        'by cross-validation within the training half)')
    parser.add_argument('--encoder-noise', type=float, nargs=2, metavar=('RAD', 'RAD_PER_S'),
                        help='report by how much noise of these standard deviations in position '
                        'and velocity biases the estimates')
    parser.add_argument('--also-at', type=float, nargs='*', default=[5.0], metavar='HZ',
                        help='further cut-offs to report E at (default: 5)')
    parser.add_argument('--dask', metavar='ADDRESS', help='map the bags over the Dask cluster '
                        'whose scheduler listens there (tcp://host:8786); its workers must see '
                        'them under the same paths')
    parser.add_argument('--skip-bad-bags', action='store_true',
                        help='go on without bags that cannot be used, and name them')
    add_option(parser, '--report', type=output_file, metavar='FILE',
               help='write an HTML page with plots')
    add_option(parser, '--json', type=output_file, metavar='FILE',
               help='write all figures to this file')
    parser.add_argument('--require', type=float, metavar='E', help='exit with 1, and write no arm '
                        'file, unless E on the unseen half is at most this [N m]')


def run(arguments: argparse.Namespace) -> int:
    """Print the figures and write what was asked for; exit 1 if a required E is missed."""
    from rich.console import Console

    from ..files import write_text
    from ..report.identification import identification_as_data, identification_page

    console = Console()
    start = load_arm(arguments)
    with progress_bar(console) as bar:
        found = (_here if arguments.dask is None else _on_cluster)(arguments, start, bar)
    result = found.result
    _print(console, found)
    if arguments.json:
        data = identification_as_data(result, found.bags, found.signal, found.failures)
        write_text(arguments.json, json.dumps(data, indent=2) + '\n')
        console.print(f'figures: {arguments.json}', highlight=False)
    if arguments.report:
        write_text(arguments.report, identification_page(
            result, found.bags, found.signal, found.motions, found.failures))
        console.print(f'page: {arguments.report}', highlight=False)
    error = result.arm_score.test.whole
    if arguments.require is not None and not error <= arguments.require:
        console.print(f'E on the unseen half is above the required {arguments.require:g} N m',
                      style='red')
        return 1
    if arguments.output:
        write_text(arguments.output, identified_arm_text(result, found.bags))
        console.print(f'arm file: {arguments.output} (set {IDENTIFIED})', highlight=False)
    return 0


@dataclass(frozen=True, eq=False)
class _Found:
    """A result with the bags it is from; `motions` is empty if their samples are elsewhere."""

    result: Identification
    bags: list[BagNote]
    signal: SignalOptions
    motions: list[Motion]
    failures: list[str]


def identified_arm_text(result: Identification, bags: Sequence[BagNote]) -> str:
    """Return the identified arm as the text of an arm file, with where it comes from."""
    from ..arm.arm_file_writer import arm_file_text

    names = [Path(one.bag).name for one in bags]
    shown = ', '.join(names[:5]) + (f' and {len(names) - 5} more' if len(names) > 5 else '')
    source = f'identified by franka-dynamics from {shown}'
    notes = (f'E on the unseen half {result.arm_score.test.whole:.4f} N m; physically consistent; '
             f'pulled towards {result.start.inertial_set} with strength '
             f'{result.consistent.strength:g}')
    arm = replace(result.arm, inertial_set=IDENTIFIED)
    return arm_file_text(arm, title=f'{arm.name}, identified', source=source, notes=notes,
                         friction_source=source)


def _jobs(arguments: argparse.Namespace, start: ArmDescription) -> list[BagJob]:
    from ..identification.bag_job import BagJob
    return [BagJob(bag, joint_names(arguments, start), arguments.topic, arguments.stamps,
                   signal_options(arguments), tuple(arguments.also_at), arguments.gravity)
            for bag in arguments.bags]


def _here(arguments: argparse.Namespace, start: ArmDescription, bar: Progress) -> _Found:
    """Identify in this process, which keeps the samples for pictures."""
    from ..errors import FrankaDynamicsError
    from ..identification.bag_job import note, require_one_arm
    from ..identification.identify import identify

    bags, motions, failures = [], [], []
    others: dict[float, list[Motion]] = {}
    for job in _jobs(arguments, start):
        try:
            recording = job.recording(reading(bar, job.path))
            motion, at_others = job.motions(recording)
            bags.append(note(recording, motion, start, job.gravity))
        except FrankaDynamicsError as error:
            if not arguments.skip_bad_bags:
                raise
            failures.append(str(error))
            continue
        motions.append(replace(motion, remarks=()))
        for cutoff, prepared in at_others.items():
            others.setdefault(cutoff, []).append(prepared)
    if not motions:
        raise IdentificationError(f'No bag can be used: {failures[0]}')
    require_one_arm(bags)
    task = bar.add_task('identifying', total=None)
    result = identify(motions, start, _published(arguments, start), _options(arguments),
                      other_cutoffs=others)
    bar.update(task, total=1, completed=1)
    return _Found(result, bags, signal_options(arguments), motions, failures)


def _on_cluster(arguments: argparse.Namespace, start: ArmDescription, bar: Progress) -> _Found:
    """Identify on a Dask cluster, which keeps the samples to itself."""
    from ..identification.cluster import connect, identify_on_cluster

    task = bar.add_task('summarising bags', total=len(arguments.bags))
    with connect(arguments.dask) as client:
        result, bags, failures = identify_on_cluster(
            client, _jobs(arguments, start), start, _published(arguments, start),
            _options(arguments), skip_failures=arguments.skip_bad_bags,
            progress=lambda done, total: bar.update(task, completed=done, total=total))
    return _Found(result, bags, signal_options(arguments), [], failures)


def _published(arguments: argparse.Namespace, start: ArmDescription) -> list[ArmDescription]:
    hand = start.hand if arguments.hand == AS_LISTED else arguments.hand
    return [load_arm(arguments, name, hand)
            for name in available_sets(arguments.arm)]


def _options(arguments: argparse.Namespace) -> IdentificationOptions:
    from ..identification.result import IdentificationOptions
    if arguments.pull is not None and not 0.0 <= arguments.pull < float('inf'):
        raise IdentificationError(f'The strength of the pull is {arguments.pull}; it cannot be '
                                  'negative.')
    return IdentificationOptions(
        gravity=arguments.gravity, friction=arguments.friction,
        friction_width=arguments.friction_width,
        rotor_inertia=arguments.rotor_inertia, mass_factor=arguments.mass_factor,
        strength=arguments.pull,
        encoder_noise=None if arguments.encoder_noise is None else
        (arguments.encoder_noise[0], arguments.encoder_noise[1]))


def _print(console: Console, found: _Found) -> None:
    from rich.table import Table

    from ..report.identification import doubts, verdict
    result = found.result
    cutoffs = list(result.scores[0].other_cutoffs)
    table = Table(title='E over the whole vector [N m]; published sets with friction fitted alike',
                  title_justify='left')
    table.add_column('parameters', no_wrap=True)
    for heading in ('first half', 'unseen half', 'unfiltered', *(f'{c:g} Hz' for c in cutoffs)):
        table.add_column(heading, justify='right')
    for one in result.scores:
        table.add_row(one.name, f'{one.train.whole:.3f}', f'[bold]{one.test.whole:.3f}[/]',
                      f'{one.test_unfiltered.whole:.3f}',
                      *(f'{one.other_cutoffs[cutoff].whole:.3f}' for cutoff in cutoffs))
    console.print(table)
    joints = Table(title='root mean square per joint on the unseen half [N m], '
                   f'{result.start.joint_names[0]} to {result.start.joint_names[-1]}',
                   title_justify='left')
    joints.add_column('parameters', no_wrap=True)
    for number in range(1, result.start.n + 1):
        joints.add_column(str(number), justify='right')
    for one in result.scores:
        joints.add_row(one.name, *(f'{value:.2f}' for value in one.test.joints))
    console.print(joints)
    for sentence in doubts(result, found.bags, found.failures):
        console.print(f'[yellow]warning:[/] {sentence}', highlight=False)
    for sentence in verdict(result):
        console.print(sentence, highlight=False)
