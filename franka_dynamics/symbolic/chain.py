# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Symbolic kinematics of an arm: poses, axes, twists and Jacobians of every frame.

Lengths of modified rows have the Panda notebook's names; s_i and c_i are sine and cosine of joint
i. At q = 0, frame i of a modified row is at (x_i, y_i, z_i) = (a, -d sin alpha, d cos alpha) in
frame i - 1, rotated by Rx(alpha) Rz(theta). Lengths of zero have no symbol. Frame n + 1 is the
flange. `Kinematics.values` holds the numbers for the lengths and for the
sines and cosines of constant angles.

Twists are (v, omega). The Panda notebook (docs/theory/references.md) writes (omega, v); its
"spatial velocity" has the velocity of the frame's origin for v, so the notebook's Jacobians are
LOCAL_WORLD_ALIGNED Jacobians with exchanged halves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import functools

import sympy as sp

from ..arm import ArmDescription, Convention, DHRow, JointKind
from ..arm.dh_conversion import modified_rows_with_flange
from ..dynamics.model import require_reference_frame
from ..spatial import cos_sin, quarter_turns


@dataclass(frozen=True)
class Link:
    """
    A frame of a symbolic chain: its pose in the previous frame, and its joint's motion.

    `offset` is (x, y, z). `tilt`, (3, 3), is Rx(alpha) for a prismatic joint, and Rx(alpha) Rz(the
    constant part of theta) for a revolute joint. `sine`, `cosine` and `slide` are the joint's
    motion (a revolute joint has slide 0, a prismatic joint constant sine and cosine).
    """

    offset: sp.Matrix
    tilt: sp.Matrix
    sine: sp.Expr
    cosine: sp.Expr
    slide: sp.Expr

    @property
    def rotation(self) -> sp.Matrix:
        """Rotation of the link's frame in the previous frame, (3, 3)."""
        turn = sp.Matrix([[self.cosine, -self.sine, 0], [self.sine, self.cosine, 0], [0, 0, 1]])
        return self.tilt * turn

    @property
    def origin(self) -> sp.Matrix:
        """Origin of the link's frame in the previous frame, (3, 1)."""
        return self.offset + self.tilt * sp.Matrix([0, 0, self.slide])


def joint_symbol(joint: int) -> sp.Symbol:
    """Return the sympy symbol q1, q2, ... of the position of a joint counted from 1."""
    return sp.Symbol(f'q{joint}', real=True)


def _moving(
    i: int,
    offset: sp.Matrix,
    tilt: sp.Matrix,
    row: DHRow,
    kind: JointKind | None,
    values: dict[sp.Symbol, float],
) -> Link:
    """Return the Link of frame i from constants and its joint's `kind` (None: a fixed frame)."""
    cosine, sine = _cos_sin(f'theta{i}', row.theta, values)
    if kind is not JointKind.REVOLUTE:
        slide = sp.Integer(0) if kind is None else joint_symbol(i)
        return Link(offset, tilt, sine, cosine, slide)
    constant = sp.Matrix([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])
    own_sine, own_cosine = sp.symbols(f's{i} c{i}', real=True)
    return Link(offset, tilt * constant, own_sine, own_cosine, sp.Integer(0))


def _standard_placement(
    i: int, row: DHRow, kind: JointKind | None, values: dict[sp.Symbol, float]
) -> tuple[sp.Matrix, sp.Matrix]:
    """
    Return offset and tilt of joint i's frame, from d_i and from a and alpha of row i - 1.

    A prismatic joint's d_i is d_ibar + q_i, as Busellato 2023 writes it.
    """
    tilt = _tilt(i - 1, row, values)
    length = _symbol(f'd{i}bar' if kind is JointKind.PRISMATIC else f'd{i}', row.d, values)
    return sp.Matrix([_symbol(f'a{i - 1}', row.a, values), 0, 0]) + length * tilt[:, 2], tilt


def _remainder(i: int, row: DHRow, values: dict[sp.Symbol, float]) -> sp.Matrix:
    """Return Tx(a_i) Rx(alpha_i), (4, 4)."""
    tilt = _tilt(i, row, values)
    offset = sp.Matrix([_symbol(f'a{i}', row.a, values), 0, 0])
    return tilt.row_join(offset).col_join(sp.Matrix([[0, 0, 0, 1]]))


def _placement(i: int, row: DHRow, values: dict[sp.Symbol, float]) -> tuple[sp.Matrix, sp.Matrix]:
    tilt = _tilt(i, row, values)
    lengths = replace(row, theta=0.0).transform(Convention.MODIFIED)[:3, 3]
    offset = sp.Matrix(
        [_symbol(f'{axis}{i}', length, values) for axis, length in zip('xyz', lengths)]
    )
    return offset, tilt


def _tilt(i: int, row: DHRow, values: dict[sp.Symbol, float]) -> sp.Matrix:
    """Return Rx(alpha) Ry(beta), (3, 3); beta is zero unless axes are nearly parallel."""
    cosine, sine = _cos_sin(f'alpha{i}', row.alpha, values)
    roll = sp.Matrix([[1, 0, 0], [0, cosine, -sine], [0, sine, cosine]])
    cosine, sine = _cos_sin(f'beta{i}', row.beta, values)
    return roll * sp.Matrix([[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]])


def _cos_sin(name: str, angle: float, values: dict[sp.Symbol, float]) -> tuple[sp.Expr, sp.Expr]:
    """Return cos and sin: integers for quarter turns, else symbols, added to `values`."""
    cosine, sine = cos_sin(angle)
    if quarter_turns(angle) is not None:
        return sp.Integer(int(cosine)), sp.Integer(int(sine))
    return _symbol(f'c{name}', cosine, values), _symbol(f's{name}', sine, values)


def _symbol(name: str, value: float, values: dict[sp.Symbol, float]) -> sp.Expr:
    if value == 0.0:
        return sp.Integer(0)
    symbol = sp.Symbol(name, real=True)
    values[symbol] = float(value)
    return symbol


class Kinematics:
    """
    Symbolic poses T_i, origins r_i, axes omega_i, twists xi_i, Jacobians J_i and J_mi of an arm.

    The arm may have either DH convention and any constant theta. The lengths of modified rows are
    the Panda notebook's x_i, y_i and z_i, those of standard rows a_i and d_i (d_ibar for a
    prismatic joint, whose d_i varies). Frames are 1..n and n + 1, the flange. In this class {S} is
    the arm's frame {0}: the pose of the base is left out. Matrix entries are polynomials in the
    symbols; only `link_transform` expands the polynomials.

    Attributes
    ----------
    n : int
        Number of joints.
    values : dict of sympy.Symbol to float
        The numbers for lengths, and for sines and cosines of constant angles.
    links : list of Link
        Frames 1..n and flange; the axis of every joint is z of its own frame here.
    remainders : list of sympy.Matrix
        Poses (4, 4) of the description's frames in the frames of `links`: the identity for
        modified rows, Tx(a_i) Rx(alpha_i) for standard rows, whose frame i is fixed at the far end
        of link i.

    """

    def __init__(self, description: ArmDescription) -> None:
        self.n, self.values = description.n, dict[sp.Symbol, float]()
        self.links, self.remainders = list[Link](), list[sp.Matrix]()
        modified = description.convention is Convention.MODIFIED
        self._kinds = [joint.kind for joint in description.joints]
        frames = zip(*modified_rows_with_flange(description), (*self._kinds, None))
        for i, (row, remainder, kind) in enumerate(frames, start=1):
            offset, tilt = (
                _placement(i, row, self.values)
                if modified
                else _standard_placement(i, row, kind, self.values)
            )
            self.remainders.append(_remainder(i, remainder, self.values))
            self.links.append(_moving(i, offset, tilt, row, kind, self.values))

    @functools.cached_property
    def _poses(self) -> list[sp.Matrix]:
        """Poses of the frames of `links` in {S}, each (4, 4)."""
        poses, rotation, origin = [], sp.eye(3), sp.zeros(3, 1)
        for link in self.links:
            origin = _tidy(origin + rotation * link.origin)
            rotation = _tidy(rotation * link.rotation)
            poses.append(rotation.row_join(origin).col_join(sp.Matrix([[0, 0, 0, 1]])))
        return poses

    def link_transform(self, frame: int) -> sp.Matrix:
        """Return the pose of a frame in the previous one, T_{i-1}^{-1} T_i, (4, 4)."""
        link = self.links[frame - 1]
        step = link.rotation.row_join(link.origin).col_join(sp.Matrix([[0, 0, 0, 1]]))
        # `link` gives the pose of a joint's frame in the previous joint's frame. The frame of a
        # standard row is the joint's frame times the joint's remainder.
        if frame > 1:
            step = _inverse(self.remainders[frame - 2]) * step
        return _trigonometric(step * self.remainders[frame - 1])

    def pose(self, frame: int) -> sp.Matrix:
        """Return T_i, the pose of a frame in {S}, (4, 4) (Panda notebook, cells 9 and 5)."""
        remainder = self.remainders[frame - 1]
        pose = self._poses[frame - 1]
        return pose if remainder == sp.eye(4) else _tidy(pose * remainder)

    def position(self, frame: int) -> sp.Matrix:
        """Return r_i, the origin of a frame in {S}, (3, 1) (Panda notebook, cell 10)."""
        return self.pose(frame)[:3, 3]

    def axis(self, frame: int) -> sp.Matrix:
        """Return omega_i, joint i's axis or flange z in {S}, (3, 1) (Panda notebook, cell 10)."""
        return (self._poses[frame - 1] if frame <= self.n else self.pose(frame))[:3, 2]

    def joint_twist(self, joint: int) -> sp.Matrix:
        """Return joint i's twist xi_i in {S}, (6, 1): (-w x r, w), axis w; prismatic (w, 0)."""
        axis = self.axis(joint)
        if not self._turns(joint):
            return axis.col_join(sp.zeros(3, 1))
        return _tidy(self._poses[joint - 1][:3, 3].cross(axis)).col_join(axis)

    def jacobian(self, frame: int, reference_frame: str = 'LOCAL_WORLD_ALIGNED') -> sp.Matrix:
        """
        Return a frame's Jacobian J_i with rows (v, omega), (6, n) (Panda notebook, cell 23).

        Parameters
        ----------
        frame : int
            1..n, or n + 1 for the flange.
        reference_frame : str
            As Pinocchio names them. LOCAL_WORLD_ALIGNED (mixed): v is dr_i/dt, axes of {S}, what
            the notebook has. WORLD (space): v is dr_i/dt - omega x r_i, axes of {S}; column j is
            xi_j. LOCAL (body): v is dr_i/dt, axes of frame i.

        Raises
        ------
        FrameError
            If there is no such reference frame.

        """
        if require_reference_frame(reference_frame) == 'WORLD':
            moving = [self.joint_twist(j) for j in range(1, min(frame, self.n) + 1)]
            return sp.Matrix.hstack(*moving, sp.zeros(6, self.n - len(moving)))
        return self._jacobian_of(sp.zeros(3, 1), frame, local=reference_frame == 'LOCAL')

    def center_of_mass_jacobian(self, link: int) -> sp.Matrix:
        """
        Return J_mi (6, n) of a link's centre of mass (Panda notebook, cells 23 and 24).

        The rows of J_mi are (dr_mi/dt, omega), r_mi the centre of mass in {S}.
        """
        center = [sp.Symbol(f'{axis}c{link}', real=True) for axis in 'xyz']  # cell 3
        return self._jacobian_of(sp.Matrix(center), link)

    def _turns(self, joint: int) -> bool:
        return joint > self.n or self._kinds[joint - 1] is JointKind.REVOLUTE

    def _jacobian_of(self, point: sp.Matrix, frame: int, *, local: bool = False) -> sp.Matrix:
        """Return the Jacobian (6, n) of a point of a frame, in the axes of {S} or of the frame."""
        columns = [sp.zeros(6, 1) for _ in range(self.n)]
        # `lever`, given in frame j, points from its origin to `point` and depends only on the
        # joints after j: the products z x lever stay short because the joints are visited from the
        # tip to the base.
        remainder = self.remainders[frame - 1]
        back, lever = remainder[:3, :3].T, remainder[:3, 3] + remainder[:3, :3] * point
        for joint in range(frame, 0, -1):
            if joint <= self.n:
                axes = back if local else self._poses[joint - 1][:3, :3]
                axis = sp.Matrix(axes[:, 2])
                column = axis.col_join(sp.zeros(3, 1))
                if self._turns(joint):
                    column = _tidy(axes[:, 1] * lever[0] - axes[:, 0] * lever[1]).col_join(axis)
                columns[joint - 1] = column
            if joint > 1:  # the lever in frame 0, the longest expression, is not needed
                link = self.links[joint - 1]
                lever = _tidy(link.origin + link.rotation * lever)
                if local:
                    back = _tidy(back * link.rotation.T)
        return sp.Matrix.hstack(*columns)


def _inverse(pose: sp.Matrix) -> sp.Matrix:
    back = pose[:3, :3].T
    return back.row_join(-back * pose[:3, 3]).col_join(sp.Matrix([[0, 0, 0, 1]]))


def _trigonometric(matrix: sp.Matrix) -> sp.Matrix:
    """Return a matrix simplified by cosine^2 + sine^2 = 1 for each constant angle."""
    out = matrix.applyfunc(sp.expand)
    symbols = {symbol.name: symbol for symbol in out.free_symbols}
    for name, cosine in symbols.items():
        sine = symbols.get('s' + name[1:])
        if name.startswith(('calpha', 'ctheta')) and sine is not None:
            out = out.subs(cosine**2, 1 - sine**2).applyfunc(sp.expand)
    return out.applyfunc(sp.factor_terms)


def _tidy(matrix: sp.Matrix) -> sp.Matrix:
    return matrix.applyfunc(sp.factor_terms)
