# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Masses and central principal moments of homogeneous solids."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import InertiaError

_AXES = ('x', 'y', 'z')


def solid_cylinder(radius: float, length: float, axis: str, mass: float | None,
                   density: float | None) -> tuple[float, NDArray[np.float64]]:
    """
    Return the mass of a cylinder along an axis [kg] and its moments, shape (3,) [kg m^2].

    Raises
    ------
    InertiaError
        If a dimension, the mass or the density is not positive and finite, the axis is not x, y
        or z, or not exactly one of mass and density is given.

    """
    _require_positive(radius=radius, length=length)
    if axis not in _AXES:
        raise InertiaError(f"A cylinder's axis is 'x', 'y' or 'z'; got {axis!r}.")
    kilograms = _mass_of(mass, density, np.pi * radius**2 * length)
    moments = np.full(3, (3.0 * radius**2 + length**2) / 12.0)
    moments[_AXES.index(axis)] = 0.5 * radius**2
    return kilograms, kilograms * moments


def solid_box(sides: NDArray[np.float64], mass: float | None, density: float | None,
              ) -> tuple[float, NDArray[np.float64]]:
    """Return the mass of a box [kg] and its moments (3,) [kg m^2]; raise as `solid_cylinder`."""
    _require_positive(x=sides[0], y=sides[1], z=sides[2])
    kilograms = _mass_of(mass, density, float(np.prod(sides)))
    squares = sides**2
    return kilograms, kilograms * (squares.sum() - squares) / 12.0


def _require_positive(**quantities: float) -> None:
    for name, value in quantities.items():
        if not 0.0 < value < np.inf:
            raise InertiaError(f'The {name} of a body is {value}; it must be positive and finite.')


def _mass_of(mass: float | None, density: float | None, volume: float) -> float:
    if mass is not None and density is None:
        _require_positive(mass=mass)
        return mass
    if mass is None and density is not None:
        _require_positive(density=density)
        return density * volume
    raise InertiaError('A body needs exactly one of mass [kg] and density [kg/m^3].')
