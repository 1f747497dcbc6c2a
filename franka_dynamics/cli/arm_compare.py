# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm compare`: two arms by axis, inertia and limits of each joint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
import warnings

from ._command import forbid_with
from ._console import say, say_each, write_json
from .arm_check import MISMATCH, PASS
from ..arm import ArmDescription
from ..arm.arm_file import is_robot_model
from ..errors import listed, UrdfWarning
from ..report.json_types import to_json_types
from ..validation.compare_files import read_pair
from ..validation.comparison import compare_descriptions
from ..validation.torque_effect import Difference
from ..validation.urdf_check import node_notes


def run(
    first: str,
    second: str,
    inertial_set: str | None,
    hand: str,
    prefix: str | None,
    xacro: Mapping[str, str],
    json: Path | None,
) -> int:
    """Print the largest difference of each joint; return 1 if one changes a torque."""
    warnings.simplefilter('ignore', UrdfWarning)  # the notes say it all
    if is_robot_model(first) and not is_robot_model(second):
        first, second = second, first  # what URDFs lack comes from the other arm
    if not is_robot_model(second):
        forbid_with('an arm that is no URDF or MJCF', 'prefix', 'xacro')
    elif is_robot_model(first):
        two = 'two URDFs or MJCFs, which are compared as they are written'
        forbid_with(two, 'inertial_set', 'hand')
    one, other = read_pair(
        first, second, inertial_set, hand=hand, prefix=prefix, xacro=xacro, nearest=True
    )
    found = compare_descriptions(one, other)
    words = other.urdf.words if other.urdf else None
    empty = {
        joint: name
        for joint, name, link in zip(one.joint_names, other.link_names, other.links)
        if words and not link.parameters().any()
    }
    shown = [diff for diff in found.differences if diff.kind != 'link' or diff.place not in empty]
    if words and empty:
        say(
            f'{other.source}: no {words.inertial} with mass in {listed([*empty.values()])}, nor '
            'in what is fixed to it; give it there. Only the geometry of these links is compared.',
            MISMATCH,
        )
    effective = sum(diff.has_effect for diff in shown)
    count = f'{len(shown)} {"difference" if len(shown) == 1 else "differences"}'
    say(
        f'{_title(second, other)} against {_title(first, one)}: {count}, {effective} of them with '
        'an effect on torque. Compared are base, flange, friction and, for each joint, its axis, '
        "rotor and limits, and its link's mass, centre of mass and tensor, in the space frame at "
        "zero; each place's largest difference:",
        PASS if found.passed else MISMATCH,
    )
    for text, has_effect in _difference_lines(shown, one.joint_names):
        say(text, style='red' if has_effect else 'dim')
    if effective and not empty:
        say(f'Together they change the torque by {found.together}.', style='red')
    notes = node_notes(one, other) if words else []
    if not words and other.hand != one.hand:
        notes = [f'the hands differ; --hand {other.hand} puts the same on both.']
    say_each(notes, 'note')
    if json:
        write_json(json, {**to_json_types(found), 'notes': notes})
    return int(not found.passed)


def _difference_lines(
    shown: Sequence[Difference], joints: Sequence[str]
) -> Iterator[tuple[str, bool]]:
    """Yield a line on each place's largest difference, and whether it has an effect on torque."""
    for place in ('base', *joints, 'flange', 'arm'):
        here = [diff for diff in shown if diff.place == place]
        if here:
            more = f' {len(here) - 1} more there (--json lists all).' if len(here) > 1 else ''
            yield f'- {here[0]}{more}', here[0].has_effect
        else:
            yield f'- {"friction" if place == "arm" else place}: the same.', False


def _title(given: str, arm: ArmDescription) -> str:
    """Return what was given for an arm, with set and hand unless that is a URDF."""
    return given if is_robot_model(given) else f'{given} ({arm.inertial_set}, hand {arm.hand})'
