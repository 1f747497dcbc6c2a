# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The Panda notebook's kinematics in letters: poses, axes, twists and Jacobians of every frame.

Twists are (omega, v) here, as the notebook writes them. Its "spatial velocity" has the velocity
of the frame's origin for v, so its Jacobians are what Pinocchio calls LOCAL_WORLD_ALIGNED with
the two halves exchanged; `space_twist` is the true one, v = dr/dt - omega x r.
"""

from __future__ import annotations

import sympy as sp

from .chain import Chain, velocity
from ..errors import FrameError

REFERENCE_FRAMES = ('LOCAL_WORLD_ALIGNED', 'WORLD', 'LOCAL')


class Kinematics:
    """
    T_i, r_i, omega_i, xi_i, J_i and J_mi of an arm in letters.

    Frames are 1..n and n + 1, the flange. Entries are polynomials in s_i, c_i (and q_i of a
    prismatic joint) and the lengths; nothing is expanded, so they stay as nested as the chain.

    Parameters
    ----------
    chain : Chain
        The arm.

    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self._poses: list[sp.Matrix] = []
        rotation, origin = sp.eye(3), sp.zeros(3, 1)
        for link in chain.links:
            origin = _tidy(origin + rotation * link.origin)
            rotation = _tidy(rotation * link.rotation)
            self._poses.append(rotation.row_join(origin).col_join(sp.Matrix([[0, 0, 0, 1]])))

    def step(self, frame: int) -> sp.Matrix:
        """Return the pose of a frame in the one before, T_{i-1}^{-1} T_i, (4, 4)."""
        link = self.chain.links[frame - 1]
        step = link.rotation.row_join(link.origin).col_join(sp.Matrix([[0, 0, 0, 1]]))
        # Between joints' frames; a standard row's frames are their joints' ones and a tail.
        if frame > 1:
            step = _inverse(self.chain.tails[frame - 2]) * step
        return _trigonometric(step * self.chain.tails[frame - 1])

    def pose(self, frame: int) -> sp.Matrix:
        """Return T_i, the pose of a frame in {S}, (4, 4) (cells 9 and 5)."""
        tail = self.chain.tails[frame - 1]
        pose = self._poses[frame - 1]
        return pose if tail == sp.eye(4) else _tidy(pose * tail)

    def position(self, frame: int) -> sp.Matrix:
        """Return r_i, the origin of a frame in {S}, (3, 1) (cell 10)."""
        return self.pose(frame)[:3, 3]

    def axis(self, frame: int) -> sp.Matrix:
        """Return omega_i, the axis of joint i in {S}, or z of the flange, (3, 1) (cell 10)."""
        return self._poses[frame - 1][:3, 2]

    def joint_twist(self, joint: int) -> sp.Matrix:
        """Return xi_i = (omega_i, -omega_i x r_i), or (0, omega_i) of a slide (cell 11)."""
        axis = self.axis(joint)
        if not self._turns(joint):
            return sp.zeros(3, 1).col_join(axis)
        return axis.col_join(_tidy(self._poses[joint - 1][:3, 3].cross(axis)))

    def jacobian(self, frame: int, reference_frame: str = 'LOCAL_WORLD_ALIGNED') -> sp.Matrix:
        """
        Return J_i of a frame with rows (omega, v), (6, n) (cell 23).

        Parameters
        ----------
        frame : int
            1..n, or n + 1 for the flange.
        reference_frame : str
            As Pinocchio names them. LOCAL_WORLD_ALIGNED (mixed): v is dr_i/dt, axes of {S}, what
            the notebook has. WORLD (space): v is dr_i/dt - omega x r_i, axes of {S}; column j is
            xi_j. LOCAL (body): the first in the axes of frame i.

        Raises
        ------
        FrameError
            If there is no such reference frame.

        """
        if reference_frame == 'LOCAL_WORLD_ALIGNED':
            return self._jacobian_of(sp.zeros(3, 1), frame)
        if reference_frame == 'WORLD':
            return sp.Matrix.hstack(
                *(
                    self.joint_twist(j) if j <= frame else sp.zeros(6, 1)
                    for j in range(1, self.chain.n + 1)
                )
            )
        if reference_frame == 'LOCAL':
            return self._body_jacobian(frame)
        raise FrameError(
            f'{reference_frame!r} is no reference frame; there are {", ".join(REFERENCE_FRAMES)}.'
        )

    def center_of_mass(self, link: int) -> sp.Matrix:
        """Return r_mi, link i's centre of mass (xc_i, yc_i, zc_i) in {S}, (3, 1) (cell 12)."""
        pose = self.pose(link)
        return _tidy(pose[:3, 3] + pose[:3, :3] * center_in_link(link))

    def center_of_mass_jacobian(self, link: int) -> sp.Matrix:
        """Return J_mi, rows (omega, dr_mi/dt), (6, n) (cells 23 and 24)."""
        return self._jacobian_of(center_in_link(link), link)

    def angular_velocity(self, frame: int) -> sp.Matrix:
        """Return the angular velocity of a frame in {S}, (3, 1) (cell 13)."""
        return self.jacobian(frame)[:3, :] * self._velocities()

    def notebook_velocity(self, frame: int) -> sp.Matrix:
        """Return the notebook's "spatial velocity" (omega, dr_i/dt), (6, 1) (cell 13)."""
        return self.jacobian(frame) * self._velocities()

    def space_twist(self, frame: int) -> sp.Matrix:
        """Return the true spatial twist (omega, dr_i/dt - omega x r_i), (6, 1)."""
        notebook = self.notebook_velocity(frame)
        omega = sp.Matrix(notebook[:3])
        return omega.col_join(sp.Matrix(notebook[3:]) - omega.cross(self.position(frame)))

    def _velocities(self) -> sp.Matrix:
        return sp.Matrix([velocity(j) for j in range(1, self.chain.n + 1)])

    def _turns(self, joint: int) -> bool:
        return joint > self.chain.n or self.chain.axis_is_turned(joint)

    def _jacobian_of(self, point: sp.Matrix, frame: int) -> sp.Matrix:
        """Return the Jacobian of a point given in a frame, (6, n)."""
        columns = [sp.zeros(6, 1) for _ in range(self.chain.n)]
        # Seen from frame j, the point depends on the joints behind j only: walked from the tip,
        # z x lever stays as short as the chain allows.
        tail = self.chain.tails[frame - 1]
        lever = tail[:3, 3] + tail[:3, :3] * point
        for joint in range(frame, 0, -1):
            if joint <= self.chain.n:
                columns[joint - 1] = self._column(joint, lever)
            link = self.chain.links[joint - 1]
            lever = _tidy(link.origin + link.rotation * lever)
        return sp.Matrix.hstack(*columns)

    def _body_jacobian(self, frame: int) -> sp.Matrix:
        """Return the LOCAL Jacobian, walked from the frame: z and z x lever seen from it."""
        columns = [sp.zeros(6, 1) for _ in range(self.chain.n)]
        tail = self.chain.tails[frame - 1]
        back, lever = tail[:3, :3].T, tail[:3, 3]
        for joint in range(frame, 0, -1):
            link = self.chain.links[joint - 1]
            if joint <= self.chain.n:
                axis = sp.Matrix(back[:, 2])
                if self._turns(joint):
                    velocity_part = _tidy(back * sp.Matrix([-lever[1], lever[0], 0]))
                    columns[joint - 1] = axis.col_join(velocity_part)
                else:
                    columns[joint - 1] = sp.zeros(3, 1).col_join(axis)
            lever = _tidy(link.origin + link.rotation * lever)
            back = _tidy(back * link.rotation.T)
        return sp.Matrix.hstack(*columns)

    def _column(self, joint: int, lever: sp.Matrix) -> sp.Matrix:
        axis = self.axis(joint)
        if not self._turns(joint):
            return sp.zeros(3, 1).col_join(axis)
        rotation = self._poses[joint - 1][:3, :3]
        return axis.col_join(_tidy(rotation[:, 1] * lever[0] - rotation[:, 0] * lever[1]))


def center_in_link(link: int) -> sp.Matrix:
    """Return (xc_i, yc_i, zc_i), link i's centre of mass in frame i, (3, 1) (cell 3)."""
    return sp.Matrix([sp.Symbol(f'{axis}c{link}', real=True) for axis in 'xyz'])


def _inverse(pose: sp.Matrix) -> sp.Matrix:
    back = pose[:3, :3].T
    return back.row_join(-back * pose[:3, 3]).col_join(sp.Matrix([[0, 0, 0, 1]]))


def _trigonometric(matrix: sp.Matrix) -> sp.Matrix:
    """Return a matrix with the constant angles' cosine^2 + sine^2 = 1 put in."""
    out = matrix.applyfunc(sp.expand)
    letters = {symbol.name: symbol for symbol in out.free_symbols}
    for name, cosine in letters.items():
        sine = letters.get('s' + name[1:])
        if name.startswith(('calpha', 'ctheta')) and sine is not None:
            out = out.subs(cosine**2, 1 - sine**2).applyfunc(sp.expand)
    return out.applyfunc(sp.factor_terms)


def _tidy(matrix: sp.Matrix) -> sp.Matrix:
    return matrix.applyfunc(sp.factor_terms)
