# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The work of `franka-dynamics arm check` and `arm compare`, which compare models of arms.

`arm check` compares an arm's formulations with each other and with its file, `arm compare` two
arms by axis, inertia and limits of each joint.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
import warnings

from .choices import ArmChoice, forbid_options
from .console import echo, echo_each, make_console, print_rich, write_json
from ..arm import ArmDescription, available_arms
from ..arm.arm_file import canonical_arm_name, is_urdf_or_mjcf
from ..arm.hands import is_file_path
from ..arm.judgements import Judgement
from ..errors import (
    ArmWarning,
    DescriptionError,
    FrankaDynamicsError,
    list_text,
    NoLinksError,
    plural,
)
from ..files import read_text
from ..report import arm as report
from ..report.json_types import to_json_types
from ..urdf.document import UrdfDocument
from ..urdf.file_numbers import can_judge_densities, judge_file
from ..urdf.mjcf import is_mjcf_text
from ..urdf.reading import parse_robot, read_document
from ..urdf.writer import urdf_text
from ..validation.compare_files import read_pair, with_urdf_second
from ..validation.comparison import compare_descriptions
from ..validation.crosscheck import compare_formulations, CrosscheckResult
from ..validation.torque_effect import ParameterDifference
from ..validation.urdf_check import node_acceptance_notes

# Verdicts, the first words of each result.
PASS = 'pass'
MISMATCH = 'MISMATCH'
NOT_PHYSICAL = 'not physical'
NOT_READ = 'error'


@dataclass(frozen=True)
class CheckedArm:
    """
    An arm, and what its check has found.

    Several kinds of remarks are printed:

    - `checked.findings` are differences between the formulations;
    - `impossible` says what no real body can have; a fault, as are the findings;
    - doubts are numbers of its file that a real arm may have, but hardly has;
    - questions about hand and payload are what loading the arm asks (`torque_notes`);
    - notes and repairs are what loading the arm has found out and changed.

    `document` is the file that was judged, if there is one, `source` its name, `doubts` are the
    judgements of its numbers, impossible ones included, and `unread_meshes` are those of its
    meshes that could not be read for that.
    """

    choice: ArmChoice
    arm: ArmDescription
    checked: CrosscheckResult
    document: UrdfDocument | None
    source: str
    doubts: tuple[Judgement, ...]
    unread_meshes: tuple[str, ...]

    @property
    def file(self) -> str:
        """The arm's name or file, as typed."""
        return self.choice.arm

    @property
    def impossible(self) -> list[str]:
        """Sentences on what no real body can have."""
        of_file = [f'{doubt}' for doubt in self.doubts if doubt.impossible]
        return of_file or [*self.arm.inconsistencies()]

    @property
    def verdict(self) -> str:
        """PASS, MISMATCH or NOT_PHYSICAL."""
        if not self.checked.passed:
            return MISMATCH
        return NOT_PHYSICAL if self.impossible else PASS

    def data(self) -> dict[str, Any]:
        """Return what `--json` writes."""
        data = {
            'verdict': self.verdict,
            **to_json_types(self.checked),
            'consistency': report.link_consistency(self.arm),
        }
        if self.document:
            data['doubts'] = self.doubts
        return data

    def _possible_doubts(self) -> list[Judgement]:
        """Return doubts about what a real body may have."""
        return [doubt for doubt in self.doubts if not doubt.impossible]

    def _load_questions(self) -> list[str]:
        """Return the questions about hand and payload that loading the arm asks."""
        return [note for note in self.arm.torque_notes if note not in self.arm.notes]

    def _print_verdict(self) -> None:
        """Print one line with the verdict, and what is wrong."""
        title = self.choice.title(self.arm)
        echo(f'{title}: {report.crosscheck_sentence(self.checked)}', self.verdict)
        echo_each([*self.checked.findings, *self.impossible], style='red')

    def print_briefly(self) -> None:
        """Print the verdict, what is wrong and what is doubtful, as of one of several files."""
        self._print_verdict()
        echo_each([*self._possible_doubts(), *self._load_questions()], 'note')

    def print_in_detail(self, *, show_all: bool) -> None:
        """Print the verdict and all notes; with `show_all` also the tables of every quantity."""
        self._print_verdict()
        echo_each(report.file_reading_notes(self.checked, self.unread_meshes), 'note')
        if self.document and '<mesh' in self.document.text and not can_judge_densities():
            unchecked = 'The densities of its meshes were not checked, because scipy is missing'
            echo(f"{unchecked}: pip install '.[mesh]' in a clone of franka_dynamics.", 'note')
        print_rich(*report.judgement_tables(self._possible_doubts(), self.source))
        told_in_table = set()
        if self.document:
            # Loading the arm judges its file, too, though without meshes, and notes the doubts.
            # They stand in the table above, so they are not printed again below.
            told_in_table = {f'{doubt}' for doubt in judge_file(self.document)[0]}
            if not self.doubts:
                plausible = f'masses, tensors and effort limits of {self.source} are plausible'
                echo(plausible, 'note')
        questions = [note for note in self._load_questions() if note not in told_in_table]
        notes = [note for note in self.arm.notes if note not in told_in_table]
        conditioning = report.conditioning_notes(self.arm)
        echo_each((*questions, *notes, *self.arm.repairs, *conditioning), 'note')
        if show_all:
            print_rich(*report.crosscheck_tables(self.checked))


@dataclass(frozen=True)
class UnreadArm:
    """A file that cannot be read, with the sentence that says why."""

    file: str
    error: str
    verdict: str = NOT_READ

    def data(self) -> dict[str, Any]:
        """Return what `--json` writes."""
        return {'verdict': self.verdict, 'error': self.error}

    def print_briefly(self) -> None:
        """Print why the file cannot be read."""
        echo(self.error, NOT_READ)


def check_arms(
    choice: ArmChoice,
    named: Sequence[str],
    states: int,
    gravity: Sequence[float],
    json: Path | None,
    *,
    show_all: bool,
) -> int:
    """
    Check the arm, or the files and folders that are named, one after another.

    Return 0 if all are in order, 1 for differences or an unphysical link, 2 if one of several
    files cannot be read. A single file that cannot be read raises its error.
    """
    if named:
        forbid_options(f'{named[0]}, which is checked', 'arm')
    warnings.simplefilter('ignore', ArmWarning)  # the notes say it all
    files = [file for path in named for file in _model_files_in(path)]
    is_single = not named or files == [named[0]]
    if not is_single:
        return _check_files(files, named, choice, states, gravity, json)
    checked = _check_arm(replace(choice, arm=files[0]) if files else choice, states, gravity)
    write_json(json, checked.data())
    checked.print_in_detail(show_all=show_all)
    return int(checked.verdict != PASS)


def _check_files(
    files: Sequence[str],
    named: Sequence[str],
    choice: ArmChoice,
    states: int,
    gravity: Sequence[float],
    json: Path | None,
) -> int:
    """
    Check several files, print a few lines for each; return the exit status.

    A xacro file that a folder holds and that has macros alone is left out.
    """
    forbid_options('a folder or several files: one line of each is printed', 'everything')
    results = list[CheckedArm | UnreadArm]()
    for file in files:
        try:
            results.append(_check_arm(replace(choice, arm=file), states, gravity))
        except FrankaDynamicsError as error:
            if isinstance(error, NoLinksError) and file not in named:
                continue
            results.append(UnreadArm(file, f'{error}'))
        if json is None:
            results[-1].print_briefly()
    if not results:
        raise DescriptionError(f'{named[0]} has no .urdf, .urdf.xacro or MJCF; name files.')
    if json is not None:
        write_json(json, {result.file: result.data() for result in results})
        for result in results:
            result.print_briefly()
    counts = Counter(result.verdict for result in results)
    count_texts = ', '.join(f'{count} {verdict}' for verdict, count in counts.items())
    echo(f'{len(results)} {plural(len(results), "file")}: {count_texts}.')
    if counts[NOT_READ]:
        return FrankaDynamicsError.status
    return int(counts.total() > counts[PASS])


def _model_files_in(path: str) -> list[str]:
    """
    Return the URDF, xacro and MJCF files below a folder, or the path itself if it is none.

    The name of a shipped arm is that of the arm, also where there is a folder of this name.
    """
    if canonical_arm_name(path) in available_arms() or not Path(path).is_dir():
        return [path]
    files = [
        file
        for pattern in ('*.urdf', '*.urdf.xacro', '*.xml')
        for file in Path(path).rglob(pattern)
        if file.is_file()
    ]
    return [f'{file}' for file in sorted(files) if file.suffix != '.xml' or _is_mjcf_file(file)]


def _is_mjcf_file(path: Path) -> bool:
    """Return whether a file is an MJCF; a file that cannot be read is none."""
    try:
        return is_mjcf_text(read_text(path, 'replace'))
    except FrankaDynamicsError:
        return False


def _check_arm(choice: ArmChoice, states: int, gravity: Sequence[float]) -> CheckedArm:
    """Compare an arm's formulations with each other and with its file; return what was found."""
    arm = choice.load()
    with make_console(stderr=True).status(f'comparing {choice.arm} ...'):
        checked = compare_formulations(arm, gravity=gravity, count=states)
    source = choice.arm
    document = None
    if is_urdf_or_mjcf(source):
        document = read_document(source, arguments=choice.xacro)
    elif is_file_path(source) and not arm.inconsistencies():
        source = f'{source} as arm export writes it'
        document = parse_robot(urdf_text(arm), source)
    doubts, unread_meshes = judge_file(document, Path(source)) if document else ((), ())
    return CheckedArm(choice, arm, checked, document, source, doubts, unread_meshes)


def compare_arms(
    first_path: str,
    second_path: str,
    inertial_set: str | None,
    hand: str,
    prefix: str | None,
    xacro: Mapping[str, str],
    json: Path | None,
) -> int:
    """Print two arms' largest differences by joint, base, flange; return 1 if torques change."""
    warnings.simplefilter('ignore', ArmWarning)  # the notes say it all
    first_name, second_name = map(str, with_urdf_second(first_path, second_path))
    if not is_urdf_or_mjcf(second_name):
        forbid_options('an arm that is no URDF or MJCF', 'prefix', 'xacro')
    elif is_urdf_or_mjcf(first_name):
        two = 'two URDFs or MJCFs, which are compared as they are written'
        forbid_options(two, 'inertial_set', 'hand')
    first, second = read_pair(
        first_name,
        second_name,
        use_nearest_set=True,
        inertial_set=inertial_set,
        hand=hand,
        prefix=prefix,
        xacro=xacro,
    )
    comparison = compare_descriptions(first, second)
    notes = _comparison_notes(first, second)
    write_json(json, {**to_json_types(comparison), 'notes': notes})
    massless_links = _massless_links_by_joint(first, second)
    if massless_links and second.urdf:
        inertial = second.urdf.words.inertial
        links = list_text([*massless_links.values()])
        echo(
            f'{second.source}: no {inertial} with mass in {links}, nor '
            'in what is fixed to it; give it there. Of these links only geometry is compared.',
            MISMATCH,
        )
    shown = [
        difference
        for difference in comparison.differences
        if difference.kind != 'link' or difference.owner not in massless_links
    ]
    # The second arm is judged by the first: a URDF by the shipped arm that it is to be.
    title = f'{_arm_label(second_name, second)} against {_arm_label(first_name, first)}'
    effect_count = _print_differences(shown, title, first.joint_names, passed=comparison.passed)
    if effect_count and not massless_links:
        echo(f'Together they change the torque by {comparison.total_effect}.', style='red')
    echo_each(notes, 'note')
    return int(not comparison.passed)


def _comparison_notes(first: ArmDescription, second: ArmDescription) -> list[str]:
    """Return whether a node accepts the second arm's URDF or, without one, that hands differ."""
    if second.urdf:
        return node_acceptance_notes(first, second)
    if second.hand != first.hand:
        return [f'the hands differ; --hand {second.hand} puts the same on both.']
    return []


def _massless_links_by_joint(first: ArmDescription, second: ArmDescription) -> dict[str, str]:
    """Return the links of the second arm's URDF without inertia, by the first arm's joints."""
    if not second.urdf:
        return {}
    return {
        joint: link_name
        for joint, link_name, link in zip(first.joint_names, second.link_names, second.links)
        if not link.parameters().any()
    }


def _print_differences(
    differences: list[ParameterDifference],
    title: str,
    joint_names: Sequence[str],
    *,
    passed: bool,
) -> int:
    """Print two arms' largest difference in each part; return how many of all affect torques."""
    effect_count = sum(difference.has_effect for difference in differences)
    count = len(differences)
    echo(
        f'{title}: {count} {plural(count, "difference")}, {effect_count} with an effect on '
        'torque. Compared are base, flange, '
        "friction and, for each joint, its axis, rotor and limits, and its link's mass, centre of "
        "mass and tensor, in the space frame at zero; each place's largest difference:",
        PASS if passed else MISMATCH,
    )
    for owner in ('base', *joint_names, 'flange', 'arm'):
        place = 'friction' if owner == 'arm' else owner  # the only thing that is the arm's
        of_owner = [difference for difference in differences if difference.owner == owner]
        if not of_owner:
            echo(f'- {place}: the same.', style='dim')
            continue
        largest = of_owner[0]
        more = f' {len(of_owner) - 1} more there (--json lists all).' if len(of_owner) > 1 else ''
        echo(f'- {largest}{more}', style='red' if largest.has_effect else 'dim')
    return effect_count


def _arm_label(name: str, arm: ArmDescription) -> str:
    """Return an arm's name or file as typed, with set and hand unless it is a URDF or MJCF."""
    return name if is_urdf_or_mjcf(name) else f'{name} ({arm.inertial_set}, hand {arm.hand})'
