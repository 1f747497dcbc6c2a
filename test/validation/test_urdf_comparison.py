# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults planted into a URDF are named in the DH terms of the arm that it should be."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.urdf.serial_chain import read_chain
from franka_dynamics.urdf.writer import write_urdf
from franka_dynamics.validation.comparison import compare

from ..arms import with_row_shifted
from ..urdf.urdf_texts import edited

FER = write_urdf(load('fer'))
ROUNDING = 1e-14  # kg m^2


def compared(text, arm='fer'):
    description = load(arm)
    return compare(description, read_chain(text, description.joint_names))


def origin(joint):
    return f"joint[@name='fer_joint{joint}']/origin"


def test_links_in_frames_off_the_dh_frames_are_converted():
    # Link 1's frame is put 0.1 m lower on axis 1, so what is at z is at z + 0.1 in it.
    text = edited(FER, origin(1), xyz='0 0 0.233')
    text = edited(text, origin(2), xyz='0 0 0.1')
    x, y, z = load('fer').links[0].center_of_mass.tolist()
    text = edited(text, "link[@name='fer_link1']/inertial/origin", xyz=f'{x!r} {y!r} {z + 0.1!r}')
    found = compared(text)
    assert found.differences == ()
    np.testing.assert_allclose(
        found.second.links[0].parameters(),
        load('fer').links[0].parameters(),
        rtol=0.0,
        atol=ROUNDING,
    )


@pytest.mark.parametrize(
    ('path', 'attributes', 'expected'),
    [
        (origin(4), {'xyz': '0.0825 0.01 0'}, ('fer_joint4', 'd', 0.0, -0.01)),
        (origin(4), {'rpy': '1.570796326794897 0 0.1'}, ('fer_joint3', 'theta', 0.0, 0.1)),
        (origin(5), {'xyz': '-0.08 0.384 0'}, ('fer_joint5', 'a', -0.0825, -0.08)),
        (origin(2), {'rpy': '-1.5 0 0'}, ('fer_joint2', 'alpha', -np.pi / 2, -1.5)),
        (origin(1), {'rpy': '0 0 0.5'}, ('fer_joint1', 'theta', 0.0, 0.5)),
        ("joint[@name='fer_link8_joint']/origin", {'xyz': '0 0 0.1'}, ('flange', 'd', 0.107, 0.1)),
    ],
)
def test_one_edited_origin_names_joint_quantity_and_numbers(path, attributes, expected):
    found = compared(edited(FER, path, **attributes)).geometry
    numbers = {(one.place, one.parameter): (one.first, one.second) for one in found}
    np.testing.assert_allclose(numbers[expected[:2]], expected[2:], rtol=0.0, atol=1e-9)


def test_a_reversed_axis_is_named_as_the_joints_sign():
    text = edited(FER, "joint[@name='fer_joint7']/axis", xyz='0 0 -1')
    (found,) = compared(text).geometry
    assert (found.place, found.parameter) == ('fer_joint7', 'joint sign')
    assert 'wrong sign' in found.cause


def test_another_kind_of_joint_is_named():
    found = compared(edited(FER, "joint[@name='fer_joint3']", type='prismatic')).geometry
    kinds = [one for one in found if one.parameter == 'kind']
    assert [(one.place, one.first, one.second) for one in kinds] == [
        ('fer_joint3', 'revolute', 'prismatic')
    ]


def test_millimetres_and_few_digits_are_named_as_the_cause():
    arm = load('fr3')
    for change, cause in (
        ({'a': 82.5 - 0.0825}, 'millimetres in place of metres'),
        ({'alpha': 1.57 - np.pi / 2}, 'an angle written with too few digits'),
    ):
        (found,) = compared(write_urdf(with_row_shifted(arm, 3, **change)), 'fr3').differences
        assert found.cause == cause and f'likeliest cause: {cause}.' in str(found)


def test_an_arm_is_itself_in_rows_that_are_cut_otherwise():
    # What the base lifts the first row need not, and a last frame may lie anywhere on its axis.
    arm = load('fr3')
    base, moved = np.array(arm.base), np.eye(4)
    base[2, 3], moved[2, 3] = 0.1, -0.05
    other = with_row_shifted(with_row_shifted(arm, 0, d=-0.1), 6, d=0.05)
    other = replace(
        other,
        base=base,
        links=(*arm.links[:6], arm.links[6].expressed_in(moved)),
        flange=replace(arm.flange, d=arm.flange.d - 0.05),
    )
    assert compare(arm, other).differences == ()
