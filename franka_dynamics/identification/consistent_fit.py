# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Physically consistent standard parameters, fitted to torques by semidefinite programming.

Every link's pseudo-inertia must be positive definite (Wensing, Kim and Slotine 2018, IEEE RA-L
3(1)), and friction must brake. The prior about the starting set determines the parameters that
torques do not. If a hand is mounted, the last link must also be physical without it, so that the
hand can be removed. The fit is a convex problem, whose size does not depend on the number of
samples.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from .prior import Prior, pseudo_inertia_basis, with_minimum_gyration
from ..arm import ArmDescription
from ..arm.hand_file import load_hand, NO_HAND
from ..dynamics.regressor import LINK_PARAMETERS, parameter_vector, with_parameter_vector
from ..errors import IdentificationError, require_extra
from ..typing import Array

_MASS = LINK_PARAMETERS - 1
# Largest ratio of a link's fitted to its starting mass, and of starting to fitted mass. Real arms
# stay within it; without it the solver fails on torques that no arm has.
MAX_MASS_RATIO = 3.0
# Smallest precision of the fit's prior. Without a prior a link could become a flat body or a
# point, on the boundary of the cone of physical links.
_MIN_REGULARIZATION = 1e-2
# The pseudo-inertia of the last link without the hand must exceed _MIN_REST_RATIO times
# its value in the starting set (the difference must be positive semidefinite).
_MIN_REST_RATIO = 1e-3
# Friction parameters of magnitude below _MIN_FRICTION_RATIO times their prior standard deviation
# are within the solver's accuracy and are set to zero.
_MIN_FRICTION_RATIO = 1e-6


@dataclass(frozen=True, eq=False)
class PhysicalLinks:
    """
    What makes parameters physical, in numbers that all fits about a starting set share.

    The unknowns x (p,) are differences of the standard parameters from their prior mean `center`
    in units of its standard deviations: the parameters are `center` + `root` x. The pseudo-inertia
    of link i relative to the mean's is 1 + `relative[i]` x of the link, (n, 16, 10). `masses` (n,)
    are those of the starting set [kg]. `rest` has the last link's pseudo-inertia without the
    mounted hand, less its smallest value, at the mean (4, 4) and by x (16, 10).
    """

    center: Array
    root: Array
    relative: Array
    masses: Array
    rest: tuple[Array, Array] | None

    @classmethod
    def about(cls, prior: Prior, start: ArmDescription) -> PhysicalLinks:
        """Return the physical links of a prior about the starting set `start` with its hand."""
        center = parameter_vector(prior.reference, rotor_inertia=prior.model.base.rotor_inertia)
        root = np.asarray(np.linalg.cholesky(prior.covariance), dtype=float)
        basis, relative = pseudo_inertia_basis(), []
        inertias = [link.pseudo_inertia() for link in prior.reference.links]
        for block, inertia in zip(_blocks(start.n), inertias):
            # The pseudo-inertia P is divided by the reference's P0 = L L^T: L^-1 P L^-T.
            whitener = np.linalg.inv(np.linalg.cholesky(inertia))
            scaled = np.einsum('ka,kij->ija', root[block, block], whitener @ basis @ whitener.T)
            relative.append(scaled.reshape(16, -1))
        rest = None
        if start.hand != NO_HAND:
            hand = load_hand(start.hand).expressed_in(start.flange_transform())
            least = (
                _MIN_REST_RATIO * with_minimum_gyration(start.links[-1] - hand).pseudo_inertia()
            )
            moved = np.einsum('ka,kij->ija', root[block, block], basis).reshape(16, -1)
            rest = inertias[-1] - hand.pseudo_inertia() - least, moved
        masses = np.array([link.mass for link in start.links])
        return cls(center, root, np.array(relative), masses, rest)


def _blocks(n: int) -> list[slice]:
    """Return the places of each link's parameters."""
    return [slice(LINK_PARAMETERS * i, LINK_PARAMETERS * (i + 1)) for i in range(n)]


def fit_consistent(
    equations: tuple[Array, Array], prior: Prior, links: PhysicalLinks, regularization: float
) -> tuple[Array, Array]:
    """
    Return the physically consistent parameters that fit the samples best under the prior.

    Returned are the standard parameters, (10 n,) or (11 n,), and friction parameters (f,).
    `equations` (R, z) are from `solve.equations`. The cost of the links' inertias is the exact
    log-determinant divergence from the starting set, not its second-order approximation in
    `Prior.least_squares_rows`.

    Raises IdentificationError if the solver finds no optimum, MissingDependencyError if cvxpy is
    not installed.
    """
    with require_extra('The physically consistent fit needs cvxpy', 'identify'):
        import cvxpy
    cp: Any = cvxpy
    applied = max(regularization, _MIN_REGULARIZATION)
    triangle, effort = equations
    b, f = len(prior.model.base), len(prior.friction_std)
    # The unknowns are in units of their standard deviations, so that the solver's numbers are of
    # order one.
    change, friction = cp.Variable(len(links.root)), cp.Variable(f)
    divergence, constraints = _physical(cp, links, change)
    braking = np.flatnonzero(prior.model.friction.is_nonnegative)
    residual = (
        triangle[:, :b] @ prior.model.base.matrix @ links.root @ change
        + triangle[:, b:] * prior.friction_std @ friction
        - (effort - triangle[:, :b] @ prior.center[:b])
    )
    cost = cp.sum_squares(residual) + cp.sum_squares(friction) + 2.0 * applied * divergence
    # With many samples the squared residuals are so large that the divergence is below the
    # solver's tolerance; the cost is therefore divided by sqrt(applied * |effort|).
    unit = 1.0 / np.sqrt(applied * max(1.0, float(np.linalg.norm(effort))))
    _minimise(cp, cost, unit, [*constraints, friction[braking] >= 0.0])
    vector = links.center + links.root @ change.value
    rotors = slice(LINK_PARAMETERS * prior.model.n, None)
    vector[rotors] = np.maximum(vector[rotors], 0.0)  # the solver may return less than zero
    in_deviations = np.where(np.abs(friction.value) > _MIN_FRICTION_RATIO, friction.value, 0.0)
    in_deviations[braking] = np.maximum(in_deviations[braking], 0.0)
    return vector, in_deviations * prior.friction_std


def arm_from_fit(
    start: ArmDescription, prior: Prior, fitted: tuple[Array, Array], covariance: Array
) -> ArmDescription:
    """
    Return the starting set with the parameters that `fit_consistent` found.

    `covariance` (p, p) is that of base and friction parameters.
    """
    vector, friction = fitted
    own = covariance[len(prior.model.base) :, len(prior.model.base) :]
    model = prior.model.friction.model(friction, own)
    return replace(with_parameter_vector(start, vector), friction=model)


def _minimise(cp: Any, cost: Any, unit: float, constraints: list[Any]) -> None:
    """
    Minimise a cost times a unit, or undivided if that fails, if need be to an accuracy of 5e-5.

    Raises IdentificationError if the solver finds no optimum.
    """
    for one, enough in ((unit, (cp.OPTIMAL,)), (1.0, (cp.OPTIMAL, cp.OPTIMAL_INACCURATE))):
        problem = cp.Problem(cp.Minimize(one * cost), constraints)
        with suppress(cp.SolverError), catch_warnings():
            simplefilter('ignore')  # cvxpy warns of an inaccurate solution
            problem.solve(solver=cp.CLARABEL)
        if problem.status in enough:
            return
    raise IdentificationError(
        'The consistent fit found no physical arm with masses within a factor of '
        f'{MAX_MASS_RATIO:g} of the starting set. Are efforts in another unit (currents: '
        '--torque-constant, others: --effort-scale), of another order or sign, or is this '
        'another arm? Otherwise choose another --set.'
    )


def _physical(cp: Any, links: PhysicalLinks, change: Any) -> tuple[Any, list[Any]]:
    """Return divergence and constraints of links and rotor inertias as cvxpy's expressions."""
    total, constraints = 0.0, []
    blocks = _blocks(len(links.masses))
    for block, by, own in zip(blocks, links.relative, links.masses):
        relative = cp.Variable((4, 4), symmetric=True)
        # One matrix product for all 16 entries: cvxpy is much slower with many small products.
        moved = by @ change[block]
        constraints.append(relative == np.eye(4) + cp.reshape(moved, (4, 4), order='C'))
        total += cp.trace(relative) - 4.0 - cp.log_det(relative)
        mass = links.center[block][_MASS] + links.root[block, block][_MASS] @ change[block]
        constraints += [mass >= own / MAX_MASS_RATIO, mass <= own * MAX_MASS_RATIO]
    if links.rest is not None:
        before, by = links.rest
        rest = cp.Variable((4, 4), PSD=True)
        moved = by @ change[blocks[-1]]
        constraints.append(rest == before + cp.reshape(moved, (4, 4), order='C'))
    rotors = change[blocks[-1].stop :]
    if rotors.size:
        before = links.center[blocks[-1].stop :]
        constraints.append(before / np.diag(links.root)[blocks[-1].stop :] + rotors >= 0.0)
        total += 0.5 * cp.sum_squares(rotors)
    return total, constraints
