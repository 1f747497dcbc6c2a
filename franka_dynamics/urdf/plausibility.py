# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds numbers of a URDF or an MJCF that a real arm can hardly have.

Each rule is a statement of physics. A body has nowhere negative density. Its mass lies within its
shape: along every direction its centre lies between the shape's ends, at distances a and b from
them, and its variance is at most a b (Bhatia and Davis 2000). The density of its mesh is that of
some material, and no body spreads less than a ball of lead of its mass. No link weighs more than
twice the rest of the arm. Links of other masses have other tensors. A motor holds the arm's weight
at zero. Of links that no joint moves only the tensor is judged, by whether a body can have it: no
torque depends on them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from .document import CUBE_CORNERS, TENSOR_FROM_GEOMS, UrdfDocument
from .pinocchio_reading import pinocchio_model_of_document, shape_points_by_link
from ..arm.arm_fields import FormatWords
from ..arm.inertia import LinkInertia
from ..arrays import Array
from ..errors import list_text

# Mean densities of links in the convex hulls of their meshes [kg/m^3]: those of lead and of foam.
_MAX_DENSITY_KG_M3 = 11_340.0
_MIN_DENSITY_KG_M3 = 20.0
# Parts that shapes leave out (screws, cables, half a motor) reach beyond the shape by a length [m]
# and by a share of the shape's largest extent.
_MAX_OVERHANG_OF_SHAPE_M = 0.01
_MAX_OVERHANG_TO_SHAPE_EXTENT = 0.1
_MIN_REACH_TO_ARM_LENGTH = 0.05  # of a link that no shape shows, relative to the length of the arm
_MIN_SPAN_TO_ARM_LENGTH = 0.1  # of joints near a link, relative to the length of the arm
_FALLBACK_REACH_M = 1e6  # [m] instead of the length of an arm without lengths
_MAX_MASS_TO_OTHERS = 2.0  # a link's largest mass, relative to all other moving links together
# Powers of ten by which a whole tensor is off that is in kg cm^2, kg mm^2, g cm^2 or g mm^2.
_WHOLE_TENSOR_POWERS_OF_TEN = (-4, -6, -7, -9)
_TENSOR_ENTRY_POWERS_OF_TEN = (-1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6)
# The published tensor of an FER's first link spreads by 1.8 times what its meshes allow; one in
# another unit by 31 times or more.
_MIN_GROSS_SPREAD = 5.0
_MIN_EQUAL_MASS_COUNT = 4  # links; three of a wrist may weigh the same
_MIN_TO_MAX_SPREAD = 0.1  # of a corrected tensor, relative to the largest spread that shapes allow


class ImplausibleValue(NamedTuple):
    """
    An implausible number in a URDF or MJCF, with its link or joint, its entry and the reason.

    `kind` is 'joint', or what the file calls a link, and `entry` what it calls the number; of two
    links, `kind` is the plural. `impossible` says that no real body has the number, not only that
    an arm hardly has it; `is_unmeasured`, that files have it of bodies whose masses nobody knows;
    `is_gross`, that it is so far from what the arm's shape allows that torques are wrong.
    """

    kind: str
    names: tuple[str, ...]
    entry: str
    reason: str
    impossible: bool = False
    is_unmeasured: bool = False
    is_gross: bool = False

    @property
    def makes_torques_wrong(self) -> bool:
        """Whether torques are surely wrong by it, so that whoever loads the arm is warned."""
        return self.impossible or self.is_unmeasured or self.is_gross

    @property
    def owner_text(self) -> str:
        """Kind and names of the link, links or joint that the number belongs to, for a message."""
        names = [*map(repr, self.names)]
        return f'{self.kind} {" and ".join(names) if len(names) < 3 else list_text(names)}'

    def __str__(self) -> str:
        """Return owner, entry and reason in one sentence."""
        return f'{self.owner_text}, {self.entry}: {self.reason}{"." * (self.reason[-1] != "?")}'


class _MassLink(NamedTuple):
    """
    A link with mass, its joint's number in Pinocchio (0: none), and points that enclose it.

    `tensor`, shape (3, 3), and `shape_points`, shape (K, 3), are in the frame of the <inertial>,
    whose origin is the centre of mass. The points are those of all shapes and joints of links
    fixed to each other or, without a shape, the corners of a cube as large as the arm is from two
    joints before the link to two behind it (`what_bounds_it` says which).
    `center_to_joint_distance` [m] is that of the centre of mass. `reach` [m] is the
    joint's largest distance from this, the joints behind and the one before it, if there is no
    shape: a body whose mass spreads (standard deviation) by more is at least twice as long.
    `wording` names its numbers.
    """

    name: str
    wording: FormatWords
    joint_id: int
    mass: float
    tensor: Array
    shape_points: Array = _FALLBACK_REACH_M * CUBE_CORNERS
    what_bounds_it: str = ''
    center_to_joint_distance: float = 0.0
    reach: float = _FALLBACK_REACH_M

    def finding(self, entry: str, reason: str, **marks: bool) -> ImplausibleValue:
        """Return an ImplausibleValue for an entry of this link, with any of its three marks."""
        return ImplausibleValue(self.wording.link, (self.name,), entry, reason, **marks)


def find_implausible_values(
    document: UrdfDocument, urdf_path: Path | None = None
) -> tuple[tuple[ImplausibleValue, ...], tuple[str, ...]]:
    """
    Return implausible inertials and effort limits of a URDF or MJCF, and names of unread meshes.

    Meshes are read only if `urdf_path` is given and scipy is installed.
    """
    model = pinocchio_model_of_document(document)
    urdf_path = urdf_path if find_spec('scipy') else None
    try:
        shapes, meshed, unread = shape_points_by_link(model, document, urdf_path)
    except ValueError:  # a mesh is no mesh
        shapes, meshed, unread = shape_points_by_link(model, document, None)
    links: list[_MassLink] = []
    found: list[ImplausibleValue] = []
    for k in range(1, model.njoints):
        frames = [one for one in model.frames if one.type == pin.BODY and one.parentJoint == k]
        group = _links_with_mass(document, model, k, frames, shapes, unread)
        links += group
        found += [doubt for link in group for doubt in _implausible_link_values(link)]
        shown = [one.name for one in frames if one.name in shapes]
        if group:
            heaviest = max(group, key=lambda link: link.mass)
            if not any(map(_tensor_problem, group)):
                found += _too_compact_links(heaviest, model.inertias[k])
            if shown and meshed.issuperset(shown) and unread.keys().isdisjoint(shown):
                mass = sum(link.mass for link in group)
                solids = [shapes[name] for name in shown]
                found += _odd_density(heaviest, mass, [*map(np.vstack, solids)])
    moving = {link.name for link in links}
    for name, link in document.links.items():
        still = _MassLink(name, document.inertial_words(name), 0, link.mass, link.tensor)
        if link.mass and name not in moving:
            found += _implausible_link_values(still)
        elif link.tensor.any() and not link.mass:
            reason = 'a tensor beside a mass of 0, which no body has'
            found.append(still.finding(still.wording.tensor, reason, impossible=True))
    found += (*_too_heavy_links(links), *_too_low_effort_limits(document, model))
    found += (*_placeholder_tensors(document, model, links), *_placeholder_masses(model, links))
    return tuple(found), tuple(dict.fromkeys(name for names in unread.values() for name in names))


def _links_with_mass(
    document: UrdfDocument,
    model: pin.Model,
    joint_id: int,
    frames: Sequence[pin.Frame],
    shapes: Mapping[str, Sequence[Array]],
    unread_links: Collection[str],
) -> list[_MassLink]:
    """Return links with mass, and bounds, among `frames`, moved by the joint of that number."""
    lengths = [float(np.linalg.norm(one.translation)) for one in model.jointPlacements]
    solids = [points for one in frames for points in shapes.get(one.name, ())]
    places = [one.placement.translation for one in frames]
    places += [model.jointPlacements[j].translation for j in model.children[joint_id]]
    bound_text = 'its shapes and joints allow'
    reach = _FALLBACK_REACH_M
    enclosing = np.vstack((*solids, *places))
    # A link of which nothing was read may be larger than what is fixed to it.
    if not solids or any(one.name in unread_links and one.name not in shapes for one in frames):
        bound_text = 'the distances of the joints near it allow'
        next_lengths = [[lengths[i] for i in children] for children in model.children]
        behind = (lengths[j] + max(next_lengths[j], default=0.0) for j in model.children[joint_id])
        span = lengths[model.parents[joint_id]] + lengths[joint_id] + max(behind, default=0.0)
        span = max(
            span,
            *np.linalg.norm(places, axis=1),
            _MIN_SPAN_TO_ARM_LENGTH * sum(lengths),
        )
        enclosing = CUBE_CORNERS * (span or _FALLBACK_REACH_M)
        if span:
            least = _MIN_REACH_TO_ARM_LENGTH * sum(lengths)
            reach = max(least, lengths[joint_id], *np.linalg.norm(places, axis=1))
    found = []
    for one in (one for one in frames if document.links[one.name].mass):
        link = document.links[one.name]
        words = document.inertial_words(one.name)
        pose = one.placement.homogeneous @ link.origin
        points = (enclosing - pose[:3, 3]) @ pose[:3, :3]
        distance = float(np.linalg.norm(pose[:3, 3]))
        bounds = points, bound_text, distance, max(reach, distance)
        found.append(_MassLink(one.name, words, joint_id, link.mass, link.tensor, *bounds))
    return found


def _too_heavy_links(links: Sequence[_MassLink]) -> Iterator[ImplausibleValue]:
    """Yield an ImplausibleValue if one link weighs over twice what all other moving links do."""
    total = sum(link.mass for link in links)
    for link in links if len(links) > 1 else ():
        if link.mass > _MAX_MASS_TO_OTHERS * (total - link.mass):
            weighs = f'{link.mass:g} kg, and all other moving {link.wording.links} together '
            yield link.finding(link.wording.mass, f'{weighs}{total - link.mass:.3g} kg')


def _named_distances(model: pin.Model, links: Sequence[_MassLink]) -> set[tuple[str, float]]:
    """Return named distances [m] of links' centres of mass and next joints from their joints."""
    found = set[tuple[str, float]]()
    for link in links:
        joints = (model.jointPlacements[k].translation for k in model.children[link.joint_id])
        found |= {('length', round(float(np.linalg.norm(one)), 6)) for one in joints}
        found.add(('distance', round(link.center_to_joint_distance, 6)))
    return found


def _placeholder_masses(
    model: pin.Model, links: Sequence[_MassLink]
) -> Iterator[ImplausibleValue]:
    """Yield an ImplausibleValue if four or more links, all of unlike lengths, weigh the same."""
    masses = {link.mass for link in links}
    if len(links) < _MIN_EQUAL_MASS_COUNT or len(masses) > 1:
        return
    if len(_named_distances(model, links)) > 2:
        words = links[0].wording
        names = tuple(link.name for link in links)
        reason = f'{links[0].mass:g} kg for every moving {words.link}, as if not known'
        yield ImplausibleValue(words.links, names, words.mass, reason, is_unmeasured=True)


def _placeholder_tensors(
    document: UrdfDocument, model: pin.Model, links: Sequence[_MassLink]
) -> Iterator[ImplausibleValue]:
    """Yield an ImplausibleValue for identity tensors, and for equal tensors of unlike links."""
    alike = dict[bytes, list[_MassLink]]()
    for link in links:
        alike.setdefault((link.tensor + 0.0).tobytes(), []).append(link)
    for first, *others in alike.values():
        if np.array_equal(first.tensor, np.eye(3)):
            for link in (first, *others):
                reason = 'it is the identity, as if not known'
                yield link.finding(link.wording.tensor, reason, is_unmeasured=True)
        elif others and first.tensor.any():
            joints = {one.joint_id for one in (first, *others)}
            deepest = max(len(joints.intersection(model.supports[k])) for k in joints)
            ball = np.array_equal(first.tensor, first.tensor[0, 0] * np.eye(3))
            source = document.tensor_sources.get(first.name)
            modules = (
                len(_named_distances(model, (first, *others))) < 3 or source == TENSOR_FROM_GEOMS
            )
            # Links of one mass may be of one kind: two fingers or, one behind another, the two of
            # a wrist or modules of one size, but hardly balls or cubes.
            of_a_kind = deepest < 2 if ball else deepest < 3 or modules
            if of_a_kind and all(one.mass == first.mass for one in others):
                continue
            names = tuple(one.name for one in (first, *others))
            masses = list_text([f'{one.mass:g}' for one in (first, *others)])
            reason = f'the same tensor for masses of {masses} kg, as if not known'
            words = first.wording
            yield ImplausibleValue(words.links, names, words.tensor, reason, is_unmeasured=True)


def _odd_density(link: _MassLink, mass: float, points: list[Array]) -> Iterator[ImplausibleValue]:
    """Yield a finding if links fixed together are denser than lead or lighter than foam."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        size = sum(float(ConvexHull(one).volume) for one in points)
    except QhullError:  # a flat mesh
        return
    if _MIN_DENSITY_KG_M3 <= mass / size <= _MAX_DENSITY_KG_M3:
        return
    than = 'denser than lead' if mass > size else 'lighter than foam'
    reason = f'{mass:.4g} kg in a hull of {1e3 * size:.3g} l, {than} ({mass / size:.3g} kg/m^3)'
    yield link.finding(link.wording.mass, reason)


def _too_compact_links(heaviest: _MassLink, inertia: pin.Inertia) -> Iterator[ImplausibleValue]:
    """Yield an ImplausibleValue if links fixed together are more compact than a ball of lead."""
    radius = (inertia.mass / (4.0 / 3.0 * np.pi * _MAX_DENSITY_KG_M3)) ** (1.0 / 3.0)
    variance = 0.5 * np.trace(inertia.inertia) / inertia.mass
    least = 0.6 * radius**2
    if 0.0 <= variance < least:
        reason = (
            f'{inertia.mass:.3g} kg spread by {variance**0.5:.2g} m (standard deviation), less '
            f'than in a ball of lead, {least**0.5:.2g} m'
        )
        yield heaviest.finding(heaviest.wording.tensor, reason)


def _implausible_link_values(link: _MassLink) -> Iterator[ImplausibleValue]:
    """Yield an ImplausibleValue if a link's tensor or centre of mass is implausible."""
    outside, spread, most, axis = _mass_spread(link, link.tensor)
    if impossible := _tensor_problem(link):
        reason = impossible + _power_of_ten_hint(link)
        yield link.finding(link.wording.tensor, reason, impossible=True)
    elif outside > 0.0:
        reason = (
            f'the centre of mass, {link.center_to_joint_distance:.3g} m from its joint, lies '
            f'{outside:.2g} m beyond what {link.what_bounds_it}'
        )
        yield link.finding(link.wording.center, reason)
    elif spread > most:
        along = ', '.join(f'{one:.2f}' for one in axis)
        reason = (
            f'the mass spreads {spread:.2g} m (standard deviation) along ({along}), where '
            f'{link.what_bounds_it} {most:.2g} m{_power_of_ten_hint(link)}'
        )
        gross = bool(spread > _MIN_GROSS_SPREAD * most)
        yield link.finding(link.wording.tensor, reason, is_gross=gross)


def _mass_spread(link: _MassLink, tensor: Array) -> tuple[float, float, float, Array]:
    """
    Return the centre's distance out of the shape (< 0 inside), the mass's spread, bound and axis.

    Returned are how far the centre of mass lies outside [m], the standard deviation of the mass
    along an axis [m], the largest one that points and reach allow, and the axis, along which the
    first is largest relative to the second.
    """
    spread = (0.5 * np.trace(tensor) * np.eye(3) - tensor) / link.mass
    middle = link.shape_points.mean(axis=0)
    axes = np.vstack((np.eye(3), np.linalg.eigh(spread)[1].T))
    if length := float(np.linalg.norm(middle)):
        axes = np.vstack((axes, middle / length))
    along = link.shape_points @ axes.T
    beyond = _MAX_OVERHANG_OF_SHAPE_M + _MAX_OVERHANG_TO_SHAPE_EXTENT * np.ptp(along, axis=0).max()
    low = along.min(axis=0) - beyond
    high = along.max(axis=0) + beyond
    outside = float(max(low.max(), -high.min()))
    most = np.sqrt((-low * high).clip(1e-12)).clip(max=link.reach)
    deviation = np.sqrt(np.einsum('ki,ij,kj->k', axes, spread, axes).clip(0.0))
    k = int((deviation / most).argmax())
    return outside, float(deviation[k]), float(most[k]), axes[k]


def _is_possible_tensor(link: _MassLink, tensor: Array) -> bool:
    """Return whether a body of the link's mass can have a tensor about its centre of mass."""
    return LinkInertia.from_center_of_mass(link.mass, np.zeros(3), tensor).is_physical()


def _tensor_problem(link: _MassLink) -> str:
    """Return why no real body can have a link's tensor; '' if one can."""
    if _is_possible_tensor(link, link.tensor):
        return ''
    moments = dict(zip(('ixx', 'iyy', 'izz'), np.diag(link.tensor).tolist()))
    if negative := next((f'{name}="{one:g}"' for name, one in moments.items() if one < 0.0), ''):
        return f'{negative} is negative'
    name = max(moments, key=moments.__getitem__)
    if (rest := sum(moments.values()) - moments[name]) < moments[name]:
        return f'{name}="{moments[name]:g}" is more than the other two together, {rest:.6g}'
    principal = ', '.join(f'{one:.4g}' for one in np.linalg.eigvalsh(link.tensor))
    return f'of its principal moments {principal} the largest exceeds the sum of the others'


def _power_of_ten_hint(link: _MassLink) -> str:
    """Return a question if powers of ten would make a tensor or an entry plausible, else ''."""
    physical = _is_possible_tensor(link, link.tensor)
    entries = [('every entry', np.ones((3, 3)))] if physical else []
    for i, j in () if physical else zip(*np.triu_indices(3)):
        which = np.zeros((3, 3))
        which[i, j] = which[j, i] = 1.0
        entries += [(f'i{"xyz"[i]}{"xyz"[j]}', which)] if link.tensor[i, j] else []
    powers = _WHOLE_TENSOR_POWERS_OF_TEN if physical else _TENSOR_ENTRY_POWERS_OF_TEN
    for power, (name, which) in product(powers, entries):
        changed = link.tensor * 10.0 ** (power * which)
        _, spread, most, _ = _mass_spread(link, changed)
        least = _MIN_TO_MAX_SPREAD * most if physical else 0.0
        if _is_possible_tensor(link, changed) and least <= spread <= most:
            return f'; is {name} to be multiplied by 1e{power}?'
    return ''


def _too_low_effort_limits(document: UrdfDocument, model: pin.Model) -> Iterator[ImplausibleValue]:
    """Yield an ImplausibleValue for each effort limit below the weight at q = 0, or next to it."""
    q = pin.neutral(model)
    single = [joint.idx_q for joint in list(model.joints)[1:] if joint.nq == 1]
    q[single] = np.clip(0.0, model.lowerPositionLimit, model.upperPositionLimit)[single]
    weight = pin.computeGeneralizedGravity(model, model.createData(), q)
    for name, place in zip(list(model.names)[1:], list(model.joints)[1:]):
        joint = document.joints[name]
        needed = abs(float(weight[place.idx_v]))
        if joint.limits is not None and 0.0 < joint.limits.effort < needed:
            unit = joint.joint_kind.effort_unit
            reason = (
                f'{joint.limits.effort:g} {unit}, and with all joints at zero, or at the limit '
                f'nearest it, the weight takes {needed:.3g} {unit}'
            )
            yield ImplausibleValue('joint', (name,), document.wording.effort, reason)
