# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the arm, and dataclasses of settings or limits, from a node's parameter values."""

from __future__ import annotations

from array import array
from dataclasses import fields, replace
from typing import Any, TypeVar

from ..arm import ArmDescription, load
from ..control.settings import Settings, Terms
from ..errors import SettingsError

# Values of the parameter model_source.
DESCRIPTION, URDF_FILE, ROBOT_DESCRIPTION = 'description', 'urdf_file', 'robot_description'

Made = TypeVar('Made')


def load_arm(values: dict[str, Any]) -> ArmDescription:
    """
    Return the arm chosen by the parameters.

    Raises DescriptionError if there is no such arm, inertial set or hand, or its file is wrong,
    InertiaError if the requested repair of inertias is impossible, SettingsError if joint_names
    does not fit the arm.
    """
    description = load(
        values['robot_type'],
        values['inertial_set'] or None,
        hand=values['hand'],
        prefix=values['arm_prefix'],
        repair=values['repair'] or None,
    )
    names = list(values['joint_names'])
    if not names:
        return description
    if len(names) != description.n or len(set(names)) != len(names):
        raise SettingsError(
            f'joint_names must be {description.n} different names, one per joint of '
            f'{description.name} from base to tip; got {names}.'
        )
    return description.with_joint_names(names)


def settings_from(values: dict[str, Any]) -> Settings:
    """Return the Settings of the feedforward from parameter values."""
    return replace(made_of(Settings, values), terms=made_of(Terms, values, 'terms.{}'))


def made_of(kind: type[Made], values: dict[str, Any], name: str = '{}') -> Made:
    """
    Return an instance of the dataclass `kind`, made from parameter values.

    A field takes the value of the parameter `name.format(field)`, or else keeps its default. Lists
    become tuples.
    """
    given = {field.name: name.format(field.name) for field in fields(kind)}  # type: ignore[arg-type]
    found = {field: values[parameter] for field, parameter in given.items() if parameter in values}
    return kind(
        **{
            field: tuple(value) if isinstance(value, list | array) else value
            for field, value in found.items()
        }
    )
