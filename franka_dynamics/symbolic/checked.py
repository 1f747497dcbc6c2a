# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A derivation step by step, every line evaluated as it is written and compared with Pinocchio.

Rows, transforms, poses, Jacobians, M, C and g of an arm: each formula's text is run at random
states of the arm and the result compared with what the numeric models say; the note beside it has
the largest difference, relative to max(1, |value|). The numeric models see the arm's numbers only;
nothing derived here goes into them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
import math

import numpy as np
import sympy as sp

from . import derivations
from .chain import center_in_link, chain_of, Kinematics, position
from .equations import Body, derive
from .formula_check import CheckedDerivation, evaluated, Expected, FormulaChecker, numeric_model
from .rendering import Formula, Section
from ..arm import ArmDescription, Convention, DHRow, JointKind, LinkInertia
from ..arm.dh_conversion import in_modified_convention
from ..arm.sampling import JointStates, sample_states
from ..dynamics.model import GRAVITY
from ..dynamics.newton_euler import NewtonEulerModel
from ..dynamics.product_of_exponentials import ExponentialsModel
from ..spatial import inverse_transform
from ..typing import Array


def step_by_step(description: ArmDescription, count: int = 3) -> CheckedDerivation:
    """
    Return the derivation of an arm's kinematics and dynamics, checked.

    Parameters
    ----------
    description : ArmDescription
        Of either convention. Poses are in frame {0}, gravity is along -z of the space frame.
    count : int
        At how many random states each line is evaluated.

    """
    kinematics = _GeneralSteps(description, count)
    return kinematics.derivation()


def _joint_letters(description: ArmDescription, states: JointStates) -> list[dict[str, float]]:
    """Return s_i, c_i, q_i and v_i at each state."""
    found = []
    for q, dq in zip(states.q, states.dq):
        names: dict[str, float] = {}
        for i, joint in enumerate(description.joints):
            names[f'q{i + 1}'], names[f'v{i + 1}'] = float(q[i]), float(dq[i])
            if joint.kind is JointKind.REVOLUTE:
                names |= {f's{i + 1}': math.sin(q[i]), f'c{i + 1}': math.cos(q[i])}
        found.append(names)
    return found


class _GeneralSteps:
    """The steps for any arm."""

    def __init__(self, description: ArmDescription, count: int) -> None:
        self.description = description
        # In frame {0}, as the letters are: the base stands at the origin and gravity is turned.
        turned = np.asarray(description.base)[:3, :3].T @ GRAVITY
        self.arm = replace(description, base=np.eye(4))
        self.states = sample_states(self.arm, count, seed=0)
        self.model = numeric_model(self.arm, turned)
        self.exponentials = ExponentialsModel(self.arm, turned)
        joints = (
            in_modified_convention(replace(self.arm, flange=DHRow()))
            if self.arm.convention is Convention.STANDARD
            else self.arm
        )
        self.joint_model = NewtonEulerModel(joints, turned)
        self.chain = chain_of(self.arm)
        self.forms = Kinematics(self.chain)
        self.equations = derive(self.chain, self.description, GRAVITY)
        numbers = {str(letter): value for letter, value in self.equations.values.items()}
        letters = _joint_letters(self.arm, self.states)
        for names in letters:
            names |= numbers
            for i, link in enumerate(self.arm.links, start=1):
                if link.mass > 0.0:
                    names |= {
                        str(letter): float(part)
                        for letter, part in zip(center_in_link(i), link.center_of_mass)
                    }
        self.checker = FormulaChecker(letters)

    def derivation(self) -> CheckedDerivation:
        """Return all sections."""
        arm = self.description
        flange = self.chain.n + 1
        sections = [
            Section(
                f'{arm.name}: derivation step by step',
                (
                    f'Set {arm.inertial_set}, hand {arm.hand}; {arm.convention.value} rows.',
                    's_i, c_i are the sine and cosine of q_i, v_i = dq_i/dt; all in frame {0}, '
                    'the base.',
                    'Twists are (omega, v). Beside each formula: the largest '
                    f'difference at {len(self.states.q)} random states from the model named, '
                    'relative to max(1, |value|).',
                ),
                derivations.numbers(self.equations.values),
            ),
            self._rows(),
            self._transforms(),
            self._poses(),
        ]
        sections += [self._frame(i) for i in range(1, flange + 1)]
        sections.append(
            Section(
                'the flange in space and body frames',
                (
                    'J_space: v is dr/dt - omega x r, axes of {0} (WORLD). J_body: axes '
                    'of the flange '
                    '(LOCAL).',
                ),
                (
                    self._jacobian('J_space', flange, 'WORLD'),
                    self._jacobian('J_body', flange, 'LOCAL'),
                ),
            )
        )
        sections += self._dynamics()
        return CheckedDerivation(sections, self.checker.compared, self.checker.worst)

    def _q(self, state: int) -> Array:
        return np.asarray(self.states.q[state])

    def _steps(self, state: int) -> list[Array]:
        frames = [np.eye(4), *self.model.frames(self._q(state))]
        return [inverse_transform(a) @ b for a, b in pairwise(frames)]

    def _rows(self) -> Section:
        rows = [*(joint.row for joint in self.arm.joints), self.arm.flange]
        read = _modified_row if self.arm.convention is Convention.MODIFIED else _standard_row
        formulas = []
        for i, row in enumerate(rows, start=1):
            entries = [_number(row.a), _angle(row.alpha), _number(row.d), _angle(row.theta)]
            if i <= self.chain.n:
                entries[3 if self.chain.axis_is_turned(i) else 2] += position(i)

            def expected(state: int, i: int = i, entries: list[sp.Expr] = entries) -> Array:
                found = read(self._steps(state)[i - 1])
                # Angles are the same modulo a whole turn.
                written = evaluated(
                    [compile(str(e), 'row', 'eval') for e in entries], self.checker.letters[state]
                )
                turns = np.round((written - found) / (2.0 * math.pi)) * [0, 1, 0, 1]
                return np.asarray(found + 2.0 * math.pi * turns)

            formulas.append(self.checker.formula(f'DH_{i}', sp.Matrix([entries]), expected))
        order = (
            'Rx(alpha) Tx(a) Rz(theta) Tz(d)'
            if self.arm.convention is Convention.MODIFIED
            else 'Rz(theta) Tz(d) Tx(a) Rx(alpha)'
        )
        return Section(
            '1. Denavit-Hartenberg rows',
            (
                f'a, alpha, d, theta of each row, applied as {order}; the last row is the '
                "flange's. [m, rad]",
            ),
            tuple(formulas),
        )

    def _transforms(self) -> Section:
        return Section(
            '2. transforms',
            ('A_i is the pose of frame i in frame i - 1.',),
            tuple(
                self.checker.formula(f'A_{i}', self.forms.step(i), partial(self._step, i))
                for i in range(1, self.chain.n + 2)
            ),
        )

    def _poses(self) -> Section:
        return Section(
            '3. poses',
            ('T_i = A_1 ... A_i.',),
            tuple(
                self.checker.formula(f'T_{i}', self.forms.pose(i), partial(self._frame_pose, i))
                for i in range(1, self.chain.n + 2)
            ),
        )

    def _jacobian(self, name: str, frame: int, reference: str) -> Formula:
        def expected(state: int) -> Array:
            jacobian = self.model.jacobian(self._q(state), frame, reference)
            return np.concatenate((jacobian[3:], jacobian[:3]))

        return self.checker.formula(name, self.forms.jacobian(frame, reference), expected)

    def _frame(self, i: int) -> Section:
        formulas = []
        if i <= self.chain.n:

            def twist(state: int) -> Array:
                column = self.model.jacobian(self._q(state), i, 'WORLD')[:, i - 1]
                return np.concatenate((column[3:], column[:3]))

            formulas.append(self.checker.formula(f'xi_{i}', self.forms.joint_twist(i), twist))
        formulas.append(self._jacobian(f'J_{i}', i, 'LOCAL_WORLD_ALIGNED'))
        if i <= self.chain.n and self.arm.links[i - 1].mass > 0.0:

            def moved(state: int) -> Array:
                jacobian = self.exponentials.center_of_mass_jacobians(self._q(state))[i - 1]
                return np.concatenate((jacobian[3:], jacobian[:3]))

            formulas.append(
                self.checker.formula(
                    f'J_m{i}',
                    self.forms.center_of_mass_jacobian(i),
                    moved,
                    'product of exponentials',
                )
            )
        what = f'frame {i}' if i <= self.chain.n else f'frame {i}, the flange'
        return Section(
            f'4. twists and Jacobians of {what}',
            (
                'xi_i is the twist of joint i in space; v in J_i and J_mi is the velocity '
                'of the point itself (LOCAL_WORLD_ALIGNED).',
            )
            if i == 1
            else (),
            tuple(formulas),
        )

    def _dynamics(self) -> list[Section]:
        forms, n = self.equations, self.chain.n
        sections = []
        results: dict[str, list[tuple[str, sp.Expr | sp.Matrix, Expected]]] = {
            'all links behind a joint as one body': [
                entry
                for j, body in enumerate(forms.composites)
                for entry in self._composite(j, body)
            ],
            'angular velocities': [
                (f'omega_{i + 1}', omega, partial(self._omega, i))
                for i, omega in enumerate(forms.omegas)
            ],
            'the mass matrix': [
                (f'M{i + 1}{j + 1}', forms.mass[i, j], partial(self._mass, i, j))
                for i in range(n)
                for j in range(n)
            ],
            'gravity': [
                (f'g{i + 1}', forms.gravity[i], partial(self._gravity, i)) for i in range(n)
            ],
            'Coriolis and centrifugal torques': [
                (f'C{i + 1}{j + 1}', forms.coriolis[i, j], partial(self._coriolis, i, j))
                for i in range(n)
                for j in range(n)
            ],
        }
        for stage in forms.stages:
            formulas = [self.checker.formula(str(letter), value) for letter, value in stage.lines]
            known = self.checker.letters[0]
            for name, value, expected in results.get(stage.title, []):
                if not {str(letter) for letter in value.free_symbols} <= set(known):
                    continue  # no result depends on it, so that its lines are left out
                against = (
                    'sums of the links' if stage.title.startswith('all links') else 'Pinocchio'
                )
                formulas.append(self.checker.formula(name, value, expected, against))
            if formulas:
                sections.append(
                    Section(f'5. {stage.title}', _SENTENCES.get(stage.title, ()), tuple(formulas))
                )
        return sections

    def _step(self, frame: int, state: int) -> Array:
        return self._steps(state)[frame - 1]

    def _frame_pose(self, frame: int, state: int) -> Array:
        return np.asarray(self.model.frames(self._q(state))[frame - 1])

    def _mass(self, i: int, j: int, state: int) -> float:
        return float(self.model.mass_matrix(self._q(state))[i, j])

    def _gravity(self, i: int, state: int) -> float:
        return float(self.model.gravity(self._q(state))[i])

    def _coriolis(self, i: int, j: int, state: int) -> float:
        return float(self.model.coriolis_matrix(self._q(state), self.states.dq[state])[i, j])

    def _omega(self, link: int, state: int) -> Array:
        jacobian = self.joint_model.jacobian(self._q(state), link + 1, 'LOCAL')
        return np.asarray(jacobian[3:] @ self.states.dq[state])

    def _composite(
        self,
        j: int,
        body: Body,
    ) -> list[tuple[str, sp.Expr | sp.Matrix, Expected]]:
        def total(state: int) -> LinkInertia:
            frames = self.joint_model.frames(self._q(state))
            back = inverse_transform(frames[j])
            found = LinkInertia.zero()
            for link, frame in zip(self.joint_model.description.links[j:], frames[j:]):
                found = found + link.expressed_in(back @ frame)
            return found

        return [
            (f'mc_{j + 1}', sp.Matrix([[body.mass]]), lambda state: total(state).mass),
            (f'hc_{j + 1}', body.moment, lambda state: total(state).first_moment),
            (f'Ic_{j + 1}', body.inertia, lambda state: total(state).inertia),
        ]


_SENTENCES = {
    'links in the frames of their joints': (
        'm_i, hx_i ..., Ixx_i ...: mass, first moment, inertia about the origin of frame i.',
    ),
    'all links behind a joint as one body': (
        'mc_j, hc_j, Ic_j: mass, first moment and inertia of links j ... n about the origin and '
        'in the axes of frame j.',
    ),
    'the mass matrix': (
        'Column j: a unit acceleration of joint j moves the body behind it; what that asks of the '
        'joints before is carried to them.',
    ),
    'angular velocities': ('Of link i in frame i.',),
    'gravity': ('gx, gy, gz: gravity in frame {0}.',),
    'Coriolis and centrifugal torques': (
        'Column j: the Newton-Euler recursion made bilinear, at (dq, e_j): the Christoffel '
        'symbols.',
    ),
}


def _number(value: float) -> sp.Expr:
    return sp.Integer(0) if value == 0.0 else sp.Float(repr(value))


def _angle(value: float) -> sp.Expr:
    quarters = value / (0.5 * math.pi)
    if quarters == round(quarters):
        return sp.Rational(round(quarters), 2) * sp.pi
    return _number(value)


def _modified_row(step: Array) -> Array:
    """Return a, alpha, d and theta of Rx(alpha) Tx(a) Rz(theta) Tz(d)."""
    return np.array(
        [
            step[0, 3],
            math.atan2(-step[1, 2], step[2, 2]),
            step[:3, 2] @ step[:3, 3],
            math.atan2(-step[0, 1], step[0, 0]),
        ]
    )


def _standard_row(step: Array) -> Array:
    """Return a, alpha, d and theta of Rz(theta) Tz(d) Tx(a) Rx(alpha)."""
    theta = math.atan2(step[1, 0], step[0, 0])
    return np.array(
        [
            step[0, 3] * math.cos(theta) + step[1, 3] * math.sin(theta),
            math.atan2(step[2, 1], step[2, 2]),
            step[2, 3],
            theta,
        ]
    )
