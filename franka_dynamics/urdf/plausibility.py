# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds numbers of a URDF that a real arm can hardly have.

Each rule is a statement of physics. A body has nowhere negative density. Its mass lies within its
shape: along every direction its centre c lies between the shape's ends a and b, and its variance
is at most (b - c)(c - a) (Bhatia and Davis 2000). The density of its mesh is that of some
material. No link weighs more than twice the rest of the arm. A motor holds the arm's weight at
zero. A left and a right link of one name are the same or mirrored. The URDF's elements are read
here anew, without the importer. Links that no joint moves are not judged: no torque depends on
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
import re
from typing import NamedTuple
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin

from .document import UrdfDocument
from .serial_chain import pinocchio_model
from ..arm.inertia import LinkInertia, TENSOR_ORDER
from ..spatial import inverse_transform, pose_from_xyz_rpy
from ..typing import Array

# Mean densities of links [kg/m^3]: that of lead for the convex hull of a mesh, which holds it, and
# that of foam for the volume of a closed mesh.
_DENSEST, _LIGHTEST = 11_340.0, 20.0
# Parts that shapes leave out (screws, cables, half a motor) reach beyond the shape by a length [m]
# and by a share of the shape's largest extent.
_BEYOND_M, _BEYOND_SHARE = 0.01, 0.1
_HEAVIEST = 2.0  # a link's largest mass, relative to all other moving links together
# Twins' largest relative difference of mass and moments, and difference of centres of mass [m].
_ALIKE, _ALIKE_M = 0.05, 5e-3
_DIRECTIONS = 200  # directions in which shapes are measured, evenly spread over the sphere
# Powers of ten by which a whole tensor is off that is in kg cm^2, kg mm^2, g cm^2 or g mm^2.
_TENSOR_POWERS = (-4, -6, -7, -9)
_GROSS = 2.0  # an entry is asked about only if it is off by at least this factor
_DIAGONAL = ('ixx', 'iyy', 'izz')
_SIDES = (('left', 'right'), ('Left', 'Right'), ('LEFT', 'RIGHT'), ('l', 'r'), ('L', 'R'))


class Doubt(NamedTuple):
    """
    A doubtful number: of a `link` or `joint` (`kind`), its names, entry in the URDF, and reason.

    `impossible` says that no real body has the number, not only that an arm hardly has it.
    """

    kind: str
    names: tuple[str, ...]
    entry: str
    reason: str
    impossible: bool = False

    @property
    def place(self) -> str:
        """The link or joint, or the two links, as a sentence names them."""
        return f'{self.kind} {" and ".join(map(repr, self.names))}'

    def __str__(self) -> str:
        """Return one sentence."""
        return f'{self.place}, {self.entry}: {self.reason}{"" if self.reason[-1] == "?" else "."}'


@dataclass(frozen=True)
class Solid:
    """
    A shape's points, shape (K, 3) [m]; of a mesh also the volume of its hull, and its own [m^3].

    `hull` is 0 for simple shapes, which often stand for a part of the link only; `volume` is 0 for
    a mesh that is not closed.
    """

    points: Array
    hull: float = 0.0
    volume: float = 0.0


class _Body(NamedTuple):
    """
    A link's name, the number of the joint that moves it, and its inertia in its own frame.

    `points`, in the link's frame, are those of the shapes and joints of all links fixed to it,
    None without shapes; `reach` is the length of all joints' offsets together [m].
    """

    name: str
    joint: int
    inertia: LinkInertia
    points: Array | None
    reach: float


def find_doubts(
    document: UrdfDocument, read_mesh: Callable[[str], Solid | None] = lambda name: None
) -> tuple[Doubt, ...]:
    """
    Return what is doubtful about masses, tensors and effort limits of a URDF.

    `read_mesh` returns the solid of a <mesh>'s filename, or None if it cannot be read; a link
    without any shape is compared with the length of the whole arm.
    """
    robot = ElementTree.fromstring(document.text)
    model = pinocchio_model(document.text, document.source)
    links = {str(link.get('name')): link for link in robot.findall('link')}
    length = sum(float(np.linalg.norm(_pose(one)[:3, 3])) for one in robot.findall('joint'))
    bodies: list[_Body] = []
    found: list[Doubt] = []
    for k in range(1, model.njoints):
        frames = [one for one in model.frames if one.type == pin.BODY and one.parentJoint == k]
        solids = [
            replace(solid, points=_moved(one.placement.homogeneous, solid.points))
            for one in frames
            for solid in _solids(links[one.name], read_mesh)
        ]
        points = [solid.points for solid in solids]
        points += [one.placement.translation[None] for one in frames]
        points += [model.jointPlacements[j].translation[None] for j in model.children[k]]
        group = [
            _Body(
                one.name,
                k,
                inertia,
                _moved(inverse_transform(one.placement.homogeneous), np.vstack(points))
                if solids
                else None,
                length or np.inf,
            )
            for one in frames
            if (inertia := _inertia(links[one.name])).mass
        ]
        bodies += group
        found += [doubt for body in group for doubt in _of_link(body)]
        found += _density(group, solids)
    total = sum(body.inertia.mass for body in bodies)
    for body in bodies if len(bodies) > 1 else ():
        mass, rest = body.inertia.mass, total - body.inertia.mass
        if mass > _HEAVIEST * rest:
            weighs = f'{mass:g} kg, and all other moving links together {rest:.3g} kg'
            found.append(Doubt('link', (body.name,), '<mass>', weighs))
    return (*found, *_weak_joints(document, model), *_unlike_twins(model, bodies))


def _density(group: list[_Body], shapes: list[Solid]) -> Iterator[Doubt]:
    """Yield a doubt about the density of links that are fixed to each other, by their meshes."""
    if not group or not shapes or not all(one.hull for one in shapes):
        return
    mass = sum(body.inertia.mass for body in group)
    hull, volume = (sum(getattr(one, of) for one in shapes) for of in ('hull', 'volume'))
    heaviest = max(group, key=lambda body: body.inertia.mass).name
    for doubted, size, what in (
        (mass > _DENSEST * hull, hull, 'hull of {:.3g} l, denser than lead'),
        (mass < _LIGHTEST * volume, volume, 'mesh of {:.3g} l, lighter than foam'),
    ):
        if doubted and all(one.volume for one in shapes) | (size is hull):
            reason = f'{mass:.4g} kg in a {what.format(1e3 * size)} ({mass / size:.3g} kg/m^3)'
            yield Doubt('link', (heaviest,), '<mass>', reason)


def _of_link(body: _Body) -> Iterator[Doubt]:
    """Yield a doubt about a link's tensor or centre of mass."""
    if impossible := _impossible(body.inertia):
        reason = impossible + _question(body)
        yield Doubt('link', (body.name,), '<inertia>', reason, impossible=True)
    elif outside := _outside(body):
        entry, reason, ratio = outside
        yield Doubt('link', (body.name,), entry, reason + _question(body) * (ratio**2 > _GROSS))


def _impossible(link: LinkInertia) -> str:
    """Return why no real body has a link's tensor, or nothing."""
    if link.is_physical():
        return ''
    tensor = link.inertia_at_center_of_mass
    moments = [
        (name, one, np.trace(tensor) - one) for name, one in zip(_DIAGONAL, np.diag(tensor))
    ]
    principal = ', '.join(f'{one:.4g}' for one in np.linalg.eigvalsh(tensor))
    return (
        *(f'{name}="{one:g}" is negative' for name, one, _ in moments if one < 0.0),
        *(
            f'{name}="{one:g}" is more than the other two together, {rest:.6g}'
            for name, one, rest in moments
            if one > rest
        ),
        f'of its principal moments {principal} the largest exceeds the sum of the others',
    )[0]


def _outside(body: _Body) -> tuple[str, str, float] | None:
    """
    Return how a link's mass does not lie within its shape, or None.

    Returned are the entry at fault, the reason, and the mass's spread relative to the largest one.
    """
    link, center = body.inertia, body.inertia.center_of_mass
    spread = link.pseudo_inertia()[:3, :3] / link.mass - np.outer(center, center)
    if body.points is None:
        lengths = float(np.linalg.norm(center)), float(np.sqrt(max(np.trace(spread), 0.0)))
        far, ratio = (one / body.reach for one in lengths)
        reason = f'{{}} {{:.3g}} m, and all joints together span {body.reach:.3g} m'
        if far > 1.0:
            return '<origin>', reason.format('the mass lies off by', lengths[0]), 0.0
        gyration = reason.format('its radius of gyration is', lengths[1])
        return ('<inertia>', gyration, ratio) if ratio > 1.0 else None
    axes = np.vstack((_directions(), np.linalg.eigh(spread)[1].T))
    along, middle = body.points @ axes.T, axes @ center
    beyond = _BEYOND_M + _BEYOND_SHARE * np.ptp(along, axis=0).max()
    low, high = along.min(axis=0) - beyond, along.max(axis=0) + beyond
    outside = float(np.max([low - middle, middle - high]))
    if outside > 0.0:
        at = ', '.join(f'{one:.4g}' for one in center)
        reason = f'the centre of mass ({at}) lies {outside + beyond:.2g} m outside the shapes'
        return '<origin>', reason, 0.0
    most = np.sqrt((high - middle) * (middle - low))
    deviation = np.sqrt(np.einsum('ki,ij,kj->k', axes, spread, axes).clip(0.0))
    k = int((deviation / most).argmax())
    if deviation[k] <= most[k]:
        return None
    along_k = ', '.join(f'{one:.2f}' for one in axes[k])
    reason = (
        f'the mass spreads {deviation[k]:.2g} m (standard deviation) along ({along_k}), where the '
        f'shapes allow {most[k]:.2g} m'
    )
    return '<inertia>', reason, float(deviation[k] / most[k])


def _question(body: _Body) -> str:
    """Return the question whether an entry or the whole tensor is off by a power of ten."""
    link = body.inertia
    tensor = link.inertia_at_center_of_mass

    def possible(changed: Array) -> bool:
        other = LinkInertia.from_center_of_mass(link.mass, link.center_of_mass, changed)
        return not _impossible(other) and not _outside(body._replace(inertia=other))

    if link.is_physical():
        for power in _TENSOR_POWERS:
            # The corrected spread is no less than a tenth of what the shapes allow.
            if possible(tensor * 10.0**power) and not possible(tensor * 10.0 ** (power + 2)):
                return f'; is every entry to be multiplied by 1e{power}?'
        return ''
    low, middle, high = np.linalg.eigvalsh(tensor)
    for power in (
        (-1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6) if high > _GROSS * (low + middle) else ()
    ):
        for i, j in zip(*np.triu_indices(3)):
            changed = tensor.copy()
            changed[i, j] = changed[j, i] = tensor[i, j] * 10.0**power
            if tensor[i, j] and possible(changed):
                name = f'i{"xyz"[i]}{"xyz"[j]}'
                return f'; is {name} {changed[i, j]:.4g}, {tensor[i, j]:g} times 1e{power}?'
    return ''


def _directions() -> Array:
    """Return unit vectors evenly spread over the sphere (a Fibonacci spiral), shape (K, 3)."""
    z = 1.0 - (2.0 * np.arange(_DIRECTIONS) + 1.0) / _DIRECTIONS
    turn = np.arange(_DIRECTIONS) * np.pi * (3.0 - np.sqrt(5.0))
    radius = np.sqrt(1.0 - z * z)
    return np.column_stack((radius * np.cos(turn), radius * np.sin(turn), z))


def _weak_joints(document: UrdfDocument, model: pin.Model) -> Iterator[Doubt]:
    """Yield joints whose effort limit is below the weight that they carry at position zero."""
    q = pin.neutral(model)
    single = [joint.idx_q for joint in list(model.joints)[1:] if joint.nq == 1]
    q[single] = np.clip(0.0, model.lowerPositionLimit, model.upperPositionLimit)[single]
    weight = pin.computeGeneralizedGravity(model, model.createData(), q)
    for name, place in zip(list(model.names)[1:], list(model.joints)[1:]):
        joint, needed = document.joints[name], abs(float(weight[place.idx_v]))
        if joint.limits is not None and 0.0 < joint.limits.effort < needed:
            unit = 'N' if joint.kind == 'prismatic' else 'N m'
            reason = f'{joint.limits.effort:g} {unit}, and the weight at zero takes {needed:.3g}'
            yield Doubt('joint', (name,), '<limit> effort', f'{reason} {unit}')


def _unlike_twins(model: pin.Model, bodies: list[_Body]) -> Iterator[Doubt]:
    """Yield pairs of a left and a right link, neither of which carries the other, that differ."""
    by_name = {body.name: body for body in bodies}
    for (name, body), (left, right) in product(by_name.items(), _SIDES):
        twin = by_name.get(re.sub(rf'(?<![a-zA-Z]){left}(?![a-z])', right, name), body)
        if twin.joint in model.supports[body.joint] or body.joint in model.supports[twin.joint]:
            continue
        for (entry, one, least), (_, two, _) in zip(_alike(body.inertia), _alike(twin.inertia)):
            if np.abs(one - two).max() > max(least, _ALIKE * np.abs([one, two]).max()):
                words = (', '.join(f'{value:.4g}' for value in each) for each in (one, two))
                reason = f'differ: {" and ".join(words)}'
                yield Doubt('links', (name, twin.name), entry, reason)


def _alike(link: LinkInertia) -> list[tuple[str, Array, float]]:
    """Return numbers that mirrored links share, with their names and differences that may be."""
    distance = np.linalg.norm(link.center_of_mass)
    moments = np.linalg.eigvalsh(link.inertia_at_center_of_mass)
    return [
        ('<mass> [kg]', np.array([link.mass]), 0.0),
        ('<origin>, distance [m]', np.array([distance]), _ALIKE_M),
        ('<inertia>, principal moments [kg m^2]', moments, 0.0),
    ]


def _inertia(link: ElementTree.Element) -> LinkInertia:
    """Return a link's inertia in its frame."""
    mass, given = (link.find(f'inertial/{tag}') for tag in ('mass', 'inertia'))
    if mass is None or given is None:
        return LinkInertia.zero()
    six = [float(given.get(f'i{axes}', 0.0)) for axes in TENSOR_ORDER]
    body = LinkInertia.from_center_of_mass(float(mass.get('value', 0.0)), np.zeros(3), six)
    return body.expressed_in(_pose(link.find('inertial')))


def _moved(pose: Array, points: Array) -> Array:
    return np.asarray(points @ pose[:3, :3].T + pose[:3, 3])


def _pose(element: ElementTree.Element | None) -> Array:
    """Return the pose that an element's <origin> states, shape (4, 4)."""
    origin = None if element is None else element.find('origin')
    given = {} if origin is None else origin.attrib
    return pose_from_xyz_rpy(
        *(np.array(given.get(key, '0 0 0').split(), dtype=float) for key in ('xyz', 'rpy'))
    )


def _solids(link: ElementTree.Element, read_mesh: Callable[[str], Solid | None]) -> list[Solid]:
    """
    Return a link's collision shapes or, if a mesh of them cannot be read, all that can be read.

    In the second case the shapes' volumes are left out.
    """
    readable: list[Solid] = []
    for tag in ('collision', 'visual'):
        shapes = [
            (element, _solid(geometry, read_mesh))
            for element in link.findall(tag)
            if (geometry := element.find('geometry/*')) is not None
        ]
        found = [
            replace(solid, points=_moved(_pose(element), solid.points))
            for element, solid in shapes
            if solid is not None
        ]
        if shapes and len(found) == len(shapes):
            return found
        readable += found
    return [Solid(one.points) for one in readable]


def _solid(
    geometry: ElementTree.Element, read_mesh: Callable[[str], Solid | None]
) -> Solid | None:
    """Return the solid of a <mesh>, <box>, <sphere> or <cylinder>; None if it cannot be read."""
    given = {
        key: np.array(geometry.get(key, '0').split(), dtype=float)
        for key in ('size', 'radius', 'length')
    }
    if geometry.tag == 'mesh':
        solid = read_mesh(geometry.get('filename', ''))
        scale = np.array(geometry.get('scale', '1 1 1').split(), dtype=float)
        times = float(np.abs(np.prod(scale)))
        return solid and Solid(solid.points * scale, solid.hull * times, solid.volume * times)
    corners = np.stack(np.meshgrid(*[[-0.5, 0.5]] * 3), axis=-1).reshape(-1, 3)
    if geometry.tag == 'box':
        return Solid(corners * given['size'])
    if geometry.tag == 'sphere':
        return Solid(given['radius'] * _directions())
    # The corners of the box around a cylinder.
    size = [2.0 * given['radius'][0], 2.0 * given['radius'][0], given['length'][0]]
    return Solid(corners * size) if geometry.tag in ('cylinder', 'capsule') else None
