# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A complete ament_cmake package of one arm: the feedforward as a C++ header and its plugins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import json
import math
import re

import numpy as np

from .emit import c_header, identifier
from .equations import customised_equations, parameter_values, Parameters, Quantity
from ..arm import ArmDescription
from ..arm.friction import MaxwellSlipFriction, SigmoidFriction, ViscousCoulombFriction
from ..errors import DescriptionError, FrictionError
from ..parameter_schema import ParameterSpec, specs
from ..resources import share_directory
from ..typing import Array

QUANTITIES = (Quantity.GRAVITY, Quantity.CORIOLIS, Quantity.MASS_MATRIX, Quantity.INVERSE_DYNAMICS)
# As control.braking and control.terms have them.
BRAKE_ACCELERATION = 10.0  # [rad/s^2] of a joint whose file states no limit
DEVIATIONS_LEFT = 2.0  # standard deviations of each coefficient
_PACKAGE_NAME = re.compile(r'[a-z][a-z0-9_]*[a-z0-9]')
# Where the files of cpp/ go, by suffix; @NAME@ and others in names and texts are replaced.
_FOLDERS = {'.hpp': 'include/@NAME@/', '.cpp': 'src/', '.yaml': 'config/'}


def cpp_package(description: ArmDescription, name: str) -> dict[str, str]:
    """
    Return the files of an ament_cmake package, by their paths inside it.

    Parameters
    ----------
    description : ArmDescription
        The arm, with its hand; a payload and gravity are settings of the package.
    name : str
        The package's name, as ROS requires it: lower case, digits, underscores.

    Raises
    ------
    DescriptionError
        If the name cannot be a package's, or the arm lacks torque limits.

    """
    if _PACKAGE_NAME.fullmatch(name) is None or '__' in name:
        raise DescriptionError(
            f'{name[:80]!r} cannot be the name of a ROS package: it takes lower-case letters, '
            'digits and single underscores, a letter first.'
        )
    description.require_physical('a C++ package')
    if not np.isfinite(description.limit('effort')).all():
        joint = description.joint_names[int(np.argmin(np.isfinite(description.limit('effort'))))]
        raise DescriptionError(
            f'{joint} has no torque limit; a controller must know one: write '
            'limits: {effort: ...} into the arm file.'
        )
    words = {
        'NAME': name,
        'GUARD': name.upper(),
        'PREFIX': identifier(description.name),
        'ARM': description.name,
        'SET': description.inertial_set,
        'JOINTS': '[' + ', '.join(description.joint_names) + ']',
        'DECLARATIONS': '\n'.join(_declarations()),
        'BOUNDS': '\n'.join(_bounds()),
    }
    files = {
        _filled(f'{_FOLDERS.get(path.suffix, "")}{path.name}', words): _filled(
            path.read_text(encoding='utf-8'), words
        )
        for path in sorted((share_directory() / 'cpp').iterdir())
    }
    files[f'include/{name}/arm.hpp'] = _arm_header(description, name)
    files[f'include/{name}/equations.h'] = _equations_header(description)
    return files


# Of config/parameters, what the controller has no use for.
_NOT_HERE = ('max_flange_error', 'stream_period')
_BRACES = str.maketrans('[]', '{}')
_KINDS = {
    'bool': 'bool',
    'double': 'double',
    'string': 'std::string',
    'double_array': 'std::vector<double>',
}


def _shared() -> list[ParameterSpec]:
    """Return the parameters that the Python node has too."""
    return [spec for spec in (*specs('torque'), *specs('motion')) if spec.name not in _NOT_HERE]


def _declarations() -> Iterator[str]:
    """Yield the declarations of these parameters."""
    for spec in _shared():
        # JSON's literals are C++'s, but for the brackets.
        default = json.dumps(spec.default).translate(_BRACES)
        yield f'  auto_declare<{_KINDS[spec.kind]}>("{spec.name}", {default});'


def _bounds() -> Iterator[str]:
    """Yield the checks of those that have a range."""
    for spec in _shared():
        if spec.minimum is not None and spec.maximum is not None:
            low, high, unit = spec.minimum, spec.maximum, f' {spec.unit}'.rstrip()
            yield f'  if (!(s.{spec.name} >= {low} && s.{spec.name} <= {high})) {{'
            yield f'    return "{spec.name} must be within {low:g} and {high:g}{unit}";'
            yield '  }'


def _filled(text: str, words: dict[str, str]) -> str:
    for key, value in words.items():
        text = text.replace(f'@{key}@', value)
    return text


def _equations_header(description: ArmDescription) -> str:
    return c_header(
        [
            customised_equations(description, quantity, parameters=Parameters.RUN_TIME)
            for quantity in QUANTITIES
        ]
    )


def _arm_header(description: ArmDescription, name: str) -> str:
    flange = ',\n  '.join(f'{{{_listed(row)}}}' for row in description.flange_transform()[:3])
    home = description.home if description.home is not None else np.zeros(description.n)
    limit = np.abs(description.limit('acceleration'))
    acceleration = np.where(np.isfinite(limit), limit, BRAKE_ACCELERATION)
    rated = np.inf if description.rated_load is None else description.rated_load
    vectors = {
        'kLower': (description.limit('lower'), 'position limits [rad]'),
        'kUpper': (description.limit('upper'), ''),
        'kEffort': (description.limit('effort'), 'largest torque [N m]'),
        'kEffortRate': (description.limit('effort_rate'), 'largest change of it [N m/s]'),
        'kVelocity': (np.abs(description.limit('velocity')), 'largest velocity [rad/s]'),
        'kAcceleration': (acceleration, 'largest acceleration of a brake [rad/s^2]'),
        'kHome': (home, 'home pose [rad]'),
    }
    guard = f'{name.upper()}_ARM_HPP'
    lines = [
        '// Copyright 2026 The franka_dynamics authors',
        '// SPDX-License-Identifier: Apache-2.0',
        f'// {description.name}, inertial set {description.inertial_set}, hand '
        f'{description.hand}. Generated by franka-dynamics codegen.',
        f'#ifndef {guard}',
        f'#define {guard}',
        '',
        '#include <array>',
        '#include <cstddef>',
        '#include <limits>',
        '',
        f'#include "{name}/equations.h"',
        '',
        f'namespace {name}',
        '{',
        '',
        f'constexpr std::size_t kJoints = {description.n};',
        'constexpr std::array<const char *, kJoints> kJointNames{',
        f'  {", ".join(_quoted(joint) for joint in description.joint_names)}}};',
        '',
        '// For each link xx, xy, xz, yy, yz, zz, hx, hy, hz, m and the rotor inertia, then '
        'gravity.',
        f'constexpr std::array<double, 11 * kJoints + 3> kParameters{{'
        f'{_wrapped(parameter_values(description))}}};',
        '',
        '// Pose of the flange in the frame of the last joint: rotation and translation.',
        f'constexpr double kFlange[3][4] = {{\n  {flange}}};',
        '',
    ]
    for key, (values, meaning) in vectors.items():
        if meaning:
            lines.append(f'// {meaning[0].upper()}{meaning[1:]}')
        lines.append(f'constexpr std::array<double, kJoints> {key}{{\n  {_listed(values)}}};')
    lines += [
        '',
        '// Rated load [kg].',
        f'constexpr double kRatedLoad = {_number(rated)};',
        '',
        *_friction_lines(description),
        '',
        f'}}  // namespace {name}',
        '',
        f'#endif  // {guard}',
        '',
    ]
    return '\n'.join(lines)


def _friction_lines(description: ArmDescription) -> list[str]:
    """Return the constants of friction.hpp: rows of coefficients, and what is left of each."""
    model, n = description.friction, description.n
    kind, rows, reach = 'none', np.zeros((4, n)), np.zeros(0)
    deviations, width, stribeck_velocity = None, 1.0, 1.0
    if isinstance(model, SigmoidFriction):
        kind = 'sigmoid'
        rows = np.stack([model.amplitude, model.slope, model.offset, model.at_rest])
    elif isinstance(model, ViscousCoulombFriction):
        kind, width, deviations = 'linear', model.width, model.deviations
        # The row of the Stribeck term, which this model lacks.
        rows = np.insert(model.coefficients, 2, 0.0, axis=0)
        deviations = None if deviations is None else np.insert(deviations, 2, 0.0, axis=0)
    elif isinstance(model, MaxwellSlipFriction):
        kind, width, deviations = 'linear', model.width, model.deviations
        rows, reach, stribeck_velocity = model.coefficients, model.reach, model.stribeck_velocity
    elif model is not None:
        raise FrictionError(
            f'A friction model of type {type(model).__name__} cannot be generated as code.'
        )
    left = np.zeros_like(rows) if deviations is None else DEVIATIONS_LEFT * deviations
    size = f'constexpr std::array<std::array<double, kJoints>, {len(rows)}>'
    return [
        '// Friction: rows of amplitude, slope, offset, value at rest (sigmoid), or of viscous,',
        '// Coulomb, Stribeck, offset and Maxwell-slip coefficients (linear); then how much of it',
        '// is left to the arm because it is not certain.',
        'enum class FrictionKind {none, sigmoid, linear};',
        f'constexpr FrictionKind kFriction = FrictionKind::{kind};',
        f'constexpr std::size_t kElements = {len(reach)};',
        f'{size} kFrictionCoefficients{{{{{_rows(rows)}}}}};',
        f'{size} kFrictionLeft{{{{{_rows(left)}}}}};',
        '// Reach of the elements [rad]; one more, so that the array is never empty.',
        f'constexpr std::array<double, kElements + 1> kReach{{{_listed([*reach, 1.0])}}};',
        f'constexpr double kFrictionWidth = {_number(width)};     // [rad/s]',
        f'constexpr double kStribeckVelocity = {_number(stribeck_velocity)};  // [rad/s]',
    ]


def _rows(values: Array) -> str:
    return ','.join(f'\n  {{{{{_listed(row)}}}}}' for row in values)


def _wrapped(values: Iterable[float]) -> str:
    numbers = [_number(value) for value in values]
    return ''.join(f'\n  {", ".join(numbers[i : i + 11])},' for i in range(0, len(numbers), 11))


def _listed(values: Iterable[float] | Array) -> str:
    return ', '.join(_number(value) for value in values)


def _number(value: float) -> str:
    if math.isinf(value):
        return ('-' if value < 0.0 else '') + 'std::numeric_limits<double>::infinity()'
    return repr(float(value))


def _quoted(text: str) -> str:
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'
