# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint axes against DH rows: what matches, and which joint and number does not."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.urdf.geometry import compare_geometry, inertias_in_dh_frames
from franka_dynamics.urdf.serial_chain import read_chain
from franka_dynamics.urdf.writer import write_urdf

from .urdf_texts import edited

ARMS = pytest.mark.parametrize('arm', ['fer', 'fr3', 'rpr'])
FER = write_urdf(load('fer'))
ROUNDING = 1e-14  # kg m^2


def compare(text, arm='fer'):
    description = load(arm)
    return compare_geometry(read_chain(text, description.joint_names), description)


def origin(joint):
    return f"joint[@name='fer_joint{joint}']/origin"


@ARMS
def test_links_of_a_generated_urdf_come_back_in_dh_frames(arm):
    description = load(arm)
    chain = read_chain(write_urdf(description), description.joint_names)
    geometry = compare_geometry(chain, description)
    assert geometry.findings == ()
    for link, expected in zip(inertias_in_dh_frames(chain, geometry), description.links):
        np.testing.assert_allclose(
            link.parameters(), expected.parameters(), rtol=0.0, atol=ROUNDING
        )


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
    geometry = compare_geometry(chain, description)
    assert geometry.findings == ()
    np.testing.assert_allclose(
        inertias_in_dh_frames(chain, geometry)[0].parameters(),
        description.links[0].parameters(),
        rtol=0.0,
        atol=ROUNDING,
    )


@pytest.mark.parametrize(
    ('path', 'attributes', 'expected'),
    [
        (origin(3), {'xyz': '0 -0.32 0'}, ('joint fer_joint3', 'd', '0.32 m', '0.316 m')),
        (origin(4), {'xyz': '0.0825 0.01 0'}, ('joint fer_joint4', 'd', '-0.01 m', '0 m')),
        (
            origin(4),
            {'rpy': '1.570796326794897 0 0.1'},
            ('joint fer_joint3', 'theta', '0.1 rad', '0 rad'),
        ),
        (
            origin(4),
            {'rpy': '1.570796326794897 0.1 0'},
            ('joint fer_joint4', 'theta', '-0.1 rad', '0 rad'),
        ),
        (origin(5), {'xyz': '-0.08 0.384 0'}, ('joint fer_joint5', 'a', '-0.08 m', '-0.0825 m')),
        (
            origin(7),
            {'xyz': '0.088 0.001 0'},
            (
                'link fer_link8',
                'position in the last joint frame',
                '(0, 0, 0.106) m',
                '(0, 0, 0.107) m',
            ),
        ),
        (
            origin(2),
            {'rpy': '-1.5 0 0'},
            ('joint fer_joint2', 'alpha', '-1.5 rad', '-1.570796 rad'),
        ),
        (origin(1), {'xyz': '0 0 0.3'}, ('joint fer_joint1', 'd', '0.3 m', '0.333 m')),
        (origin(1), {'rpy': '0.01 0 0'}, ('joint fer_joint1', 'alpha', '0.01 rad', '0 rad')),
        (origin(1), {'xyz': '0.02 0 0.333'}, ('joint fer_joint1', 'a', '0.02 m', '0 m')),
        (origin(1), {'rpy': '0 0 0.5'}, ('joint fer_joint1', 'theta', '0.5 rad', '0 rad')),
    ],
)
def test_one_edited_origin_names_joint_quantity_and_numbers(path, attributes, expected):
    findings = compare(edited(FER, path, **attributes)).findings
    first = (findings[0].place, findings[0].quantity, findings[0].found, findings[0].expected)
    assert first[0::3] == expected[0::3]
    assert first[1] == expected[1]
    assert first[2].startswith(expected[2])


@pytest.mark.parametrize(
    ('joint', 'rpy', 'passes'),
    [
        (4, '1.5707963 0 0', True),
        (4, '1.570796 0 0', True),
        (4, '1.5708 0 0', True),
        (4, '1.571 0 0', False),
        (4, '1.57 0 0', False),
    ],
)
def test_pi_half_of_fewer_digits_passes_as_rounded_1_57_does_not(joint, rpy, passes):
    findings = compare(edited(FER, origin(joint), rpy=rpy)).findings
    assert (findings == ()) is passes
    if not passes:
        assert findings[0].place == 'joint fer_joint4'
        assert findings[0].quantity == 'alpha'
        assert 'too few digits' in findings[0].cause


@pytest.mark.parametrize('joint', range(1, 8))
def test_a_reversed_axis_is_named_as_the_cause(joint):
    text = edited(FER, f"joint[@name='fer_joint{joint}']/axis", xyz='0 0 -1')
    findings = compare(text).findings
    assert findings
    assert {finding.cause for finding in findings} == {
        f'the <axis> of fer_joint{joint} has the wrong sign'
    }


def test_millimetres_are_named_as_the_likeliest_cause():
    findings = compare(edited(FER, origin(3), xyz='0 -316 0')).findings
    assert findings[0].cause == 'millimetres in place of metres'


def test_another_flange_is_named_by_its_link():
    text = edited(
        FER, "joint[@name='fer_link8_joint']/origin", xyz='0 0 0.1', rpy='0 0 -0.7853981633974483'
    )
    findings = compare(text).findings
    assert [(f.place, f.quantity) for f in findings] == [
        ('link fer_link8', 'position in the last joint frame'),
        ('link fer_link8', 'orientation'),
    ]
    assert (findings[0].found, findings[0].expected) == ('(0, 0, 0.1) m', '(0, 0, 0.107) m')
    assert findings[1].found == '45 deg off'


def test_another_kind_of_joint_is_named():
    text = edited(FER, "joint[@name='fer_joint3']", type='prismatic')
    assert any(
        str(f).startswith('joint fer_joint3: kind is prismatic, expected revolute')
        for f in compare(text).findings
    )


def test_wrong_lengths_put_into_rows_are_those_of_the_urdf():
    geometry = compare(edited(FER, origin(3), xyz='0 -0.32 0'))
    rows = [joint.row for joint in geometry.description(load('fer')).joints]
    expected = [joint.row.d for joint in load('fer').joints]
    expected[2] = 0.32
    np.testing.assert_allclose([row.d for row in rows], expected, rtol=0.0, atol=1e-15)
