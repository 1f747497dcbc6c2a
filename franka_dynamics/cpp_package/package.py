# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A complete ament_cmake package of one arm: feedforward in C++ headers, and ROS plugins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import json
import math
import re

import numpy as np

from .constants import constants, message_bounds
from .controller_test_vectors import controller_test_vectors
from ..arm import ArmDescription
from ..arm.friction import LinearFriction, SigmoidFriction
from ..codegen.emit import c_header, identifier
from ..codegen.equations import (
    customised_equations,
    ParameterMode,
    Quantity,
    run_time_parameter_values,
)
from ..control.settings import MIN_ROTATION_RAD
from ..errors import DescriptionError, FrictionError
from ..parameter_schema import ParameterSpec, specs
from ..resources import share_directory
from ..typing import Array

QUANTITIES = (Quantity.GRAVITY, Quantity.CORIOLIS, Quantity.MASS_MATRIX, Quantity.INVERSE_DYNAMICS)
_PACKAGE_NAME = re.compile(r'[a-z][a-z0-9_]*[a-z0-9]')
# Folders of the package for the templates in cpp/, by suffix. @NAME@ and other words between @
# signs are replaced in the templates' names and texts.
_FOLDERS = {'.hpp': 'include/@NAME@/', '.cpp': 'src/', '.yaml': 'config/'}
_TEST = 'vectors_test.cpp'


# Words of C++17 that a ROS package may be called, but no namespace; main and std clash, too.
_RESERVED = frozenset(
    'alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t '
    'char32_t class compl const const_cast constexpr continue decltype default delete do '
    'double dynamic_cast else enum explicit export extern false float for friend goto if '
    'inline int long main mutable namespace new noexcept not not_eq nullptr operator or or_eq '
    'private protected public register reinterpret_cast return short signed sizeof static '
    'static_assert static_cast std struct switch template this thread_local throw true try '
    'typedef typeid typename union unsigned using virtual void volatile wchar_t while xor '
    'xor_eq'.split()
)


def cpp_package_files(description: ArmDescription, name: str) -> dict[str, str]:
    """
    Return an arm's ament_cmake package as texts of files by their paths in the package.

    The inertial parameters in the package include the arm's hand; payload and gravity are ROS
    parameters of the package's plugins. The package's own test compares it with the Python
    controller. `name` begins with a letter and has lower-case letters, digits and single
    underscores, as ROS requires.

    Raises
    ------
    DescriptionError
        If the name cannot be a package's, or the arm lacks torque limits.
    InertiaError
        If a link is not physical.
    FrictionError
        If the arm's friction model has no C++ code.

    """
    if _PACKAGE_NAME.fullmatch(name) is None or '__' in name:
        raise DescriptionError(
            f'{name[:80]!r} cannot be the name of a ROS package: it takes lower-case letters, '
            'digits and single underscores, a letter first.'
        )
    if name in _RESERVED:
        raise DescriptionError(
            f'{name!r} is a word of C++ and cannot name the package, which is a namespace, too; '
            f'{name}_controller can.'
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
        'CONSTANTS': constants(),
        **message_bounds(),
        'HAND': description.hand,
        **_arm_words(description),
    }
    files = {}
    for path in sorted((share_directory() / 'cpp').iterdir()):
        folder = 'test/' if path.name == _TEST else _FOLDERS.get(path.suffix, '')
        text = path.read_text(encoding='utf-8')
        files[_filled(f'{folder}{path.name}', words)] = _filled(text, words)
    listed = [
        customised_equations(description, quantity, parameters=ParameterMode.RUN_TIME)
        for quantity in QUANTITIES
    ]
    return {
        **files,
        f'include/{name}/equations.h': c_header(listed),
        'test/vectors.csv': controller_test_vectors(description),
    }


_BRACES = str.maketrans('[]', '{}')
_KINDS = {
    'bool': 'bool',
    'double': 'double',
    'string': 'std::string',
    'double_array': 'std::vector<double>',
}


def _shared() -> list[ParameterSpec]:
    """Return the parameters that the C++ controller shares with the Python node."""
    return [*specs('torque'), *specs('motion')]


def _declarations() -> Iterator[str]:
    """Yield the C++ declarations of the parameters from `_shared`."""
    for spec in _shared():
        # A JSON literal is a C++ literal, except that C++ writes braces for the brackets of an
        # array.
        default = json.dumps(spec.default).translate(_BRACES)
        yield f'  auto_declare<{_KINDS[spec.kind]}>("{spec.name}", {default});'


def _bounds() -> Iterator[str]:
    """Yield C++ range checks of the parameters of `_shared` that have bounds."""
    for spec in _shared():
        if spec.bounds:
            (low, high), unit = spec.bounds, f' {spec.unit}'.rstrip()
            yield f'  if (!(s.{spec.name} >= {low} && s.{spec.name} <= {high})) {{'
            yield f'    return "{spec.name} must be within {low:g} and {high:g}{unit}";'
            yield '  }'


def _filled(text: str, words: dict[str, str]) -> str:
    for key, value in words.items():
        text = text.replace(f'@{key}@', value)
    return text


def _arm_words(description: ArmDescription) -> dict[str, str]:
    """Return the arm's numbers as texts, by the placeholders of the template arm.hpp."""

    def limit(name: str) -> str:
        return _listed(np.abs(description.limit(name)))

    rated, home = (description.rated_load or math.inf) - description.carried, description.home
    rotated = np.abs(description.base[:3, :3] - np.eye(3)) > MIN_ROTATION_RAD
    return {
        'N': str(description.n),
        'JOINT_NAMES': ', '.join(map(json.dumps, description.joint_names)),
        'PARAMETERS': _wrapped(run_time_parameter_values(description)),
        'FLANGE': ',\n  '.join(
            f'{{{_listed(row)}}}' for row in description.flange_transform()[:3]
        ),
        'LOWER': _listed(description.limit('lower')),
        'UPPER': _listed(description.limit('upper')),
        'EFFORT': limit('effort'),
        'EFFORT_RATE': limit('effort_rate'),
        'VELOCITY': limit('velocity'),
        'ACCELERATION': limit('acceleration'),
        'HOME': _listed(np.zeros(description.n) if home is None else home),
        'RATED_LOAD': _number(rated),
        'BASE_ROTATED': json.dumps(bool(rotated.any())),
        'BASE_INCLINED': json.dumps(bool(rotated[2].any())),
        **_friction_words(description),
    }


def _friction_words(description: ArmDescription) -> dict[str, str]:
    """Return the numbers of the arm's friction model as texts for the template arm.hpp."""
    model, n = description.friction, description.n
    kind, rows, reach = 'none', np.zeros((4, n)), np.zeros(0)
    covariance, width = None, 1.0
    if isinstance(model, SigmoidFriction):
        kind = 'sigmoid'
        rows = np.stack([model.amplitude, model.slope, model.offset, model.at_rest])
    elif isinstance(model, LinearFriction):
        kind, width, covariance = 'linear', model.width, model.covariance
        rows, reach = model.coefficients, getattr(model, 'reach', reach)
    elif model is not None:
        raise FrictionError(
            f'A friction model of type {type(model).__name__} cannot be generated as code.'
        )
    covariance = np.zeros((n, len(rows), len(rows))) if covariance is None else covariance
    return {
        'FRICTION': kind,
        'FRICTION_ROWS': str(len(rows)),
        'ELEMENTS': str(len(reach)),
        'COEFFICIENTS': _rows(rows),
        'FRICTION_COVARIANCE': ','.join(f'{{{_rows(one, 1)}}}' for one in covariance),
        'REACH': _listed([*reach, 1.0]),
        'WIDTH': _number(width),
    }


def _rows(values: Array, braces: int = 2) -> str:
    return ','.join(f'\n  {"{" * braces}{_listed(row)}{"}" * braces}' for row in values)


def _wrapped(values: Iterable[float]) -> str:
    numbers = [_number(value) for value in values]
    return ''.join(f'\n  {", ".join(numbers[i : i + 11])},' for i in range(0, len(numbers), 11))


def _listed(values: Iterable[float] | Array) -> str:
    return ', '.join(_number(value) for value in values)


def _number(value: float) -> str:
    if math.isinf(value):
        return ('-' if value < 0.0 else '') + 'std::numeric_limits<double>::infinity()'
    return repr(float(value))
