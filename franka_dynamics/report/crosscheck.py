# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reports of the cross-check of formulations and of implausible URDF values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .table import Cell, Header, Table
from ..arm import ArmDescription
from ..dynamics.newton_euler import NewtonEulerModel
from ..urdf.plausibility import ImplausibleValue
from ..validation.crosscheck import COMPARED_QUANTITIES, CrosscheckResult

# The condition number of M at home is 315 to 2,262 for the shipped Franka arms, and 16,841 for the
# FR3 without a hand.
_MAX_CONDITION_NUMBER = 5000.0


class LinkConsistency(NamedTuple):
    """One link's mass [kg] and margins by which a real body can have its inertia."""

    joint: str
    mass: float
    pseudo_inertia_eigenvalue: float
    triangle_inequality: float  # A + B - C of the principal moments, C the largest [kg m^2]
    physical: bool


def link_consistency(arm: ArmDescription) -> list[LinkConsistency]:
    """Return the margins of physical consistency of each link."""
    return [
        LinkConsistency(
            joint, link.mass, link.consistency_margin(), link.triangle_margin(), link.is_physical()
        )
        for joint, link in zip(arm.joint_names, arm.links)
    ]


def crosscheck_sentence(result: CrosscheckResult) -> str:
    """Return a sentence with the largest difference, its tolerance and the number of states."""
    return (
        f'largest difference from Pinocchio {result.largest:.1e}, tolerance '
        f'{result.tolerance:.0e} ({result.states} states, seed {result.seed})'
    )


def condition_notes(arm: ArmDescription) -> list[str]:
    """Return a note if M at the home pose is badly conditioned, else an empty list."""
    mass = NewtonEulerModel(arm).mass_matrix(arm.home_position)
    condition, joint = np.linalg.cond(mass), int(np.diag(mass).argmin())
    if condition <= _MAX_CONDITION_NUMBER:
        return []
    return [
        f'the condition number of M at home is {condition:.0f}: {arm.joint_names[joint]} moves '
        f'only {mass[joint, joint]:.1e} (kg m^2, or kg). Gains in proportion to M hold nothing '
        'there; the real joint moves its drive as well, which is not in M.'
    ]


def implausible_value_tables(doubts: Sequence[ImplausibleValue], source: str) -> list[Table]:
    """Return a list of one table of implausible values of a file, empty if there are none."""
    rows = [(one.place, one.entry, one.reason) for one in doubts]
    title = f'numbers of {source} that an arm can hardly have'
    return [Table(title, ('of', 'entry', 'because'), rows)] if rows else []


def crosscheck_tables(result: CrosscheckResult) -> tuple[Table, ...]:
    """Return a table of differences by quantity, and one of links' physical consistency."""
    units = {quantity.name: quantity.unit for quantity in COMPARED_QUANTITIES}
    quantities = Table(
        f'largest difference from {result.reference}, relative to the largest value',
        ['quantity', *(Header(name, format='.1e') for name in result.formulations)],
        [
            [
                f'{quantity} [{units[quantity]}]',
                *(Cell(one, '' if one <= result.tolerance else 'bad') for one in row.values()),
            ]
            for quantity, row in result.differences.items()
        ],
    )
    return quantities, consistency_table(result.description)


def consistency_table(arm: ArmDescription) -> Table:
    """
    Return a table of each link's mass and margins of physical consistency.

    The margins are the smallest eigenvalue of the pseudo-inertia and A + B - C of the principal
    moments at the centre of mass, C the largest.
    """
    return Table(
        'physical consistency (negative: no such body exists)',
        [
            'link behind',
            Header('mass', 'kg', '.4f'),
            Header('eigenvalue of the pseudo-inertia', format='.3g'),
            Header('A + B - C', 'kg m^2', '.3g'),
        ],
        [
            [joint, mass, *(Cell(value, '' if physical else 'bad') for value in margins)]
            for joint, mass, *margins, physical in link_consistency(arm)
        ],
    )
