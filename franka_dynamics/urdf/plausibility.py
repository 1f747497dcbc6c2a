# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds numbers of an arm in a URDF or an MJCF that a real arm can hardly have.

Each rule is a statement of physics. A body has nowhere negative density. Its centre of mass is no
farther from its joint than the joints near it, and its mass spreads (standard deviation) no
farther than a body that is twice as long as the way to the next joint. No body spreads less than a
ball of lead of its mass. No link weighs more than twice the rest of the arm. Links of other masses
have other tensors. A motor holds the arm's weight at zero. Of links that no joint of the arm moves
only the tensor is judged, by whether a body can have it: no torque depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .document import UrdfInertial, Words
from .serial_chain import SerialChain
from ..arm.inertia import LinkInertia
from ..errors import listed
from ..spatial import JointKind
from ..typing import Array

_MAX_DENSITY = 11_340.0  # of lead [kg/m^3]
# Parts of a link (screws, cables, half a motor) reach beyond the joints near it by a length [m]
# and by a share of their distance.
_MAX_OVERHANG_M = 0.01
_MAX_OVERHANG_RATIO = 0.1
_MIN_REACH_RATIO = 0.05  # of a link, relative to the length of the arm
_MIN_SPAN_RATIO = 0.1  # of joints near a link, relative to the length of the arm
_MAX_MASS_RATIO = 2.0  # a link's largest mass, relative to all other moving links together
# Powers of ten by which a tensor is off that is in kg cm^2, kg mm^2, g cm^2 or g mm^2.
_TENSOR_POWERS = (-4, -6, -7, -9)
_MIN_SPREAD_RATIO = 0.1  # of a corrected tensor, relative to the largest allowed spread
_GRAVITY = 9.81  # [m/s^2]


class ImplausibleValue(NamedTuple):
    """
    An implausible number in a URDF or MJCF: its link or joint, its entry, and the reason.

    `kind` is 'joint', or what the file calls a link, and `entry` what it calls the number; of two
    links, `kind` is the plural. `impossible` says that no real body has the number, not only that
    an arm hardly has it.
    """

    kind: str
    names: tuple[str, ...]
    entry: str
    reason: str
    impossible: bool = False

    @property
    def place(self) -> str:
        """Kind and names of the link, links or joint that the number belongs to, for a message."""
        names = [*map(repr, self.names)]
        return f'{self.kind} {" and ".join(names) if len(names) < 3 else listed(names)}'

    def __str__(self) -> str:
        """Return one sentence."""
        return f'{self.place}, {self.entry}: {self.reason}{"" if self.reason[-1] == "?" else "."}'


class _Body(NamedTuple):
    """
    A moving link with mass, whose numbers in the file are called `words`.

    `distance` [m] is that of its centre of mass from its joint, `span` the way from two joints
    before the link to two behind it, `reach` the largest distance of its joint from those before
    and behind it.
    """

    name: str
    words: Words
    link: UrdfInertial
    distance: float
    span: float
    reach: float

    def doubt(self, entry: str, reason: str, *, impossible: bool = False) -> ImplausibleValue:
        return ImplausibleValue(self.words.link, (self.name,), entry, reason, impossible)


def find_implausible_values(chain: SerialChain) -> tuple[ImplausibleValue, ...]:
    """Return implausible masses, inertias and effort limits of the arm in a URDF or MJCF."""
    document, root = chain.document, chain.document.root
    found = list[ImplausibleValue]()
    for name in chain.bodies[root]:
        words, link = document.entries(name), document.links[name]
        if reason := _impossible(link):
            found.append(ImplausibleValue(words.link, (name,), words.tensor, reason, True))
    bodies = list[_Body]()
    for joint, group in zip(chain.joints, _bodies(chain)):
        bodies += group
        doubts = [doubt for body in group for doubt in _of_link(body)]
        found += doubts
        if group and not any(one.impossible for one in doubts):
            heaviest = max(group, key=lambda body: body.link.mass)
            found += _compactness(heaviest, chain.inertia(joint.child))
    return (*found, *_heavy(bodies), *_weak_joints(chain), *_placeholders(bodies))


def _bodies(chain: SerialChain) -> Iterator[list[_Body]]:
    """Yield the links with mass that each joint moves."""
    document = chain.document
    joints = np.array([(chain.poses[one.child] @ [*one.point, 1.0])[:3] for one in chain.joints])
    steps = np.linalg.norm(np.diff(joints, axis=0, prepend=np.zeros((1, 3))), axis=1)
    ways = np.array([0.0, *steps, 0.0, 0.0])  # to each joint from the one before it
    for k, (joint, at) in enumerate(zip(chain.joints, joints)):
        places = [chain.poses[name][:3, 3] - at for name in chain.fixed[joint.child]]
        near = max([ways[k + 1], ways[k + 2], *np.linalg.norm(places, axis=1)])
        span = max(ways[k : k + 4].sum(), near, _MIN_SPAN_RATIO * steps.sum())
        reach = max(near, _MIN_REACH_RATIO * steps.sum())
        group = []
        for name in (one for one in chain.bodies[joint.child] if document.links[one].mass):
            link = document.links[name]
            away = float(np.linalg.norm((chain.poses[name] @ link.origin)[:3, 3] - at))
            group.append(_Body(name, document.entries(name), link, away, span, reach))
        yield group


def _of_link(body: _Body) -> Iterator[ImplausibleValue]:
    """Yield a doubt about a link's tensor or centre of mass."""
    beyond = body.distance - (1.0 + _MAX_OVERHANG_RATIO) * body.span - _MAX_OVERHANG_M
    spread, most = _spread(body.link.tensor, body.link.mass), max(body.reach, body.distance)
    least = _MIN_SPREAD_RATIO * most
    if reason := _impossible(body.link):
        yield body.doubt(body.words.tensor, reason, impossible=True)
    elif body.span and beyond > 0.0:
        reason = (
            f'the centre of mass, {body.distance:.3g} m from its joint, lies {beyond:.2g} m '
            'beyond what the distances of the joints near it allow'
        )
        yield body.doubt(body.words.center, reason)
    elif body.span and spread > most:
        reason = (
            f'the mass spreads {spread:.2g} m (standard deviation), where the distances of the '
            f'joints near it allow {most:.2g} m'
        )
        within = (k for k in _TENSOR_POWERS if least <= spread * 10.0 ** (0.5 * k) <= most)
        if power := next(within, 0):
            reason += f'; is every entry to be multiplied by 1e{power}?'
        yield body.doubt(body.words.tensor, reason)


def _spread(tensor: Array, mass: float) -> float:
    """Return the standard deviation of a body's mass along the axis of the largest [m]."""
    second_moment = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    return float(np.sqrt(max(0.0, np.linalg.eigvalsh(second_moment)[-1]) / mass))


def _impossible(link: UrdfInertial) -> str:
    """Return why no real body has a link's tensor, or nothing."""
    tensor = link.tensor
    if LinkInertia(link.mass, np.zeros(3), tensor).is_physical():
        return ''
    moments = dict(zip(('ixx', 'iyy', 'izz'), np.diag(tensor).tolist()))
    if negative := next((f'{name}="{one:g}"' for name, one in moments.items() if one < 0.0), ''):
        return f'{negative} is negative'
    name = max(moments, key=moments.__getitem__)
    if (rest := sum(moments.values()) - moments[name]) < moments[name]:
        return f'{name}="{moments[name]:g}" is more than the other two together, {rest:.6g}'
    principal = ', '.join(f'{one:.4g}' for one in np.linalg.eigvalsh(tensor))
    return f'of its principal moments {principal} the largest exceeds the sum of the others'


def _compactness(heaviest: _Body, whole: LinkInertia) -> Iterator[ImplausibleValue]:
    """Yield a doubt about links fixed to each other whose mass is nearer together than in lead."""
    radius = (whole.mass / (4.0 / 3.0 * np.pi * _MAX_DENSITY)) ** (1.0 / 3.0)
    variance = 0.5 * np.trace(whole.inertia_at_center_of_mass) / whole.mass
    least = 0.6 * radius**2
    if 0.0 <= variance < least:
        reason = (
            f'{whole.mass:.3g} kg spread by {variance**0.5:.2g} m (standard deviation), less '
            f'than in a ball of lead, {least**0.5:.2g} m'
        )
        yield heaviest.doubt(heaviest.words.tensor, reason)


def _heavy(bodies: Sequence[_Body]) -> Iterator[ImplausibleValue]:
    """Yield links that are far heavier than all others together."""
    total = sum(body.link.mass for body in bodies)
    for body in bodies if len(bodies) > 1 else ():
        if body.link.mass > _MAX_MASS_RATIO * (total - body.link.mass):
            weighs = f'{body.link.mass:g} kg, and all other moving {body.words.links} together '
            yield body.doubt(body.words.mass, f'{weighs}{total - body.link.mass:.3g} kg')


def _placeholders(bodies: Sequence[_Body]) -> Iterator[ImplausibleValue]:
    """Yield links with the identity as tensor, and several with one that they can hardly share."""
    alike = dict[bytes, list[_Body]]()
    for body in bodies:
        alike.setdefault((body.link.tensor + 0.0).tobytes(), []).append(body)
    for same in alike.values():
        tensor, words, masses = same[0].link.tensor, same[0].words, [one.link.mass for one in same]
        # Links of one mass may be of one kind, but hardly a ball or a cube.
        ball = np.array_equal(tensor, tensor[0, 0] * np.eye(3))
        if np.array_equal(tensor, np.eye(3)):
            for body in same:
                yield body.doubt(words.tensor, 'it is the identity, as if not known')
        elif len(same) > 1 and tensor.any() and (ball or len({*masses}) > 1):
            names = tuple(one.name for one in same)
            weights = listed([f'{one:g}' for one in masses])
            reason = f'the same tensor for masses of {weights} kg, as if not known'
            yield ImplausibleValue(words.links, names, words.tensor, reason)


def _weak_joints(chain: SerialChain) -> Iterator[ImplausibleValue]:
    """Yield joints whose effort limit is below the weight that they carry at position zero."""
    mass, moment = 0.0, np.zeros(3)  # of all links behind a joint, in the root link
    for joint in reversed(chain.joints):
        pose = chain.poses[joint.child]
        whole = chain.inertia(joint.child).expressed_in(pose)
        mass, moment = mass + whole.mass, moment + whole.first_moment
        axis, point = pose[:3, :3] @ joint.axis, (pose @ [*joint.point, 1.0])[:3]
        turns = joint.motion is JointKind.REVOLUTE
        load = np.cross(axis, moment - mass * point)[2] if turns else mass * axis[2]
        needed, unit = _GRAVITY * abs(float(load)), 'N m' if turns else 'N'
        if joint.limits is not None and 0.0 < joint.limits.effort < needed:
            stated = f'{joint.limits.effort:g} {unit}, and the weight at zero takes {needed:.3g}'
            yield ImplausibleValue(
                'joint', (joint.name,), chain.document.words.effort, f'{stated} {unit}'
            )
