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
from ..arm.arm_fields import Joint, JointLimits
from ..arm.arm_file import ARM_NAME_ALIASES, available_arms, load
from ..arm.description import ArmDescription
from ..arm.friction import ViscousCoulombFriction
from ..arm.judgements import judge, Judgement, Severity, signs_of_unknown_masses
from ..arrays import Array
from ..constants import Convention
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
        for joint in joint_names:
            if not joint.startswith(prefix):
                fix = 'leave out --arm-prefix, or name others'
                raise document.error(f'{joint} lacks the prefix {prefix!r}; {fix}.')
    else:
        require_moving_joints(document, held or ())
        joint_names, gripper = choose_arm_joints(document, prefix, held or ())
    chain = read_chain(document, joint_names, held_positions=held, gripper_joints=gripper)
    arm = _with_judgements(description_from_chain(chain, convention, tip), chain)
    arm = replace(arm, name=name or arm.name, inertial_set=IMPORTED_SET_NAME)
    return _with_simulation_values(arm, document)


def _with_judgements(arm: ArmDescription, chain: SerialChain) -> ArmDescription:
    """Return an arm with notes on doubtful numbers and without limits in another unit."""
    judged = _judgements_of_arm(arm, chain)
    torque_notes = [*chain.torque_notes, *_wrong_torque_notes(arm, judged)]
    notes = [str(judgement) for judgement in judged if judgement.severity is Severity.DOUBT]
    notes += [
        f'{judgement} These limits are left out.'
        for judgement in judged
        if judgement.severity is Severity.LIMIT
    ]
    joints = {joint.name: joint for joint in arm.joints}
    for judgement in judged:
        for name, limit_names in judgement.limits_by_joint.items():
            joints[name] = _without_limits(joints[name], limit_names)
    notes += [
        f'joint {joint.name} has no limits; none are assumed.'
        for joint in chain.joints
        if joint.limits is None
    ]
    assert arm.urdf is not None
    return replace(
        arm,
        joints=(*joints.values(),),
        notes=(*torque_notes, *arm.urdf.flange_notes, *notes, *chain.notes),
        torque_notes=tuple(torque_notes),
        unmeasured=signs_of_unknown_masses(judged, arm.n),
    )


def _judgements_of_arm(arm: ArmDescription, chain: SerialChain) -> list[Judgement]:
    """Return what is said of an arm and of its links and joints in the file, by severity."""
    names = {joint.name for joint in chain.joints}
    for joint in chain.joints:
        names.update(chain.links_with_mass[joint.child])
    of_file, _ = judge_file(chain.document)
    judged = list(judge(arm))
    judged += [judgement for judgement in of_file if names.intersection(judgement.names)]
    severities = [*Severity]
    return sorted(judged, key=lambda judgement: severities.index(judgement.severity))


def _wrong_torque_notes(arm: ArmDescription, judged: Sequence[Judgement]) -> list[str]:
    """Return sentences on numbers that make torques wrong, and whether the arm is refused."""
    notes = [str(judgement) for judgement in judged if judgement.makes_torques_wrong]
    inconsistencies = arm.inconsistencies()
    # A judgement of the file names the entry; without one the link's inertia is told.
    if not any(judgement.impossible for judgement in judged):
        notes += inconsistencies
    if inconsistencies:
        notes.append('simulator and node will refuse this arm.')
    return notes


def _without_limits(joint: Joint, limit_names: Sequence[str]) -> Joint:
    """Return a joint on which fields of its limits put no bound."""
    no_limits = JointLimits()
    changed = {name: getattr(no_limits, name) for name in limit_names}
    return replace(joint, limits=replace(joint.limits, **changed))


def _with_simulation_values(arm: ArmDescription, document: UrdfDocument) -> ArmDescription:
    """Return an arm with its home pose and, from an MJCF, armature and friction to simulate."""
    stated = document.simulation_values

    def values_of_joints(key: str) -> Array:
        """Return each joint's value of a key in the document's simulation values, or 0, (n,)."""
        return np.array([stated.get(name, {}).get(key, 0.0) for name in arm.joint_names])

    notes = arm.notes
    lower = arm.limit('lower')
    upper = arm.limit('upper')
    stated_home = values_of_joints('home')
    if any('home' in values for values in stated.values()):
        home = np.clip(stated_home, lower, upper)
        is_outside = home != stated_home
        if is_outside.any():
            names = list_text([arm.joint_names[int(i)] for i in np.flatnonzero(is_outside)])
            notes += (f'{names}: the key "home" is outside the limits; the nearest one is taken.',)
    else:
        # It keeps a distance from the limits, so that a motion to and fro can begin there.
        room = np.minimum(_HOME_LIMIT_MARGIN, (upper - lower) / 2.0)
        home = np.clip(stated_home, lower + room, upper - room)
    armature = values_of_joints('armature')
    viscous = values_of_joints('damping')
    coulomb = values_of_joints('frictionloss')
    friction = None
    if viscous.any() or coulomb.any():
        friction = ViscousCoulombFriction(viscous, coulomb, np.zeros(arm.n))
    return replace(
        arm,
        home=home,
        notes=notes,
        simulated_armature=armature if armature.any() else None,
        simulated_friction=friction,
    )


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
        first = ' and '.join(candidate.joint_names[0] for candidate in found)
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
    if arm is None:
        names = (*available_arms(), *ARM_NAME_ALIASES)
        searched = [(name, load(name)) for name in names]
    else:
        searched = [(arm.name, arm)]
    found = []
    for name, description in searched:
        requested = description.joint_names
        first = requested[0]
        prefixes = [joint[: -len(first)] for joint in joint_names if joint.endswith(first)]
        for candidate in prefixes:
            prefixed = tuple(candidate + joint for joint in requested)
            if prefix in (None, candidate) and all(joint in joint_names for joint in prefixed):
                found.append(ArmWithJointNames(name, description, prefixed))
    return found
