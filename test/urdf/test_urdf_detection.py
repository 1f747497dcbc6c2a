# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which arm a URDF describes, found by its joint names."""

import pytest

from franka_dynamics.arm import load
from franka_dynamics.errors import UrdfError
from franka_dynamics.urdf.document import parse_urdf
from franka_dynamics.urdf.importer import detect_arm
from franka_dynamics.urdf.writer import urdf_text

FR3 = urdf_text(load('fr3'))


@pytest.mark.parametrize(
    ('text', 'arm', 'first'),
    [
        (urdf_text(load('fer', prefix='a/b_')), 'fer', 'a/b_fer_joint1'),
        (urdf_text(load('fer')).replace('fer_', 'panda_'), 'fer', 'panda_joint1'),
        (FR3.replace('fr3_', 'fp3_'), 'fr3', 'fp3_joint1'),
    ],
)
def test_arm_and_prefix_are_detected_from_the_joint_names(text, arm, first):
    description, names = detect_arm(parse_urdf(text))
    assert (description.name, names[0], len(names)) == (arm, first, description.n)


def test_given_two_arms_when_detected_then_the_prefix_chooses():
    left, right = (urdf_text(load('fr3', prefix=prefix)) for prefix in ('left_', 'right_'))
    body = right[right.index('<joint name="right_fr3_link0_joint"') :]
    document = parse_urdf(left.replace('</robot>', '') + body)
    with pytest.raises(UrdfError, match=r'\(left_fr3_joint1 and right_fr3_joint1\).* its prefix'):
        detect_arm(document)
    assert detect_arm(document, prefix='right_')[1][0] == 'right_fr3_joint1'


def test_with_unknown_joint_names_the_arm_must_be_said():
    document = parse_urdf(FR3.replace('fr3_joint', 'axis'))
    with pytest.raises(UrdfError, match=r'known by name; .* axis1, .*\(--arm\)'):
        detect_arm(document)
    with pytest.raises(UrdfError, match='known by name behind the prefix left_;'):
        detect_arm(parse_urdf(FR3), prefix='left_')
    assert detect_arm(document, arm=load('fr3'))[1][6] == 'axis7'
    short = parse_urdf(urdf_text(load('rpr')))
    with pytest.raises(
        UrdfError, match=r'0 chains of 7 or more .* rpr_joint1, rpr_joint2, rpr_joint3'
    ):
        detect_arm(short, arm=load('fer'))
