# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The RPR manipulator of Busellato 2023 in letters: its forms, corrected.

`closed_forms` holds B, C, g and U. D stands for d2bar + d2; S_i, C_i for sin theta_i, cos
theta_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from .dynamics import coriolis_rows, mass_rows, Place, RprMasses
from .kinematics import RprKinematics

S1, C1, S3, C3, D = sp.symbols('S1 C1 S3 C3 D', real=True)
D0, A1, A3 = sp.symbols('d0 a1 a3', positive=True)
M1, M2, M3 = sp.symbols('m1 m2 m3', positive=True)
H1, R1, A2, B2, H3, R3 = sp.symbols('h1 r1 a2 b2 h3 r3', positive=True)
I2X = sp.Symbol('I2x', positive=True)  # the box about x2: what depends on its convention
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


def reduced(expression: sp.Expr) -> sp.Expr:
    """Return an expression expanded with C_i^2 = 1 - S_i^2: equal ones become the same."""
    result = sp.expand(expression)
    for sine, cosine in ((S1, C1), (S3, C3)):
        polynomial = sp.Poly(result, cosine)
        result = sp.expand(
            sum(
                coefficient * cosine ** (power % 2) * (1 - sine**2) ** (power // 2)
                for (power,), coefficient in polynomial.terms()
            )
        )
    return result


def by_joint(expression: sp.Expr) -> sp.Matrix:
    """Return the derivatives by theta1, d2 and theta3, (1, 3)."""
    return sp.Matrix(
        [
            [
                sp.diff(expression, S1) * C1 - sp.diff(expression, C1) * S1,
                sp.diff(expression, D),
                sp.diff(expression, S3) * C3 - sp.diff(expression, C3) * S3,
            ]
        ]
    )


def steps() -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """Return T_0^1, T_1^2 and T_2^3, (4, 4) (section 1.1)."""
    first = sp.Matrix([[C1, 0, S1, A1 * C1], [S1, 0, -C1, A1 * S1], [0, 1, 0, 0], [0, 0, 0, 1]])
    second = sp.Matrix([[0, 0, -1, 0], [1, 0, 0, 0], [0, -1, 0, D], [0, 0, 0, 1]])
    third = sp.Matrix([[S3, C3, 0, A3 * S3], [-C3, S3, 0, -A3 * C3], [0, 0, 1, 0], [0, 0, 0, 1]])
    return first, second, third


def poses() -> list[sp.Matrix]:
    """Return T_b^0, T_b^1, T_b^2 and T_b^3, (4, 4) (section 1.2)."""
    pose = sp.eye(4)
    pose[2, 3] = D0
    chain = [pose]
    for step in steps():
        chain.append((chain[-1] * step).applyfunc(sp.expand))
    return chain


def analytical_jacobian() -> sp.Matrix:
    """Return J_A = dp_3/dq, (3, 3) (section 1.4)."""
    return sp.Matrix.vstack(*(by_joint(part) for part in poses()[3][:3, 3])).applyfunc(sp.expand)


def geometric_jacobian() -> sp.Matrix:
    """Return J_G, rows (v, omega), (6, 3) (section 1.5)."""
    linear, angular = partial_jacobians(poses()[3][:3, 3], 3)
    return linear.col_join(angular)


def partial_jacobians(point: sp.Matrix, link: int) -> tuple[sp.Matrix, sp.Matrix]:
    """Return J_P and J_O of a point of link 1..3, each (3, 3) (section 2.1)."""
    linear, angular = sp.zeros(3, 3), sp.zeros(3, 3)
    for j, frame in enumerate(poses()[:link]):
        axis, foot = frame[:3, 2], frame[:3, 3]
        if j == 1:
            linear[:, j] = axis
        else:
            linear[:, j] = axis.cross(point - foot).applyfunc(reduced)
            angular[:, j] = axis
    return linear, angular


_CENTERS = tuple(sp.Matrix(center) for center in ((H1 / 2, 0, 0), (0, 0, A2 / 2), (0, -H3 / 2, 0)))


def centers_of_mass() -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """Return p_l1, p_l2 and p_l3 in {S}, (3, 1): a2/2, not c2/2, in p_l2 (section 2)."""
    first, second, third = (
        (pose[:3, :3] * center + pose[:3, 3]).applyfunc(sp.expand)
        for pose, center in zip(poses()[1:], _CENTERS)
    )
    return first, second, third


def central_tensors() -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """
    Return the tensors about the centres of mass in the links' axes, (3, 3).

    Cylinders have m (3 r^2 + h^2)/12 across; the third one's axis is y3, where its centre of mass
    is, not x3 as printed. Of the box only I2x acts.
    """
    first = sp.diag(M1 * R1**2 / 2, *(M1 * (3 * R1**2 + H1**2) / 12,) * 2)
    across = M3 * (3 * R3**2 + H3**2) / 12
    second = sp.diag(I2X, *sp.symbols('I2y I2z', positive=True))
    return first, second, sp.diag(across, M3 * R3**2 / 2, across)


def closed_forms() -> EquationsOfMotion:
    """Return the corrected forms of sections 2 and 3: those of `rpr.dynamics` in letters."""
    first, _, third = central_tensors()
    lengths: Any = RprKinematics(D0, A1, 0.0, A3)
    masses: Any = RprMasses(
        *(M1, M2, M3, H1 / 2, A2 / 2, H3 / 2, first[2, 2], I2X),
        *(third[i, i] for i in range(3)),
    )
    at = Place.of(lengths, masses, D, S3, C3)
    inertia = sp.Matrix(mass_rows(lengths, masses, at))
    coriolis = sp.Matrix(coriolis_rows(lengths, masses, at, list(RATES)))
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
