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

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
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
# An entry is asked about only if it is off by at least this factor, and a corrected spread is at
# least this share of what the shapes allow.
_GROSS, _LEAST_SHARE = 2.0, 0.1
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


def no_mesh(filename: str) -> Solid | None:
    """Return None: no mesh is read."""
    return None


@dataclass(frozen=True)
class _Body:
    """
    A link's name and its inertia in its own frame, with what belongs to its rigid group.

    The group is a moving link, `head`, and all links that are fixed to it. `points` are those of
    the group's shapes and joints, in the link's frame; None without shapes.
    """

    name: str
    head: str
    inertia: LinkInertia
    points: Array | None


def find_doubts(
    document: UrdfDocument, read_mesh: Callable[[str], Solid | None] = no_mesh
) -> tuple[Doubt, ...]:
    """
    Return what is doubtful about masses, tensors and effort limits of a URDF.

    `read_mesh` returns the solid of a <mesh>'s filename, or None if it cannot be read; a link
    without any shape is compared with the length of the whole arm.
    """
    robot = ElementTree.fromstring(document.text)
    solids, bodies = _read(document, robot, read_mesh)
    length = sum(float(np.linalg.norm(_pose(one)[:3, 3])) for one in robot.findall('joint'))
    found = [doubt for body in bodies.values() for doubt in _of_link(body, length)]
    total = sum(body.inertia.mass for body in bodies.values())
    for name, body in bodies.items():
        rest = total - body.inertia.mass
        if len(bodies) > 1 and body.inertia.mass > _HEAVIEST * rest:
            weighs = f'{body.inertia.mass:g} kg, and all other moving links together {rest:.3g} kg'
            found.append(Doubt('link', (name,), '<mass>', weighs))
    for head, shapes in solids.items():
        group = [body for body in bodies.values() if body.head == head]
        found += _density(group, shapes)
    return (*found, *_weak_joints(document), *_unlike_twins(document, bodies))


def _density(group: list[_Body], shapes: list[Solid]) -> Iterator[Doubt]:
    """Yield a doubt about the density of links that are fixed to each other, by their meshes."""
    mass = sum(body.inertia.mass for body in group)
    hull, volume = (sum(getattr(one, of) for one in shapes) for of in ('hull', 'volume'))
    if not mass or not shapes or not all(one.hull for one in shapes):
        return
    heaviest = max(group, key=lambda body: body.inertia.mass).name
    if mass > _DENSEST * hull:
        dense = f'{mass:.4g} kg in a hull of {1e3 * hull:.3g} l, denser than lead'
        yield Doubt('link', (heaviest,), '<mass>', f'{dense} ({mass / hull:.3g} kg/m^3)')
    if all(one.volume for one in shapes) and mass < _LIGHTEST * volume:
        light = f'{mass:.4g} kg in a mesh of {1e3 * volume:.3g} l, lighter than foam'
        yield Doubt('link', (heaviest,), '<mass>', f'{light} ({mass / volume:.3g} kg/m^3)')


def _of_link(body: _Body, length: float) -> Iterator[Doubt]:
    """Yield doubts about a link's tensor and centre of mass."""
    names, link = (body.name,), body.inertia
    if impossible := _impossible(link):
        reason = impossible + _question(body, length)
        yield Doubt('link', names, '<inertia>', reason, impossible=True)
    elif outside := _outside(body, length):
        entry, reason, ratio = outside
        asked = _question(body, length) if entry == '<inertia>' and ratio**2 > _GROSS else ''
        yield Doubt('link', names, entry, reason + asked)


def _impossible(link: LinkInertia) -> str:
    """Return why no real body has a link's tensor, or nothing."""
    if link.is_physical():
        return ''
    tensor = link.inertia_at_center_of_mass
    for name, moment in zip(_DIAGONAL, np.diag(tensor)):
        if moment < 0.0:
            return f'{name}="{moment:g}" is negative, which no real body has'
    for i, name in enumerate(_DIAGONAL):
        moment, rest = tensor[i, i], np.trace(tensor) - tensor[i, i]
        if moment > rest:
            first, second = (one for one in _DIAGONAL if one != name)
            sum_of = f'more than {first} + {second} = {rest:.6g}'
            return f'{name}="{moment:g}" is {sum_of}, which no real body has'
    moments = ', '.join(f'{one:.4g}' for one in np.linalg.eigvalsh(tensor))
    return f'of its principal moments {moments} the largest exceeds the sum of the others'


def _outside(body: _Body, length: float) -> tuple[str, str, float] | None:
    """
    Return how a link's mass does not lie within its shape, or None.

    Returned are the entry at fault, the reason, and the mass's spread relative to the largest one.
    """
    link, center = body.inertia, body.inertia.center_of_mass
    spread = link.pseudo_inertia()[:3, :3] / link.mass - np.outer(center, center)
    if body.points is None:
        all_joints = f'all joints together span {length:.3g} m'
        far, gyration = np.linalg.norm(center), float(np.sqrt(max(np.trace(spread), 0.0)))
        if far > length > 0.0:
            return '<origin>', f'the mass lies {far:.3g} m from the link, and {all_joints}', 0.0
        if gyration > length > 0.0:
            reason = f'its radius of gyration is {gyration:.3g} m, and {all_joints}'
            return '<inertia>', reason, gyration / length
        return None
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


def _question(body: _Body, length: float) -> str:
    """Return the question whether an entry or the whole tensor is off by a power of ten."""
    link = body.inertia
    tensor, center = link.inertia_at_center_of_mass, link.center_of_mass

    def possible(mass: float, changed: Array) -> bool:
        other = LinkInertia.from_center_of_mass(mass, center, changed)
        return not _impossible(other) and not _outside(replace(body, inertia=other), length)

    if not link.is_physical():
        low, middle, high = np.linalg.eigvalsh(tensor)
        if high <= _GROSS * (low + middle):
            return ''
        for power in (-1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6):
            for i, j in zip(*np.triu_indices(3)):
                changed = tensor.copy()
                changed[i, j] = changed[j, i] = tensor[i, j] * 10.0**power
                if tensor[i, j] and possible(link.mass, changed):
                    name = f'i{"xyz"[i]}{"xyz"[j]}'
                    return f'; is {name} {changed[i, j]:.4g}, {tensor[i, j]:g} times 1e{power}?'
        return ''
    smallest = LinkInertia.from_center_of_mass(link.mass, center, _LEAST_SHARE**-2 * tensor)
    for power in _TENSOR_POWERS:
        larger = smallest.inertia_at_center_of_mass * 10.0**power
        if possible(link.mass, tensor * 10.0**power) and not possible(link.mass, larger):
            return f'; is every entry to be multiplied by 1e{power}?'
    return ''


def _directions() -> Array:
    """Return unit vectors evenly spread over the sphere (a Fibonacci spiral), shape (K, 3)."""
    z = 1.0 - (2.0 * np.arange(_DIRECTIONS) + 1.0) / _DIRECTIONS
    turn = np.arange(_DIRECTIONS) * np.pi * (3.0 - np.sqrt(5.0))
    radius = np.sqrt(1.0 - z * z)
    return np.column_stack((radius * np.cos(turn), radius * np.sin(turn), z))


def _weak_joints(document: UrdfDocument) -> Iterator[Doubt]:
    """Yield joints whose effort limit is below the weight that they carry at position zero."""
    model = pinocchio_model(document.text, document.source)
    data, q = model.createData(), pin.neutral(model)
    single = [joint.idx_q for joint in list(model.joints)[1:] if joint.nq == 1]
    q[single] = np.clip(0.0, model.lowerPositionLimit, model.upperPositionLimit)[single]
    weight = pin.computeGeneralizedGravity(model, data, q)
    for name, joint in zip(list(model.names)[1:], list(model.joints)[1:]):
        limits, needed = document.joints[name].limits, abs(float(weight[joint.idx_v]))
        if limits is not None and 0.0 < limits.effort < needed:
            unit = 'N' if document.joints[name].kind == 'prismatic' else 'N m'
            reason = f'{limits.effort:g} {unit}, and the weight at zero takes {needed:.3g} {unit}'
            yield Doubt('joint', (name,), '<limit> effort', reason)


def _unlike_twins(document: UrdfDocument, bodies: Mapping[str, _Body]) -> Iterator[Doubt]:
    """Yield pairs of a left and a right link, neither of which carries the other, that differ."""
    carrier = {joint.child: joint.parent for joint in document.joints.values()}

    def carries(one: str, other: str) -> bool:
        while other in carrier and other != one:
            other = carrier[other]
        return other == one

    for name, body in bodies.items():
        for left, right in _SIDES:
            twin = re.sub(rf'(?<![a-zA-Z]){left}(?![a-z])', right, name)
            if twin == name or twin not in bodies or carries(name, twin) or carries(twin, name):
                continue
            for (entry, one, least), (_, two, _) in zip(
                _alike(body.inertia), _alike(bodies[twin].inertia)
            ):
                if np.abs(one - two).max() > max(least, _ALIKE * np.abs([one, two]).max()):
                    words = (', '.join(f'{value:.4g}' for value in each) for each in (one, two))
                    yield Doubt('links', (name, twin), entry, f'differ: {" and ".join(words)}')


def _alike(link: LinkInertia) -> list[tuple[str, Array, float]]:
    """Return numbers that mirrored links share, with their names and differences that may be."""
    distance = np.linalg.norm(link.center_of_mass)
    moments = np.linalg.eigvalsh(link.inertia_at_center_of_mass)
    return [
        ('<mass> [kg]', np.array([link.mass]), 0.0),
        ('<origin>, distance [m]', np.array([distance]), _ALIKE_M),
        ('<inertia>, principal moments [kg m^2]', moments, 0.0),
    ]


def _read(
    document: UrdfDocument,
    robot: ElementTree.Element,
    read_mesh: Callable[[str], Solid | None],
) -> tuple[dict[str, list[Solid]], dict[str, _Body]]:
    """
    Return the shapes of each moving link, in its frame, and all bodies that move.

    The shapes are those of the link and of all links fixed to it.
    """
    links = {str(link.get('name')): link for link in robot.findall('link')}
    placed = {str(joint.get('name')): _pose(joint) for joint in robot.findall('joint')}
    carrier = {joint.child: joint for joint in document.joints.values()}

    def group(link: str) -> tuple[str, Array]:
        """Return the moving link that a link is fixed to, or the root, and the pose in it."""
        pose = np.eye(4)
        while link in carrier and carrier[link].kind == 'fixed':
            pose = placed[carrier[link].name] @ pose
            link = carrier[link].parent
        return link, pose

    solids: dict[str, list[Solid]] = {}
    points: dict[str, list[Array]] = {}
    for name, link in links.items():
        head, pose = group(name)
        points.setdefault(head, []).append(pose[:3, 3])
        solids.setdefault(head, []).extend(
            replace(one, points=_moved(pose, one.points)) for one in _solids(link, read_mesh)
        )
    for joint in document.joints.values():
        head, pose = group(joint.parent)
        points[head].append((pose @ placed[joint.name])[:3, 3])
    bodies = {}
    for name, link in links.items():
        head, pose = group(name)
        inertial = link.find('inertial')
        if head not in carrier or inertial is None:
            continue
        mass, given = (inertial.find(tag) for tag in ('mass', 'inertia'))
        assert mass is not None and given is not None  # parse_urdf refuses others
        kilograms = float(mass.get('value', 0.0))
        if kilograms == 0.0:
            continue
        six = [float(given.get(f'i{axes}', 0.0)) for axes in TENSOR_ORDER]
        inertia = LinkInertia.from_center_of_mass(kilograms, np.zeros(3), six)
        shape = None
        if solids[head]:
            shape = np.vstack([*points[head], *(one.points for one in solids[head])])
            shape = _moved(inverse_transform(pose), shape)
        bodies[name] = _Body(name, head, inertia.expressed_in(_pose(inertial)), shape)
    return solids, bodies


def _moved(pose: Array, points: Array) -> Array:
    return np.asarray(points @ pose[:3, :3].T + pose[:3, 3])


def _pose(element: ElementTree.Element) -> Array:
    """Return the pose that an element's <origin> states, shape (4, 4)."""
    origin = element.find('origin')
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
