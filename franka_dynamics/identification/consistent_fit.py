# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Physically consistent standard parameters, fitted to torques by semidefinite programming.

Every link's pseudo-inertia must be positive definite (Wensing, Kim and Slotine 2018, IEEE RA-L
3(1)), and its centre of mass must lie in a box around the link's shapes, if known (Sousa and
Cortesao 2014, IJRR 33(6)). Friction must brake. The prior about the starting set determines the
parameters that torques do not. If a hand is mounted, the last link must also be physical without
it, so that the hand can be removed. The fit is a convex problem, whose size does not depend on the
number of samples.
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
from ..arm.shapes import load_hand_shapes, load_shapes, Shape, ShapeKind
from ..dynamics.regressor import parameter_vector, PER_LINK, with_parameter_vector
from ..errors import IdentificationError, needing
from ..typing import Array

_MASS, _MOMENT = PER_LINK - 1, slice(PER_LINK - 4, PER_LINK - 1)
# Largest ratio of a link's fitted to its starting mass, and of starting to fitted mass.
MASS_FACTOR = 3.0
# Smallest precision of the fit's prior. Without a prior a link could become a flat body or a
# point, on the boundary of the cone of physical links.
_LEAST_REGULARIZATION = 1e-2
# The pseudo-inertia of the last link without the hand must exceed _LEAST_REST times its value in
# the starting set (the difference must be positive semidefinite).
_LEAST_REST = 1e-3
# Friction parameters of magnitude below _NO_FRICTION times their prior standard deviation are
# within the solver's accuracy and are set to zero.
_NO_FRICTION = 1e-6
# First words of the solver's status if there is no solution; '_inaccurate' may follow.
_NO_SOLUTION = ('infeasible', 'unbounded')


@dataclass(frozen=True, eq=False)
class ConsistentFit:
    """
    A physically consistent arm and its parameters.

    `arm` has identified links, friction, and rotor inertias if they were identified; `theta` (p,)
    are its base parameters, then its friction parameters. `regularization` is the precision of the
    prior in the fit, at least 0.01.
    """

    arm: ArmDescription
    theta: Array
    regularization: float


def fit_consistent(
    equations: tuple[Array, Array],
    prior: Prior,
    regularization: float,
    *,
    start: ArmDescription,
    friction_deviations: Array | None = None,
) -> ConsistentFit:
    """
    Return the physically consistent arm that fits the samples best under the prior.

    `equations` (R, z) are from `solve.equations`. The cost of the links' inertias is the exact
    log-determinant divergence from the starting set, not its second-order approximation in
    `Prior.rows`. `start` is the starting set with the mounted hand. `friction_deviations` (f,), by
    default zeros, are the friction parameters' standard deviations, stored in the arm's friction
    model.

    Raises IdentificationError if the solver finds no optimum or no physical arm is within the mass
    bounds, MissingDependencyError if cvxpy is not installed.
    """
    with needing('The physically consistent fit needs cvxpy', 'identify'):
        import cvxpy
    cp: Any = cvxpy
    applied = max(regularization, _LEAST_REGULARIZATION)
    triangle, effort = equations
    b, f = len(prior.model.base), len(prior.friction_deviations)
    # The unknowns are differences from the prior's mean in units of its standard deviations, so
    # that the solver's numbers are of order one.
    root = np.asarray(np.linalg.cholesky(prior.covariance), dtype=float)
    change, friction = cp.Variable(len(root)), cp.Variable(f)
    divergence, constraints = _links(cp, prior, root, change, start)
    braking = np.flatnonzero(prior.model.friction.braking)
    constraints.append(friction[braking] >= 0.0)
    residual = (
        triangle[:, :b] @ prior.model.base.matrix @ root @ change
        + triangle[:, b:] * prior.friction_deviations @ friction
        - (effort - triangle[:, :b] @ prior.center[:b])
    )
    cost = cp.sum_squares(residual) + cp.sum_squares(friction) + 2.0 * applied * divergence
    # With many samples the squared residuals are so large that the divergence is below the
    # solver's tolerance; the cost is therefore divided by sqrt(applied * |effort|), and minimised
    # undivided only if that fails.
    unit = 1.0 / np.sqrt(applied * max(1.0, float(np.linalg.norm(effort))))
    _solve(cp, [cp.Problem(cp.Minimize(one * cost), constraints) for one in (unit, 1.0)])
    mean = parameter_vector(prior.reference, rotor_inertia=prior.model.base.rotor_inertia)
    arm = with_parameter_vector(start, mean + root @ change.value)
    # The solver may return a small negative rotor inertia in place of zero.
    joints = (replace(one, rotor_inertia=max(one.rotor_inertia, 0.0)) for one in arm.joints)
    arm = replace(arm, joints=tuple(joints))
    in_deviations = np.where(np.abs(friction.value) > _NO_FRICTION, friction.value, 0.0)
    in_deviations[braking] = np.maximum(in_deviations[braking], 0.0)
    friction_values = in_deviations * prior.friction_deviations
    deviations = np.zeros(f) if friction_deviations is None else friction_deviations
    return ConsistentFit(
        replace(arm, friction=prior.model.friction.model(friction_values, deviations)),
        np.concatenate([prior.model.base.values(arm), friction_values]),
        applied,
    )


def _links(
    cp: Any, prior: Prior, root: Array, change: Any, start: ArmDescription
) -> tuple[Any, list[Any]]:
    """Return divergence and constraints of links and rotor inertias as cvxpy's expressions."""
    total, constraints = 0.0, []
    basis = pseudo_inertia_basis()
    bounds = center_bounds(start)
    for i, (link, own) in enumerate(zip(prior.reference.links, start.links)):
        block = slice(PER_LINK * i, PER_LINK * (i + 1))
        # The pseudo-inertia P is divided by the reference's P0 = L L^T: L^-1 P L^-T.
        whitener = np.linalg.inv(np.linalg.cholesky(link.pseudo_inertia()))
        scaled = np.einsum('ka,kij->ija', root[block, block], whitener @ basis @ whitener.T)
        relative = cp.Variable((4, 4), symmetric=True)
        # One matrix product for all 16 entries: cvxpy is much slower with many small products.
        moved = scaled.reshape(16, -1) @ change[block]
        constraints.append(relative == np.eye(4) + cp.reshape(moved, (4, 4), order='C'))
        total += cp.trace(relative) - 4.0 - cp.log_det(relative)
        mass = link.mass + root[block, block][_MASS] @ change[block]
        constraints += [mass >= own.mass / MASS_FACTOR, mass <= own.mass * MASS_FACTOR]
        bound = bounds[i]
        if bound is not None:
            moment = link.first_moment + root[block, block][_MOMENT] @ change[block]
            constraints += [moment >= mass * bound[0], moment <= mass * bound[1]]
    if start.hand != NO_HAND:
        hand = load_hand(start.hand).expressed_in(start.flange_transform())
        least = _LEAST_REST * with_minimum_gyration(start.links[-1] - hand).pseudo_inertia()
        last = slice(PER_LINK * (start.n - 1), PER_LINK * start.n)
        moved = np.einsum('ka,kij->ija', root[last, last], basis).reshape(16, -1) @ change[last]
        rest = cp.Variable((4, 4), PSD=True)
        before = prior.reference.links[-1].pseudo_inertia() - hand.pseudo_inertia() - least
        constraints.append(rest == before + cp.reshape(moved, (4, 4), order='C'))
    rotors = change[PER_LINK * prior.model.n :]
    if rotors.size:
        before = np.array([joint.rotor_inertia for joint in prior.reference.joints])
        constraints.append(before / np.diag(root)[PER_LINK * prior.model.n :] + rotors >= 0.0)
        total += 0.5 * cp.sum_squares(rotors)
    return total, constraints


def _solve(cp: Any, problems: list[Any]) -> None:
    """
    Solve the first problem to full accuracy, or else the second.

    Raises IdentificationError if neither is solved, or at once if one is infeasible or unbounded.
    """
    for problem in problems:
        with suppress(cp.SolverError), catch_warnings():
            simplefilter('ignore')  # cvxpy warns of an inaccurate solution; the loop goes on
            problem.solve(solver=cp.CLARABEL)
        if problem.status == cp.OPTIMAL:
            return
        if problem.status is not None and problem.status.startswith(_NO_SOLUTION):
            raise IdentificationError(
                f'The consistent fit has no solution ({problem.status}): no physical arm has '
                f'masses within a factor of {MASS_FACTOR:g} of the starting set. Choose another '
                'starting set.'
            )
    raise IdentificationError(
        'The solver of the consistent fit failed, perhaps because the measured torques are far '
        'from those of the starting set; choose another set, or a larger --prior.'
    )


# Margin of the centre of mass's bounds around a link's collision shapes. The FER's capsules
# enclose the joints but not the necks between them: published centres of mass lie up to 57 mm
# outside the capsules.
CENTER_MARGIN_M = 0.06
# Margin of the bounds around the link's starting centre of mass, which may lie outside the shapes.
_START_MARGIN_M = 0.01


def center_bounds(start: ArmDescription) -> list[Array | None]:
    """
    Return bounds of each link's centre of mass, (2, 3) [m] in the link's frame.

    The bounds enclose the link's collision shapes and starting centre of mass, with margins; they
    are None for a link without shapes. The arm's name selects the shapes. If the arm has shapes,
    any mounted hand gets the shapes of Franka's hand.
    """
    shapes = {frame: list(bodies) for frame, bodies in load_shapes(start.name).items()}
    if start.hand != NO_HAND and shapes:
        flange = start.flange_transform()
        shapes.setdefault(start.n, []).extend(shape.moved(flange) for shape in load_hand_shapes())
    return [
        _box(shapes[i], link.center_of_mass) if shapes.get(i) else None
        for i, link in enumerate(start.links, start=1)
    ]


def _box(shapes: list[Shape], own: Array) -> Array:
    """Return the corners (2, 3) of a box around `shapes` and a centre of mass, with margins."""
    corners = [own - _START_MARGIN_M, own + _START_MARGIN_M]
    for shape in shapes:
        axes = np.abs(shape.pose[:3, :3])
        if shape.kind is ShapeKind.BOX:
            extent = axes @ np.array(shape.size) / 2.0
        else:  # cylinder, capsule or sphere: radius and, of the first two, length
            radius, *length = shape.size
            extent = radius + axes[:, 2] * sum(length) / 2.0
        corners += [shape.pose[:3, 3] + sign * (extent + CENTER_MARGIN_M) for sign in (-1.0, 1.0)]
    return np.array([np.min(corners, axis=0), np.max(corners, axis=0)])
