# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm's Denavit-Hartenberg and inertia tables, as rows and as what JSON holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..arm import ArmDescription
from ..arm.inertia import six_from_tensor, TENSOR_ORDER
from ..dynamics.newton_euler import NewtonEulerModel
from ..dynamics.space_inertia import space_inertias

About = Literal['frame_origin', 'center_of_mass', 'space_origin']


@dataclass(frozen=True)
class InertiaRow:
    """One link: mass [kg], centre of mass [m] and xx, xy, xz, yy, yz, zz [kg m^2]."""

    link: str
    mass: float
    center_of_mass: NDArray[np.float64]
    inertia: NDArray[np.float64]


def dh_rows(description: ArmDescription) -> list[dict[str, Any]]:
    """Return one row per joint and one for the flange: name, kind, a, d, alpha, theta."""
    rows = [{'frame': str(i), 'joint': joint.name, 'kind': joint.kind.value, 'a': joint.row.a,
             'd': joint.row.d, 'alpha': joint.row.alpha, 'theta': joint.row.theta}
            for i, joint in enumerate(description.joints, start=1)]
    flange = description.flange
    rows.append({'frame': 'flange', 'joint': '', 'kind': 'fixed', 'a': flange.a, 'd': flange.d,
                 'alpha': flange.alpha, 'theta': flange.theta})
    return rows


def body_rows(description: ArmDescription, about: About = 'frame_origin') -> list[InertiaRow]:
    """Return the links' inertia in their own frames."""
    return [InertiaRow(str(i), link.mass, link.center_of_mass, six_from_tensor(
        link.inertia if about == 'frame_origin' else link.inertia_at_center_of_mass))
        for i, link in enumerate(description.links, start=1)]


def space_rows(description: ArmDescription, q: NDArray[np.float64],
               about: About = 'frame_origin') -> list[InertiaRow]:
    """Return the links' inertia in the axes of {S} at a pose (seed 000, corrected)."""
    return [InertiaRow(str(i), link.mass, link.center_of_mass,
                       six_from_tensor(getattr(link, f'about_{about}')))
            for i, link in enumerate(space_inertias(description, q), start=1)]


def origins(description: ArmDescription, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the origins of frames 1..n and of the flange in {S}, shape (n + 1, 3) [m]."""
    return NewtonEulerModel(description).frames(q)[:, :3, 3]


def as_json(description: ArmDescription, rows: list[InertiaRow], *, frame: str, about: About,
            q: NDArray[np.float64] | None) -> dict[str, Any]:
    """Return the tables as plain data; `q` is None where the frames are the links' own."""
    data: dict[str, Any] = {
        'arm': description.name, 'file': description.file,
        'inertial_set': description.inertial_set, 'hand': description.hand,
        'source': description.source, 'convention': description.convention.value,
        'base': description.base.tolist(), 'denavit_hartenberg': dh_rows(description),
        'inertia_frame': frame, 'inertia_about': about, 'inertia_order': list(TENSOR_ORDER),
        'links': [{'link': row.link, 'mass': row.mass,
                   'center_of_mass': row.center_of_mass.tolist(),
                   'inertia': row.inertia.tolist()} for row in rows],
        'inconsistencies': list(description.inconsistencies())}
    if q is not None:
        data['q'] = q.tolist()
        data['origins'] = origins(description, q).tolist()
    return data
