# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm description -> an arm file, in the form that `load` reads."""

from __future__ import annotations

import math

import numpy as np

from .denavit_hartenberg import DHRow
from .description import ArmDescription, Joint
from .inertia import LinkInertia, six_from_tensor
from ..spatial import rpy_from_rotation

_DECIMALS = 15  # of metres, radians, kilograms and kg m^2: more is rounding of sums
_ANGLES = {math.pi: 'pi', -math.pi: '-pi', 0.5 * math.pi: 'pi/2', -0.5 * math.pi: '-pi/2'}


def arm_file_text(description: ArmDescription, *, source: str) -> str:
    """
    Return an arm file that holds one inertial set.

    Parameters
    ----------
    description : ArmDescription
        The arm. Friction and acceleration limits are written as far as they are known; a
        velocity limit that depends on the position is not.
    source : str
        Where the numbers come from, in one line.

    """
    base_rpy = rpy_from_rotation(description.base[:3, :3])
    lines = [
        '# SI units, radians.',
        f'name: {_quoted(description.name)}',
        f'source: {_quoted(source)}',
        f'convention: {description.convention.value}',
        f'base: {{xyz: {_list(description.base[:3, 3])}, rpy: [{_angles(base_rpy)}]}}',
        'joints:',
        *(line for joint in description.joints for line in _joint(joint)),
        f'flange: {_row(description.flange)}',
    ]
    if description.home is not None:
        lines.append(f'home: [{_angles(description.home)}]')
    lines += [
        f'default_set: {_quoted(description.inertial_set)}',
        'inertial_sets:',
        f'  {_quoted(description.inertial_set)}:',
        f'    source: {_quoted(source)}',
        '    inertia_about: center_of_mass',
    ]
    if description.base_link is not None:
        lines.append(f'    base_link: {_link(description.base_link)}')
    lines += ['    links:', *(f'      - {_link(link)}' for link in description.links)]
    return '\n'.join(lines) + '\n'


def _joint(joint: Joint) -> list[str]:
    limits = joint.limits
    stated = {} if math.isinf(limits.lower) and math.isinf(limits.upper) else {
        'position': f'[{_angles([limits.lower, limits.upper])}]'}
    for key in ('velocity', 'acceleration', 'jerk', 'effort', 'effort_rate'):
        if math.isfinite(getattr(limits, key)):
            stated[key] = _number(getattr(limits, key))
    lines = [f'  - name: {_quoted(joint.name)}', f'    kind: {joint.kind.value}',
             f'    dh: {_row(joint.row)}']
    if stated:
        text = ', '.join(f'{key}: {value}' for key, value in stated.items())
        lines.append(f'    limits: {{{text}}}')
    if joint.rotor_inertia:
        lines.append(f'    rotor_inertia: {_number(joint.rotor_inertia)}')
    return lines


def _row(row: DHRow) -> str:
    return (f'{{a: {_number(row.a)}, alpha: {_angles([row.alpha])}, d: {_number(row.d)}, '
            f'theta: {_angles([row.theta])}}}')


def _link(link: LinkInertia) -> str:
    six = six_from_tensor(link.inertia_at_center_of_mass)
    return (f'{{mass: {_number(link.mass)}, center_of_mass: {_list(link.center_of_mass)}, '
            f'inertia: {_list(six)}}}')


def _angles(values: np.ndarray | list[float]) -> str:
    return ', '.join(_ANGLES.get(float(value), _number(value)) for value in values)


def _list(values: np.ndarray) -> str:
    return f'[{", ".join(_number(value) for value in values)}]'


def _number(value: float) -> str:
    text = repr(round(float(value), _DECIMALS) + 0.0)
    # YAML 1.1 reads 1e-05 as a text, 1.0e-05 as a number.
    mantissa, exponent, power = text.partition('e')
    return f'{mantissa}.0e{power}' if exponent and '.' not in mantissa else text


def _quoted(text: str) -> str:
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'
