# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An identified payload as a table and sentences."""

from __future__ import annotations

from collections.abc import Sequence

from .elements import rounded_to_deviation
from .table import Table
from ..arm.payload import PAYLOAD_ORDER
from ..identification.payload import PayloadEstimate

_VALUE_UNITS = ('kg', *('m',) * 3, *('kg m^2',) * 6)


def payload_table(estimate: PayloadEstimate) -> Table:
    """Return a table of a payload estimate, standard deviations and the physical payload."""
    numbers = zip(PAYLOAD_ORDER, estimate.values, estimate.std, estimate.payload, _VALUE_UNITS)
    return Table(
        'payload in the flange frame, inertia about its centre of mass',
        ('', 'estimate', 'standard deviation', 'payload', ''),
        [
            (
                name,
                *rounded_to_deviation(value, spread),
                rounded_to_deviation(used, spread)[0],
                unit,
            )
            for name, value, spread, used, unit in numbers
        ],
    )


def inertia_sentence(estimate: PayloadEstimate) -> list[str]:
    """Return a sentence on why a payload's inertia is not its estimate, or [] if it is."""
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


def scale_sentence(
    estimate: PayloadEstimate, known_mass: float | None, effort_scale: Sequence[float]
) -> str:
    """Return a sentence on the scale of efforts, from the payload's mass and `effort_scale`."""
    mass = float(estimate.values[0])
    if not known_mass:
        return (
            'The mass is in proportion to the efforts, whose common factor is not in its '
            'deviation: a payload of --known-mass tells the factor.'
        )
    scale = ','.join(f'{one * known_mass / mass:.4g}' for one in effort_scale)
    spread = float(estimate.std[0]) / mass
    return (
        f'Efforts are {mass / known_mass:.3f} times the torques, to {spread:.1%}, if the payload '
        f'has {known_mass:g} kg; --effort-scale {scale} corrects them.'
    )
