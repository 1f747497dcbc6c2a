# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify arm`: recordings -> an arm file that predicts the arm's torques."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from ._arm_options import add_hand_option, load_arm
from ._options import (
    add_gravity_option,
    add_json_option,
    add_output_option,
    output_file,
)
from ._recording_options import add_recording_options, joint_names, progress_bar, signal_options
from ._say import terminal, write_json
from ..arm import ArmDescription, available_hands, available_sets
from ..arm.arm_file import AS_LISTED
from ..arm.hand_file import NO_HAND
from ..arm.shapes import FRANKA_ARMS
from ..errors import ClusterError, MissingDependencyError

if TYPE_CHECKING:
    from ..identification.bags import Bag
    from ..identification.identify import Identification
    from ..identification.options import IdentificationOptions

SUMMARY = "Identify an arm's inertias and friction from recordings of it."
IDENTIFIED = 'identified'
_CONNECT_S = 20.0


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
        '--write-anyway',
        action='store_true',
        help='write the file even if the arm is not better than the best published set',
    )
    parser.add_argument(
        '--anyway',
        action='store_true',
        help='take bags that seem to show another hand than the named one, unit, sign or arm',
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
        choices=('maxwell_slip', 'viscous_coulomb'),
        default='maxwell_slip',
        help='what the arm file holds (default: %(default)s)',
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
        '--also-at',
        type=float,
        nargs='*',
        default=[5.0],
        metavar='HZ',
        help='further cut-offs to report E at (default: 5)',
    )
    parser.add_argument(
        '--processes',
        type=int,
        default=1,
        metavar='N',
        help='read bags and make fits in so many processes (default: %(default)s)',
    )
    parser.add_argument(
        '--dask',
        metavar='ADDRESS',
        help='the same on the Dask cluster whose scheduler listens there (tcp://host:8786); its '
        'workers must see the bags under the same paths',
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
    from ..identification.identify import identify
    from ..report.identification import identification_as_data, print_identification
    from ..report.identification_page import identification_page

    console = terminal()
    start, options = load_arm(arguments), _options(arguments)
    bags, tests = (
        [_bag(path, arguments, start) for path in paths]
        for paths in (arguments.bags, arguments.tests)
    )
    with progress_bar(console) as bar, _executor(arguments) as executor:
        task = bar.add_task('identifying', total=None)
        result = identify(
            bags,
            start,
            _published(arguments, start),
            options,
            tests=tests,
            hands=_hands(arguments, start),
            skip_failures=arguments.skip_bad_bags,
            executor=executor,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    print_identification(console, result)
    if arguments.json:
        write_json(arguments.json, identification_as_data(result))
    if arguments.report:
        read = {note.bag for note in result.recorded.notes}
        motions = (bag.motion(result.model) for bag in (*bags, *tests) if bag.path in read)
        write_text(arguments.report, identification_page(result, motions))
        console.print(f'page: {arguments.report}')
    refused = _refusal(arguments, result)
    if refused:
        console.print(refused, style='red')
        return 1
    if arguments.output:
        write_text(arguments.output, identified_arm_text(result, arguments.payload))
        count = len(result.recorded.bags)
        console.print(
            f'arm file: {arguments.output} (set {IDENTIFIED}, fitted to '
            f'{f"all {count} bags" if count > 1 else "all of the bag"})',
        )
    else:
        console.print('no arm file was written: name one with --output')
    return 0


def _refusal(arguments: argparse.Namespace, result: Identification) -> str:
    """Return why the answer is no, if it is."""
    error = result.arm_score.test.whole
    if arguments.require is not None and not error <= arguments.require:
        return (
            f'E on what was left out is above the required {arguments.require:g} N m; no '
            'arm file was written.'
        )
    if result.verdict.better or arguments.write_anyway:
        return ''
    return (
        'The identified arm is not better than what is published, so no arm file was written; '
        '--write-anyway writes it nevertheless.'
    )


@contextmanager
def _executor(arguments: argparse.Namespace) -> Iterator[Executor | None]:
    """
    Yield where the work is done, if not here.

    Raises
    ------
    ClusterError
        If no scheduler answers.
    MissingDependencyError
        If dask is not installed.

    """
    if arguments.dask is None:
        many = arguments.processes > 1
        with ProcessPoolExecutor(arguments.processes) if many else nullcontext() as pool:
            yield pool
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingDependencyError(
            "Identifying on a cluster needs dask: pip install 'franka_dynamics[cluster]'."
        ) from error
    try:
        client = Client(arguments.dask, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f'No Dask scheduler answers at {arguments.dask} ({error}); start one with '
            '`dask scheduler`, or fix the address.'
        ) from error
    with client:
        yield client.get_executor(pure=False)


def identified_arm_text(result: Identification, payload: str | None = None) -> str:
    """
    Return the identified arm as the text of an arm file, with where it comes from.

    A payload that was on the flange is taken off again: the file is of the arm without it.
    """
    from ..arm import LinkInertia
    from ..arm.arm_file_writer import arm_file_text
    from ..arm.payload import read_payload

    names = [name for name, _ in result.recorded.bags]
    shown = ', '.join(names[:5]) + (f' and {len(names) - 5} more' if len(names) > 5 else '')
    source = f'identified by franka-dynamics from {shown}'
    notes = (
        f'E on what was left out {result.arm_score.test.whole:.4f} N m, without friction and '
        f'offset {result.arm_score.test_rigid.whole:.4f} N m; '
        f'{"" if result.verdict.better else "NOT "}better than the best published set; '
        'fitted to all of the data; physically consistent; prior '
        f'about {result.start.inertial_set} of precision {result.consistent.regularization:g}'
    )
    if result.options.scale_unknown:
        notes += '; N m per A of motor current: ' + ', '.join(
            f'{value:.4g}' for value in result.effort_scale
        )
    suspicions = [
        f'{name}: {text}'
        for name, note in zip(names, result.recorded.notes)
        for text in note.suspicions
    ]
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


def _bag(path: str, arguments: argparse.Namespace, start: ArmDescription) -> Bag:
    from ..identification.bags import Bag

    return Bag(
        path,
        joint_names(arguments, start),
        arguments.topic,
        arguments.stamps,
        signal_options(arguments),
        tuple(arguments.also_at),
    )


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

    return IdentificationOptions(
        gravity=arguments.gravity,
        friction=arguments.friction,
        friction_width=arguments.friction_width,
        rotor_inertia=arguments.rotor_inertia,
        mass_factor=arguments.mass_factor,
        regularization=arguments.prior,
        effort_unit=arguments.effort_unit,
        effort_scale=None if arguments.effort_scale is None else tuple(arguments.effort_scale),
        anyway=arguments.anyway,
    )
