# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Franka's end-effector file: written with the documented fields, and read back."""

import json
import re

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load, load_hand
from franka_dynamics.arm.payload import desk_json, read_payload
from franka_dynamics.errors import FrankaDynamicsError

# xx, xy, xz, yy, yz, zz [kg m^2]; off-diagonal elements show a wrong order.
SIX = (2e-3, 1e-4, -2e-4, 3e-3, 3e-4, 4e-3)
# Numbers of github.com/frankaemika/external_gripper_example, a Robotiq 2F-85.
EXAMPLE = {
    'id': 'robotiq',
    'name': 'Robotiq',
    'color': '#808080',
    'mass': 0.9,
    'centerOfMass': [0, 0, 0.057],
    'transformation': [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
    'inertia': [0.002, 1e-4, 0, 1e-4, 0.003, 0, 0, 0, 0.004],
}


def test_the_file_has_frankas_own_examples_fields_types_and_numbers():
    name = 'ee-my gripper (left)'
    content = json.loads(desk_json(np.array([0.9, 0.0, 0.0, 0.057, *SIX]), name))
    tensor = np.reshape(content['inertia'], (3, 3), order='F')
    np.testing.assert_array_equal(tensor[np.triu_indices(3)], SIX)
    np.testing.assert_array_equal(tensor, tensor.T)
    # "must not be prefixed by 'ee-' and must be a valid URI reference"
    own = {'id': 'my-gripper-left', 'name': name, 'inertia': content['inertia']}
    assert content == {**EXAMPLE, **own}


@pytest.fixture
def desk_file(tmp_path):
    """Return a function: the path of Franka's own example with some fields changed."""

    def write(**changes):
        content = {**EXAMPLE, **changes}
        path = tmp_path / 'endeffector-config.json'
        path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))
        return str(path)

    return write


def test_it_is_read_as_a_hand_and_as_a_payload(desk_file):
    expected = LinkInertia.from_center_of_mass(
        0.9, (0, 0, 0.057), [[0.002, 1e-4, 0], [1e-4, 0.003, 0], [0, 0, 0.004]]
    )
    path = desk_file()
    assert load_hand(path) == read_payload(path) == expected
    bare, carrying = load('fr3', hand='none'), load('fr3', hand=path)
    assert carrying.links[-1] == bare.with_payload(expected).links[-1]
    assert carrying.hand == path
    # Desk accepts a point mass, and files with only mass, centerOfMass and inertia.
    point = desk_file(inertia=[0] * 9, id=None, name=None, color=None, transformation=None)
    assert load_hand(point) == LinkInertia.from_center_of_mass(0.9, (0, 0, 0.057), [0] * 6)


@pytest.mark.parametrize(
    ('changes', 'sentence'),
    [
        ({'mass': None}, 'mass is missing'),
        ({'mass': '0.9'}, 'mass must be a number'),
        ({'mass': 900}, 'Are these grams'),
        ({'centerOfMass': [0, 0]}, 'centerOfMass must be a list of 3 numbers'),
        ({'inertia': [1, 2, 3, 4, 5, 6, 7, 8, 9]}, 'inertia is not symmetric'),
        ({'inertia': [0.9, 0, 0, 0, 0.1, 0, 0, 0, 0.1]}, 'belongs to no real body'),
    ],
)
def test_a_file_at_fault_is_refused_by_file_and_field(changes, sentence, desk_file):
    path = desk_file(**changes)
    for read in (load_hand, read_payload):
        with pytest.raises(FrankaDynamicsError, match=f'{path}.*{re.escape(sentence)}'):
            read(path)


def test_a_file_that_is_no_json_is_refused(tmp_path):
    (tmp_path / 'x.json').write_text('mass: 1')
    with pytest.raises(FrankaDynamicsError, match=r'x\.json.*no JSON'):
        load_hand(str(tmp_path / 'x.json'))
