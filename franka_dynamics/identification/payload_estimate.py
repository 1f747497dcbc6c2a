# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A payload as it was estimated: what is known of it, how well, and a body that can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .prior import pseudo_inertia_basis
from ..arm import LinkInertia
from ..arm.payload import payload_array
from ..dynamics.regressor import PER_LINK
from ..errors import IdentificationError, MissingDependencyError
from ..typing import Array

# An inertia is shown if its deviation is less than that of the load's mass at this distance.
_SHOWN_RADIUS_M = 0.1
_STEP = 1e-6


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """
    An estimated payload in the flange frame.

    Attributes
    ----------
    values : ndarray, shape (10,)
        Mass [kg], centre of mass [m], inertia about it (xx xy xz yy yz zz) [kg m^2], as the
        least squares found them; they need not belong to a real body.
    deviations : ndarray, shape (10,)
        Standard deviations of `values`.
    inertia_shown : bool
        Whether the motion shows the inertia to better than mass times (0.1 m)^2.
    payload : ndarray, shape (10,)
        The node's `payload`: the nearest body that can be, in the metric of the covariance; a
        point mass if the inertia is not shown.
    noise : ndarray, shape (n,)
        Standard deviation of each joint's residual [N m].

    """

    values: Array
    deviations: Array
    inertia_shown: bool
    payload: Array
    noise: Array

    @classmethod
    def of(
        cls,
        vector: Array,
        covariance: Array,
        *,
        noise: Array,
        arm_mass: float,
    ) -> PayloadEstimate:
        """
        Return the estimate of a load whose ten parameters about the flange were found.

        Parameters
        ----------
        vector, covariance : ndarray, shape (10,) and (10, 10)
            In the order of Gautier and Khalil 1990's eq. (3), about the flange's origin.
        noise : ndarray, shape (n,)
            Of the joints [N m].
        arm_mass : float
            What a load is measured by to be called one [kg].

        Raises
        ------
        IdentificationError
            If no load is seen.

        """
        mass, spread = float(vector[9]), float(np.sqrt(covariance[9, 9]))
        if not mass > max(3.0 * spread, 1e-6 * arm_mass):
            raise IdentificationError(
                f'No payload is seen: its mass comes out as {mass:.3g} kg with a standard '
                f'deviation of {spread:.2g} kg. Are the recordings with and without it swapped, '
                'or is the motion too small?'
            )
        values = _about_center(vector)
        jacobian = np.array(
            [
                (_about_center(vector + step) - _about_center(vector - step)) / (2.0 * _STEP)
                for step in _STEP * np.eye(PER_LINK)
            ]
        ).T
        deviations = np.sqrt(np.einsum('ij,jk,ik->i', jacobian, covariance, jacobian))
        shown = bool(deviations[4:].max() < mass * _SHOWN_RADIUS_M**2)
        body = (
            nearest_body(vector, covariance)
            if shown
            else LinkInertia.from_center_of_mass(mass, values[1:4], np.zeros(6))
        )
        return cls(values, deviations, shown, payload_array(body), noise)


def _about_center(vector: Array) -> Array:
    """Return mass, centre of mass and inertia about it of ten parameters about the origin."""
    return payload_array(LinkInertia.from_parameters(vector))


def nearest_body(vector: Array, covariance: Array) -> LinkInertia:
    """
    Return the physical body that is likeliest under an estimate, itself if it can be.

    Parameters
    ----------
    vector, covariance : ndarray, shape (10,) and (10, 10)
        In the order of Gautier and Khalil 1990's eq. (3).

    Raises
    ------
    MissingDependencyError
        If it cannot be and cvxpy is not installed.
    IdentificationError
        If the solver finds none.

    """
    body = LinkInertia.from_parameters(vector)
    if body.is_physical():
        return body
    try:
        import cvxpy as cp
    except ImportError as error:
        raise MissingDependencyError(
            'A load that no real body can be needs cvxpy to be repaired: '
            "pip install 'franka_dynamics[identify]'."
        ) from error
    root = np.linalg.cholesky(covariance)
    change = cp.Variable(PER_LINK)
    parameters = vector + root @ change
    pseudo = cp.Variable((4, 4), PSD=True)
    basis = pseudo_inertia_basis()
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(change)), [pseudo == _combined(parameters, basis)]
    )
    problem.solve(solver=cp.CLARABEL)
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise IdentificationError(f'No body near the estimate was found ({problem.status}).')
    found = vector + root @ np.asarray(change.value, dtype=float)
    return _inside(LinkInertia.from_parameters(found))


def _combined(parameters: Any, basis: Array) -> Any:
    return sum(parameters[k] * basis[k] for k in range(PER_LINK))


def _inside(body: LinkInertia) -> LinkInertia:
    """Return the body with the solver's rounding taken off: nothing outside the cone."""
    low = body.consistency_margin()
    if low >= 0.0:
        return body
    pseudo = body.pseudo_inertia()[:3, :3] - 2.0 * low * np.eye(3)
    return LinkInertia(body.mass, body.first_moment, np.trace(pseudo) * np.eye(3) - pseudo)
