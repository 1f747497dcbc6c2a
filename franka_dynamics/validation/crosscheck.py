# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The backend that runs against the recursion in DH frames: the check before every start.

The four formulations are known by name here; their comparison, for people, is in agreement.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arm import ArmDescription
from ..arm.sampling import JointStates, sample_states
from ..dynamics.lagrangian import LagrangianModel
from ..dynamics.model import DynamicsModel, GRAVITY
from ..dynamics.newton_euler import NewtonEulerModel
from ..dynamics.pinocchio_model import PinocchioModel
from ..dynamics.product_of_exponentials import ExponentialsModel
from ..errors import CrosscheckError

FORMULATIONS: dict[str, Callable[[ArmDescription, ArrayLike], DynamicsModel]] = {
    'Pinocchio': PinocchioModel,
    'Newton-Euler': NewtonEulerModel,
    'exponentials': ExponentialsModel,
    'Lagrange': LagrangianModel,
}


class ComparedQuantity(NamedTuple):
    """
    A method of DynamicsModel: how many of (q, dq, ddq) it takes, and its unit.

    For forward_dynamics a torque stands in the place of ddq.
    """

    name: str
    inputs: int
    unit: str


QUANTITIES = (
    ComparedQuantity('frames', 1, 'm'),
    ComparedQuantity('jacobian', 1, 'm'),
    ComparedQuantity('center_of_mass', 1, 'm'),
    ComparedQuantity('mass_matrix', 1, 'kg m^2'),
    ComparedQuantity('coriolis_matrix', 2, 'N m s'),
    ComparedQuantity('coriolis', 2, 'N m'),
    ComparedQuantity('gravity', 1, 'N m'),
    ComparedQuantity('inverse_dynamics', 3, 'N m'),
    ComparedQuantity('forward_dynamics', 3, 'N m'),
    ComparedQuantity('kinetic_energy', 2, 'J'),
    ComparedQuantity('potential_energy', 1, 'J'),
)
PER_LINK = (
    ComparedQuantity('frames', 1, 'm'),
    ComparedQuantity('link_twists', 2, 'm/s'),
    ComparedQuantity('joint_wrenches', 3, 'N m'),
)


def build(description: ArmDescription, gravity: ArrayLike = GRAVITY) -> dict[str, DynamicsModel]:
    """Return all formulations of an arm, by name; gravity [m/s^2] is in the space frame."""
    return {name: make(description, gravity) for name, make in FORMULATIONS.items()}


def evaluate(
    model: DynamicsModel, quantity: ComparedQuantity, states: JointStates
) -> NDArray[np.float64]:
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


# 25 times the largest difference seen over 1e5 states of fer and fr3 (4e-14 N m), and far below
# any torque a sensor resolves.
TOLERANCE = 1e-12
# What the node asks of its model, and its frames.
_COMPARED = tuple(
    quantity
    for quantity in QUANTITIES
    if quantity.name in ('frames', 'mass_matrix', 'coriolis', 'gravity', 'inverse_dynamics')
)


@dataclass(frozen=True, eq=False)
class CrosscheckReport:
    """
    The largest absolute difference between two models for each quantity.

    `differences` are in SI units, by the quantity's name, over `states` random states of the arm
    of a `description`; none may exceed TOLERANCE.
    """

    description: ArmDescription
    states: int
    differences: dict[str, float]

    @property
    def largest(self) -> float:
        """The largest difference over all quantities; NaN if any is NaN."""
        return float(np.max(list(self.differences.values())))

    @property
    def passed(self) -> bool:
        """Whether every difference is within the tolerance; a NaN never is."""
        return all(value <= TOLERANCE for value in self.differences.values())

    def require(self) -> None:
        """Raise CrosscheckError, naming the worst quantity, unless the check passed."""
        if not self.passed:
            worst = max(
                self.differences,
                key=lambda key: (
                    np.inf if np.isnan(self.differences[key]) else self.differences[key]
                ),
            )
            arm = self.description
            raise CrosscheckError(
                f'The two models of {arm.name} ({arm.inertial_set}, hand {arm.hand}) differ by '
                f'{self.differences[worst]:.3g} in {worst} (tolerance {TOLERANCE:.0e}, '
                f'{self.states} states). Do not use either until franka-dynamics arm check '
                'passes.'
            )


def compare(
    backend: DynamicsModel,
    independent: DynamicsModel,
    states: JointStates,
) -> dict[str, float]:
    """Return the largest absolute difference for each quantity over a stack of states."""
    return {
        quantity.name: float(
            np.max(
                np.abs(
                    evaluate(backend, quantity, states) - evaluate(independent, quantity, states)
                )
            )
        )
        for quantity in _COMPARED
    }


def crosscheck(
    description: ArmDescription,
    *,
    gravity: ArrayLike = GRAVITY,
    count: int = 300,
    seed: int = 0,
) -> CrosscheckReport:
    """
    Compare the Pinocchio backend with the Newton-Euler recursion in DH frames.

    Parameters
    ----------
    description : ArmDescription
        The arm, with hand and payload.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2].
    count, seed : int
        How many random states within the limits, and from which seed.

    """
    states = sample_states(description, count, seed)
    differences = compare(
        PinocchioModel(description, gravity), NewtonEulerModel(description, gravity), states
    )
    return CrosscheckReport(description, count, differences)
