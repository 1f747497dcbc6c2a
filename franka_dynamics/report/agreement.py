# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The cross-check of dynamics formulations as JSON data and tables."""

from __future__ import annotations

from typing import Any

from .table import Cell, Head, plain, Table
from ..arm import ArmDescription
from ..validation.crosscheck import Agreement, QUANTITIES

# Attributes of `Agreement` that JSON has under the same names.
_SAME = ('gravity', 'states', 'seed', 'passed', 'largest', 'reference', 'differences', 'findings')


def agreement_as_data(agreement: Agreement) -> dict[str, Any]:
    """Return the cross-check in JSON's types; NaN and infinite differences become null."""
    arm = agreement.description
    data = {name: getattr(agreement, name) for name in _SAME} | {
        'arm': arm.name,
        'inertial_set': arm.inertial_set,
        'hand': arm.hand,
        'tolerance': agreement.tolerance,
        'warnings': arm.inconsistencies(),
        'urdf': [one._asdict() for one in agreement.urdf],
        'difference': 'largest |a - b| / max(1, largest |b| of the state), b the reference',
        'consistency': [
            {
                'joint': joint,
                'mass': link.mass,
                'pseudo_inertia_eigenvalue': link.consistency_margin(),
                'triangle_inequality': link.triangle_margin(),
                'physical': link.is_physical(),
            }
            for joint, link in zip(arm.joint_names, arm.links)
        ],
    }
    result: dict[str, Any] = plain(data)
    return result


def agreement_tables(agreement: Agreement) -> tuple[Table, ...]:
    """Return two tables: differences from the reference formulation; the links' consistency."""
    units = {quantity.name: quantity.unit for quantity in QUANTITIES}
    quantities = Table(
        f'largest difference from {agreement.reference}, relative to max(1, largest |value| of '
        'the state)',
        ['quantity', *(Head(name, form='.1e') for name in agreement.formulations)],
        [
            [
                f'{quantity} [{units[quantity]}]',
                *(
                    Cell(value, '' if value <= agreement.tolerance else 'bad')
                    for value in row.values()
                ),
            ]
            for quantity, row in agreement.differences.items()
        ],
    )
    return quantities, consistency_table(agreement.description)


def consistency_table(arm: ArmDescription) -> Table:
    """
    Return a table of each link's mass, least pseudo-inertia eigenvalue and A + B - C.

    A, B and C are the principal moments at the centre of mass, C the largest.
    """
    return Table(
        'physical consistency (negative: no such body exists)',
        [
            'link behind',
            Head('mass', 'kg', '.4f'),
            Head('eigenvalue of the pseudo-inertia', form='.3g'),
            Head('A + B - C', 'kg m^2', '.3g'),
        ],
        [
            [
                joint,
                link.mass,
                *(
                    Cell(value, '' if link.is_physical() else 'bad')
                    for value in (link.consistency_margin(), link.triangle_margin())
                ),
            ]
            for joint, link in zip(arm.joint_names, arm.links)
        ],
    )
