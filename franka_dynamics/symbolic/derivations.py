# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm's kinematics and equations of motion in symbols, as sections of formulas."""

from __future__ import annotations

from collections.abc import Iterator
import math

import numpy as np
import sympy as sp

from .chain import joint_symbol, Kinematics
from .rendering import Formula, Section
from ..arm import ArmDescription, Convention, JointKind
from ..codegen.chain import build_chain
from ..codegen.emit import operation_count
from ..codegen.equations import run_time_parameter_names, run_time_parameter_values
from ..codegen.expression import Graph
from ..codegen.options import Quantity
from ..codegen.program import write_program
from ..codegen.quantities import outputs_of, Problem
from ..dynamics.model import require_reference_frame
from ..rpr import symbolic as rpr
from ..spatial import quarter_turns

_JACOBIAN_MEANING = {
    'LOCAL_WORLD_ALIGNED': "v of the frame's origin, axes of the base",
    'WORLD': 'v of the body point at the origin of the base, axes of the base',
    'LOCAL': "v of the frame's origin, axes of the frame",
}


def kinematics(
    description: ArmDescription, reference_frame: str = 'LOCAL_WORLD_ALIGNED'
) -> list[Section]:
    """
    Return sections of formulas: the frames' poses, origins, axes, twists and Jacobians.

    Symbols are those of the Panda notebook (docs/theory/references.md). Twists and Jacobians are
    (v, omega), as everywhere in this package; the notebook has (omega, v). The arm may have either
    DH convention. `reference_frame` is the reference frame of the Jacobians J_i:
    LOCAL_WORLD_ALIGNED (mixed), WORLD (space) or LOCAL (body).

    Raises
    ------
    FrameError
        If there is no such reference frame.

    """
    require_reference_frame(reference_frame)
    forms = Kinematics(description)
    sections = [
        Section(
            f'{description.name}: kinematics',
            (
                's_i and c_i are the sine and cosine of joint i. Twists, Jacobians: (v, omega).',
                "In J_mi, v is the velocity of link i's centre of mass. J_i is Pinocchio's "
                f'{reference_frame}: {_JACOBIAN_MEANING[reference_frame]}.',
                'All in {S}.'
                if np.array_equal(description.base, np.eye(4))
                else 'All in frame {0}: to be in {S}, multiply T_i by the pose of the base.',
                "xc_i, yc_i, zc_i: link i's centre of mass in frame i, of set "
                f'{description.inertial_set}, hand {description.hand}.',
            ),
            (*symbols(description), *_centers(description)),
        )
    ]
    for i in range(1, forms.n + 2):
        moves = i <= forms.n
        formulas = (
            *(Formula(f'T_{i}', forms.pose(i)), Formula(f'r_{i}', forms.position(i))),
            Formula(f'omega_{i}', forms.axis(i)),
            *([Formula(f'xi_{i}', forms.joint_twist(i))] if moves else []),
            Formula(f'J_{i}', forms.jacobian(i, reference_frame)),
            *([Formula(f'J_m{i}', forms.center_of_mass_jacobian(i))] if moves else []),
        )
        title = f'frame {i}' if moves else f'frame {i}, the flange'
        sections.append(Section(title, (), formulas))
    return sections


def symbols(description: ArmDescription) -> tuple[Formula, ...]:
    """Return formulas of DH lengths, and of sines and cosines of constant and joint angles."""
    turns = [
        Formula(f'{letter}{i}', function(joint_symbol(i)))
        for i, joint in enumerate(description.joints, 1)
        if joint.kind is JointKind.REVOLUTE
        for letter, function in (('s', sp.sin), ('c', sp.cos))
    ]
    values = {str(letter): value for letter, value in Kinematics(description).values.items()}
    return (*numeric_assignments(values), *turns)


def _centers(description: ArmDescription) -> tuple[Formula, ...]:
    return numeric_assignments(
        {
            f'{axis}c{i}': float(part)
            for i, link in enumerate(description.links, 1)
            for axis, part in zip('xyz', link.center_of_mass)
        }
    )


_OF_MOTION = {Quantity.MASS_MATRIX: 'M', Quantity.CORIOLIS_MATRIX: 'C', Quantity.GRAVITY: 'g'}


def equations(description: ArmDescription) -> list[Section]:
    """
    Return M, C and g of an arm, of either DH convention, as a straight-line program.

    One program computes M, C and g, with the equations of `codegen --parameters run_time`.
    """
    graph = Graph()
    problem = Problem(graph, (build_chain(description, None, graph),))
    letters, outputs = zip(
        *(
            (letter, output)
            for quantity, letter in _OF_MOTION.items()
            for output in outputs_of(quantity, problem)
        )
    )
    names = run_time_parameter_names(description.n)
    program = write_program('equations', graph, outputs, ('q', 'dq'), '', (), names)
    before, lines = (
        tuple(Formula(*line.split(' = ')) for line in statements)
        for statements in (program.preparation, program.statements)
    )
    results = tuple(
        Formula(letter + ''.join(str(i + 1) for i in place), text)
        for letter, (places, text) in zip(letters, program.results)
        for place in places
    )
    multiplications, additions = operation_count(program)
    return [
        Section(
            f'{description.name}, set {description.inertial_set}, hand {description.hand}: '
            'M(q), C(q, dq), g(q)',
            (
                'X1_xx ..., X1_hx ..., X1_m: inertia about the origin of frame 1, first moment '
                'and mass of link 1;',
                'X1_rotor: its rotor; gx, gy, gz: gravity in the space frame. C holds the '
                'Christoffel symbols.',
            ),
            numeric_assignments(dict(zip(names, run_time_parameter_values(description)))),
        ),
        Section('terms that depend on these numbers alone', (), before),
        Section(
            f'{len(lines)} lines, {multiplications} multiplications, {additions} additions',
            ('q_i: position of joint i; dq_i: its velocity.',),
            lines,
        ),
        Section('results', (), results),
    ]


def step_by_step(description: ArmDescription) -> list[Section]:
    """Return an arm's derivation in sections: DH rows, transforms, all frames, M, C and g."""
    forms = Kinematics(description)
    flange = forms.n + 1
    order = (
        'Rx(alpha) Tx(a) Rz(theta) Tz(d)'
        if description.convention is Convention.MODIFIED
        else 'Rz(theta) Tz(d) Tx(a) Rx(alpha)'
    )
    return [
        Section(
            f'{description.name}: derivation step by step',
            (
                f'Denavit-Hartenberg rows: a, alpha, d, theta (and beta, a turn about y after '
                f'that about x, if it is not zero), applied as {order}; the last is the '
                "flange's. [m, rad]",
            ),
            tuple(_dh_rows(description)),
        ),
        Section(
            'transforms',
            ('A_i is the pose of frame i in frame i - 1; T_i = A_1 ... A_i.',),
            (
                *symbols(description),
                *(Formula(f'A_{i}', forms.link_transform(i)) for i in range(1, flange + 1)),
            ),
        ),
        *kinematics(description),
        Section(
            'the flange in space and body frames',
            (
                'J_space: v is dr/dt - omega x r, axes of {0} (WORLD). J_body: axes of the '
                'flange (LOCAL).',
            ),
            (
                Formula('J_space', forms.jacobian(flange, 'WORLD')),
                Formula('J_body', forms.jacobian(flange, 'LOCAL')),
            ),
        ),
        *equations(description),
    ]


def _dh_rows(description: ArmDescription) -> Iterator[Formula]:
    """Yield the DH row of each joint, with its position in it, and of the flange."""
    rows = [*((one.row, one.kind) for one in description.joints), (description.flange, None)]
    for i, (row, kind) in enumerate(rows, 1):
        entries = [_number(row.a), _angle(row.alpha), _number(row.d), _angle(row.theta)]
        if row.beta:  # between nearly parallel axes
            entries.append(_angle(row.beta))
        if kind is not None:
            entries[3 if kind is JointKind.REVOLUTE else 2] += joint_symbol(i)
        yield Formula(f'DH_{i}', sp.Matrix([entries]))


def _number(value: float) -> sp.Expr:
    return sp.Integer(0) if value == 0.0 else sp.Float(repr(value))


def _angle(value: float) -> sp.Expr:
    if quarter_turns(value) is None:
        return _number(value)
    return sp.Rational(round(value / (0.5 * math.pi)), 2) * sp.pi


def rpr_report() -> list[Section]:
    """Return the RPR manipulator's formulas in the sections of Busellato 2023, corrected."""
    return [*_rpr_kinematics(), *_rpr_dynamics()]


def _rpr_kinematics() -> list[Section]:
    p, (w, c) = sp.symbols('px py pz', real=True), sp.symbols('w c', real=True)
    height = (p[2] - rpr.D0) / rpr.A3
    return [
        Section(
            '1.2 direct kinematics',
            ('S_i, C_i are the sine and cosine of theta_i = q_i, D = d2bar + d2, d2 = q2.',),
            (
                *(
                    Formula(str(letter), function(joint_symbol(i)))
                    for i, pair in ((1, (rpr.S1, rpr.C1)), (3, (rpr.S3, rpr.C3)))
                    for letter, function in zip(pair, (sp.sin, sp.cos))
                ),
                Formula('D', sp.Symbol('d2bar', real=True) + joint_symbol(2)),
                *(Formula(f'T_b{i}', pose) for i, pose in enumerate(rpr.poses()) if i),
                Formula('p_3', rpr.poses()[3][:3, 3]),
            ),
        ),
        Section(
            '1.3 inverse kinematics',
            (
                'Exactly four branches: the roots w = D + a3 C3 and c = C3 take either sign.',
                'Out of reach if px^2 + py^2 < a1^2 or |pz - d0| > a3.',
            ),
            (
                Formula('c', sp.sqrt(1 - height**2)),
                Formula('w', sp.sqrt(p[0] ** 2 + p[1] ** 2 - rpr.A1**2)),
                Formula('theta3', sp.atan2(height, c)),
                Formula('theta1', sp.atan2(w * p[0] + rpr.A1 * p[1], rpr.A1 * p[0] - w * p[1])),
                Formula('d2', w - rpr.A3 * c - sp.Symbol('d2bar', real=True)),
            ),
        ),
        Section(
            '1.4 and 1.5 Jacobians',
            ('Rows of J_G are (v, omega).',),
            (
                Formula('J_A', rpr.geometric_jacobian()[:3, :]),
                Formula('J_G', rpr.geometric_jacobian()),
            ),
        ),
    ]


def _rpr_dynamics() -> list[Section]:
    forms = rpr.equations_of_motion()
    centers, tensors = rpr.centers_of_mass(), rpr.central_inertias()
    return [
        Section(
            '2 centres of mass and tensors about them',
            (
                'I2x is the box about x2: the first form with its length a2 along z2, where p_l2 '
                'puts it',
                '(config/arms/rpr.yaml), the second with the tensor as the report '
                'prints it. I2y and I2z do not act.',
            ),
            (
                *(Formula(f'p_l{i + 1}', center) for i, center in enumerate(centers)),
                Formula('I2x', rpr.BOX_INERTIA_ABOUT_X),
                *(Formula(f'I_l{i + 1}', tensor) for i, tensor in enumerate(tensors)),
                Formula('I2x_printed', rpr.BOX_INERTIA_IN_PAPER),
            ),
        ),
        Section(
            '2.1 and 2.2 energies',
            ('v_i are the joint velocities dq_i.',),
            (
                *(Formula(str(v), sp.Symbol(f'dq{i}')) for i, v in enumerate(rpr.RATES, 1)),
                *(
                    Formula(f'B{i + 1}{j + 1}', forms.inertia[i, j])
                    for i in range(3)
                    for j in range(i, 3)
                ),
                Formula('T', forms.kinetic),
                Formula('U', forms.potential),
            ),
        ),
        Section(
            '3 equations of motion: B ddq + C dq + g = tau + J_G^T w',
            (
                'w is the wrench (force, moment) that the surroundings exert on the end effector,',
                'at the origin of {3}, in {S}: -h_e of the report. No friction.',
            ),
            (Formula('C', forms.coriolis), Formula('g', forms.gravity)),
        ),
    ]


def numeric_assignments(values: dict[str, float]) -> tuple[Formula, ...]:
    """Return a formula `symbol = number` for each entry of `values`."""
    # repr is the shortest text that reads back as the same number.
    return tuple(Formula(letter, repr(value)) for letter, value in values.items())
