# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How many examples each property is tried on, and texts and mappings with faults."""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# `make fuzz` tries more examples, others each time. Else they are the same in each run.
FUZZ = os.environ.get('FRANKA_DYNAMICS_FUZZ')
# A number, word or structure where another one is expected.
WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1e-320, 1e9, 1e300, 10**400, 'pi/0', '-', '', [], {}, [[]]]),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.floats(-2.0, 2.0), max_size=8),
)


def examples(count, **more):
    """Return the settings of a property that is tried on a count of examples."""
    return settings(
        max_examples=int(FUZZ or count),
        derandomize=not FUZZ,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        **more,
    )


@st.composite
def damaged(draw, data):
    """Draw bytes or text in which pieces are missing, repeated or replaced by others."""
    pieces = st.binary(max_size=8) if isinstance(data, bytes) else st.text(max_size=8)
    for _ in range(draw(st.integers(1, 3))):
        first, last = (draw(st.integers(0, len(data))) for _ in range(2))
        if draw(st.booleans()):  # a short piece, else any
            last = min(len(data), first + last % 9)
        data = data[:first] + draw(pieces) + data[last:]
    return data


@st.composite
def with_wrong_field(draw, mapping):
    """Draw a copy of nested mappings and lists of which one entry is wrong or missing."""
    keys = list(mapping) if isinstance(mapping, dict) else range(len(mapping))
    key = draw(st.sampled_from(keys))
    value = mapping[key]
    copy = mapping.copy()
    if isinstance(value, (dict, list)) and value and draw(st.integers(0, 5)):
        copy[key] = draw(with_wrong_field(value))
    elif draw(st.integers(0, 3)):
        copy[key] = draw(WRONG)
    else:
        del copy[key]
    return copy
