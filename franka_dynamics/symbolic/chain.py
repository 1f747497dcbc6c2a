# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A described arm in letters: the Panda notebook's names for the lengths, s_i and c_i for the joints.

Frame i stands, at q = 0, at (x_i, y_i, z_i) in frame i - 1 and is rolled by alpha about x, as a
URDF writes a modified DH row: (a, -d sin alpha, d cos alpha). Lengths that are zero vanish;
frame n + 1 is the flange. `values` has the number of each letter.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import sympy as sp

from ..arm import ArmDescription, Convention, DHRow, JointKind


@dataclass(frozen=True)
class Link:
    """
    One frame of the chain: its place in the one before, and how its joint moves it.

    `offset` is (x, y, z) and `tilt` the roll, and a revolute joint's constant theta, as a (3, 3)
    rotation; `sine`, `cosine` and `slide` are what the joint adds (a revolute joint slides by 0,
    a prismatic one has constant sine and cosine).
    """

    offset: sp.Matrix
    tilt: sp.Matrix
    sine: sp.Expr
    cosine: sp.Expr
    slide: sp.Expr

    @property
    def rotation(self) -> sp.Matrix:
        """Rotation of this frame in the one before, (3, 3)."""
        turn = sp.Matrix([[self.cosine, -self.sine, 0], [self.sine, self.cosine, 0], [0, 0, 1]])
        return self.tilt * turn

    @property
    def origin(self) -> sp.Matrix:
        """Origin of this frame in the one before, (3, 1)."""
        return self.offset + self.tilt * sp.Matrix([0, 0, self.slide])


@dataclass(frozen=True)
class Chain:
    """
    The frames 1..n and the flange of an arm in letters, and the numbers of the letters.

    Every joint of `links` lies along z of its own frame. `tails` are the poses (4, 4) of the
    description's frames in these: the identity for modified rows, Tx(a_i) Rx(alpha_i) for
    standard ones, whose frame i is fixed to link i behind them.
    """

    links: tuple[Link, ...]
    kinds: tuple[JointKind, ...]
    values: dict[sp.Symbol, float]
    tails: tuple[sp.Matrix, ...]

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.kinds)

    def axis_is_turned(self, joint: int) -> bool:
        """Return whether joint 1..n is revolute."""
        return self.kinds[joint - 1] is JointKind.REVOLUTE

    def rate(self, expression: sp.Expr) -> sp.Expr:
        """Return the time derivative of an expression in s_i, c_i, q_i, with velocities v_i."""
        total = sp.Integer(0)
        for i, link in enumerate(self.links[: self.n], start=1):
            v = velocity(i)
            if self.axis_is_turned(i):
                total += v * (
                    sp.diff(expression, link.sine) * link.cosine
                    - sp.diff(expression, link.cosine) * link.sine
                )
            else:
                total += v * sp.diff(expression, position(i))
        return total

    def as_functions(self, expression: sp.Expr) -> sp.Expr:
        """Return an expression with s_i, c_i written as sin q_i, cos q_i."""
        names = {}
        for i, link in enumerate(self.links[: self.n], start=1):
            if self.axis_is_turned(i):
                names[link.sine] = sp.sin(position(i))
                names[link.cosine] = sp.cos(position(i))
        return expression.subs(names)


def position(joint: int) -> sp.Symbol:
    """Return the letter of a joint's position."""
    return sp.Symbol(f'q{joint}', real=True)


def velocity(joint: int) -> sp.Symbol:
    """Return the letter of a joint's velocity, as the Panda notebook names it."""
    return sp.Symbol(f'v{joint}', real=True)


def chain_of(description: ArmDescription) -> Chain:
    """
    Return an arm in letters, of either convention, whatever constant theta its rows have.

    The lengths of modified rows are the notebook's x_i, y_i and z_i, those of standard rows a_i
    and d_i. A standard row's a and alpha come behind its joint, so that they open the next row of
    the same chain in modified rows.
    """
    values: dict[sp.Symbol, float] = {}
    links, tails = [], []
    standard = description.convention is Convention.STANDARD
    rows = [*(joint.row for joint in description.joints), description.flange]
    before = DHRow()
    for i, row in enumerate(rows, start=1):
        kind = description.joints[i - 1].kind if i <= description.n else None
        if standard:
            offset, tilt = _standard_placement(i, before, row, values)
            tails.append(_tail(i, row, values))
            before = row
        else:
            offset, tilt = _placement(i, row, values)
            tails.append(sp.eye(4))
        links.append(_moving(i, offset, tilt, row, kind, values))
    return Chain(
        tuple(links), tuple(joint.kind for joint in description.joints), values, tuple(tails)
    )


def _moving(
    i: int,
    offset: sp.Matrix,
    tilt: sp.Matrix,
    row: DHRow,
    kind: JointKind | None,
    values: dict[sp.Symbol, float],
) -> Link:
    """Return a frame whose joint, if there is one, turns or slides behind offset and tilt."""
    cosine, sine = _cos_sin(f'theta{i}', row.theta, values)
    if kind is not JointKind.REVOLUTE:
        slide = sp.Integer(0) if kind is None else position(i)
        return Link(offset, tilt, sine, cosine, slide)
    constant = sp.Matrix([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])
    own_sine, own_cosine = sp.symbols(f's{i} c{i}', real=True)
    return Link(offset, tilt * constant, own_sine, own_cosine, sp.Integer(0))


def _standard_placement(
    i: int,
    before: DHRow,
    row: DHRow,
    values: dict[sp.Symbol, float],
) -> tuple[sp.Matrix, sp.Matrix]:
    """Return offset and tilt of joint i's frame, at d_i behind a and alpha of the row before."""
    cosine, sine = _cos_sin(f'alpha{i - 1}', before.alpha, values)
    length = _letter(f'd{i}', row.d, values)
    offset = sp.Matrix([_letter(f'a{i - 1}', before.a, values), -sine * length, cosine * length])
    return offset, _roll(cosine, sine)


def _tail(i: int, row: DHRow, values: dict[sp.Symbol, float]) -> sp.Matrix:
    """Return Tx(a_i) Rx(alpha_i), (4, 4)."""
    cosine, sine = _cos_sin(f'alpha{i}', row.alpha, values)
    offset = sp.Matrix([_letter(f'a{i}', row.a, values), 0, 0])
    return _roll(cosine, sine).row_join(offset).col_join(sp.Matrix([[0, 0, 0, 1]]))


def _placement(
    i: int,
    row: DHRow,
    values: dict[sp.Symbol, float],
) -> tuple[sp.Matrix, sp.Matrix]:
    cosine, sine = _cos_sin(f'alpha{i}', row.alpha, values)
    sin_alpha = round(math.sin(row.alpha)) if sine.is_Integer else math.sin(row.alpha)
    cos_alpha = round(math.cos(row.alpha)) if cosine.is_Integer else math.cos(row.alpha)
    lengths = (row.a, -row.d * sin_alpha, row.d * cos_alpha)
    offset = sp.Matrix(
        [_letter(f'{axis}{i}', length, values) for axis, length in zip('xyz', lengths)]
    )
    return offset, _roll(cosine, sine)


def _roll(cosine: sp.Expr, sine: sp.Expr) -> sp.Matrix:
    """Return Rx of an angle, (3, 3)."""
    return sp.Matrix([[1, 0, 0], [0, cosine, -sine], [0, sine, cosine]])


def _cos_sin(name: str, angle: float, values: dict[sp.Symbol, float]) -> tuple[sp.Expr, sp.Expr]:
    """Return cos and sin: whole numbers for quarter turns, else letters with their numbers."""
    quarter = angle / (0.5 * math.pi)
    if quarter == round(quarter):
        turns = round(quarter) % 4
        return sp.Integer((1, 0, -1, 0)[turns]), sp.Integer((0, 1, 0, -1)[turns])
    return (
        _letter(f'c{name}', math.cos(angle), values),
        _letter(f's{name}', math.sin(angle), values),
    )


def _letter(name: str, value: float, values: dict[sp.Symbol, float]) -> sp.Expr:
    if value == 0.0:
        return sp.Integer(0)
    letter = sp.Symbol(name, real=True)
    values[letter] = float(value)
    return letter
