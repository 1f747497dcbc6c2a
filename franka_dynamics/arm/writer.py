# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A description -> the YAML text of an arm file, which `load` reads back number for number."""

from __future__ import annotations

from dataclasses import fields
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
import yaml

from .denavit_hartenberg import DHRow
from .description import ArmDescription, Joint, JointLimits
from .friction import FrictionModel, SigmoidFriction, ViscousCoulombFriction
from .inertia import LinkInertia, six_from_tensor
from ..errors import DescriptionError

_WIDTH = 99


def arm_yaml(description: ArmDescription, *, title: str, set_source: str, notes: str = '',
             friction_source: str = '') -> str:
    """
    Return the text of an arm file with one inertial set, the description's own.

    Inertias are written about the frame origin, as they are kept; floats in full, so that
    loading gives the same numbers. A hand that is part of the last link stays in it and is
    named, so that `load` can take it off.

    Parameters
    ----------
    description : ArmDescription
        The arm.
    title : str
        What people call it.
    set_source, notes : str
        Where the inertial set comes from, and what else to know about it.
    friction_source : str
        Where the friction comes from.

    Raises
    ------
    DescriptionError
        If its friction model has no form in YAML.

    """
    inertial: dict[str, Any] = {'source': set_source}
    if notes:
        inertial['notes'] = notes
    inertial['inertia_about'] = 'frame_origin'
    if description.hand != 'none':
        inertial['hand'] = description.hand
    inertial['links'] = [_body(link) for link in description.links]
    if description.base_link is not None:
        inertial['base_link'] = _body(description.base_link)
    content: dict[str, Any] = {
        'name': description.name, 'title': title, 'source': description.source or set_source,
        'convention': description.convention.value,
        'joints': [_joint(joint) for joint in description.joints],
        'flange': _row(description.flange)}
    if not np.array_equal(description.base, np.eye(4)):
        content['base'] = _pose(description.base)
    if description.home is not None:
        content['home'] = _numbers(description.home)
    if description.friction is not None:
        content['friction'] = _friction(description.friction, friction_source)
    name = description.inertial_set or 'own'
    content['default_set'] = name
    content['inertial_sets'] = {name: inertial}
    return yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=_WIDTH,
                          allow_unicode=True)


def _numbers(values: ArrayLike) -> list[float]:
    return [float(value) for value in np.asarray(values, dtype=float)]


def _body(link: LinkInertia) -> dict[str, Any]:
    return {'mass': link.mass, 'first_moment': _numbers(link.first_moment),
            'inertia': _numbers(six_from_tensor(link.inertia))}


def _joint(joint: Joint) -> dict[str, Any]:
    entry: dict[str, Any] = {'name': joint.name, 'kind': joint.kind.value, 'dh': _row(joint.row)}
    limits = _limits(joint.limits)
    if limits:
        entry['limits'] = limits
    if joint.rotor_inertia:
        entry['rotor_inertia'] = float(joint.rotor_inertia)
    return entry


def _row(row: DHRow) -> dict[str, float]:
    return {f.name: float(getattr(row, f.name)) for f in fields(DHRow)}


def _limits(limits: JointLimits) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if math.isfinite(limits.lower) and math.isfinite(limits.upper):
        found['position'] = [float(limits.lower), float(limits.upper)]
    for f in fields(JointLimits):
        value = getattr(limits, f.name)
        if f.name not in ('lower', 'upper') and value is not None and math.isfinite(value):
            found[f.name] = float(value)
    return found


def _friction(friction: FrictionModel, source: str) -> dict[str, Any]:
    kept = {'source': source} if source else {}
    if isinstance(friction, ViscousCoulombFriction):
        return {'model': 'viscous_coulomb', **kept, 'viscous': _numbers(friction.viscous),
                'coulomb': _numbers(friction.coulomb), 'offset': _numbers(friction.offset),
                'width': float(friction.width)}
    if isinstance(friction, SigmoidFriction):
        return {'model': 'sigmoid', **kept, 'amplitude': _numbers(friction.amplitude),
                'slope': _numbers(friction.slope), 'offset': _numbers(friction.offset)}
    raise DescriptionError(f'A friction model of type {type(friction).__name__} has no form in '
                           'an arm file; use the viscous_coulomb or the sigmoid model.')


def _pose(pose: ArrayLike) -> dict[str, list[float]]:
    """Return a (4, 4) pose as a translation [m] and fixed-axis roll, pitch, yaw [rad]."""
    matrix = np.asarray(pose, dtype=float)
    rotation = matrix[:3, :3]
    pitch = math.atan2(-rotation[2, 0], math.hypot(rotation[0, 0], rotation[1, 0]))
    if abs(rotation[2, 0]) > 1.0 - 1e-12:  # looking along z, where only one angle is left
        roll, yaw = math.atan2(-rotation[1, 2], rotation[1, 1]), 0.0
    else:
        roll = math.atan2(rotation[2, 1], rotation[2, 2])
        yaw = math.atan2(rotation[1, 0], rotation[0, 0])
    return {'xyz': _numbers(matrix[:3, 3]), 'rpy': [roll, pitch, yaw]}
