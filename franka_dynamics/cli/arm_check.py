# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm check`: compare formulations of an arm's dynamics, or two descriptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
import shlex
from typing import Any
import warnings

from ._command import forbid_with, is_given, require_with
from ._console import make_console, say, say_each, show, write_json
from ._options import ArmChoice, MASS_OPTIONS
from ..arm import ArmDescription, available_arms
from ..arm.arm_file import is_robot_model
from ..arm.hand_file import is_file_name
from ..arm_io import load_arm
from ..errors import DescriptionError, FrankaDynamicsError, listed, NoLinksError, UrdfWarning
from ..report import crosscheck as report
from ..urdf.importer import arms_with_joints
from ..urdf.mjcf import is_mjcf_text
from ..urdf.plausibility import find_implausible_values
from ..urdf.reading import parse_urdf, read_document
from ..urdf.writer import urdf_text
from ..validation.compare_files import compare, read_pair
from ..validation.crosscheck import compare_formulations
from ..validation.urdf_check import node_notes

Gravity = tuple[float, float, float]
# Verdicts, the first words of each answer.
PASS, MISMATCH, NOT_PHYSICAL, NOT_READ = 'pass', 'MISMATCH', 'not physical', 'error'


@dataclass
class Answer:
    """
    Result of a check: its sentence, whether descriptions differ, and data for JSON.

    `faults` are sentences on differences, `impossible` on links that no real body can be;
    `details`, not printed where several files are checked, are tables and labels with sentences.
    """

    sentence: str
    differs: bool
    data: dict[str, Any]
    faults: list[str] = field(default_factory=list)
    impossible: list[str] = field(default_factory=list)
    details: list[Any] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """MISMATCH if descriptions differ, 'not physical' if a link is impossible, else 'pass'."""
        return MISMATCH if self.differs else NOT_PHYSICAL if self.impossible else PASS

    def note(self, *sentences: object, label: str = 'note') -> None:
        """Add sentences with a label to the details of the answer."""
        self.details += [(label, one) for one in sentences]

    def print(self, everything: bool) -> None:
        """Print the answer, with all details if `everything`, else with doubtful numbers alone."""
        say(self.sentence, self.verdict)
        say_each([*self.faults, *self.impossible], style='red')
        doubts = [one for one in self.data.get('doubts', ()) if not one.impossible]
        for one in self.details if everything else [('note', doubt) for doubt in doubts]:
            if isinstance(one, tuple):
                say(one[1], one[0], '' if one[0] else 'dim')
            else:
                show(one)


def run(arm: ArmChoice, others: Sequence[str], json: Path | None, **options: Any) -> int:
    """
    Check the arm or the others; return 1 if descriptions differ or a link is not physical.

    Several files are checked one after another; exit 2 if one of them cannot be read.
    """
    warnings.simplefilter('ignore', UrdfWarning)  # the notes say it all
    files: list[Any] = [file for one in others for file in _files_of(one)]
    alone = not others or files == [others[0]]
    found = dict[str, dict[str, Any]]()
    for file in files or [None] if alone else files:
        try:
            answer = _check(arm, file, alone, **options)
        except FrankaDynamicsError as error:
            if alone:
                raise
            if not isinstance(error, NoLinksError):  # macros of another file
                say(error, NOT_READ)
                found[file] = {'verdict': NOT_READ, 'error': f'{error}'}
            continue
        answer.print(everything=alone)
        found[file] = {'verdict': answer.verdict, **answer.data}
    if not found:
        raise DescriptionError(
            f'{others[0]} has no .urdf or .urdf.xacro and no MJCF below it; name the files.'
        )
    counts = Counter(one['verdict'] for one in found.values())
    if not alone:
        say(f'{len(found)} files: {", ".join(f"{n} {word}" for word, n in counts.items())}.')
    if json:
        write_json(json, *found.values() if alone else [found])
    return FrankaDynamicsError.status if counts[NOT_READ] else int(counts.total() > counts[PASS])


def _files_of(path: str) -> list[str]:
    """Return the URDF, xacro and MJCF files below a folder, or the path itself if it is none."""
    if not Path(path).is_dir():
        return [path]
    files = (one for form in ('*.urdf', '*.urdf.xacro', '*.xml') for one in Path(path).rglob(form))
    return [
        f'{one}'
        for one in sorted(files)
        if one.suffix != '.xml' or is_mjcf_text(one.read_text('utf-8', 'replace'))
    ]


def _check(
    arm: ArmChoice,
    other: str | None,
    alone: bool,
    states: int,
    seed: int,
    gravity: Gravity,
    all: bool,
    prefix: str | None,
) -> Answer:
    """Check an arm by itself, or against another one."""
    if other is None:
        require_with('OTHER', 'prefix')
    elif _is_unknown(other, prefix, arm):
        arm = replace(arm, arm=other, arm_prefix=prefix or '')
    else:
        if alone:  # of several files others may be checked by themselves
            why = 'OTHER: random states are for the formulations of one arm'
            forbid_with(why, 'states', 'seed', 'all')
        return _descriptions(arm, other, prefix, gravity)
    description = arm.load()
    with make_console(stderr=True).status('comparing ...'):
        result = compare_formulations(description, gravity=gravity, count=states, seed=seed)
    sentence = f'{arm.title(description)}: {report.crosscheck_sentence(result)}'
    data = {**report.crosscheck_as_data(result), 'doubts': []}
    answer = Answer(sentence, not result.passed, data, [*result.findings])
    shown = set[str]()
    if is_robot_model(arm.arm):
        assert description.urdf is not None
        found = ', '.join(f'{one}' for one in result.urdf)
        with_arm = f'`franka-dynamics arm check {shlex.quote(arm.arm)} --arm ARM`'
        answer.note(
            "Compared were three formulations of the arm's dynamics and "
            f"{description.urdf.words.reader}'s own reading of the file; largest differences from "
            f'that: {found}. {with_arm} compares it with another arm.'
        )
        shown = _add_doubts(answer, description.urdf.text, arm.arm)
    elif is_file_name(arm.arm) and not description.inconsistencies():
        _add_doubts(answer, urdf_text(description), f'{arm.arm} as arm export writes it')
    answer.note(*(note for note in description.notes if note not in shown), *description.repairs)
    answer.impossible = answer.impossible or [*description.inconsistencies()]
    answer.note(*report.condition_notes(description))
    answer.details += report.crosscheck_tables(result) if all else ()
    return answer


def _is_unknown(other: str, prefix: str | None, arm: ArmChoice) -> bool:
    """Return whether a URDF, given without --arm, holds no shipped arm's joints."""
    if not is_robot_model(other) or any(map(is_given, ('arm', 'repair', 'payload'))):
        return False
    document = read_document(other, xacro=dict(arm.xacro))
    return is_given('joints') or not arms_with_joints(document.joints, None, prefix)


def _add_doubts(answer: Answer, text: str, source: str) -> set[str]:
    """
    Add to an answer what is doubtful about the numbers of a URDF, by its meshes if they are read.

    Those that no body can have are the answer's, the others are a table. Returns the sentences of
    doubts that need no mesh, which notes have, too.
    """
    document = parse_urdf(text, source)
    doubts, unread = find_implausible_values(document, Path(source))
    answer.data['doubts'] = [*doubts]
    answer.impossible += [f'{one}' for one in doubts if one.impossible]
    if unread:
        answer.note(
            f'{len(unread)} of its meshes were not read, such as {unread[0]}. They are looked for '
            'beside the URDF (package://NAME/ in the folders above it), and read if scipy is '
            'installed.'
        )
    possible = [one for one in doubts if not one.impossible]
    answer.details += report.implausible_value_tables(possible, source)
    if not doubts:
        answer.note(f'masses, tensors and effort limits of {source} are plausible')
    return {str(one) for one in find_implausible_values(document)[0]}


def _descriptions(arm: ArmChoice, other: str, prefix: str | None, gravity: Gravity) -> Answer:
    """Compare two descriptions of an arm."""
    first, second = _pair(arm, other, prefix)
    found = compare(first, second, gravity=gravity)
    named, own = other, f' ({second.inertial_set}, hand {second.hand})'
    empty, inertial = dict[str, str](), ''
    if second.urdf is not None:
        named, own, inertial = second.source, '', second.urdf.words.inertial
        links = zip(first.joint_names, second.link_names, second.links)
        empty = {joint: name for joint, name, link in links if not link.parameters().any()}
    shown = [one for one in found.differences if one.kind != 'link' or one.place not in empty]
    sentence = (
        f'{named}{own} against {first.name} ({first.inertial_set}, hand {first.hand}): '
        f'{len(shown)} {"difference" if len(shown) == 1 else "differences"}, '
        f'{sum(one.has_effect for one in shown)} of them with an effect on torque. Compared are '
        'the base, the flange, the friction and, for each joint, DH row, rotor, limits and the '
        "ten inertial parameters of its link; each place's largest difference:"
    )
    if empty:
        sentence = (
            f'{named}: no {inertial} with mass in {listed([*empty.values()])}, nor in what is '
            'fixed to it; give it there. Below only the geometry of these links is compared.\n'
            f'{sentence}'
        )
    answer = Answer(sentence, not found.passed, found.as_data())
    for place in ('base', *first.joint_names, 'flange', 'arm'):
        here = [one for one in shown if one.place == place]
        more = f' {len(here) - 1} more there (--json lists all).' if len(here) > 1 else ''
        label = 'friction' if place == 'arm' else place
        text = f'- {here[0]}{more}' if here else f'- {label}: the same.'
        if here and here[0].has_effect:
            answer.faults.append(text)
        else:
            answer.note(text, label='')
    if found.effective_differences and not empty:
        answer.faults.append(f'Together they change the torque by {found.together}.')
    if second.urdf is not None:
        answer.data['doubts'] = []
        if not empty:
            _add_doubts(answer, second.urdf.text, second.source)
        answer.data['node'] = node_notes(first, second, gravity)
        answer.note(*answer.data['node'])
    elif second.hand != first.hand:
        answer.note(f'the hands differ; --hand {second.hand} puts the same on both.')
    answer.impossible = answer.impossible or [*second.inconsistencies()]
    return answer


def _pair(arm: ArmChoice, other: str, prefix: str | None) -> tuple[ArmDescription, ArmDescription]:
    """Return both arms; --hand and --payload apply to OTHER, too, unless it is a URDF."""
    if is_robot_model(arm.arm):
        forbid_with('a URDF or MJCF, which is compared as it is written', *MASS_OPTIONS)
    xacro = dict(arm.xacro)
    if is_robot_model(other) and not is_given('arm'):
        require_with('--arm', 'repair', 'payload')
        hand = arm.hand if is_given('hand') else None
        of_arm = {'inertial_set': arm.inertial_set, 'hand': hand}
        return read_pair(None, other, prefix=prefix, xacro=xacro, **of_arm)
    if is_robot_model(other):
        if arm.arm.endswith('.xacro'):
            xacro = xacro if other.endswith('.xacro') else {}
        else:
            arm = replace(arm, xacro=())
        return read_pair(arm.load(), other, prefix=prefix, xacro=xacro)
    forbid_with('an arm file: it is the prefix of joint names in a URDF', 'prefix')
    second = load_arm(other, hand=arm.hand, payload=arm.read_payload())
    if is_robot_model(arm.arm):
        return read_pair(arm.arm, second, xacro=xacro)
    if is_file_name(other) and not is_given('arm') and second.name in available_arms():
        arm = replace(arm, arm=second.name)
    return read_pair(arm.load(), second)
