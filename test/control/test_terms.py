# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Terms of torque, mounts, payloads, limits; torques at rest, in motion, as settings change."""

from dataclasses import replace

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

import franka_dynamics as fd
from franka_dynamics.arm.payload import payload_from_array
from franka_dynamics.control.control_law import ControlLaw
from franka_dynamics.control.default_gains import default_gains, gains_against_friction
from franka_dynamics.control.feedforward import Feedforward, State
from franka_dynamics.control.limits import MAX_STEP_S, TorqueLimiter
from franka_dynamics.control.settings import Settings as Settings
from franka_dynamics.control.speed_watcher import SpeedWatcher
from franka_dynamics.control.terms import StateTerms, TermModel
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.dynamics.model import GRAVITY as DOWN
from franka_dynamics.errors import SettingsError, UrdfError
from franka_dynamics.motion.trajectory import ReferencePoint, Trajectory
from franka_dynamics.ros.motions.trajectory_efforts import trajectory_efforts
from franka_dynamics.simulation.arm_simulation import Push
from franka_dynamics.simulation.receiver import TorqueReceiver
from franka_dynamics.urdf.mjcf_writer import mjcf_text
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.validation.source_models import compare_with_urdf
from franka_dynamics.validation.urdf_check import checked_arm_from_urdf

from .closed_loop import (
    core,
    FER,
    GRAVITY,
    HOME,
    KD,
    KP,
    Loop,
    MUJOCO,
    sent_at_rest,
    STILL,
)
from ..agreement import assert_near, refuses

STATES = fd.sample_states(FER, 50, seed=5)
LOAD = (1.5, 0.01, -0.02, 0.08, 4e-3, 1e-4, 0.0, 5e-3, 2e-4, 3e-3)
TILTED = (3.0, -1.0, -9.28)
NODE = {'mount_tilt_compensated_by': 'node'}  # who compensates a tilt
# 25 times the largest difference seen, like the tolerance of the cross-check.
ATOL_NM = 1e-12


def models(**changes):
    settings = Settings(**changes)
    payload = settings.payload_inertia()
    loaded = FER.with_payload(payload) if payload.mass else FER
    return TermModel(FER, settings), fd.NewtonEulerModel(loaded, settings.gravity_vector)


@pytest.mark.parametrize('payload', [{}, {'payload': LOAD}])
@pytest.mark.parametrize('gravity', [{}, {'gravity_vector': TILTED, **NODE}])
def test_each_term_is_that_of_the_independent_model(payload, gravity):
    terms, independent = models(**payload, **gravity)
    weightless = fd.NewtonEulerModel(independent.description, (0.0, 0.0, 0.0))
    q, dq, ddq = STATES
    for term, states, expected in (
        (terms.gravity, (q,), independent.gravity(q)),
        (terms.coriolis, (q, dq), independent.coriolis(q, dq)),
        (terms.inertia_torque, (q, ddq), weightless.inverse_dynamics(q, 0.0 * dq, ddq)),
    ):
        actual = [term(*state) for state in zip(*states)]
        np.testing.assert_allclose(actual, expected, rtol=0, atol=ATOL_NM)


def test_scale_leaves_gravity_whole():
    settings = Settings('mujoco', payload=LOAD, scale=0.5)
    law = ControlLaw(FER, settings)
    independent = models(payload=LOAD)[1]
    weightless = fd.NewtonEulerModel(independent.description, (0.0, 0.0, 0.0))
    (q, other), (dq, other_dq), (_, ddq) = (rows[:2] for rows in STATES)
    reference = ReferencePoint(other, other_dq, ddq)
    desired = law.torque(law.terms.terms_at(0.0, q, dq, reference), reference)
    rest = weightless.coriolis(q, dq) + weightless.inverse_dynamics(q, 0.0 * q, ddq)
    np.testing.assert_allclose(desired, independent.gravity(q) + 0.5 * rest, rtol=0, atol=ATOL_NM)


def test_torques_along_a_motion_are_those_of_its_states():
    law = ControlLaw(FER, Settings('mujoco', payload=LOAD))
    independent = models(payload=LOAD)[1]
    motion = Trajectory(np.arange(50.0), np.stack([0.1 * rows for rows in STATES], axis=1))
    expected = independent.inverse_dynamics(*(0.1 * rows for rows in STATES))
    limit = FER.limit('effort')
    efforts = trajectory_efforts(law, motion)
    np.testing.assert_allclose(efforts, np.clip(expected, -limit, limit), rtol=0, atol=1e-11)


@pytest.mark.parametrize('target', ['fci', 'franka_gazebo'])
@pytest.mark.parametrize('payload', [(0.0,) * 10, LOAD])
def test_a_receiver_that_carries_the_arm_leaves_no_gravity_to_us(target, payload):
    terms, _ = models(target=target, payload=payload)
    for q in STATES.q:
        np.testing.assert_array_equal(terms.gravity_to_command(q, terms.gravity(q)), np.zeros(7))


def test_fci_on_a_tilted_base_leaves_true_minus_assumed_gravity():
    terms, independent = models(gravity_vector=TILTED, **NODE)
    left = [terms.gravity_to_command(q, terms.gravity(q)) for q in STATES.q]
    expected = independent.gravity(STATES.q) - fd.NewtonEulerModel(FER, DOWN).gravity(STATES.q)
    np.testing.assert_allclose(left, expected, rtol=0, atol=ATOL_NM)


@pytest.mark.parametrize('added', [0.0, 0.7])
def test_the_load_of_the_model_is_commanded_unless_robot_knows(
    added,
):
    arm = fd.load('fer', payload=(0.5, 0.0, 0.01, 0.1))
    more = (added, 0.0, 0.0, added and 0.1)
    settings = Settings(payload=more, payload_known_to_robot=False)
    law = ControlLaw(arm, settings)
    bare = fd.NewtonEulerModel(FER)
    whole = fd.NewtonEulerModel(arm.with_payload(payload_from_array(np.array([*more, *[0] * 6]))))
    q = STATES.q[0]
    found = law.terms.gravity_to_command(q, law.terms.gravity(q))
    np.testing.assert_allclose(found, whole.gravity(q) - bare.gravity(q), rtol=0, atol=ATOL_NM)
    warning = law.double_payload_warning()
    assert ('0.7 kg' in warning and '0.5 kg' in warning) == (added > 0.0)
    known = ControlLaw(arm, Settings(payload=more))
    assert not known.terms.gravity_to_command(q, known.terms.gravity(q)).any()


ATOL = 1e-9
FR3 = fd.load('fr3')
RPY = {
    'wall': '1.5707963267948966 0 0',
    'ceiling': '3.141592653589793 0 0',
    'any': '0.4 -0.7 1.9',
}
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
    np.testing.assert_allclose(arm.mount_pose[:3, 3], [0.0, 0.0, 0.3], rtol=0.0, atol=1e-15)
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
def test_on_a_tilt_the_target_that_adds_gravity_is_asked(tilted, target):
    text, arm = tilted
    with refuses(SettingsError, 'tilted', target, 'mount_tilt_compensated_by', 'robot', 'node'):
        commanded(arm, FR3.home, target=target)
    assert not commanded(arm, FR3.home, target=target, mount_tilt_compensated_by='robot').any()
    by_node = commanded(arm, FR3.home, target=target, mount_tilt_compensated_by='node')
    assert_near(by_node, pinocchios(text, FR3.home) - pinocchios(UPRIGHT, FR3.home), ATOL)


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_a_gravity_vector_in_the_base_frame_must_say_the_same(tilted, target):
    text, arm = tilted
    down = arm.mount_pose[:3, :3].T @ [0.0, 0.0, -9.81]
    by_node = NODE if target == 'fci' else {}
    found = commanded(arm, FR3.home, target=target, gravity_vector=tuple(down), **by_node)
    receiver = pinocchios(UPRIGHT, FR3.home) if target == 'fci' else 0.0
    assert_near(found, pinocchios(text, FR3.home) - receiver, ATOL)
    for wrong in ((9.81, 0.0, 0.0), tuple(-down)):
        with refuses(SettingsError, 'gravity_vector', 'mounts'):
            commanded(arm, FR3.home, target=target, gravity_vector=wrong)


TURNED_BASE = np.eye(4)
TURNED_BASE[:3, :3] = Rotation.from_euler('y', 90.0, degrees=True).as_matrix()
# An arm that lies on its back, given in each of the ways there are.
ON_A_WALL = {
    'gravity_vector': (FR3, {'gravity_vector': (9.81, 0.0, 0.0)}),
    'a little': (
        FR3,
        {'gravity_vector': (9.81 * np.sin(0.01), 0.0, -9.81 * np.cos(0.01))},
    ),
    'upside down': (FR3, {'gravity_vector': (0.0, 0.0, 9.81)}),
    'of another length': (FR3, {'gravity_vector': (9.78, 0.0, 0.0)}),
    'base': (replace(FR3, base=TURNED_BASE), {}),
    'base and vector': (
        replace(FR3, base=TURNED_BASE),
        {'gravity_vector': (9.81, 0.0, 0.0)},
    ),
    'longer vector': (
        replace(FR3, base=TURNED_BASE),
        {'gravity_vector': (9.82, 0.0, 0.0)},
    ),
}


@pytest.mark.parametrize('target', ['fci', 'franka_gazebo'])
@pytest.mark.parametrize('given', ON_A_WALL)
def test_who_compensates_a_tilt_is_asked_however_it_is_given(given, target):
    arm, tilt = ON_A_WALL[given]
    for use in (
        lambda: Settings(target=target, **tilt).validate(arm),
        lambda: fd.Feedforward(arm, target, **tilt),
        lambda: TorqueReceiver(arm, Settings(target=target, **tilt), 0.05),
    ):
        with refuses(SettingsError, 'tilted', 'mount_tilt_compensated_by'):
            use()
    Settings(target='mujoco', **tilt).validate(arm)
    said = {'target': target, **tilt}
    assert not commanded(arm, FR3.home, **said, mount_tilt_compensated_by='robot').any()
    by_node = commanded(arm, FR3.home, **said, **NODE)
    true = Settings(target='mujoco', **tilt).gravity_in_space(arm)
    expected = fd.NewtonEulerModel(arm, true).gravity(FR3.home) - pinocchios(UPRIGHT, FR3.home)
    assert_near(by_node, expected, ATOL)


def test_a_tilt_set_while_a_level_arm_is_carried_is_asked_about():
    loop = Loop(Settings(target='fci'), gravity_compensation=True).run(0.1)
    with refuses(SettingsError, 'tilted', 'mount_tilt_compensated_by'):
        loop.controller.change(gravity_vector=(9.81, 0.0, 0.0))
    loop.controller.change(gravity_vector=(0.0, 0.0, -9.8067))  # level
    assert loop.run(0.1).controller.state is State.RUNNING


def test_without_weight_no_direction_is_wrong(tilted):
    _, arm = tilted
    assert not commanded(arm, FR3.home, target='mujoco', gravity_vector=(0.0, 0.0, 0.0)).any()


def test_a_mount_that_only_turns_about_the_vertical_is_level():
    arm, _ = checked_arm_from_urdf(mounted('0 0 2.1'), FR3)
    assert not commanded(arm, FR3.home, target='fci').any()
    sideways = (4.905, 0.0, -9.81 * np.sqrt(0.75))
    found = commanded(arm, FR3.home, target='mujoco', gravity_vector=sideways)
    assert_near(found, commanded(FR3, FR3.home, target='mujoco', gravity_vector=sideways), ATOL)


PAYLOAD = (1.0, 0.0, 0.0, 0.05, 1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)


@pytest.mark.parametrize(
    ('changes', 'sentence'),
    [
        ({'target': 'ur'}, r"target is 'ur', not one of fci, franka_gazebo, "),
        (
            {'payload': (np.nan, *PAYLOAD[1:])},
            r'payload .* must be finite .*; got nan at \[0\]',
        ),
        ({'payload': (-1.0, *PAYLOAD[1:])}, r"The payload's mass is -1.0 kg"),
        ({'payload': (0.0, *PAYLOAD[1:])}, r'payload has no mass but a centre of mass'),
        (
            {'payload': (*PAYLOAD[:9], 5e-3)},
            r'0.005\] .* belongs to no real body: .* by 0.003',
        ),
        (
            {'gravity_vector': (0, 0, np.nan)},
            r'gravity_vector must be finite .*; got nan at \[2\]',
        ),
        ({'gravity_vector': (0.0, 0.0, -981.0)}, r'at most 30.0 m/s\^2'),
        (
            {'gravity_vector': (0.0, 0.0, 0.0)},
            r'of length 0; .* 9.7 to 9.9 m/s\^2 for a target that compensates',
        ),
        ({'kp': (1.0, 2.0)}, r'kp \(.* each of 7\) must be .* got \[1. 2.\]'),
        ({'kp': '40'}, r'kp .* must be finite numbers.* got .*40'),
        ({'kp': ('40',) * 7}, r'kp .* must be finite numbers'),
        ({'kd': (-1.0,)}, r'kd must be within 0 and 261 at fer_joint1 .*; got -1'),
        ({'kp': (1e308,)}, r'0 and 2175 at fer_joint1 \(25 times its torque limit'),
        (
            {'kp': (0.0,) * 6 + (301.0,)},
            r'kp must be within 0 and 300 at fer_joint7 .*; got 301',
        ),
        (
            {'payload': (3.5, *PAYLOAD[1:])},
            r'3.5 kg, more than the rated load of fer \(3 kg\)',
        ),
        (
            {'payload': (*PAYLOAD[:4], 2.0, 0.0, 0.0, 2.0, 0.0, 2.0)},
            r'inertia 2 kg m\^2; 1 kg',
        ),
        ({'payload': (1e9, *PAYLOAD[1:])}, r'Are these grams'),
        (
            {'payload': (1.0, 0.0, 0.0, 150.0, *PAYLOAD[4:])},
            r'150 m .* Are these millimetres',
        ),
        ({'scale': 1.5}, r'scale is 1.5, not 0 to 1'),
        ({'scale': np.nan}, r'scale must be finite numbers; got nan'),
        ({'scale': '1'}, r'scale must be finite numbers'),
        (
            {'mount_tilt_compensated_by': 'me'},
            r"by is 'me', not one of empty, robot, node",
        ),
        (
            {'payload_known_to_robot': 1},
            r'payload_known_to_robot must be True or False; got 1',
        ),
        # A target without gravity of its own has nobody else to compensate.
        (
            {'mount_tilt_compensated_by': 'node', 'target': 'mujoco'},
            'tilt_compensated_by.*mujoco',
        ),
        ({'terms': fd.Terms(friction=True)}, r'fr3\.yaml has no friction model'),
        (
            {'terms': fd.Terms(friction=1)},
            r'terms.friction must be True or False; got 1',
        ),
        # A number of NumPy is told as one.
        (
            {'payload_known_to_robot': np.float64(1.5)},
            r'payload_known_to_robot must be True or False; got 1\.5\.',
        ),
    ],
)
def test_given_a_value_at_fault_when_validated_then_it_is_named(changes, sentence):
    arm = FR3 if 'fr3' in sentence else FER
    with pytest.raises(SettingsError, match=sentence) as refused:
        replace(Settings(), **changes).validate(arm)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ('axis', 'changes', 'down'),
    [
        ('x', {}, None),  # the robot compensates gravity along its own z axis
        ('x', {'gravity_vector': (1.0, 0.0, -9.75), 'target': 'mujoco'}, None),
        ('x', {'target': 'mujoco'}, (0.0, -9.81 * np.sin(0.3), -9.81 * np.cos(0.3))),
        ('x', {'mount_tilt_compensated_by': 'robot'}, (0.0, 0.0, 0.0)),
        ('z', {}, (0.0, 0.0, 0.0)),
        (
            'z',
            {'gravity_vector': (1.0, 0.0, -9.75), 'target': 'mujoco'},
            (1.0, 0.0, -9.75),
        ),
    ],
)
def test_a_base_rotated_by_the_arm_file_is_a_mount(axis, changes, down):
    base = np.eye(4)
    base[:3, :3] = Rotation.from_euler(axis, 0.3).as_matrix()
    arm = replace(FER, base=base)
    settings = replace(Settings(), **changes)
    if down is None:
        with pytest.raises(SettingsError, match='mounts the arm'):
            settings.validate(arm)
        return
    settings.validate(arm)
    terms = TermModel(arm, settings)
    found = terms.gravity_to_command(FER.home, terms.gravity(FER.home))
    expected = fd.NewtonEulerModel(FER, down).gravity(FER.home)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)


class Written(float):
    """A float that counts how often such floats are converted to text."""

    count = 0

    def __repr__(self):
        Written.count += 1
        return '0.5'


@pytest.mark.parametrize('name', ['kp', 'payload', 'gravity_vector'])
def test_an_array_too_long_is_shortened_before_it_is_printed(name):
    # While Python converts a list to text, the control thread cannot run: a second for a million.
    Written.count = 0
    with pytest.raises(SettingsError, match=r'\(1000,\)'):
        replace(Settings(), **{name: (Written(0.5),) * 1000}).validate(FER)
    assert Written.count < 20


def test_a_payload_is_read_as_set_load_in_the_flange_frame():
    body = Settings(payload=PAYLOAD).payload_inertia()
    assert body.mass == 1.0
    np.testing.assert_allclose(body.center_of_mass, [0.0, 0.0, 0.05], rtol=0, atol=1e-14)
    # By the parallel axis theorem, 1 kg at 5 cm adds 0.0025 kg m^2 about x and y.
    np.testing.assert_allclose(np.diag(body.inertia), [3.5e-3, 3.5e-3, 1e-3], rtol=0, atol=1e-14)


def test_a_payload_may_be_a_point_mass_an_inertia_or_none():
    point = fd.LinkInertia.from_center_of_mass(0.5, (0.0, 0.0, 0.1), np.zeros(6))
    for given in ([0.5, 0.0, 0.0, 0.1], point):
        body = Settings(payload=given).payload_inertia()
        np.testing.assert_allclose(body.parameters(), point.parameters(), rtol=0, atol=1e-15)
    assert not Settings(payload=None).payload_inertia().parameters().any()


@pytest.mark.parametrize('given', ['flange', 5.0, [], [1.0, 2.0], [None] * 10])
def test_what_is_no_payload_is_refused(given):
    with pytest.raises(SettingsError, match='payload'):
        Settings(payload=given).payload_inertia()


@pytest.mark.parametrize('gain', [40.0, [40.0], np.full(7, 40.0)])
def test_gains_are_one_number_or_one_for_each_joint(gain):
    np.testing.assert_array_equal(Settings(kp=gain).gains(7)[0], 40.0)


@pytest.mark.parametrize(('gain', 'refused'), [(1e4, False), (1.1e4, True), (1e300, True)])
def test_a_gain_is_bounded_also_where_no_torque_limit_is_known(gain, refused):
    joints = tuple(replace(one, limits=replace(one.limits, effort=np.inf)) for one in FER.joints)
    unlimited = replace(FER, joints=joints)
    settings = Settings(target='mujoco', kp=(gain,))
    if not refused:
        return settings.validate(unlimited)
    with pytest.raises(SettingsError, match='kp must be within 0 and 10000 at fer_joint1'):
        settings.validate(unlimited)


EFFORT = np.array([87.0, 12.0])
RATE = np.array([1000.0, 1000.0])

INFINITE = np.full(2, np.inf)


def test_without_a_previous_torque_only_the_torque_limit_cuts():
    limited = TorqueLimiter(EFFORT, RATE).limit(np.array([50.0, -40.0]), None, 0.0)
    np.testing.assert_array_equal(limited, [50.0, -12.0])


@pytest.mark.parametrize(
    ('elapsed', 'step'),
    [
        (-1.0, 0.0),
        (np.nan, 0.0),
        (0.0, 0.0),
        (0.4e-3, 0.4),
        (1e-3, 1.0),
        (5e-3, 1.0),
        (1e3, 1.0),
    ],
)
@pytest.mark.parametrize(
    ('limits', 'torque'),
    [((EFFORT, RATE), [80.0, -10.0]), ((INFINITE, INFINITE), [500.0, -500.0])],
)
def test_a_torque_step_passes_at_most_one_ms_of_a_finite_rate(limits, torque, elapsed, step):
    limited = TorqueLimiter(*limits).limit(np.array(torque), np.zeros(2), elapsed)
    np.testing.assert_allclose(limited, [step, -step], rtol=0.0, atol=1e-14)


@pytest.mark.parametrize(
    ('share', 'since', 'exceeds'),
    [
        (0.59, None, False),  # without a reference
        (0.61, None, True),
        (1.1, 0.0, False),  # while the reference moves
        (1.2, 0.0, True),
        (1.1, 0.4, False),  # and as long as a stream of references may pause
        (1.1, 0.6, True),
    ],
)
def test_a_joint_may_be_as_fast_as_its_reference_allows(share, since, exceeds):
    watcher = SpeedWatcher(FER)
    speed = share * FER.limit('velocity')[5] * np.eye(7)[5]
    motion = ReferencePoint(HOME, np.ones(7), STILL)

    def reason(stamp, dq, reference):
        state = StateTerms(stamp, HOME, dq, STILL, STILL, STILL)
        return watcher.check_speeds(state, 1e-3, reference, lambda: '')

    if since is not None:
        assert reason(-since, STILL, motion) is None
    found = [reason(1e-3 * k, speed, None) for k in range(5)]
    assert any(found) is exceeds and not any(found[:2])  # two states may be wrong


ONE_KG = (1.0, 0.02, 0.0, 0.08, 0.003, 0.0, 0.0, 0.003, 0.0, 0.003)
TILTED_LOADED = {
    'gravity_vector': (9.81 * 0.5, 0.0, -9.81 * np.sqrt(0.75)),
    'payload': ONE_KG,
}
GAINS = {'kp': KP, 'kd': KD}


@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_an_arm_at_rest_stays_there_under_feedforward_alone(target):
    by_node = NODE if target == 'fci' else {}
    settings = Settings(target=target, payload_known_to_robot=False, **TILTED_LOADED, **by_node)
    # Without feedback the arm is unstable: a torque that is wrong by 1e-9 N m moves it by more
    # than the bound within 1.4 s. The brakes open after the ramp of the first torque.
    loop = Loop(
        settings,
        gravity=settings.gravity_vector,
        payload=settings.payload_inertia(),
        gravity_compensation=target == 'fci',
        brake_release_after=0.5,
        # The effort of this simulation's braked arm lacks the load that the model declares.
        **({} if target == 'mujoco' else {'friction': False}),
    )
    loop.measures = False
    start = loop.arm.position
    loop.run(2.0)
    assert not loop.arm.is_braked
    np.testing.assert_allclose(loop.arm.position, start, rtol=0, atol=1e-9)


def test_feedforward_leaves_a_weak_pd_1_percent_of_the_error():
    def error_of(terms):
        loop = Loop(replace(MUJOCO, terms=terms, **GAINS)).run(0.3)
        loop.follow(multisine(FER, 2.0, 0.4))
        desired = loop.controller.reference.at
        errors = []
        loop.run(1.2, lambda one: errors.append(desired(one.time).q - one.position))
        return np.sqrt(np.mean(np.square(errors)))

    with_feedforward = error_of(fd.Terms())
    without = error_of(fd.Terms(False, False))
    # The remaining error comes from the delay of one cycle; a wrong M or C would leave percents.
    assert with_feedforward < 0.01 * without and without > 0.01


def guide(loop, speed, joints):
    """Let a person move the first of some joints in 0.8 s, at most at a speed [rad/s]."""
    begun = loop.arm.time

    def moved(_):
        loop.arm.data.qvel[joints] = 0.0
        loop.arm.data.qvel[0] = speed * np.sin(np.pi * (loop.arm.time - begun) / 0.8)

    return loop.run(0.8, moved)


@pytest.mark.parametrize('guided', [{'kp': (0.0,), 'kd': (0.0,)}, {'kp': (0.0,), 'kd': (0.5,)}])
def test_gains_hold_the_arm_where_it_stands_after_guiding(guided):
    loop = Loop(Settings(target='fci', **GAINS), gravity_compensation=True)
    start = loop.arm.position
    loop.run(0.4)
    np.testing.assert_allclose(loop.controller.reference.at(0.39).q, start, rtol=0, atol=1e-12)
    loop.controller.change(**guided)
    loop.run(0.1)
    # The arm is guided away and released; then the gains are switched on again.
    guide(loop, 0.7, slice(None))
    loop.controller.change(**GAINS)
    loop.run(1.0)
    assert loop.controller.state is State.RUNNING, loop.controller.status
    assert loop.arm.position[0] > 0.3
    np.testing.assert_allclose(loop.command, 0.0, rtol=0, atol=0.1)


def test_kp_does_not_grow_while_the_reference_is_far_away():
    loop = Loop(Settings(target='fci'), gravity_compensation=True).run(0.2)
    loop.move(6, 0.3, 10.0)  # feedforward alone
    guide(loop, 0.5, [0])
    with refuses(SettingsError, 'fer_joint1'):
        loop.controller.change(**GAINS)
    loop.controller.follow(np.zeros((0, 7)), [])
    loop.run(0.5)
    loop.controller.change(**GAINS)
    loop.run(0.5)
    assert loop.fastest < 0.6 and loop.controller.state is State.RUNNING


def test_torque_on_fci_begins_at_zero_and_grows_by_its_rate():
    gravity = (5.0, 0.0, -8.44)
    settings = Settings(target='fci', gravity_vector=gravity, **NODE)
    loop = Loop(settings, gravity_compensation=True, gravity=gravity).run(0.3)
    assert np.abs(np.diff(loop.published, axis=0, prepend=np.zeros((1, 7)))).max() <= 1.0 + 1e-12
    # Its brakes open 100 ms after the first torque.
    needed = fd.NewtonEulerModel(FER, gravity).gravity(FER.home) - GRAVITY
    np.testing.assert_allclose(loop.published[60], needed, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize('effort', [None, np.zeros(7)])
def test_an_arm_that_nobody_carries_is_given_gravity_at_once(effort):
    first = sent_at_rest(core(MUJOCO), 30, effort=effort)[0]
    np.testing.assert_allclose(first, GRAVITY, rtol=1e-12, atol=1e-12)


def test_gravity_beyond_a_limit_begins_at_the_limit():
    heavy = replace(FER, links=tuple(replace_mass(link, 12.0) for link in FER.links))
    first = sent_at_rest(core(MUJOCO, arm=heavy), 30)[0]
    assert (np.abs(first) <= FER.limit('effort')).all()
    assert np.abs(first).max() == FER.limit('effort').max()


def replace_mass(link, factor):
    """Return a link whose density is multiplied by a factor."""
    return type(link)(factor * link.mass, factor * link.mass * link.center_of_mass, link.inertia)


def test_a_live_payload_change_ramps():
    # The brakes stay closed, or the arm would rise under a load it does not carry.
    loop = Loop(MUJOCO, measures=False, brake_release_after=60.0).run(0.5)
    before = loop.command
    count = len(loop.published)
    loop.controller.change(payload=ONE_KG)
    loop.run(0.4)
    target = fd.NewtonEulerModel(FER.with_payload(Settings(payload=ONE_KG).payload_inertia()))
    steps = np.diff([before, *loop.published[count:]], axis=0)
    # A kilogram at the flange changes the torque by about 6 N m, in 200 cycles by 0.03 N m each.
    whole = np.abs(target.gravity(FER.home) - GRAVITY).max()
    assert 3.0 < whole < 10.0 and np.abs(steps).max() < 3.0 * whole / 200
    np.testing.assert_allclose(loop.command, target.gravity(FER.home), rtol=0.0, atol=1e-6)


def test_changes_without_pause_leave_the_feedback_whole():
    # When every ramp began at the last published torque, frequent changes cancelled the PD.
    loop = Loop(replace(MUJOCO, **GAINS), push=Push((10.0, 5.0, 0.0), 0.7, 0.1)).run(0.5)
    there = loop.arm.position.copy()
    for k in range(200):
        loop.controller.change(scale=1.0 - 0.01 * (k % 2))
        loop.run(0.01)
    # 4 mrad/s and 0.15 mrad, and as much again.
    assert loop.speed < 8e-3
    np.testing.assert_allclose(loop.arm.position, there, rtol=0.0, atol=3e-4)


@pytest.mark.parametrize('period', [0.5e-3, 1e-3, 2e-3, 5e-3, 0.01])
def test_a_loop_of_any_period_never_drops_the_arm(period):
    """A loop applies each torque for one period; the arm is held from the first state on."""
    kp, kd = default_gains(FER)
    loop = Loop(
        controller={'applied_when_silent': True, 'period': period},
        settings=replace(MUJOCO, kp=tuple(kp), kd=tuple(kd)),
        brake_release_after=0.0,
    )
    start = loop.arm.position
    every = max(1, round(period / MAX_STEP_S))
    for step in range(1000):
        if step % every == 0:
            reading = loop.arm.read()
            torque = loop.controller.step(reading.position, reading.velocity, reading.time)
        loop.arm.step(torque)
    assert loop.controller.state is State.RUNNING, loop.controller.status
    # Rounding moves it by 5e-15 rad; unheld, it would fall by 2e-6 rad in 1 ms.
    np.testing.assert_allclose(loop.arm.position, start, rtol=0.0, atol=1e-6)


def test_default_gains_follow_better_at_shorter_hold_times():
    arm = fd.load('fr3')
    errors = []
    for held in (0.21, 0.05):
        gains = dict(zip(('kp', 'kd'), map(tuple, default_gains(arm, held))))
        loop = Loop(replace(MUJOCO, **gains), description=arm, friction=True).run(0.2)
        loop.follow(multisine(arm, 3.0, 0.5))
        found = []

        def compare(reading, core=loop.controller, found=found):
            found.append(core.reference.motion.at(reading.time).q - reading.position)

        loop.run(2.2, compare)
        assert loop.controller.state is State.RUNNING
        errors.append(np.abs(found).max())
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.1  # [rad]


def test_gains_against_friction_end_a_slow_motion_at_its_goal():
    arm = fd.load('fr3')
    real = replace(arm.with_armature(), simulated_armature=None, friction=arm.simulated_friction)
    weak = default_gains(real, 0.05)
    errors = []
    for kp, kd in (weak, gains_against_friction(real, weak)):
        settings = replace(MUJOCO, kp=tuple(kp), kd=tuple(kd), terms=fd.Terms(friction=True))
        loop = Loop(description=arm, friction=True, armature=True)
        loop.controller = core(settings, arm=real)  # of the node that the launch file starts
        loop.run(0.2)
        # The reference is slow, so only part of the friction is commanded.
        q = loop.controller.latest.q
        path = np.array([q, q + 0.03])
        loop.controller.follow(path, [0.0, 4.0], np.zeros_like(path))
        loop.run(4.3)
        assert loop.controller.state is State.RUNNING
        errors.append(np.abs(loop.controller.desired.q - loop.arm.read().position).max())
    # MoveIt plans from within 0.01 rad.
    assert errors[1] < 0.2 * errors[0] and errors[1] < 0.01


def test_a_loop_of_10_ms_follows_a_motion_with_firm_gains():
    """Each of its torques may change by what a rate of 1000 N m/s allows in 10 ms."""
    arm = fd.load('fr3')
    period = 0.01
    model = mujoco.MjModel.from_xml_string(mjcf_text(arm))  # with drives: armature and friction
    model.opt.timestep, data = period, mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    loop = Feedforward(
        replace(arm.with_armature(), friction=arm.simulated_friction),
        'mujoco',
        period=period,
        kp=(200.0,) * 4 + (50.0,) * 3,
        kd=(10.0,) * 4 + (3.0,) * 3,
        terms=fd.Terms(friction=True),
    )
    farthest = 0.0
    due = 0.0
    for _ in range(300):
        data.ctrl[:] = loop.step(data.qpos, data.qvel, data.time)
        if loop.state is State.RUNNING and data.time >= due:
            loop.follow(arm.home + 0.1 * (1.0 - np.cos(2.0 * np.pi * data.time)))
            due = data.time + 1.0 / 30.0
        farthest = max(farthest, float(np.abs(data.qpos - arm.home).max()))
        mujoco.mj_step(model, data)
    assert loop.state is State.RUNNING, loop.status
    assert 0.19 < farthest < 0.21  # [rad]; the targets move by 0.2
