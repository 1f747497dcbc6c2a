# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
`franka-dynamics arm check`: compare formulations of an arm's dynamics, or two descriptions.

The formulations are Pinocchio's, the package's own Newton-Euler recursion, and products of
exponentials.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import shlex

import numpy as np

from ._arm_options import MASS_OPTIONS
from ._say import say, say_each, show, terminal, write_json
from .arm_verbs import Check
from ..arm import ArmDescription, available_arms, load
from ..arm.arm_file import is_urdf
from ..arm.hand_file import is_file_name
from ..arm.payload import read_payload
from ..control.default_gains import home_pose
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import UrdfError, UrdfMismatchError
from ..report.agreement import agreement_as_data, agreement_tables
from ..urdf.document import read_urdf
from ..urdf.serial_chain import SerialChain
from ..validation.crosscheck import compare_formulations, TOLERANCE
from ..validation.source import compare, read_pair
from ..validation.urdf_check import model_from_urdf

_SHOWN = 10
# The condition number of M at home is 315 to 2,262 for the shipped Franka arms, and 16,841 for the
# FR3 without a hand.
_EXTREME = 5000.0


def _light_joint(arm: ArmDescription) -> tuple[str, ...]:
    """Return a sentence if M at home is badly conditioned, with the joint that moves least."""
    mass = NewtonEulerModel(arm).mass_matrix(home_pose(arm))
    condition = np.linalg.cond(mass)
    if condition <= _EXTREME:
        return ()
    joint = int(np.diag(mass).argmin())
    return (
        f'the condition number of M at home is {condition:.0f}: {arm.joint_names[joint]} moves '
        f'only {mass[joint, joint]:.1e} (kg m^2, or kg). Gains in proportion to M hold nothing '
        'there; the real joint moves its drive as well, which is not in M.',
    )


def run(given: Check) -> int:
    """Print the verdict; exit 1 if formulations or torques of the descriptions differ."""
    if given.other is None:
        given.require_with('OTHER', 'prefix')
        return _formulations(given)
    why = 'OTHER: random states are for the formulations of one arm'
    given.refuse(why, 'states', 'seed', 'all')
    return _descriptions(given, given.other)


def _formulations(given: Check) -> int:
    description = given.load_arm()
    with terminal(stderr=True).status('comparing ...'):
        agreement = compare_formulations(
            description, gravity=given.gravity, count=given.states, seed=given.seed
        )
    say(
        f'{given.title(description)}: largest difference from Pinocchio '
        f'{agreement.largest:.1e}, tolerance {TOLERANCE:.0e} ({agreement.states} states, seed '
        f'{agreement.seed})',
        'pass' if agreement.passed else 'MISMATCH',
    )
    for sentence in agreement.findings:
        say(sentence, style='red')
    if is_urdf(given.arm):
        say(
            'Compared were three formulations of the dynamics of this URDF, not the URDF with '
            f'an arm: `franka-dynamics arm check {shlex.quote(given.arm)}` does that.',
            'note',
        )
    say_each((*description.notes, *description.repairs), 'note')
    say_each(description.inconsistencies(), 'warning')
    say_each(_light_joint(description), 'note')
    if given.all:
        show(*agreement_tables(agreement))
    if given.json:
        write_json(given.json, agreement_as_data(agreement))
    return 0 if agreement.passed else 1


def _descriptions(given: Check, other: str) -> int:
    first, second = _pair(given, other)
    found = compare(first, second, gravity=given.gravity)
    count = len(found.differences)
    named = other if isinstance(second, ArmDescription) else second.source
    say(
        f'{named} against {first.name} ({first.inertial_set}, hand {first.hand}): '
        f'{count} {"difference" if count == 1 else "differences"}, {len(found.acting)} of '
        'them with an effect on torque.',
        'pass' if found.passed else 'MISMATCH',
    )
    say(
        'Compared are the base, joints, DH rows, flange, rotors, links, limits and '
        'friction; not home poses, rated loads, shapes, names and notes.'
    )
    for one in found.differences[:_SHOWN]:
        say(f'- {one}', style='red' if one.has_effect else 'dim')
    if count > _SHOWN:
        more = f'- and {count - _SHOWN} more with less effect; --json FILE writes all'
        say(more, style='dim')
    if found.acting:
        say(f'Together they change the torque by {found.together}.')
    data = found.as_data()
    if not isinstance(second, ArmDescription):
        data['node'] = _what_a_node_says(first, second, given.gravity)
        say_each(data['node'], 'note')
    if given.json:
        write_json(given.json, data)
    return 0 if found.passed else 1


def _pair(given: Check, other: str) -> tuple[ArmDescription, ArmDescription | SerialChain]:
    """Return both arms; --hand and --payload apply to OTHER, too, unless it is a URDF."""
    if is_urdf(given.arm):
        given.refuse('a URDF, which is compared as it is written', *MASS_OPTIONS)
    first = given.arm if is_urdf(given.arm) else None
    if is_urdf(other):
        if 'arm' not in given.options_given:
            given.require_with('--arm', 'repair', 'payload')
            hand = given.hand if 'hand' in given.options_given else None
            chosen = {'inertial_set': given.inertial_set, 'hand': hand}
            return read_pair(None, other, prefix=given.prefix, **chosen)
        return read_pair(first or given.load_arm(), other, prefix=given.prefix)
    given.refuse('an arm file: it is the prefix of joint names in a URDF', 'prefix')
    second = load(other, hand=given.hand)
    if given.payload is not None:
        second = second.with_payload(read_payload(given.payload))
    same = 'arm' not in given.options_given and second.name in available_arms()
    asked = replace(given, arm=second.name) if same and is_file_name(other) else given
    return read_pair(first or asked.load_arm(), second)


def _what_a_node_says(
    first: ArmDescription, chain: SerialChain, gravity: tuple[float, float, float]
) -> list[str]:
    """Return sentences: whether a node would accept the URDF as its model, and notes."""
    try:
        _, verdict = model_from_urdf(
            read_urdf(Path(chain.source)),
            first,
            source=chain.source,
            joint_names=chain.joint_names,
            gravity=gravity,
        )
    except (UrdfError, UrdfMismatchError) as error:
        return [f'a node refuses it as its model (model_source: urdf_file): {error}', *chain.notes]
    return [verdict.summary(), *verdict.notes]
