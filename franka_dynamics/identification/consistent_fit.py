# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Physically consistent standard parameters, fitted to torques by Newton's method.

Every link's pseudo-inertia must be positive definite (Wensing, Kim and Slotine 2018, IEEE RA-L
3(1)), and friction must brake. The prior about the starting set determines the parameters that
torques do not. If a hand is mounted, the last link must also be physical without it, so that the
hand can be removed. The fit is a convex problem, whose size does not depend on the number of
samples. The prior's divergence is itself a barrier of the cone of physical links; the other bounds
have logarithmic barriers, whose weight falls to nothing (Boyd and Vandenberghe 2004, "Convex
optimization", section 11.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .prior import Prior, pseudo_inertia_basis, with_minimum_gyration
from ..arm import ArmDescription, LinkInertia
from ..arm.hand_file import load_hand, NO_HAND
from ..dynamics.regressor import parameter_vector, PER_LINK, with_parameter_vector
from ..errors import IdentificationError
from ..typing import Array

_MASS = PER_LINK - 1
# Largest ratio of a link's fitted to its starting mass, and of starting to fitted mass. Real arms
# stay within it.
MASS_FACTOR = 3.0
# Smallest precision of the fit's prior. Without a prior a link could become a flat body or a
# point, on the boundary of the cone of physical links.
_LEAST_REGULARIZATION = 1e-2
# The pseudo-inertia of the last link without the hand must exceed _LEAST_REST times its value in
# the starting set (the difference must be positive semidefinite).
_LEAST_REST = 1e-3
# Friction parameters of magnitude below _NO_FRICTION times their prior standard deviation are
# within the barriers' accuracy and are set to zero.
_NO_FRICTION = 1e-4
# The barriers' weight falls by _FALL from the size of the cost to _LAST.
_FALL, _LAST = 0.1, 1e-8
# Largest number of Newton's steps for each weight; decrease of the cost (of weighted squares) at
# which they end.
_STEPS, _CONVERGED = 100, 1e-7
_SHORTEST = 1e-9  # smallest part of a step
_LEFT = 1e-6  # largest decrease that may be left, relative to the cost


class _Cone(NamedTuple):
    """
    A symmetric matrix that must be positive definite, linear in the unknowns `which`, k of them.

    It is `start` (d, d) plus the unknowns times `slopes` (k, d, d). `weight` is that of minus its
    log-determinant in the cost; 0 for a bound.
    """

    which: slice
    start: Array
    slopes: Array
    weight: float

    def at(self, x: Array) -> Array:
        """Return the matrix at unknowns x."""
        return np.asarray(self.start + np.tensordot(x[self.which], self.slopes, 1))


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

    Raises IdentificationError if Newton's method does not converge.
    """
    applied = max(regularization, _LEAST_REGULARIZATION)
    triangle, effort = equations
    b, f = len(prior.model.base), len(prior.friction_deviations)
    # The unknowns are differences from the prior's mean in units of its standard deviations, so
    # that they are of order one; friction comes last.
    root = np.asarray(np.linalg.cholesky(prior.covariance), dtype=float)
    m, rotors = len(root), np.arange(PER_LINK * prior.model.n, len(root))
    inertial = triangle[:, :b] @ prior.model.base.matrix @ root
    rows = np.hstack([inertial, triangle[:, b:] * prior.friction_deviations])
    # The cost is x^T hessian x / 2 + slope^T x, and the cones' log-determinants.
    hessian = 2.0 * rows.T @ rows
    slope = -2.0 * rows.T @ (effort - triangle[:, :b] @ prior.center[:b])
    hessian[range(m, m + f), range(m, m + f)] += 2.0
    hessian[rotors, rotors] += 2.0 * applied
    cones, x = _cones(prior, root, start, 2.0 * applied), np.zeros(m + f)
    for cone in cones:
        slope[cone.which] += cone.weight * np.trace(cone.slopes, axis1=1, axis2=2)
    # Bounds of masses, rotors and friction: lines @ x + least > 0.
    braking = m + np.flatnonzero(prior.model.friction.braking)
    masses = np.arange(_MASS, PER_LINK * prior.model.n, PER_LINK)
    own, reference = (
        np.array([link.mass for link in one.links]) for one in (start, prior.reference)
    )
    turned = np.eye(m + f)
    turned[:m, :m] = root
    inertia = np.array([joint.rotor_inertia for joint in prior.reference.joints])[: len(rotors)]
    lines = np.concatenate([turned[masses], -turned[masses], turned[rotors], turned[braking]])
    least = np.concatenate(
        [
            reference - own / MASS_FACTOR,
            own * MASS_FACTOR - reference,
            inertia,
            np.zeros(len(braking)),
        ]
    )
    x[braking] = x[rotors] = 1.0
    if start.hand != NO_HAND:
        last = cones[-1].which
        rest = with_minimum_gyration(start.links[-1] - _hand(start)) + _hand(start)
        off = rest.parameters() - prior.reference.links[-1].parameters()
        x[last] = np.linalg.solve(root[last, last], off)
    x = _minimum(hessian, slope, cones, (lines, least), x)
    mean = parameter_vector(prior.reference, rotor_inertia=prior.model.base.rotor_inertia)
    arm = with_parameter_vector(start, mean + root @ x[:m])
    friction = np.where(np.abs(x[m:]) > _NO_FRICTION, x[m:], 0.0) * prior.friction_deviations
    theta = np.concatenate([prior.model.base.values(arm), friction])
    return replace(arm, friction=prior.model.friction.model(friction, np.zeros(f))), theta


def _hand(start: ArmDescription) -> LinkInertia:
    return load_hand(start.hand).expressed_in(start.flange_transform())


def _cones(prior: Prior, root: Array, start: ArmDescription, weight: float) -> list[_Cone]:
    """Return the links' cones with `weight`, and that of the last link without the hand."""
    basis, found = pseudo_inertia_basis(), []
    for i, link in enumerate(prior.reference.links):
        block = slice(PER_LINK * i, PER_LINK * (i + 1))
        slopes = np.einsum('ka,kij->aij', root[block, block], basis)
        # The pseudo-inertia P is divided by the reference's P0 = L L^T: L^-1 P L^-T.
        whitener = np.linalg.inv(np.linalg.cholesky(link.pseudo_inertia()))
        found.append(_Cone(block, np.eye(4), whitener @ slopes @ whitener.T, weight))
    if start.hand != NO_HAND:
        hand = _hand(start)
        least = _LEAST_REST * with_minimum_gyration(start.links[-1] - hand).pseudo_inertia()
        before = link.pseudo_inertia() - hand.pseudo_inertia() - least
        found.append(_Cone(block, before, slopes, 0.0))
    return found


def _minimum(
    hessian: Array,
    slope: Array,
    cones: Sequence[_Cone],
    bounds: tuple[Array, Array],
    x: Array,
) -> Array:
    """Return the unknowns of least cost by Newton's method, from a feasible x."""
    lines, least = bounds

    def cost(x: Array, barrier: float) -> float:
        total, margins = 0.5 * x @ hessian @ x + slope @ x, lines @ x + least
        sizes = [np.linalg.eigvalsh(cone.at(x)) for cone in cones]
        if min(margins.min(), *(one[0] for one in sizes)) <= 0.0:
            return np.inf
        logs = sum((one.weight + barrier) * np.log(e).sum() for one, e in zip(cones, sizes))
        return float(total - logs - barrier * np.log(margins).sum())

    barrier = max(1.0, float(np.linalg.norm(slope)))
    while barrier > _LAST:
        barrier *= _FALL
        for _ in range(_STEPS):
            margins = lines @ x + least
            gradient = hessian @ x + slope - barrier * lines.T @ (1.0 / margins)
            curvature = hessian + barrier * (lines.T / margins**2) @ lines
            for one in cones:
                weight = one.weight + barrier
                share = np.linalg.solve(one.at(x), one.slopes)
                gradient[one.which] -= weight * np.trace(share, axis1=1, axis2=2)
                curvature[one.which, one.which] += weight * np.einsum('aij,bji', share, share)
            step = -np.linalg.solve(curvature, gradient)
            gain, size, now = -float(gradient @ step), 1.0, cost(x, barrier)
            if gain < _CONVERGED:
                break
            while (
                size > _SHORTEST and not cost(x + size * step, barrier) <= now - 0.1 * size * gain
            ):
                size *= 0.5
            if size <= _SHORTEST:  # rounding errors of the cost exceed what can be gained
                break
            x = x + size * step
    if not gain <= _LEFT * max(1.0, abs(now)):  # False for NaN
        raise IdentificationError(
            'The consistent fit found no physical arm with masses within a factor of '
            f'{MASS_FACTOR:g} of the starting set: the measured torques may be far from those of '
            'this set; choose another set, or a larger --prior.'
        )
    return x
