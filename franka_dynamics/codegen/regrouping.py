# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Base parameters in the form that costs least: what no motion shows is moved towards the base.

What lies on a revolute joint's axis belongs to either of its links: a mass m, a first moment hz
and a second moment Szz of link j along z_j move the same whether they are fixed to link j or to
link j - 1. Taking them off link j is the regrouping of Gautier and Khalil 1990, eq. (20), where
YY, mZ and m are eliminated; written in second moments it is the motion of points, and YY_j is
Szz_j. The whole tensor of a prismatic joint's link may move (eq. 21, as corrected: S_{j-1} + R S_j
R').

The freedom can be spent otherwise than on zeros in link j. A mass kept at a joint's origin takes
first moments off the links before it, and a force at a point whose acceleration is needed anyway
costs three multiplications where each element of a first moment costs five.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import math

import numpy as np

from .chain import GeneratorChain, GeneratorJoint, Moments
from .expression import Number
from ..arm import Convention, DHRow
from ..dynamics.body_tree import BASE

_NOTHING = Moments(0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
_SOLVABLE = 1e-6  # smallest singular value, relative, of geometry that can cancel first moments


@dataclass(frozen=True)
class Cancellation:
    """Masses kept at the origins of `joints`, so that these elements of first moments vanish."""

    joints: tuple[int, ...]
    elements: tuple[tuple[int, int], ...]  # (link, 0..2 for x..z)


@dataclass(frozen=True)
class RegroupedChain:
    """
    A chain whose links hold what a torque can show.

    `kept[j]` is the mass at the origin of frame j, fixed to link j - 1, and no part of any link's
    moments.
    """

    chain: GeneratorChain
    kept: tuple[Number, ...]


def with_shifted_origins(chain: GeneratorChain, shifts: Sequence[float]) -> GeneratorChain:
    """Return the same arm with each revolute joint's origin moved along its own axis [m]."""
    joints = []
    for joint, shift, parent in zip(chain.joints, shifts, chain.parents):
        origin = np.array(joint.origin) + shift * np.array(joint.axis)
        origin[2] -= 0.0 if parent == BASE else shifts[parent]
        joints.append(
            replace(
                joint,
                origin=(float(origin[0]), float(origin[1]), float(origin[2])),
                moments=joint.moments.expressed_in(_IDENTITY, (0.0, 0.0, -shift)),
            )
        )
    return replace(chain, joints=tuple(joints))


def with_turned_tip(chain: GeneratorChain) -> GeneratorChain:
    """
    Return the same arm with its last frame turned about its axis until hy vanishes.

    Nothing follows the last link, so its x axis may point where the link's centre of mass lies.
    Needs numbers; an arm whose tip has no first moment, or slides, is returned as it is.
    """
    joint = chain.joints[-1]
    hx, hy = float(joint.moments.first[0]), float(joint.moments.first[1])  # type: ignore[arg-type]
    if not joint.revolute or hy == 0.0:
        return chain
    angle = math.atan2(hy, hx)
    c, s = math.cos(angle), math.sin(angle)
    moments = joint.moments.expressed_in(
        ((c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.0, 0.0)
    )
    moments = replace(moments, first=(math.hypot(hx, hy), 0.0, moments.first[2]))
    tip = replace(joint, theta=joint.theta + angle, moments=moments)
    return replace(chain, joints=(*chain.joints[:-1], tip))


def regroup(chain: GeneratorChain, cancellations: Sequence[Cancellation] = ()) -> RegroupedChain:
    """Return the chain with its base parameters, masses kept where a cancellation puts them."""
    joints, elements = _flat(cancellations)
    kept = dict(zip(joints, _kept_masses(chain, joints, elements))) if joints else {}
    regrouped = _regroup(_with_merged_rotor(chain), kept)
    # What was cancelled is zero, not the rounding that is left of it.
    found = list(regrouped.chain.joints)
    for link, axis in elements:
        first = list(found[link].moments.first)
        first[axis] = 0.0
        found[link] = replace(
            found[link], moments=replace(found[link].moments, first=(first[0], first[1], first[2]))
        )
    return replace(regrouped, chain=replace(regrouped.chain, joints=tuple(found)))


def solvable(chain: GeneratorChain, cancellations: Sequence[Cancellation]) -> bool:
    """Return whether masses at those joints can cancel those first moments at all."""
    if not cancellations:
        return True
    response = _response(chain, *_flat(cancellations))
    values = np.linalg.svd(response, compute_uv=False)
    return bool(values[-1] > _SOLVABLE * max(values[0], _SOLVABLE))


_IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def _flat(
    cancellations: Sequence[Cancellation],
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    return (
        tuple(j for c in cancellations for j in c.joints),
        tuple(element for c in cancellations for element in c.elements),
    )


def _regroup(chain: GeneratorChain, kept: Mapping[int, Number]) -> RegroupedChain:
    joints = list(chain.joints)
    masses: list[Number] = [0.0] * chain.n
    for j in reversed(range(chain.n)):
        joint = joints[j]
        if chain.parents[j] == BASE:
            joints[j] = replace(
                joint,
                moments=_without_axis(joint.moments)
                if joint.revolute
                else replace(joint.moments, second=_NOTHING.second),
            )
            continue
        parent = joints[chain.parents[j]]
        if joint.revolute:
            masses[j] = kept.get(j, 0.0)
            moved = Moments(
                joint.moments.mass - masses[j],
                (0.0, 0.0, joint.moments.first[2]),
                (0.0, 0.0, 0.0, 0.0, 0.0, joint.moments.second[5]),
            )
            remains = _without_axis(joint.moments)
            arrived = moved.expressed_in(joint.twist.tolist(), joint.origin)
        else:
            moved = replace(_NOTHING, second=joint.moments.second)
            remains = replace(joint.moments, second=_NOTHING.second)
            arrived = moved.expressed_in(_rotation(joint), (0.0, 0.0, 0.0))
        joints[j] = replace(joint, moments=remains)
        joints[chain.parents[j]] = replace(parent, moments=parent.moments + arrived)
    return RegroupedChain(replace(chain, joints=tuple(joints)), tuple(masses))


def _without_axis(moments: Moments) -> Moments:
    xx, xy, xz, yy, yz, _ = moments.second
    return Moments(0.0, (moments.first[0], moments.first[1], 0.0), (xx, xy, xz, yy, yz, 0.0))


def _rotation(joint: GeneratorJoint) -> list[list[float]]:
    # DHRow's twist is exact at quarter turns, so that zeros stay zeros.
    about_x = DHRow(alpha=joint.theta).transform(Convention.MODIFIED)
    c, s = about_x[1, 1], about_x[2, 1]
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    rotation: list[list[float]] = (joint.twist @ turn).tolist()
    return rotation


def _with_merged_rotor(chain: GeneratorChain) -> GeneratorChain:
    """
    Put joint 2's rotor into ZZ2 where axis 1 is perpendicular: no torque tells them apart.

    ZZ alone is, in second moments, a half on xx and yy and minus a half on zz.
    """
    if chain.n < 2 or chain.parents[1] != 0:
        return chain
    first, second = chain.joints[:2]
    if not (first.revolute and second.revolute and second.cos_alpha == 0.0):
        return chain
    xx, xy, xz, yy, yz, zz = second.moments.second
    half = 0.5 * second.rotor_inertia
    merged = replace(
        second,
        rotor_inertia=0.0,
        moments=replace(second.moments, second=(xx + half, xy, xz, yy + half, yz, zz - half)),
    )
    return replace(chain, joints=(first, merged, *chain.joints[2:]))


def _kept_masses(
    chain: GeneratorChain,
    joints: Sequence[int],
    elements: Sequence[tuple[int, int]],
) -> list[Number]:
    """Return the masses that cancel the elements: linear in the parameters, geometry fixed."""
    inverse = np.linalg.inv(_response(chain, joints, elements))
    plain = _regroup(chain, {}).chain
    present = [plain.joints[link].moments.first[axis] for link, axis in elements]
    masses: list[Number] = []
    for row in inverse:
        mass: Number = 0.0
        for factor, element in zip(row, present):
            mass = mass - float(factor) * element
        masses.append(mass)
    return masses


def _response(
    chain: GeneratorChain,
    joints: Sequence[int],
    elements: Sequence[tuple[int, int]],
) -> np.ndarray:
    """Return what a unit mass kept at each joint adds to each element."""
    empty = replace(
        chain, joints=tuple(replace(joint, moments=_NOTHING) for joint in chain.joints)
    )
    columns = []
    for j in joints:
        found = _regroup(empty, {j: 1.0}).chain
        columns.append(
            [
                float(found.joints[link].moments.first[axis])  # type: ignore[arg-type]
                for link, axis in elements
            ]
        )
    return np.array(columns).T
