# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads two arms (shipped arms, arm files, URDFs or xacro files) and compares them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from numpy.typing import ArrayLike

from .alignment import arm_of_chain, links_in_frames_of, reference_on_mount_of
from .comparison import compare_descriptions, Comparison
from .published import nearest_set, published_sets
from ..arm import ArmDescription
from ..arm.arm_file import is_robot_model
from ..arm_io import as_description, load_arm
from ..dynamics.model import GRAVITY
from ..errors import DescriptionError, UnknownArmError
from ..urdf.importer import detect_arm
from ..urdf.reading import read_document
from ..urdf.serial_chain import read_chain


def compare(
    first: str | Path | ArmDescription,
    second: str | Path | ArmDescription,
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
        are paired from base to tip.
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
    of_first, of_second = (str(one).endswith('.xacro') for one in (first, second))
    if xacro and not (of_first or of_second):
        raise DescriptionError('Neither arm is a xacro file; leave xacro out.')
    if xacro and of_first and is_robot_model(second):
        first, xacro = load_arm(str(first), xacro=xacro), xacro if of_second else None
    return compare_descriptions(*read_pair(first, second, xacro=xacro), gravity)


def read_pair(
    first: str | Path | ArmDescription | None,
    second: str | Path | ArmDescription,
    *,
    prefix: str | None = None,
    inertial_set: str | None = None,
    hand: str | None = None,
    xacro: Mapping[str, object] | None = None,
) -> tuple[ArmDescription, ArmDescription]:
    """
    Return two loaded arms for `compare_descriptions`; if one is from a URDF, it comes second.

    `first` and `second` are arms as `compare` takes them. Without `first` the second must be a
    URDF, and the first is the shipped arm that has its joint names, in the published set and with
    the hand nearest to the URDF's inertials; `inertial_set` and `hand` limit the choice.
    `prefix` is the prefix of the joint names in the URDF, found if not given; `xacro` are a xacro
    file's arguments.

    Raises
    ------
    UrdfError
        If a URDF cannot be read, or which of its joints are the arm is not clear.
    UnknownArmError
        If there is no such arm, or no published set with this hand.

    """
    if not is_robot_model(second):
        if first is None:
            raise UnknownArmError(
                'An arm file does not say which arm to compare it with; name both arms.'
            )
        if is_robot_model(first):
            # Data that no URDF contains (friction, rotors) come from the arm that is no URDF.
            return read_pair(second, first, prefix=prefix, xacro=xacro)
        return as_description(first), as_description(second)
    if first is not None:
        first = as_description(first)
    document = read_document(f'{second}', xacro=xacro)
    reference, names = detect_arm(document, arm=first, prefix=prefix)
    arm = arm_of_chain(read_chain(document, names), reference)
    reference = reference_on_mount_of(reference, arm)
    if first is None:
        candidates = published_sets(reference, hand, inertial_set)
        if not candidates:
            which = f' {inertial_set}' if inertial_set else ''
            which += f' with the hand {hand}' if hand else ''
            raise UnknownArmError(
                f'{reference.name} has no published set{which}; name the arm (--arm) to compare '
                'with a set or a hand of a file.'
            )
        known = nearest_set(links_in_frames_of(reference, arm), candidates).known
        reference = replace(
            reference, links=known.links, inertial_set=known.inertial_set, hand=known.hand
        )
    return reference.with_joint_names(names), arm
