# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Franka's end-effector file has the fields that Franka's documentation lists, by columns."""

import json

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia
from franka_dynamics.arm.payload import desk_json, payload_array

SIX = (2e-3, 1e-4, -2e-4, 3e-3, 3e-4, 4e-3)


def test_the_file_has_every_field_of_frankas_page_in_its_type():
    payload = payload_array(LinkInertia.from_center_of_mass(0.7, [0.01, -0.02, 0.06], SIX))
    content = json.loads(desk_json(payload, 'ee-my gripper (left)'))
    assert {name: type(value) for name, value in content.items()} == {
        'id': str,
        'name': str,
        'color': str,
        'mass': float,
        'centerOfMass': list,
        'transformation': list,
        'inertia': list,
    }
    # "must not be prefixed by 'ee-' and must be a valid URI reference"
    assert content['id'] == 'my-gripper-left'
    assert content['mass'] == pytest.approx(0.7)
    np.testing.assert_allclose(content['centerOfMass'], [0.01, -0.02, 0.06], atol=1e-15)
    np.testing.assert_array_equal(np.reshape(content['transformation'], (4, 4)), np.eye(4))
    tensor = np.reshape(content['inertia'], (3, 3), order='F')
    np.testing.assert_allclose(tensor[np.triu_indices(3)], SIX, atol=1e-15)
    np.testing.assert_array_equal(tensor, tensor.T)


def test_it_has_the_numbers_of_frankas_own_example_in_their_places():
    # github.com/frankaemika/external_gripper_example, a Robotiq 2F-85
    own = {
        'mass': 0.9,
        'centerOfMass': [0, 0, 0.057],
        'transformation': [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
        'inertia': [0.002768, 0, 0, 0, 0.003149, 0, 0, 0, 0.000564],
    }
    payload = np.array([0.9, 0.0, 0.0, 0.057, 0.002768, 0.0, 0.0, 0.003149, 0.0, 0.000564])
    content = json.loads(desk_json(payload, 'robotiq'))
    assert {name: content[name] for name in own} == own
