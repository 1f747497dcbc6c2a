# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint friction models, evaluated for all joints at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import FrictionError, JointVectorError


class FrictionModel(Protocol):
    """Torque that friction takes from the joints at a velocity."""

    def torque(self, dq: ArrayLike) -> NDArray[np.float64]:
        """Return the friction torque [N m] to be added to the rigid-body torque, shape of dq."""
        ...


@dataclass(frozen=True, eq=False)
class SigmoidFriction:
    """
    Gaz's friction: tau_f = A / (1 + exp(-s (dq + d))) - A / (1 + exp(-s d)).

    Zero at rest by construction, and smooth through it. Source: Gaz et al. 2019, "Dynamic
    Identification of the Franka Emika Panda Robot With Retrieval of Feasible Parameters",
    section V. Arrays of shape (n,): amplitude A [N m], slope s [s/rad], offset d [rad/s].
    """

    amplitude: NDArray[np.float64]
    slope: NDArray[np.float64]
    offset: NDArray[np.float64]
    _at_rest: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the arrays and freeze them."""
        _freeze(self, 'amplitude', 'slope', 'offset')
        # Constant, and this is evaluated in control loops.
        object.__setattr__(self, '_at_rest', _logistic(self.slope * self.offset))

    def torque(self, dq: ArrayLike) -> NDArray[np.float64]:
        """Return the friction torque [N m] at dq [rad/s], shape (..., n)."""
        velocity = _velocity(dq, self.amplitude)
        return self.amplitude * (_logistic(self.slope * (velocity + self.offset)) - self._at_rest)


@dataclass(frozen=True, eq=False)
class ViscousCoulombFriction:
    """
    Viscous, Coulomb and offset friction: tau_f = f_v dq + f_c sign(dq) + f_o.

    Arrays of shape (n,): viscous [N m s/rad], Coulomb [N m], offset [N m]. `width` [rad/s]
    replaces the sign by tanh(dq / width), because a torque that jumps at zero velocity cannot
    be commanded.
    """

    viscous: NDArray[np.float64]
    coulomb: NDArray[np.float64]
    offset: NDArray[np.float64]
    width: float = 0.02

    def __post_init__(self) -> None:
        """Check the parameters and freeze the arrays."""
        _freeze(self, 'viscous', 'coulomb', 'offset')
        if not 0.0 < self.width < np.inf:
            raise FrictionError(f'The width of the Coulomb friction is {self.width}; it must be '
                                'positive and finite [rad/s].')

    def torque(self, dq: ArrayLike) -> NDArray[np.float64]:
        """Return the friction torque [N m] at dq [rad/s], shape (..., n)."""
        velocity = _velocity(dq, self.viscous)
        return (self.viscous * velocity + self.coulomb * np.tanh(velocity / self.width)
                + self.offset)


# By the names that arm files have for them.
FRICTION_MODELS: dict[str, type] = {'sigmoid': SigmoidFriction,
                                    'viscous_coulomb': ViscousCoulombFriction}


def _freeze(model: object, *names: str) -> None:
    """Replace the named parameters by read-only copies, all of one shape (n,) and finite."""
    shapes = set()
    for name in names:
        array = np.array(getattr(model, name), dtype=float)
        if array.ndim != 1 or not np.isfinite(array).all():
            raise FrictionError(f'The {name} of a friction model must be finite numbers, one per '
                                f'joint; got {array.tolist()}.')
        array.setflags(write=False)
        object.__setattr__(model, name, array)
        shapes.add(array.shape)
    if len(shapes) > 1:
        raise FrictionError(f'{", ".join(names)} of a friction model must be equally long.')


def _velocity(dq: ArrayLike, parameter: NDArray[np.float64]) -> NDArray[np.float64]:
    velocity = np.asarray(dq, dtype=float)
    if velocity.shape[-1:] != parameter.shape:
        raise JointVectorError(f'dq has shape {velocity.shape}, expected (..., '
                               f'{len(parameter)}): the friction model has {len(parameter)} '
                               'joints.')
    return velocity


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-x)) without overflow for large |x|."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))
