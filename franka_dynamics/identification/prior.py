# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The pull towards a starting set: how far one body's parameters are from another's.

The distance is the log-determinant divergence of pseudo-inertias, tr(P P0^-1) - logdet(P P0^-1)
- 4 (Lee, Wensing and Park 2020, "Geometric robot dynamic identification: a convex programming
approach", IEEE T-RO 36(2)). It is convex, the same in every frame and unit, and infinite
for a body that cannot be. Twice it is, near P0, the squared relative change: a mass off by a
tenth counts about 0.01.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .torque_model import TorqueModel
from ..arm import ArmDescription, LinkInertia
from ..arm.inertia import steiner
from ..dynamics.regressor import link_from_vector, PER_LINK
from ..errors import IdentificationError
from ..typing import Array

# A link of the reference is at least as thick as this in every direction (radius of gyration);
# published links can be thinner than any real one, which would freeze them.
THINNEST_M = 0.01
# Friction is free, but where a joint rests nothing else would decide its parameters: this far
# from zero they cost as much as one standard deviation [N m, N m s/rad].
FRICTION_SCALE = 100.0
# How far a rotor's inertia may be from the start's before it costs as much as a doubled mass.
_ROTOR_SCALE = 0.1  # [kg m^2], behind the gear


def pseudo_inertia_basis() -> Array:
    """Return the pseudo-inertias of the ten unit parameters in eq. 3's order, (10, 4, 4)."""
    return np.array([link_from_vector(row).pseudo_inertia() for row in np.eye(PER_LINK)])


def thickened(link: LinkInertia, thinnest: float = THINNEST_M) -> LinkInertia:
    """
    Return a link whose mass is spread at least `thinnest` [m] in every direction.

    Mass and centre of mass stay; the second moments about it are raised where they are less
    than m thinnest^2, which also makes a set physical that was not.
    """
    if link.mass <= 0.0:
        raise IdentificationError('A link without mass cannot start an identification; choose '
                                  'another inertial set.')
    central = link.inertia_at_center_of_mass
    second_moment = 0.5 * np.trace(central) * np.eye(3) - central
    values, axes = np.linalg.eigh(second_moment)
    raised = (axes * np.maximum(values, link.mass * thinnest**2)) @ axes.T
    tensor = np.trace(raised) * np.eye(3) - raised
    about_origin = tensor + steiner(link.mass, link.center_of_mass)
    return LinkInertia(link.mass, link.first_moment, 0.5 * (about_origin + about_origin.T))


@dataclass(frozen=True, eq=False)
class Pull:
    """
    The pull of a model's parameters towards a reference arm; friction is free.

    Attributes
    ----------
    model : TorqueModel
        What is identified.
    reference : ArmDescription
        The starting set, thickened.

    """

    model: TorqueModel
    reference: ArmDescription

    @classmethod
    def towards(cls, arm: ArmDescription, model: TorqueModel) -> Pull:
        """Return the pull towards an arm's inertial set."""
        return cls(model, arm.map_links(thickened))

    @cached_property
    def covariance(self) -> Array:
        """
        Inverse of the divergence's second derivative at the reference, over standard parameters.

        Read as a prior of strength one: every mass known to 100 %, all else in proportion.
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
        total[rotors, rotors] = _ROTOR_SCALE**2
        return total

    @cached_property
    def center(self) -> Array:
        """The reference's base parameters, zeros for friction, shape (p,)."""
        values = self.model.base.values(self.reference)
        return np.concatenate([values, np.zeros(len(self.model.friction.names))])

    @cached_property
    def deviations(self) -> Array:
        """Standard deviation of each base parameter under a prior of strength one, (b,)."""
        matrix = self.model.base.matrix
        return np.sqrt(np.einsum('ij,jk,ik->i', matrix, self.covariance, matrix))

    @cached_property
    def root(self) -> Array:
        """S of shape (b, p) with |S (theta - center)|^2 the pull of strength one."""
        matrix = self.model.base.matrix
        scale = self.deviations
        spread = (matrix @ self.covariance @ matrix.T) / np.outer(scale, scale)
        inverse_root = np.linalg.inv(np.linalg.cholesky(spread)) / scale
        return np.concatenate(
            [inverse_root, np.zeros((len(scale), len(self.model.friction.names)))], axis=1)

    @cached_property
    def friction_root(self) -> Array:
        """The same for friction towards zero, shape (3 n, p); it is too weak to be scaled."""
        rubbing = len(self.model.friction.names)
        zeros = np.zeros((rubbing, len(self.center) - rubbing))
        return np.concatenate([zeros, np.eye(rubbing) / FRICTION_SCALE], axis=1)

