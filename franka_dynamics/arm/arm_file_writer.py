# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Writes an arm description to an arm file, from which `load` reads the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arm_file import ArmFile, InertialSet
from .bodies import Body, InertiaReferencePoint, Pose
from .description import ArmDescription
from .strict_yaml import yaml_text
from .typed_file import decode, dotted_path, encode, FieldError
from .units import require_units
from ..errors import DescriptionError
from ..spatial import rpy_from_rotation


def arm_file_text(
    description: ArmDescription,
    *,
    source: str | None = None,
    title: str | None = None,
    notes: str = '',
    friction_source: str = '',
) -> str:
    """
    Return the YAML text of an arm file with the description and its one inertial set.

    `load` reads the same numbers from the text, because inertias are written about the frame
    origins, with all digits. Only a rotated base, written as roll, pitch and yaw, changes by
    rounding. The last link includes the hand, which the file names, so that `load` can remove it.

    Parameters
    ----------
    description : ArmDescription
        The arm.
    source : str, optional
        Where the inertial set comes from, in one line; default: the description's `source`.
    title : str, optional
        The arm's full name; default: the description's `name`.
    notes : str
        Remarks about the inertial set.
    friction_source : str
        Where the friction comes from.

    Raises
    ------
    DescriptionError
        If the friction model is none of the three that an arm file can hold, or a number or name
        is one that `load` refuses.

    """
    description.require_home_within_limits()
    content: dict[str, Any] = {}
    place = f'{description.name!r} cannot be written to an arm file'
    try:
        content = encode(ArmFile, _arm_file(description, source, title, notes))
        decode(ArmFile, content)
    except FieldError as error:
        at = dotted_path(content, error.keys)
        raise DescriptionError(f'{place}: {at} {error.problem}.') from error
    require_units(description, place)
    if friction_source and description.friction is not None:
        content['friction']['source'] = friction_source
    return yaml_text(content)


def _arm_file(
    description: ArmDescription, source: str | None, title: str | None, notes: str
) -> ArmFile:
    """Return the content of an arm file; raise FieldError for an unknown hand."""
    name, origin = description.inertial_set or 'own', source or description.source or 'not stated'
    base, base_link, load = description.base, description.base_link, description.payload
    inertial = InertialSet(
        source=origin,
        notes=notes,
        inertia_about=InertiaReferencePoint.FRAME_ORIGIN,
        hand=description.hand,
        rounding=description.rounding or None,
        repairs=description.repairs,
        links=tuple(Body.from_inertia(link) for link in description.links),
        base_link=None if base_link is None else Body.from_inertia(base_link),
        payload=Body.from_inertia(load) if load.mass else None,
    )
    return ArmFile(
        **description.shared_fields(),
        title=title or description.name,
        source=origin,
        base=None
        if np.array_equal(base, np.eye(4))
        else Pose(xyz=base[:3, 3], rpy=rpy_from_rotation(base[:3, :3])),
        default_set=name,
        inertial_sets={name: inertial},
    )
