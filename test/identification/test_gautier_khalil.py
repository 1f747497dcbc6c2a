# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The relations, theorems and example of Gautier and Khalil 1990, written out as the paper has them.

The package regroups by ranks; here (20)-(23) stand as formulas, corrected and printed. For each
erratum the corrected form holds and the printed one fails.
"""

from dataclasses import replace

import numpy as np

from franka_dynamics.arm import (
    ArmDescription,
    Convention,
    DHRow,
    Joint,
    JointKind,
    load,
)
from franka_dynamics.arm.inertia import PARAMETER_SYMBOLS
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.regressor import (
    torque_regressor,
)
from franka_dynamics.identification.base_parameters import base_parameters, upper_bound

VERTICAL, TILTED = (0.0, 0.0, -9.81), (3.0, -5.0, -7.0)
# How far a wrong formula must miss: the numbers drawn are of order one.
CLEARLY = 0.01
PLACE = {symbol: place for place, symbol in enumerate(PARAMETER_SYMBOLS)}


def eq_20(row, x):
    """Return what YY, mZ and m of a link add to the link before (revolute), as printed."""
    yy, mz, m = x[PLACE['YY']], x[PLACE['mZ']], x[PLACE['m']]
    ca, sa, d, r = np.cos(row.alpha), np.sin(row.alpha), row.a, row.d
    return np.array(
        [
            yy + 2 * r * mz + r**2 * m,
            d * sa * mz + d * r * sa * m,
            -d * ca * mz - d * r * ca * m,
            ca**2 * yy + 2 * r * ca**2 * mz + (d**2 + r**2 * ca**2) * m,
            ca * sa * yy + 2 * r * ca * sa * mz + r**2 * ca * sa * m,
            sa**2 * yy + 2 * r * sa**2 * mz + (d**2 + r**2 * sa**2) * m,
            d * m,
            -sa * mz - r * sa * m,
            ca * mz + r * ca * m,
            m,
        ]
    )


def eq_21(row, x, *, printed=False):
    """Return what a link's tensor adds to the link before (prismatic), six elements."""
    xx, xy, xz, yy, yz, zz = x[:6]
    c, s, ca, sa = np.cos(row.theta), np.sin(row.theta), np.cos(row.alpha), np.sin(row.alpha)
    # The three first terms that the print has wrong: XYR, XZR, YZR.
    first = (
        (c * s * sa, -c * s * sa, -(s**2) * ca * sa)
        if printed
        else (c * s * ca, c * s * sa, s**2 * ca * sa)
    )
    return np.array(
        [
            c**2 * xx + s**2 * yy - 2 * c * s * xy,
            first[0] * xx - c * s * ca * yy + (c**2 - s**2) * ca * xy - c * sa * xz + s * sa * yz,
            first[1] * xx - c * s * sa * yy + (c**2 - s**2) * sa * xy + c * ca * xz - s * ca * yz,
            (
                s**2 * ca**2 * xx
                + c**2 * ca**2 * yy
                + sa**2 * zz
                + 2 * c * s * ca**2 * xy
                - 2 * s * ca * sa * xz
                - 2 * c * ca * sa * yz
            ),
            (
                first[2] * xx
                + c**2 * ca * sa * yy
                - ca * sa * zz
                + 2 * c * s * ca * sa * xy
                + s * (ca**2 - sa**2) * xz
                + c * (ca**2 - sa**2) * yz
            ),
            (
                s**2 * sa**2 * xx
                + c**2 * sa**2 * yy
                + ca**2 * zz
                + 2 * c * s * sa**2 * xy
                + 2 * s * ca * sa * xz
                + 2 * c * ca * sa * yz
            ),
        ]
    )


def last_link(kind, seed=0):
    """Return an arm whose last link moves in general, what goes from that link, and numbers."""
    rng = np.random.default_rng(seed)
    # Angles at which no sine is near zero, nor near its cosine.
    rows = [DHRow(*rng.uniform((0.5, 0.3, 0.5, 0.9), (1.0, 0.6, 1.0, 1.2))) for _ in range(5)]
    kinds = [JointKind.REVOLUTE] * 4 + [kind]
    arm = ArmDescription(
        'general',
        Convention.MODIFIED,
        tuple(Joint(f'j{i}', k, row) for i, (k, row) in enumerate(zip(kinds, rows))),
        load('scemi').links[:5],
    )
    gone = set(range(40, 50)) - set(base_parameters(arm, TILTED).columns)
    return arm, [PARAMETER_SYMBOLS[k - 40] for k in sorted(gone)], rng.uniform(0.5, 1.0, 10)


def is_regrouping_free_of_torque(arm, x, within, onto):
    """Return whether taking `within` x off the last link and adding `onto` changes no torque."""
    change = np.zeros(50)
    change[40:] = -within
    change[30:40] = onto
    torque = torque_regressor(arm, *sample_states(arm, 20, 1), TILTED) @ change
    return np.abs(torque).max() < 1e-12 * max(1.0, np.abs(x).max()) * 100.0


# --- (20), (21), (22)


def test_eq_20s_first_line_holds_for_link_j_and_not_as_printed():
    # Corrected: XXR_j = XX_j - YY_j. Printed: XXR_{j-1} = XX_j - YY_j.
    arm, gone, x = last_link(JointKind.REVOLUTE)
    assert gone == ['YY', 'mZ', 'm']
    yy, mz, m = (PLACE[symbol] for symbol in gone)
    onto = eq_20(arm.joints[-1].row, x)
    corrected = np.zeros(10)
    corrected[[PLACE['XX'], yy, mz, m]] = x[yy], x[yy], x[mz], x[m]
    assert is_regrouping_free_of_torque(arm, x, corrected, onto)
    # As printed, link j's XX stays, and XX_{j-1} becomes XX_j - YY_j.
    printed_within = np.where(np.arange(10) == PLACE['XX'], 0.0, corrected)
    printed_onto = onto.copy()
    printed_onto[PLACE['XX']] = x[PLACE['XX']] - x[yy]
    assert not is_regrouping_free_of_torque(arm, x, printed_within, printed_onto)


def test_eq_21_holds_with_its_first_three_terms_corrected():
    arm, gone, x = last_link(JointKind.PRISMATIC)
    row = arm.joints[-1].row
    assert gone == list(PARAMETER_SYMBOLS[:6])
    wrong = np.abs(eq_21(row, x) - eq_21(row, x, printed=True))
    names = [symbol for symbol, miss in zip(PARAMETER_SYMBOLS, wrong) if miss > CLEARLY]
    assert names == ['XY', 'XZ', 'YZ']
    tensor = np.append(x[:6], np.zeros(4))
    assert is_regrouping_free_of_torque(arm, x, tensor, np.append(eq_21(row, x), np.zeros(4)))
    assert not is_regrouping_free_of_torque(
        arm, x, tensor, np.append(eq_21(row, x, printed=True), np.zeros(4))
    )


# --- (23) and the theorems


def test_the_corrected_bound_holds_for_an_arm_of_only_a_slide():
    # Printed: 7 n_r + 4 n_t - 3 - sigma_1, with sigma = 1 for a prismatic joint: one too few here.
    slide = replace(
        load('scemi'),
        joints=(Joint('slide', JointKind.PRISMATIC, DHRow()),),
        links=load('scemi').links[:1],
    )
    count = len(base_parameters(slide))
    assert count == 1 <= upper_bound(slide)
    assert count > 7 * 0 + 4 * 1 - 3 - 1


def skew_slides():
    """Return a turntable with two slides on it, none along another or along the turntable."""
    rows = (DHRow(), DHRow(a=0.3, alpha=0.6, theta=0.5), DHRow(a=0.2, alpha=0.8, theta=0.4))
    kinds = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.PRISMATIC)
    return ArmDescription(
        'slides',
        Convention.MODIFIED,
        tuple(Joint(f'j{i}', kind, row) for i, (kind, row) in enumerate(zip(kinds, rows))),
        load('scemi').links[:3],
    )


def test_theorem_1_as_printed_misses_an_idle_combination():
    # Every single parameter of link 2 has an effect, which is all that the print asks for; yet of
    # its tensor only the inertia about axis 1 is identifiable, and link 3 loses a seventh
    # parameter.
    arm = skew_slides()
    columns = torque_regressor(arm, *sample_states(arm, 30, 0))[..., 10:20].reshape(-1, 10)
    assert (np.abs(columns).max(axis=0) > CLEARLY).all()
    found = base_parameters(arm)
    of_link_3 = [name for name in found.names if name.endswith('_3')]
    assert len(of_link_3) == 3 < 4
    assert len(found) == found.confirmed()[0]
