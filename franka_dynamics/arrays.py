# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Array types, conversions and shape checks, and equality of dataclasses that hold arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
import math
from types import EllipsisType
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray as NDArray

from .errors import JointVectorError, short_text

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike
else:

    class ArrayLike:
        """
        What `numpy.asarray` makes an array of real numbers of: a number, a list, an array.

        NumPy's own name stands for ten classes, which `help` would print for every argument.
        """

        _is_protocol = True  # whose functions check their arguments by converting them


# Not NDArray[np.float64]: since NumPy 2.5 that is an alias whose origin is not np.ndarray, and
# fields of files are read by their types' origins.
Array = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]


_MAX_SHOWN_CHARACTERS = 200
_MAX_SHOWN_NUMBERS = 16  # of an array of another shape
# NumPy would take '40' for 40, 1 + 2j for 1, None for NaN, a date for its number of days.
_WORDS_BY_NONREAL_DTYPE = {
    **dict.fromkeys('SU', 'text'),
    **dict.fromkeys('Mm', 'dates'),
    **{'b': 'truth values', 'c': 'complex', 'O': 'no numbers', 'V': 'a table'},
}
# What a wrench is, for errors on it.
WRENCH_MEANING = 'force [N] then moment [N m]'
ArrayShape = tuple[int | EllipsisType | None, ...]


class ValueEquality:
    """
    Base class of frozen dataclasses with arrays, which are equal if all their fields are equal.

    A dataclass compares arrays by `==`, which gives no truth value; so declare it with eq=False.
    """

    def __eq__(self, other: object) -> bool:
        """Return whether the other is of this class, with equal values in all fields."""
        return type(self) is type(other) and _field_values(self) == _field_values(other)

    def __hash__(self) -> int:
        """Return a hash of the fields' values."""
        return hash(_field_values(self))


def _field_values(owner: Any) -> tuple[Any, ...]:
    """Return a dataclass's field values, each array as a tuple of its shape and its numbers."""
    return tuple(
        (value.shape, *value.ravel().tolist()) if isinstance(value, np.ndarray) else value
        for value in (getattr(owner, field.name) for field in fields(owner))
    )


def freeze_arrays(owner: object, error: type[Exception], label: str, **shapes: ArrayShape) -> None:
    """
    Replace fields of a dataclass by read-only float arrays of checked shape and finite numbers.

    Parameters
    ----------
    owner : dataclass
        The object, from within its `__post_init__`.
    error : type
        Class of the error to raise.
    label : str
        Name of the object in error messages, such as 'a link'.
    shapes : tuple of int or None
        The required shape of each field, by its name; None stands for any length.

    Raises
    ------
    error
        If a field's shape is wrong or a number is not finite; the message names the field.

    """
    for name, shape in shapes.items():
        words = f'The {name.replace("_", " ")} of {label}'
        array = as_array(getattr(owner, name), shape, words, error)
        array.setflags(write=False)
        object.__setattr__(owner, name, array)


def as_array(
    values: object,
    shape: ArrayShape,
    name: str,
    error: type[Exception],
    *,
    finite: bool = True,
) -> Array:
    """
    Return `values` as a new float array; raise `error` unless real, of `shape`, finite if asked.

    Parameters
    ----------
    values : array_like
        The numbers.
    shape : tuple of int or None
        None stands for any length; `...` in front for any leading axes, so (...,) for any shape.
    name : str
        Name of the array in the error message.
    error : type
        Class of the error to raise.
    finite : bool
        Whether all numbers must be finite.

    Raises
    ------
    error
        If the shape is wrong, or a value is no number, or not finite where it must be.

    """

    def array_error(ending: str, *, of_many: bool = False) -> Exception:
        """Return the error on the array, with `ending`; the values are shown unless `of_many`."""
        expected = f'{shape}'.replace('None', 'k').replace('Ellipsis', '...')
        shown = 'numbers' if of_many else array_text(values)
        text = f'{name} must be finite numbers of shape {expected}; got {shown}'
        return error(f'{text}{ending}.')

    try:
        array = np.array(_real_array(values), dtype=float, order='C')
    except ValueError:
        raise array_error('') from None
    except TypeError as reason:
        raise array_error(f', which is {reason}') from None
    lengths = shape
    shown = array.shape
    if lengths[:1] == (...,):
        lengths = lengths[1:]
        shown = shown[len(shown) - len(lengths) :]
    if shown != lengths and (
        len(lengths) != len(shown) or any(a not in (None, b) for a, b in zip(lengths, shown))
    ):
        of_many = array.size > _MAX_SHOWN_NUMBERS
        raise array_error(f' of shape {array.shape}', of_many=of_many)
    if finite and not np.isfinite(array).all():
        at = np.argwhere(~np.isfinite(array))[0].tolist()
        place = f' at {at}, counted from 0' if at else ''
        raise error(f'{name} must be finite numbers; got {array[tuple(at)]}{place}.')
    return array


def _real_array(array_like: object) -> np.ndarray:
    """Return values as an array; raise TypeError, saying what they are, unless they are real."""
    values = np.asarray(array_like)
    require_real(array_like, values.dtype)
    return values


def require_real(values: object, dtype: Any) -> None:
    """
    Raise TypeError, saying what they are, unless values are neither masked nor of another kind.

    `dtype` is that of the values as an array of any library.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError('masked; give .filled(nan)')
    kind = getattr(dtype, 'kind', '')
    if kind in _WORDS_BY_NONREAL_DTYPE:
        raise TypeError(_WORDS_BY_NONREAL_DTYPE[kind])
    if kind not in ('i', 'u', 'f') and 'float' not in str(dtype):
        raise TypeError(f'of the type {dtype}')


def array_text(values: object) -> str:
    """Return an array as one line of text of at most 203 characters."""
    try:
        text = np.array2string(np.asarray(values), threshold=16, precision=6).replace('\n', '')
    except ValueError:  # rows of different lengths
        text = repr(values).replace('\n', '')
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else f'{text[:_MAX_SHOWN_CHARACTERS]}...'


def as_joint_values(
    values: ArrayLike | None,
    name: str,
    joint_names: Sequence[str],
    arm_name: str = '',
    *,
    allow_stack: bool = True,
    finite: bool = True,
) -> Array:
    """
    Return joint values as floats; JointVectorError unless real, (..., n) and, if asked, finite.

    Parameters
    ----------
    values : array_like, shape (..., n)
        One value for each joint.
    name : str
        Name of the values in error messages.
    joint_names : sequence of str, length n
        The joints in order.
    arm_name : str
        Name of the arm in error messages; they name no arm if it is empty.
    allow_stack : bool
        Whether `values` may have leading axes; otherwise their shape must be (n,).
    finite : bool
        Whether all values must be finite.

    Raises
    ------
    JointVectorError
        If the values are no numbers, the shape does not fit or a value is not finite. The message
        names the joint of the value that is not finite, otherwise all joints in order.

    """
    try:
        vector = np.asarray(_real_array(values), dtype=float)
        n = len(joint_names)
    except (TypeError, ValueError) as error:
        raise not_numbers_error(name, error, joint_values_text(joint_names, arm_name)) from error
    fits = vector.shape[-1:] == (n,) and (allow_stack or vector.ndim == 1)
    if fits and (not finite or np.isfinite(vector).all()):
        return vector
    if not fits:
        expected = f'(..., {n})' if allow_stack else f'({n},)'
        meaning = joint_values_text(joint_names, arm_name)
        raise shape_error(name, vector.shape, expected, meaning)
    at = tuple(np.argwhere(~np.isfinite(vector))[0])
    joint = f'{arm_name and "joint "}{joint_names[at[-1]]}'
    raise JointVectorError(f'{name} of {joint} is {vector[at]}; each must be finite.')


def batch_shape(
    shapes: Mapping[str, tuple[int, ...]], joints: Sequence[str], arm_name: str
) -> tuple[int, ...]:
    """
    Return the broadcast shape of the leading axes of joint-state arrays, each (..., n).

    Parameters
    ----------
    shapes : mapping of str to tuple of int
        The arrays' shapes, by their names.
    joints : sequence of str, length n
        The joints in order.
    arm_name : str
        Name of the arm in error messages.

    Raises
    ------
    JointVectorError
        If an array has a wrong shape, or the leading axes do not broadcast; the message names
        the arrays.

    """
    for name, shape in shapes.items():
        if shape[-1:] != (len(joints),):
            meaning = joint_values_text(joints, arm_name)
            raise shape_error(name, shape, f'(..., {len(joints)})', meaning)
    return broadcast_leading_shape(shapes)


def broadcast_leading_shape(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the broadcast shape of all axes but the last; JointVectorError if there is none."""
    try:
        return np.broadcast_shapes(*(shape[:-1] for shape in shapes.values()))
    except ValueError:
        listed = ', '.join(f'{name} {shape}' for name, shape in shapes.items())
        raise JointVectorError(
            f'The arrays do not broadcast: {listed}. Give each one row per state, or one for all.'
        ) from None


def joint_values_text(joints: Sequence[str], arm_name: str) -> str:
    """Return what joint values are, for errors on them; no arm is named if `arm_name` is empty."""
    return f'one value per joint{arm_name and f" of {arm_name}"}, ordered {", ".join(joints)}'


def shape_error(
    name: str, shape: tuple[int, ...], expected_shape: str, meaning: str
) -> JointVectorError:
    """Return the error on an array whose shape is not `expected_shape`, and what it should be."""
    return JointVectorError(f'{name} has shape {shape}, expected {expected_shape}: {meaning}.')


def not_numbers_error(name: str, reason: object, meaning: str) -> JointVectorError:
    """Return the error on an array of no real numbers, with the reason and what it should be."""
    found = short_text(str(reason).rstrip('.'))
    return JointVectorError(f'{name} cannot be read as numbers ({found}); give {meaning}.')


def as_wrenches(values: ArrayLike) -> Array:
    """
    Return wrenches as new floats (..., 6), NaN and inf among them as they are.

    Raises
    ------
    JointVectorError
        If they are no numbers, or their shape does not fit.

    """
    try:
        wrenches = np.array(_real_array(values), dtype=float)
    except (TypeError, ValueError) as error:
        raise not_numbers_error('wrench', error, WRENCH_MEANING) from error
    if wrenches.shape[-1:] != (6,):
        raise shape_error('wrench', wrenches.shape, '(..., 6)', WRENCH_MEANING)
    return wrenches


def as_seconds(name: str, value: Any, *, finite: bool = True) -> float:
    """Return a time [s] as a float; JointVectorError for no number or, if `finite`, NaN or inf."""
    if type(value) is float and (not finite or math.isfinite(value)):
        return value
    nan = isinstance(value, (float, np.floating)) and not finite  # or infinite
    return float(as_array(value, (), name, JointVectorError, finite=not nan))
