# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads and writes payloads as numbers, as ROS parameter files and as files of Franka's Desk."""

from dataclasses import dataclass, field
import json
import math
from pathlib import Path
import re
from typing import Annotated, Any, ClassVar

import numpy as np
import yaml

from .inertia import elements_from_tensor, LinkInertia, tensor_from_elements
from .typed_file import FieldError, length_rule, read_typed_file, Vector3
from ..arrays import Array, ArrayLike, as_array
from ..constants import parse_float
from ..errors import DescriptionError, InertiaError
from ..files import expanded_path

PAYLOAD_ORDER = ('mass', 'x', 'y', 'z', 'xx', 'xy', 'xz', 'yy', 'yz', 'zz')
_PAYLOAD_WORDS = f'A payload, {", ".join(PAYLOAD_ORDER)} [kg, m, kg m^2] or the first four,'
MAX_PAYLOAD_KG = 100.0  # more than any supported arm can lift
# Largest distance of the payload's centre of mass from the flange.
MAX_PAYLOAD_DISTANCE_M = 1.0
# Coordinates of a centre of mass below this become zero.
_MAX_CENTER_ROUNDOFF_M = 1e-12
# Elements of a tensor become zero below this share of the largest element of the tensor about the
# flange's origin.
_MAX_TENSOR_ROUNDOFF_TO_LARGEST = 1e-12
# Largest accepted asymmetry of a tensor in Desk's file, relative to its largest element.
_MAX_ASYMMETRY_TO_LARGEST = 1e-9
# Digits that Desk's file has of the largest number of a mass, a centre or a tensor.
_DESK_DIGIT_COUNT = 12
_PARAMETER_FILE_COMMENT = """\
# Payload in the flange frame: mass [kg], centre of mass [m], inertia about the centre of mass
# (xx xy xz yy yz zz) [kg m^2].
"""
_PARAMETER_FORMAT_HINT = 'a parameter file starts with /**:'
_DESK_FORMAT_HINT = 'an end effector of Desk starts with { and has mass, centerOfMass and inertia'
# A payload as users give one: a body, or numbers in PAYLOAD_ORDER.
PayloadLike = LinkInertia | ArrayLike
# Keys are nodes' names, ros__parameters and names of parameters.
_ParameterSections = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class _DeskFile:
    """
    Name, mass, centre of mass and inertia tensor (9,) in the end-effector file of Franka's Desk.

    Other entries of the file are ignored.
    """

    ignores_other_keys: ClassVar = True
    mass: float
    center: Vector3 = field(metadata={'key': 'centerOfMass'})
    inertia: Annotated[Array, length_rule(9)]
    name: Any = ''  # only shown, so that anything may stand here

    def __post_init__(self) -> None:
        """Raise FieldError for a mass of zero, or a tensor not symmetric within rounding."""
        if self.mass == 0.0:
            raise FieldError('is 0; leave the file out for no end effector', 'mass')
        tensor = self.inertia.reshape(3, 3)
        if np.abs(tensor - tensor.T).max() > _MAX_ASYMMETRY_TO_LARGEST * np.abs(tensor).max():
            raise FieldError(f'is not symmetric: {self.inertia.tolist()}', 'inertia')

    def payload_array(self) -> Array:
        """Return the end effector's numbers in PAYLOAD_ORDER, (10,), in the flange frame."""
        elements = elements_from_tensor(self.inertia.reshape(3, 3))
        return np.concatenate(([self.mass], self.center, elements))


def payload_array(inertia: LinkInertia) -> Array:
    """
    Return a body's mass, centre of mass c, inertia about c (xx xy xz yy yz zz), shape (10,).

    `inertia` holds the body's mass, first moment and inertia about the flange's origin, in the
    flange frame. Coordinates of c and tensor elements as small as rounding errors become zero.
    """
    center = inertia.center_of_mass
    moments = elements_from_tensor(inertia.inertia_at_center_of_mass)
    center = np.where(np.abs(center) < _MAX_CENTER_ROUNDOFF_M, 0.0, center)
    least = _MAX_TENSOR_ROUNDOFF_TO_LARGEST * np.abs(inertia.inertia).max()
    moments = np.where(np.abs(moments) < least, 0.0, moments)
    return np.concatenate(([inertia.mass], center, moments))


def payload_from_array(numbers: Array) -> LinkInertia:
    """
    Return a payload array (10,) as a body about the flange's origin; InertiaError if implausible.

    The ten finite numbers are in the order of `payload_array`; ten zeros mean no payload.

    Raises
    ------
    InertiaError
        If the numbers are physically impossible, or the body is too heavy or too far from the
        flange.

    """
    mass = float(numbers[0])
    center = numbers[1:4]
    inertia = numbers[4:]
    if mass < 0.0:
        raise InertiaError(f"The payload's mass is {mass} kg; a mass cannot be negative.")
    if mass == 0.0 and numbers[1:].any():
        raise InertiaError(
            'payload has no mass but a centre of mass or inertia; give it, or ten zeros for none.'
        )
    require_plausible_payload(mass, center, inertia)
    body = LinkInertia.from_center_of_mass(mass, center, inertia)
    if not body.is_physical():
        raise InertiaError(
            f'payload inertia {inertia.tolist()} (xx, xy, xz, yy, yz, zz about the centre of '
            f'mass) belongs to no real body: its principal moments miss the triangle '
            f'inequality A + B >= C by {-body.triangle_margin():.3g} kg m^2.'
        )
    return body


def require_plausible_payload(mass: float, center: Array, inertia: Array) -> None:
    """Raise InertiaError for a hand or payload that is too heavy, too far away or too large."""
    if mass > MAX_PAYLOAD_KG:
        raise InertiaError(
            f'The load on the flange has the mass {mass:g} kg; arms carry at most '
            f'{MAX_PAYLOAD_KG:g}. Are these grams?'
        )
    distance = float(np.linalg.norm(center))
    if distance > MAX_PAYLOAD_DISTANCE_M:
        raise InertiaError(
            f'The load on the flange has the centre of mass {distance:.4g} m from the flange; at '
            f'most {MAX_PAYLOAD_DISTANCE_M:g} m is taken. Are these millimetres?'
        )
    largest = float(np.ravel(inertia)[np.abs(inertia).argmax()])
    most = mass * MAX_PAYLOAD_DISTANCE_M**2
    if abs(largest) > most:
        raise InertiaError(
            f'The load on the flange has the inertia {largest:.4g} kg m^2; {mass:g} kg within '
            f'{MAX_PAYLOAD_DISTANCE_M:g} m of their centre have at most {most:g}. Is this in '
            'kg mm^2 (times 1e-6) or g m^2 (1e-3)?'
        )


def read_payload(text_or_path: str) -> LinkInertia:
    """
    Return the payload of 4 or 10 comma-separated numbers or of a file; InertiaError without mass.

    Parameters
    ----------
    text_or_path : str
        Four or ten numbers in the flange frame, separated by commas: mass [kg], centre of mass
        x, y, z [m], and the inertia about the centre of mass xx, xy, xz, yy, yz, zz [kg m^2]. Or
        the path of a parameter file (.yaml) as `payload_parameter_text` writes it, or of Desk's
        end-effector file (.json).

    Returns
    -------
    LinkInertia
        About the flange's origin, in the flange frame.

    Raises
    ------
    InertiaError
        If there are neither four nor ten numbers, the mass is 0, or `payload_from_array` refuses
        them.
    DescriptionError
        If the file cannot be read or holds no payload.

    """
    path = expanded_path(text_or_path)
    name = text_or_path
    if text_or_path.endswith('.json'):
        numbers = read_typed_file(path, _DeskFile, _DESK_FORMAT_HINT).payload_array()
    elif text_or_path.endswith(('.yaml', '.yml')):
        numbers = _numbers_in_parameter_file(path)
    else:
        name = text_or_path[:80]
        numbers = _numbers_in_text(text_or_path)
    try:
        body = as_payload(numbers)
    except InertiaError as error:
        raise InertiaError(f'{name}: {error}') from error
    if body.mass == 0.0:
        raise InertiaError(f'The payload {text_or_path[:80]!r} has no mass; leave it out.')
    return body


def _numbers_in_parameter_file(path: Path) -> Any:
    """Return what a parameter file has as payload, of any type; () if it has none."""
    sections = read_typed_file(path, _ParameterSections, _PARAMETER_FORMAT_HINT)
    if len(sections) != 1:
        nodes = f'more than one node ({", ".join(sections)})' if sections else 'no node'
        raise DescriptionError(
            f'{path} names {nodes}; a payload is one section with ros__parameters and payload.'
        )
    (section,) = sections.values()
    return section.get('ros__parameters', {}).get('payload', ())


def _numbers_in_text(text: str) -> Array:
    """Return numbers that commas separate; raise InertiaError if one is no number."""
    try:
        return np.array([parse_float(part) for part in text.split(',')])
    except ValueError:
        raise InertiaError(
            f'{text[:80]}: {_PAYLOAD_WORDS} must be finite numbers with commas between them, or '
            'the path of a .yaml or .json file.'
        ) from None


def as_payload(payload: PayloadLike) -> LinkInertia:
    """
    Return a payload, given as LinkInertia or 4 or 10 numbers, as LinkInertia at the flange.

    `payload` is such an inertia, or four or ten numbers in the order of PAYLOAD_ORDER [kg, m,
    kg m^2]. Ten zeros mean no payload.

    Raises
    ------
    InertiaError
        If there are neither four nor ten finite numbers, or no real body has them.

    """
    if isinstance(payload, LinkInertia):
        return payload
    numbers = as_array(payload, (...,), _PAYLOAD_WORDS, InertiaError)
    if numbers.shape == (4,):  # a point mass
        numbers = np.append(numbers, np.zeros(6))
    return payload_from_array(as_array(numbers, (10,), _PAYLOAD_WORDS, InertiaError))


def desk_name(path: Path) -> str:
    """Return the name in an end-effector file of Franka's Desk, or else the file's own."""
    name = read_typed_file(path, _DeskFile, _DESK_FORMAT_HINT).name
    return name if name and isinstance(name, str) else path.stem


def payload_parameter_text(payload: Array, comment: str) -> str:
    """Return the text of a ROS parameter file that sets `payload`, with `comment` on top."""
    numbers = ', '.join(yaml_number(value) for value in payload)
    lines = ''.join(f'# {line}\n' for line in comment.splitlines())
    return f'{lines}{_PARAMETER_FILE_COMMENT}/**:\n  ros__parameters:\n    payload: [{numbers}]\n'


def desk_json(payload: PayloadLike, name: str) -> str:
    """
    Return the text of Franka's `endeffector-config.json`, for upload in Desk's settings.

    The fields are those of "End effector commissioning" in Franka's RIDE CLI documentation 1.1.1;
    matrices are written by columns, and the end effector's frame is the flange frame.

    Parameters
    ----------
    payload : LinkInertia or array_like
        What is on the flange, given as to `load`: an inertia about the flange's origin, as
        `load_hand` returns; or mass, centre of mass (3) and, if it is no point, inertia about
        the centre of mass (xx, xy, xz, yy, yz, zz), in the flange frame [kg, m, kg m^2].
    name : str
        What Desk shows; the runs of ASCII letters and digits in it, joined by hyphens, without a
        leading 'ee-', become the `id`.

    Returns
    -------
    str
        The file's text.

    Raises
    ------
    InertiaError
        If the name has no letter and no digit, or the payload no mass or impossible numbers.

    """
    identifier = re.sub('[^A-Za-z0-9]+', '-', name).strip('-').removeprefix('ee-')
    if not identifier:
        raise InertiaError(f'The name {name!r} has no letter or digit to call an end effector by.')
    body = as_payload(payload)
    if not body.mass > 0.0:
        raise InertiaError(f'{name!r} has no mass; Desk needs no end effector for it.')
    numbers = payload_array(body)
    if not isinstance(payload, LinkInertia):  # the user's own numbers are written as given
        given = np.asarray(payload, dtype=float)
        numbers[: len(given)] = given
    mass = _without_rounding_errors(numbers[:1])[0]
    center = _without_rounding_errors(numbers[1:4])
    elements = _without_rounding_errors(numbers[4:])
    content = {
        'id': identifier,
        'name': name,
        'color': '#808080',
        'mass': mass,
        'centerOfMass': center,
        'transformation': np.eye(4).ravel(order='F').tolist(),
        'inertia': tensor_from_elements(np.array(elements)).ravel(order='F').tolist(),
    }
    return json.dumps(content, indent=2) + '\n'


def _without_rounding_errors(values: Array) -> list[float]:
    """Return numbers rounded to `_DESK_DIGIT_COUNT` digits of the largest of them."""
    largest = float(np.abs(values).max())
    if not largest:
        return [0.0] * len(values)
    decimals = _DESK_DIGIT_COUNT - math.ceil(math.log10(largest))
    return [round(value, decimals) for value in values.tolist()]


def yaml_number(value: float) -> str:
    """Return a number, to nine significant digits, as text that YAML readers take for a float."""
    # PyYAML writes floats as 2.0 and 1.0e-05, not 2 and 1e-05: rcl takes no integer among floats.
    return str(yaml.safe_dump(float(f'{value:.9g}'))).split()[0]
