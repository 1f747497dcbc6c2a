# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The list of what is judged of an arm's numbers: no body has it, nobody measured it, another unit.

`JUDGEMENTS`, at the end, is that list: how severe each judgement is, the entry that it is about,
its sentence and the condition. A condition is a function above it; it takes the numbers of a URDF
or MJCF (`FileNumbers`) or an arm, and yields whose number it is, with the values of the sentence.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
import math
from typing import Any, NamedTuple

import numpy as np

from .arm_fields import FormatWords, JointLimits, URDF_WORDS
from .description import ArmDescription
from .judged_numbers import FileNumbers, LinkNumbers
from ..constants import GRAVITY
from ..errors import DescriptionError, list_text
from ..spatial import JointKind


class _MotionBounds(NamedTuple):
    """The largest limits of a kind of joint that are not doubted, and words for a sentence."""

    position: float
    velocity: float
    units: str
    doubted_unit: str


# Mean densities of links in the convex hulls of their meshes [kg/m^3]: those of lead and of foam.
_MAX_DENSITY_KG_M3 = 11_340.0
_MIN_DENSITY_KG_M3 = 20.0
_MAX_MASS_TO_OTHERS = 2.0  # a link's largest mass, relative to all other moving links together
# The published tensor of an FER's first link spreads by 1.8 times what its meshes allow; one in
# another unit by 31 times or more.
_MIN_GROSS_SPREAD = 5.0
_MIN_EQUAL_MASS_COUNT = 4  # links; three of a wrist may weigh the same

MAX_EFFORT_NM = 1e5  # [N m or N] largest accepted limit, five times an industrial arm's
# Largest accepted effort limit of a revolute joint, relative to the weight torque of the arm
# stretched out. The FER's limits, 87 and 12 N m, are 0.74 and 0.10 times that torque; in N mm 740
# and 100 times.
_MAX_EFFORT_TO_WEIGHT_TORQUE = 30.0
_MIN_QUESTIONED_EFFORT_NM = 1e3  # many URDFs of small arms state 100 or 1000 for unknown limits
# Larger positions and velocities, up to _MIN_UNLIMITED_VALUE, are doubted: joints turn at most
# twice to each side, and rails have no 20 m. A velocity that is a power of ten says that there is
# no limit.
_MOTION_BOUNDS_BY_JOINT_KIND = {
    JointKind.REVOLUTE: _MotionBounds(2.0 * math.tau, 60.0, 'rad and rad/s', 'degrees'),
    JointKind.PRISMATIC: _MotionBounds(20.0, 20.0, 'm and m/s', 'millimetres'),
}
_MIN_UNLIMITED_VALUE = 1e4
_LOW_BOUND_SHARE = 0.51  # of these bounds, in an arm of which another joint is beyond one
_MAX_REACH_M = 20.0  # more than any arm's on Earth
_STEEL_DENSITY_KG_M3 = 7850.0
# No arm is heavier than a solid cylinder of steel as long as it, and half as thick.
_MAX_THICKNESS_TO_LENGTH = 0.5
# One of so few joints may be as compact as a wheel or a mobile base: as thick as it is long.
_MAX_COMPACT_JOINT_COUNT = 3


class Severity(Enum):
    """What follows from a judgement, and why, in the order in which judgements are said."""

    UNIT = 'torques are wrong, because a length or a mass is in another unit'
    UNMEASURED = 'torques are wrong, because nobody has measured the number'
    IMPOSSIBLE = 'torques are wrong, because no real body has the number'
    GROSS = "torques are wrong, because the number is far from what the arm's shape allows"
    LIMIT = 'no torque depends on it, but the limit is in another unit'
    DOUBT = 'an arm can hardly have the number'


@dataclass(frozen=True)
class Judgement:
    """
    What is said of a number: whose it is, the entry that states it and the reason.

    `kind` is 'joint', 'arm', or what the file calls a link; of several `names` it is the plural.
    `limits_by_joint` are fields of JointLimits by the names of the joints, where it is about those
    of an arm.
    """

    kind: str
    names: tuple[str, ...]
    entry: str
    reason: str
    severity: Severity
    limits_by_joint: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    json_fields = (
        'kind',
        'names',
        'entry',
        'reason',
        'impossible',
        'is_unmeasured',
        'is_gross',
    )

    @property
    def impossible(self) -> bool:
        """Whether no real body has the number."""
        return self.severity is Severity.IMPOSSIBLE

    @property
    def is_unmeasured(self) -> bool:
        """Whether files have the number of bodies whose masses nobody knows."""
        return self.severity is Severity.UNMEASURED

    @property
    def is_gross(self) -> bool:
        """Whether the number is so far from what the arm's shape allows that torques are wrong."""
        return self.severity is Severity.GROSS

    @property
    def makes_torques_wrong(self) -> bool:
        """Whether torques are surely wrong by it, so that whoever loads the arm is warned."""
        return self.severity not in (Severity.LIMIT, Severity.DOUBT)

    @property
    def owner_text(self) -> str:
        """Kind and names of what the number belongs to, for a message."""
        names = [repr(name) for name in self.names]
        return f'{self.kind} {" and ".join(names) if len(names) < 3 else list_text(names)}'

    def __str__(self) -> str:
        """Return owner, entry and reason in one sentence."""
        end = '' if self.reason.endswith('?') else '.'
        return f'{self.owner_text}, {self.entry}: {self.reason}{end}'


class Found(NamedTuple):
    """What a condition finds: kind and names of the owners, and values for the sentence."""

    kind: str
    names: tuple[str, ...]
    values: Mapping[str, Any] = {}
    words: FormatWords = URDF_WORDS
    limits_by_joint: Mapping[str, tuple[str, ...]] = {}

    @classmethod
    def at_link(cls, link: LinkNumbers, **values: Any) -> 'Found':
        """Return what is found at one link."""
        return cls(link.words.link, (link.name,), values, link.words)

    @classmethod
    def at_links(cls, links: Sequence[LinkNumbers], **values: Any) -> 'Found':
        """Return what is found at several links together."""
        words = links[0].words
        return cls(words.links, tuple(link.name for link in links), values, words)


def _impossible_tensors(file: FileNumbers) -> Iterator[Found]:
    """Find links whose tensor has a negative density somewhere, in all of a URDF."""
    for link in (*file.moving_links, *file.still_links):
        if link.tensor_problem:
            yield Found.at_link(link, problem=link.tensor_problem, hint=link.power_of_ten_hint)


def _tensors_without_mass(file: FileNumbers) -> Iterator[Found]:
    """Find links that have a tensor, and no mass."""
    for link in file.links_without_mass:
        yield Found.at_link(link)


def _identity_tensors(file: FileNumbers) -> Iterator[Found]:
    """Find links whose tensor is the identity."""
    for link in file.moving_links:
        if np.array_equal(link.tensor, np.eye(3)):
            yield Found.at_link(link)


def _equal_tensors(file: FileNumbers) -> Iterator[Found]:
    """Find unlike links that have one tensor, other than the identity."""
    links_by_tensor: dict[bytes, list[LinkNumbers]] = {}
    for link in file.moving_links:
        without_negative_zeros = link.tensor + 0.0
        links_by_tensor.setdefault(without_negative_zeros.tobytes(), []).append(link)
    for links in links_by_tensor.values():
        tensor = links[0].tensor
        if len(links) < 2 or not tensor.any() or np.array_equal(tensor, np.eye(3)):
            continue
        of_one_mass = all(link.mass == links[0].mass for link in links)
        if not (of_one_mass and _may_be_of_a_kind(links)):
            masses = list_text([f'{link.mass:g}' for link in links])
            yield Found.at_links(links, masses=masses)


def _may_be_of_a_kind(links: Sequence[LinkNumbers]) -> bool:
    """
    Return whether links of one mass and one tensor may be of one kind.

    Two fingers may be, and one behind another the two of a wrist, or modules of one size, but
    hardly balls or cubes.
    """
    joints = {link.joint_number for link in links}
    count_in_row = max(len(joints & link.joint_numbers_to_root) for link in links)
    first = links[0]
    if np.array_equal(first.tensor, first.tensor[0, 0] * np.eye(3)):
        return count_in_row < 2
    are_modules = len(_distances(links)) < 3 or first.has_tensor_of_geoms
    return count_in_row < 3 or are_modules


def _distances(links: Sequence[LinkNumbers]) -> set[tuple[str, float]]:
    """Return the distances of links' centres of mass and next joints from their joints [m]."""
    found: set[tuple[str, float]] = set()
    for link in links:
        found |= {('length', round(distance, 6)) for distance in link.next_joint_distances}
        found.add(('distance', round(link.center_to_joint_distance, 6)))
    return found


def _equal_masses(file: FileNumbers) -> Iterator[Found]:
    """Find an arm of four or more links of unlike lengths that all weigh the same."""
    links = file.moving_links
    masses = {link.mass for link in links}
    if len(links) >= _MIN_EQUAL_MASS_COUNT and len(masses) == 1 and len(_distances(links)) > 2:
        yield Found.at_links(links, mass=links[0].mass, link=links[0].words.link)


def _gross_spreads(file: FileNumbers) -> Iterator[Found]:
    """Find links whose mass spreads over several times their shape."""
    return _wide_spreads(file, _MIN_GROSS_SPREAD, math.inf)


def _doubtful_spreads(file: FileNumbers) -> Iterator[Found]:
    """Find links whose mass spreads further than their shape."""
    return _wide_spreads(file, 1.0, _MIN_GROSS_SPREAD)


def _wide_spreads(file: FileNumbers, least: float, largest: float) -> Iterator[Found]:
    """Find links whose mass spreads by over `least` and at most `largest` times what may be."""
    for link in (*file.moving_links, *file.still_links):
        spread = link.spread
        if link.tensor_problem or spread.outside > 0.0:
            continue
        if least * spread.most < spread.deviation <= largest * spread.most:
            axis = ', '.join(f'{component:.2f}' for component in spread.axis)
            hint = link.power_of_ten_hint
            yield Found.at_link(link, axis=axis, spread=spread, bounds=link.bounds_text, hint=hint)


def _centers_outside(file: FileNumbers) -> Iterator[Found]:
    """Find links whose centre of mass is outside what encloses them."""
    for link in (*file.moving_links, *file.still_links):
        if not link.tensor_problem and link.spread.outside > 0.0:
            distance = link.center_to_joint_distance
            outside = link.spread.outside
            yield Found.at_link(link, distance=distance, outside=outside, bounds=link.bounds_text)


def _compact_bodies(file: FileNumbers) -> Iterator[Found]:
    """Find bodies that are more compact than a ball of lead of their mass."""
    for body in file.bodies:
        radius = (body.mass / (4.0 / 3.0 * math.pi * _MAX_DENSITY_KG_M3)) ** (1.0 / 3.0)
        least = 0.6 * radius**2
        if body.is_possible and 0.0 <= body.variance < least:
            spread = body.variance**0.5
            yield Found.at_link(body.heaviest, mass=body.mass, spread=spread, least=least**0.5)


def _odd_densities(file: FileNumbers) -> Iterator[Found]:
    """Find bodies that are denser than lead or lighter than foam in the hulls of their meshes."""
    for body in file.bodies:
        volume = _volume_of_hulls(body.hulls)
        if not volume:
            continue
        density = body.mass / volume
        if not _MIN_DENSITY_KG_M3 <= density <= _MAX_DENSITY_KG_M3:
            is_dense = density > _MAX_DENSITY_KG_M3
            than = 'denser than lead' if is_dense else 'lighter than foam'
            litres = 1e3 * volume
            values = {'mass': body.mass, 'litres': litres, 'than': than, 'density': density}
            yield Found.at_link(body.heaviest, **values)


def _volume_of_hulls(points: Sequence[np.ndarray[Any, Any]]) -> float:
    """Return the volume of convex hulls of points (K, 3) [m^3]; 0 for none, or a flat one."""
    if not points:
        return 0.0
    from scipy.spatial import ConvexHull, QhullError

    try:
        return sum(float(ConvexHull(hull_points).volume) for hull_points in points)
    except QhullError:  # a flat mesh
        return 0.0


def _heavy_links(file: FileNumbers) -> Iterator[Found]:
    """Find a link that weighs over twice what all other moving links do."""
    links = file.moving_links
    if len(links) < 2:
        return
    total = sum(link.mass for link in links)
    for link in links:
        rest = total - link.mass
        if link.mass > _MAX_MASS_TO_OTHERS * rest:
            yield Found.at_link(link, mass=link.mass, links=link.words.links, rest=rest)


def _weak_motors(file: FileNumbers) -> Iterator[Found]:
    """Find joints whose effort limit does not hold the weight at zero, or next to it."""
    for limit in file.effort_limits:
        if 0.0 < limit.effort < limit.holding_effort:
            yield Found('joint', (limit.joint,), {'limit': limit}, limit.words)


def _long_arms(arm: ArmDescription) -> Iterator[Found]:
    """Find an arm that is longer than any on Earth."""
    reach, _, _ = _size(arm)
    if reach > _MAX_REACH_M:
        yield Found('arm', (arm.name,), {'reach': reach})


def _heavy_arms(arm: ArmDescription) -> Iterator[Found]:
    """Find an arm that is heavier than one of solid steel."""
    _, length, mass = _size(arm)
    is_compact = arm.n <= _MAX_COMPACT_JOINT_COUNT
    thickness = length * (1.0 if is_compact else _MAX_THICKNESS_TO_LENGTH)
    most = _STEEL_DENSITY_KG_M3 * math.pi / 4.0 * thickness**2 * length
    if mass > most:
        values = {'mass': mass, 'length': length, 'thickness': thickness, 'most': most}
        yield Found('arm', (arm.name,), values)


def _size(arm: ArmDescription) -> tuple[float, float, float]:
    """Return an arm's reach at zero, its length with the spread of mass [m], and mass [kg]."""
    # DH frames of nearly parallel axes may lie far from the arm, centres of mass do not.
    *frames, flange = arm.frames(np.zeros(arm.n))
    massive = [(frame, link) for frame, link in zip(frames, arm.links) if link.mass > 0.0]
    points = [(frame @ [*link.center_of_mass, 1.0])[:3] for frame, link in massive]
    points = [arm.base[:3, 3], *points, flange[:3, 3]]
    reach = float(np.linalg.norm(np.ptp(points, axis=0)))
    mass = sum(link.mass for _, link in massive)
    spread = sum(float(np.trace(link.inertia_at_center_of_mass)) for _, link in massive)
    length = reach + math.sqrt(max(spread, 0.0) / (mass or 1.0))  # a trace may be negative
    return reach, length, mass


def _large_motion_limits(arm: ArmDescription) -> Iterator[Found]:
    """Find, by type of joint, position and velocity limits that no joint has."""
    for kind, bounds in _MOTION_BOUNDS_BY_JOINT_KIND.items():
        limits = {joint.name: joint.limits for joint in arm.joints if joint.kind is kind}
        doubted = _limit_fields_beyond(limits, bounds.position, bounds.velocity)
        if not doubted:
            continue
        # What is in degrees at one joint is in degrees at the others, too, also where it is less.
        fields = {name for names in doubted.values() for name in names}
        max_position = bounds.position * (_LOW_BOUND_SHARE if 'lower' in fields else 1.0)
        max_velocity = bounds.velocity * (_LOW_BOUND_SHARE if 'velocity' in fields else 1.0)
        doubted = _limit_fields_beyond(limits, max_position, max_velocity)
        stated = [
            f'({", ".join(f"{name} {getattr(limits[joint], name):g}" for name in names)})'
            for joint, names in doubted.items()
        ]
        values = {
            'limits': list_text(stated),
            'units': bounds.units,
            'others': bounds.doubted_unit,
        }
        yield _found_at_joints(doubted, values)


def _limit_fields_beyond(
    limits: Mapping[str, JointLimits], max_position: float, max_velocity: float
) -> dict[str, tuple[str, ...]]:
    """Return, by joint, limit fields beyond a maximum, except values that stand for no limit."""
    found: dict[str, tuple[str, ...]] = {}
    for name, limit in limits.items():
        fields: tuple[str, ...] = ()
        ends = (limit.lower, limit.upper)
        if any(max_position < abs(end) < _MIN_UNLIMITED_VALUE for end in ends):
            fields = ('lower', 'upper')
        is_fast = max_velocity < limit.velocity < _MIN_UNLIMITED_VALUE
        if is_fast and not math.log10(limit.velocity).is_integer():
            fields = (*fields, 'velocity')
        if fields:
            found[name] = fields
    return found


def _found_at_joints(
    limits_by_joint: Mapping[str, tuple[str, ...]], values: Mapping[str, Any]
) -> Found:
    """Return what is found at limits of joints, by the names of these."""
    kind = 'joint' if len(limits_by_joint) == 1 else 'joints'
    return Found(kind, (*limits_by_joint,), values, limits_by_joint=limits_by_joint)


def _large_effort_limits(arm: ArmDescription) -> Iterator[Found]:
    """
    Find, by type of joint, effort limits that no joint has.

    The bound of revolute joints is a multiple of the arm's weight torque, and at least
    _MIN_QUESTIONED_EFFORT_NM; that of sliding joints, and where the weight torque is unknown, is
    MAX_EFFORT_NM.
    """
    weight = _max_weight_torque(arm)
    for kind in JointKind:
        most = MAX_EFFORT_NM
        why = f'no joint of an arm has more than {MAX_EFFORT_NM:g}'
        if weight is not None and kind is JointKind.REVOLUTE:
            most = max(_MIN_QUESTIONED_EFFORT_NM, _MAX_EFFORT_TO_WEIGHT_TORQUE * weight)
            why = f'the weight of the whole arm, stretched out, makes at most {weight:.3g} N m'
        efforts = {joint.name: joint.limits.effort for joint in arm.joints if joint.kind is kind}
        doubted = {name: effort for name, effort in efforts.items() if most < effort < math.inf}
        if doubted:
            stated = list_text([f'{effort:g}' for effort in doubted.values()])
            unit = kind.effort_unit
            thousandths = 'N mm' if kind is JointKind.REVOLUTE else 'mN'
            values = {'efforts': stated, 'unit': unit, 'thousandths': thousandths, 'why': why}
            yield _found_at_joints(dict.fromkeys(doubted, ('effort',)), values)


def _max_weight_torque(arm: ArmDescription) -> float | None:
    """Return the largest weight torque of an arm that is stretched out [N m]; None if unknown."""
    masses = np.array([link.mass for link in arm.links])
    limits = np.abs([arm.limit('lower'), arm.limit('upper')])
    slides = np.array([joint.kind is JointKind.PRISMATIC for joint in arm.joints])
    if not (masses > 0.0).all() or not np.isfinite(limits[:, slides]).all():
        return None
    # A sliding joint makes the arm longer by its travel, which all links behind it share.
    travel = np.where(slides, limits.max(axis=0), 0.0)
    steps = arm.joint_transforms(np.zeros(arm.n))
    reach = np.cumsum([np.linalg.norm(step[:3, 3]) for step in steps] + travel)
    levers = reach + [np.linalg.norm(link.center_of_mass) for link in arm.links]
    return -GRAVITY[2] * float(masses @ levers)


class Rule(NamedTuple):
    """
    A row of the list of judgements.

    `entry` is the entry that states the number: a field of FormatWords, which has the file's word
    for it, or the word itself. `when` is the condition in words, for the page. `reason` is the
    sentence, with the values of what `condition` finds. `condition` is asked about `subject`: the
    numbers of a file, or an arm.
    """

    severity: Severity
    entry: str
    when: str
    reason: str
    subject: type
    condition: Callable[[Any], Iterator[Found]]


_SPREAD_SENTENCE = (
    'the mass spreads {spread.deviation:.2g} m (standard deviation) along ({axis}), where '
    '{bounds} {spread.most:.2g} m{hint}'
)

JUDGEMENTS = (
    Rule(
        severity=Severity.UNIT,
        entry='lengths',
        when=f'the arm is longer than {_MAX_REACH_M:g} m at zero',
        reason='it is {reach:.3g} m long at zero; are its lengths millimetres?',
        subject=ArmDescription,
        condition=_long_arms,
    ),
    Rule(
        severity=Severity.UNIT,
        entry='masses',
        when=(
            'the moving links weigh more than a cylinder of solid steel that is as long as the '
            f'arm and half as thick (in an arm of up to {_MAX_COMPACT_JOINT_COUNT} joints: as '
            'thick as it is long)'
        ),
        reason=(
            'its moving links weigh {mass:.3g} kg, and a cylinder of solid steel, '
            '{length:.2g} m long and {thickness:.2g} m thick, {most:.3g} kg; are its masses grams?'
        ),
        subject=ArmDescription,
        condition=_heavy_arms,
    ),
    Rule(
        severity=Severity.UNMEASURED,
        entry='mass',
        when=f'{_MIN_EQUAL_MASS_COUNT} or more links of unlike lengths weigh the same',
        reason='{mass:g} kg for every moving {link}, as if not known',
        subject=FileNumbers,
        condition=_equal_masses,
    ),
    Rule(
        severity=Severity.UNMEASURED,
        entry='tensor',
        when='it is the identity',
        reason='it is the identity, as if not known',
        subject=FileNumbers,
        condition=_identity_tensors,
    ),
    Rule(
        severity=Severity.UNMEASURED,
        entry='tensor',
        when='links of unlike masses or lengths have the same',
        reason='the same tensor for masses of {masses} kg, as if not known',
        subject=FileNumbers,
        condition=_equal_tensors,
    ),
    Rule(
        severity=Severity.IMPOSSIBLE,
        entry='tensor',
        when='a principal moment is negative, or above the sum of the other two',
        reason='{problem}{hint}',
        subject=FileNumbers,
        condition=_impossible_tensors,
    ),
    Rule(
        severity=Severity.IMPOSSIBLE,
        entry='tensor',
        when='a link has one, and no mass',
        reason='a tensor beside a mass of 0, which no body has',
        subject=FileNumbers,
        condition=_tensors_without_mass,
    ),
    Rule(
        severity=Severity.GROSS,
        entry='tensor',
        when=f'the mass spreads over {_MIN_GROSS_SPREAD:g} times what shape and joints allow',
        reason=_SPREAD_SENTENCE,
        subject=FileNumbers,
        condition=_gross_spreads,
    ),
    Rule(
        severity=Severity.LIMIT,
        entry='effort limit',
        when=(
            f'it is above {_MIN_QUESTIONED_EFFORT_NM:g} N m and above '
            f'{_MAX_EFFORT_TO_WEIGHT_TORQUE:g} times the weight torque of the stretched arm; of a '
            f'sliding joint, or an arm of unknown weight: above {MAX_EFFORT_NM:g} N or N m'
        ),
        reason=(
            '{efforts} {unit}, and {why}; is this in {thousandths}, or are the masses too small?'
        ),
        subject=ArmDescription,
        condition=_large_effort_limits,
    ),
    Rule(
        severity=Severity.LIMIT,
        entry='limits',
        when='a joint turns over two turns or 60 rad/s, or slides over 20 m or 20 m/s',
        reason='{limits} in {units}; are these {others}?',
        subject=ArmDescription,
        condition=_large_motion_limits,
    ),
    Rule(
        severity=Severity.DOUBT,
        entry='tensor',
        when='the mass spreads further than shape and joints allow',
        reason=_SPREAD_SENTENCE,
        subject=FileNumbers,
        condition=_doubtful_spreads,
    ),
    Rule(
        severity=Severity.DOUBT,
        entry='tensor',
        when='the mass spreads less than in a ball of lead',
        reason=(
            '{mass:.3g} kg spread by {spread:.2g} m (standard deviation), less than in a '
            'ball of lead, {least:.2g} m'
        ),
        subject=FileNumbers,
        condition=_compact_bodies,
    ),
    Rule(
        severity=Severity.DOUBT,
        entry='center',
        when='the centre of mass is outside the shape, or further away than the next joints',
        reason=(
            'the centre of mass, {distance:.3g} m from its joint, lies {outside:.2g} m beyond '
            'what {bounds}'
        ),
        subject=FileNumbers,
        condition=_centers_outside,
    ),
    Rule(
        severity=Severity.DOUBT,
        entry='mass',
        when='the density in the hull of the meshes is not between those of foam and lead',
        reason='{mass:.4g} kg in a hull of {litres:.3g} l, {than} ({density:.3g} kg/m^3)',
        subject=FileNumbers,
        condition=_odd_densities,
    ),
    Rule(
        severity=Severity.DOUBT,
        entry='mass',
        when=f'it is over {_MAX_MASS_TO_OTHERS:g} times that of all other moving links',
        reason='{mass:g} kg, and all other moving {links} together {rest:.3g} kg',
        subject=FileNumbers,
        condition=_heavy_links,
    ),
    Rule(
        severity=Severity.DOUBT,
        entry='effort',
        when='it does not hold the weight of the arm at zero',
        reason=(
            '{limit.effort:g} {limit.unit}, and with all joints at zero, or at the limit '
            'nearest it, the weight takes {limit.holding_effort:.3g} {limit.unit}'
        ),
        subject=FileNumbers,
        condition=_weak_motors,
    ),
)


def judge(subject: FileNumbers | ArmDescription) -> Iterator[Judgement]:
    """Yield what is said of the numbers of a file, or of an arm, in the order of the list."""
    for rule in JUDGEMENTS:
        if not isinstance(subject, rule.subject):
            continue
        for found in rule.condition(subject):
            yield Judgement(
                found.kind,
                found.names,
                getattr(found.words, rule.entry, rule.entry),
                rule.reason.format(**found.values),
                rule.severity,
                found.limits_by_joint,
            )


def signs_of_unknown_masses(judged: Sequence[Judgement], link_count: int) -> tuple[str, ...]:
    """
    Return sentences on numbers that nobody has measured, if most links of an arm have such ones.

    Then nobody knows the arm's masses. Where fewer links have them, as two unlike wrists that
    share a tensor, the masses may have been measured.
    """
    found = [judgement for judgement in judged if judgement.is_unmeasured]
    names = {name for judgement in found for name in judgement.names}
    return tuple(map(str, found)) if 2 * len(names) > link_count else ()


def require_si_units(arm: ArmDescription, error_prefix: str) -> None:
    """Raise DescriptionError, after `error_prefix`, if values seem to be in another unit."""
    worst = next(judge(arm), None)
    if worst is None:
        return
    fix = 'Arm files have m, kg.'
    if worst.severity is Severity.LIMIT:
        fix = 'Leave a limit out, in Python infinite, where none is known.'
    raise DescriptionError(f'{error_prefix}: {worst} {fix}')
