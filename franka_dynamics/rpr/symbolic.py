# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Symbolic kinematics and dynamics of the RPR manipulator of Busellato 2023, corrected.

S_i and C_i are sine and cosine of theta_i, D is d2bar + d2. `closed_forms` returns the mass matrix
B, the Coriolis matrix C, gravity g, kinetic energy T and potential energy U.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from .dynamics import coriolis_rows, mass_rows, Place, RprMasses
from .kinematics import jacobian_rows, RprKinematics

S1, C1, S3, C3, D = sp.symbols('S1 C1 S3 C3 D', real=True)
D0, A1, A3 = sp.symbols('d0 a1 a3', positive=True)
LENGTHS: Any = RprKinematics(D0, A1, 0.0, A3)
M1, M2, M3 = sp.symbols('m1 m2 m3', positive=True)
H1, R1, A2, B2, H3, R3 = sp.symbols('h1 r1 a2 b2 h3 r3', positive=True)
# Link 2, a box, has the central moment of inertia I2x about x2: BOX_A2_ALONG_Z. Busellato 2023
# prints BOX_AS_PRINTED.
I2X = sp.Symbol('I2x', positive=True)
G = sp.Symbol('g', positive=True)
RATES = sp.Matrix(sp.symbols('v1 v2 v3', real=True))
BOX_A2_ALONG_Z = M2 * (A2**2 + B2**2) / 12
BOX_AS_PRINTED = M2 * (B2**2 + sp.Symbol('c2', positive=True) ** 2) / 12


@dataclass(frozen=True)
class EquationsOfMotion:
    """B ddq + C dq + g = tau with g = dU/dq, T = 1/2 dq^T B dq (friction and contact left out)."""

    inertia: sp.Matrix
    coriolis: sp.Matrix
    gravity: sp.Matrix
    kinetic: sp.Expr
    potential: sp.Expr


def steps() -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """Return T_0^1, T_1^2 and T_2^3, each (4, 4) (Busellato 2023, section 1.1)."""
    first = sp.Matrix([[C1, 0, S1, A1 * C1], [S1, 0, -C1, A1 * S1], [0, 1, 0, 0], [0, 0, 0, 1]])
    second = sp.Matrix([[0, 0, -1, 0], [1, 0, 0, 0], [0, -1, 0, D], [0, 0, 0, 1]])
    third = sp.Matrix([[S3, C3, 0, A3 * S3], [-C3, S3, 0, -A3 * C3], [0, 0, 1, 0], [0, 0, 0, 1]])
    return first, second, third


def poses() -> list[sp.Matrix]:
    """Return T_b^0, T_b^1, T_b^2 and T_b^3, each (4, 4) (Busellato 2023, section 1.2)."""
    pose = sp.eye(4)
    pose[2, 3] = D0
    chain = [pose]
    for step in steps():
        chain.append((chain[-1] * step).applyfunc(sp.expand))
    return chain


def geometric_jacobian() -> sp.Matrix:
    """Return J_G, (6, 3), with rows v = J_A, then omega (Busellato 2023, sections 1.4 and 1.5)."""
    return sp.Matrix(jacobian_rows(LENGTHS, (S1, C1), (S3, C3), D))


_CENTERS = tuple(sp.Matrix(center) for center in ((H1 / 2, 0, 0), (0, 0, A2 / 2), (0, -H3 / 2, 0)))


def centers_of_mass() -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """Return the centres of mass in {S}, (3, 1); link 2 has a2/2, Busellato 2023 prints c2/2."""
    first, second, third = (
        (pose[:3, :3] * center + pose[:3, 3]).applyfunc(sp.expand)
        for pose, center in zip(poses()[1:], _CENTERS)
    )
    return first, second, third


def central_tensors() -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """
    Return the links' inertia tensors about their centres of mass in the links' axes, (3, 3).

    The cylinders, links 1 and 3, have m (3 r^2 + h^2)/12 about a diameter. Cylinder 3's axis is
    y3, on which its centre of mass lies, not x3 as in Busellato 2023. Of the moments of the box,
    link 2, only I2x appears in the mass matrix B.
    """
    first = sp.diag(M1 * R1**2 / 2, *(M1 * (3 * R1**2 + H1**2) / 12,) * 2)
    across = M3 * (3 * R3**2 + H3**2) / 12
    second = sp.diag(I2X, *sp.symbols('I2y I2z', positive=True))
    return first, second, sp.diag(across, M3 * R3**2 / 2, across)


def closed_forms() -> EquationsOfMotion:
    """Return the formulas of `rpr.dynamics` in symbols (Busellato 2023, sections 2 and 3)."""
    first, _, third = central_tensors()
    masses: Any = RprMasses(
        *(M1, M2, M3, H1 / 2, A2 / 2, H3 / 2, first[2, 2], I2X), *(third[i, i] for i in range(3))
    )
    at = Place.of(LENGTHS, masses, D, S3, C3)
    inertia = sp.Matrix(mass_rows(LENGTHS, masses, at))
    coriolis = sp.Matrix(coriolis_rows(LENGTHS, masses, at, list(RATES)))
    kinetic = sp.Add(
        *(
            (sp.Rational(1, 2) if i == j else 1) * inertia[i, j] * RATES[i] * RATES[j]
            for i in range(3)
            for j in range(i, 3)
        )
    )
    return EquationsOfMotion(
        inertia,
        coriolis,
        sp.Matrix([0, 0, M3 * G * at.kappa]),
        kinetic,
        G * ((M1 + M2 + M3) * D0 + M3 * at.sigma),
    )
