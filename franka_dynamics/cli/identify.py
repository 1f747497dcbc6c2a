# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The work of `identify arm`, which writes an arm file from recordings, and of `identify plan`.

The latter computes a motion for identification.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
import shlex

import numpy as np
import yaml

from .choices import ArmChoice, BagReader, forbid_without, Options, require_installed
from .console import echo, echo_each, print_rich, ProgressBar, write_json
from ..arm import ArmDescription
from ..arm.arm_file import is_urdf_or_mjcf, read_arm_file
from ..arrays import Array
from ..constants import AS_LISTED
from ..errors import ClusterError, IdentificationError, list_text, require_extra
from ..files import write_text
from ..identification import excitation_problem as planning
from ..identification.excitation import (
    choose_repetitions,
    Excitation,
    optimise_excitation,
)
from ..identification.excitation_problem import (
    ExcitationProblem,
    MAX_STD_TO_PRIOR_RATIO,
)
from ..identification.identify import identify
from ..identification.options import (
    ExcitationLimits,
    IdentificationOptions,
    MAX_REPETITIONS,
    MIN_REPETITIONS,
)
from ..identification.results import Identification, IDENTIFIED_SET_NAME
from ..identification.summary import Bag, labels_of
from ..recordings.preprocessing import Motion, to_motion
from ..report import identification as pages
from ..report.elements import Header, Table, value_and_deviation_texts
from ..report.replay import TORQUE_ERROR_DEFINITION

DASK_TIMEOUT_S = 20.0
_TRAJECTORY_RATE_HZ = 25.0


def run(arm: ArmChoice, reader: BagReader, fit: IdentificationOptions, options: Options) -> int:
    """Identify the arm, print and write the results; return 1 if no arm is accepted."""
    needed = 'rosbags', 'scipy', 'clarabel', *(['matplotlib'] if options.report else [])
    require_installed(f'Identifying an arm needs {list_text(needed)}', 'identify', *needed)
    if is_urdf_or_mjcf(arm.arm):
        read_arm_file(arm.arm)  # raises an error that says how to import it
    arm = reader.arm_in_bag(options.bags[0], arm)
    start = arm.load()
    names = reader.joint_names_in_bag(start)
    fitted, left_out = (
        [Bag(path, names, reader.topic, reader.stamp_kind) for path in paths]
        for paths in (options.bags, options.tests)
    )
    with ProgressBar() as bar, _executor_of_workers(options.workers) as executor:
        published = _published_arms(arm, start)
        progress = bar.new_task('identifying')
        result = identify(
            fitted,
            start,
            published,
            fit,
            tests=left_out,
            executor=executor,
            progress=progress,
        )
    accepted = result.accepted_arm is not None
    if options.output and accepted:
        result.save(options.output, payload=arm.read_payload())
    if options.report:
        page = pages.identification_page(result, _used_motions(result, [*fitted, *left_out]))
        write_text(options.report, page)
    if options.json:
        write_json(options.json, pages.identification_as_data(result))
    echo(pages.conclusion_text(result), style='bold')
    echo_each(pages.detail_sentences(result), 'warning')
    print_rich(*pages.identification_tables(result))
    echo(TORQUE_ERROR_DEFINITION)
    page_line = 'What the recordings leave open: a page by --report, or --json'
    if options.report:
        page_line = f'page: {options.report}'
    echo_each(filter(None, [pages.tracking_error_sentence(result), page_line]))
    if not accepted:
        echo(_refusal_sentence(result), style='red')
        return 1
    echo(_arm_file_sentence(options.output, result))
    return 0


def _published_arms(arm: ArmChoice, start_arm: ArmDescription) -> list[ArmDescription]:
    """Return the published sets to compare with, those with the arm's own hand first."""
    hand = start_arm.hand if arm.hand == AS_LISTED else arm.hand
    own = arm.load_sets_and_hands(hands=(hand,))
    return [
        *own,
        *(other for other in arm.load_sets_and_hands() if other.hand != start_arm.hand),
    ]


def _used_motions(result: Identification, bags: Sequence[Bag]) -> Iterator[tuple[str, Motion]]:
    """Yield name and motion of each bag that the identification used."""
    for name, bag in zip(labels_of(bags), bags, strict=True):
        if name in result.recordings.names:
            whole = result.options.with_whole_effort(bag.recording(), result.start)
            yield name, to_motion(whole, bag.signal)


def _arm_file_sentence(output_path: Path | None, result: Identification) -> str:
    """Return text on where the arm file is and on how many bags it rests, or that none is."""
    if output_path is None:
        return 'no arm file was written: name one with --output'
    bag_count = len(result.recordings.names)
    what = f'all {bag_count} bags' if bag_count > 1 else 'all of the bag'
    if result.keeps_published_inertias:
        kept = f'inertias of {result.published_fit.arm.inertial_set}, friction'
        return f'arm file: {output_path} ({kept} fitted to {what})'
    return f'arm file: {output_path} (set {IDENTIFIED_SET_NAME}, fitted to {what})'


def _refusal_sentence(result: Identification) -> str:
    """Return why the identified arm is not accepted."""
    why = 'nothing in it is better than the published sets; --anyway writes it nevertheless'
    if not result.verdict.sound:
        why = 'the recordings are not sound; --anyway accepts them'
    return f'No arm file was written: {why}.'


@contextmanager
def _executor_of_workers(workers: str) -> Iterator[Executor | None]:
    """Yield an executor of processes or a Dask cluster, None for '1'; or raise ClusterError."""
    if workers.isdigit():
        with ProcessPoolExecutor(int(workers)) if int(workers) > 1 else nullcontext() as pool:
            yield pool
        return
    with require_extra('Identifying on a cluster needs dask', 'cluster'):
        from distributed import Client
    try:
        client = Client(workers, timeout=DASK_TIMEOUT_S)
    except (OSError, ValueError) as error:
        fix = 'start one with `dask scheduler`, or fix the address'
        raise ClusterError(f'No Dask scheduler answers at {workers} ({error}); {fix}.') from error
    with client:
        yield client.get_executor(pure=False)


def plan(arm: ArmChoice, reader: BagReader, limits: ExcitationLimits, options: Options) -> int:
    """Write an excitation trajectory; return 1 if it leaves essential parameters unidentified."""
    if not options.given:
        forbid_without('--given', 'joint_names', 'topic')
    description = arm.load()
    first = options.start or description.home
    times = options.repetitions or MIN_REPETITIONS
    if first is None:
        raise IdentificationError(f'{description.name} has no home pose; give one with --start.')
    period = options.period
    output = options.output
    problem = ExcitationProblem(description, limits, options.gravity, duration=times * period)
    with ProgressBar() as bar:
        motions = [to_motion(reader.read_recording(k, description, bar)) for k in options.given]
        planned = problem
        if motions:
            known = np.sum([planning.information_matrix(problem, one) for one in motions], axis=0)
            planned = replace(problem, known_information=known)
        search = {'draws': options.draws, 'iterations': options.iterations}
        search |= {'period': period, 'progress': bar.new_task('planning')}
        excitation = optimise_excitation(planned, first, **search)
    if options.repetitions is None:
        bounds = MIN_REPETITIONS, MAX_REPETITIONS
        excitation, times = choose_repetitions(planned, excitation, *bounds)
    time = np.linspace(0.0, period, round(period * _TRAJECTORY_RATE_HZ) + 1)
    states = np.array(excitation.trajectory.states_at(time))
    write_text(output, trajectory_yaml(description.joint_names, time, states))
    left = excitation.std_to_prior_ratios
    given = f', and the {len(motions)} given bags' if motions else ''
    echo(
        f'After {times} repetitions of {period:g} s ({times * period / 60.0:.1f} minutes){given} '
        f'{np.count_nonzero(left <= MAX_STD_TO_PRIOR_RATIO)} of {len(left)} base parameters are '
        f"identifiable; a standard deviation is at most {left.max():.0%} of the prior's (masses "
        '100 %, others in proportion).'
    )
    missing = _print_unidentified_parameters(problem, excitation)
    echo(
        f'trajectory: {output}; play it with `franka-dynamics node play`, or with\n'
        '  ros2 topic pub --once /feedforward/reference '
        f'trajectory_msgs/msg/JointTrajectory "$(cat {shlex.quote(str(output))})"'
    )
    return 1 if missing else 0


def _print_unidentified_parameters(problem: ExcitationProblem, excitation: Excitation) -> int:
    """Print the parameters left unidentified; return how many of them matter for torques."""
    missing = problem.unidentified_mask(excitation.parameter_std)
    base = problem.model.base
    values = problem.model.base.values(problem.arm)
    torques = problem.torque_to_noise_ratio(excitation.parameter_std)
    rows = [
        (
            *(
                base.names[k],
                *value_and_deviation_texts(values[k], excitation.parameter_std[k]),
            ),
            *(excitation.std_to_prior_ratios[k], torques[k]),
            'NOT identifiable' if missing[k] else 'not needed',
        )
        for k in np.flatnonzero(excitation.std_to_prior_ratios > MAX_STD_TO_PRIOR_RATIO)
    ]
    heads = (
        *('parameter', 'start', 'deviation', Header("of the prior's", format='.0%')),
        *(Header('torque, of the noise', format='.2g'), ''),
    )
    title = (
        'base parameters that stay unknown: the part of the prior deviation that is left, and the '
        "torque that one deviation makes, relative to a joint's noise (not needed: below 0.1)"
    )
    if rows:
        print_rich(Table(title, heads, rows))
    if count := np.count_nonzero(missing):
        echo(
            f'{count} that matter are NOT identifiable: move more (--fraction, --period), repeat '
            'more often (--repetitions), or plan a second motion with this bag (--given).'
        )
    return int(count)


def trajectory_yaml(joint_names: Sequence[str], time: Array, states: Array) -> str:
    """
    Return a motion as the YAML text of a JointTrajectory message.

    `states` (3, k, n) are positions, velocities and accelerations at `time` (k,) [s].
    """
    fields = ('positions', 'velocities', 'accelerations')
    stamps = np.round(time * 1e9).astype(np.int64).tolist()
    rounded = (np.round(states, 6) + 0.0).tolist()
    points = [
        dict(zip(fields, rows))
        | {'time_from_start': dict(zip(('sec', 'nanosec'), divmod(stamp, 10**9)))}
        for stamp, *rows in zip(stamps, *rounded, strict=True)
    ]
    message = {'joint_names': list(joint_names), 'points': points}
    return yaml.safe_dump(message, sort_keys=False, default_flow_style=None, width=1000)
