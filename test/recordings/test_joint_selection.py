# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The arm's joints among the names of a message."""

import numpy as np
import pytest

from franka_dynamics.errors import RecordingError
from franka_dynamics.recordings.rosbag import select_joints

FER = tuple(f'fer_joint{i}' for i in range(1, 8))


@pytest.mark.parametrize(
    'names',
    [
        FER,
        [f'panda_joint{i}' for i in range(1, 8)],
        [f'left_fr3_joint{i}' for i in range(1, 8)],
        [f'my_joint{i}' for i in range(1, 8)],
    ],
)
def test_columns_follow_the_arms_order_for_any_family_of_names(names):
    present = [*reversed(names), 'finger']
    selection = select_joints(present, FER, where='here')
    assert selection.names == tuple(names)
    np.testing.assert_array_equal(selection.columns, [6, 5, 4, 3, 2, 1, 0])


@pytest.mark.parametrize('present', [[], ['finger'], ['panda_joint1', 'panda_joint2']])
def test_names_of_something_else_give_no_selection(present):
    assert select_joints(present, FER, where='here') is None


def test_own_names_are_taken_before_foreign_ones():
    present = [*(f'left_fer_joint{i}' for i in range(1, 8)), *FER]
    assert select_joints(present, FER, where='here').names == FER


def test_two_families_of_names_are_offered_and_neither_guessed():
    present = [f'{arm}_joint{i}' for arm in ('a', 'b') for i in range(1, 8)]
    with pytest.raises(RecordingError, match=r'here has none of fer_joint1 .* 2 arms \(a_joint1'):
        select_joints(present, FER, where='here')


@pytest.mark.parametrize(
    ('arm', 'named'),
    [
        ('rpr', [f'rpr_joint{i}' for i in range(1, 4)]),
        ('fr3', [f'fr3_joint{i}' for i in range(1, 8)]),
    ],
)
def test_another_shipped_arms_joints_are_not_taken_for_ours(arm, named):
    with pytest.raises(RecordingError, match=r'has the joints of fer, .* give --arm fer'):
        select_joints(FER, named, where='here')
