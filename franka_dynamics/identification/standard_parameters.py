# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The standard inertial parameters of an arm as one vector, in the order of seed 002.

Each link has ten (eq. 3), about the origin of its frame: XX, XY, XZ, YY, YZ, ZZ, mX, mY, mZ, m.
An arm's vector X holds link 1's ten, link 2's, ... (eq. 4), and, where rotors are asked for,
one rotor inertia Ia per joint behind them: shape (10 n,) or (11 n,).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arm import ArmDescription, LinkInertia
from ..errors import InertiaError

LINK_SYMBOLS = ('XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ', 'mX', 'mY', 'mZ', 'm')
ROTOR_SYMBOL = 'Ia'
PER_LINK = len(LINK_SYMBOLS)

# Where each parameter of eq. (3) stands in LinkInertia.parameters(), which is
# (m, hx, hy, hz, xx, xy, xz, yy, yz, zz): values_of_eq_3 = parameters[PLACE_IN_LINK_INERTIA].
PLACE_IN_LINK_INERTIA = (4, 5, 6, 7, 8, 9, 1, 2, 3, 0)
# The same for Pinocchio's dynamic parameters, (m, hx, hy, hz, xx, xy, yy, xz, yz, zz):
# pin.Inertia.toDynamicParameters() and the columns of pin.computeJointTorqueRegressor.
PLACE_IN_PINOCCHIO = (4, 5, 7, 6, 8, 9, 1, 2, 3, 0)


def parameter_names(n: int, *, rotor_inertia: bool = False) -> tuple[str, ...]:
    """Return the names XX_1, XY_1, ..., m_n of an arm's vector (and Ia_1, ..., Ia_n)."""
    names = [f'{symbol}_{link}' for link in range(1, n + 1) for symbol in LINK_SYMBOLS]
    if rotor_inertia:
        names += [f'{ROTOR_SYMBOL}_{joint}' for joint in range(1, n + 1)]
    return tuple(names)


def link_vector(link: LinkInertia) -> NDArray[np.float64]:
    """Return a link's ten parameters in the order of eq. (3), shape (10,)."""
    return link.parameters()[list(PLACE_IN_LINK_INERTIA)]


def link_from_vector(vector: ArrayLike) -> LinkInertia:
    """Return the link whose ten parameters are given in the order of eq. (3)."""
    values = np.asarray(vector, dtype=float)
    if values.shape != (PER_LINK,):
        raise InertiaError(f'A link has ten parameters, {", ".join(LINK_SYMBOLS)}; got shape '
                           f'{values.shape}.')
    parameters = np.empty(PER_LINK)
    parameters[list(PLACE_IN_LINK_INERTIA)] = values
    return LinkInertia.from_parameters(parameters)


def parameter_vector(description: ArmDescription, *, rotor_inertia: bool = False,
                     ) -> NDArray[np.float64]:
    """Return an arm's vector X of eq. (4), shape (10 n,), or (11 n,) with rotor inertias."""
    links = [link_vector(link) for link in description.links]
    rotors = [[joint.rotor_inertia for joint in description.joints]] if rotor_inertia else []
    return np.concatenate(links + [np.array(values) for values in rotors])


def with_parameter_vector(description: ArmDescription, vector: ArrayLike) -> ArmDescription:
    """
    Return the arm with the links (and rotors) of a vector in the order of eq. (4).

    Parameters
    ----------
    description : ArmDescription
        The arm whose geometry, names and limits are kept.
    vector : array_like, shape (10 n,) or (11 n,)
        Standard parameters; with 10 n of them the rotor inertias are kept as well. They need not
        be physical: regrouped parameters are not.

    Raises
    ------
    InertiaError
        If the vector has another shape or a value is not finite.

    """
    values = np.asarray(vector, dtype=float)
    n = description.n
    if values.shape not in ((PER_LINK * n,), ((PER_LINK + 1) * n,)):
        raise InertiaError(
            f'The parameter vector of {description.name} has shape {values.shape}, expected '
            f'({PER_LINK * n},): ten per link in the order {", ".join(LINK_SYMBOLS)}; or '
            f'({(PER_LINK + 1) * n},) with one rotor inertia per joint behind them.')
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        name = parameter_names(n, rotor_inertia=True)[bad]
        raise InertiaError(f'{name} of {description.name} is {values[bad]}; every parameter must '
                           'be a finite number.')
    links = values[:PER_LINK * n].reshape(n, PER_LINK)
    joints = description.joints
    if len(values) > PER_LINK * n:
        joints = tuple(replace(joint, rotor_inertia=float(rotor))
                       for joint, rotor in zip(joints, values[PER_LINK * n:]))
    return replace(description, joints=joints,
                   links=tuple(link_from_vector(link) for link in links))
