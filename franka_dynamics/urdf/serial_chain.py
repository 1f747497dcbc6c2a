# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads the serial arm in a URDF with Pinocchio.

The inertia of every body fixed to a moving link is added to that link. Other moving joints that
the arm carries (a finger, a camera's pan) are held at zero, or at their limit nearest to zero, and
their bodies are added, too. Moving joints on other branches, and their bodies, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from .document import parse_urdf, UrdfDocument, UrdfJoint
from ..arm.description import JointLimits
from ..arm.inertia import LinkInertia
from ..errors import listed, UrdfError
from ..spatial import JointKind
from ..typing import Array

_KINDS = {
    'revolute': JointKind.REVOLUTE,
    'continuous': JointKind.REVOLUTE,
    'prismatic': JointKind.PRISMATIC,
}
_TILT = 1e-6  # [rad]; a link less tilted than this is level


@dataclass(frozen=True, eq=False)
class ChainJoint:
    """
    A joint of the arm and the link that it moves.

    `frame` is the joint's frame in the root frame with all joints at zero, shape (4, 4); `axis`
    is a unit vector in the joint's frame. `inertia` is that of all bodies named in `bodies`, in
    the joint's frame and about its origin. `limits` is None where the URDF states none.
    """

    name: str
    kind: JointKind
    link: str
    frame: Array
    axis: Array
    inertia: LinkInertia
    bodies: tuple[str, ...]
    limits: JointLimits | None = None

    @property
    def direction(self) -> Array:
        """The joint axis in the root frame with all joints at zero, shape (3,)."""
        return self.frame[:3, :3] @ self.axis


@dataclass(frozen=True, eq=False)
class SerialChain:
    """
    A serial arm as a URDF describes it.

    The root frame is that of the URDF's root link, as in Pinocchio and MuJoCo. `mount` is the pose
    of the link `base`, the parent link of joint 1, in the root frame, shape (4, 4); `base_inertia`
    the inertia of all bodies that do not move, in the root frame, None if it is zero.
    `tool_frames` holds the poses, in the root frame with all joints at zero, of the last joint's
    link and links fixed to it. `held_joints` are other moving joints that the arm carries (a
    finger). `name` is the robot's, `source` the URDF's in error messages. `notes` are sentences
    about tolerated deviations from the format, doubtful limits and joints that are left out,
    `torque_notes` about what changes torques: a tilted mount and held joints.
    """

    name: str
    source: str
    base: str
    mount: Array
    base_inertia: LinkInertia | None
    joints: tuple[ChainJoint, ...]
    tool_frames: dict[str, Array]
    held_joints: tuple[str, ...]
    notes: tuple[str, ...]
    torque_notes: tuple[str, ...]

    @property
    def flange(self) -> str | None:
        """The link in `tool_frames` whose name ends in link<n + 1>, flange or tool0, or None."""
        endings = (f'link{len(self.joints) + 1}', 'flange', 'tool0')
        named = (name for one in endings for name in self.tool_frames if name.endswith(one))
        return next(named, None)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, from base to tip."""
        return tuple(joint.name for joint in self.joints)

    @property
    def massless(self) -> tuple[str, ...]:
        """Names of moving links that, like all links fixed to them, have no mass or inertia."""
        return tuple(joint.link for joint in self.joints if not joint.bodies)


def read_chain(
    urdf: str | UrdfDocument, joint_names: Sequence[str], source: str = 'the URDF'
) -> SerialChain:
    """
    Read from a URDF the arm whose joints, from base to tip, are `joint_names`.

    `urdf` is the text, whose name in error messages is `source`, or the result of `parse_urdf`.

    Raises
    ------
    UrdfError
        If the text is no URDF, a joint is missing, of another type or a mimic, the joints are
        not one chain in this order, or the arm's base moves.

    """
    document = urdf if isinstance(urdf, UrdfDocument) else parse_urdf(urdf, source)
    whole = pinocchio_model(document.text, document.source)
    arm = _require_chain(document, whole, tuple(joint_names))
    model = reduced_model(whole, [joint.name for joint in arm])
    base = arm[0].parent
    mount = whole.frames[whole.getFrameId(base, pin.BODY)].placement.homogeneous
    standing = _inertia(whole.inertias[0])
    joints, pose = [], np.eye(4)
    for k, joint in enumerate(arm, start=1):
        pose = pose @ model.jointPlacements[k].homogeneous
        bodies = tuple(name for name in _fixed_to(model, k) if document.links[name])
        joints.append(
            ChainJoint(
                joint.name,
                _KINDS[joint.kind],
                joint.child,
                pose,
                _axis(model.joints[k]),
                _inertia(model.inertias[k]),
                bodies,
                joint.limits,
            )
        )
    tools = _fixed_to(whole, whole.getJointId(arm[-1].name))
    first = whole.getJointId(arm[0].name)
    below = {name for name, support in zip(whole.names, whole.supports) if first in support}
    held = tuple(name for name in document.joints if name in below.difference(joint_names))
    others = [one.name for one in document.joints.values() if one.moves and one.name not in below]
    notes, torque_notes = list(document.notes), _mount_note(document, base, mount)
    if held:
        torque_notes.append(
            f'{", ".join(held)}: not part of the arm, held at zero (or at the limit next to it); '
            'the bodies they carry count as part of the arm.'
        )
    if others:
        notes.append(f'{listed(others)}: on another branch of the URDF, left out.')
    return SerialChain(
        document.name,
        document.source,
        base,
        mount,
        standing if standing.parameters().any() else None,
        tuple(joints),
        {name: pose @ at for name, at in tools.items()},
        held,
        tuple(notes),
        tuple(torque_notes),
    )


def _mount_note(document: UrdfDocument, base: str, mount: Array) -> list[str]:
    """Return a note with gravity in the frame of the link `base` if the mount tilts it."""
    up = mount[2, :3]
    if np.linalg.norm(up[:2]) <= _TILT and up[2] > 0.0:
        return []
    gravity = ', '.join(f'{value + 0.0:.5g}' for value in (-9.81 * up).round(9))
    return [
        f'the URDF mounts {base} tilted against its root link {document.root}: in the frame of '
        f'{base} gravity is ({gravity}) m/s^2, if {document.root} is level.'
    ]


def pinocchio_model(text: str, source: str) -> pin.Model:
    """Return Pinocchio's model of a URDF; mimic joints are independent joints in it."""
    try:
        return pin.buildModelFromXML(text)
    except (ValueError, RuntimeError) as error:
        raise UrdfError(f'{source}: Pinocchio cannot read it: {error}') from error


def reduced_model(model: pin.Model, names: Sequence[str]) -> pin.Model:
    """Return a model whose joints outside `names` are held at zero, or at the nearest limit."""
    low, high = model.lowerPositionLimit, model.upperPositionLimit
    q = pin.neutral(model)
    single = [joint.idx_q for joint in list(model.joints)[1:] if joint.nq == 1]
    q[single] = np.clip(0.0, low[single], high[single])
    others = [i for i, name in enumerate(model.names) if i and name not in names]
    # buildReducedModel finds joints' frames by name; links, which may have a joint's name, are
    # renamed meanwhile.
    model = model.copy()
    for body in _bodies(model):
        body.name = f'\n{body.name}'
    reduced = pin.buildReducedModel(model, others, q)
    for body in _bodies(reduced):
        body.name = body.name[1:]
    return reduced


def _bodies(model: pin.Model) -> list[pin.Frame]:
    return [frame for frame in model.frames if frame.type == pin.BODY]


def _inertia(body: pin.Inertia) -> LinkInertia:
    return LinkInertia.from_center_of_mass(body.mass, body.lever, body.inertia)


def _fixed_to(model: pin.Model, joint: int) -> dict[str, Array]:
    """Return the poses (4, 4), in a joint's frame, of its link and of links fixed to that link."""
    return {
        frame.name: frame.placement.homogeneous
        for frame in _bodies(model)
        if frame.parentJoint == joint
    }


def _axis(joint: pin.JointModel) -> Array:
    """Return the axis of a revolute or prismatic joint, a unit vector in its frame."""
    data = joint.createData()
    joint.calc(data, np.zeros(joint.idx_q + joint.nq))
    subspace = np.ravel(data.S)
    axis = subspace[3:] if subspace[3:].any() else subspace[:3]
    return np.asarray(axis / np.linalg.norm(axis))


def find_chains(document: UrdfDocument) -> list[tuple[str, ...]]:
    """
    Return the joint names of every unbranched chain of moving joints that starts at the root.

    Mimic joints are left out, and a chain ends where other moving joints branch (a gripper's
    fingers). A URDF of two arms on a fixed base has two chains; a single finger joint behind an
    arm is part of the arm's chain.
    """
    model = pinocchio_model(document.text, document.source)
    joints = [document.joints.get(name) for name in model.names]

    def following(place: int) -> list[int]:
        return [
            next_one
            for next_one in model.children[place]
            if (joint := joints[next_one]) and joint.moves and joint.mimics is None
        ]

    chains = []
    for first in following(0):
        chain = [first]
        while len(after := following(chain[-1])) == 1:
            chain += after
        chains.append(tuple(model.names[place] for place in chain))
    return chains


def _require_chain(
    document: UrdfDocument, model: pin.Model, names: tuple[str, ...]
) -> list[UrdfJoint]:
    """Return the named joints; raise UrdfError unless they are one chain on a fixed base."""

    def error(problem: str) -> UrdfError:
        return UrdfError(f'{document.source}: {problem}')

    if not names:
        raise error("no joint names were given; name the arm's joints from base to tip.")
    arm = []
    for name in names:
        joint = document.joints.get(name)
        if joint is None:
            raise error(f'has no joint {name!r}; {_joints_it_has(document, name)}')
        if joint.mimics is not None or not joint.moves:
            what = f'mimics {joint.mimics!r}' if joint.moves else f'is {joint.kind}'
            raise error(
                f'joint {name!r} {what}; a joint of the arm must be revolute, continuous or '
                'prismatic, and move on its own.'
            )
        arm.append(joint)
    path = model.supports[model.getJointId(names[-1])]
    moving = [model.names[place] for place in path][1:]
    found = tuple(moving[-len(arm) :])
    if found != names:
        raise error(
            f'on the way to {names[-1]!r} the moving joints are '
            f'{", ".join(found) or "none"}; expected {", ".join(names)} as one chain in '
            'this order. It is another arm, or joint_names is not its order from base to tip.'
        )
    if len(moving) > len(arm):
        carrier = document.joints[moving[-len(arm) - 1]]
        raise error(
            f'{names[0]!r} hangs below the {carrier.kind} joint {carrier.name!r}: the '
            'base of the arm moves, and its dynamics then depend on that motion. Give a URDF '
            'in which the base stands still.'
        )
    return arm


def _joints_it_has(document: UrdfDocument, requested: str) -> str:
    moving = [joint.name for joint in document.joints.values() if joint.moves]
    if not moving:
        return 'none of its joints moves.'
    prefixed = sorted({name[: -len(requested)] for name in moving if name.endswith(requested)})
    if prefixed:
        return (
            f'it has that joint under the prefix {" and ".join(map(repr, prefixed))}; say which '
            'arm is meant (arm_prefix, --arm-prefix).'
        )
    return (
        f'its moving joints are {listed(moving)}. Name the arm in it (robot_type and arm_prefix, '
        '--arm and --arm-prefix, or joint_names).'
    )
