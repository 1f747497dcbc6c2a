# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Physically consistent standard parameters, fitted to torques by semidefinite programming.

Every link's pseudo-inertia must be positive definite (Wensing, Kim and Slotine 2018, IEEE RA-L
3(1)), and friction must brake. The prior about the starting set determines the parameters that
torques do not. If a hand is mounted, the last link must also be physical without it, so that the
hand can be removed. The fit is a convex problem, whose size does not depend on the number of
samples. Clarabel solves it in its own form: a quadratic cost of unknowns x, and b - A x in cones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .prior import Prior, pseudo_inertia_basis, with_minimum_gyration
from ..arm import ArmDescription
from ..arm.consistency import upper_triangle
from ..arm.hand_file import load_hand, NO_HAND
from ..dynamics.regressor import parameter_vector, PER_LINK, with_parameter_vector
from ..errors import IdentificationError, needing
from ..typing import Array

# Largest ratio of a link's fitted to its starting mass, and of starting to fitted mass. Real arms
# stay within it; without it the solver fails on torques that no arm has.
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
_DETERMINANT = 14  # further unknowns of a link, for the determinant of its pseudo-inertia

# A kind of cone, and constants (m,) and rows (m, width): constants + rows @ x is in the cone.
Cone = tuple[Any, Array, Array]


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
    approximation in `Prior.rows`. `start` is the starting set with the mounted hand.

    Raises IdentificationError if the solver finds no optimum, MissingDependencyError if clarabel
    or scipy is not installed.
    """
    with needing('The physically consistent fit needs clarabel and scipy', 'identify'):
        import clarabel
        from scipy.sparse import csc_matrix
    applied = max(regularization, _LEAST_REGULARIZATION)
    triangle, effort = equations
    base, units = prior.model.base, prior.friction_deviations
    b, braking = len(base), prior.model.friction.braking
    # The unknowns are differences from the prior's mean in units of its standard deviations, so
    # that the solver's numbers are of order one: of the standard parameters, then of friction.
    root = np.asarray(np.linalg.cholesky(prior.covariance), dtype=float)
    columns = np.concatenate([triangle[:, :b] @ base.matrix @ root, triangle[:, b:] * units], 1)
    off = effort - triangle[:, :b] @ prior.center[:b]
    first, size = len(root), columns.shape[1]
    width = size + _DETERMINANT * start.n
    cones, divergence = _link_cones(clarabel, prior, root, size, start)
    keys = np.eye(width)
    own = first + np.flatnonzero(braking)
    cones.append((clarabel.NonnegativeConeT(len(own)), np.zeros(len(own)), keys[own]))
    rotors = np.arange(PER_LINK * start.n, first)
    if len(rotors):
        before = [joint.rotor_inertia for joint in prior.reference.joints]
        least = np.array(before) / np.diag(root)[rotors]
        cones.append((clarabel.NonnegativeConeT(len(rotors)), least, keys[rotors]))
    # The cost is 1/2 x' quadratic x + linear x.
    weights = np.zeros(width)
    weights[rotors], weights[first:size] = applied, 1.0
    quadratic, linear = np.diag(weights), applied * divergence
    quadratic[:size, :size] += columns.T @ columns
    linear[:size] -= columns.T @ off
    # With many samples the squared residuals are so large that the divergence would be below the
    # solver's tolerance.
    unit = 1.0 / np.sqrt(applied * max(1.0, float(np.linalg.norm(effort))))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    kinds, constants, rows = zip(*cones)
    found = clarabel.DefaultSolver(
        csc_matrix(np.triu(unit * quadratic)),
        unit * linear,
        csc_matrix(-np.concatenate(rows)),
        np.concatenate(constants),
        list(kinds),
        settings,
    ).solve()
    if found.status not in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved):
        raise IdentificationError(
            'The consistent fit found no physical arm with masses within a factor of '
            f'{MASS_FACTOR:g} of the starting set: the measured torques may be far from those of '
            'this set; choose another set, or a larger --prior.'
        )
    change, rubbing = np.split(np.array(found.x)[:size], [first])
    mean = parameter_vector(prior.reference, rotor_inertia=base.rotor_inertia)
    arm = with_parameter_vector(start, mean + root @ change)
    # The solver may return a small negative rotor inertia in place of zero.
    joints = (replace(one, rotor_inertia=max(one.rotor_inertia, 0.0)) for one in arm.joints)
    arm = replace(arm, joints=tuple(joints))
    rubbing = np.where(np.abs(rubbing) > _NO_FRICTION, rubbing, 0.0)
    rubbing[braking] = np.maximum(rubbing[braking], 0.0)
    friction = units * rubbing
    theta = np.concatenate([base.values(arm), friction])
    return replace(arm, friction=prior.model.friction.model(friction, np.zeros_like(units))), theta


def _link_cones(
    clarabel: Any, prior: Prior, root: Array, size: int, start: ArmDescription
) -> tuple[list[Cone], Array]:
    """
    Return the cones of the links, and the coefficients (width,) of half of their divergence.

    The first `size` unknowns are those of `fit_consistent`. log det P of a link's pseudo-inertia P
    is the largest sum of t_k <= log z_kk for which [[P, Z], [Z', diag(Z)]] is positive
    semidefinite and Z lower triangular (Ben-Tal and Nemirovski 2001, "Lectures on modern convex
    optimization", section 4.2).
    """
    width = size + _DETERMINANT * start.n
    cones: list[Cone] = []
    divergence = np.zeros(width)

    def definite(constant: Array, moves: Array) -> None:
        """Require constant (k, k) + x @ moves (width, k, k) to be positive semidefinite."""
        kind = clarabel.PSDTriangleConeT(len(constant))
        cones.append((kind, upper_triangle(constant), upper_triangle(moves).T))

    def moved(i: int, whitener: Array) -> Array:
        """Return the changes of W P W' of link i by each unknown, (width, 4, 4)."""
        block = slice(PER_LINK * i, PER_LINK * (i + 1))
        basis = whitener @ pseudo_inertia_basis() @ whitener.T
        found = np.zeros((width, 4, 4))
        found[block] = np.einsum('ka,kij->aij', root[block, block], basis)
        return found

    for i, (link, own) in enumerate(zip(prior.reference.links, start.links)):
        first = size + _DETERMINANT * i
        # P is divided by the reference's P0 = L L^T: L^-1 P L^-T.
        relative = moved(i, np.linalg.inv(np.linalg.cholesky(link.pseudo_inertia())))
        divergence += np.trace(relative, axis1=1, axis2=2)
        moves = np.zeros((width, 8, 8))
        moves[:, :4, :4] = relative
        for unknown, (row, column) in enumerate(zip(*np.tril_indices(4)), start=first):
            moves[unknown, row, 4 + column] = 1.0
            if row == column:
                moves[unknown, 4 + row, 4 + row] = 1.0
                log = np.zeros((3, width))
                log[0, first + PER_LINK + row] = log[2, unknown] = 1.0
                cones.append((clarabel.ExponentialConeT(), np.array([0.0, 1.0, 0.0]), log))
                divergence -= log[0]
        definite(np.diag([1.0] * 4 + [0.0] * 4), moves)
        mass = moved(i, np.eye(4))[:, 3, 3]
        room = np.array([link.mass - own.mass / MASS_FACTOR, own.mass * MASS_FACTOR - link.mass])
        cones.append((clarabel.NonnegativeConeT(2), room, np.array([mass, -mass])))
    if start.hand != NO_HAND:
        hand = load_hand(start.hand).expressed_in(start.flange_transform())
        least = _LEAST_REST * with_minimum_gyration(start.links[-1] - hand).pseudo_inertia()
        before = prior.reference.links[-1].pseudo_inertia() - hand.pseudo_inertia() - least
        definite(before, moved(start.n - 1, np.eye(4)))
    return cones, divergence
