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

# The release from which JSON has no keys that the metadata `former_key` of fields names.
FORMER_KEYS_UNTIL = '0.3'


def to_json_types(value: Any) -> Any:
    """
    Return a value converted to JSON's types; raise TypeError for a type without such a form.

    Fields of dataclasses and named tuples become keys; a dataclass with `json_fields` names there
    the fields and properties that become keys. Until release FORMER_KEYS_UNTIL a field with
    metadata `former_key` stands under that key, too. Arrays become lists, paths become strings,
    members of an enumeration their value. NaN and infinities become null.
    """
    if is_dataclass(value) and not isinstance(value, type):
        former_keys = {field.name: field.metadata.get('former_key') for field in fields(value)}
        converted = {}
        for name in getattr(value, 'json_fields', former_keys):
            converted[name] = to_json_types(getattr(value, name))
            if former_key := former_keys.get(name):
                converted[former_key] = converted[name]
        return converted
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
