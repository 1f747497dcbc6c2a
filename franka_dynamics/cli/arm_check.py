# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The work of `franka-dynamics arm check` and `arm compare`, which compare models of arms.

`arm check` compares an arm's formulations with each other and with its file, `arm compare` two
arms by axis, inertia and limits of each joint.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
import warnings

from .choices import ArmChoice, forbid_options, Options
from .console import echo, echo_each, make_console, print_rich, write_json
from ..arm import ArmDescription
from ..arm.arm_file import is_urdf_or_mjcf
from ..arm.bodies import is_file_path
from ..arm.judgements import Judgement
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
from ..urdf.document import UrdfDocument
from ..urdf.file_numbers import judge_file
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
    An arm with what `arm check` found.

    `document` is the file whose numbers were judged, None for an arm without one; `source` is
    its name in messages, and `doubts` are the judgements. `unread` are sentences on what the file
    has and the models have not.
    """

    choice: ArmChoice
    arm: ArmDescription
    checked: CrosscheckResult
    document: UrdfDocument | None
    source: str
    doubts: tuple[Judgement, ...]
    unread: tuple[str, ...]

    @property
    def file(self) -> str:
        """The arm's name or file, as typed."""
        return self.choice.arm

    @property
    def impossible(self) -> list[str]:
        """Sentences on what no real body can have."""
        found = [f'{one}' for one in self.doubts if one.impossible]
        return found or [*self.arm.inconsistencies()]

    @property
    def verdict(self) -> str:
        """PASS, MISMATCH or NOT_PHYSICAL."""
        if not self.checked.passed:
            return MISMATCH
        return NOT_PHYSICAL if self.impossible else PASS

    def data(self) -> dict[str, Any]:
        """Return what `--json` writes."""
        found = {
            'verdict': self.verdict,
            **to_json_types(self.checked),
            'consistency': report.link_consistency(self.arm),
        }
        if self.document:
            found['doubts'] = self.doubts
        return found

    def _possible_doubts(self) -> list[Judgement]:
        """Return doubts about what a real body may have."""
        return [one for one in self.doubts if not one.impossible]

    def _load_questions(self) -> list[str]:
        """Return the questions about hand and payload that loading the arm asks."""
        return [one for one in self.arm.torque_notes if one not in self.arm.notes]

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
        echo_each(report.file_reading_notes(self.checked, self.unread), 'note')
        print_rich(*report.judgement_tables(self._possible_doubts(), self.source))
        shown = set()
        if self.document:
            # What loading found, without meshes, stands in the table.
            shown = {f'{one}' for one in judge_file(self.document)[0]}
            if not self.doubts:
                plausible = f'masses, tensors and effort limits of {self.source} are plausible'
                echo(plausible, 'note')
        notes = [one for one in self.arm.notes if one not in shown]
        conditioning = report.conditioning_notes(self.arm)
        questions = [one for one in self._load_questions() if one not in shown]
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


def check_arms(arm: ArmChoice, options: Options) -> int:
    """
    Check the arm or files; return 1 for differences or an unphysical link, 2 if unread, else 0.

    Several files are checked one after another; exit 2 if one of them cannot be read.
    """
    if options.arms:
        forbid_options(f'{options.arms[0]}, which is checked', 'arm')
    warnings.simplefilter('ignore', ArmWarning)  # the notes say it all
    files = [file for path in options.arms for file in _model_files_in(path)]
    if options.arms and files != [options.arms[0]]:
        return _check_files(files, arm, options)
    checked = _check_arm(replace(arm, arm=files[0]) if files else arm, options)
    write_json(options.json, checked.data())
    checked.print_in_detail(show_all=options.everything)
    return int(checked.verdict != PASS)


def _check_files(files: Sequence[str], arm: ArmChoice, options: Options) -> int:
    """Check several files, print a few lines for each; return the exit status."""
    forbid_options('a folder or several files: one line of each is printed', 'everything')
    found = list[CheckedArm | UnreadArm]()
    for file in files:
        try:
            found.append(_check_arm(replace(arm, arm=file), options))
        except NoLinksError:  # macros of another file
            continue
        except FrankaDynamicsError as error:
            found.append(UnreadArm(file, f'{error}'))
        if options.json is None:
            found[-1].print_briefly()
    if not found:
        raise DescriptionError(f'{options.arms[0]} has no .urdf, .urdf.xacro or MJCF; name files.')
    if options.json is not None:
        # It is written before anything is printed, because `| head` can end this program.
        write_json(options.json, {one.file: one.data() for one in found})
        for one in found:
            one.print_briefly()
    counts = Counter(one.verdict for one in found)
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


def _check_arm(arm: ArmChoice, options: Options) -> CheckedArm:
    """Compare an arm's formulations with each other and with its file; return what was found."""
    description = arm.load()
    with make_console(stderr=True).status(f'comparing {arm.arm} ...'):
        checked = compare_formulations(description, gravity=options.gravity, count=options.states)
    source = arm.arm
    document = None
    if is_urdf_or_mjcf(source):
        document = read_document(source, arguments=arm.xacro)
    elif is_file_path(source) and not description.inconsistencies():
        source = f'{source} as arm export writes it'
        document = parse_robot(urdf_text(description), source)
    doubts, unread = judge_file(document, Path(source)) if document else ((), ())
    return CheckedArm(arm, description, checked, document, source, doubts, unread)


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
