# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loads an arm by its shipped name or from a file, and writes arm files, URDFs and MJCFs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
import sys
from typing import Any
import warnings

from .arguments import with_argument_checks
from .arm import arm_file
from .arm.arm_file import (
    arm_file_text,
    is_franka_arm,
    is_urdf_or_mjcf,
    is_xml_text,
)
from .arm.description import ArmDescription
from .arm.hand_change import with_hand
from .arm.inertia import LinkInertia
from .arm.load_questions import hand_questions, payload_questions
from .arm.payload import as_payload, payload_array, payload_from_array
from .arrays import ArrayLike
from .constants import AS_LISTED
from .errors import ArmWarning, DescriptionError, list_text, UrdfWarning
from .files import write_text
from .urdf.mjcf_writer import mjcf_text
from .urdf.writer import urdf_text

_MAX_SHOWN_WARNINGS = 5
ArmLike = ArmDescription | str | Path  # an arm, or its name or file, as `load_arm` takes it


def load_arm(
    arm: str | Path,
    inertial_set: str | None = None,
    *,
    hand: str = AS_LISTED,
    prefix: str = '',
    repair: str | None = None,
    payload: LinkInertia | ArrayLike | None = None,
    joints: Sequence[str] | None = None,
    held: Mapping[str, float] | None = None,
    tip: str | None = None,
    xacro: Mapping[str, object] | None = None,
) -> ArmDescription:
    """
    Load a shipped arm by name, or an arm from an arm file, a URDF, an MJCF or a xacro file.

    Parameters
    ----------
    arm : str or Path
        'fer', 'fr3', 'FR3v2.1', ...; 'panda' is the fer with its joints named panda_joint1 to
        panda_joint7; or the path of an arm file (.yaml), a URDF (.urdf, .xml), an MJCF (.xml) or a
        xacro file (.xacro); or the text of a URDF or MJCF, which begins with <. If a URDF has more
        than one chain of moving joints, `prefix`, `joints` or `held` choose.
    inertial_set : str, optional
        Which of the file's inertial sets to use; its `default_set` if not given. Not allowed for a
        URDF, which has one set.
    hand : str
        'as_listed' keeps the hand that the set was published with (if any), 'none' takes it off,
        and a hand's name, or the path of a hand file, puts that hand on in its place. Bodies that
        a URDF has after its last joint stay.
    prefix : str
        Prefix of every joint name, verbatim. It is added to the names of a shipped arm or an arm
        file; the joints of a URDF must already have it.
    repair : str, optional
        'nearest_within_rounding' replaces physically impossible links by the nearest physical ones
        within the rounding that the set states. Not allowed for a URDF, which states none.
    payload : LinkInertia or array_like, optional
        A body on the flange, in the flange frame: its inertia about the flange's origin; or mass,
        centre of mass (3) and, if it is no point, inertia about the centre of mass (xx, xy, xz,
        yy, yz, zz) [kg, m, kg m^2].
    joints : sequence of str, optional
        The arm's joints in a URDF, from base to tip.
    held : mapping of str to float, optional
        Positions [rad or m] of other joints in a URDF: joints on which the arm stands (a lift),
        and joints that it carries (a gripper's opening). By default zero, or the limit nearest
        to zero.
    tip : str, optional
        The link of a URDF that is the flange, on which hand and payload are. Default: a link with
        one of the names in use, or else the last one that moves; `notes` say so.
    xacro : mapping of str to object, optional
        Arguments of a xacro file, which has its own defaults.

    Returns
    -------
    ArmDescription
        The arm. For a URDF, its `notes` are those of `import_urdf`. What changes torques
        (`torque_notes`) is also given as UrdfWarnings, doubtful numbers of a hand or payload as
        ArmWarnings.

    Raises
    ------
    UnknownArmError
        If there is no such arm, set or hand; the message lists the available ones.
    DescriptionError
        If the file cannot be read or is inconsistent; the message names file and field.
    InertiaError
        If hand or payload is impossible or beyond the rated load, the requested repair is
        impossible, or a Desk file of the hand has impossible numbers.
    MissingDependencyError
        If a repair is asked for and clarabel is not installed.

    """
    if is_urdf_or_mjcf(arm):
        source = 'The text' if is_xml_text(arm) else str(arm)
        for name, value in (('inertial_set', inertial_set), ('repair', repair)):
            if value is not None:
                raise DescriptionError(
                    f'{source} has one inertial set and states no rounding; leave {name} out, or '
                    'write it as an arm file (franka-dynamics arm import).'
                )
        # It imports Pinocchio, which loading an arm by name or from an arm file does not need.
        from .urdf.importer import import_urdf

        read = import_urdf(arm, joint_names=joints, held=held, tip=tip, prefix=prefix, xacro=xacro)
        description = with_hand(read, hand)
    else:
        of_files = {
            'joints (--joints)': joints,
            'held (--hold)': held,
            'tip (--tip)': tip,
            'xacro (NAME:=VALUE)': xacro,
        }
        given = [name for name, value in of_files.items() if value is not None and len(value)]
        if given:
            raise DescriptionError(
                f'{arm} is no URDF or MJCF, which alone can have {list_text(given)}; leave that '
                'out, or give the URDF or MJCF.'
            )
        description = arm_file.load(arm, inertial_set, hand=hand, prefix=prefix, repair=repair)
    if payload is not None:
        body = as_payload(payload)
        payload_from_array(payload_array(body))  # raises InertiaError, of a LinkInertia, too
        description.require_within_rated_load(body.mass)
        description = description.with_payload(body)
    away = is_franka_arm(description.name)
    doubts = (
        *hand_questions(description.hand, z_points_away=away),
        *payload_questions(description.payload, z_points_away=away),
    )
    notes = (*description.torque_notes, *doubts)
    if doubts:
        description = replace(description, torque_notes=notes)
    if (more := len(notes) - _MAX_SHOWN_WARNINGS) > 0:
        notes = (*notes[:-more], f'and {more} more: see notes of the arm.')
    for sentence in notes:
        kind = ArmWarning if sentence in doubts else UrdfWarning
        warnings.warn(sentence, kind, stacklevel=_stack_level_of_caller())
    return description


def _stack_level_of_caller() -> int:
    """Return the `stacklevel` of a warning that names the first caller outside the package."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals['__name__'].startswith(f'{__package__}.'):
        level = level + 1
        frame = frame.f_back
    return level


def as_description(arm: ArmLike) -> ArmDescription:
    """
    Return the given ArmDescription, or the one loaded from an arm's name or file.

    Raises
    ------
    DescriptionError
        If `arm` is no description, string or path, or `load` refuses it.

    """
    if isinstance(arm, ArmDescription):
        return arm
    if isinstance(arm, (str, Path)):
        return load_arm(arm)
    raise DescriptionError(
        'An arm is an ArmDescription (franka_dynamics.load returns one), the name of a shipped '
        f'arm or the path of a file; got a {type(arm).__name__}.'
    )


def save(description: ArmLike, path: str | Path, **options: Any) -> None:
    """
    Write an arm's description to an arm file, which appears complete or not at all.

    Parameters
    ----------
    description : ArmDescription, str or Path
        The arm, or its name or file.
    path : str or Path
        The file to write; an existing file is replaced.
    **options : str
        `source`, `title`, `notes` and `friction_source`: the origin of the inertial set, the arm's
        full name, remarks on the inertial set, and the origin of the friction.

    Returns
    -------
    None

    Raises
    ------
    DescriptionError
        If `description` is no arm, its friction model is none of the three that an arm file can
        hold, or a number or name is one that `load` refuses.
    OutputError
        If the file cannot be written.

    """
    write_text(
        path,
        with_argument_checks(arm_file_text)(as_description(description), **options),
    )


def write_urdf(description: ArmLike, path: str | Path, **options: Any) -> None:
    """
    Write the URDF of an arm to a file, which then appears complete or not at all.

    The options and errors are those of `franka_dynamics.urdf.writer.urdf_text`.

    Raises
    ------
    OutputError
        If the file cannot be written.

    """
    write_text(path, with_argument_checks(urdf_text)(as_description(description), **options))


def write_mjcf(description: ArmLike, path: str | Path, **options: Any) -> None:
    """
    Write the MJCF of an arm to a file, which then appears complete or not at all.

    The options and errors are those of `urdf.mjcf_writer.mjcf_text`, such as `ideal`.

    Raises
    ------
    OutputError
        If the file cannot be written.

    """
    write_text(path, with_argument_checks(mjcf_text)(as_description(description), **options))
