# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Franka's end-effector file has the fields that Franka's documentation lists, by columns."""

import json

import numpy as np

from franka_dynamics.arm.payload import desk_json

# "inertia" is by columns; a tensor that is no diagonal shows whether it is symmetric.
SIX = (2e-3, 1e-4, -2e-4, 3e-3, 3e-4, 4e-3)


def test_the_file_has_frankas_own_examples_fields_types_and_numbers():
    # github.com/frankaemika/external_gripper_example, a Robotiq 2F-85, made tilted.
    content = json.loads(desk_json(np.array([0.9, 0.0, 0.0, 0.057, *SIX]), 'ee-my gripper (left)'))
    # "must not be prefixed by 'ee-' and must be a valid URI reference"
    assert content.pop('id') == 'my-gripper-left'
    tensor = np.reshape(content.pop('inertia'), (3, 3), order='F')
    np.testing.assert_array_equal(tensor[np.triu_indices(3)], SIX)
    np.testing.assert_array_equal(tensor, tensor.T)
    assert type(content.pop('color')) is str
    assert content == {
        'name': 'ee-my gripper (left)',
        'mass': 0.9,
        'centerOfMass': [0, 0, 0.057],
        'transformation': [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
    }
