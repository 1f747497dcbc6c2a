# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The array of ten numbers by which the node and libfranka's setLoad are told a payload."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .inertia import LinkInertia, six_from_tensor
from ..errors import InertiaError

_ROUNDING = 1e-12
_HEADER = """\
# Payload in the flange frame: mass [kg], centre of mass [m], inertia about the centre of mass
# (xx xy xz yy yz zz) [kg m^2].
"""


def payload_array(inertia: LinkInertia) -> NDArray[np.float64]:
    """
    Return mass, centre of mass and inertia about it (xx xy xz yy yz zz), shape (10,).

    What is rounding beside the largest of its kind becomes zero: 1e-12 m, and 1e-12 of the
    largest moment.

    Parameters
    ----------
    inertia : LinkInertia
        Of the payload, about the flange's origin, in the flange frame.

    """
    center, moments = inertia.center_of_mass, six_from_tensor(inertia.inertia_at_center_of_mass)
    center = np.where(np.abs(center) < _ROUNDING, 0.0, center)
    moments = np.where(np.abs(moments) < _ROUNDING * np.abs(moments).max(), 0.0, moments)
    return np.concatenate(([inertia.mass], center, moments))


def payload_parameter_file(payload: NDArray[np.float64], comment: str) -> str:
    """Return the text of a ROS parameter file that sets `payload`; the comment goes on top."""
    numbers = ', '.join(_yaml_number(value) for value in payload)
    lines = ''.join(f'# {line}\n' for line in comment.splitlines())
    return f'{lines}{_HEADER}/**:\n  ros__parameters:\n    payload: [{numbers}]\n'


def require_positive(option: str, value: float) -> None:
    """Raise InertiaError, naming the option, unless the value is a positive finite number."""
    if not (np.isfinite(value) and value > 0.0):
        raise InertiaError(f'{option} is {value}; it must be a positive number.')


def _yaml_number(value: float) -> str:
    """
    Return a number that every YAML reader takes for a float.

    rcl wants no integer in a list of floats, and PyYAML reads 1e-05 as text.
    """
    text = f'{value:.9g}'
    mantissa, _, exponent = text.partition('e')
    mantissa = mantissa if '.' in mantissa else f'{mantissa}.0'
    return f'{mantissa}e{exponent}' if exponent else mantissa
