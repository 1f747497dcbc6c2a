# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads two arms (shipped arms, arm files, URDFs, MJCFs or xacro files) and compares them.

Of an arm from a URDF the published set of inertias, and the hand, nearest to its own are found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .comparison import compare_descriptions, Comparison
from .space_frame_arm import SpaceFrameArm
from ..arm import ArmDescription, available_hands, available_sets, LinkInertia, load
from ..arm.arm_file import is_urdf_or_mjcf
from ..arm.hands import is_file_path
from ..arm_io import ArmLike, as_description, load_arm
from ..arrays import Array, ArrayLike
from ..constants import AS_LISTED, GRAVITY, NO_HAND
from ..errors import DescriptionError, list_text
from ..spatial import inverse_transform
from ..urdf.dh_recovery import description_from_chain
from ..urdf.importer import joint_names_of_arm
from ..urdf.reading import read_document
from ..urdf.serial_chain import read_chain, SerialChain

# Two links are the same if mass, moments and tensors differ by at most half a unit of the fourth
# decimal, to which the coarsest published table is rounded, and a tensor by at most
# MAX_TENSOR_ROUNDING_RATIO of its largest element.
MAX_TABLE_ROUNDING = 5.0001e-5  # [kg, kg m, kg m^2]
MAX_TENSOR_ROUNDING_RATIO = 0.02
_MASS_TOLERANCE_RATIO = 1e-6  # a larger mass may differ by this share
# The limits that URDF can express.
URDF_LIMIT_NAMES = ('lower', 'upper', 'velocity', 'effort')


class NearestSet(NamedTuple):
    """
    The published inertial set nearest to an arm's links, with the distance of each link.

    `published_arm` is an arm with the published set and a hand or none; str() names arm, set and
    hand. For each link, `link_matches` says whether it is the same within rounding, and
    `link_distances` the largest difference of the ten parameters (kg, kg m, kg m^2).
    """

    published_arm: ArmDescription
    link_matches: tuple[bool, ...]
    link_distances: tuple[float, ...]

    def __str__(self) -> str:
        """Return arm, set and hand in words."""
        hand = 'no hand' if self.published_arm.hand == NO_HAND else self.published_arm.hand
        return f'{self.published_arm.name} {self.published_arm.inertial_set}, {hand}'

    @property
    def largest_distance(self) -> float:
        """The largest difference of an inertial parameter of any link [kg, kg m, kg m^2]."""
        return max(self.link_distances)


def links_agree_to_table_digits(link: LinkInertia, other: LinkInertia) -> bool:
    """
    Return whether two links' inertial parameters agree within published tables' rounding.

    Tables round them about the centre of mass or about the origin: agreement in either will do.
    """
    if abs(link.mass - other.mass) > max(MAX_TABLE_ROUNDING, _MASS_TOLERANCE_RATIO * other.mass):
        return False
    fields = {'center_of_mass': 'inertia_at_center_of_mass', 'first_moment': 'inertia'}
    for vector, tensor in fields.items():
        expected = getattr(other, tensor)
        change = _largest_magnitude(getattr(link, tensor) - expected)
        moved = _largest_magnitude(getattr(link, vector) - getattr(other, vector))
        bound = min(MAX_TABLE_ROUNDING, MAX_TENSOR_ROUNDING_RATIO * _largest_magnitude(expected))
        if moved <= MAX_TABLE_ROUNDING and change <= bound:
            return True
    return False


def published_arms(
    reference: ArmDescription, hand: str | None = None, inertial_set: str | None = None
) -> list[ArmDescription]:
    """
    Return an arm with each set (or the given) of its file and each hand and none (or the given).

    Without `hand`, each set is returned with no hand and with every shipped hand; with
    `inertial_set` that set alone.
    """
    file = reference.file or reference.name
    hands = (NO_HAND, *available_hands()) if hand is None else (hand,)
    sets = [name for name in available_sets(file) if inertial_set in (None, name)]
    return [load(file, name, hand=one) for name, one in product(sets, hands)]


def nearest_set(links: Sequence[LinkInertia], candidates: Sequence[ArmDescription]) -> NearestSet:
    """
    Return the arm of `candidates` whose link inertias are nearest to `links`, with distances.

    The nearest set has the fewest links that do not match; ties are decided by the smallest sum of
    the matching links' distances, then of all links' distances.
    """

    def compare_with(candidate: ArmDescription) -> NearestSet:
        """Return a candidate's NearestSet: which links match `links`, and their distances."""
        pairs = list(zip(links, candidate.links))
        matches = tuple(links_agree_to_table_digits(a, b) for a, b in pairs)
        distances = (_largest_magnitude(a.parameters() - b.parameters()) for a, b in pairs)
        return NearestSet(candidate, matches, tuple(distances))

    def sort_key(one: NearestSet) -> tuple[int, float, float]:
        """Return the sort key of a set; the nearest set has the smallest."""
        links = zip(one.link_distances, one.link_matches)
        matching_distance = sum(distance for distance, is_match in links if is_match)
        return one.link_matches.count(False), matching_distance, sum(one.link_distances)

    return min(map(compare_with, candidates), key=sort_key)


def _largest_magnitude(values: Array) -> float:
    """Return the largest absolute value of an array."""
    return float(np.abs(values).max())


def links_in_frames_of(arm: ArmDescription, other: ArmDescription) -> tuple[LinkInertia, ...]:
    """Return link inertias of `other` in the DH frames of `arm`, which has equal joint axes."""
    zero = np.zeros(arm.n)
    pairs = zip(other.links, arm.frames(zero), other.frames(zero))
    return tuple(link.expressed_in(inverse_transform(here) @ there) for link, here, there in pairs)


def compare(
    first: ArmLike,
    second: ArmLike,
    *,
    gravity: ArrayLike = GRAVITY,
    xacro: Mapping[str, object] | None = None,
) -> Comparison:
    """
    Return the differences of two arms in geometry, inertias, limits and friction.

    Home poses, rated loads, shapes and names are not compared.

    Parameters
    ----------
    first, second : str, Path or ArmDescription
        An arm as `load_arm` takes it, or its description. Both need equally many joints, which
        are paired from base to tip. If only the first is a URDF or MJCF, they are exchanged: what
        a URDF lacks, such as friction, is taken from the other arm.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2], for the effects of the differences on torques.
    xacro : mapping of str to object, optional
        Arguments of the xacro files among the two, which have their own defaults.

    Returns
    -------
    Comparison
        Its `differences`, the largest effect on torque first; it `passed` if none of them changes
        a torque.

    Raises
    ------
    DescriptionError
        If an arm cannot be read, the numbers of joints differ, or no xacro file has arguments.
    UrdfError
        If a URDF cannot be read, or which of its joints are the arm is not clear.

    """
    return compare_descriptions(*read_pair(*with_urdf_second(first, second), xacro=xacro), gravity)


def with_urdf_second(first: ArmLike, second: ArmLike) -> tuple[ArmLike, ArmLike]:
    """Return two arms, in exchanged order if only the first is given by a URDF or MJCF."""
    # Data that no URDF contains (friction, rotors) come from the arm that is no URDF.
    swapped = is_urdf_or_mjcf(first) and not is_urdf_or_mjcf(second)
    return (second, first) if swapped else (first, second)


def _is_xacro_path(arm: object) -> bool:
    """Return whether an arm is given by the path of a xacro file."""
    return str(arm).endswith('.xacro')


def read_pair(
    first: ArmLike,
    second: ArmLike,
    inertial_set: str | None = None,
    *,
    hand: str = AS_LISTED,
    prefix: str | None = None,
    xacro: Mapping[str, object] | None = None,
    use_nearest_set: bool = False,
) -> tuple[ArmDescription, ArmDescription]:
    """
    Return two loaded arms; a second by URDF gets friction and rotors, the first its joint names.

    `first` and `second` are arms as `compare` takes them, in the order of `with_urdf_second`.
    `inertial_set` and `hand` choose those of an arm that is no URDF; with `use_nearest_set`,
    a shipped arm gets the published set and the hand nearest to the URDF's, where not given.
    `prefix` is that of the joint names in the URDF, found if not given; `xacro` are a xacro file's
    arguments.

    Raises
    ------
    DescriptionError
        If `xacro` has arguments and neither arm is a xacro file, or an arm cannot be read.
    UrdfError
        If a URDF cannot be read, or which of its joints are the arm is not clear.
    UnknownArmError
        If there is no such arm.

    """
    if xacro and not any(map(_is_xacro_path, (first, second))):
        given = list_text([*xacro])
        raise DescriptionError(f'Neither arm is a xacro file with arguments; leave {given} out.')
    reference = _load_compared_arm(first, inertial_set, hand, xacro)
    if not is_urdf_or_mjcf(second):
        return reference, _load_compared_arm(second, inertial_set, hand, xacro)
    document = read_document(str(second), arguments=xacro if _is_xacro_path(second) else None)
    names = joint_names_of_arm(document, reference, prefix)
    arm = arm_of_chain(read_chain(document, names), reference)
    reference = reference_on_mount_of(reference, arm)
    is_shipped = not (is_urdf_or_mjcf(first) or is_file_path(str(first)))
    if use_nearest_set and is_shipped:
        reference = _with_nearest_set(reference, arm, inertial_set, hand)
    return reference.with_joint_names(names), arm


def _load_compared_arm(
    arm: ArmLike,
    inertial_set: str | None,
    hand: str,
    xacro: Mapping[str, object] | None,
) -> ArmDescription:
    """Return a loaded arm, with the given set and hand if it is a shipped arm or arm file."""
    if is_urdf_or_mjcf(arm):
        return load_arm(str(arm), xacro=xacro if _is_xacro_path(arm) else None)
    if isinstance(arm, (str, Path)):
        return load_arm(arm, inertial_set, hand=hand)
    return as_description(arm)


def _with_nearest_set(
    reference: ArmDescription, arm: ArmDescription, inertial_set: str | None, hand: str
) -> ArmDescription:
    """Return a shipped arm with the set and hand, where not given, that are nearest to `arm`'s."""
    hand_given = None if hand == AS_LISTED else hand
    published = published_arms(reference, hand_given, inertial_set)
    nearest = nearest_set(links_in_frames_of(reference, arm), published).published_arm
    return replace(
        reference,
        links=nearest.links,
        inertial_set=nearest.inertial_set,
        hand=nearest.hand,
    )


def arm_of_chain(chain: SerialChain, reference: ArmDescription) -> ArmDescription:
    """
    Return a URDF's serial arm with DH rows, and with friction and rotor inertias of `reference`.

    What a URDF lacks, such as rotors, friction and acceleration limits, comes from `reference`.
    """
    arm = description_from_chain(chain, reference.convention)
    joints = []
    for joint, own in zip(reference.joints, arm.joints):
        stated = {name: getattr(own.limits, name) for name in URDF_LIMIT_NAMES}
        limits = replace(joint.limits, **stated)
        joints.append(replace(own, limits=limits, rotor_inertia=joint.rotor_inertia))
    changed = reference.shared_fields()
    changed |= {
        'joints': tuple(joints),
        'flange': arm.flange,
        'fixed_frames': arm.fixed_frames,
        'hand': reference.hand,
        'payload': reference.payload,
        'carried_mass': reference.carried_mass,
        'notes': chain.notes,
        'torque_notes': chain.torque_notes,
        'inertial_set': 'as written',
        'file': arm.source,
    }
    return replace(arm, **changed)


def reference_on_mount_of(reference: ArmDescription, arm: ArmDescription) -> ArmDescription:
    """
    Return `reference`, on the mount of `arm` if its joint axes are then nearer to the arm's.

    The base of a file that was made of a mounted arm states the mount, and stays, as the base of a
    URDF's arm does: it is taken if it puts the joints' axes nearer to the arm's.
    """
    if reference.urdf is not None:
        return reference
    mounted = replace(reference, base=arm.mount_pose @ reference.base)
    there = SpaceFrameArm.at_zero(arm).twists

    def axes_distance(candidate: ArmDescription) -> float:
        """Return the distance of an arm's joint axes from those of `arm`, summed over joints."""
        here = SpaceFrameArm.at_zero(candidate).twists
        each = [np.abs(here + sign * there).sum(axis=1) for sign in (-1.0, 1.0)]
        return float(np.minimum(*each).sum())  # a line has two directions

    return min((mounted, reference), key=axes_distance)
