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
from dataclasses import replace
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


def fit_consistent(
    equations: tuple[Array, Array],
    prior: Prior,
    regularization: float,
    *,
    start: ArmDescription,
) -> tuple[ArmDescription, Array]:
    """
    Return the physically consistent arm that fits the samples best under the prior.

    Returned are the arm, with identified links, friction and rotor inertias, and its base and
    friction parameters (p,). `equations` (R, z) are from `solve.equations`. The cost of the links'
    inertias is the exact log-determinant divergence from the starting set, not its second-order
    approximation in `Prior.least_squares_rows`. `start` is the starting set with the mounted hand.

    Raises IdentificationError if the solver finds no optimum, MissingDependencyError if cvxpy is
    not installed.
    """
    with require_extra('The physically consistent fit needs cvxpy', 'identify'):
        import cvxpy
    cp: Any = cvxpy
    applied = max(regularization, _MIN_REGULARIZATION)
    triangle, effort = equations
    b, f = len(prior.model.base), len(prior.friction_std)
    # The unknowns are differences from the prior's mean in units of its standard deviations, so
    # that the solver's numbers are of order one.
    root = np.asarray(np.linalg.cholesky(prior.covariance), dtype=float)
    change, friction = cp.Variable(len(root)), cp.Variable(f)
    divergence, constraints = _links(cp, prior, root, change, start)
    braking = np.flatnonzero(prior.model.friction.is_nonnegative)
    constraints.append(friction[braking] >= 0.0)
    residual = (
        triangle[:, :b] @ prior.model.base.matrix @ root @ change
        + triangle[:, b:] * prior.friction_std @ friction
        - (effort - triangle[:, :b] @ prior.center[:b])
    )
    cost = cp.sum_squares(residual) + cp.sum_squares(friction) + 2.0 * applied * divergence
    # With many samples the squared residuals are so large that the divergence is below the
    # solver's tolerance; the cost is therefore divided by sqrt(applied * |effort|), and minimised
    # undivided only if that fails, if need be to the solver's reduced accuracy of 5e-5.
    unit = 1.0 / np.sqrt(applied * max(1.0, float(np.linalg.norm(effort))))
    for one, enough in ((unit, (cp.OPTIMAL,)), (1.0, (cp.OPTIMAL, cp.OPTIMAL_INACCURATE))):
        problem = cp.Problem(cp.Minimize(one * cost), constraints)
        with suppress(cp.SolverError), catch_warnings():
            simplefilter('ignore')  # cvxpy warns of an inaccurate solution
            problem.solve(solver=cp.CLARABEL)
        if problem.status in enough:
            break
    else:
        raise IdentificationError(
            'The consistent fit found no physical arm with masses within a factor of '
            f'{MAX_MASS_RATIO:g} of the starting set. Are efforts in another unit (currents: '
            '--torque-constant, others: --effort-scale), of another order or sign, or is this '
            'another arm? Otherwise choose another --set.'
        )
    base = prior.model.base
    vector = parameter_vector(prior.reference, rotor_inertia=base.rotor_inertia)
    vector = vector + root @ change.value
    rotors = slice(LINK_PARAMETERS * prior.model.n, None)
    vector[rotors] = np.maximum(vector[rotors], 0.0)  # the solver may return less than zero
    arm = with_parameter_vector(start, vector)
    in_deviations = np.where(np.abs(friction.value) > _MIN_FRICTION_RATIO, friction.value, 0.0)
    in_deviations[braking] = np.maximum(in_deviations[braking], 0.0)
    friction_values = in_deviations * prior.friction_std
    theta = np.concatenate([base.matrix @ vector, friction_values])
    return replace(arm, friction=prior.model.friction.model(friction_values, np.zeros(f))), theta


def _links(
    cp: Any, prior: Prior, root: Array, change: Any, start: ArmDescription
) -> tuple[Any, list[Any]]:
    """Return divergence and constraints of links and rotor inertias as cvxpy's expressions."""
    total, constraints = 0.0, []
    basis = pseudo_inertia_basis()
    for i, (link, own) in enumerate(zip(prior.reference.links, start.links)):
        block = slice(LINK_PARAMETERS * i, LINK_PARAMETERS * (i + 1))
        # The pseudo-inertia P is divided by the reference's P0 = L L^T: L^-1 P L^-T.
        whitener = np.linalg.inv(np.linalg.cholesky(link.pseudo_inertia()))
        scaled = np.einsum('ka,kij->ija', root[block, block], whitener @ basis @ whitener.T)
        relative = cp.Variable((4, 4), symmetric=True)
        # One matrix product for all 16 entries: cvxpy is much slower with many small products.
        moved = scaled.reshape(16, -1) @ change[block]
        constraints.append(relative == np.eye(4) + cp.reshape(moved, (4, 4), order='C'))
        total += cp.trace(relative) - 4.0 - cp.log_det(relative)
        mass = link.mass + root[block, block][_MASS] @ change[block]
        constraints += [mass >= own.mass / MAX_MASS_RATIO, mass <= own.mass * MAX_MASS_RATIO]
    if start.hand != NO_HAND:
        hand = load_hand(start.hand).expressed_in(start.flange_transform())
        least = _MIN_REST_RATIO * with_minimum_gyration(start.links[-1] - hand).pseudo_inertia()
        last = slice(LINK_PARAMETERS * (start.n - 1), LINK_PARAMETERS * start.n)
        moved = np.einsum('ka,kij->ija', root[last, last], basis).reshape(16, -1) @ change[last]
        rest = cp.Variable((4, 4), PSD=True)
        before = prior.reference.links[-1].pseudo_inertia() - hand.pseudo_inertia() - least
        constraints.append(rest == before + cp.reshape(moved, (4, 4), order='C'))
    rotors = change[LINK_PARAMETERS * prior.model.n :]
    if rotors.size:
        before = np.array([joint.rotor_inertia for joint in prior.reference.joints])
        constraints.append(
            before / np.diag(root)[LINK_PARAMETERS * prior.model.n :] + rotors >= 0.0
        )
        total += 0.5 * cp.sum_squares(rotors)
    return total, constraints
