# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated arm: brakes, sensors, pushes, compensation and friction."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load, MaxwellSlipFriction
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import JointVectorError, SettingsError
from franka_dynamics.simulation.arm_simulation import ArmSimulation, Push, SimulationSettings

FER = load('fer')
MODEL = NewtonEulerModel(FER)
STEP = 1e-3


def arm(**changes):
    return ArmSimulation(FER, SimulationSettings(**changes))


def test_brakes_open_the_stated_time_after_the_first_command():
    simulation = arm(brake_release_after=0.2)
    gravity = MODEL.gravity(FER.home)
    opened = None
    for k in range(400):
        simulation.step(gravity)
        if not simulation.braked and opened is None:
            opened = k * STEP
    assert opened == pytest.approx(0.2, abs=STEP)


def test_brakes_stay_closed_while_commands_have_gaps():
    simulation = arm(brake_release_after=0.2)
    for k in range(1000):
        simulation.step(np.zeros(7), fresh=k % 100 < 60)  # commands for 60 ms, then none for 40 ms
    assert simulation.braked


def test_an_arm_with_own_compensation_stays_and_measures_gravity():
    simulation = arm(gravity_compensation=True, brake_release_after=0.0)
    for _ in range(1000):
        simulation.step(np.zeros(7))
    np.testing.assert_allclose(simulation.position, FER.home, rtol=0, atol=1e-9)
    # The link-side sensor measures the torque that carries the arm; tolerance as for MuJoCo's bias
    # force.
    np.testing.assert_allclose(
        simulation.read().effort, MODEL.gravity(FER.home), rtol=0, atol=1e-9
    )


def test_effort_sensors_see_friction_as_the_real_arms_do():
    simulation = arm(friction=True, brake_release_after=0.0)
    torque = MODEL.gravity(FER.home) + np.array([0.0, 0.0, 0.0, 0.0, 0.3, 0.0, 0.3])
    for _ in range(100):
        before = simulation.read()
        simulation.step(torque)
    after = simulation.read()
    acceleration = (after.velocity - before.velocity) / STEP
    friction = FER.friction.torque(before.velocity)
    assert np.abs(friction).max() > 0.1
    # Friction is taken at the step's end, along its chord: light joints do not chatter then.
    expected = (
        MODEL.inverse_dynamics(before.position, before.velocity, acceleration)
        + friction / before.velocity * after.velocity
    )
    # MuJoCo's step is the semi-implicit Euler step that is differenced here.
    np.testing.assert_allclose(after.effort, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize('push_nm', [0.35, 0.5])
def test_steep_friction_neither_chatters_nor_drives_light_joints(push_nm):
    # Joint 7 alone: 0.4 N m of Coulomb friction turned over at 0.01 rad/s on about 0.01 kg m^2
    # is 40 N m s/rad, which an explicit step of 1 ms would overshoot four times over.
    friction = MaxwellSlipFriction(
        *np.zeros((1, 7)), np.full(7, 0.4), *np.zeros((2, 7)), np.zeros((0, 7)), np.zeros(0)
    )
    simulation = ArmSimulation(
        replace(FER, friction=friction),
        SimulationSettings(friction=True, brake_release_after=0.0, gravity=(0.0, 0.0, 0.0)),
    )
    speeds = []
    for _ in range(400):
        simulation.step(np.array([0.0] * 6 + [push_nm]))
        speeds.append(simulation.read().velocity[6])
    # Below 0.4 N m it creeps where tanh(dq / 0.01) balances, above it accelerates; no step back.
    assert (np.diff(speeds) > -1e-9).all()
    creeping = 0.01 * np.arctanh(min(push_nm / 0.4, 0.999))
    assert speeds[-1] == pytest.approx(creeping, rel=0.01) if push_nm < 0.4 else speeds[-1] > 0.1


def test_slip_elements_hold_the_arm_like_springs_until_they_slip():
    # Given a joint with one element of 0.3 N m over 4 mrad, and viscous friction to settle.
    reach, slip = 0.004, 0.3
    friction = MaxwellSlipFriction(
        np.full(7, 2.0), *np.zeros((3, 7)), np.full((1, 7), slip), [reach]
    )
    simulation = ArmSimulation(
        replace(FER, friction=friction),
        SimulationSettings(friction=True, brake_release_after=0.0, gravity=(0.0, 0.0, 0.0)),
    )
    # When joint 7 is pushed with a third of that, for many time constants.
    for _ in range(2000):
        simulation.step(np.array([0.0] * 6 + [slip / 3.0]))
    # Then it has moved by a third of the reach, by Hooke's law.
    assert simulation.position[6] - FER.home[6] == pytest.approx(reach / 3.0, rel=1e-3)
    # When pushed with more, then it slips at the speed of viscous friction.
    for _ in range(2000):
        simulation.step(np.array([0.0] * 6 + [slip + 0.1]))
    assert simulation.read().velocity[6] == pytest.approx(0.1 / 2.0, rel=1e-3)


def test_noise_has_the_stated_deviation_and_is_repeatable():
    def readings(seed):
        simulation = arm(position_noise=1e-4, effort_noise=0.2, seed=seed)
        return np.array([simulation.read().position for _ in range(2000)])

    np.testing.assert_array_equal(readings(1), readings(1))
    # 2000 x 7 samples: the deviation is known to 0.6 %, five of which are allowed.
    assert np.std(readings(1) - FER.home) == pytest.approx(1e-4, rel=0.03)


@pytest.mark.parametrize(('link', 'point'), [(None, (0.0, 0.0, 0.0)), (4, (0.1, -0.05, 0.2))])
def test_a_push_accelerates_the_arm_by_its_points_jacobian_until_it_ends(link, point):
    force = np.array([3.0, 10.0, -5.0])
    at = {} if link is None else {'link': link, 'point': point}
    push = Push(tuple(force), 0.0, 1.5 * STEP, **at)
    simulation = arm(push=push, brake_release_after=0.0, gravity=(0.0, 0.0, 0.0))
    simulation.step(np.zeros(7))
    linear, angular = np.split(MODEL.jacobian(FER.home, *([] if link is None else [link])), 2)
    place = MODEL.frames(FER.home)[-1 if link is None else link - 1, :3, :3] @ np.array(point)
    torque = (linear + np.cross(angular.T, place).T).T @ force
    expected = np.linalg.solve(MODEL.mass_matrix(FER.home), torque) * STEP
    np.testing.assert_allclose(simulation.read().velocity, expected, rtol=0, atol=1e-6)
    # The push has ended, and without gravity the arm keeps its velocity.
    for _ in range(3):
        simulation.step(np.zeros(7))
    np.testing.assert_allclose(simulation.read().velocity, expected, rtol=0, atol=1e-3)
    assert np.abs(expected).max() > 3e-3


def test_an_arm_that_is_given_a_load_moves_with_its_mass_and_inertia():
    load_in_hand = LinkInertia.from_center_of_mass(1.5, (0.03, -0.02, 0.1), 0.05 * np.eye(3))
    simulation, torque = arm(brake_release_after=0.0), np.linspace(5.0, -5.0, 7)
    simulation.carry(load_in_hand)
    simulation.step(torque)
    loaded, still = NewtonEulerModel(FER.with_payload(load_in_hand)), np.zeros(7)
    expected = loaded.forward_dynamics(FER.home, still, torque) * STEP
    np.testing.assert_allclose(simulation.read().velocity, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ('start', 'error', 'sentence'),
    [
        (np.zeros(7), SettingsError, r'start of fer_joint4 is 0 rad, outside its limits -3.072'),
        (np.zeros(6), JointVectorError, r'start has shape \(6,\), expected \(7,\)'),
    ],
)
def test_a_start_at_fault_names_the_joint(start, error, sentence):
    with pytest.raises(error, match=sentence):
        arm(start=start)


def test_friction_for_simulation_alone_acts_and_is_commanded_nowhere():
    # Given the FR3, for which friction between commanded torque and motion is published.
    fr3 = load('fr3')
    assert fr3.friction is None
    moved = {}
    for friction in (False, True):
        simulation = ArmSimulation(
            fr3,
            SimulationSettings(
                friction=friction, gravity=(0.0, 0.0, 0.0), brake_release_after=0.0
            ),
        )
        # When its first joint is pushed by less than its Coulomb friction of 1.137 N m.
        for _ in range(300):
            simulation.step(np.array([0.8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
        moved[friction] = abs(simulation.position[0] - fr3.home[0])
    # Then friction holds it, but for the creep of a sign that is smoothed.
    assert moved[True] < 0.2 * moved[False]


def test_an_arm_that_runs_away_is_braked_where_last_seen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warnings to a file
    simulation = arm(brake_release_after=0.0)
    # Far beyond what the arm itself can give: its stops hold against that.
    torque, before = 1e6 * FER.limit('effort'), FER.home
    while not simulation.ran_away:
        assert simulation.time < 10.0
        before = simulation.position
        simulation.step(torque)
    assert 'ran away at' in simulation.ran_away
    for _ in range(100):
        simulation.step(torque)
    assert simulation.braked
    np.testing.assert_array_equal(simulation.position, before)
    np.testing.assert_array_equal(simulation.read().velocity, 0.0)


def test_a_joint_under_lasting_torque_stays_at_its_stop():
    simulation = arm(brake_release_after=0.0, gravity=(0.0, 0.0, 0.0))
    torque = np.zeros(7)
    torque[0] = FER.limit('effort')[0]
    for _ in range(3000):
        simulation.step(torque)
    assert 'fer_joint1' in simulation.at_stops
    assert (simulation.position < FER.limit('upper') + 0.01).all()
    assert (simulation.position > FER.limit('lower') - 0.01).all()
    assert not simulation.ran_away
