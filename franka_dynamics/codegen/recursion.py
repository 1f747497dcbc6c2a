# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The customised Newton-Euler recursion: motions of the links outwards, wrenches inwards.

With the matrix U = [domega] + [omega][omega], the point r of a link has the acceleration a + U r,
where a is the acceleration of the origin of the link's frame (Khalil & Kleinfinger 1987). Behind a
revolute joint whose alpha is a multiple of a quarter turn, only a part of the link's U is computed
anew. U's third column, the second time derivative of the link's z axis, does not depend on the
joint's own motion, so it is the previous link's U times the axis (one column of that U if gamma is
0), rotated. Elements zx and zy of U follow from the third column and the products omega_i omega_j,
elements xy and yx from omega_x omega_y and domega_z. Because omega_x^2 + omega_y^2 = -Uzz, Uzz and
two squares give the diagonal of U. Compared with the recursion of omega and domega, the recursion
of U saves three multiplications and two additions per joint.
"""

from __future__ import annotations

from dataclasses import dataclass

from .chain import GeneratorChain, GeneratorJoint, Moments
from .expression import Expression, Graph
from .vectors import (
    add,
    apply,
    arm_to,
    cross,
    lifted,
    Matrix,
    rotate,
    rotate_back,
    scale,
    Turn,
    turn,
    turned_moments,
    twist,
    untwist,
    Vector,
)
from ..dynamics.body_tree import BASE


@dataclass(frozen=True)
class Inputs:
    """
    Positions, velocities and accelerations of the joints, and the wrench at the tip.

    Inputs that are zero cost no operations. `force` and `moment` are the wrench that the link with
    the tip exerts on its surroundings, about the origin and in the axes of that link's frame.
    `weightless` leaves gravity out.
    """

    q: tuple[Expression, ...]
    dq: tuple[Expression, ...]
    ddq: tuple[Expression, ...]
    force: Vector
    moment: Vector
    weightless: bool = False


@dataclass(frozen=True)
class Spread:
    """The matrix U of a link by rows, and related values that are already computed."""

    rows: Matrix
    yy_xx: Expression | None = None  # Uyy - Uxx
    squares: tuple[Expression, Expression] | None = None  # omega_x^2, omega_z^2


@dataclass(frozen=True)
class BodyMotion:
    """The motion of a link, in the axes of its frame."""

    omega: Vector
    spin: Vector  # time derivative of omega
    spread: Spread
    acceleration: Vector  # acceleration of the origin
    # Acceleration, in the previous link's axes, of its point at this frame's origin.
    at_joint: Vector


def outward(graph: Graph, chain: GeneratorChain, inputs: Inputs) -> list[BodyMotion]:
    """Return the motion of every link, from the base to the tips."""
    still: Vector = (graph.zero, graph.zero, graph.zero)
    motions: list[BodyMotion] = []
    for j, parent in enumerate(chain.parents):
        if parent == BASE:
            gravity = lifted(graph, chain.gravity[j])
            up = still if inputs.weightless else scale(-1.0, gravity)
            last = BodyMotion(still, still, Spread((still, still, still)), up, still)
        else:
            last = motions[parent]
        motion = _through_joint(graph, chain.joints[j], j, last, inputs)
        motions.append(motion)
        _name(graph, j, motion)
    return motions


def joint_turn(graph: Graph, joint: GeneratorJoint, position: Expression) -> Turn:
    """Return cosine and sine of a revolute joint's theta + q, or a prismatic joint's theta."""
    return turn(graph, position if joint.revolute else graph.zero, joint.theta)


def _through_joint(
    graph: Graph, joint: GeneratorJoint, j: int, last: BodyMotion, inputs: Inputs
) -> BodyMotion:
    arm = arm_to(graph, joint, inputs.q[j])
    at_joint = add(last.acceleration, apply(last.spread.rows, arm))
    turned = joint_turn(graph, joint, inputs.q[j])
    if not joint.revolute:
        return _slide(joint, last, at_joint, turned, (inputs.dq[j], inputs.ddq[j]))
    linear = rotate_back(turned, untwist(joint, at_joint))
    if 0.0 not in (joint.cos_alpha, joint.sin_alpha):
        return _turn_skew(joint, last, at_joint, turned, linear, (inputs.dq[j], inputs.ddq[j]))
    axis = lifted(graph, joint.axis)
    source = (untwist(joint, last.omega), untwist(joint, apply(last.spread.rows, axis)))
    rates = (source[0][2] + inputs.dq[j], untwist(joint, last.spin)[2] + inputs.ddq[j])
    return _turn_about(source, rates, turned, at_joint, linear)


def _turn_about(
    source: tuple[Vector, Vector],
    rates: tuple[Expression, Expression],
    turned: Turn,
    at_joint: Vector,
    linear: Vector,
) -> BodyMotion:
    """Return a link's motion after a revolute joint with alpha a multiple of a quarter turn."""
    x, y, _ = rotate_back(turned, source[0])
    xz_axis, yz_axis, zz_axis = rotate_back(turned, source[1])
    z, spin_z = rates
    xy, xz, yz, xx, zz = x * y, x * z, y * z, x * x, z * z
    spin_y, spin_x = xz_axis - xz, yz - yz_axis
    rows: Matrix = (
        (zz_axis + (xx - zz), xy - spin_z, xz_axis),
        (xy + spin_z, -(xx + zz), yz_axis),
        (xz - spin_y, yz + spin_x, zz_axis),
    )
    spin = spin_x, spin_y, spin_z
    return BodyMotion((x, y, z), spin, Spread(rows, squares=(xx, zz)), linear, at_joint)


def _turn_skew(
    joint: GeneratorJoint,
    last: BodyMotion,
    at_joint: Vector,
    turned: Turn,
    linear: Vector,
    rates: tuple[Expression, Expression],
) -> BodyMotion:
    """Return a link's motion after a revolute joint of any alpha, with U from omega and domega."""
    rate, push = rates
    x, y, z = rotate_back(turned, untwist(joint, last.omega))
    spin = rotate_back(turned, untwist(joint, last.spin))
    omega: Vector = (x, y, z + rate)
    spin = (spin[0] + y * rate, spin[1] - x * rate, spin[2] + push)
    return BodyMotion(omega, spin, Spread(_matrix(omega, spin)), linear, at_joint)


def _slide(
    joint: GeneratorJoint,
    last: BodyMotion,
    at_joint: Vector,
    turned: Turn,
    rates: tuple[Expression, Expression],
) -> BodyMotion:
    """Return a link's motion after a prismatic joint, which does not change omega."""

    def into(vector: Vector) -> Vector:
        return rotate_back(turned, untwist(joint, vector))

    omega, spin = into(last.omega), into(last.spin)
    columns = [into(column) for column in zip(*[into(row) for row in last.spread.rows])]
    sides = (joint.cos_alpha, joint.cos_gamma, *(abs(value.number or 0.0) for value in turned))
    quarter = all(abs(side) in (0.0, 1.0) for side in sides)
    rows: Matrix = tuple(zip(*columns)) if quarter else _matrix(omega, spin)  # type: ignore
    twice = 2.0 * rates[0]
    moving = add(into(at_joint), (twice * omega[1], -(twice * omega[0]), rates[1]))
    return BodyMotion(omega, spin, Spread(rows), moving, at_joint)


def _matrix(omega: Vector, spin: Vector) -> Matrix:
    """Return [domega] + [omega][omega]."""
    (x, y, z), (dx, dy, dz) = omega, spin
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return (
        (-(yy + zz), xy - dz, xz + dy),
        (xy + dz, -(xx + zz), yz - dx),
        (xz - dy, yz + dx, -(xx + yy)),
    )


def _name(graph: Graph, j: int, motion: BodyMotion) -> None:
    graph.name_vector(f'w{j + 1}', motion.omega)
    graph.name_vector(f'dw{j + 1}', motion.spin)
    for row, axis in zip(motion.spread.rows, 'xyz'):
        graph.name_vector(f'U{j + 1}{axis}', row)
    graph.name_vector(f'a{j + 1}', motion.acceleration)
    graph.name_vector(f'aP{j + 1}', motion.at_joint)


Wrench = tuple[Vector, Vector]  # force, moment about the origin


def inverse_dynamics(graph: Graph, chain: GeneratorChain, inputs: Inputs) -> list[Expression]:
    """Return the torque (or force) of every joint."""
    inward = _Inward(graph, chain, inputs)
    none: Vector = (graph.zero, graph.zero, graph.zero)
    # The wrench that each link exerts on the bodies beyond the link and, at the tip, on the
    # surroundings.
    beyond: list[Wrench] = [(none, none)] * chain.n
    beyond[chain.tip_body] = inputs.force, inputs.moment
    torques = [graph.zero] * chain.n
    for j in reversed(range(chain.n)):
        wrench = inward.gather(j, beyond[j])
        torques[j] = inward.load(j, wrench)
        parent = chain.parents[j]
        if parent != BASE:
            force, moment = inward.propagate(j, wrench)
            beyond[parent] = add(beyond[parent][0], force), add(beyond[parent][1], moment)
    return torques


class _Inward:
    def __init__(self, graph: Graph, chain: GeneratorChain, inputs: Inputs) -> None:
        self.graph, self.inputs = graph, inputs
        self.motions = outward(graph, chain, inputs)
        self.joints, self.parents = chain.joints, chain.parents
        # For a link without children it takes fewer operations to rotate its mass moments than its
        # motion, which no other link needs: its wrench is computed in the axes before the joint's
        # rotation.
        self.unturned = {
            j
            for j, joint in enumerate(chain.joints)
            if j not in chain.parents
            and chain.parents[j] != BASE
            and joint.revolute
            and 0.0 in (joint.cos_alpha, joint.sin_alpha)
        }

    def turn(self, j: int) -> Turn:
        return joint_turn(self.graph, self.joints[j], self.inputs.q[j])

    def gather(self, j: int, beyond: Wrench) -> Wrench:
        """Return joint j's wrench on link j and the bodies beyond, about the origin of frame j."""
        motion, moments = self.motions[j], self.joints[j].moments
        if j in self.unturned:
            own = self._before_turn(j)
            beyond = rotate(self.turn(j), beyond[0]), rotate(self.turn(j), beyond[1])
        else:
            own = self._link(j, motion.spread, motion.acceleration, moments)
        force, moment = add(own[0], beyond[0]), add(own[1], beyond[1])
        self.graph.name_vector(f'f{j + 1}', force)
        self.graph.name_vector(f'n{j + 1}', moment)
        return force, moment

    def load(self, j: int, wrench: Wrench) -> Expression:
        """Return the torque (or force) of joint j."""
        force, moment = wrench
        joint, push = self.joints[j], self.inputs.ddq[j]
        if not joint.revolute:
            return force[2] + joint.rotor_inertia * push
        # `_couple` adds joint 1's rotor inertia Ia, because xx + yy + Ia, with xx and yy of link
        # 1's second moment, is one constant factor of ddq.
        return moment[2] + joint.rotor_inertia * push if j else moment[2]

    def propagate(self, j: int, wrench: Wrench) -> Wrench:
        """Return joint j's wrench in the axes and about the origin of the antecedent's frame."""
        joint = self.joints[j]
        straight = j in self.unturned
        turned = (self.graph.lift(1.0), self.graph.zero) if straight else self.turn(j)
        force, moment = (twist(joint, rotate(turned, part)) for part in wrench)
        lever = cross(arm_to(self.graph, joint, self.inputs.q[j]), force)
        return force, add(moment, lever)

    def _link(self, j: int, spread: Spread, acceleration: Vector, moments: Moments) -> Wrench:
        """Return the force and the moment about link j's origin that the link's motion needs."""
        h = lifted(self.graph, moments.first)
        force = add(apply(spread.rows, h), scale(moments.mass, acceleration))
        lever = cross(h, acceleration)
        return force, add(self._couple(j, spread, moments), lever)

    def _couple(self, j: int, spread: Spread, moments: Moments) -> Vector:
        """Return the moment of link j's rotation, axial vector of U S; for link 1 plus Ia ddq."""
        (uxx, uxy, uxz), (uyx, uyy, uyz), (uzx, uzy, uzz) = spread.rows
        xx, xy, xz, yy, yz, zz = (self.graph.lift(entry) for entry in moments.second)
        zz_yy, xx_zz = uzz - uyy, uxx - uzz
        yy_xx = -(zz_yy + xx_zz) if spread.yy_xx is None else spread.yy_xx
        about_z = yy * -uxy + xx * uyx
        if j == 0 and self.joints[j].revolute:
            about_z = about_z + self.joints[j].rotor_inertia * self.inputs.ddq[j]
        return (
            yy * uzy - zz * uyz + xy * uzx - xz * uyx + yz * zz_yy,
            zz * uxz - xx * uzx + yz * uxy - xy * uzy + xz * xx_zz,
            about_z + xz * uyz - yz * uxz + xy * yy_xx,
        )

    def _before_turn(self, j: int) -> Wrench:
        """
        Return the wrench that the motion of link j needs, in the axes before joint j's rotation.

        In the axes before joint j's rotation, U is the previous link's U, transformed, plus -dq
        (dq + 2 omega_z) on xx and yy, -ddq on xy, ddq on yx, 2 dq omega_x on zx and 2 dq omega_y
        on zy, with omega the previous link's.
        """
        joint, last = self.joints[j], self.motions[self.parents[j]]
        rate, push = self.inputs.dq[j], self.inputs.ddq[j]
        x, y, z = untwist(joint, last.omega)
        columns = [untwist(joint, column) for column in zip(*last.spread.rows)]
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = (untwist(joint, row) for row in zip(*columns))
        twice = 2.0 * rate
        straight = joint.sin_gamma == 0.0 and joint.cos_gamma == 1.0
        if joint.cos_alpha == 0.0 and straight and last.spread.squares is not None:
            # omega_x^2 and omega_y^2 are the previous link's omega_x^2 and omega_z^2; only
            # (omega_z + dq)^2 is new.
            fast = (z + rate) * (z + rate)
            new_xx, new_yy = -(last.spread.squares[1] + fast), -(last.spread.squares[0] + fast)
        else:
            faster = rate * (rate + 2.0 * z)
            new_xx, new_yy = xx - faster, yy - faster
        spread = Spread(
            (
                (new_xx, xy - push, xz),
                (yx + push, new_yy, yz),
                (zx + twice * x, zy + twice * y, zz),
            ),
            yy_xx=yy - xx,
        )
        moments = turned_moments(self.graph, self.turn(j), joint.moments)
        return self._link(j, spread, untwist(joint, self.motions[j].at_joint), moments)
