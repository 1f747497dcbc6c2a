# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Closed-form dynamics of the RPR manipulator (Busellato 2023, sections 2 and 3, corrected).

D = d2bar + d2 is the extension of the slide. Link 3's centre of mass is at the height sigma =
a3 S3 - k3 C3 above the shoulder and at the distance rho = D + kappa along the slide, with kappa =
a3 C3 + k3 S3 = d sigma / d theta3. Then

    B11 = m1 (a1 + k1)^2 + I1z + m2 (D^2 + (a1 - k2)^2) + I2x
          + m3 (rho^2 + a1^2) + I3x S3^2 + I3y C3^2
    B12 = m2 k2 - a1 (m2 + m3)      B13 = a1 m3 sigma
    B22 = m2 + m3                   B23 = -m3 sigma        B33 = m3 (a3^2 + k3^2) + I3z
    U = g ((m1 + m2 + m3) d0 + m3 sigma)

`mass_rows` and `coriolis_rows` evaluate these formulas with numbers, arrays or symbols. The
centres of mass are at k1 along x1, k2 along z2 and k3 along -y3; for the solids of Busellato 2023
k1 = h1/2, k2 = a2/2 (printed as c2/2) and k3 = h3/2. The moments of inertia are about the centres
of mass, so B has Steiner's terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .kinematics import JOINTS, RprKinematics, stacked
from ..arm import ArmDescription, FrictionModel, LinkInertia
from ..arrays import joint_values
from ..dynamics.model import GRAVITY, solve_acceleration, wrench_stack
from ..errors import DescriptionError
from ..typing import Array

_G = -GRAVITY[2]  # along -z of {S} [m/s^2]
# A component of a first moment or a product of inertia up to _OFF_AXIS_EPS, relative to the
# largest of the link's ten parameters, counts as a rounding error.
_OFF_AXIS_EPS = 1e-12


@dataclass(frozen=True)
class RprMasses:
    """
    The inertial parameters of the three links in the closed form.

    `m1`, `m2`, `m3` are masses [kg]. The centres of mass are at (k1, 0, 0), (0, 0, k2) and
    (0, -k3, 0) in the frames {1}, {2} and {3} [m]. The moments of inertia [kg m^2] are about the
    centres of mass: `i1z` about z1, `i2x` about x2, `i3x`, `i3y`, `i3z` about the axes of {3}.
    """

    m1: float
    m2: float
    m3: float
    k1: float
    k2: float
    k3: float
    i1z: float
    i2x: float
    i3x: float
    i3y: float
    i3z: float

    @classmethod
    def from_links(cls, first: LinkInertia, second: LinkInertia, third: LinkInertia) -> RprMasses:
        """
        Return the parameters of three links in the frames of Busellato 2023.

        Raises
        ------
        DescriptionError
            If a centre of mass is not on x1, z2 or y3, or a tensor has products of inertia.

        """
        for number, (link, axis) in enumerate(((first, 0), (second, 2), (third, 1)), start=1):
            _require_symmetric(link, axis, number)
        one, two, three = (link.inertia_at_center_of_mass for link in (first, second, third))
        return cls(
            first.mass,
            second.mass,
            third.mass,
            first.center_of_mass[0],
            second.center_of_mass[2],
            -third.center_of_mass[1],
            one[2, 2],
            two[0, 0],
            three[0, 0],
            three[1, 1],
            three[2, 2],
        )


@dataclass(frozen=True)
class RprDynamics:
    """
    The equations of motion B ddq + C dq + F + g = tau - J_G^T h, with friction F.

    The end effector exerts the wrench h on its surroundings. Methods take stacks of joint vectors
    (theta1, d2, theta3), shape (..., 3); torques tau are in (N m, N, N m). `friction` is the model
    of F(dq), None without friction.
    """

    kinematics: RprKinematics
    masses: RprMasses
    friction: FrictionModel | None = None

    @classmethod
    def from_description(cls, description: ArmDescription) -> RprDynamics:
        """
        Return the closed form of a described arm with its friction.

        Raises
        ------
        DescriptionError
            If the arm is no RPR arm in the frames of Busellato 2023, has rotor inertias, or
            `RprMasses.from_links` refuses its links.

        """
        for joint in description.joints:
            if joint.rotor_inertia:
                raise DescriptionError(
                    f'{joint.name} has a rotor inertia of {joint.rotor_inertia:g}, and the closed '
                    'form of the RPR arm knows no rotors; use Model for this arm.'
                )
        return cls(
            RprKinematics.from_description(description),
            RprMasses.from_links(*description.links),
            description.friction,
        )

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return B(q), shape (..., 3, 3) (Busellato 2023, section 2.1, corrected)."""
        return stacked(mass_rows(self.kinematics, self.masses, self._place(q)))

    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """
        Return C(q, dq) of Christoffel symbols, shape (..., 3, 3) (Busellato 2023, section 3).

        c12 and c21 contain terms of m3 that Busellato 2023 omits; c21 = -c12, so C is not
        symmetric.
        """
        rates = tuple(np.moveaxis(joint_values(dq, 'dq', JOINTS), -1, 0))
        return stacked(coriolis_rows(self.kinematics, self.masses, self._place(q), rates))

    def gravity(self, q: ArrayLike) -> Array:
        """Return g(q) = (0, 0, m3 g (a3 C3 + k3 S3)), (..., 3) (Busellato 2023, section 3)."""
        torque = self.masses.m3 * _G * self._place(q).kappa
        return np.stack((np.zeros_like(torque), np.zeros_like(torque), torque), axis=-1)

    def kinetic_energy(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return 1/2 dq^T B dq, shape (...) [J]; its expansion in Busellato 2023 is wrong."""
        velocity = joint_values(dq, 'dq', JOINTS)
        return 0.5 * np.einsum('...i,...ij,...j->...', velocity, self.mass_matrix(q), velocity)

    def potential_energy(self, q: ArrayLike) -> Array:
        """Return the potential energy U(q), g = dU/dq, zero at the height of {S}, (...) [J]."""
        m = self.masses
        lifted = (m.m1 + m.m2 + m.m3) * self.kinematics.d0 + m.m3 * self._place(q).sigma
        return _G * lifted

    def inverse_dynamics(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, h: ArrayLike | None = None
    ) -> Array:
        """
        Return tau = B ddq + C dq + F + g + J_G^T h, shape (..., 3).

        Parameters
        ----------
        q, dq, ddq : array_like, shape (..., 3)
            Positions [rad, m, rad], velocities (per s) and accelerations (per s^2).
        h : array_like, shape (..., 6), optional
            Force and moment that the end effector exerts on its surroundings, at the origin of
            {3} in the axes of {S} [N, N m]: h_e of Busellato 2023. The `wrench` that other models
            of this package take has the opposite sign.

        """
        return np.einsum(
            '...ij,...j->...i', self.mass_matrix(q), joint_values(ddq, 'ddq', JOINTS)
        ) + self._resistance(q, dq, h)

    def forward_dynamics(
        self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, h: ArrayLike | None = None
    ) -> Array:
        """Return ddq of B ddq = tau - C dq - F - g - J_G^T h, shape (..., 3)."""
        free = joint_values(tau, 'tau', JOINTS) - self._resistance(q, dq, h)
        return solve_acceleration(self.mass_matrix(q), free)

    def _resistance(self, q: ArrayLike, dq: ArrayLike, h: ArrayLike | None) -> Array:
        velocity = joint_values(dq, 'dq', JOINTS)
        total = np.einsum('...ij,...j->...i', self.coriolis_matrix(q, velocity), velocity)
        total = total + self.gravity(q)
        if self.friction is not None:
            total = total + self.friction.torque(velocity)
        if h is None:
            return total
        jacobian = self.kinematics.geometric_jacobian(q)
        return total + np.einsum('...ai,...a->...i', jacobian, wrench_stack(h))

    def _place(self, q: ArrayLike) -> Place:
        _, d2, theta3 = np.moveaxis(joint_values(q, 'q', JOINTS), -1, 0)
        return Place.of(
            self.kinematics,
            self.masses,
            self.kinematics.d2bar + d2,
            np.sin(theta3),
            np.cos(theta3),
        )


@dataclass(frozen=True)
class Place:
    """Numbers, arrays or symbols: slide extension D, sin and cos of theta3, rho, sigma, kappa."""

    extension: Any
    s3: Any
    c3: Any
    rho: Any
    sigma: Any
    kappa: Any

    @classmethod
    def of(
        cls, lengths: RprKinematics, masses: RprMasses, extension: Any, s3: Any, c3: Any
    ) -> Place:
        """Return D, S3 and C3 with the rho, sigma and kappa that follow from them."""
        kappa = lengths.a3 * c3 + masses.k3 * s3
        sigma = lengths.a3 * s3 - masses.k3 * c3
        return cls(extension, s3, c3, extension + kappa, sigma, kappa)


def mass_rows(lengths: RprKinematics, m: RprMasses, at: Place) -> list[list[Any]]:
    """Return the mass matrix B by rows."""
    a1 = lengths.a1
    b11 = (
        m.m1 * (a1 + m.k1) ** 2
        + m.i1z
        + m.m2 * (at.extension**2 + (a1 - m.k2) ** 2)
        + m.i2x
        + m.m3 * (at.rho**2 + a1**2)
        + m.i3x * at.s3**2
        + m.i3y * at.c3**2
    )
    b12, b13, b23 = m.m2 * m.k2 - a1 * (m.m2 + m.m3), a1 * m.m3 * at.sigma, -m.m3 * at.sigma
    b33 = m.m3 * (lengths.a3**2 + m.k3**2) + m.i3z
    return [[b11, b12, b13], [b12, m.m2 + m.m3, b23], [b13, b23, b33]]


def coriolis_rows(
    lengths: RprKinematics, m: RprMasses, at: Place, rates: Sequence[Any]
) -> list[list[Any]]:
    """Return the Coriolis matrix C of Christoffel symbols by rows; `rates` is dq."""
    v1, v2, v3 = rates
    by_d2 = (m.m2 + m.m3) * at.extension + m.m3 * at.kappa  # 1/2 dB11/dd2
    # 1/2 dB11/dtheta3.
    by_theta3 = -m.m3 * at.rho * at.sigma + (m.i3x - m.i3y) * at.s3 * at.c3
    pull = m.m3 * at.kappa
    return [
        [by_d2 * v2 + by_theta3 * v3, by_d2 * v1, by_theta3 * v1 + lengths.a1 * pull * v3],
        [-by_d2 * v1, 0.0 * v1, -pull * v3],
        [-by_theta3 * v1, 0.0 * v1, 0.0 * v1],
    ]


def _require_symmetric(link: LinkInertia, axis: int, number: int) -> None:
    off_axis = np.delete(link.first_moment, axis)
    tensor = link.inertia_at_center_of_mass
    products = tensor - np.diag(np.diag(tensor))
    scale = _OFF_AXIS_EPS * max(float(np.abs(link.parameters()).max()), 1e-300)
    if np.abs(off_axis).max() > scale or np.abs(products).max() > scale:
        raise DescriptionError(
            f"The closed form needs link {number}'s centre of mass on {'xyz'[axis]} of its frame "
            f'and no products of inertia; got {link.center_of_mass.tolist()} m and '
            f'{tensor.tolist()} kg m^2. The general formulations take any link.'
        )
