# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Imports the serial arm in a URDF, MJCF or xacro file, or finds a known arm's joints in it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .arm_choice import choose_arm_joints
from .dh_recovery import description_from_chain
from .document import UrdfDocument
from .file_numbers import judge_file
from .reading import read_document
from .serial_chain import read_chain, require_moving_joints, SerialChain
from ..arm.arm_file import ARM_NAME_ALIASES, available_arms, load
from ..arm.denavit_hartenberg import Convention
from ..arm.description import ArmDescription
from ..arm.friction import ViscousCoulombFriction
from ..arm.judgements import judge, Severity, signs_of_unknown_masses
from ..arrays import Array
from ..errors import as_enum, DescriptionError, list_text

IMPORTED_SET_NAME = 'imported'
_HOME_LIMIT_MARGIN = 0.2  # [rad or m], twice what excitation motions keep from the limits


def import_urdf(
    urdf: str | Path,
    *,
    source: str | None = None,
    name: str | None = None,
    joint_names: Sequence[str] | None = None,
    held: Mapping[str, float] | None = None,
    tip: str | None = None,
    prefix: str = '',
    convention: Convention = Convention.MODIFIED,
    xacro: Mapping[str, object] | None = None,
) -> ArmDescription:
    """
    Return the serial arm in a URDF, xacro file or MJCF as an ArmDescription with DH rows.

    The space frame is that of the URDF's root link.

    Parameters
    ----------
    urdf : str or path
        The text of a URDF or an MJCF, or the path of a URDF, an MJCF or a xacro file.
    source : str, optional
        Name of the URDF in error messages; default: its path, or 'the URDF'.
    name : str, optional
        Name of the arm; default: the URDF's robot name.
    joint_names : sequence of str, optional
        The arm's joints from base to tip; default: the URDF's only chain of moving joints, without
        a gripper's and held ones.
    held : mapping of str to float, optional
        Positions [rad or m] of other moving joints. Joints on which the arm stands (a lift) need
        one; joints that the arm carries are held at zero, or at their limit nearest to it, if not
        given.
    tip : str, optional
        The link that is the flange; default: that of `find_flange`, by its name, or else the last
        moving link, as a note says.
    prefix : str
        Only joints with this prefix are used.
    convention : Convention
        Convention of the DH rows.
    xacro : mapping of str to object, optional
        Arguments of a xacro file; default: the file's own.

    Returns
    -------
    ArmDescription
        The arm, its joints named as in the URDF. `torque_notes` are sentences on what changes
        torques: a tilted mount, joints that are held, missing masses, links that are not physical
        or not measured.
        `notes` are these and those on joints that are left out, missing or doubtful limits, and
        deviations from the URDF format.

    Raises
    ------
    DescriptionError
        If there is no such convention.
    UrdfError
        If the URDF cannot be read, it is not clear which joints are the arm (AmbiguousUrdfError),
        or `tip` is not fixed to the last link.

    """
    convention = as_enum(Convention, convention, 'The convention', DescriptionError)
    document = read_document(urdf, source, xacro)
    gripper: Sequence[str] = ()
    if joint_names is not None and len(joint_names):
        for one in joint_names:
            if not one.startswith(prefix):
                fix = 'leave out --arm-prefix, or name others'
                raise document.error(f'{one} lacks the prefix {prefix!r}; {fix}.')
    else:
        require_moving_joints(document, held or ())
        joint_names, gripper = choose_arm_joints(document, prefix, held or ())
    chain = read_chain(document, joint_names, held_positions=held, gripper_joints=gripper)
    arm = _with_judgements(description_from_chain(chain, convention, tip), chain)
    arm = replace(arm, name=name or arm.name, inertial_set=IMPORTED_SET_NAME)
    return _with_simulation_values(arm, document)


def _with_judgements(arm: ArmDescription, chain: SerialChain) -> ArmDescription:
    """Return an arm with notes on doubtful numbers and without limits in another unit."""
    bodies = {joint.name for joint in chain.joints}
    bodies.update(*(chain.links_with_mass[joint.child] for joint in chain.joints))
    of_file, _ = judge_file(chain.document)
    judged = [*judge(arm), *(one for one in of_file if bodies.intersection(one.names))]
    judged.sort(key=lambda one: [*Severity].index(one.severity))
    refused = arm.inconsistencies()
    wrong = [str(one) for one in judged if one.makes_torques_wrong]
    if not any(one.impossible for one in judged):
        wrong += refused
    torque_notes = (*chain.torque_notes, *wrong)
    if refused:
        torque_notes += ('simulator and node will refuse this arm.',)
    notes = [str(one) for one in judged if one.severity is Severity.DOUBT]
    joints = {joint.name: joint for joint in arm.joints}
    unlimited = {'lower': -np.inf}
    for one in judged:
        if one.severity is Severity.LIMIT:
            notes.append(f'{one} These limits are left out.')
        for name, limits in one.limits_by_joint.items():
            none = {limit: unlimited.get(limit, np.inf) for limit in limits}
            joint = joints[name]
            joints[name] = replace(joint, limits=replace(joint.limits, **none))
    free = [joint.name for joint in chain.joints if joint.limits is None]
    notes += [f'joint {name} has no limits; none are assumed.' for name in free]
    assert arm.urdf is not None
    all_notes = (*torque_notes, *arm.urdf.flange_notes, *notes, *chain.notes)
    return replace(
        arm,
        joints=(*joints.values(),),
        notes=all_notes,
        torque_notes=torque_notes,
        unmeasured=signs_of_unknown_masses(judged, arm.n),
    )


def _with_simulation_values(arm: ArmDescription, document: UrdfDocument) -> ArmDescription:
    """Return an arm with its home pose and, from an MJCF, armature and friction to simulate."""
    stated = document.simulation_values

    def values_of_joints(key: str) -> Array:
        """Return each joint's value of a key in the document's simulation values, or 0, (n,)."""
        return np.array([stated.get(one, {}).get(key, 0.0) for one in arm.joint_names])

    has_home = any('home' in one for one in stated.values())
    notes = arm.notes
    lower = arm.limit('lower')
    upper = arm.limit('upper')
    home = values_of_joints('home')
    # A home of no file keeps a distance from the limits, where no motion could begin to and fro.
    room = 0.0 if has_home else np.minimum(_HOME_LIMIT_MARGIN, (upper - lower) / 2.0)
    inside = np.clip(home, lower + room, upper - room)
    if has_home and (outside := np.flatnonzero(inside != home)).size:
        names = list_text([arm.joint_names[int(i)] for i in outside])
        notes += (f'{names}: the key "home" is outside the limits; the nearest one is taken.',)
    armature, viscous, coulomb = map(values_of_joints, ('armature', 'damping', 'frictionloss'))
    friction = ViscousCoulombFriction(viscous, coulomb, np.zeros(arm.n))
    drives = armature if armature.any() else None
    rubbing = friction if viscous.any() or coulomb.any() else None
    arm = replace(arm, home=inside, notes=notes)
    return replace(arm, simulated_armature=drives, simulated_friction=rubbing)


def joint_names_of_arm(
    document: UrdfDocument, arm: ArmDescription, prefix: str | None = None
) -> tuple[str, ...]:
    """
    Return an arm's joint names in a URDF: by `prefix`, the only prefix that fits, or its chain's.

    If a URDF lacks the joint names of an arm with n joints, and no prefix is given, the names are
    those of the first n joints of its only chain. Names with a given prefix are returned even if
    the URDF lacks them.

    Raises
    ------
    UrdfError
        If not exactly one prefix or chain fits; the message lists the joints or the choices.

    """
    if prefix is not None:
        return tuple(prefix + name for name in arm.joint_names)
    found = arms_with_joints(document.joints, arm)
    if len(found) > 1:
        first = ' and '.join(one.joint_names[0] for one in found)
        raise document.error(f'has several arms ({first}); choose one by prefix (--arm-prefix).')
    if found:
        return found[0].joint_names
    names, _ = choose_arm_joints(document)
    if len(names) < arm.n:
        raise document.error(f'moves only {list_text(names)}; {arm.name} has {arm.n} joints.')
    return names[: arm.n]


class ArmWithJointNames(NamedTuple):
    """An arm, its name, and the names of its joints in a robot's description."""

    arm_name: str
    arm: ArmDescription
    joint_names: tuple[str, ...]


def arms_with_joints(
    joint_names: Collection[str],
    arm: ArmDescription | None = None,
    prefix: str | None = None,
) -> list[ArmWithJointNames]:
    """
    Return each shipped arm, or only `arm`, per prefix by which `joint_names` has all its joints.

    Without `arm` all shipped arms are searched; without `prefix` any prefix of joint names fits.
    """
    found = []
    shipped = ((name, load(name)) for name in (*available_arms(), *ARM_NAME_ALIASES))
    for called, description in shipped if arm is None else ((arm.name, arm),):
        requested = description.joint_names
        first = requested[0]
        prefixes = [name[: -len(first)] for name in joint_names if name.endswith(first)]
        for candidate in prefixes:
            names = tuple(candidate + joint for joint in requested)
            if prefix in (None, candidate) and all(j in joint_names for j in names):
                found.append(ArmWithJointNames(called, description, names))
    return found
