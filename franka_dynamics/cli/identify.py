# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify`: recordings of an arm -> an arm file that predicts its torques."""

from __future__ import annotations

import argparse
from dataclasses import replace
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ._recording_options import (
    add_recording_options,
    progress_bar,
    read_from_options,
    signal_options,
)
from ..arm import ArmDescription, available_sets, load
from ..arm.loader import AS_LISTED, NO_HAND
from ..errors import IdentificationError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ..identification.identification_result import Identification, IdentificationOptions
    from ..identification.recording import Recording
    from ..identification.signal_processing import Motion

SUMMARY = "Identify an arm's inertias and friction from recordings of it."
IDENTIFIED = 'identified'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument('bags', nargs='+', metavar='BAG',
                        help='rosbag2 folders, or .mcap or .db3 files, of one arm and one load')
    parser.add_argument('--out', metavar='FILE', help='write the identified arm to this file')
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
    parser.add_argument('--report', metavar='FILE', help='write an HTML page with plots')
    parser.add_argument('--json', metavar='FILE', help='write all figures to this file')
    parser.add_argument('--require', type=float, metavar='E', help='exit with 1, and write no arm '
                        'file, unless E on the unseen half is at most this [N m]')


def run(arguments: argparse.Namespace) -> int:
    """Print the figures and write what was asked for; exit 1 if a required E is missed."""
    from rich.console import Console

    from ..report.files import write_text
    from ..report.identification_data import identification_as_data
    from ..report.identification_page import identification_page

    console = Console()
    start = load(arguments.arm, arguments.inertial_set, hand=arguments.hand,
                 prefix=arguments.arm_prefix)
    with progress_bar(console) as bar:
        recordings = _read(arguments, start, bar)
        doubts = _doubts(recordings, start, arguments)
        motions, others = _prepared(recordings, arguments)
        task = bar.add_task('identifying', total=None)
        result = _identify(motions, others, start, arguments)
        bar.update(task, total=1, completed=1)
    _print(console, result, doubts)
    if arguments.json:
        data = identification_as_data(result, recordings, motions, doubts)
        write_text(arguments.json, json.dumps(data, indent=2) + '\n')
        console.print(f'figures: {arguments.json}', highlight=False)
    if arguments.report:
        write_text(arguments.report, identification_page(result, recordings, motions, doubts))
        console.print(f'page: {arguments.report}', highlight=False)
    error = result.arm_score.test.whole
    if arguments.require is not None and not error <= arguments.require:
        console.print(f'E on the unseen half is above the required {arguments.require:g} N m',
                      style='red')
        return 1
    if arguments.out:
        write_text(arguments.out, arm_file_text(result, recordings))
        console.print(f'arm file: {arguments.out} (set {IDENTIFIED})', highlight=False)
    return 0


def arm_file_text(result: Identification, recordings: list[Recording]) -> str:
    """Return the identified arm as the text of an arm file, with where it comes from."""
    from ..arm.writer import arm_yaml

    bags = ', '.join(Path(one.source).name for one in recordings)
    source = f'identified by franka-dynamics from {bags}'
    notes = (f'E on the unseen half {result.arm_score.test.whole:.4f} N m; physically consistent; '
             f'pulled towards {result.start.inertial_set} with strength '
             f'{result.consistent.strength:g}')
    arm = replace(result.arm, inertial_set=IDENTIFIED)
    return arm_yaml(arm, title=f'{arm.name}, identified', set_source=source, notes=notes,
                    friction_source=source)


def _read(arguments: argparse.Namespace, start: ArmDescription, bar: Progress,
          ) -> list[Recording]:
    recordings = [read_from_options(arguments, start, bar, bag) for bag in arguments.bags]
    first = recordings[0]
    for other in recordings[1:]:
        if other.joint_names != first.joint_names:
            raise IdentificationError(
                f'{first.source} was recorded from {first.joint_names[0]} ... but {other.source} '
                f'from {other.joint_names[0]} ...: these are different arms; identify each from '
                'its own recordings.')
    return recordings


def _doubts(recordings: list[Recording], start: ArmDescription, arguments: argparse.Namespace,
            ) -> list[str]:
    from ..identification.plausibility import suspicions
    return [f'{recording.source}: {sentence}' for recording in recordings
            for sentence in suspicions(recording, start, gravity=arguments.gravity)]


def _prepared(recordings: list[Recording], arguments: argparse.Namespace,
              ) -> tuple[list[Motion], dict[float, list[Motion]]]:
    from ..identification.signal_processing import prepare
    signal = signal_options(arguments)
    motions = [prepare(recording, signal) for recording in recordings]
    others = {cutoff: [prepare(recording, replace(signal, cutoff=cutoff))
                       for recording in recordings]
              for cutoff in arguments.also_at if cutoff != signal.cutoff}
    return motions, others


def _identify(motions: list[Motion], others: dict[float, list[Motion]], start: ArmDescription,
              arguments: argparse.Namespace) -> Identification:
    from ..identification.identify import identify
    hand = start.hand if arguments.hand == AS_LISTED else arguments.hand
    published = [load(arguments.arm, name, hand=hand, prefix=arguments.arm_prefix)
                 for name in available_sets(arguments.arm)]
    return identify(motions, start, published, _options(arguments), other_cutoffs=others)


def _options(arguments: argparse.Namespace) -> IdentificationOptions:
    from ..identification.identification_result import IdentificationOptions
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


def _print(console: Console, result: Identification, doubts: list[str]) -> None:
    from rich.table import Table

    from ..report.identification_data import verdict
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
    for sentence in (*doubts, *result.remarks):
        console.print(f'[yellow]warning:[/] {sentence}', highlight=False)
    for sentence in verdict(result):
        console.print(sentence, highlight=False)
