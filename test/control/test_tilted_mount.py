# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A URDF that mounts the arm tilted sets gravity; who compensates the tilt has to be stated."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.terms import TermModel
from franka_dynamics.errors import SettingsError, UrdfError
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.validation.pinocchio_urdf_model import compare_with_urdf
from franka_dynamics.validation.urdf_check import checked_arm_from_urdf

from ..agreement import assert_near, refuses

ATOL = 1e-9
FR3 = load('fr3')
RPY = {'wall': '1.5707963267948966 0 0', 'ceiling': '3.141592653589793 0 0', 'any': '0.4 -0.7 1.9'}
UPRIGHT = urdf_text(FR3)


def mounted(rpy):
    """Return the URDF of an FR3 whose base has this orientation in the root link."""
    joint = 'type="fixed">\n    <origin xyz="0 0 0" rpy="0 0 0" />'
    assert joint in UPRIGHT
    return UPRIGHT.replace(joint, f'type="fixed"><origin xyz="0.1 0 1" rpy="{rpy}"/>', 1)


def pinocchios(text, q):
    """Return the gravity torque that Pinocchio reads in a URDF."""
    model = pin.buildModelFromXML(text)
    return pin.computeGeneralizedGravity(model, model.createData(), q)


def commanded(arm, q, **settings):
    settings = Settings(**settings)
    settings.validate(arm)
    terms = TermModel(arm, settings)
    return terms.gravity_to_command(q, terms.gravity(q))


def test_a_lift_below_the_arm_is_held_where_the_user_says():
    lift = '<axis xyz="0 0 1"/><limit lower="0" upper="1" effort="9" velocity="1"/>'
    text = UPRIGHT.replace('type="fixed">', f'type="prismatic">{lift}', 1)
    with refuses(UrdfError, "'fr3_link0_joint'", '--hold'):
        checked_arm_from_urdf(text, FR3)
    arm, _ = checked_arm_from_urdf(text, FR3, held={'fr3_link0_joint': 0.3})
    np.testing.assert_allclose(arm.mount[:3, 3], [0.0, 0.0, 0.3], rtol=0.0, atol=1e-15)
    assert all(one.passed for one in compare_with_urdf(arm))


@pytest.fixture(params=RPY)
def tilted(request):
    text = mounted(RPY[request.param])
    return text, checked_arm_from_urdf(text, FR3)[0]


@pytest.mark.parametrize('target', ['mujoco', 'gz_ros2_control'])
def test_for_a_simulated_target_the_mount_sets_gravity(tilted, target):
    text, arm = tilted
    found = commanded(arm, FR3.home, target=target)
    assert np.abs(found - pinocchios(UPRIGHT, FR3.home)).max() > 1.0
    assert_near(found, pinocchios(text, FR3.home), ATOL)


@pytest.mark.parametrize('target', ['fci', 'franka_gazebo'])
def test_a_target_that_adds_gravity_needs_to_be_said_who_compensates_the_tilt(tilted, target):
    text, arm = tilted
    with refuses(SettingsError, 'tilted', target, 'mount_tilt_compensated_by', 'robot', 'node'):
        commanded(arm, FR3.home, target=target)
    by_robot = commanded(arm, FR3.home, target=target, mount_tilt_compensated_by='robot')
    assert not by_robot.any()
    by_node = commanded(arm, FR3.home, target=target, mount_tilt_compensated_by='node')
    expected = pinocchios(text, FR3.home) - pinocchios(UPRIGHT, FR3.home)
    assert_near(by_node, expected, ATOL)


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_a_gravity_vector_in_the_base_frame_must_say_the_same(tilted, target):
    text, arm = tilted
    down = arm.mount[:3, :3].T @ [0.0, 0.0, -9.81]
    found = commanded(arm, FR3.home, target=target, gravity_vector=tuple(down))
    receiver = pinocchios(UPRIGHT, FR3.home) if target == 'fci' else 0.0
    assert_near(found, pinocchios(text, FR3.home) - receiver, ATOL)
    for wrong in ((9.81, 0.0, 0.0), tuple(-down)):
        with refuses(SettingsError, 'gravity_vector', 'mounts'):
            commanded(arm, FR3.home, target=target, gravity_vector=wrong)


def test_without_weight_no_direction_is_wrong(tilted):
    _, arm = tilted
    found = commanded(arm, FR3.home, target='mujoco', gravity_vector=(0.0, 0.0, 0.0))
    assert not found.any()


def test_a_mount_that_only_turns_about_the_vertical_is_level():
    arm, _ = checked_arm_from_urdf(mounted('0 0 2.1'), FR3)
    assert not commanded(arm, FR3.home, target='fci').any()
    sideways = (4.905, 0.0, -9.81 * np.sqrt(0.75))
    found = commanded(arm, FR3.home, target='mujoco', gravity_vector=sideways)
    assert_near(found, commanded(FR3, FR3.home, target='mujoco', gravity_vector=sideways), ATOL)


def test_a_target_without_gravity_of_its_own_has_nobody_else_to_compensate():
    with refuses(SettingsError, 'mount_tilt_compensated_by', 'mujoco'):
        Settings(target='mujoco', mount_tilt_compensated_by='node').validate(FR3)
