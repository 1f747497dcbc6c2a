# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the file of an arm for the C++ controller, and copies the controller's package."""

from collections.abc import Iterable
import math
from pathlib import Path
import re
import shutil
import tempfile

import numpy as np

from ..arm import ArmDescription, LinkInertia
from ..arm.frames import mount_rotation
from ..arm.friction import grows_with_load, LinearFriction, SigmoidFriction
from ..arrays import Array, ArrayLike
from ..control.terms import stiction_torque
from ..errors import DescriptionError, FrictionError, OutputError
from ..files import created_folder, share_directory
from ..spatial import JointKind

CONTROLLER_PACKAGE_NAME = 'franka_dynamics_controllers'
# What the controller's reader takes: the largest number of joints and of Maxwell-slip elements of
# each, and the largest number that is no limit (kMaxJoints, kMaxElements, kMostOfAnArm in C++).
MAX_JOINT_COUNT = 12
MAX_SLIP_ELEMENT_COUNT = 8
MAX_NUMBER = 1e6
_LIMIT_NAMES = ('lower', 'upper', 'velocity', 'acceleration', 'effort', 'effort_rate')
_FORBIDDEN_NAME_CHARACTERS = re.compile(r"""[\s#,:\[\]"']""")


def copy_controller_package(output_folder: Path) -> Path:
    """
    Copy the ament_cmake package into a folder, and return its own folder there.

    Raises
    ------
    OutputError
        If there is such a folder already, or it cannot be written; nothing is left then.

    """
    folder = output_folder / CONTROLLER_PACKAGE_NAME
    if folder.exists():
        raise OutputError(f'{folder} exists already; remove it first, or choose another --output.')
    try:
        with (
            created_folder(output_folder),
            tempfile.TemporaryDirectory(dir=output_folder) as beside,
        ):
            # A build in the source tree is no part of the package.
            ignored = shutil.ignore_patterns('build', 'install', 'log')
            whole = Path(beside, CONTROLLER_PACKAGE_NAME)
            shutil.copytree(share_directory() / 'cpp', whole, ignore=ignored)
            whole.rename(folder)
    except OSError as error:
        why = error.strerror
        if isinstance(error, shutil.Error):  # of its first file: '[Errno 28] REASON: PATHS'
            why = error.args[0][0][2].partition('] ')[2].partition(':')[0]
        raise OutputError(f'{folder} cannot be written: {why}. Choose another place.') from error
    return folder


def controller_arm_text(arm: ArmDescription) -> str:
    """
    Return an arm as YAML for the C++ package `franka_dynamics_controllers`.

    Links include the arm's hand and payload, and are given in frames whose z axis is the joint's
    axis. SI units.

    Raises
    ------
    DescriptionError
        If the arm has more than twelve joints, a joint has no torque limit, a name or a number
        that the file cannot hold, or the arm carries more than its rated load.
    InertiaError
        If a link is not physical.
    FrictionError
        If the friction model is not one of this package, or has more than eight slip elements.

    """
    arm.require_physical('a controller')
    _require_controllable(arm)
    limits = [arm.limit(name) for name in _LIMIT_NAMES]
    _, last = arm.joint_placements()[-1]  # the last DH frame in a frame whose z is its axis
    free_load_kg = math.inf
    if arm.rated_load is not None:
        free_load_kg = arm.rated_load - arm.carried_mass
    return '\n'.join(
        (
            f'# The arm {_yaml_name(arm.name)} for franka_dynamics_controllers, written by',
            '# franka-dynamics arm export. SI units; a row for each joint.',
            f'# Contents: {arm.contents_text}.',
            f'name: {_yaml_name(arm.name)}',
            f'joints: [{", ".join(arm.joint_names)}]',
            '# Whether the joint is prismatic; its placement in the frame of the joint before, z',
            '# its axis (rotation by rows, position); mass, first moment and inertia (xx, xy, xz,',
            "# yy, yz, zz) of its link about the joint's origin; rotor inertia.",
            *_yaml_rows('links', _joint_rows(arm)),
            '# Position from, to; velocity, acceleration, effort, effort rate; home.',
            *_yaml_rows('limits', np.column_stack([*limits, arm.home_position])),
            '# The change of torque below which friction may hold a joint.',
            *_yaml_rows('stiction', [stiction_torque(arm)]),
            '# Pose of the flange in the frame of the last joint, of the base in the space frame.',
            *_yaml_rows('flange', [_pose_numbers(last @ arm.flange_transform())]),
            '# Mass, first moment, inertia of the payload in the last link, at the flange.',
            *_yaml_rows('payload', [_body_parameters(arm.payload)]),
            *_yaml_rows('mount', [[*mount_rotation(arm).ravel(), 0.0, 0.0, 0.0]]),
            f'rated_load: {_yaml_number(free_load_kg)}  # on the flange',
            *_friction_yaml_lines(arm),
            '',
        )
    )


def _require_controllable(arm: ArmDescription) -> None:
    """Raise DescriptionError for an arm that the controller's reader would refuse."""
    if arm.n > MAX_JOINT_COUNT:
        raise DescriptionError(f'{arm.name} has {arm.n} joints; it may have {MAX_JOINT_COUNT}.')
    if arm.rated_load is not None and arm.carried_mass > arm.rated_load:
        raise DescriptionError(
            f'{arm.name} carries {arm.carried_mass:g} kg of hand and payload, more than its rated '
            f'load of {arm.rated_load:g} kg; export it with less.'
        )
    for joint in arm.joints:
        if joint.name in ('', '-') or _FORBIDDEN_NAME_CHARACTERS.search(joint.name):
            raise DescriptionError(
                f'{joint.name!r} cannot name a joint in a controller file, which takes no blanks, '
                'brackets, commas, colons, quotation marks or #, nor a dash alone; rename the '
                'joint.'
            )
        if joint.rotor_inertia > MAX_NUMBER:
            raise DescriptionError(
                f'{joint.name} has a rotor_inertia of {joint.rotor_inertia:g}; a controller file '
                f'takes at most {MAX_NUMBER:g}. Correct it in the arm file.'
            )
        if not math.isfinite(joint.limits.effort):
            raise DescriptionError(
                f'{joint.name} has no torque limit; give limits: {{effort: ...}} in the arm file.'
            )


def _joint_rows(arm: ArmDescription) -> Iterable[list[float]]:
    """Yield each joint as a row: whether prismatic, placement, link inertia, rotor inertia."""
    before = arm.base
    for joint, link, (axis, after) in zip(arm.joints, arm.links, arm.joint_placements()):
        pose = _pose_numbers(before @ axis)
        body = _body_parameters(link.expressed_in(after))
        yield [
            float(joint.kind is JointKind.PRISMATIC),
            *pose,
            *body,
            joint.rotor_inertia,
        ]
        before = after


def _friction_yaml_lines(arm: ArmDescription) -> list[str]:
    """Return an arm's friction as YAML lines; FrictionError for a type the controller lacks."""
    model = arm.friction
    n = arm.n
    if model is None:
        return ['friction: none']
    if isinstance(model, SigmoidFriction):
        name = 'sigmoid'
        width = 1.0
        reach = np.zeros(0)
        coefficients = np.stack([model.amplitude, model.slope, model.offset])
        covariance = None
    elif isinstance(model, LinearFriction):
        name = 'linear'
        width = model.width
        reach = getattr(model, 'reach', np.zeros(0))
        if len(reach) > MAX_SLIP_ELEMENT_COUNT:
            raise FrictionError(
                f'{arm.name} has {len(reach)} Maxwell-slip elements per joint; a controller takes '
                f'at most {MAX_SLIP_ELEMENT_COUNT}. Identify the friction with fewer.'
            )
        coefficients = model.coefficients
        covariance = getattr(model, 'covariance', None)
    else:
        raise FrictionError(f'A controller has no friction model of type {type(model).__name__}.')
    falls = isinstance(model, LinearFriction) and model.stribeck is not None
    count = len(coefficients)
    if covariance is None:
        covariance = np.zeros((n, count, count))
    return [
        '# Of each joint amplitude, slope, offset (sigmoid), or viscous, Coulomb, offset and',
        '# Maxwell-slip coefficients (linear); their covariance; reach of the elements.',
        *(['# After these comes that of friction that falls with speed.'] if falls else ()),
        *(['# The last coefficient is that of the load.'] if grows_with_load(model) else ()),
        f'friction: {name}',
        *_yaml_rows('friction_coefficients', coefficients.T),
        *_yaml_rows('friction_covariance', np.reshape(covariance, (n, -1))),
        f'friction_width: {_yaml_number(width)}',
        f'friction_elements: {len(reach)}',
        *(_yaml_rows('friction_reach', [reach]) if len(reach) else ()),
        *_stribeck_lines(model),
        *(['friction_grows_with_load: 1'] if grows_with_load(model) else ()),
        *_receiver_offset_lines(model),
    ]


def _stribeck_lines(model: SigmoidFriction | LinearFriction) -> list[str]:
    """Return YAML lines of the speed in which friction falls, if it does."""
    if isinstance(model, SigmoidFriction) or model.stribeck is None:
        return []
    return [f'friction_stribeck_speed: {_yaml_number(model.stribeck_speed)}']


def _receiver_offset_lines(model: SigmoidFriction | LinearFriction) -> list[str]:
    """Return YAML lines of the offset beside a robot's own gravity, if that is another."""
    if isinstance(model, SigmoidFriction) or model.receiver_offset is None:
        return []
    return [
        "# The offset beside the gravity torque of a robot's own model.",
        *_yaml_rows('friction_receiver_offset', [model.receiver_offset]),
    ]


def _body_parameters(body: LinkInertia) -> list[float]:
    """Return a body's mass, first moment and inertia (6) about its frame's origin, SI units."""
    inertia, moment, mass = np.split(body.parameters(), (6, 9))
    return [*mass, *moment, *inertia]


def _pose_numbers(transform: Array) -> list[float]:
    """Return a pose as nine numbers of its rotation, by rows, and three of its origin."""
    return [*transform[:3, :3].ravel(), *transform[:3, 3]]


def _yaml_rows(key: str, rows: Iterable[ArrayLike]) -> list[str]:
    """Return a YAML list of lists under a key, as lines."""
    texts = [', '.join(_yaml_number(value) for value in np.asarray(row)) for row in rows]
    return [f'{key}:', *(f'  - [{text}]' for text in texts)]


def _yaml_number(value: float) -> str:
    """Return a number as YAML text, with all digits."""
    if math.isinf(value):
        return '-.inf' if value < 0.0 else '.inf'
    return repr(float(value) + 0.0)


def _yaml_name(name: str) -> str:
    """Return a name with _ in place of each character that the YAML file cannot contain."""
    text = _FORBIDDEN_NAME_CHARACTERS.sub('_', name)
    return '_' if text in ('', '-') else text
