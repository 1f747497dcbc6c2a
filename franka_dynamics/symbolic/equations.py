# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The full M, C and g of an arm in letters, as a straight-line program with common subexpressions.

M comes from composite bodies: column j is the wrench of all links behind joint j, moved as one by
a unit acceleration of it. C comes from the Newton-Euler recursion made bilinear in two velocities:
with h(dq) = C dq quadratic, column j is its symmetric bilinear form at (dq, e_j), whose
coefficients are the Christoffel symbols. Links enter by mass, first moment and inertia about
their frame's origin (Gautier and Khalil 1990, eq. 3), as the letters m_i, hx_i ... and Ixx_i ...,
rotors by Ia_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import sympy as sp

from .chain import SymbolicChain, velocity
from ..arm import ArmDescription


class Stage(NamedTuple):
    """A part of the program: what it is for, and its lines."""

    title: str
    lines: tuple[tuple[sp.Symbol, sp.Expr], ...]


class SymbolicProgram:
    """
    Lines `letter = expression` in the order in which they can be computed.

    Only what is a sum or a product gets a line; letters, numbers and their opposites stay as they
    are, so zeros of the geometry vanish from everything behind them.
    """

    def __init__(self, prefix: str = 'k') -> None:
        self.lines: list[tuple[sp.Symbol, sp.Expr]] = []
        self._prefix = prefix
        self._known: dict[sp.Expr, sp.Symbol] = {}
        self._stages: list[tuple[str, int]] = []

    def begin(self, stage: str) -> None:
        """Let the lines from here on belong to a stage of the derivation."""
        self._stages.append((stage, len(self.lines)))

    def stages(self, needed: Sequence[tuple[sp.Symbol, sp.Expr]]) -> tuple[Stage, ...]:
        """Return the needed lines by the stages in which they were written."""
        letters = {letter for letter, _ in needed}
        ends = [start for _, start in self._stages[1:]] + [len(self.lines)]
        return tuple(
            Stage(title, tuple(line for line in self.lines[start:end] if line[0] in letters))
            for (title, start), end in zip(self._stages, ends)
        )

    def keep(self, expression: sp.Expr) -> sp.Expr:
        """Return a letter for an expression, the one it already has or a new line's."""
        value = sp.sympify(expression)
        if value.is_Atom:
            return value
        if value.could_extract_minus_sign():
            return -self.keep(-value)
        if value not in self._known:
            letter = sp.Symbol(f'{self._prefix}{len(self.lines) + 1}', real=True)
            self.lines.append((letter, value))
            self._known[value] = letter
        return self._known[value]

    def keep_all(self, matrix: sp.Matrix) -> sp.Matrix:
        """Return a matrix with a letter for each entry."""
        return matrix.applyfunc(self.keep)

    def needed_for(self, results: list[sp.Expr]) -> list[tuple[sp.Symbol, sp.Expr]]:
        """Return the lines that the results depend on, in order."""
        requested = set().union(*(result.free_symbols for result in results))
        needed = []
        for letter, value in reversed(self.lines):
            if letter in requested:
                needed.append((letter, value))
                requested |= value.free_symbols
        return needed[::-1]


_Z = sp.Matrix([0, 0, 1])
_SIX = (('xx', 0, 0), ('xy', 0, 1), ('xz', 0, 2), ('yy', 1, 1), ('yz', 1, 2), ('zz', 2, 2))


@dataclass(frozen=True)
class Body:
    """Mass, first moment (3, 1) and inertia (3, 3) about the origin of a frame, in letters."""

    mass: sp.Expr
    moment: sp.Matrix
    inertia: sp.Matrix


@dataclass(frozen=True)
class SymbolicEquations:
    """
    M, C and g in letters, and the lines that define those letters.

    `mass` and `coriolis` have shape (n, n), `gravity` (n, 1).

    Joint velocities are v_i; `values` has the numbers of the lengths, of the links and of gravity.
    `stages` are the same lines by what they are for; `composites` has for each joint all links
    behind it as one body, and `omegas` the links' angular velocities, both in the joints' frames.
    """

    lines: tuple[tuple[sp.Symbol, sp.Expr], ...]
    mass: sp.Matrix
    coriolis: sp.Matrix
    gravity: sp.Matrix
    values: dict[sp.Symbol, float]
    stages: tuple[Stage, ...]
    composites: tuple[Body, ...]
    omegas: tuple[sp.Matrix, ...]


def derive(
    chain: SymbolicChain,
    description: ArmDescription,
    gravity: tuple[float, float, float],
) -> SymbolicEquations:
    """
    Return the equations of motion of an arm.

    Parameters
    ----------
    chain : SymbolicChain
        `chain_of(description)`.
    description : ArmDescription
        Where the numbers of the links come from, and which of them are zero.
    gravity : tuple of 3 float
        In the space frame [m/s^2]; letters are given to its parts in frame {0}.

    """
    program = SymbolicProgram()
    values = dict(chain.values)
    program.begin('links in the frames of their joints')
    bodies = [_body(i + 1, description, values) for i in range(chain.n)]
    bodies = [_in_joint_frame(program, body, tail) for body, tail in zip(bodies, chain.tails)]
    rotors = [
        _letter(f'Ia{i}', joint.rotor_inertia, values)
        for i, joint in enumerate(description.joints, start=1)
    ]
    falling = description.base[:3, :3].T @ gravity
    fall = sp.Matrix(
        [_letter(f'g{axis}', float(part), values) for axis, part in zip('xyz', falling)]
    )
    builder = _Recursions(program, chain, bodies)
    program.begin('the mass matrix')
    mass = builder.mass_matrix() + sp.diag(*rotors)
    program.begin('gravity')
    weight = builder.gravity(fall)
    program.begin('Coriolis and centrifugal torques')
    coriolis = sp.Matrix.hstack(*(builder.coriolis_column(j) for j in range(chain.n)))
    lines = program.needed_for([*mass, *coriolis, *weight])
    return SymbolicEquations(
        tuple(lines),
        mass,
        coriolis,
        weight,
        values,
        program.stages(lines),
        tuple(builder.composites),
        tuple(builder.omegas),
    )


class _Recursions:
    """One arm's recursions; indices count from 0, vectors are in the link's own frame."""

    def __init__(self, program: SymbolicProgram, chain: SymbolicChain, bodies: list[Body]) -> None:
        program.begin('rotations and origins')
        self._keep = program.keep_all
        self._bodies = bodies
        self._n = chain.n
        self._revolute = [chain.axis_is_turned(i + 1) for i in range(chain.n)]
        self._rotations = [self._keep(link.rotation) for link in chain.links[: chain.n]]
        self._origins = [self._keep(link.origin) for link in chain.links[: chain.n]]
        program.begin('all links behind a joint as one body')
        self.composites = self._gather()
        program.begin('angular velocities')
        velocities = [velocity(i + 1) for i in range(chain.n)]
        self.omegas = self._angular_velocities(velocities)
        self._velocities = velocities

    def _up(self, i: int, vector: sp.Matrix) -> sp.Matrix:
        """Express a vector of frame i in frame i - 1."""
        return self._keep(self._rotations[i] * vector)

    def _down(self, i: int, vector: sp.Matrix) -> sp.Matrix:
        """Express a vector of frame i - 1 in frame i."""
        return self._keep(self._rotations[i].T * vector)

    def _gather(self) -> list[Body]:
        """Return for each joint all links behind it as one body, about its own frame's origin."""
        composites = list(self._bodies)
        for i in range(self._n - 1, 0, -1):
            composites[i - 1] = self._joined(composites[i - 1], composites[i], i)
        return composites

    def _joined(self, parent: Body, child: Body, i: int) -> Body:
        rotation, p = self._rotations[i], self._origins[i]
        h = self._up(i, child.moment)
        tensor = self._keep(self._keep(rotation * child.inertia) * rotation.T)
        # Parallel axes between two points of which neither is the centre of mass.
        far = self._keep(h + sp.Rational(1, 2) * child.mass * p)
        shift = 2 * far.dot(p) * sp.eye(3) - far * p.T - p * far.T
        inertia = _symmetric(self._keep(parent.inertia + tensor + shift))
        moment = self._keep(parent.moment + h + child.mass * p)
        return Body(self._keep(sp.Matrix([parent.mass + child.mass]))[0], moment, inertia)

    def mass_matrix(self) -> sp.Matrix:
        """Return M by composite bodies, rotors left out."""
        mass = sp.zeros(self._n, self._n)
        for j, body in enumerate(self.composites):
            if self._revolute[j]:
                force, moment = self._keep(_Z.cross(body.moment)), self._keep(body.inertia * _Z)
            else:
                force, moment = body.mass * _Z, self._keep(body.moment.cross(_Z))
            for i, entry in enumerate(self._inward(j, force, moment)):
                mass[i, j] = mass[j, i] = entry
        return mass

    def _inward(self, last: int, force: sp.Matrix, moment: sp.Matrix) -> list[sp.Expr]:
        """Return what a wrench on link `last` asks of each joint up to it."""
        loads: list[sp.Expr] = []
        for i in range(last, -1, -1):
            loads.append(moment[2] if self._revolute[i] else force[2])
            force, moment = self._carried(i, force, moment)
        return loads[::-1]

    def _carried(
        self,
        i: int,
        force: sp.Matrix,
        moment: sp.Matrix,
    ) -> tuple[sp.Matrix, sp.Matrix]:
        """Return a wrench on link i as one on link i - 1."""
        force = self._up(i, force)
        return force, self._keep(self._up(i, moment) + self._origins[i].cross(force))

    def gravity(self, fall: sp.Matrix) -> sp.Matrix:
        """Return g: what holds each composite body against its weight, (n, 1)."""
        loads = []
        for i, body in enumerate(self.composites):
            fall = self._down(i, fall)
            load = -body.moment.cross(fall)[2] if self._revolute[i] else -body.mass * fall[2]
            loads.append(self._keep(sp.Matrix([load]))[0])
        return sp.Matrix(loads)

    def _angular_velocities(self, rates: list[sp.Expr]) -> list[sp.Matrix]:
        omega, omegas = sp.zeros(3, 1), []
        for i, rate in enumerate(rates):
            omega = self._down(i, omega)
            if self._revolute[i]:
                omega = self._keep(omega + rate * _Z)
            omegas.append(omega)
        return omegas

    def coriolis_column(self, j: int) -> sp.Matrix:
        """Return column j of the Christoffel C: the bilinear recursion at (dq, e_j), (n, 1)."""
        units: list[sp.Expr] = [sp.Integer(int(i == j)) for i in range(self._n)]
        units_omega = self._angular_velocities(units)
        alpha = acceleration = before = other_before = sp.zeros(3, 1)
        wrenches = []
        for i, body in enumerate(self._bodies):
            u, w = self.omegas[i], units_omega[i]
            lever = self._keep(
                alpha.cross(self._origins[i])
                + _twice_turned(before, other_before, self._origins[i])
            )
            acceleration = self._down(i, self._keep(acceleration + lever))
            alpha = self._down(i, alpha)
            half = sp.Rational(1, 2)
            rate, unit = self._velocities[i] * _Z, units[i] * _Z
            if self._revolute[i]:
                alpha = self._keep(alpha + half * (u.cross(unit) + w.cross(rate)))
            else:
                acceleration = self._keep(acceleration + u.cross(unit) + w.cross(rate))
            wrenches.append(self._bilinear_wrench(body, u, w, alpha, acceleration))
            before, other_before = u, w
        return self._sum_inward(wrenches)

    def _bilinear_wrench(
        self, body: Body, u: sp.Matrix, w: sp.Matrix, alpha: sp.Matrix, acceleration: sp.Matrix
    ) -> tuple[sp.Matrix, sp.Matrix]:
        force = self._keep(
            body.mass * acceleration + alpha.cross(body.moment) + _twice_turned(u, w, body.moment)
        )
        spin_u, spin_w = self._keep(body.inertia * u), self._keep(body.inertia * w)
        moment = self._keep(
            body.inertia * alpha
            + body.moment.cross(acceleration)
            + sp.Rational(1, 2) * (u.cross(spin_w) + w.cross(spin_u))
        )
        return force, moment

    def _sum_inward(self, wrenches: list[tuple[sp.Matrix, sp.Matrix]]) -> sp.Matrix:
        force = moment = sp.zeros(3, 1)
        loads: list[sp.Expr] = []
        for i in range(self._n - 1, -1, -1):
            force = self._keep(force + wrenches[i][0])
            moment = self._keep(moment + wrenches[i][1])
            loads.append(moment[2] if self._revolute[i] else force[2])
            force, moment = self._carried(i, force, moment)
        return sp.Matrix(loads[::-1])


def _twice_turned(u: sp.Matrix, w: sp.Matrix, vector: sp.Matrix) -> sp.Matrix:
    """Return 1/2 (u x (w x r) + w x (u x r)) = 1/2 (u (w.r) + w (u.r)) - (u.w) r."""
    half = sp.Rational(1, 2)
    return half * (u * w.dot(vector) + w * u.dot(vector)) - u.dot(w) * vector


def _symmetric(matrix: sp.Matrix) -> sp.Matrix:
    return sp.Matrix(3, 3, lambda i, j: matrix[min(i, j), max(i, j)])


def _in_joint_frame(program: SymbolicProgram, body: Body, tail: sp.Matrix) -> Body:
    """Return a body given in the description's frame in that of its joint."""
    if tail == sp.eye(4):
        return body
    rotation, p = tail[:3, :3], tail[:3, 3]
    h = program.keep_all(rotation * body.moment)
    # Parallel axes between two points of which neither is the centre of mass.
    far = program.keep_all(h + sp.Rational(1, 2) * body.mass * p)
    shift = 2 * far.dot(p) * sp.eye(3) - far * p.T - p * far.T
    tensor = program.keep_all(rotation * body.inertia * rotation.T + shift)
    return Body(body.mass, program.keep_all(h + body.mass * p), _symmetric(tensor))


def _body(i: int, description: ArmDescription, values: dict[sp.Symbol, float]) -> Body:
    link = description.links[i - 1]
    moment = sp.Matrix(
        [
            _letter(f'h{axis}{i}', float(part), values)
            for axis, part in zip('xyz', link.first_moment)
        ]
    )
    inertia = sp.zeros(3, 3)
    for name, row, column in _SIX:
        inertia[row, column] = inertia[column, row] = _letter(
            f'I{name}{i}', float(link.inertia[row, column]), values
        )
    return Body(_letter(f'm{i}', link.mass, values), moment, inertia)


def _letter(name: str, value: float, values: dict[sp.Symbol, float]) -> sp.Expr:
    if value == 0.0:
        return sp.Integer(0)
    letter = sp.Symbol(name, real=True)
    values[letter] = value
    return letter
