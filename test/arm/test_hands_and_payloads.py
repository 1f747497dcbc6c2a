# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hands and payloads from numbers, our files and Desk's, and older names of shipped arms."""

import json

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load, load_hand, payload
from franka_dynamics.arm.arm_file import arm_file_text
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

HAND = """name: mine
source: weighed
bodies:
  - {name: body, xyz: [0.0, 0.0, 0.0], rpy: [0.0, 0.0, 0.0], inertia_about: center_of_mass,
     mass: 0.5, center_of_mass: [0.0, 0.0, 0.1], inertia: [0.001, 0.0, 0.0, 0.001, 0.0, 0.001]}
"""


@pytest.fixture
def hand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'mine.yaml').write_text(HAND)
    return 'mine.yaml'


def test_a_hand_files_hand_adds_its_weight_to_gravity(hand):
    # The hand's centre of mass is 0.1 m in front of the flange. The gravity torque is the
    # derivative of its height times its weight, by central differences.
    bare, held = NewtonEulerModel(load('fr3')), NewtonEulerModel(load('fr3', hand=hand))
    q, step = bare.description.home, 1e-6
    steps = step * np.stack((np.eye(7), -np.eye(7)))
    up, down = (bare.frames(q + steps)[:, :, -1] @ [0.0, 0.0, 0.1, 1.0])[..., 2]
    expected = 0.5 * 9.81 * (up - down) / (2.0 * step)
    np.testing.assert_allclose(held.gravity(q) - bare.gravity(q), expected, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize('own', [True, False])
def test_a_hand_of_a_saved_arm_comes_off_or_counts_once(own, hand, tmp_path):
    name, path = hand if own else 'franka_hand', tmp_path / 'arm.yaml'
    path.write_text(arm_file_text(load('fer', hand=name)))
    bare, held = load('fer').links[-1].mass, load('fer', hand=name).links[-1].mass
    assert held > bare + 0.4
    assert load(path, hand='none').links[-1].mass == pytest.approx(bare, abs=1e-12)
    # Putting the hand on a second time must not add its mass twice.
    assert load(path).links[-1].mass == load(path, hand=name).links[-1].mass == held


@pytest.mark.parametrize(
    ('spelled', 'name', 'joint'),
    [
        ('FR3', 'fr3', 'fr3_joint1'),
        ('fr3v2.1', 'fr3v2_1', 'fr3v2_1_joint1'),
        ('FR3v2-1', 'fr3v2_1', 'fr3v2_1_joint1'),
        ('Panda', 'fer', 'panda_joint1'),
    ],
)
def test_an_arm_is_found_however_its_name_is_spelled(spelled, name, joint):
    arm, expected = load(spelled, prefix='left_'), load(name)
    assert arm.joint_names[0] == f'left_{joint}' and arm.links == expected.links


def test_given_a_payload_when_read_back_then_it_is_the_same_body(tmp_path):
    # The hand's centre of mass has only positive coordinates.
    hand, center = load_hand('franka_hand'), np.array([-0.01, 0.02, -0.03])
    body = LinkInertia.from_center_of_mass(0.2, center, np.zeros(6))
    np.testing.assert_allclose(payload.payload_array(body)[1:4], center, rtol=1e-12)
    numbers = payload.payload_array(hand)
    path = tmp_path / 'payload.yaml'
    path.write_text(payload.payload_parameter_text(numbers, 'a hand'))
    for given in (str(path), ','.join(str(value) for value in numbers)):
        found = payload.payload_array(payload.read_payload(given))
        # The file has nine digits.
        np.testing.assert_allclose(found, numbers, rtol=1e-8, atol=1e-12)
    point = LinkInertia.from_center_of_mass(0.2, (0.0, 0.0, 0.05), np.zeros(6))
    assert payload.read_payload('0.2,0,0,0.05') == point
    assert payload.read_payload('100,0,0,0.06').mass == 100.0  # the largest


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
    content = json.loads(payload.desk_json(np.array([0.9, 0.0, 0.0, 0.057, *SIX]), name))
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
    assert load_hand(path) == payload.read_payload(path) == expected
    bare, carrying = load('fr3', hand='none'), load('fr3', hand=path)
    assert carrying.links[-1] == bare.with_payload(expected).links[-1]
    assert carrying.hand == path
    # Desk accepts a point mass, and files with only mass, centerOfMass and inertia.
    point = desk_file(inertia=[0] * 9, id=None, name=None, color=None, transformation=None)
    assert load_hand(point) == LinkInertia.from_center_of_mass(0.9, (0, 0, 0.057), [0] * 6)


def test_an_inertia_may_be_unsymmetric_by_rounding(desk_file):
    tensor = [*EXAMPLE['inertia'][:3], 1.0000000001e-4, *EXAMPLE['inertia'][4:]]
    found = payload.read_payload(desk_file(inertia=tensor)).parameters()
    expected = payload.read_payload(desk_file()).parameters()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=0.0)
