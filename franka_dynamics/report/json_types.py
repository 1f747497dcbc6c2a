# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion of results to JSON."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
import json
import math
from pathlib import Path
from typing import Any

import numpy as np


def to_json_types(value: Any) -> Any:
    """
    Return a value converted to JSON's types; raise TypeError for a type without such a form.

    Fields of dataclasses and named tuples become keys; a dataclass with `json_fields` names there
    the fields and properties that become keys. Arrays become lists, paths become strings, members
    of an enumeration their value. NaN and infinities become null.
    """
    if is_dataclass(value) and not isinstance(value, type):
        names = getattr(value, 'json_fields', None) or [field.name for field in fields(value)]
        return {name: to_json_types(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(to_json_types(key)): to_json_types(item) for key, item in value.items()}
    if isinstance(value, Enum):
        return to_json_types(value.value)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return to_json_types(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple) and hasattr(value, '_asdict'):
        return to_json_types(value._asdict())
    if isinstance(value, (Sequence, Set)):
        return [to_json_types(item) for item in value]
    raise TypeError(f'{type(value).__name__} has no form in JSON.')


def json_text(value: Any) -> str:
    """Return a value as indented JSON text, after conversion by `to_json_types`."""
    return json.dumps(to_json_types(value), indent=2, allow_nan=False) + '\n'
