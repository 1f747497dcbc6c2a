# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The RPR report's formulas (Busellato 2023, sections 1.2 to 3), corrected, as Python or LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from . import symbolic as rpr
from .symbolic import sp

_P, (_W, _C) = sp.symbols('px py pz', real=True), sp.symbols('w c', real=True)
_Q = sp.symbols('q1:4', real=True)
_D2BAR = sp.Symbol('d2bar', real=True)


class Section(NamedTuple):
    """A section of the report: its title, an explanation, and values by their names."""

    title: str
    sentence: str
    formulas: Mapping[str, sp.Expr | sp.Matrix]


def rpr_report() -> list[Section]:
    """Return the sections; what the report has wrong is right here (docs/theory/errata.md)."""
    return [*_kinematics(), *_dynamics()]


def _kinematics() -> list[Section]:
    height = (_P[2] - rpr.D0) / rpr.A3
    jacobian = rpr.geometric_jacobian()
    return [
        Section(
            '1.2 direct kinematics',
            'S_i, C_i are the sine and cosine of theta_i = q_i, D = d2bar + d2, d2 = q2.',
            {
                **{str(rpr.S1): sp.sin(_Q[0]), str(rpr.C1): sp.cos(_Q[0])},
                **{str(rpr.S3): sp.sin(_Q[2]), str(rpr.C3): sp.cos(_Q[2])},
                str(rpr.D): _D2BAR + _Q[1],
                **{f'T_b{i}': pose for i, pose in enumerate(rpr.poses()) if i},
                'p_3': rpr.poses()[3][:3, 3],
            },
        ),
        Section(
            '1.3 inverse kinematics',
            'Exactly four branches: the roots w = D + a3 C3 and c = C3 take either sign. Out of '
            'reach if px^2 + py^2 < a1^2 or |pz - d0| > a3.',
            {
                'c': sp.sqrt(1 - height**2),
                'w': sp.sqrt(_P[0] ** 2 + _P[1] ** 2 - rpr.A1**2),
                'theta3': sp.atan2(height, _C),
                'theta1': sp.atan2(_W * _P[0] + rpr.A1 * _P[1], rpr.A1 * _P[0] - _W * _P[1]),
                'd2': _W - rpr.A3 * _C - _D2BAR,
            },
        ),
        Section(
            '1.4 and 1.5 Jacobians',
            'Rows of J_G are (v, omega).',
            {'J_A': jacobian[:3, :], 'J_G': jacobian},
        ),
    ]


def _dynamics() -> list[Section]:
    forms = rpr.equations_of_motion()
    centers, tensors = rpr.centers_of_mass(), rpr.central_inertias()
    return [
        Section(
            '2 centres of mass and tensors about them',
            'I2x is the box about x2: the first form with its length a2 along z2, where p_l2 puts '
            'it (config/arms/rpr.yaml), the second with the tensor as the report prints it. I2y '
            'and I2z do not act.',
            {
                **{f'p_l{i}': center for i, center in enumerate(centers, 1)},
                'I2x': rpr.BOX_INERTIA_ABOUT_X,
                **{f'I_l{i}': tensor for i, tensor in enumerate(tensors, 1)},
                'I2x_printed': rpr.BOX_INERTIA_IN_PAPER,
            },
        ),
        Section(
            '2.1 and 2.2 energies',
            'v_i are the joint velocities dq_i.',
            {
                **{str(v): sp.Symbol(f'dq{i}') for i, v in enumerate(rpr.RATES, 1)},
                **{f'B{i + 1}{j + 1}': forms.inertia[i, j] for i in range(3) for j in range(i, 3)},
                'T': forms.kinetic,
                'U': forms.potential,
            },
        ),
        Section(
            '3 equations of motion: B ddq + C dq + g = tau + J_G^T w',
            'w is the wrench (force, moment) that the surroundings exert on the end effector, at '
            'the origin of {3}, in {S}: -h_e of the report. No friction.',
            {'C': forms.coriolis, 'g': forms.gravity},
        ),
    ]


def as_text(sections: Sequence[Section]) -> str:
    """Return a Python module of assignments, which reads q1, dq1, ..., lengths and masses."""
    lines = ['from math import atan2, cos, sin, sqrt']
    for section in sections:
        lines += ['', f'# {section.title}', f'# {section.sentence}']
        for name, value in section.formulas.items():
            matrix = isinstance(value, sp.MatrixBase)
            lines.append(f'{name} = {value.tolist() if matrix else value}')
    return '\n'.join([*lines, ''])


def as_latex(sections: Sequence[Section]) -> str:
    """Return the formulas as equations of LaTeX, with titles as comments."""
    lines = []
    for section in sections:
        lines.append(f'% {section.title}')
        for name, value in section.formulas.items():
            written = sp.latex(value, mat_delim='', mat_str='bmatrix')
            lines.append(rf'\[ {sp.latex(sp.Symbol(name))} = {written} \]')
    return '\n'.join([*lines, ''])
