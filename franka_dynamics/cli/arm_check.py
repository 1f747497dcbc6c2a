# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm check`: compare formulations of an arm's dynamics, or two descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
import shlex
import warnings

from ._command import forbid_with, is_given, require_with
from ._console import make_console, say, say_each, show, write_json
from ._options import ArmChoice, MASS_OPTIONS, xacro_arguments
from ..arm import ArmDescription, available_arms
from ..arm.arm_file import is_urdf
from ..arm.hand_file import is_file_name
from ..arm_io import load_arm
from ..errors import listed, UrdfWarning
from ..report import crosscheck as report
from ..urdf.document import parse_urdf, read_urdf
from ..urdf.importer import arms_with_joints
from ..urdf.plausibility import find_implausible_values, ImplausibleValue
from ..urdf.writer import urdf_text
from ..validation.compare_files import compare, read_pair
from ..validation.crosscheck import compare_formulations
from ..validation.urdf_check import node_notes

Gravity = tuple[float, float, float]


def run(
    arm: ArmChoice,
    other: str | None,
    states: int,
    seed: int,
    gravity: Gravity,
    all: bool,
    json: Path | None,
    prefix: str | None,
) -> int:
    """Print the verdict; exit 1 if formulations or torques of the descriptions differ."""
    warnings.simplefilter('ignore', UrdfWarning)  # the notes say it all
    if other is None:
        require_with('OTHER', 'prefix')
    elif _is_unknown(other, prefix, arm.xacro):
        arm = replace(arm, arm=other, arm_prefix=prefix or '')
    else:
        why = 'OTHER: random states are for the formulations of one arm'
        forbid_with(why, 'states', 'seed', 'all')
        return _descriptions(arm, other, prefix, gravity, json)
    description = arm.load()
    with make_console(stderr=True).status('comparing ...'):
        result = compare_formulations(description, gravity=gravity, count=states, seed=seed)
    sentence = f'{arm.title(description)}: {report.crosscheck_sentence(result)}'
    say(sentence, 'pass' if result.passed else 'MISMATCH')
    say_each(result.findings, style='red')
    doubts, shown = list[ImplausibleValue](), set[str]()
    if is_urdf(arm.arm):
        found = ', '.join(f'{one}' for one in result.urdf)
        with_arm = f'`franka-dynamics arm check {shlex.quote(arm.arm)} --arm ARM`'
        say(
            "Compared were three formulations of the arm's dynamics and Pinocchio's own reading "
            f'of the URDF; largest differences from that: {found}. {with_arm} compares it with '
            'another arm.',
            'note',
        )
        assert description.urdf is not None
        doubts, shown = _doubts(description.urdf.text, arm.arm)
    elif is_file_name(arm.arm) and not description.inconsistencies():
        doubts, _ = _doubts(urdf_text(description), f'{arm.arm} as arm export writes it')
    notes = [note for note in description.notes if note not in shown]
    say_each((*notes, *description.repairs), 'note')
    say_each(description.inconsistencies(), 'warning')
    say_each(report.condition_notes(description), 'note')
    if all:
        show(*report.crosscheck_tables(result))
    if json:
        write_json(json, {**report.crosscheck_as_data(result), 'doubts': doubts})
    return 0 if result.passed else 1


def _is_unknown(other: str, prefix: str | None, xacro: Sequence[str]) -> bool:
    """Return whether a URDF, given without --arm, holds no shipped arm's joints."""
    if not is_urdf(other) or any(map(is_given, ('arm', 'repair', 'payload'))):
        return False
    document = parse_urdf(read_urdf(Path(other), xacro_arguments(xacro)), other)
    return is_given('joints') or not arms_with_joints(document.joints, None, prefix)


def _doubts(text: str, source: str) -> tuple[list[ImplausibleValue], set[str]]:
    """
    Print what is doubtful about the numbers of a URDF, by its meshes where they can be read.

    Returns the doubts, and the sentences of those that need no mesh, which notes have, too.
    """
    document = parse_urdf(text, source)
    doubts, unread = find_implausible_values(document, Path(source))
    if unread:
        say(
            f'{len(unread)} of its meshes were not read, such as {unread[0]}. They are looked for '
            'beside the URDF (package://NAME/ in the folders above it), and read if scipy is '
            'installed.',
            'note',
        )
    show(*report.implausible_value_tables(doubts, source))
    if not doubts:
        say(f'masses, tensors and effort limits of {source} are plausible', 'note')
    return [*doubts], {str(one) for one in find_implausible_values(document)[0]}


def _descriptions(
    arm: ArmChoice, other: str, prefix: str | None, gravity: Gravity, json: Path | None
) -> int:
    first, second = _pair(arm, other, prefix)
    found, from_urdf = compare(first, second, gravity=gravity), second.urdf is not None
    named, own = other, f' ({second.inertial_set}, hand {second.hand})'
    empty = dict[str, str]()
    if from_urdf:
        named, own = second.source, ''
        links = zip(first.joint_names, second.link_names, second.links)
        empty = {joint: name for joint, name, link in links if not link.parameters().any()}
    if empty:
        say(
            f'{named}: no <inertial> with mass in {listed([*empty.values()])}, nor in what is '
            'fixed to it; give it there. Below only the geometry of these links is compared.',
            'MISMATCH',
        )
    shown = [one for one in found.differences if one.kind != 'link' or one.place not in empty]
    say(
        f'{named}{own} against {first.name} ({first.inertial_set}, hand {first.hand}): '
        f'{len(shown)} {"difference" if len(shown) == 1 else "differences"}, '
        f'{sum(one.has_effect for one in shown)} of them with an effect on torque. Compared are '
        'the base, the flange, the friction and, for each joint, DH row, rotor, limits and the '
        "ten inertial parameters of its link; each place's largest difference:",
        'pass' if found.passed else '' if empty else 'MISMATCH',
    )
    for place in ('base', *first.joint_names, 'flange', 'arm'):
        here = [one for one in shown if one.place == place]
        more = f' {len(here) - 1} more there (--json lists all).' if len(here) > 1 else ''
        label = 'friction' if place == 'arm' else place
        text = f'{here[0]}{more}' if here else f'{label}: the same.'
        say(f'- {text}', style='red' if here and here[0].has_effect else 'dim')
    if found.effective_differences and not empty:
        say(f'Together they change the torque by {found.together}.')
    if not from_urdf and second.hand != first.hand:
        say(f'the hands differ; --hand {second.hand} puts the same on both.', 'note')
    data = found.as_data()
    if second.urdf is not None:
        data['doubts'] = [] if empty else _doubts(second.urdf.text, second.source)[0]
        data['node'] = node_notes(first, second, gravity)
        say_each(data['node'], 'note')
    if json:
        write_json(json, data)
    return 0 if found.passed else 1


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
