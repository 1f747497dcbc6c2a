# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm description -> an arm file, which `load` reads back number for number."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
import yaml

from .denavit_hartenberg import DHRow
from .description import ArmDescription, Joint, JointLimits
from .friction import FRICTION_MODELS, FrictionModel
from .inertia import LinkInertia, six_from_tensor
from ..errors import DescriptionError
from ..files import write_text
from ..spatial import rpy_from_rotation

_WIDTH = 99


def arm_file_text(
    description: ArmDescription,
    *,
    source: str | None = None,
    title: str | None = None,
    notes: str = '',
    friction_source: str = '',
) -> str:
    """
    Return the text of an arm file with one inertial set, the description's own.

    Inertias are written about the frame origin, as they are kept, and floats in full, so that
    `load` returns the same numbers (a tilted base: up to rounding, since it is written as roll,
    pitch and yaw). A hand that is part of the last link stays in it and is named, so that
    `load` can take it off.

    Parameters
    ----------
    description : ArmDescription
        The arm.
    source : str, optional
        Where the inertial set comes from, in one line; the description's own source if not given.
    title : str, optional
        What people call it; its name if not given.
    notes : str
        What else to know about the inertial set.
    friction_source : str
        Where the friction comes from.

    Raises
    ------
    DescriptionError
        If its friction model has no form in YAML.

    """
    origin = source or description.source or 'not stated'
    inertial: dict[str, Any] = {'source': origin}
    if notes:
        inertial['notes'] = notes
    inertial['inertia_about'] = 'frame_origin'
    if description.hand != 'none':
        inertial['hand'] = description.hand
    if description.rounding:
        inertial['rounding'] = float(description.rounding)
    if description.repairs:
        inertial['repairs'] = list(description.repairs)
    inertial['links'] = [_body(link) for link in description.links]
    if description.base_link is not None:
        inertial['base_link'] = _body(description.base_link)
    content: dict[str, Any] = {
        'name': description.name,
        'title': title or description.name,
        'source': origin,
        'convention': description.convention.value,
        'joints': [_joint(joint) for joint in description.joints],
        'flange': _row(description.flange),
    }
    if not np.array_equal(description.base, np.eye(4)):
        content['base'] = {
            'xyz': _numbers(description.base[:3, 3]),
            'rpy': _numbers(rpy_from_rotation(description.base[:3, :3])),
        }
    if description.home is not None:
        content['home'] = _numbers(description.home)
    if description.rated_load is not None:
        content['rated_load'] = float(description.rated_load)
    if description.friction is not None:
        content['friction'] = _friction(description.friction, friction_source)
    if description.simulated_friction is not None:
        content['simulated_friction'] = _friction(description.simulated_friction, '')
    name = description.inertial_set or 'own'
    content['default_set'] = name
    content['inertial_sets'] = {name: inertial}
    return yaml.safe_dump(
        content, sort_keys=False, default_flow_style=None, width=_WIDTH, allow_unicode=True
    )


def save(
    description: ArmDescription,
    path: str | Path,
    *,
    source: str | None = None,
    title: str | None = None,
    notes: str = '',
    friction_source: str = '',
) -> None:
    """
    Write an arm file that `load` reads back number for number.

    Parameters
    ----------
    description : ArmDescription
        The arm.
    path : str or Path
        The file, which appears complete or not at all.
    source, title, notes, friction_source : str
        As for `arm_file_text`.

    Raises
    ------
    DescriptionError
        If its friction model has no form in YAML.
    OutputError
        If the file cannot be written.

    """
    write_text(
        path,
        arm_file_text(
            description, source=source, title=title, notes=notes, friction_source=friction_source
        ),
    )


def _numbers(values: ArrayLike) -> list[Any]:
    numbers: list[Any] = np.asarray(values, dtype=float).tolist()
    return numbers


def _body(link: LinkInertia) -> dict[str, Any]:
    return {
        'mass': float(link.mass),
        'first_moment': _numbers(link.first_moment),
        'inertia': _numbers(six_from_tensor(link.inertia)),
    }


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
    if math.isfinite(limits.lower) or math.isfinite(limits.upper):
        found['position'] = [float(limits.lower), float(limits.upper)]
    for f in fields(JointLimits):
        value = getattr(limits, f.name)
        if f.name not in ('lower', 'upper') and value is not None and math.isfinite(value):
            found[f.name] = float(value)
    return found


def _friction(friction: FrictionModel, source: str) -> dict[str, Any]:
    for name, model in FRICTION_MODELS.items():
        if is_dataclass(friction) and type(friction) is model:
            kept = {'source': source} if source else {}
            return {
                'model': name,
                **kept,
                **{
                    f.name: _numbers(getattr(friction, f.name))
                    for f in fields(friction)
                    if f.init and getattr(friction, f.name) is not None
                },
            }
    raise DescriptionError(
        f'A friction model of type {type(friction).__name__} has no form in '
        f'an arm file; use one of {", ".join(FRICTION_MODELS)}.'
    )
