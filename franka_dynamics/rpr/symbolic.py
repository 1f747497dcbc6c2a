# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Symbolic kinematics and dynamics of the RPR manipulator of Busellato 2023, corrected.

S_i and C_i are sine and cosine of theta_i, D is d2bar + d2. The equations of motion follow from
the energies T and U of the three links alone (Lagrange), so that every numeric model can be
compared with them. `Model(load('rpr'))` has the numbers. `rpr_report_sections` has all formulas of
the report (sections 1.2 to 3), which `python_text` and `latex_text` write.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..errors import require_extra

with require_extra('The RPR arm in symbols needs sympy', 'symbolic'):
    import sympy as sp

S1, C1, S3, C3, D = sp.symbols('S1 C1 S3 C3 D', real=True)
# Height of the shoulder, offset of the slide from the vertical axis, length of the last link [m].
D0, A1, A3 = sp.symbols('d0 a1 a3', positive=True)
# Masses of links 1 to 3 [kg].
M1, M2, M3 = sp.symbols('m1 m2 m3', positive=True)
MASSES = (M1, M2, M3)
# Link 1 is a cylinder of height h1 along x1 and radius r1 [m].
H1, R1 = sp.symbols('h1 r1', positive=True)
# Link 2 is a box of length a2 along z2 and width b2 along y2 [m].
A2, B2 = sp.symbols('a2 b2', positive=True)
# Link 3 is a cylinder of height h3 along y3 and radius r3 [m].
H3, R3 = sp.symbols('h3 r3', positive=True)
# Strength of gravity [m/s^2]; g is the vector of the joints' gravity torques.
G0 = sp.Symbol('g0', positive=True)
VELOCITIES = sp.Matrix(sp.symbols('v1 v2 v3', real=True))  # of the joints
# Link 2 has the central moment of inertia I2x about x2: BOX_INERTIA_ABOUT_X. Busellato 2023 prints
# BOX_INERTIA_IN_PAPER.
I2X = sp.Symbol('I2x', positive=True)
BOX_INERTIA_ABOUT_X = M2 * (A2**2 + B2**2) / 12
BOX_INERTIA_IN_PAPER = M2 * (B2**2 + sp.Symbol('c2', positive=True) ** 2) / 12
# Centres of mass of links 1 to 3 in the links' own frames. The box has its length a2, and not
# Busellato's c2, along z2 (docs/theory/errata.md).
_LOCAL_CENTERS_OF_MASS = (
    sp.Matrix([H1 / 2, 0, 0]),
    sp.Matrix([0, 0, A2 / 2]),
    sp.Matrix([0, -H3 / 2, 0]),
)


def link_transforms() -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """Return the DH transforms T_0^1, T_1^2, T_2^3, each (4, 4) (Busellato 2023, section 1.1)."""
    first = sp.Matrix([[C1, 0, S1, A1 * C1], [S1, 0, -C1, A1 * S1], [0, 1, 0, 0], [0, 0, 0, 1]])
    second = sp.Matrix([[0, 0, -1, 0], [1, 0, 0, 0], [0, -1, 0, D], [0, 0, 0, 1]])
    third = sp.Matrix([[S3, C3, 0, A3 * S3], [-C3, S3, 0, -A3 * C3], [0, 0, 1, 0], [0, 0, 0, 1]])
    return first, second, third


def frame_poses() -> list[sp.Matrix]:
    """Return poses T_b^0 to T_b^3 in the base frame, each (4, 4) (Busellato 2023, section 1.2)."""
    pose = sp.eye(4)
    pose[2, 3] = D0
    chain = [pose]
    for step in link_transforms():
        chain.append((chain[-1] * step).applyfunc(sp.expand))
    return chain


def geometric_jacobian() -> sp.Matrix:
    """Return the end effector's Jacobian in {S}, (6, 3): v, omega (Busellato 2023, 1.4, 1.5)."""
    end = frame_poses()[3]
    v = sp.Matrix.hstack(*(_d_dq(end[:3, 3], joint) for joint in range(3)))
    omega = sp.Matrix.hstack(sp.Matrix([0, 0, 1]), sp.zeros(3, 1), frame_poses()[2][:3, 2])
    return v.col_join(omega).applyfunc(sp.factor_terms)


def centers_of_mass() -> list[sp.Matrix]:
    """Return the links' centres of mass in {S}, (3, 1) each."""
    centers = []
    for pose, local_center in zip(frame_poses()[1:], _LOCAL_CENTERS_OF_MASS):
        center = pose[:3, :3] * local_center + pose[:3, 3]
        centers.append(center.applyfunc(sp.expand))
    return centers


def central_inertias() -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """
    Return the links' inertia tensors about their centres of mass in the links' axes, (3, 3).

    The cylinders, links 1 and 3, have m (3 r^2 + h^2)/12 about a diameter. Cylinder 3's axis is
    y3, on which its centre of mass lies, not x3 as in Busellato 2023. Of the moments of the box,
    link 2, only I2x appears in the mass matrix B.
    """
    along_first = M1 * R1**2 / 2
    across_first = M1 * (3 * R1**2 + H1**2) / 12
    first = sp.diag(along_first, across_first, across_first)
    second = sp.diag(I2X, *sp.symbols('I2y I2z', positive=True))
    along_third = M3 * R3**2 / 2
    across_third = M3 * (3 * R3**2 + H3**2) / 12
    third = sp.diag(across_third, along_third, across_third)
    return first, second, third


def equations_of_motion() -> dict[str, sp.Expr | sp.Matrix]:
    """
    Return B, C, g of B ddq + C dq + g = tau, and kinetic and potential energy T and U, by name.

    T = 1/2 dq^T B dq, g = dU/dq, by Lagrange, without friction (Busellato 2023, sections 2 and 3,
    corrected).
    """
    kinetic = sp.Integer(0)
    bodies = zip(MASSES, centers_of_mass(), frame_poses()[1:], central_inertias())
    for mass, center, pose, tensor in bodies:
        v = _d_dt(center)
        rotation_rate = pose[:3, :3].T * _d_dt(pose[:3, :3])  # R' dR/dt = [omega]
        omega = sp.Matrix([rotation_rate[2, 1], rotation_rate[0, 2], rotation_rate[1, 0]])
        omega = omega.applyfunc(_expand_in_sines)
        kinetic += (mass * v.dot(v) + omega.dot(tensor * omega)) / 2
    kinetic = _expand_in_sines(kinetic)
    heights = [center[2] for center in centers_of_mass()]
    potential = G0 * sp.Add(*(mass * height for mass, height in zip(MASSES, heights)))
    inertia = sp.hessian(kinetic, list(VELOCITIES))
    # C of Christoffel symbols: C_ij = sum over k of (dB_ij/dq_k + dB_ik/dq_j - dB_jk/dq_i) dq_k/2.
    inertia_slopes = [_d_dq(inertia, joint) for joint in range(3)]

    def christoffel_term(i: int, j: int, k: int) -> sp.Expr:
        """Return the part of C_ij that is proportional to dq_k."""
        symbol = inertia_slopes[k][i, j] + inertia_slopes[j][i, k] - inertia_slopes[i][j, k]
        return symbol * VELOCITIES[k] / 2

    coriolis = sp.Matrix(3, 3, lambda i, j: sum(christoffel_term(i, j, k) for k in range(3)))
    gravity = sp.Matrix([_d_dq(potential, joint) for joint in range(3)])
    return {
        'B': inertia.applyfunc(_collect_by_mass),
        'C': coriolis.applyfunc(_collect_by_mass),
        'g': gravity.applyfunc(_collect_by_mass),
        'T': _collect_by_mass(kinetic),
        'U': _collect_by_mass(potential),
    }


def _d_dq(value: sp.Expr | sp.Matrix, joint: int) -> sp.Expr | sp.Matrix:
    """Return the derivative by q_1, q_2 or q_3 (joint 0, 1 or 2), by the chain rule."""
    if joint == 1:
        return sp.diff(value, D)
    sine, cosine = (S1, C1) if joint == 0 else (S3, C3)
    return cosine * sp.diff(value, sine) - sine * sp.diff(value, cosine)


def _d_dt(matrix: sp.Matrix) -> sp.Matrix:
    """Return the time derivative of a matrix at the joint velocities VELOCITIES."""
    return sum((_d_dq(matrix, j) * VELOCITIES[j] for j in range(3)), sp.zeros(*matrix.shape))


def _expand_in_sines(value: sp.Expr) -> sp.Expr:
    """Return an expression expanded, with cos^2 of joints 1 and 3 replaced by 1 - sin^2."""
    value = sp.expand(value)
    for sine, cosine in ((S1, C1), (S3, C3)):
        value = sp.expand(value.subs(cosine**2, 1 - sine**2))
    return value


def _collect_by_mass(value: sp.Expr) -> sp.Expr:
    """Return an expression as a sum with one term for each mass."""
    return sp.collect(_expand_in_sines(value), MASSES, sp.factor_terms)


class ReportSection(NamedTuple):
    """A section of the report with named formulas, in the order in which they are computed."""

    title: str
    explanation: str
    formulas: Mapping[str, sp.Expr | sp.Matrix]


def rpr_report_sections() -> list[ReportSection]:
    """Return the RPR report's sections, the paper's errors corrected (docs/theory/errata.md)."""
    return [*_kinematics_sections(), *_dynamics_sections()]


def _kinematics_sections() -> list[ReportSection]:
    """Return the RPR report's sections on poses, inverse kinematics and Jacobians."""
    px, py, pz, w, c = sp.symbols('px py pz w c', real=True)
    q1, q2, q3, d2bar = sp.symbols('q1 q2 q3 d2bar', real=True)
    height = (pz - D0) / A3
    _, first, second, third = frame_poses()
    jacobian = geometric_jacobian()
    return [
        ReportSection(
            '1.2 direct kinematics',
            'S_i, C_i are the sine and cosine of theta_i = q_i, D = d2bar + d2, d2 = q2.',
            {
                str(S1): sp.sin(q1),
                str(C1): sp.cos(q1),
                str(S3): sp.sin(q3),
                str(C3): sp.cos(q3),
                str(D): d2bar + q2,
                'T_b1': first,
                'T_b2': second,
                'T_b3': third,
                'p_3': third[:3, 3],
            },
        ),
        ReportSection(
            '1.3 inverse kinematics',
            'Exactly four branches: the roots w = D + a3 C3 and c = C3 take either sign. Out of '
            'reach if px^2 + py^2 < a1^2 or |pz - d0| > a3.',
            {
                'c': sp.sqrt(1 - height**2),
                'w': sp.sqrt(px**2 + py**2 - A1**2),
                'theta3': sp.atan2(height, c),
                'theta1': sp.atan2(w * px + A1 * py, A1 * px - w * py),
                'd2': w - A3 * c - d2bar,
            },
        ),
        ReportSection(
            '1.4 and 1.5 Jacobians',
            'Rows of J_G are (v, omega).',
            {'J_A': jacobian[:3, :], 'J_G': jacobian},
        ),
    ]


def _dynamics_sections() -> list[ReportSection]:
    """Return the RPR report's sections on centres of mass, energies and equations of motion."""
    motion = equations_of_motion()
    first_center, second_center, third_center = centers_of_mass()
    first_tensor, second_tensor, third_tensor = central_inertias()
    upper_triangle = [(i, j) for i in range(3) for j in range(i, 3)]
    return [
        ReportSection(
            '2 centres of mass and tensors about them',
            'I2x is the box about x2: the first form with its length a2 along z2, where p_l2 puts '
            'it (config/arms/rpr.yaml), the second with the tensor as the report prints it. I2y '
            'and I2z do not act.',
            {
                'p_l1': first_center,
                'p_l2': second_center,
                'p_l3': third_center,
                'I2x': BOX_INERTIA_ABOUT_X,
                'I_l1': first_tensor,
                'I_l2': second_tensor,
                'I_l3': third_tensor,
                'I2x_printed': BOX_INERTIA_IN_PAPER,
            },
        ),
        ReportSection(
            '2.1 and 2.2 energies',
            'v_i are the joint velocities dq_i, g0 is the strength of gravity.',
            {
                **{str(v): sp.Symbol(f'dq{i}') for i, v in enumerate(VELOCITIES, 1)},
                **{f'B{i + 1}{j + 1}': motion['B'][i, j] for i, j in upper_triangle},
                'T': motion['T'],
                'U': motion['U'],
            },
        ),
        ReportSection(
            '3 equations of motion: B ddq + C dq + g = tau - J_G^T h_e',
            'h_e is the wrench (force, moment) that the end effector exerts on its surroundings, '
            'at the origin of {3}, in {S}. No friction.',
            {'C': motion['C'], 'g': motion['g']},
        ),
    ]


def python_text(sections: Sequence[ReportSection]) -> str:
    """Return Python statements that compute formulas once q1, dq1, ..., lengths have values."""
    lines = ['from math import atan2, cos, sin, sqrt']
    for section in sections:
        lines += ['', f'# {section.title}', f'# {section.explanation}']
        for name, value in section.formulas.items():
            is_matrix = isinstance(value, sp.MatrixBase)
            lines.append(f'{name} = {value.tolist() if is_matrix else value}')
    return '\n'.join([*lines, ''])


def latex_text(sections: Sequence[ReportSection]) -> str:
    """Return the formulas as LaTeX equations, with section titles as comments."""
    lines = []
    for section in sections:
        lines.append(f'% {section.title}')
        for name, value in section.formulas.items():
            written = sp.latex(value, mat_delim='', mat_str='bmatrix')
            lines.append(rf'\[ {sp.latex(sp.Symbol(name))} = {written} \]')
    return '\n'.join([*lines, ''])
