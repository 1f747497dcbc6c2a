# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Records the URDF from which an arm was imported, and its format's terms for messages."""

from dataclasses import dataclass, field

from .inertia import LinkInertia


@dataclass(frozen=True)
class FormatTerms:
    """
    Terms of a file format (URDF or MJCF) for links, joints and their numbers, for messages.

    `moving` are the kinds of joints that an arm can have, `floating` those that float, and
    `inertial` holds the numbers of a link: `mass`, centre of mass (`center`) and `tensor`.
    `reader` is the library whose own reading of the file an arm is compared with.
    """

    file: str = 'URDF'
    link: str = 'link'
    links: str = 'links'
    moving: str = 'revolute, continuous or prismatic'
    floating: str = 'floating'
    inertial: str = '<inertial>'
    mass: str = '<mass>'
    center: str = '<origin>'
    tensor: str = '<inertia>'
    effort: str = '<limit> effort'
    reader: str = 'Pinocchio'


URDF_TERMS = FormatTerms()
MJCF_TERMS = FormatTerms(
    *('MJCF', 'body', 'bodies', 'a hinge or a slide', 'free or ball', 'inertial or geom'),
    *('inertial mass', 'inertial pos', 'inertial diaginertia'),
    *('actuatorfrcrange, forcerange or ctrlrange', 'MuJoCo'),
)


@dataclass(frozen=True)
class UrdfProvenance:
    """
    The URDF from which an arm was read, with the names of its joints and flange link there.

    `source` is the URDF's name in messages, `text` its XML. `joint_names` are the arm's joints
    there, from base to tip. `tip` is the link that is the flange, `flange_notes` say what is
    doubtful about it, and `tip_is_guess` whether no link has the name of a flange. `held` are the
    other joints that the arm carries or stands on, with their positions [rad or m]. `payload` is
    the inertia of what was put on the flange since then, about its origin and in its frame. `mjcf`
    is the path or the text of an MJCF, empty for a URDF. `other_joints` are the names of held and
    fixed joints, with those of the links that they carry.
    """

    source: str
    text: str = field(repr=False)
    joint_names: tuple[str, ...]
    tip: str
    held: tuple[tuple[str, float], ...] = ()
    flange_notes: tuple[str, ...] = ()
    tip_is_guess: bool = False
    payload: LinkInertia = field(default_factory=LinkInertia.zero)
    mjcf: str = field(default='', repr=False)
    other_joints: tuple[tuple[str, str], ...] = ()

    @property
    def terms(self) -> FormatTerms:
        """Terms of the file's format, URDF or MJCF, for messages."""
        return MJCF_TERMS if self.mjcf else URDF_TERMS
