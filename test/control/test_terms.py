# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torque terms against the recursion in DH frames; gravity of an arm on a tilted mount."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm.payload import payload_from_array
from franka_dynamics.arm_io import load_arm as load
from franka_dynamics.control.control_law import ControlLaw
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.terms import TermModel
from franka_dynamics.control.trajectory import ReferencePoint, Trajectory
from franka_dynamics.dynamics.model import GRAVITY
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.errors import SettingsError, UrdfError
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.validation.source_models import compare_with_urdf
from franka_dynamics.validation.urdf_check import checked_arm_from_urdf

from .closed_loop import FER
from ..agreement import assert_near, refuses

STATES = sample_states(FER, 50, seed=5)
LOAD = (1.5, 0.01, -0.02, 0.08, 4e-3, 1e-4, 0.0, 5e-3, 2e-4, 3e-3)
TILTED = (3.0, -1.0, -9.28)
# 25 times the largest difference seen, like the tolerance of the cross-check.
ATOL_NM = 1e-12


def models(**changes):
    settings = Settings(**changes)
    payload = settings.payload_inertia()
    loaded = FER.with_payload(payload) if payload.mass else FER
    return TermModel(FER, settings), NewtonEulerModel(loaded, settings.gravity_vector)


@pytest.mark.parametrize('payload', [{}, {'payload': LOAD}])
@pytest.mark.parametrize('gravity', [{}, {'gravity_vector': TILTED}])
def test_each_term_is_that_of_the_independent_model(payload, gravity):
    terms, independent = models(**payload, **gravity)
    weightless = NewtonEulerModel(independent.description, (0.0, 0.0, 0.0))
    q, dq, ddq = STATES
    for term, states, expected in (
        (terms.gravity, (q,), independent.gravity(q)),
        (terms.coriolis, (q, dq), independent.coriolis(q, dq)),
        (terms.inertia_torque, (q, ddq), weightless.inverse_dynamics(q, 0.0 * dq, ddq)),
    ):
        actual = [term(*state) for state in zip(*states)]
        np.testing.assert_allclose(actual, expected, rtol=0, atol=ATOL_NM)


def test_scale_leaves_gravity_whole_and_the_other_terms_are_at_the_measured_state():
    settings = Settings('mujoco', payload=LOAD, scale=0.5)
    law, independent = ControlLaw(FER, settings), models(payload=LOAD)[1]
    weightless = NewtonEulerModel(independent.description, (0.0, 0.0, 0.0))
    (q, other), (dq, other_dq), (_, ddq) = (rows[:2] for rows in STATES)
    reference = ReferencePoint(other, other_dq, ddq)
    desired = law.torque(law.terms.at(0.0, q, dq, reference), reference)
    rest = weightless.coriolis(q, dq) + weightless.inverse_dynamics(q, 0.0 * q, ddq)
    gravity = independent.gravity(q)
    np.testing.assert_allclose(desired, gravity + 0.5 * rest, rtol=0, atol=ATOL_NM)


def test_torques_along_a_motion_are_those_of_its_states():
    law, independent = ControlLaw(FER, Settings('mujoco', payload=LOAD)), models(payload=LOAD)[1]
    motion = Trajectory(np.arange(50.0), np.stack([0.1 * rows for rows in STATES], axis=1))
    expected = independent.inverse_dynamics(*(0.1 * rows for rows in STATES))
    limit = FER.limit('effort')
    efforts = law.trajectory_efforts(motion)
    np.testing.assert_allclose(efforts, np.clip(expected, -limit, limit), rtol=0, atol=1e-11)


@pytest.mark.parametrize('target', ['fci', 'franka_gazebo'])
@pytest.mark.parametrize('payload', [(0.0,) * 10, LOAD])
def test_a_receiver_that_carries_the_arm_leaves_no_gravity_to_us(target, payload):
    terms, _ = models(target=target, payload=payload)
    for q in STATES.q:
        np.testing.assert_array_equal(terms.gravity_to_command(q, terms.gravity(q)), np.zeros(7))


def test_fci_on_a_tilted_base_leaves_true_minus_assumed_gravity():
    terms, independent = models(gravity_vector=TILTED)
    left = [terms.gravity_to_command(q, terms.gravity(q)) for q in STATES.q]
    carried = NewtonEulerModel(FER, GRAVITY)
    expected = independent.gravity(STATES.q) - carried.gravity(STATES.q)
    np.testing.assert_allclose(left, expected, rtol=0, atol=ATOL_NM)


@pytest.mark.parametrize('added', [0.0, 0.7])
def test_a_load_that_the_arm_was_loaded_with_is_commanded_where_the_robot_lacks_it(added):
    arm, more = load('fer', payload=(0.5, 0.0, 0.01, 0.1)), (added, 0.0, 0.0, 0.1 * (added > 0.0))
    settings = Settings(payload=more, payload_known_to_robot=False)
    law, bare = ControlLaw(arm, settings), NewtonEulerModel(FER)
    whole = NewtonEulerModel(arm.with_payload(payload_from_array(np.array([*more, *[0.0] * 6]))))
    q = STATES.q[0]
    found = law.terms.gravity_to_command(q, law.terms.gravity(q))
    np.testing.assert_allclose(found, whole.gravity(q) - bare.gravity(q), rtol=0, atol=ATOL_NM)
    assert ('0.7 kg, beside 0.5 kg' in law.double_payload_warning()) == (added > 0.0)
    known = ControlLaw(arm, Settings(payload=more))
    assert not known.terms.gravity_to_command(q, known.terms.gravity(q)).any()


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
