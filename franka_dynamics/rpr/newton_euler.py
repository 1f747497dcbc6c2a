# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Section 4 of Busellato 2023, which the report leaves empty: the Newton-Euler recursion in letters.

In the standard convention (Siciliano, Sciavicco, Villani, Oriolo 2009, "Robotics: Modelling,
Planning and Control", section 7.5.2): every vector of link i is written in frame {i}; r is from
the origin of {i-1} to that of {i}, c from the origin of {i} to the centre of mass. The end
effector presses on its surroundings with the force fe and the moment ne, in the axes of {3}.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from .symbolic import A2, central_tensors, G, H1, H3, M1, M2, M3, PUSHES, RATES, reduced, steps

_Z0 = sp.Matrix([0, 0, 1])
_CENTERS = tuple(sp.Matrix(center) for center in ((H1 / 2, 0, 0), (0, 0, A2 / 2), (0, -H3 / 2, 0)))
END_FORCE = sp.Matrix(sp.symbols('fex fey fez', real=True))
END_MOMENT = sp.Matrix(sp.symbols('nex ney nez', real=True))


@dataclass(frozen=True)
class Outward:
    """Motion of one link in its own frame: (3, 1) each."""

    omega: sp.Matrix
    alpha: sp.Matrix
    acceleration: sp.Matrix  # of the frame's origin, with -g_0 for the base
    center_acceleration: sp.Matrix


@dataclass(frozen=True)
class Inward:
    """
    What link i - 1 exerts on link i, (3, 1) each in frame {i}, and the joint's torque or force.

    The moment is about the origin of {i-1}. Both are in the letters of the link behind it
    (f2x ..., n2x ...), as the recursion computes them.
    """

    force: sp.Matrix
    moment: sp.Matrix
    torque: sp.Expr


def outward() -> list[Outward]:
    """Return the motion of links 1..3 at velocities v_i and accelerations w_i."""
    omega = alpha = sp.zeros(3, 1)
    acceleration = sp.Matrix([0, 0, G])
    links = []
    for i, (step, center) in enumerate(zip(steps(), _CENTERS)):
        back = step[:3, :3].T
        lever = _tidy(back * step[:3, 3])
        axis = back * _Z0
        acceleration = back * acceleration
        before, alpha = back * omega, back * alpha
        if i == 1:
            omega = before
            acceleration += PUSHES[i] * axis + 2 * RATES[i] * omega.cross(axis)
        else:
            omega = before + RATES[i] * axis
            alpha = alpha + PUSHES[i] * axis + RATES[i] * before.cross(axis)
        omega, alpha = _tidy(omega), _tidy(alpha)
        acceleration = _tidy(acceleration + _carried(omega, alpha, lever))
        links.append(
            Outward(
                omega, alpha, acceleration, _tidy(acceleration + _carried(omega, alpha, center))
            )
        )
    return links


def inward() -> list[Inward]:
    """Return forces, moments and torques of joints 1..3, each from those of the next."""
    joints = []
    motions, masses, tensors = outward(), (M1, M2, M3), central_tensors()
    for i, (motion, step) in enumerate(zip(motions, steps())):
        back = step[:3, :3].T
        lever, center = back * step[:3, 3], _CENTERS[i]
        turn = steps()[i + 1][:3, :3] if i < 2 else sp.eye(3)
        next_force, next_moment = wrench_letters(i + 2)
        carried = turn * next_force
        push = masses[i] * motion.center_acceleration
        spin = tensors[i] * motion.omega
        moment = (
            turn * next_moment
            + (lever + center).cross(push)
            + lever.cross(carried)
            + tensors[i] * motion.alpha
            + motion.omega.cross(spin)
        )
        own_force, own_moment = wrench_letters(i + 1)
        load = own_force if i == 1 else own_moment
        joints.append(Inward(_tidy(carried + push), _tidy(moment), load.dot(back * _Z0)))
    return joints


def wrench_letters(link: int) -> tuple[sp.Matrix, sp.Matrix]:
    """Return the letters of force and moment on link 1..3, or of the contact for 4."""
    if link == 4:
        return END_FORCE, END_MOMENT
    force, moment = (
        sp.Matrix(sp.symbols(' '.join(f'{kind}{link}{axis}' for axis in 'xyz'), real=True))
        for kind in 'fn'
    )
    return force, moment


def joint_torques() -> list[sp.Expr]:
    """Return tau_1, tau_2 and tau_3 with every force and moment put in."""
    joints = inward()
    torques = []
    for joint in joints:
        torque = joint.torque
        for link, step in enumerate(joints, start=1):
            force, moment = wrench_letters(link)
            torque = torque.subs(dict(zip([*force, *moment], [*step.force, *step.moment])))
        torques.append(reduced(torque))
    return torques


def _carried(omega: sp.Matrix, alpha: sp.Matrix, lever: sp.Matrix) -> sp.Matrix:
    return alpha.cross(lever) + omega.cross(omega.cross(lever))


def _tidy(vector: sp.Matrix) -> sp.Matrix:
    return vector.applyfunc(reduced)
