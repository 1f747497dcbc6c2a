# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint axes against DH rows: what matches, and which joint and number does not."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.urdf.serial_chain import read_chain
from franka_dynamics.urdf.writer import write_urdf
from franka_dynamics.validation.comparison import compare_geometry

from ..urdf.urdf_texts import edited

FER = write_urdf(load('fer'))
ROUNDING = 1e-14  # kg m^2


def compare(text, arm='fer'):
    description = load(arm)
    return compare_geometry(description, read_chain(text, description.joint_names))


def origin(joint):
    return f"joint[@name='fer_joint{joint}']/origin"


def test_links_in_frames_off_the_dh_frames_are_converted():
    # Link 1's frame is put 0.1 m lower on axis 1, so what is at z is at z + 0.1 in it.
    text = edited(FER, origin(1), xyz='0 0 0.233')
    text = edited(text, origin(2), xyz='0 0 0.1')
    com = load('fer').links[0].center_of_mass
    text = edited(
        text,
        "link[@name='fer_link1']/inertial/origin",
        xyz=f'{com[0]!r} {com[1]!r} {com[2] + 0.1!r}'.replace('np.float64(', '').replace(')', ''),
    )
    description = load('fer')
    chain = read_chain(text, description.joint_names)
    aligned, differences = compare_geometry(description, chain)
    assert differences == ()
    np.testing.assert_allclose(
        aligned.links[0].parameters(),
        description.links[0].parameters(),
        rtol=0.0,
        atol=ROUNDING,
    )


@pytest.mark.parametrize(
    ('path', 'attributes', 'expected'),
    [
        (origin(3), {'xyz': '0 -0.32 0'}, ('fer_joint3', 'd', 0.316, 0.32)),
        (origin(4), {'xyz': '0.0825 0.01 0'}, ('fer_joint4', 'd', 0.0, -0.01)),
        (origin(4), {'rpy': '1.570796326794897 0 0.1'}, ('fer_joint3', 'theta', 0.0, 0.1)),
        (origin(4), {'rpy': '1.570796326794897 0.1 0'}, ('fer_joint4', 'theta', 0.0, -0.1)),
        (origin(5), {'xyz': '-0.08 0.384 0'}, ('fer_joint5', 'a', -0.0825, -0.08)),
        (origin(7), {'xyz': '0.088 0.001 0'}, ('fer_joint7', 'd', 0.0, -0.001)),
        (origin(2), {'rpy': '-1.5 0 0'}, ('fer_joint2', 'alpha', -np.pi / 2, -1.5)),
        (origin(1), {'xyz': '0 0 0.3'}, ('fer_joint1', 'd', 0.333, 0.3)),
        (origin(1), {'rpy': '0.01 0 0'}, ('fer_joint1', 'alpha', 0.0, 0.01)),
        (origin(1), {'xyz': '0.02 0 0.333'}, ('fer_joint1', 'a', 0.0, 0.02)),
        (origin(1), {'rpy': '0 0 0.5'}, ('fer_joint1', 'theta', 0.0, 0.5)),
    ],
)
def test_one_edited_origin_names_joint_quantity_and_numbers(path, attributes, expected):
    _, found = compare(edited(FER, path, **attributes))
    numbers = {(one.place, one.parameter): (one.first, one.second) for one in found}
    np.testing.assert_allclose(numbers[expected[:2]], expected[2:], rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ('rpy', 'passes'),
    [
        ('1.5707963 0 0', True),
        ('1.570796 0 0', True),
        ('1.5708 0 0', True),
        ('1.571 0 0', False),
        ('1.57 0 0', False),
    ],
)
def test_pi_half_of_fewer_digits_passes_as_rounded_1_57_does_not(rpy, passes):
    _, found = compare(edited(FER, origin(4), rpy=rpy))
    assert (found == ()) is passes
    if not passes:
        assert (found[0].place, found[0].parameter) == ('fer_joint4', 'alpha')
        assert 'too few digits' in found[0].cause


@pytest.mark.parametrize('joint', [2, 7])
def test_a_reversed_axis_is_named_as_the_joints_sign(joint):
    text = edited(FER, f"joint[@name='fer_joint{joint}']/axis", xyz='0 0 -1')
    _, (found,) = compare(text)
    assert (found.place, found.parameter) == (f'fer_joint{joint}', 'joint sign')
    assert 'wrong sign' in found.cause


@pytest.mark.parametrize(
    ('attributes', 'expected'),
    [
        ({'xyz': '0 0 0.1'}, {'d': 0.1}),
        ({'rpy': '0 0 -0.7853981633974483'}, {'theta': -np.pi / 4}),
    ],
)
def test_another_flange_is_named_by_its_numbers(attributes, expected):
    _, found = compare(edited(FER, "joint[@name='fer_link8_joint']/origin", **attributes))
    assert {one.place for one in found} == {'flange'}
    numbers = {one.parameter: one.second for one in found}
    assert numbers.keys() == expected.keys()
    np.testing.assert_allclose(list(numbers.values()), list(expected.values()), atol=1e-12)


def test_another_kind_of_joint_is_named():
    _, found = compare(edited(FER, "joint[@name='fer_joint3']", type='prismatic'))
    kinds = [one for one in found if one.parameter == 'kind']
    assert [(one.place, one.first, one.second) for one in kinds] == [
        ('fer_joint3', 'revolute', 'prismatic')
    ]
