# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What is known before any motion: a starting set of inertias, and what friction joints have.

For inertias the distance is the log-determinant divergence of pseudo-inertias, tr(P P0^-1) -
logdet(P P0^-1) - 4 (Lee, Wensing and Park 2020, "Geometric robot dynamic identification: a convex
programming approach", IEEE T-RO 36(2)). It is convex, the same in every frame and unit, and
infinite for a body that cannot be. Twice it is, near P0, the squared relative change: a mass off
by a tenth counts about 0.01. Friction parameters are Gaussian about zero, of a scale that the
joints' torque limits give.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .friction import TorqueModel
from ..arm import ArmDescription, LinkInertia
from ..arm.inertia import steiner
from ..dynamics.regressor import PER_LINK
from ..errors import IdentificationError
from ..typing import Array

# A link of the reference is at least as thick as this in every direction (radius of gyration);
# published links can be thinner than any real one, which would freeze them.
MINIMUM_GYRATION_M = 0.01
# A rotor, behind its gear, whose inertia alone lets the joint's torque limit accelerate it by this
# much [rad/s^2] costs as much as a doubled mass. That of a UR10e's first joints is 90 rad/s^2.
_ROTOR_ACCELERATION = 100.0


def pseudo_inertia_basis() -> Array:
    """Return the pseudo-inertias of the ten unit parameters in eq. 3's order, (10, 4, 4)."""
    units = np.eye(PER_LINK)
    return np.array([LinkInertia.from_parameters(unit).pseudo_inertia() for unit in units])


def with_minimum_gyration(link: LinkInertia, minimum: float = MINIMUM_GYRATION_M) -> LinkInertia:
    """
    Return a link whose mass is spread at least `minimum` [m] in every direction.

    Mass and centre of mass stay; the second moments about it are raised where they are less
    than m times its square, which also makes a set physical that was not.
    """
    if link.mass <= 0.0:
        raise IdentificationError(
            'A link without mass cannot start an identification; choose another inertial set.'
        )
    central = link.inertia_at_center_of_mass
    second_moment = 0.5 * np.trace(central) * np.eye(3) - central
    values, axes = np.linalg.eigh(second_moment)
    raised = (axes * np.maximum(values, link.mass * minimum**2)) @ axes.T
    tensor = np.trace(raised) * np.eye(3) - raised
    about_origin = tensor + steiner(link.mass, link.center_of_mass)
    return LinkInertia(link.mass, link.first_moment, 0.5 * (about_origin + about_origin.T))


@dataclass(frozen=True, eq=False)
class Prior:
    """
    The prior of a model's parameters: inertias towards a reference arm, friction towards zero.

    Attributes
    ----------
    model : TorqueModel
        What is identified.
    reference : ArmDescription
        The starting set, with_minimum_gyration.
    effort, velocity : ndarray, shape (n,)
        What friction is measured by: the joints' limits of torque [N m] and speed [rad/s].
    fitted : ndarray of bool, shape (f,)
        Which friction parameters are fitted; the others are held at the prior's zero.

    """

    model: TorqueModel
    reference: ArmDescription
    effort: Array
    velocity: Array
    fitted: NDArray[np.bool_]

    @classmethod
    def towards(
        cls,
        arm: ArmDescription,
        model: TorqueModel,
        strongest: Array | None = None,
    ) -> Prior:
        """
        Return the prior about an arm's inertial set.

        Parameters
        ----------
        arm : ArmDescription
            The starting set.
        model : TorqueModel
            What is identified.
        strongest : ndarray, shape (n,), optional
            The recordings' largest torques [N m], for joints whose torque limit is not known.

        """
        effort = arm.limit('effort')
        known = np.isfinite(effort) & (effort > 0.0)
        instead = np.ones(arm.n) if strongest is None else np.maximum(strongest, 1e-6)
        return cls(
            model,
            arm.map_links(with_minimum_gyration),
            np.where(known, effort, instead),
            arm.limit('velocity'),
            np.ones(len(model.friction.names), dtype=bool),
        )

    def fitting(self, chosen: NDArray[np.bool_]) -> Prior:
        """Return the prior with all but some of its fitted friction parameters held at zero."""
        held = replace(self, fitted=self.fitted & chosen)
        # A fit holds many priors that differ in this alone: what they share is found once.
        for name in ('covariance', 'center', 'deviations', 'root'):
            held.__dict__[name] = getattr(self, name)
        return held

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """Which parameters of theta are estimated, shape (p,)."""
        return np.concatenate([np.ones(len(self.model.base), dtype=bool), self.fitted])

    @cached_property
    def covariance(self) -> Array:
        """
        Inverse of the divergence's second derivative at the reference, over standard parameters.

        Read as a prior of regularization one: every mass known to 100 %, all else in proportion.
        """
        basis = pseudo_inertia_basis()
        width = self.model.base.matrix.shape[1]
        total = np.zeros((width, width))
        for i, link in enumerate(self.reference.links):
            relative = np.linalg.solve(link.pseudo_inertia(), basis)
            metric = np.einsum('aij,bji->ab', relative, relative)
            block = slice(PER_LINK * i, PER_LINK * (i + 1))
            total[block, block] = np.linalg.inv(metric)
        rotors = np.arange(PER_LINK * self.model.n, width)
        if len(rotors):
            total[rotors, rotors] = (self.effort / _ROTOR_ACCELERATION) ** 2
        return total

    @cached_property
    def center(self) -> Array:
        """The reference's base parameters, zeros for friction, shape (p,)."""
        values = self.model.base.values(self.reference)
        return np.concatenate([values, np.zeros(len(self.model.friction.names))])

    @cached_property
    def deviations(self) -> Array:
        """Standard deviation of each base parameter under a prior of regularization one, (b,)."""
        matrix = self.model.base.matrix
        return np.sqrt(np.einsum('ij,jk,ik->i', matrix, self.covariance, matrix))

    @cached_property
    def root(self) -> Array:
        """S of shape (b, p) with |S (theta - center)|^2 the prior of regularization one."""
        matrix = self.model.base.matrix
        scale = self.deviations
        spread = (matrix @ self.covariance @ matrix.T) / np.outer(scale, scale)
        inverse_root = np.linalg.inv(np.linalg.cholesky(spread)) / scale
        return np.concatenate(
            [inverse_root, np.zeros((len(scale), len(self.model.friction.names)))], axis=1
        )

    @cached_property
    def friction_deviations(self) -> Array:
        """Standard deviation of each friction parameter under the prior, shape (f,)."""
        return self.model.friction.deviations(self.effort, self.velocity)

    @cached_property
    def friction_root(self) -> Array:
        """The same for friction towards zero, shape (f, p)."""
        f = len(self.fitted)
        zeros = np.zeros((f, len(self.center) - f))
        return np.concatenate([zeros, np.diag(1.0 / self.friction_deviations)], axis=1)
