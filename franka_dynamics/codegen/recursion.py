# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The inward half of the customised recursion: forces and couples, summed from the tip.

With second moments S the couple on a link about its origin is the axial vector of U S (and
h x a): six products less than J domega + omega x J omega.
"""

from __future__ import annotations

from .chain import Moments
from .expression import Expression, Graph
from .motion import Inputs, joint_turn, Motion, outward, Spread, Style, summed_turn
from .regrouping import RegroupedChain
from .vectors import (
    add,
    apply,
    arm_to,
    cross,
    lifted,
    rotate,
    scale,
    Turn,
    turned_moments,
    twist,
    untwist,
    Vector,
)

Wrench = tuple[Vector, Vector]  # force, moment about the origin


def inverse_dynamics(graph: Graph, regrouped: RegroupedChain, inputs: Inputs,
                     style: Style) -> list[Expression]:
    """Return the torque (or force) of every joint."""
    joints = regrouped.chain.joints
    motions = outward(graph, joints, lifted(graph, regrouped.chain.gravity), inputs, style)
    inward = _Inward(graph, regrouped, inputs, style, motions)
    wrench: Wrench = (scale(style.force_unit, inputs.force), inputs.moment)
    torques = [graph.zero] * len(joints)
    for j in reversed(range(len(joints))):
        wrench = inward.gather(j, wrench)
        torques[j] = inward.load(j, wrench)
        if j:
            wrench = inward.hand_down(j, wrench)
    return torques


class _Inward:
    def __init__(self, graph: Graph, regrouped: RegroupedChain, inputs: Inputs, style: Style,
                 motions: list[Motion]) -> None:
        self.graph, self.inputs, self.style, self.motions = graph, inputs, style, motions
        self.joints, self.kept = regrouped.chain.joints, regrouped.kept
        self.aside: tuple[Expression, Expression] | None = None

    def turn(self, j: int) -> Turn:
        return joint_turn(self.graph, self.joints[j], self.inputs.q[j])

    def gather(self, j: int, beyond: Wrench) -> Wrench:
        """Add what link j itself takes to what is handed down to it."""
        motion, moments = self.motions[j], self.joints[j].moments
        if j in self.style.unturned:
            own = self._unturned(j)
            beyond = rotate(self.turn(j), beyond[0]), rotate(self.turn(j), beyond[1])
        else:
            own = self._link(j, motion.spread, motion.acceleration, moments)
        force, moment = add(own[0], beyond[0]), add(own[1], beyond[1])
        self.graph.name_vector(f'f{j + 1}', force)
        self.graph.name_vector(f'n{j + 1}', moment)
        return force, moment

    def load(self, j: int, wrench: Wrench) -> Expression:
        """Return what joint j's actuator gives."""
        force, moment = wrench
        joint, push = self.joints[j], self.inputs.ddq[j]
        if not joint.revolute:
            return force[2] * (1.0 / self.style.force_unit) + joint.rotor_inertia * push
        # Joint 1's rotor is in its link's couple already, where it adds to a constant.
        return moment[2] + joint.rotor_inertia * push if j else moment[2]

    def hand_down(self, j: int, wrench: Wrench) -> Wrench:
        """Return the wrench on link j - 1, in its frame and about its origin."""
        joint, style = self.joints[j], self.style
        force, (x, y, z) = wrench
        straight = j in style.unturned
        turned = (self.graph.lift(1.0), self.graph.zero) if straight else self.turn(j)
        mass = self.graph.lift(self.kept[j]) * (style.length_unit * style.force_unit)
        force = add(twist(joint, rotate(turned, force)),
                    scale(mass, self.motions[j].at_joint))
        lever = cross(arm_to(self.graph, joint, self.inputs.q[j], style.force_unit), force)
        if j in style.summed_angles:
            # Frame j - 1 only serves axis j - 1 here; x and y go straight to the one before.
            self.aside = (x, y)
            return force, add((self.graph.zero, self.graph.zero, z), lever)
        moment = rotate(turned, (x, y, z))
        if self.aside is not None:
            far = summed_turn(self.graph, self.joints, j + 1, self.inputs)
            moment = add(moment, rotate(far, (*self.aside, self.graph.zero)))
            self.aside = None
        return force, add(twist(joint, moment), lever)

    def _link(self, j: int, spread: Spread, acceleration: Vector, moments: Moments) -> Wrench:
        """Return the force on a link and the moment about its origin."""
        style = self.style
        h = lifted(self.graph, moments.first)
        mass = self.graph.lift(moments.mass) * (style.length_unit * style.force_unit)
        force = add(apply(spread.rows, scale(style.force_unit, h)), scale(mass, acceleration))
        lever = cross(scale(style.length_unit, h), acceleration)
        return force, add(self._couple(j, spread, moments), lever)

    def _couple(self, j: int, spread: Spread, moments: Moments) -> Vector:
        """Return the axial vector of U S, with the first joint's rotor beside it."""
        (uxx, uxy, uxz), (uyx, uyy, uyz), (uzx, uzy, uzz) = spread.rows
        xx, xy, xz, yy, yz, zz = (self.graph.lift(entry) for entry in moments.second)
        zz_yy, xx_zz = uzz - uyy, uxx - uzz
        yy_xx = -(zz_yy + xx_zz) if spread.yy_xx is None else spread.yy_xx
        about_z = yy * -uxy + xx * uyx
        if j in self.style.apart and spread.mean_xy is not None and spread.spin_z is not None:
            about_z = (xx + yy) * spread.spin_z + (xx - yy) * spread.mean_xy
        if j == 0 and self.joints[j].revolute:
            about_z = about_z + self.joints[j].rotor_inertia * self.inputs.ddq[j]
        return (
            yy * uzy - zz * uyz + xy * uzx - xz * uyx + yz * zz_yy,
            zz * uxz - xx * uzx + yz * uxy - xy * uzy + xz * xx_zz,
            about_z + xz * uyz - yz * uxz + xy * yy_xx)

    def _unturned(self, j: int) -> Wrench:
        """
        Return the wrench on a revolute joint's link in the axes before the joint's turn.

        There U is the previous link's, twisted, and what the joint's own motion adds:
        -dq (dq + 2 omega_z) on xx and yy, -/+ ddq on xy and yx, 2 dq omega on zx and zy.
        """
        joint, last = self.joints[j], self.motions[j - 1]
        rate, push = self.inputs.dq[j], self.inputs.ddq[j]
        x, y, z = untwist(joint, last.omega)
        columns = [untwist(joint, column) for column in zip(*last.spread.rows)]
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = (untwist(joint, row) for row in zip(*columns))
        twice = 2.0 * rate
        if joint.cos_alpha == 0.0 and last.spread.squares is not None:
            # The two squares that stay are the previous link's; only the one about z is new.
            fast = (z + rate) * (z + rate)
            new_xx, new_yy = -(last.spread.squares[1] + fast), -(last.spread.squares[0] + fast)
        else:
            faster = rate * (rate + 2.0 * z)
            new_xx, new_yy = xx - faster, yy - faster
        spread = Spread(((new_xx, xy - push, xz), (yx + push, new_yy, yz),
                         (zx + twice * x, zy + twice * y, zz)), yy_xx=yy - xx)
        moments = turned_moments(self.graph, self.turn(j), joint.moments)
        return self._link(j, spread, untwist(joint, self.motions[j].at_joint), moments)
