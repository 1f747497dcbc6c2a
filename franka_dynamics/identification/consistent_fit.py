# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Standard parameters that a real arm can have, fitted to torques by semidefinite programming.

Physical consistency is that every link's pseudo-inertia is positive definite (Wensing, Kim and
Slotine 2018, IEEE RA-L 3(1)), and that its centre of mass is where the link is (the mass that
Sousa and Cortesao 2014, IJRR 33(6), enclose in a shape); friction must brake; the prior about
the starting set decides what torques leave open. The problem is convex and its size does not
depend on the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .cone_program import ConeProgram, LinksCone, Squares
from .least_squares import Noise
from .link_room import link_rooms
from .prior import Prior, pseudo_inertia_basis
from .qr_factors import QRFactors
from ..arm import ArmDescription
from ..dynamics.regressor import parameter_vector, PER_LINK, with_parameter_vector
from ..errors import IdentificationError, MissingDependencyError
from ..typing import Array

_MASS, _MOMENT = PER_LINK - 1, slice(PER_LINK - 4, PER_LINK - 1)
# Without any prior nothing would keep a link inside the cone's boundary, where it is flat.
_LEAST_REGULARIZATION = 1e-2
# Parameters that hardly show in the torques can keep the solver's linear algebra a little above
# its tolerances, now by one rounding and now by another; finer refinement or other scales help.
_SOLVER_SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {
        'iterative_refinement_max_iter': 50,
        'iterative_refinement_reltol': 1e-14,
        'iterative_refinement_abstol': 1e-14,
    },
    {'equilibrate_enable': False},
)
_NO_SOLUTION = (
    'PrimalInfeasible',
    'DualInfeasible',
    'AlmostPrimalInfeasible',
    'AlmostDualInfeasible',
)
_prepared: WeakKeyDictionary[ArmDescription, tuple[tuple[bytes, bytes, float], LinksCone]] = (
    WeakKeyDictionary()
)


@dataclass(frozen=True, eq=False)
class ConsistentFit:
    """
    An arm whose links are physical, and what it amounts to.

    Attributes
    ----------
    arm : ArmDescription
        With identified links, rotors (if asked for) and friction.
    theta : ndarray, shape (p,)
        Its base parameters and friction.
    regularization : float
        Weight of the prior that was applied.

    """

    arm: ArmDescription
    theta: Array
    regularization: float


def fit_consistent(
    factors: QRFactors,
    noise: Noise,
    prior: Prior,
    regularization: float,
    *,
    start: ArmDescription,
    mass_factor: float = 3.0,
    friction_deviations: Array | None = None,
) -> ConsistentFit:
    """
    Return the physical arm that predicts the samples best.

    Parameters
    ----------
    factors : QRFactors
        The samples.
    noise : Noise
        The joints' weights.
    prior : Prior
        Towards the starting set; here the exact divergence, not its second order.
    regularization : float
        Of the prior; at least 0.01 is applied.
    start : ArmDescription
        The starting set.
    mass_factor : float
        Every mass lies between start / mass_factor and start * mass_factor.
    friction_deviations : ndarray, shape (f,), optional
        Standard deviations of friction, which the arm's friction model then holds.

    Raises
    ------
    IdentificationError
        If the factor is not above 1 or the solver finds no optimum.
    MissingDependencyError
        If cvxpy is not installed.

    """
    if not mass_factor > 1.0:
        raise IdentificationError(f'The mass factor is {mass_factor}; it must be above 1.')
    applied = max(regularization, _LEAST_REGULARIZATION)
    triangle, effort = factors.weighted(noise.weights)
    # From the reference, in units of the prior: all of the solver's numbers are of order one.
    root = np.asarray(np.linalg.cholesky(prior.covariance), dtype=float)
    cone = _links_cone(prior, root, start, mass_factor)
    b, fitted = len(prior.model.base), np.flatnonzero(prior.fitted)
    shown = triangle[:, :b] @ prior.model.base.matrix @ root
    rubbing = triangle[:, b + fitted] * prior.friction_deviations[fitted]
    squares = Squares(shown, rubbing, effort - triangle[:, :b] @ prior.center[:b])
    # Many precise samples make the squares so large that the divergence drowns in the solver's
    # tolerance; in units of the root of both its numbers are near one.
    units = 1.0 / np.sqrt(applied * max(1.0, float(np.linalg.norm(effort)))), 1.0
    programs = [
        cone.with_squares(squares, prior.model.friction.braking[fitted], applied, unit)
        for unit in units
    ]
    change, scaled = _solve(programs)
    vector = _reference_vector(prior) + root @ change
    arm = _with_rotors_at_least_zero(with_parameter_vector(start, vector))
    # The solver's zero may be a small negative number, which no friction model should hold.
    braking = prior.model.friction.braking & prior.fitted
    rubbing_values = np.zeros(len(prior.fitted))
    rubbing_values[fitted] = scaled * prior.friction_deviations[fitted]
    rubbing_values[braking] = np.maximum(rubbing_values[braking], 0.0)
    theta = np.concatenate([prior.model.base.values(arm), rubbing_values])
    return ConsistentFit(
        replace(arm, friction=prior.model.friction.model(rubbing_values, friction_deviations)),
        theta,
        applied,
    )


def _links_cone(prior: Prior, root: Array, start: ArmDescription, mass_factor: float) -> LinksCone:
    """
    Return the divergence of all links and the constraints on them, for the solver.

    They are those of all fits that share a start, and cvxpy takes ten times as long to prepare
    them as the solver takes: the last ones of every arm are kept.
    """
    key = (root.tobytes(), _reference_vector(prior).tobytes(), mass_factor)
    kept = _prepared.get(start)
    if kept is None or kept[0] != key:
        cp = _cvxpy()
        change = cp.Variable(len(root))
        kept = key, LinksCone.of(cp, change, *_links(cp, prior, root, change, start, mass_factor))
        _prepared[start] = kept
    return kept[1]


def _links(
    cp: Any, prior: Prior, root: Array, change: Any, start: ArmDescription, mass_factor: float
) -> tuple[Any, list[Any]]:
    """Return the divergence of all links and the constraints on them."""
    total, constraints = 0.0, []
    basis = pseudo_inertia_basis()
    rooms = link_rooms(start)
    for i, (link, own) in enumerate(zip(prior.reference.links, start.links)):
        block = slice(PER_LINK * i, PER_LINK * (i + 1))
        # P0^-1/2 P P0^-1/2, the identity at the reference P0.
        whitener = np.linalg.inv(np.linalg.cholesky(link.pseudo_inertia()))
        scaled = np.einsum('ka,kij->ija', root[block, block], whitener @ basis @ whitener.T)
        relative = cp.Variable((4, 4), symmetric=True)
        # One product for all entries: cvxpy takes much longer over many small ones.
        moved = scaled.reshape(16, -1) @ change[block]
        constraints.append(relative == np.eye(4) + cp.reshape(moved, (4, 4), order='C'))
        total += cp.trace(relative) - 4.0 - cp.log_det(relative)
        mass = link.mass + root[block, block][_MASS] @ change[block]
        constraints += [mass >= own.mass / mass_factor, mass <= own.mass * mass_factor]
        room = rooms[i]
        if room is not None:
            moment = link.first_moment + root[block, block][_MOMENT] @ change[block]
            constraints += room.constraints(cp, mass / own.mass, moment / own.mass)
    rotors = change[PER_LINK * prior.model.n :]
    if rotors.size:
        before = np.array([joint.rotor_inertia for joint in prior.reference.joints])
        constraints.append(before / np.diag(root)[PER_LINK * prior.model.n :] + rotors >= 0.0)
        total += 0.5 * cp.sum_squares(rotors)
    return total, constraints


def _reference_vector(prior: Prior) -> Array:
    return parameter_vector(prior.reference, rotor_inertia=prior.model.base.rotor_inertia)


def _with_rotors_at_least_zero(arm: ArmDescription) -> ArmDescription:
    return replace(
        arm,
        joints=tuple(
            replace(joint, rotor_inertia=max(joint.rotor_inertia, 0.0)) for joint in arm.joints
        ),
    )


def _solve(programs: Sequence[ConeProgram]) -> tuple[Array, Array]:
    """Solve one problem to full accuracy, in other units or by other settings if needed."""
    for program, settings in product(programs, _SOLVER_SETTINGS):
        status, change, friction = program.solve(settings)
        if status == 'Solved':
            return change, friction
        if status in _NO_SOLUTION:
            raise IdentificationError(
                f'The consistent fit has no solution ({status}): no arm with masses '
                'within the factor of the starting set exists. Raise --mass-factor or choose '
                'another set.'
            )
    raise IdentificationError(
        'The solver of the consistent fit failed, which happens where torques and starting '
        'set contradict each other beyond measure; choose another set or a stronger --prior.'
    )


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError as error:
        raise MissingDependencyError(
            "The physically consistent fit needs cvxpy: pip install 'franka_dynamics[identify]'."
        ) from error
    return cvxpy
