# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Live parameters, each refusal with its sentence; limits of torque against hand-worked cases."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.control.limits import TorqueLimiter
from franka_dynamics.control.settings import Settings, Terms
from franka_dynamics.control.terms import StateTerms, TermModel
from franka_dynamics.control.trajectory import ReferencePoint
from franka_dynamics.control.watchers import SpeedWatcher
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import SettingsError

from .closed_loop import core, HOME, STILL

FER, FR3 = load('fer'), load('fr3')
LOAD = (1.0, 0.0, 0.0, 0.05, 1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)


@pytest.mark.parametrize(
    ('changes', 'sentence'),
    [
        ({'target': 'ur'}, r"target is 'ur'; the choices are 'fci', 'franka_gazebo', "),
        ({'payload': (np.nan, *LOAD[1:])}, r'payload .* must be finite numbers; got nan at \[0\]'),
        ({'payload': (-1.0, *LOAD[1:])}, r"The payload's mass is -1.0 kg"),
        ({'payload': (0.0, *LOAD[1:])}, r'payload has no mass but a centre of mass'),
        ({'payload': (*LOAD[:9], 5e-3)}, r'0.005\] .* belongs to no real body: .* by 0.003'),
        (
            {'gravity_vector': (0.0, 0.0, np.nan)},
            r'gravity_vector must be finite numbers; got nan at \[2\]',
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
        ({'kp': (0.0,) * 6 + (301.0,)}, r'kp must be within 0 and 300 at fer_joint7 .*; got 301'),
        ({'payload': (3.5, *LOAD[1:])}, r'3.5 kg, more than the rated load of fer \(3 kg\)'),
        ({'payload': (*LOAD[:4], 2.0, 0.0, 0.0, 2.0, 0.0, 2.0)}, r'inertia 2 kg m\^2; 1 kg'),
        ({'payload': (1e9, *LOAD[1:])}, r'Are these grams'),
        ({'payload': (1.0, 0.0, 0.0, 150.0, *LOAD[4:])}, r'150 m .* Are these millimetres'),
        ({'scale': 1.5}, r'scale is 1.5; it must be within 0 and 1'),
        ({'scale': np.nan}, r'scale must be finite numbers; got nan'),
        ({'scale': '1'}, r'scale must be finite numbers'),
        ({'mount_tilt_compensated_by': 'me'}, r"by is 'me'; the choices are '', 'robot', 'node'"),
        ({'payload_known_to_robot': 1}, r'payload_known_to_robot must be True or False; got 1'),
        ({'terms': Terms(friction=1)}, r'terms.friction must be True or False; got 1'),
    ],
)
def test_given_a_value_at_fault_when_validated_then_it_is_named(changes, sentence):
    with pytest.raises(SettingsError, match=sentence) as refused:
        replace(Settings(), **changes).validate(FER)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ('axis', 'changes', 'down'),
    [
        ('x', {}, None),  # the robot compensates gravity along its own z axis
        ('x', {'gravity_vector': (1.0, 0.0, -9.75), 'target': 'mujoco'}, None),
        ('x', {'target': 'mujoco'}, (0.0, -9.81 * np.sin(0.3), -9.81 * np.cos(0.3))),
        ('x', {'mount_tilt_compensated_by': 'robot'}, (0.0, 0.0, 0.0)),
        ('z', {}, (0.0, 0.0, 0.0)),
        ('z', {'gravity_vector': (1.0, 0.0, -9.75), 'target': 'mujoco'}, (1.0, 0.0, -9.75)),
    ],
)
def test_a_base_that_the_arm_file_rotates_is_a_mount_as_that_of_a_urdf(axis, changes, down):
    base = np.eye(4)
    base[:3, :3] = Rotation.from_euler(axis, 0.3).as_matrix()
    arm, settings = replace(FER, base=base), replace(Settings(), **changes)
    if down is None:
        with pytest.raises(SettingsError, match='mounts the arm'):
            settings.validate(arm)
        return
    settings.validate(arm)
    terms = TermModel(arm, settings)
    found = terms.gravity_to_command(FER.home, terms.gravity(FER.home))
    expected = NewtonEulerModel(FER, down).gravity(FER.home)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)


class Written(float):
    """A float that counts how often such floats are converted to text."""

    count = 0

    def __repr__(self):
        Written.count += 1
        return '0.5'


@pytest.mark.parametrize('name', ['kp', 'payload', 'gravity_vector'])
def test_an_array_too_long_is_not_written_out_before_it_is_shortened(name):
    # While Python converts a list to text, the control thread cannot run: a second for a million.
    Written.count = 0
    with pytest.raises(SettingsError, match=r'0\.5 \.\.\. .* \(1000,\)'):
        replace(Settings(), **{name: (Written(0.5),) * 1000}).validate(FER)
    assert Written.count < 20


def test_friction_is_refused_for_an_arm_without_friction_model():
    with pytest.raises(SettingsError, match=r'fr3\.yaml has no friction model'):
        Settings(terms=Terms(friction=True)).validate(FR3)


def test_a_payload_is_read_as_set_load_in_the_flange_frame():
    body = Settings(payload=LOAD).payload_inertia()
    assert body.mass == 1.0
    np.testing.assert_allclose(body.center_of_mass, [0.0, 0.0, 0.05], rtol=0, atol=1e-14)
    # By the parallel axis theorem, 1 kg at 5 cm adds 0.0025 kg m^2 about x and y.
    np.testing.assert_allclose(np.diag(body.inertia), [3.5e-3, 3.5e-3, 1e-3], rtol=0, atol=1e-14)


def test_a_payload_may_be_a_point_mass_an_inertia_or_none():
    point = LinkInertia.from_center_of_mass(0.5, (0.0, 0.0, 0.1), np.zeros(6))
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
    joints = tuple(
        replace(joint, limits=replace(joint.limits, effort=np.inf)) for joint in FER.joints
    )
    unlimited, settings = replace(FER, joints=joints), Settings(target='mujoco', kp=(gain,))
    if not refused:
        return settings.validate(unlimited)
    with pytest.raises(SettingsError, match='kp must be within 0 and 10000 at fer_joint1'):
        settings.validate(unlimited)


EFFORT, RATE = np.array([87.0, 12.0]), np.array([1000.0, 1000.0])


INFINITE = np.full(2, np.inf)


def test_without_a_previous_torque_only_the_torque_limit_cuts():
    limited = TorqueLimiter(EFFORT, RATE).limit(np.array([50.0, -40.0]), None, 0.0)
    np.testing.assert_array_equal(limited, [50.0, -12.0])


@pytest.mark.parametrize(
    ('elapsed', 'step'),
    [(-1.0, 0.0), (np.nan, 0.0), (0.0, 0.0), (0.4e-3, 0.4), (1e-3, 1.0), (5e-3, 1.0), (1e3, 1.0)],
)
@pytest.mark.parametrize(
    ('limits', 'torque'),
    [((EFFORT, RATE), [80.0, -10.0]), ((INFINITE, INFINITE), [500.0, -500.0])],
)
def test_a_torque_step_passes_at_most_one_ms_of_a_finite_rate(limits, torque, elapsed, step):
    limited = TorqueLimiter(*limits).limit(np.array(torque), np.zeros(2), elapsed)
    np.testing.assert_allclose(limited, [step, -step], rtol=0.0, atol=1e-14)


@pytest.mark.parametrize('moves', [False, True])
@pytest.mark.parametrize(
    ('left', 'speed', 'gain', 'exceeds'),
    [
        (1.0, 1.5, 0.0, False),  # 0.6 of 2.61 rad/s are 1.57
        (1.0, 1.5, 0.1, True),
        (0.10, 1.0, 0.0, False),  # 1 / 60 rad of braking and 0.05 s of delay
        (0.06, 1.0, 0.0, True),
        (0.0, 0.45, 0.0, False),
    ],
)
def test_a_joint_that_no_reference_moves_may_be_as_fast_as_it_can_be_stopped(
    left, speed, gain, exceeds, moves
):
    controller, joint = core(), np.eye(7)[5]
    controller.disturbances.speed_gain_while_turning = lambda *_: gain * joint
    limit = SpeedWatcher(FER, controller.disturbances)
    q = HOME + (FER.limit('upper') - HOME - left) * joint
    reference = ReferencePoint(q, speed * joint, STILL) if moves else None
    for k in range(5):
        state = StateTerms(1e-3 * k, q, speed * joint, STILL, STILL, STILL)
        said = limit.check_speeds(state, controller.acting, 1e-3, reference)
    assert bool(said) is (exceeds and not moves)
