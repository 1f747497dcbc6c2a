# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The work of `franka-dynamics arm check` and `arm compare`, which compare models of arms.

`arm check` compares an arm's formulations with each other and with its file, `arm compare` two
arms by axis, inertia and limits of each joint.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
import warnings

from .choices import ArmChoice, forbid_options, Options
from .console import echo, echo_each, make_console, print_rich, write_json
from ..arm import ArmDescription
from ..arm.arm_file import is_urdf_or_mjcf
from ..arm.bodies import is_file_path
from ..errors import (
    ArmWarning,
    DescriptionError,
    FrankaDynamicsError,
    list_text,
    NoLinksError,
)
from ..files import read_text
from ..report import arm as report
from ..report.elements import to_json_types
from ..urdf.file_numbers import judge_file
from ..urdf.mjcf import is_mjcf_text
from ..urdf.reading import parse_robot, read_document
from ..urdf.writer import urdf_text
from ..validation.compare_files import read_pair, with_urdf_second
from ..validation.comparison import compare_descriptions
from ..validation.crosscheck import compare_formulations
from ..validation.torque_effect import ParameterDifference
from ..validation.urdf_check import node_acceptance_notes

# Verdicts, the first words of each result.
PASS = 'pass'
MISMATCH = 'MISMATCH'
NOT_PHYSICAL = 'not physical'
NOT_READ = 'error'


def check_arms(arm: ArmChoice, options: Options) -> int:
    """
    Check the arm or files; return 1 for differences or an unphysical link, 2 if unread, else 0.

    Several files are checked one after another; exit 2 if one of them cannot be read.
    """
    if options.arms:
        forbid_options(f'{options.arms[0]}, which is checked', 'arm')
    warnings.simplefilter('ignore', ArmWarning)  # the notes say it all
    files = [file for path in options.arms for file in _model_files_in(path)]
    alone = not options.arms or files == [options.arms[0]]
    found = dict[str, dict[str, Any]]()
    for file in [arm.arm] if not options.arms else files:
        try:
            found[file] = _check_arm(replace(arm, arm=file), options, in_detail=alone)
        except NoLinksError:  # macros of another file
            if alone:
                raise
        except FrankaDynamicsError as error:
            if alone:
                raise
            echo(error, NOT_READ)
            found[file] = {'verdict': NOT_READ, 'error': f'{error}'}
    if not found:
        raise DescriptionError(f'{options.arms[0]} has no .urdf, .urdf.xacro or MJCF; name files.')
    counts = Counter(result['verdict'] for result in found.values())
    if not alone:
        write_json(options.json, found)
        echo(f'{len(found)} files: {", ".join(f"{n} {word}" for word, n in counts.items())}.')
    return FrankaDynamicsError.status if counts[NOT_READ] else int(counts.total() > counts[PASS])


def _model_files_in(path: str) -> list[str]:
    """Return the URDF, xacro and MJCF files below a folder, or the path itself if it is none."""
    if not Path(path).is_dir():
        return [path]
    files = (one for form in ('*.urdf', '*.urdf.xacro', '*.xml') for one in Path(path).rglob(form))
    return [
        f'{file}'
        for file in sorted(files)
        if file.suffix != '.xml' or is_mjcf_text(read_text(file, 'replace'))
    ]


def _check_arm(arm: ArmChoice, options: Options, *, in_detail: bool) -> dict[str, Any]:
    """
    Compare an arm's formulations with each other and its file; print and return the result.

    Without `in_detail`, for one of several files, notes are on doubtful values alone.
    """
    description = arm.load()
    with make_console(stderr=True).status('comparing ...'):
        checked = compare_formulations(description, gravity=options.gravity, count=options.states)
    source = arm.arm
    document = None
    if is_urdf_or_mjcf(source):
        document = read_document(source, arguments=arm.xacro)
    elif is_file_path(source) and not description.inconsistencies():
        source = f'{source} as arm export writes it'
        document = parse_robot(urdf_text(description), source)
    doubts, unread = judge_file(document, Path(source)) if document else ((), ())
    impossible = [f'{one}' for one in doubts if one.impossible] or [*description.inconsistencies()]
    verdict = MISMATCH if not checked.passed else NOT_PHYSICAL if impossible else PASS
    consistency = report.link_consistency(description)
    data = {'verdict': verdict, **to_json_types(checked), 'consistency': consistency}
    data |= {'doubts': doubts} if document else {}
    if in_detail:
        write_json(options.json, data)
    echo(f'{arm.title(description)}: {report.crosscheck_sentence(checked)}', verdict)
    echo_each([*checked.findings, *impossible], style='red')
    possible = [one for one in doubts if not one.impossible]
    if not in_detail:
        echo_each(possible, 'note')
    else:
        echo_each(report.file_reading_notes(checked, unread), 'note')
        print_rich(*report.judgement_tables(possible, source))
        if document and not doubts:
            echo(f'masses, tensors and effort limits of {source} are plausible', 'note')
        # What loading found, without meshes, stands in the table.
        shown = {f'{one}' for one in judge_file(document)[0]} if document else ()
        notes = (one for one in description.notes if one not in shown)
        echo_each(
            (*notes, *description.repairs, *report.conditioning_notes(description)),
            'note',
        )
        print_rich(*(report.crosscheck_tables(checked) if options.everything else ()))
    return data


def compare_arms(options: Options) -> int:
    """Print two arms' largest differences by joint, base, flange; return 1 if torques change."""
    warnings.simplefilter('ignore', ArmWarning)  # the notes say it all
    first, second = map(str, with_urdf_second(options.first, options.second))
    if not is_urdf_or_mjcf(second):
        forbid_options('an arm that is no URDF or MJCF', 'prefix', 'xacro')
    elif is_urdf_or_mjcf(first):
        two = 'two URDFs or MJCFs, which are compared as they are written'
        forbid_options(two, 'inertial_set', 'hand')
    how = {name: getattr(options, name) for name in ('inertial_set', 'hand', 'prefix', 'xacro')}
    one, other = read_pair(first, second, use_nearest_set=True, **how)
    found = compare_descriptions(one, other)
    words = other.urdf.words if other.urdf else None
    empty = {
        joint: name
        for joint, name, link in zip(one.joint_names, other.link_names, other.links)
        if words and not link.parameters().any()
    }
    shown = [diff for diff in found.differences if diff.kind != 'link' or diff.owner not in empty]
    notes = node_acceptance_notes(one, other) if words else []
    if not words and other.hand != one.hand:
        notes = [f'the hands differ; --hand {other.hand} puts the same on both.']
    write_json(options.json, {**to_json_types(found), 'notes': notes})
    if words and empty:
        echo(
            f'{other.source}: no {words.inertial} with mass in {list_text([*empty.values()])}, '
            'nor in what is fixed to it; give it there. Of these links only geometry is compared.',
            MISMATCH,
        )
    labels = f'{_arm_label(second, other)} against {_arm_label(first, one)}'
    effective = _print_differences(shown, labels, one.joint_names, passed=found.passed)
    if effective and not empty:
        echo(f'Together they change the torque by {found.total_effect}.', style='red')
    echo_each(notes, 'note')
    return int(not found.passed)


def _print_differences(
    differences: list[ParameterDifference],
    title: str,
    joint_names: Sequence[str],
    *,
    passed: bool,
) -> int:
    """Print two arms' largest difference in each part; return how many of all affect torques."""
    effective = sum(diff.has_effect for diff in differences)
    count = f'{len(differences)} {"difference" if len(differences) == 1 else "differences"}'
    echo(
        f'{title}: {count}, {effective} with an effect on torque. Compared are base, flange, '
        "friction and, for each joint, its axis, rotor and limits, and its link's mass, centre of "
        "mass and tensor, in the space frame at zero; each place's largest difference:",
        PASS if passed else MISMATCH,
    )
    for place in ('base', *joint_names, 'flange', 'arm'):
        here = [diff for diff in differences if diff.owner == place]
        if here:
            more = f' {len(here) - 1} more there (--json lists all).' if len(here) > 1 else ''
            echo(f'- {here[0]}{more}', style='red' if here[0].has_effect else 'dim')
        else:
            echo(f'- {"friction" if place == "arm" else place}: the same.', style='dim')
    return effective


def _arm_label(name: str, arm: ArmDescription) -> str:
    """Return an arm's name or file as typed, with set and hand unless it is a URDF or MJCF."""
    return name if is_urdf_or_mjcf(name) else f'{name} ({arm.inertial_set}, hand {arm.hand})'
