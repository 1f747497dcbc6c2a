# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An identified payload as JSON data, a table and a sentence."""

from __future__ import annotations

from typing import Any

from .elements import rounded
from .table import Table
from ..arm.payload import PAYLOAD_ORDER
from ..identification.payload import PayloadEstimate

_UNITS = ('kg', *('m',) * 3, *('kg m^2',) * 6)


def payload_as_data(estimate: PayloadEstimate) -> dict[str, Any]:
    """Return the estimate, for `json_text`."""
    return {
        'order': PAYLOAD_ORDER,
        'estimate': estimate.values,
        'deviations': estimate.std,
        'inertia_shown': estimate.inertia_shown,
        'payload': estimate.payload,
        'joint_noise': estimate.noise,
    }


def payload_table(estimate: PayloadEstimate) -> Table:
    """Return a table of the estimate, its standard deviations and the physical payload."""
    numbers = zip(PAYLOAD_ORDER, estimate.values, estimate.std, estimate.payload, _UNITS)
    return Table(
        'payload in the flange frame, inertia about its centre of mass',
        ('', 'estimate', 'standard deviation', 'payload', ''),
        [
            (name, *rounded(value, spread), rounded(used, spread)[0], unit)
            for name, value, spread, used, unit in numbers
        ],
    )


def inertia_sentence(estimate: PayloadEstimate) -> list[str]:
    """Return why the physical payload's inertia differs from the estimate, or an empty list."""
    if not estimate.inertia_shown:
        return [
            'The inertia cannot be identified from this motion, so the payload is a point mass. '
            'Move the wrist faster to identify it.'
        ]
    if abs(estimate.payload - estimate.values).max() > 1e-9:
        return [
            'No real body has the estimated inertia; the payload has the nearest physical one.'
        ]
    return []
