# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The four formulations by name, and what can be asked of each for a stack of states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arm import ArmDescription
from ..arm.sampling import JointStates
from ..dynamics.lagrangian import LagrangianModel
from ..dynamics.model import DynamicsModel, GRAVITY
from ..dynamics.newton_euler import NewtonEulerModel
from ..dynamics.pinocchio_model import PinocchioModel
from ..dynamics.product_of_exponentials import ExponentialsModel

FORMULATIONS: dict[str, Callable[[ArmDescription, ArrayLike], DynamicsModel]] = {
    'Pinocchio': PinocchioModel,
    'Newton-Euler': NewtonEulerModel,
    'exponentials': ExponentialsModel,
    'Lagrange': LagrangianModel,
}


class Quantity(NamedTuple):
    """
    A method of DynamicsModel: how many of (q, dq, ddq) it takes, and its unit.

    For forward_dynamics a torque stands in the place of ddq.
    """

    name: str
    inputs: int
    unit: str


QUANTITIES = (
    Quantity('frames', 1, 'm'),
    Quantity('jacobian', 1, 'm'),
    Quantity('center_of_mass', 1, 'm'),
    Quantity('mass_matrix', 1, 'kg m^2'),
    Quantity('coriolis_matrix', 2, 'N m s'),
    Quantity('coriolis', 2, 'N m'),
    Quantity('gravity', 1, 'N m'),
    Quantity('inverse_dynamics', 3, 'N m'),
    Quantity('forward_dynamics', 3, 'N m'),
    Quantity('kinetic_energy', 2, 'J'),
    Quantity('potential_energy', 1, 'J'),
)
PER_LINK = (
    Quantity('frames', 1, 'm'),
    Quantity('link_twists', 2, 'm/s'),
    Quantity('joint_wrenches', 3, 'N m'),
)


def build(description: ArmDescription, gravity: ArrayLike = GRAVITY) -> dict[str, DynamicsModel]:
    """Return all formulations of an arm, by name; gravity [m/s^2] is in the space frame."""
    return {name: make(description, gravity) for name, make in FORMULATIONS.items()}


def evaluate(model: DynamicsModel, quantity: Quantity, states: JointStates) -> NDArray[np.float64]:
    """Return a quantity for every state, shape (count, ...)."""
    return np.asarray(getattr(model, quantity.name)(*states[: quantity.inputs]))


def consensus(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the median over formulations, entry by entry; who gives no number has no say."""
    stack = np.array(values)
    if not np.isnan(stack).any():
        return np.asarray(np.median(stack, axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', RuntimeWarning)  # entries for which nobody has a number
        return np.asarray(np.nanmedian(stack, axis=0))


def scaled(difference: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return |difference| / max(1, |reference|): agreement to eps means at most eps."""
    return np.abs(difference) / np.maximum(1.0, np.abs(reference))
