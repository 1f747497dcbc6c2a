# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated arms: torques, friction, stops, and the MuJoCo model of an arm."""

from dataclasses import replace
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

import franka_dynamics as fd
from franka_dynamics.arm import JointLimits, load, MaxwellSlipFriction, ViscousCoulombFriction
from franka_dynamics.arm.bodies import FixedFrame
from franka_dynamics.control.default_gains import default_gains
from franka_dynamics.control.settings import Settings
from franka_dynamics.demo.random_plant import random_plant
from franka_dynamics.dynamics import model as dynamics
from franka_dynamics.errors import (
    ArgumentError,
    DescriptionError,
    InertiaError,
    JointVectorError,
    SettingsError,
)
from franka_dynamics.files import share_directory
from franka_dynamics.simulation import gazebo
from franka_dynamics.simulation.arm_simulation import (
    ArmSimulation,
    Push,
    SimulationSettings,
)
from franka_dynamics.simulation.joint_elasticity import (
    franka_elasticity,
    JointElasticity,
)
from franka_dynamics.simulation.mujoco_model import build_mujoco_model, FLANGE_SITE

from ..agreement import refuses
from ..arms import random_arm, with_link
from ..control.closed_loop import core

FER = load('fer')
MODEL = fd.NewtonEulerModel(FER)
STEP = 1e-3

WEIGHTLESS = {'brake_release_after': 0.0, 'gravity': (0.0, 0.0, 0.0)}
STILL = np.zeros(7)
LAST = np.eye(7)[6]


def arm(description=FER, **changes):
    return ArmSimulation(description, SimulationSettings(**changes))


def stepped(simulation, torque, count=1):
    """Advance with one torque; return the last reading."""
    for _ in range(count):
        simulation.step(torque)
    return simulation.read()


def test_brakes_open_the_stated_time_after_the_first_command():
    simulation = arm(brake_release_after=0.2)
    gravity = MODEL.gravity(FER.home)
    opened = next(k for k in range(400) if simulation.step(gravity) or not simulation.is_braked)
    assert opened * STEP == pytest.approx(0.2, abs=STEP)


@pytest.mark.parametrize(('gap_ms', 'braked'), [(15, False), (25, True)])
def test_brakes_stay_closed_in_command_gaps_over_20_ms(gap_ms, braked):
    simulation = arm(brake_release_after=0.2)
    for k in range(1000):
        simulation.step(STILL, is_new=k % 100 < 100 - gap_ms)
    assert simulation.is_braked == braked


def test_an_arm_with_own_compensation_stays_and_measures_gravity():
    simulation = arm(gravity_compensation=True, brake_release_after=0.0)
    effort = stepped(simulation, STILL, 1000).effort
    np.testing.assert_allclose(simulation.position, FER.home, rtol=0, atol=1e-9)
    # The link-side sensor measures what carries the arm; tolerance as for MuJoCo's bias force.
    np.testing.assert_allclose(effort, MODEL.gravity(FER.home), rtol=0, atol=1e-9)


def test_effort_sensors_see_friction_as_the_real_arms_do():
    simulation = arm(friction=True, brake_release_after=0.0)
    torque = MODEL.gravity(FER.home) + np.array([0.0, 0.0, 0.0, 0.0, 0.3, 0.0, 0.3])
    before = stepped(simulation, torque, 99)
    after = stepped(simulation, torque)
    acceleration = (after.velocity - before.velocity) / STEP
    friction = FER.friction.torque(before.velocity)
    assert np.abs(friction).max() > 0.1
    # Friction is taken at the step's end, along its chord: light joints do not chatter then.
    expected = MODEL.inverse_dynamics(before.position, before.velocity, acceleration)
    expected += friction / before.velocity * after.velocity
    # MuJoCo's step is the semi-implicit Euler step that is differenced here.
    np.testing.assert_allclose(after.effort, expected, rtol=0, atol=1e-9)


def test_simulated_friction_grows_with_the_load():
    share = np.linspace(0.05, 0.3, 7)
    parts = [np.full(7, one) for one in (1.0, 0.1, 0.0)]
    friction = ViscousCoulombFriction(*parts, load_dependent=share)
    simulation = arm(replace(FER, friction=friction), friction=True, brake_release_after=0.0)
    torque = MODEL.gravity(FER.home) + np.array([3.0, 20.0, 3.0, 12.0, 2.0, 2.0, 1.0])
    first = stepped(simulation, torque, 98)
    before = stepped(simulation, torque)
    after = stepped(simulation, torque)

    def bodies(state, following):
        """Return the rigid bodies' torque from one reading to the next."""
        acceleration = (following.velocity - state.velocity) / STEP
        return MODEL.inverse_dynamics(state.position, state.velocity, acceleration)

    # The load is that of the step before, and friction acts along its chord, as above.
    load = np.abs(bodies(first, before))
    slides = np.tanh(before.velocity / friction.width)
    along = (before.velocity + slides * (0.1 + share * load)) / before.velocity
    expected = bodies(before, after) + along * after.velocity
    np.testing.assert_allclose(after.effort, expected, rtol=0.0, atol=1e-9)
    assert (share * slides * load).max() > 1.0


def rubbing(viscous, coulomb, slip=(), reach=()):
    """Return a weightless arm whose joints have the same friction, its brakes open."""
    parts = [np.full(7, one) for one in (viscous, coulomb, 0.0)]
    friction = MaxwellSlipFriction(*parts, np.outer(slip, np.ones(7)), list(reach))
    return arm(replace(FER, friction=friction), friction=True, **WEIGHTLESS)


@pytest.mark.parametrize('push_nm', [0.35, 0.5])
def test_steep_friction_neither_chatters_nor_drives_light_joints(push_nm):
    # Joint 7 alone: 0.4 N m of Coulomb friction turned over at 0.01 rad/s on about 0.01 kg m^2
    # is 40 N m s/rad, which an explicit step of 1 ms would overshoot four times over.
    simulation = rubbing(0.0, 0.4)
    speeds = [stepped(simulation, push_nm * LAST).velocity[6] for _ in range(400)]
    # Below 0.4 N m it creeps where tanh(dq / 0.01) balances, above it accelerates; no step back.
    assert (np.diff(speeds) > -1e-9).all()
    creeping = 0.01 * np.arctanh(min(push_nm / 0.4, 0.999))
    assert speeds[-1] == pytest.approx(creeping, rel=0.01) if push_nm < 0.4 else speeds[-1] > 0.1


def test_slip_elements_hold_the_arm_like_springs_until_they_slip():
    # Given joints with one element of 0.3 N m over 4 mrad, and viscous friction to settle.
    simulation = rubbing(2.0, 0.0, [0.3], [0.004])
    # When joint 7 is pushed with a third of that, it moves by a third of the reach (Hooke's law).
    moved = stepped(simulation, 0.1 * LAST, 2000).position[6] - FER.home[6]
    assert moved == pytest.approx(0.004 / 3.0, rel=1e-3)
    # When pushed with more, it slips at the speed of viscous friction.
    assert stepped(simulation, 0.4 * LAST, 2000).velocity[6] == pytest.approx(0.1 / 2.0, rel=1e-3)


def test_noise_has_the_stated_deviation_and_is_repeatable():
    def readings(seed):
        simulation = arm(position_noise=1e-4, effort_noise=0.2, seed=seed)
        return np.array([simulation.read().position for _ in range(2000)])

    np.testing.assert_array_equal(readings(1), readings(1))
    # 2000 x 7 samples: the deviation is known to 0.6 %, five of which are allowed.
    assert np.std(readings(1) - FER.home) == pytest.approx(1e-4, rel=0.03)


@pytest.mark.parametrize(('link', 'point'), [(0, (0.0, 0.0, 0.0)), (4, (0.1, -0.05, 0.2))])
def test_a_push_accelerates_the_arm_by_its_points_jacobian(link, point):
    force = np.array([3.0, 10.0, -5.0])
    push = Push(tuple(force), 0.0, 1.5 * STEP, link=link, point=point)
    simulation = arm(push=push, **WEIGHTLESS)
    velocity = stepped(simulation, STILL).velocity
    linear, angular = np.split(MODEL.jacobian(FER.home, link or 'flange'), 2)
    place = MODEL.frames(FER.home)[link - 1, :3, :3] @ np.array(point)
    torque = (linear + np.cross(angular.T, place).T).T @ force
    expected = np.linalg.solve(MODEL.mass_matrix(FER.home), torque) * STEP
    np.testing.assert_allclose(velocity, expected, rtol=0, atol=1e-6)
    # The push has ended, and without gravity the arm keeps its velocity.
    velocity = stepped(simulation, STILL, 3).velocity
    np.testing.assert_allclose(velocity, expected, rtol=0, atol=1e-3)
    assert np.abs(expected).max() > 3e-3


def test_an_arm_given_a_load_moves_with_its_mass_and_inertia():
    load_in_hand = fd.LinkInertia.from_center_of_mass(1.5, (0.03, -0.02, 0.1), 0.05 * np.eye(3))
    simulation = arm(brake_release_after=0.0)
    torque = np.linspace(5.0, -5.0, 7)
    simulation.set_payload(load_in_hand)
    loaded = fd.NewtonEulerModel(FER.with_payload(load_in_hand))
    expected = loaded.forward_dynamics(FER.home, STILL, torque) * STEP
    np.testing.assert_allclose(stepped(simulation, torque).velocity, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ('call', 'error', 'names'),
    [
        (
            lambda: arm(start_position=np.zeros(7)),
            DescriptionError,
            ['fer_joint4', '-3.072'],
        ),
        (
            lambda: arm(start_position=np.zeros(6)),
            JointVectorError,
            ['start', '(6,)', '(7,)'],
        ),
        (lambda: arm(load('stanford'), armature=True), DescriptionError, ['armature']),
        (lambda: franka_elasticity(load('rpr')), SettingsError, ['3 joints']),
        (lambda: arm(position_noise=-1e-4), SettingsError, ['position_noise', '-0.0001']),
        (lambda: arm(vibration_rms=np.nan), SettingsError, ['vibration_rms', 'nan']),
        (lambda: arm(seed=-1), SettingsError, ['seed', '-1']),
        (lambda: arm(seed=0.5), SettingsError, ['seed', '0.5']),
        (lambda: arm(seed='a'), SettingsError, ['seed', 'a']),
        (lambda: random_plant(load('fer'), -1), SettingsError, ['seed', '-1']),
        (lambda: arm(push=Push(link=8)), SettingsError, ['link', '8', '1..7']),
        (lambda: setattr(arm(), 'push', Push(link=8)), SettingsError, ['link', '8', '1..7']),
        (lambda: arm(push=Push(link=1.5)), ArgumentError, ['link', '1.5']),
        (lambda: Push((1.0, 2.0)), ArgumentError, ['force', '(1.0, 2.0)']),
        (lambda: Push(moment=(0.0, np.nan, 0.0)), SettingsError, ['moment', 'nan']),
    ],
)
def test_a_start_or_an_arm_at_fault_is_refused_by_its_joints(call, error, names):
    with refuses(error, *names):
        call()


def test_effort_sensors_do_not_feel_the_drives_inertia():
    # Given the FR3 at rest in weightlessness, pushed by a torque at each joint.
    fr3 = load('fr3')
    torque = np.array([5.0, -4.0, 3.0, 2.0, 0.5, -0.4, 0.3])
    # When it is stepped once from rest.
    reading = stepped(arm(fr3, armature=True, **WEIGHTLESS), torque, 1)
    # Then the torque moves links and drives, and the sensors feel the links alone.
    links = fd.NewtonEulerModel(fr3).mass_matrix(fr3.home)
    acceleration = np.linalg.solve(links + np.diag(fr3.simulated_armature), torque)
    np.testing.assert_allclose(reading.velocity, 1e-3 * acceleration, rtol=1e-9, atol=0.0)
    np.testing.assert_allclose(reading.effort, links @ acceleration, rtol=1e-9, atol=1e-12)


def test_real_effects_leave_out_what_is_unknown_of_the_joints():
    known = SimulationSettings().with_real_effects(load('fr3v2'))
    unknown = SimulationSettings().with_real_effects(load('stanford'))
    assert (known.friction, known.armature) == (True, True)
    assert (unknown.friction, unknown.armature) == (False, False)


def test_friction_for_simulation_alone_acts():
    # The FR3, for which friction between commanded torque and motion is published, is pushed at
    # its first joint by less than the Coulomb friction of 1.137 N m.
    fr3 = load('fr3')
    moved = {}
    assert fr3.friction is None
    for friction in (False, True):
        simulation = arm(fr3, friction=friction, **WEIGHTLESS)
        moved[friction] = stepped(simulation, 0.8 * np.eye(7)[0], 300).position[0] - fr3.home[0]
    # Friction holds it, but for the creep of a sign that is smoothed.
    assert 0.0 <= moved[True] < 0.2 * moved[False]


def test_an_arm_that_runs_away_is_braked_where_last_seen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warnings to a file
    simulation = arm(brake_release_after=0.0)
    # Far beyond what the arm itself can give: its stops hold against that.
    torque = 1e6 * FER.limit('effort')
    before = FER.home
    while not simulation.runaway_text:
        assert simulation.time < 10.0
        before = simulation.position
        simulation.step(torque)
    assert 'ran away' in simulation.runaway_text
    reading = stepped(simulation, torque, 100)
    assert simulation.is_braked
    np.testing.assert_array_equal(reading.position, before)
    np.testing.assert_array_equal(reading.velocity, 0.0)


def test_a_joint_under_lasting_torque_is_said_to_be_at_its_stop():
    simulation = arm(**WEIGHTLESS)
    stepped(simulation, FER.limit('effort') * np.eye(7)[0], 3000)
    stopped = simulation.joints_at_stops
    assert 'fer_joint1' in stopped and 'fer_joint4' not in stopped
    assert not simulation.runaway_text


# Joint 1 alone turns about the vertical: one link of 1 kg m^2, without gravity.
LINK = fd.LinkInertia.from_center_of_mass(5.0, np.zeros(3), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
ONLY = {'joints': (replace(FER.joints[0], limits=JointLimits()),), 'links': (LINK,)}
SINGLE = replace(FER, **ONLY, home=np.zeros(1), simulated_armature=None, friction=None)
K = 12e3
D = 10.0
B = 0.15


def single_arm(ripple=0.0):
    elasticity = JointElasticity(*map(np.array, ([K], [D], [B], [38.4], [[ripple]], [1.0], [0.0])))
    return ArmSimulation(SINGLE, SimulationSettings(elasticity=elasticity, brake_release_after=0))


def test_a_torque_step_swings_as_the_two_mass_equations_say():
    # Given the link's own inertia, and a step of motor torque.
    inertia = fd.NewtonEulerModel(SINGLE).mass_matrix(np.zeros(1))[0, 0]
    torque = 2.0

    def two_masses(_, state):
        theta, q, dtheta, dq = state
        gear = K * (theta - q) + D * (dtheta - dq)
        return [dtheta, dq, (torque - gear) / B, gear / inertia]

    time = STEP * np.arange(1, 61)
    exact = solve_ivp(two_masses, (0.0, 0.06), [0.0] * 4, t_eval=time, rtol=1e-9, atol=1e-12).y
    gear = K * (exact[0] - exact[1]) + D * (exact[2] - exact[3])
    # When simulated in steps of 1 ms.
    arm = single_arm()
    found = []
    for _ in time:
        arm.step(np.array([torque]))
        reading = arm.read()
        found.append((reading.effort[0], reading.velocity[0]))
    # Then torque sensor and motor velocity show the same swing, to what two substeps of first
    # order allow at a resonance of sqrt(K (1/B + 1/M)) = 305 rad/s: h w / 2 = 8 % of it.
    for shown, expected in zip(np.transpose(found), (gear, exact[2])):
        np.testing.assert_allclose(shown, expected, rtol=0.0, atol=0.08 * np.ptp(expected))
    assert np.ptp(gear) > 1.0  # a rigid joint's would be constant


def test_at_rest_the_gear_carries_gravity_without_a_jolt():
    nothing = {'torque_noise_std': np.zeros(7), 'ripple_amplitudes': np.zeros((3, 7))}
    smooth = replace(franka_elasticity(FER), **nothing)
    arm = ArmSimulation(FER, SimulationSettings(elasticity=smooth, brake_release_after=0.1))
    gravity = fd.NewtonEulerModel(FER).gravity(FER.home)
    for _ in range(300):
        arm.step(gravity)
    assert not arm.is_braked
    np.testing.assert_allclose(arm.position, FER.home, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(arm.read().effort, gravity, rtol=0.0, atol=1e-6)


def test_the_gear_ripples_in_proportion_to_speed():
    arm = single_arm(ripple=0.3)
    effort = []
    speed = 0.8
    for _ in range(6000):
        reading = arm.read()
        arm.step(2.0 * (speed - reading.velocity))
        effort.append(reading.effort[0])
    spectrum = np.abs(np.fft.rfft(np.array(effort[2000:]) * np.hanning(4000)))
    found = np.argmax(spectrum[8:]) + 8  # above 2 Hz
    assert found / 4.0 == pytest.approx(38.4 * speed, abs=0.5)


# Bound on the difference; 5e-14 was measured on fer.
ATOL = 1e-10
OWN = FixedFrame(xyz=np.ones(3), rpy=np.zeros(3), name='flange', joint=7)
ARMS = {
    'fer': fd.load('fer'),
    'fr3': fd.load('fr3'),
    'fer with hand': fd.load('fer', hand='franka_hand'),
    'a link without mass': with_link(FER, 3, fd.LinkInertia.zero()),
    'own frame': replace(fd.load('fer'), fixed_frames=(OWN,)),
    **{f'random {seed}': random_arm(np.random.default_rng(seed)) for seed in range(3)},
}
GRAVITY = (1.0, -2.0, -9.0)


def oracle(model, q, dq):
    """Return bias force, mass matrix and flange pose as MuJoCo computes them."""
    data = mujoco.MjData(model)
    data.qpos[:] = q
    data.qvel[:] = dq
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    site = model.site(FLANGE_SITE).id
    pose = np.eye(4)
    pose[:3, :3] = data.site_xmat[site].reshape(3, 3)
    pose[:3, 3] = data.site_xpos[site]
    return np.array(data.qfrc_bias), mass, pose


@pytest.mark.parametrize('name', ARMS)
def test_bias_mass_matrix_and_pose_agree_with_mujocos(name):
    arm = ARMS[name]
    written = fd.NewtonEulerModel(arm, GRAVITY)
    model = build_mujoco_model(arm, gravity=GRAVITY)
    for q, dq, _ in zip(*fd.sample_states(arm, 20, seed=11)):
        bias, mass, pose = oracle(model, q, dq)
        scale = max(1.0, np.abs(bias).max())
        found = written.nonlinear_effects(q, dq)
        np.testing.assert_allclose(found, bias, rtol=0, atol=ATOL * scale)
        scale = max(1.0, np.abs(mass).max())
        np.testing.assert_allclose(written.mass_matrix(q), mass, rtol=0, atol=ATOL * scale)
        np.testing.assert_allclose(written.frames(q)[-1], pose, rtol=0, atol=1e-12)


def test_a_set_that_is_not_physical_is_refused_with_its_link():
    with refuses(InertiaError, 'ledezma2021', 'fer_joint2'):
        build_mujoco_model(fd.load('fer', 'ledezma2021'))


def test_a_joint_at_full_torque_is_held_at_its_stop():
    arm = fd.load('fr3')
    most = arm.limit('effort')
    for joint in range(arm.n):
        for side, limit in ((1.0, 'upper'), (-1.0, 'lower')):
            model = build_mujoco_model(arm, gravity=(0.0, 0.0, 0.0), stops=True)
            data = mujoco.MjData(model)
            data.qpos[:] = arm.home
            data.qpos[joint] = arm.limit(limit)[joint] - 0.05 * side
            data.ctrl[joint] = side * most[joint]
            beyond = []
            for _ in range(500):
                mujoco.mj_step(model, data)
                beyond.append(side * (data.qpos[joint] - arm.limit(limit)[joint]))
            # In the collision a step of the fastest, the last joint at 58 rad/s; then at rest.
            assert max(beyond) < 0.06 and abs(beyond[-1]) < 1e-3


def test_stops_change_nothing_for_an_arm_within_its_limits():
    arm = fd.load('fr3')
    states = []
    for stops in (False, True):
        model = build_mujoco_model(arm, stops=stops)
        data = mujoco.MjData(model)
        data.qpos[:] = arm.home
        for _ in range(200):
            mujoco.mj_step(model, data)
        states.append(np.array(data.qpos))
    np.testing.assert_array_equal(*states)


TORQUE = 1e-12  # N m; 6e-14 was seen
CONFIG = share_directory() / 'config'


@pytest.mark.parametrize('arm', ['fer', 'fr3', 'rpr'])
def test_the_direct_models_zero_is_the_start_pose_by_pinocchio(arm):
    description = fd.load(arm)
    start = description.home_position + 0.05
    model = pin.buildModelFromXML(gazebo.gazebo_urdf(description, start))
    q, dq, ddq = fd.sample_states(description, 50, 0)
    expected = fd.NewtonEulerModel(description).inverse_dynamics(q, dq, ddq)
    actual = [pin.rnea(model, model.createData(), *state) for state in zip(q - start, dq, ddq)]
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=TORQUE)
    found = model.lowerPositionLimit, model.upperPositionLimit
    moved = [description.limit(limit) - start for limit in ('lower', 'upper')]
    np.testing.assert_allclose(found, moved, rtol=0.0, atol=1e-14)


def test_a_start_is_home_with_pinocchios_gravity_torque():
    description = fd.load('fr3', hand='franka_hand')
    np.testing.assert_array_equal(description.home_position, description.home)
    expected = fd.Model(description).gravity(description.home)
    np.testing.assert_allclose(gazebo.holding_torque(description), expected, rtol=0.0, atol=TORQUE)


def test_the_worlds_gravity_and_name_are_ours():
    world = ElementTree.parse(CONFIG / 'gazebo_world.sdf').find('world')
    assert world.get('name') == gazebo.WORLD_NAME
    assert tuple(float(word) for word in world.findtext('gravity').split()) == dynamics.GRAVITY


def test_a_world_contains_the_arm_and_all_that_it_had(tmp_path):
    file = CONFIG / 'gazebo_world.sdf'
    arm = tmp_path / 'arm.urdf'
    before = ElementTree.parse(file).find('world')
    world = ElementTree.fromstring(gazebo.world_with_arm(file, arm)).find('world')
    *kept, include = world
    assert [one.tag for one in kept] == [one.tag for one in before]
    assert (include.tag, include.findtext('name')) == ('include', gazebo.MODEL_NAME)
    # SDFormat reads a URDF of an absolute path only with the scheme.
    assert include.findtext('uri') == f'file://{arm}'


@pytest.mark.parametrize(
    ('text', 'named'),
    [
        ('<sdf><world', 'no SDF'),
        ('<sdf/>', 'it has none'),
        ('<sdf><world name="default"/></sdf>', "it has 'default'"),
    ],
)
def test_a_world_that_is_not_ours_is_refused_with_its_file(text, named, tmp_path):
    file = tmp_path / 'own.sdf'
    file.write_text(text)
    with refuses(SettingsError, str(file), named):
        gazebo.world_with_arm(file, tmp_path / 'arm.urdf')


# The cycle that gz_ros2_control loses at its start, in MuJoCo, with the gains for it. ------------

HELD = 200  # cycles before the start, in which the node settles
UNTIL_THE_NODE_IS_HEARD = 6  # cycles: one without torque, then the initial effort
MOST_RAD = 0.03  # 0.028 of a bare fr3's last joint with states 20 ms old; the others 0.019


def test_the_node_brings_the_arm_back_after_a_lost_cycle():
    # The states are 20 cycles old. The slowest motion decays by 0.47 1/s.
    arm = fd.load('fr3')
    seconds = 2.0
    age = 20
    simulation = ArmSimulation(arm, SimulationSettings(brake_release_after=0.0))
    kp, kd = map(tuple, default_gains(arm))
    controller = core(Settings('gz_ros2_control', kp=kp, kd=kd), arm=arm)
    states = [(arm.home_position, np.zeros(arm.n))] * HELD
    for k in range(HELD + round(seconds / STEP)):
        torque = controller.step(*states[max(k - age, 0)], STEP * k)
        if k >= HELD:
            lost = k == HELD
            heard = k >= HELD + UNTIL_THE_NODE_IS_HEARD
            held = 0.0 * gazebo.holding_torque(arm) if lost else gazebo.holding_torque(arm)
            simulation.step(torque if heard else held)
            reading = simulation.read()
            states.append((reading.position, reading.velocity))
    assert not simulation.is_braked
    away = np.abs([q - arm.home_position for q, _ in states])
    assert away.max() < MOST_RAD and away[-1].max() < 0.7 * away.max()
