# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The outward and the inward recursion along DH frames, on stacks of states of shape (..., n).

Link quantities live in the link's DH frame, and inertia and first moment are about that frame's
origin, so the numbers of a published table enter unconverted (seed 002, section 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arm import ArmDescription, Convention, JointKind, LinkInertia

Array = NDArray[np.float64]


class JointPlace(NamedTuple):
    """A joint at one state: how its frame lies in the previous one, and its axis in it."""

    rotation: Array  # (..., 3, 3), frame i in i-1
    origin: Array  # (..., 3), origin of i in i-1
    arm: Array  # (..., 3), origin of i-1 to origin of i, in frame i
    axis: Array  # (..., 3), joint axis in frame i
    revolute: bool
    origin_turns: bool  # the axis passes through the origin of i-1, which i then circles


class LinkMotion(NamedTuple):
    """How a link's frame moves, in its own axes; the acceleration includes what gravity does."""

    omega: Array  # (..., 3) [rad/s]
    alpha: Array  # (..., 3) [rad/s^2]
    acceleration: Array  # (..., 3) [m/s^2], of the frame's origin


def joint_places(description: ArmDescription, q: Array) -> list[JointPlace]:
    """Return every joint's placement at a position."""
    places = []
    z = np.array([0.0, 0.0, 1.0])
    modified = description.convention is Convention.MODIFIED
    for joint, step in zip(description.joints, description.joint_transforms(q)):
        rotation, origin = step[..., :3, :3], step[..., :3, 3]
        revolute = joint.kind is JointKind.REVOLUTE
        places.append(JointPlace(
            rotation, origin, to_child(rotation, origin),
            np.broadcast_to(z, origin.shape) if modified else rotation[..., 2, :],
            revolute, revolute and not modified))
    return places


def outward(places: list[JointPlace], dq: Array, ddq: Array, base_acceleration: Array,
            ) -> list[LinkMotion]:
    """Carry angular velocity, angular and linear acceleration from the base to the tip."""
    omega = np.zeros((*dq.shape[:-1], 3))
    alpha = omega
    acceleration = np.broadcast_to(base_acceleration, omega.shape)
    motions = []
    for i, place in enumerate(places):
        rate, push = dq[..., i, None] * place.axis, ddq[..., i, None] * place.axis
        omega = to_child(place.rotation, omega)
        alpha = to_child(place.rotation, alpha)
        acceleration = to_child(place.rotation, acceleration)
        # `arm` is fixed in the body whose turning moves this origin: the previous link, or
        # with `origin_turns` this one.
        turning, spin = omega, alpha
        if place.revolute:
            alpha = alpha + push + cross(omega, rate)
            omega = omega + rate
        else:
            acceleration = acceleration + push + 2.0 * cross(omega, rate)
        if place.origin_turns:
            turning, spin = omega, alpha
        acceleration = (acceleration + cross(spin, place.arm)
                        + cross(turning, cross(turning, place.arm)))
        motions.append(LinkMotion(omega, alpha, acceleration))
    return motions


def velocities(places: list[JointPlace], dq: Array) -> list[tuple[Array, Array]]:
    """Return (v, omega) of every link frame's origin, in that frame's axes."""
    v = np.zeros((*dq.shape[:-1], 3))
    omega = v
    pairs = []
    for i, place in enumerate(places):
        rate = dq[..., i, None] * place.axis
        v, omega = to_child(place.rotation, v), to_child(place.rotation, omega)
        turning = omega + rate if place.origin_turns else omega
        v = v + cross(turning, place.arm)
        if place.revolute:
            omega = omega + rate
        else:
            v = v + rate
        pairs.append((v, omega))
    return pairs


def inward(links: Sequence[LinkInertia], places: list[JointPlace], motions: list[LinkMotion],
           tip: tuple[Array, Array] | None = None) -> list[tuple[Array, Array]]:
    """
    Sum what the links need, from the tip; return what each joint carries.

    Forces and moments are about frame i's origin and in its axes. `tip` is what acts on the
    last link from outside, about the same point.
    """
    force, moment = (np.zeros(3), np.zeros(3)) if tip is None else (-tip[0], -tip[1])
    carried = []
    for i in reversed(range(len(places))):
        own_force, own_moment = _needed(links[i], motions[i])
        force, moment = force + own_force, moment + own_moment
        carried.append((force, moment))
        force = to_parent(places[i].rotation, force)
        moment = (to_parent(places[i].rotation, moment)
                  + cross(places[i].origin, force))
    return carried[::-1]


def _needed(link: LinkInertia, motion: LinkMotion) -> tuple[Array, Array]:
    """Return force and moment about the frame's origin that give a link its motion."""
    omega, alpha, acceleration = motion
    h, inertia = link.first_moment, link.inertia
    force = (link.mass * acceleration + cross(alpha, h)
             + cross(omega, cross(omega, h)))
    moment = (alpha @ inertia + cross(omega, omega @ inertia) + cross(h, acceleration))
    return force, moment


def to_child(rotation: Array, vector: Array) -> Array:
    """Return R^T v for stacks of rotations and vectors."""
    return np.einsum('...ji,...j->...i', rotation, vector)


def to_parent(rotation: Array, vector: Array) -> Array:
    """Return R v for stacks of rotations and vectors."""
    return np.einsum('...ij,...j->...i', rotation, vector)


def cross(first: Array, second: Array) -> Array:
    """Return a x b for stacks of vectors; numpy's own spends most of its time on axes."""
    a, b = first, second
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    out[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    out[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return out
