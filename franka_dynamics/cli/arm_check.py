# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm check`: compare formulations of an arm's dynamics, or two descriptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
import shlex
from typing import Any
import warnings

from ._command import forbid_with, is_given, require_with
from ._console import make_console, say, say_each, show, write_json
from ._options import ArmChoice, MASS_OPTIONS, xacro_arguments
from ..arm import ArmDescription, available_arms
from ..arm.arm_file import is_urdf
from ..arm.hand_file import is_file_name
from ..arm_io import load_arm
from ..errors import DescriptionError, FrankaDynamicsError, listed, NoLinksError, UrdfWarning
from ..report import crosscheck as report
from ..urdf.document import parse_urdf, read_urdf
from ..urdf.importer import arms_with_joints
from ..urdf.plausibility import find_implausible_values
from ..urdf.writer import urdf_text
from ..validation.compare_files import compare, read_pair
from ..validation.crosscheck import compare_formulations
from ..validation.urdf_check import node_notes

Gravity = tuple[float, float, float]
# Verdicts, each the first words of an answer.
PASS, MISMATCH, NOT_PHYSICAL, NOT_READ = 'pass', 'MISMATCH', 'not physical', 'error'
_OF_FOLDERS = ('*.urdf', '*.urdf.xacro')


@dataclass
class Answer:
    """
    What a check says: its verdict, the sentence behind it, and what a program reads.

    `faults` are sentences on what the verdict follows from, `details` tables and pairs of a label
    and a sentence, of which only the doubts are printed where several files are checked.
    """

    verdict: str
    sentence: str
    data: dict[str, Any]
    faults: list[str] = field(default_factory=list)
    details: list[Any] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing differs, and every link can exist."""
        return self.verdict == PASS

    def note(self, sentences: Iterable[object], label: str = 'note') -> None:
        """Add sentences to the details."""
        self.details += [(label, one) for one in sentences]

    def print(self, everything: bool) -> None:
        """Print the verdict and the faults, and the details, too, if `everything` is true."""
        say(self.sentence, self.verdict)
        say_each(self.faults, style='red')
        if not everything:
            say_each((one for one in self.data.get('doubts', ()) if not one.impossible), 'note')
        for one in self.details if everything else ():
            if isinstance(one, tuple):
                label, sentence = one
                say(sentence, label, '' if label else 'dim')
            else:
                show(one)


def run(
    arm: ArmChoice,
    others: Sequence[str],
    states: int,
    seed: int,
    gravity: Gravity,
    all: bool,
    json: Path | None,
    prefix: str | None,
) -> int:
    """
    Print the verdicts; exit 1 if something differs, or a link is not physical.

    Several files are checked one after another; exit 2 if one of them cannot be read.
    """
    warnings.simplefilter('ignore', UrdfWarning)  # the notes say it all
    check = partial(_check, arm, states=states, seed=seed, gravity=gravity, all=all, prefix=prefix)
    files = [file for one in others for file in _files_of(one)]
    if len(files) < 2 and files == [*others]:
        answer = check(files[0] if files else None)
        answer.print(everything=True)
        if json:
            write_json(json, answer.data)
        return 0 if answer.passed else 1
    found = dict[str, dict[str, Any]]()
    for file in files:
        try:
            answer = check(file)
            answer.print(everything=False)
        except NoLinksError:  # of a folder: the macros of another file
            continue
        except FrankaDynamicsError as error:
            answer = Answer(NOT_READ, f'{error}', {'error': f'{error}'})
            answer.print(everything=False)
        found[file] = {'verdict': answer.verdict, **answer.data}
    counts = Counter(one['verdict'] for one in found.values())
    say(f'{len(found)} files: {", ".join(f"{n} {word}" for word, n in counts.items())}.')
    if json:
        write_json(json, found)
    return FrankaDynamicsError.status if counts[NOT_READ] else int(counts.total() > counts[PASS])


def _files_of(path: str) -> list[str]:
    """Return the URDF and xacro files below a folder, or the path itself if it is none."""
    if not Path(path).is_dir():
        return [path]
    files = sorted(f'{one}' for form in _OF_FOLDERS for one in Path(path).rglob(form))
    if not files:
        raise DescriptionError(
            f'{path} has no file whose name ends in {" or ".join(_OF_FOLDERS)} below it; name '
            'the files.'.replace('*', '')
        )
    return files


def _check(
    arm: ArmChoice,
    other: str | None,
    *,
    states: int,
    seed: int,
    gravity: Gravity,
    all: bool,
    prefix: str | None,
) -> Answer:
    """Check an arm by itself, or against another one."""
    if other is None:
        require_with('OTHER', 'prefix')
    elif _is_unknown(other, prefix, arm.xacro):
        arm = replace(arm, arm=other, arm_prefix=prefix or '')
    else:
        why = 'OTHER: random states are for the formulations of one arm'
        forbid_with(why, 'states', 'seed', 'all')
        return _descriptions(arm, other, prefix, gravity)
    description = arm.load()
    with make_console(stderr=True).status('comparing ...'):
        result = compare_formulations(description, gravity=gravity, count=states, seed=seed)
    sentence = f'{arm.title(description)}: {report.crosscheck_sentence(result)}'
    answer = Answer(PASS if result.passed else MISMATCH, sentence, {})
    answer.faults += result.findings
    answer.data = report.crosscheck_as_data(result)
    shown = set[str]()
    if is_urdf(arm.arm):
        found = ', '.join(f'{one}' for one in result.urdf)
        with_arm = f'`franka-dynamics arm check {shlex.quote(arm.arm)} --arm ARM`'
        assert description.urdf is not None
        own = (
            "Compared were three formulations of the arm's dynamics and "
            f"{description.urdf.other_reader}'s own reading of the file; largest differences from "
            f'that: {found}. {with_arm} compares it with another arm.'
        )
        answer.note([own])
        shown = _add_doubts(answer, description.urdf.text, arm.arm)
    elif is_file_name(arm.arm) and not description.inconsistencies():
        _add_doubts(answer, urdf_text(description), f'{arm.arm} as arm export writes it')
    answer.note([note for note in description.notes if note not in shown])
    answer.note(description.repairs)
    _add_inconsistencies(answer, description)
    answer.note(report.condition_notes(description))
    if all:
        answer.details += report.crosscheck_tables(result)
    return answer


def _is_unknown(other: str, prefix: str | None, xacro: Sequence[str]) -> bool:
    """Return whether a URDF, given without --arm, holds no shipped arm's joints."""
    if not is_urdf(other) or any(map(is_given, ('arm', 'repair', 'payload'))):
        return False
    document = parse_urdf(read_urdf(Path(other), xacro_arguments(xacro)), other)
    return is_given('joints') or not arms_with_joints(document.joints, None, prefix)


def _add_inconsistencies(answer: Answer, arm: ArmDescription) -> None:
    """Add to an answer the links of an arm that no real body can be, also to the verdict."""
    links = arm.inconsistencies()
    answer.faults += [f'{one}; simulator and node refuse it' for one in links]
    if links and answer.passed:
        answer.verdict = NOT_PHYSICAL


def _add_doubts(answer: Answer, text: str, source: str) -> set[str]:
    """
    Add to an answer what is doubtful about the numbers of a URDF, by its meshes if they are read.

    Returns the sentences of doubts that need no mesh, which notes have, too.
    """
    document = parse_urdf(text, source)
    doubts, unread = find_implausible_values(document, Path(source))
    answer.data['doubts'] = [*doubts]
    if unread:
        answer.note(
            [
                f'{len(unread)} of its meshes were not read, such as {unread[0]}. They are looked '
                'for beside the URDF (package://NAME/ in the folders above it), and read if scipy '
                'is installed.'
            ]
        )
    answer.details += report.implausible_value_tables(doubts, source)
    impossible = [f'{one}' for one in doubts if one.impossible]
    answer.faults += impossible
    if impossible and answer.passed:
        answer.verdict = NOT_PHYSICAL
    if not doubts:
        answer.note([f'masses, tensors and effort limits of {source} are plausible'])
    return {str(one) for one in find_implausible_values(document)[0]}


def _descriptions(arm: ArmChoice, other: str, prefix: str | None, gravity: Gravity) -> Answer:
    """Compare two descriptions of an arm."""
    first, second = _pair(arm, other, prefix)
    found, from_urdf = compare(first, second, gravity=gravity), second.urdf is not None
    named, own = other, f' ({second.inertial_set}, hand {second.hand})'
    empty = dict[str, str]()
    if from_urdf:
        named, own = second.source, ''
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
    answer = Answer(PASS if found.passed else MISMATCH, sentence, found.as_data())
    if empty:
        names = listed([*empty.values()])
        answer.sentence = (
            f'{named}: no <inertial> with mass in {names}, nor in what is fixed to it; give it '
            f'there. Below only the geometry of these links is compared.\n{sentence}'
        )
    for place in ('base', *first.joint_names, 'flange', 'arm'):
        here = [one for one in shown if one.place == place]
        more = f' {len(here) - 1} more there (--json lists all).' if len(here) > 1 else ''
        label = 'friction' if place == 'arm' else place
        text = f'- {here[0]}{more}' if here else f'- {label}: the same.'
        if here and here[0].has_effect:
            answer.faults.append(text)
        else:
            answer.note([text], label='')
    if found.effective_differences and not empty:
        answer.faults.append(f'Together they change the torque by {found.together}.')
    if not from_urdf and second.hand != first.hand:
        answer.note([f'the hands differ; --hand {second.hand} puts the same on both.'])
    if second.urdf is not None:
        if empty:
            answer.data['doubts'] = []
        else:
            _add_doubts(answer, second.urdf.text, second.source)
        answer.data['node'] = node_notes(first, second, gravity)
        answer.note(answer.data['node'])
    _add_inconsistencies(answer, second)
    return answer


def _pair(arm: ArmChoice, other: str, prefix: str | None) -> tuple[ArmDescription, ArmDescription]:
    """Return both arms; --hand and --payload apply to OTHER, too, unless it is a URDF."""
    if is_urdf(arm.arm):
        forbid_with('a URDF, which is compared as it is written', *MASS_OPTIONS)
    xacro = xacro_arguments(arm.xacro)
    if is_urdf(other) and not is_given('arm'):
        require_with('--arm', 'repair', 'payload')
        hand = arm.hand if is_given('hand') else None
        of_arm = {'inertial_set': arm.inertial_set, 'hand': hand}
        return read_pair(None, other, prefix=prefix, xacro=xacro, **of_arm)
    if is_urdf(other):
        own = arm if arm.arm.endswith('.xacro') else replace(arm, xacro=())
        return read_pair(own.load(), other, prefix=prefix, xacro=xacro)
    forbid_with('an arm file: it is the prefix of joint names in a URDF', 'prefix')
    second = load_arm(other, hand=arm.hand, payload=arm.read_payload())
    if is_urdf(arm.arm):
        return read_pair(arm.arm, second, xacro=xacro)
    if is_file_name(other) and not is_given('arm') and second.name in available_arms():
        arm = replace(arm, arm=second.name)
    return read_pair(arm.load(), second)
