# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads and writes arm files, such as those in `config/arms`, checking every field."""

from dataclasses import dataclass
from enum import Enum
import os
from pathlib import Path
import shlex
from typing import Any

import numpy as np

from . import typed_file
from .arm_fields import ArmFields
from .bodies import Body, InertiaReferencePoint, Pose
from .description import ArmDescription
from .hand_change import hand_inertia, with_hand, with_hand_frames
from .hands import available_hands, hand_file_path, is_file_path
from .inertia import LinkInertia
from .judgements import require_si_units
from .repair import repaired_arm
from .strict_yaml import yaml_text
from .typed_file import (
    decode,
    dotted_path,
    encode,
    FieldError,
    prepend_keys,
    read_typed_file,
)
from .. import errors
from ..constants import AS_LISTED, NO_HAND, REPAIR_METHODS
from ..errors import (
    DescriptionError,
    FrankaDynamicsError,
    InertiaError,
    UnknownArmError,
)
from ..files import expanded_path, share_directory
from ..spatial import rpy_from_rotation

# Other names of shipped arms: 'panda' loads the fer with its joints named panda_joint1, ... Franka
# sold its first arm as Panda.
ARM_NAME_ALIASES = {'panda': 'fer', 'fp3': 'fr3'}
# Those of SDF files are among them, which a sentence of their own refuses.
_XML_SUFFIXES = ('.urdf', '.xml', '.xacro', '.sdf')
_FORMAT_HINT = 'an arm file starts with name, convention, joints, inertial_sets'


@dataclass(frozen=True, eq=False, kw_only=True)
class InertialSet:
    """Inertial parameters of an arm's links, and of its base if stated, from one source."""

    source: str
    notes: str = ''
    inertia_about: InertiaReferencePoint | None = None
    hand: str = NO_HAND
    rounding: typed_file.PositiveFloat | None = None
    repairs: tuple[str, ...] = ()
    unmeasured: tuple[str, ...] = ()  # signs that nobody has measured masses or tensors
    links: tuple[Body, ...]
    base_link: Body | None = None
    payload: Body | None = None  # in the flange frame, in the last of `links`

    def __post_init__(self) -> None:
        """Raise FieldError for an unknown hand, or a body's tensor without `inertia_about`."""
        if self.hand != NO_HAND and not os.path.isfile(hand_file_path(self.hand)):
            raise FieldError(
                f'is {self.hand!r}; it may be {", ".join(available_hands())}, or the path of one',
                'hand',
            )
        self.link_inertias()  # for its FieldError, as `inertia_of` below
        for name in ('base_link', 'payload'):
            with prepend_keys(name):
                self.inertia_of(getattr(self, name))

    def link_inertias(self) -> tuple[LinkInertia, ...]:
        """Return each link's mass, first moment and inertia about its DH frame's origin."""
        found = []
        for i, body in enumerate(self.links):
            with prepend_keys('links', i):
                found.append(body.link_inertia(self.inertia_about))
        return tuple(found)

    def inertia_of(self, body: Body | None) -> LinkInertia | None:
        """Return a body's inertia about its frame's origin; None for `body` None (not stated)."""
        return None if body is None else body.link_inertia(self.inertia_about)


class ArmFamily(str, Enum):
    """Maker of an arm: Franka, for whose arms there are link shapes and hands, or another."""

    FRANKA = 'franka'
    OTHER = 'other'


@dataclass(frozen=True, eq=False, kw_only=True)
class ArmFile(ArmFields):
    """The content of an arm file, which is an arm with one or more inertial sets."""

    title: str = ''
    family: ArmFamily = ArmFamily.OTHER
    source: str = ''
    base: Pose | None = None
    default_set: str
    inertial_sets: dict[str, InertialSet]


def available_arms() -> tuple[str, ...]:
    """
    Return the names of the shipped arms, which `load` takes, sorted.

    Returns
    -------
    tuple of str
        'fer', 'fr3' and others.

    """
    return tuple(sorted(path.stem for path in (share_directory() / 'config/arms').glob('*.yaml')))


def is_franka_arm(arm: str) -> bool:
    """Return whether `arm` names a shipped arm whose file says that Franka makes it."""
    return arm in available_arms() and read_arm_file(arm).family is ArmFamily.FRANKA


def available_sets(arm: str | Path) -> tuple[str, ...]:
    """
    Return the names of an arm's inertial sets, the default first and then the others, sorted.

    `arm` is a shipped arm's name or alias, or the path of an arm file.

    Returns
    -------
    tuple of str
        The names that `load` takes as its argument `inertial_set`.

    Raises
    ------
    DescriptionError
        If there is no such arm, or its file cannot be read.

    """
    file = read_arm_file(arm)
    return tuple(sorted(file.inertial_sets, key=lambda name: (name != file.default_set, name)))


def read_arm_file(arm: str | Path) -> ArmFile:
    """Read the arm file of a shipped arm or at a path; raise DescriptionError if that fails."""
    return read_typed_file(_arm_file_path(arm), ArmFile, _FORMAT_HINT)


def load(
    arm: str | Path,
    inertial_set: str | None = None,
    *,
    hand: str = AS_LISTED,
    prefix: str = '',
    repair: str | None = None,
) -> ArmDescription:
    """
    Return a shipped arm, or that of an arm file, with inertial set, hand, prefix and repair.

    The arguments are those of `franka_dynamics.load`, which reads other files, too.

    Raises
    ------
    UnknownArmError
        If there is no such arm, inertial set or hand.
    DescriptionError
        If the file is wrong or its numbers seem to be in other units, or `repair` is no method.
    InertiaError
        If the hand is too heavy, or links cannot be repaired.

    """
    path = _arm_file_path(arm)
    file = read_arm_file(arm)
    if repair not in (None, *REPAIR_METHODS):
        raise DescriptionError(f'repair is {repair!r}; it must be {" or ".join(REPAIR_METHODS)}.')
    set_name = file.default_set if inertial_set is None else inertial_set
    if set_name not in file.inertial_sets:
        known = ', '.join(file.inertial_sets)
        raise UnknownArmError(f'{path} has no inertial set {set_name!r}; it has {known}.')
    inertial = file.inertial_sets[set_name]
    try:
        description = _description_with_set(file, set_name, str(path))
        description.require_within_limits(description.home, 'home')
    except FrankaDynamicsError as error:
        raise DescriptionError(f'{path}: {error}') from error
    require_si_units(description, f'{path}')
    # An arm that was asked for by an alias, such as panda, has it in the names of its joints.
    requested_name = canonical_arm_name(arm)
    name_in_joints = requested_name if requested_name in ARM_NAME_ALIASES else file.name
    description = description.with_joint_names(
        [prefix + name.replace(file.name, name_in_joints, 1) for name in description.joint_names]
    )
    description = with_hand(with_hand_frames(description), hand)
    if repair is None or not description.inconsistencies():
        return description
    # A set without rounding is refused by repaired_arm.
    if inertial.rounding and any(body.center_of_mass is not None for body in inertial.links):
        raise InertiaError(
            f'{path}: {set_name} states centres of mass; a repair moves the numbers of a table of '
            'first moments about the frame origins. Write it in these.'
        )
    # The last link is repaired together with its hand, within the rounding of the inertial set, as
    # if the hand's numbers were exact.
    return repaired_arm(description)


def _description_with_set(file: ArmFile, inertial_set: str, path: str) -> ArmDescription:
    """Return the arm of an arm file with one inertial set and the hand that this set states."""
    inertial = file.inertial_sets[inertial_set]
    payload = inertial.inertia_of(inertial.payload) or LinkInertia.zero()
    hand_mass = hand_inertia(inertial.hand).mass
    return ArmDescription(
        **file.shared_fields(),
        links=inertial.link_inertias(),
        base=np.eye(4) if file.base is None else file.base.matrix(),
        base_link=inertial.inertia_of(inertial.base_link),
        inertial_set=inertial_set,
        source=inertial.source,
        hand=inertial.hand,
        payload=payload,
        carried_mass=hand_mass + payload.mass,
        rounding=inertial.rounding or 0.0,
        file=path,
        repairs=inertial.repairs,
        unmeasured=inertial.unmeasured,
        torque_notes=inertial.unmeasured,
    )


def is_urdf_or_mjcf(arm: object) -> bool:
    """Return whether `arm` is XML text, or a path of a URDF, MJCF, xacro or SDF file."""
    return isinstance(arm, (str, Path)) and (is_xml_text(arm) or str(arm).endswith(_XML_SUFFIXES))


def is_xml_text(arm: object) -> bool:
    """Return whether `arm` is XML text, as of a URDF or MJCF, and not a name or a path."""
    return isinstance(arm, str) and arm.lstrip().startswith('<')


def canonical_arm_name(arm: str | Path) -> str:
    """Return an arm's name in lower case with _ for dots and hyphens, such as fr3v2_1."""
    return str(arm).lower().replace('.', '_').replace('-', '_')


def _arm_file_path(arm: str | Path) -> Path:
    """Return the path of a shipped or own arm file; raise DescriptionError if there is none."""
    _require_no_urdf_or_mjcf(arm)
    own_path = expanded_path(str(arm))
    is_path = is_file_path(arm)
    path = own_path if is_path else _shipped_arm_path(str(arm))
    if os.path.isfile(path):
        return path
    if os.path.isdir(own_path):
        raise DescriptionError(f"{own_path} is a folder; give the path of an arm's file.")
    if is_path:
        shipped = ', '.join(available_arms())
        raise DescriptionError(
            f'{path} does not exist; give an existing file or one of {shipped}.'
        )
    raise _unknown_arm_error(str(arm))


def _require_no_urdf_or_mjcf(arm: str | Path) -> None:
    """Raise DescriptionError, with the command that imports it, for a URDF or MJCF."""
    if not is_urdf_or_mjcf(arm):
        return
    name, file = 'The text', 'FILE'
    if not is_xml_text(arm):
        name = str(arm)
        file = shlex.quote(name)
    raise DescriptionError(
        f'{name} is no arm file; run "franka-dynamics arm import {file} --output arm.yaml".'
    )


def _shipped_arm_path(name: str) -> Path:
    """Return the path that a shipped arm of this name has; the file need not exist."""
    canonical = canonical_arm_name(name)
    stem = ARM_NAME_ALIASES.get(canonical, canonical)
    return share_directory() / 'config' / 'arms' / f'{stem}.yaml'


def _unknown_arm_error(name: str) -> UnknownArmError:
    """Return the error to raise for a name that no shipped arm has, with the name it may mean."""
    shipped = available_arms()
    aliases = ', '.join(f'{alias} is the {known}' for alias, known in ARM_NAME_ALIASES.items())
    near = errors.nearest_name(canonical_arm_name(name), (*shipped, *ARM_NAME_ALIASES))
    question = f'Did you mean {near}? ' if near else ''
    return UnknownArmError(
        f'There is no arm {errors.short_repr(name)}; shipped are {", ".join(shipped)}; {aliases}. '
        f'{question}An arm of your own is given by its YAML file.'
    )


def arm_file_text(
    description: ArmDescription,
    *,
    source: str | None = None,
    title: str | None = None,
    notes: str = '',
    friction_source: str = '',
) -> str:
    """
    Return the YAML text of an arm file with a description and, as its only set, its inertias.

    `load` reads the same numbers from the text, because inertias are written about the frame
    origins, with all digits. Only a rotated base, written as roll, pitch and yaw, changes by
    rounding. The last link includes the hand, which the file names, so that `load` can remove it.

    Parameters
    ----------
    description : ArmDescription
        The arm.
    source : str, optional
        Where the inertial set comes from, in one line; default: the description's `source`.
    title : str, optional
        The arm's full name; default: the description's `name`.
    notes : str
        Remarks about the inertial set.
    friction_source : str
        Where the friction comes from.

    Raises
    ------
    DescriptionError
        If the friction model is none of the three that an arm file can hold, or a number or name
        is one that `load` refuses.

    """
    description.require_within_limits(description.home, 'home')
    content: dict[str, Any] = {}
    place = f'{description.name!r} cannot be written to an arm file'
    try:
        content = encode(ArmFile, _arm_file_content(description, source, title, notes))
        decode(ArmFile, content)
    except FieldError as error:
        at = dotted_path(content, error.keys)
        raise DescriptionError(f'{place}: {at} {error.problem}.') from error
    require_si_units(description, place)
    if friction_source and description.friction is not None:
        content['friction']['source'] = friction_source
    return yaml_text(content)


def _arm_file_content(
    description: ArmDescription, source: str | None, title: str | None, notes: str
) -> ArmFile:
    """Return the content of an arm's file; raise FieldError for an unknown hand."""
    name = description.inertial_set or 'own'
    stated_source = source or description.source or 'not stated'
    base = description.base
    base_link = description.base_link
    payload = description.payload
    pose = Pose(xyz=base[:3, 3], rpy=rpy_from_rotation(base[:3, :3]))
    inertial = InertialSet(
        source=stated_source,
        notes=notes,
        inertia_about=InertiaReferencePoint.FRAME_ORIGIN,
        hand=description.hand,
        rounding=description.rounding or None,
        repairs=description.repairs,
        unmeasured=description.unmeasured,
        links=tuple(Body.from_inertia(link) for link in description.links),
        base_link=None if base_link is None else Body.from_inertia(base_link),
        payload=Body.from_inertia(payload) if payload.mass else None,
    )
    return ArmFile(
        **description.shared_fields(),
        title=title or description.name,
        source=stated_source,
        base=None if np.array_equal(base, np.eye(4)) else pose,
        default_set=name,
        inertial_sets={name: inertial},
    )
