# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The table of torques: values where known, dashes elsewhere, bars by share of the limit."""

import re

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.view.scene import (
    COLUMNS,
    COMMANDED,
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
    row = cells(state)[3]
    column = {name: row[2 + i] for i, name in enumerate(COLUMNS)}
    assert (column[MEASURED], column[COMMANDED]) == ('3.0', '-3.0')
    assert {column[name] for name in COLUMNS} == {'3.0', '-3.0', '–'}
    assert row[1] == f'{FER.home[3]:.2f}'


def test_the_share_of_the_limit_is_the_commands_if_there_is_one():
    state = ViewState(0.0, FER.home, {MEASURED: np.zeros(7), COMMANDED: np.full(7, -6.0)})
    np.testing.assert_allclose(
        share_of_limit(state, FER), [6 / 87] * 4 + [0.5] * 3, rtol=1e-15, atol=0.0
    )
    assert cells(state)[6][-1] == '50 %'


def test_given_no_torque_when_shown_then_no_share_is_claimed():
    assert share_of_limit(ViewState(0.0, FER.home), FER) is None
    assert {row[-1] for row in cells(ViewState(0.0, FER.home))} == {'–'}
