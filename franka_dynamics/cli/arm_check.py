# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The work of `franka-dynamics arm check` and `arm compare`, which compare models of arms.

`arm check` compares an arm's formulations with each other and with its file, `arm compare` two
arms by axis, inertia and limits of each joint.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
import warnings

from ._choices import ArmChoice
from ._command import forbid_options, Options
from ._console import make_console, print_rich, say, say_each, write_json
from ..arm import ArmDescription
from ..arm.arm_file import is_robot_source
from ..arm.bodies import is_file_name
from ..errors import DescriptionError, FrankaDynamicsError, name_list, NoLinksError, UrdfWarning
from ..files import read_text
from ..report import arm as report
from ..report.elements import to_json_types
from ..urdf.document import UrdfDocument
from ..urdf.mjcf import is_mjcf_text
from ..urdf.plausibility import find_implausible_values
from ..urdf.reading import parse_robot, read_document
from ..urdf.writer import urdf_text
from ..validation.compare_files import read_pair, with_urdf_second
from ..validation.comparison import compare_descriptions
from ..validation.crosscheck import compare_formulations
from ..validation.torque_effect import ParameterDifference
from ..validation.urdf_check import node_notes

# Verdicts, the first words of each result.
PASS, MISMATCH, NOT_PHYSICAL, NOT_READ = 'pass', 'MISMATCH', 'not physical', 'error'


@dataclass
class ArmCheckResult:
    """
    A check's sentence, whether formulations of the dynamics differ, and its data for JSON.

    `difference_sentences` are on differences, `impossible_links` on links that no real body can
    be; `details`, not printed where several files are checked, are tables and labels with
    sentences.
    """

    summary: str
    formulations_differ: bool
    json_data: dict[str, Any]
    difference_sentences: list[str] = field(default_factory=list)
    impossible_links: list[str] = field(default_factory=list)
    details: list[Any] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """MISMATCH if formulations differ, 'not physical' if a link is impossible, else 'pass'."""
        if self.formulations_differ:
            return MISMATCH
        return NOT_PHYSICAL if self.impossible_links else PASS

    def add_notes(self, *sentences: object, label: str = 'note') -> None:
        """Add sentences with a label to the details of the result."""
        self.details += [(label, sentence) for sentence in sentences]

    def print_result(self, in_detail: bool) -> None:
        """Print the result, with all details if `in_detail`, else with doubtful values alone."""
        say(self.summary, self.verdict)
        say_each([*self.difference_sentences, *self.impossible_links], style='red')
        doubts = [doubt for doubt in self.json_data.get('doubts', ()) if not doubt.impossible]
        for detail in self.details if in_detail else [('note', doubt) for doubt in doubts]:
            if isinstance(detail, tuple):
                say(detail[1], detail[0], '' if detail[0] else 'dim')
            else:
                print_rich(detail)


def check_arms(arm: ArmChoice, options: Options) -> int:
    """
    Check the arm, or each file; return 1 if formulations differ or a link is not physical.

    Several files are checked one after another; exit 2 if one of them cannot be read.
    """
    if options.arms:
        forbid_options(f'{options.arms[0]}, which is checked', 'arm')
    warnings.simplefilter('ignore', UrdfWarning)  # the notes say it all
    files = [file for path in options.arms for file in _model_files_in(path)]
    alone = not options.arms or files == [options.arms[0]]
    found = dict[str, dict[str, Any]]()
    for file in [arm.arm] if not options.arms else files:
        try:
            result = _check_arm(replace(arm, arm=file), options)
        except FrankaDynamicsError as error:
            if alone:
                raise
            if not isinstance(error, NoLinksError):  # macros of another file
                say(error, NOT_READ)
                found[file] = {'verdict': NOT_READ, 'error': f'{error}'}
            continue
        result.print_result(in_detail=alone)
        found[file] = {'verdict': result.verdict, **result.json_data}
    if not found:
        raise DescriptionError(
            f'{options.arms[0]} has no .urdf or .urdf.xacro and no MJCF below it; name the files.'
        )
    counts = Counter(result['verdict'] for result in found.values())
    if not alone:
        say(f'{len(found)} files: {", ".join(f"{n} {word}" for word, n in counts.items())}.')
    write_json(options.json, *found.values() if alone else [found])
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


def _check_arm(arm: ArmChoice, options: Options) -> ArmCheckResult:
    """Return the result of comparing an arm's formulations with each other and its file."""
    description = arm.load()
    with make_console(stderr=True).status('comparing ...'):
        checked = compare_formulations(description, gravity=options.gravity, count=options.states)
    sentence = f'{arm.title(description)}: {report.crosscheck_sentence(checked)}'
    data = {**to_json_types(checked), 'consistency': report.link_consistency(description)}
    result = ArmCheckResult(sentence, not checked.passed, data, [*checked.findings])
    shown = set[str]()
    if is_robot_source(arm.arm):
        assert description.urdf is not None
        found = ', '.join(f'{difference}' for difference in checked.urdf)
        result.add_notes(
            "Compared were three formulations of the arm's dynamics and "
            f"{description.urdf.terms.reader}'s own reading of the file; largest differences from "
            f'that: {found}.'
        )
        shown = _add_implausible(result, read_document(arm.arm, xacro=arm.xacro), arm.arm)
    elif is_file_name(arm.arm) and not description.inconsistencies():
        source = f'{arm.arm} as arm export writes it'
        _add_implausible(result, parse_robot(urdf_text(description), source), source)
    result.add_notes(*(one for one in description.notes if one not in shown), *description.repairs)
    result.impossible_links = result.impossible_links or [*description.inconsistencies()]
    result.add_notes(*report.condition_notes(description))
    result.details += report.crosscheck_tables(checked) if options.everything else ()
    return result


def _add_implausible(result: ArmCheckResult, document: UrdfDocument, source: str) -> set[str]:
    """
    Add to an arm check's result the implausible masses, inertia tensors and limits of a file.

    Meshes, where they are found, count as well. Values that no body can have are added as
    impossible links, the others as a table. Returns the sentences on values found without meshes,
    which the arm's notes repeat.
    """
    doubts, unread = find_implausible_values(document, Path(source))
    result.json_data['doubts'] = [*doubts]
    result.impossible_links += [f'{doubt}' for doubt in doubts if doubt.impossible]
    if unread:
        result.add_notes(
            f'{len(unread)} of its meshes were not read, such as {unread[0]}. They are looked for '
            'beside the URDF (package://NAME/ in the folders above it), and read if scipy is '
            'installed.'
        )
    possible = [doubt for doubt in doubts if not doubt.impossible]
    result.details += report.implausible_value_tables(possible, source)
    if not doubts:
        result.add_notes(f'masses, tensors and effort limits of {source} are plausible')
    return {str(doubt) for doubt in find_implausible_values(document)[0]}


def compare_arms(options: Options) -> int:
    """Print the largest difference of each joint of two arms; return 1 if one changes a torque."""
    warnings.simplefilter('ignore', UrdfWarning)  # the notes say it all
    first, second = map(str, with_urdf_second(options.first, options.second))
    if not is_robot_source(second):
        forbid_options('an arm that is no URDF or MJCF', 'prefix', 'xacro')
    elif is_robot_source(first):
        two = 'two URDFs or MJCFs, which are compared as they are written'
        forbid_options(two, 'inertial_set', 'hand')
    how = {name: getattr(options, name) for name in ('inertial_set', 'hand', 'prefix', 'xacro')}
    one, other = read_pair(first, second, nearest=True, **how)
    found = compare_descriptions(one, other)
    words = other.urdf.terms if other.urdf else None
    empty = {
        joint: name
        for joint, name, link in zip(one.joint_names, other.link_names, other.links)
        if words and not link.parameters().any()
    }
    shown = [diff for diff in found.differences if diff.kind != 'link' or diff.place not in empty]
    if words and empty:
        say(
            f'{other.source}: no {words.inertial} with mass in {name_list([*empty.values()])}, '
            'nor in what is fixed to it; give it there. Only the geometry of these links is '
            'compared.',
            MISMATCH,
        )
    labels = f'{_arm_label(second, other)} against {_arm_label(first, one)}'
    effective = _print_differences(shown, labels, one.joint_names, passed=found.passed)
    if effective and not empty:
        say(f'Together they change the torque by {found.together}.', style='red')
    notes = node_notes(one, other) if words else []
    if not words and other.hand != one.hand:
        notes = [f'the hands differ; --hand {other.hand} puts the same on both.']
    say_each(notes, 'note')
    write_json(options.json, {**to_json_types(found), 'notes': notes})
    return int(not found.passed)


def _print_differences(
    shown: Sequence[ParameterDifference], labels: str, joints: Sequence[str], *, passed: bool
) -> int:
    """Print differences between two arms; return how many of them have an effect on torque."""
    effective = sum(diff.has_effect for diff in shown)
    count = f'{len(shown)} {"difference" if len(shown) == 1 else "differences"}'
    say(
        f'{labels}: {count}, {effective} of them with '
        'an effect on torque. Compared are base, flange, friction and, for each joint, its axis, '
        "rotor and limits, and its link's mass, centre of mass and tensor, in the space frame at "
        "zero; each place's largest difference:",
        PASS if passed else MISMATCH,
    )
    for text, has_effect in _difference_lines(shown, joints):
        say(text, style='red' if has_effect else 'dim')
    return effective


def _difference_lines(
    shown: Sequence[ParameterDifference], joints: Sequence[str]
) -> Iterator[tuple[str, bool]]:
    """Yield a line for each joint and other part of two arms with its largest difference."""
    for place in ('base', *joints, 'flange', 'arm'):
        here = [diff for diff in shown if diff.place == place]
        if here:
            more = f' {len(here) - 1} more there (--json lists all).' if len(here) > 1 else ''
            yield f'- {here[0]}{more}', here[0].has_effect
        else:
            yield f'- {"friction" if place == "arm" else place}: the same.', False


def _arm_label(given: str, arm: ArmDescription) -> str:
    """Return the name or file that was given for an arm, with set and hand unless it is a URDF."""
    return given if is_robot_source(given) else f'{given} ({arm.inertial_set}, hand {arm.hand})'
