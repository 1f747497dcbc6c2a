# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The table of torques: values where known, dashes elsewhere, bars by share of the limit."""

import re

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.view.scene import (
    COLUMNS,
    COMMANDED,
    GRAVITY,
    MEASURED,
    share_of_limit,
    torque_table,
    ViewState,
)

FER = load('fer')  # its limits are 87 N m four times and 12 N m three times


def cells(state):
    rows = re.findall('<tr>(.*?)</tr>', torque_table(state, FER))
    return [re.findall('<td.*?>(.*?)</td>', row) for row in rows[1:]]


def test_torques_stand_in_their_columns():
    state = ViewState(1.0, FER.home, {MEASURED: np.arange(7.0), COMMANDED: -np.arange(7.0)})
    rows = cells(state)
    expected = {**dict.fromkeys(COLUMNS, '–'), MEASURED: '3.0', COMMANDED: '-3.0'}
    assert rows[3][1:-1] == [f'{FER.home[3]:.2f}', *expected.values()]
    assert '-0.0' not in rows[0]


def test_the_share_of_the_limit_is_the_commands_the_measured_torques_or_unknown():
    six, zero = np.full(7, -6.0), np.zeros(7)
    shares, told = [6.0 / 87.0] * 4 + [0.5] * 3, 4 * ['7 %'] + 3 * ['50 %']
    for torques, expected, last in (
        ({MEASURED: zero, COMMANDED: six}, shares, told),
        ({GRAVITY: zero, MEASURED: six}, shares, told),
        ({GRAVITY: six}, np.nan, 7 * ['–']),
    ):
        state = ViewState(0.0, FER.home, torques)
        found = share_of_limit(state, FER)
        np.testing.assert_allclose(np.nan if found is None else found, expected, rtol=1e-14)
        assert [row[-1] for row in cells(state)] == last
