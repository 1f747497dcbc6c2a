# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Questions at load about numbers of a hand or payload, and Desk's file of both."""

import json
import warnings

import numpy as np
import pytest
import yaml

import franka_dynamics as fd
from franka_dynamics.cli.main import main
from franka_dynamics.cpp_package.package import controller_arm_text
from franka_dynamics.errors import ArmWarning, InertiaError

from ..agreement import refuses


def box_numbers(size, center, mass=1.5):
    """Return mass, centre and central moments of an even box, by the textbook's formulas."""
    squares = np.square(size)
    moments = mass / 12.0 * (squares.sum() - squares)
    return mass, np.asarray(center, dtype=float), np.diag(moments)


def about_origin(mass, center, tensor):
    """Return a tensor moved from the centre of mass to the origin, by Steiner's theorem."""
    return tensor + mass * (center @ center * np.eye(3) - np.outer(center, center))


def six(tensor):
    return [float(tensor[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]


@pytest.fixture
def hand_file(tmp_path):
    """Return a function that writes a hand of one body, and returns its path."""

    def write(mass, center, tensor, about='center_of_mass'):
        body = {
            'name': 'body',
            'xyz': [0.0, 0.0, 0.0],
            'rpy': [0.0, 0.0, 0.0],
            'inertia_about': about,
            'mass': mass,
            'center_of_mass': np.asarray(center).tolist(),
            'inertia': six(tensor),
        }
        path = tmp_path / 'my_gripper.yaml'
        content = {'name': 'gripper', 'source': 'CAD', 'bodies': [body]}
        path.write_text(yaml.safe_dump(content), 'utf-8')
        return str(path)

    return write


def asked(**given):
    """Return what is asked when an FR3 is loaded with a hand or payload."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        arm = fd.load('fr3', **given)
    said = [str(one.message) for one in caught if issubclass(one.category, ArmWarning)]
    assert list(arm.torque_notes) == said
    return said


# Boxes on the flange: long, flat, wide; the last begins 20 mm in front of it.
BOXES = [
    ((0.06, 0.06, 0.15), (0.0, 0.0, 0.075)),
    ((0.2, 0.1, 0.08), (0.0, 0.0, 0.04)),
    ((0.05, 0.12, 0.10), (0.0, 0.0, 0.07)),
]


@pytest.mark.parametrize(('size', 'center'), BOXES)
def test_a_tensor_that_seems_not_central_is_asked_about(hand_file, size, center):
    mass, center, tensor = box_numbers(size, center)
    wrong = about_origin(mass, center, tensor)
    (said,) = asked(hand=hand_file(mass, center, wrong))
    assert 'my_gripper' in said and f'{1e3 * center[2]:.3g} mm' in said
    (of_load,) = asked(payload=[mass, *center, *six(wrong)])
    assert 'payload' in of_load
    # Both rightly stated are not.
    assert not asked(hand=hand_file(mass, center, tensor))
    assert not asked(hand=hand_file(mass, center, wrong, 'frame_origin'))
    assert not asked(payload=[mass, *center, *six(tensor)])


def test_a_hand_without_inertia_is_asked_about(hand_file):
    (said,) = asked(hand=hand_file(0.8, (0.0, 0.0, 0.05), np.zeros((3, 3))))
    assert 'zero' in said and 'my_gripper' in said
    # A payload of four numbers is a point on purpose.
    assert not asked(payload=[0.8, 0.0, 0.0, 0.05])


def test_a_load_behind_the_flange_is_asked_about(hand_file):
    mass, center, tensor = box_numbers((0.06, 0.06, 0.15), (0.0, 0.0, -0.075))
    (said,) = asked(hand=hand_file(mass, center, tensor))
    assert '75 mm' in said
    assert '20 mm' in asked(payload=[1.0, 0.0, 0.0, -0.02])[0]
    # Of another maker's arm nothing says where the flange's z axis points.
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        fd.load('rpr', payload=[1.0, 0.0, 0.0, -0.02])


@pytest.mark.parametrize('hand', fd.available_hands())
def test_nothing_is_asked_about_shipped_hands(hand):
    assert not asked(hand=hand)


def test_a_hand_beyond_the_rated_load_is_refused_as_a_payload_is(hand_file):
    numbers = box_numbers((0.1, 0.1, 0.2), (0.0, 0.0, 0.1), mass=4.0)
    rated = fd.load('fr3').rated_load
    for given in ({'hand': hand_file(*numbers)}, {'payload': [4.0, 0.0, 0.0, 0.1]}):
        with refuses(InertiaError, '4 kg', f'{rated:g} kg'):
            fd.load('fr3', **given)
    assert fd.load('rpr', hand=hand_file(*numbers)).n == 3  # no rated load is stated


def desk_content(text):
    content = json.loads(text)
    tensor = np.reshape(content['inertia'], (3, 3), order='F')
    return content, content['mass'], np.array(content['centerOfMass']), tensor


def test_a_hand_and_a_payload_become_one_end_effector_of_desk(hand_file, capsys):
    hand = box_numbers((0.06, 0.08, 0.15), (0.01, 0.0, 0.075))
    load = box_numbers((0.05, 0.05, 0.05), (0.0, 0.02, 0.18), mass=0.4)
    path = hand_file(*hand)
    numbers = ','.join(map(str, [load[0], *load[1], *six(load[2])]))
    command = f'arm export --arm fr3 --format desk --hand {path}'
    assert main(command.split()) == 0
    content, mass, center, tensor = desk_content(capsys.readouterr().out)
    # The hand's own name, not that of a file.
    assert (content['name'], mass) == ('gripper', pytest.approx(hand[0]))
    np.testing.assert_allclose(center, hand[1], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(tensor, hand[2], rtol=0.0, atol=1e-12)
    # Of both, by hand: the sum of tensors about the flange, moved to the common centre.
    assert main([*command.split(), '--payload', numbers]) == 0
    _, mass, center, tensor = desk_content(capsys.readouterr().out)
    total = hand[0] + load[0]
    expected = (hand[0] * hand[1] + load[0] * load[1]) / total
    np.testing.assert_allclose([mass, *center], [total, *expected], rtol=0.0, atol=1e-12)
    found = about_origin(mass, center, tensor)
    parts = about_origin(*hand) + about_origin(*load)
    np.testing.assert_allclose(found, parts, rtol=0.0, atol=1e-12)


def test_desks_file_has_the_hands_own_name(tmp_path, capsys):
    written = {}
    for name, content in (
        ('named', {'name': 'Gripper of bay 3', 'mass': 0.5}),
        ('nameless', {'mass': 0.5}),
        ('numbered', {'name': 3, 'mass': 0.5}),
    ):
        path = tmp_path / f'{name}.json'
        tensor = np.diag([0.001, 0.001, 0.001]).ravel().tolist()
        body = {'centerOfMass': [0.0, 0.0, 0.05], 'inertia': tensor}
        path.write_text(json.dumps({**content, **body}))
        assert main(f'arm export --arm fr3 --format desk --hand {path}'.split()) == 0
        written[name] = json.loads(capsys.readouterr().out)['name']
    assert written == {'named': 'Gripper of bay 3', 'nameless': 'nameless', 'numbered': 'numbered'}


def test_desks_file_has_no_rounding_errors():
    # Moved to the flange's origin and back, moments are 0.0017999999999999995 and the like.
    center = np.array([0.0, 0.0, 0.05])
    body = fd.LinkInertia.from_center_of_mass(0.7, center, [0.0018, 0.0, 0.0, 0.0017, 0.0, 0.0009])
    content = json.loads(fd.desk_json(body, 'box'))
    assert content['mass'] == 0.7
    assert content['centerOfMass'] == [0.0, 0.0, 0.05]
    assert content['inertia'] == [0.0018, 0.0, 0.0, 0.0, 0.0017, 0.0, 0.0, 0.0, 0.0009]


def test_any_sequence_and_any_body_make_desks_file():
    mass, center, tensor = box_numbers((0.06, 0.08, 0.15), (0.01, 0.0, 0.075))
    numbers = [mass, *center, *six(tensor)]
    body = fd.LinkInertia.from_center_of_mass(mass, center, tensor)
    for given in (numbers, tuple(numbers), np.array(numbers), body):
        _, own, place, inertia = desk_content(fd.desk_json(given, 'box'))
        assert own == pytest.approx(mass)
        np.testing.assert_allclose(place, center, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(inertia, tensor, rtol=0.0, atol=1e-12)
    assert desk_content(fd.desk_json([0.5, 0.0, 0.0, 0.1], 'point'))[1] == 0.5
    with refuses(InertiaError, 'no mass'):
        fd.desk_json(np.zeros(10), 'nothing')


def test_an_arm_without_a_load_has_no_end_effector(capsys):
    assert main('arm export --arm fr3 --format desk'.split()) == 2
    assert '--payload' in capsys.readouterr().err


def test_written_text_names_the_hand_and_not_its_path(hand_file):
    path = hand_file(*box_numbers((0.06, 0.06, 0.15), (0.0, 0.0, 0.075)))
    arm = fd.load('fr3', hand=path)
    code = fd.c_header([fd.customised_equations(arm, 'gravity')])
    for said in (controller_arm_text(arm), code):
        words = ' '.join(said.split())
        assert 'hand my_gripper' in words and path.rpartition('/')[0] not in words


def test_a_check_of_an_arm_asks_about_its_hand(hand_file, capsys):
    mass, center, tensor = box_numbers((0.06, 0.06, 0.15), (0.0, 0.0, -0.075))
    assert main(['arm', 'check', 'fr3', '--hand', str(hand_file(mass, center, tensor))]) == 0
    assert '75 mm' in capsys.readouterr().out
