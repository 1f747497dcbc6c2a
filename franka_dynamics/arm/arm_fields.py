# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints, limits and other fields that both arm files and arm descriptions have."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, KW_ONLY
import math
import re
from typing import Any, NamedTuple

from .bodies import FixedFrame
from .denavit_hartenberg import DHRow
from .friction import Friction
from .inertia import LinkInertia
from .typed_file import (
    FloatOrInfinity,
    NonNegativeArray,
    NonNegativeFloat,
    PositiveArray,
    PositiveFloat,
)
from ..arrays import Array, freeze_arrays, ValueEquality
from ..constants import Convention
from ..errors import as_enum, DescriptionError
from ..spatial import JointKind


class FormatWords(NamedTuple):
    """
    Words for messages about a URDF or MJCF, such as those for links, joints and their entries.

    `moving_joints` names the joint types that an arm can have, `floating_joints` the types of
    floating joints. `inertial` holds the numbers of a link: `mass`, centre of mass (`center`) and
    `tensor`. `reader` is the library whose own reading of the file an arm is compared with.
    """

    file: str = 'URDF'
    link: str = 'link'
    links: str = 'links'
    moving_joints: str = 'revolute, continuous or prismatic'
    floating_joints: str = 'floating'
    inertial: str = '<inertial>'
    mass: str = '<mass>'
    center: str = '<origin>'
    tensor: str = '<inertia>'
    effort: str = '<limit> effort'
    reader: str = 'Pinocchio'


URDF_WORDS = FormatWords()
MJCF_WORDS = FormatWords(
    file='MJCF',
    link='body',
    links='bodies',
    moving_joints='a hinge or a slide',
    floating_joints='free or ball',
    inertial='inertial or geom',
    mass='inertial mass',
    center='inertial pos',
    tensor='inertial diaginertia',
    effort='actuatorfrcrange, forcerange or ctrlrange',
    reader='MuJoCo',
)


@dataclass(frozen=True)
class UrdfProvenance:
    """
    The URDF or MJCF from which an arm was read, with its joints' and flange link's names there.

    Attributes
    ----------
    name_in_messages : str
        What messages call the URDF.
    urdf_text : str
        Its XML.
    joint_names : tuple of str
        The arm's joints there, from base to tip.
    held_positions : tuple of (str, float)
        The other joints that the arm carries or stands on, with their positions [rad or m].
    tip_link : str
        The link that is the flange.
    flange_notes : tuple of str
        Sentences on why another place may be meant as the flange.
    tip_is_guess : bool
        Whether no link has the name of a flange.
    added_payload : LinkInertia
        What was put on the flange since, about its origin and in its frame.
    mjcf_text : str
        The path or the text of an MJCF, empty for a URDF.
    other_joint_links : tuple of (str, str)
        The names of held and fixed joints, each with that of its link.

    """

    name_in_messages: str
    urdf_text: str = field(repr=False)
    joint_names: tuple[str, ...]
    held_positions: tuple[tuple[str, float], ...]
    tip_link: str
    flange_notes: tuple[str, ...] = ()
    tip_is_guess: bool = False
    added_payload: LinkInertia = field(default_factory=LinkInertia.zero)
    mjcf_text: str = field(default='', repr=False)
    other_joint_links: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> FormatWords:
        """Words of the file's format, URDF or MJCF, for messages."""
        return MJCF_WORDS if self.mjcf_text else URDF_WORDS


# Limits of absolute values.
_MAGNITUDE_LIMITS = ('velocity', 'acceleration', 'jerk', 'effort', 'effort_rate')


@dataclass(frozen=True)
class JointLimits:
    """
    Limits of one joint.

    An unknown limit is infinite; an unknown `velocity_offset` and its deceleration are None.

    `lower` and `upper` bound the position [rad]. `velocity` [rad/s], `acceleration` [rad/s^2],
    `jerk` [rad/s^3], `effort` [N m] and `effort_rate` [N m/s] are limits of absolute values. For a
    prismatic joint read metres for radians and newtons for newton metres. `velocity_offset`
    [rad/s] and `velocity_deceleration` [rad/s^2] make the velocity limit of an FR3 depend on the
    joint position (`ArmDescription.velocity_bounds`). Inconsistent limits raise a
    DescriptionError.
    """

    lower: FloatOrInfinity = field(default=-math.inf, metadata={'key': 'position'})
    upper: FloatOrInfinity = field(default=math.inf, metadata={'key': 'position'})
    velocity: float = math.inf
    acceleration: float = math.inf
    jerk: float = math.inf
    effort: float = math.inf
    effort_rate: float = math.inf
    velocity_offset: float | None = None
    velocity_deceleration: float | None = None

    def __post_init__(self) -> None:
        """Raise DescriptionError for negative, contradictory or incomplete limits."""
        if not self.lower <= self.upper:
            raise DescriptionError(
                f'The lower limit {self.lower} of a joint is not below the upper, {self.upper}.'
            )
        for name in _MAGNITUDE_LIMITS:
            value = getattr(self, name)
            if not value >= 0.0:  # NaN is not
                raise DescriptionError(f'The {name} limit {value} of a joint cannot be negative.')
        if (self.velocity_offset is None) != (self.velocity_deceleration is None):
            raise DescriptionError('Give velocity_offset and velocity_deceleration, or neither.')
        for name in ('velocity_offset', 'velocity_deceleration'):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value < math.inf:
                raise DescriptionError(
                    f'{name} of a joint is {value}; it must be a finite number, 0 or more.'
                )


@dataclass(frozen=True)
class Joint:
    """
    A revolute or prismatic joint with its name, DH row, limits, rotor inertia and link name.

    The position of a revolute joint is added to theta of its DH `row`, that of a prismatic joint
    to d. `rotor_inertia` is the motor's inertia reflected to the joint [kg m^2; kg for a prismatic
    joint]. `link` is the name of the link that it moves; if empty, `link_names` makes one of the
    names of the arm's joints.
    """

    name: str
    kind: JointKind
    row: DHRow = field(metadata={'key': 'dh'})
    limits: JointLimits = field(default_factory=JointLimits)
    rotor_inertia: NonNegativeFloat = 0.0
    link: str = ''

    def __post_init__(self) -> None:
        """Convert a kind given as a string; raise DescriptionError for an unknown one."""
        kind = as_enum(JointKind, self.kind, f'The kind of joint {self.name}', DescriptionError)
        object.__setattr__(self, 'kind', kind)


@dataclass(frozen=True, eq=False)
class TorqueDeviation(ValueEquality):
    """
    Standard deviations, by joint, of torques that the model leaves where nobody touches the arm.

    Attributes
    ----------
    filtered : ndarray, shape (n,)
        Of measured torques below `cutoff` [N m, of a prismatic joint N].
    observed : ndarray, shape (n,)
        Of the momentum observer's estimate, which passes vibration, too, in the same units.
    cutoff : float
        Cut-off of the low-pass of `filtered` [Hz].

    """

    filtered: PositiveArray
    observed: PositiveArray
    cutoff: PositiveFloat

    def __post_init__(self) -> None:
        """Check (DescriptionError) and freeze the arrays."""
        what = 'torque deviations'
        freeze_arrays(self, DescriptionError, what, filtered=(None,))
        freeze_arrays(self, DescriptionError, what, observed=self.filtered.shape)


@dataclass(frozen=True, eq=False)
class ArmFields(ValueEquality):
    """
    Base class of ArmFile and ArmDescription with the fields that both of them have.

    ArmDescription says what each of them holds.
    """

    name: str
    convention: Convention
    joints: tuple[Joint, ...]
    _: KW_ONLY
    flange: DHRow = field(default_factory=DHRow)
    home: Array | None = None
    rated_load: PositiveFloat | None = None
    friction: Friction | None = None
    simulated_friction: Friction | None = None
    simulated_armature: NonNegativeArray | None = None
    torque_deviation: TorqueDeviation | None = None
    fixed_frames: tuple[FixedFrame, ...] = field(default=(), metadata={'key': 'frames'})

    def shared_fields(self) -> dict[str, Any]:
        """Return the values of the fields of `ArmFields` by their names."""
        return {shared.name: getattr(self, shared.name) for shared in fields(ArmFields)}


_NUMBERED_JOINT_NAME_PATTERN = re.compile(r'^(.*)joint(\d+)$')


class LinkNames(NamedTuple):
    """Names of the base, of each joint's moving link, and of the flange."""

    base: str
    moving_links: tuple[str, ...]
    flange: str

    @property
    def prefix(self) -> str:
        """Prefix of numbered link names, such as 'fr3_'; '' for names without numbers."""
        return self.flange.rpartition('link')[0]


def link_names(joint_names: Sequence[str]) -> LinkNames:
    """
    Return the names of the base, the moving links and the flange for given joint names.

    For joint1, joint2, ..., with any prefix, the links are link0, link1, ... with that prefix, as
    Franka's. For other joint names, also for numbers that begin at 0, '_link' is appended to each
    joint's name, and base and flange are 'base_link' and 'flange'.
    """
    matches = [_NUMBERED_JOINT_NAME_PATTERN.match(name) for name in joint_names]
    numbers = [int(match.group(2)) for match in matches if match]
    stems = {match.group(1) for match in matches if match}
    first = numbers[0] if numbers else 0
    in_order = numbers == list(range(first, first + len(joint_names)))
    if len(stems) == 1 and in_order and first > 0:  # the base link's number is first - 1
        stem = stems.pop()
        names = [f'{stem}link{first + k}' for k in range(-1, len(joint_names) + 1)]
        return LinkNames(names[0], tuple(names[1:-1]), names[-1])
    return LinkNames('base_link', tuple(f'{name}_link' for name in joint_names), 'flange')
