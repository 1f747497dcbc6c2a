# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller in closed loop with a simulated arm, and under hostile inputs."""

from dataclasses import replace
import functools

import numpy as np
import pytest

from franka_dynamics.control.cycle_result import Mode
from franka_dynamics.control.feedforward import FeedforwardController
from franka_dynamics.control.limits import LONGEST_STEP_S
from franka_dynamics.control.multisine import multisine
from franka_dynamics.control.possible_motion import Condition
from franka_dynamics.control.request import TrajectoryRequest
from franka_dynamics.control.settings import Settings, Terms
from franka_dynamics.control.supervision import SupervisionLimits
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import ReferenceRefusedError, SettingsError
from franka_dynamics.simulation.arm_simulation import Push

from .closed_loop import enabled, FER, KD, KP, Loop, MUJOCO

LOAD = (1.0, 0.0, 0.0, 0.05, 1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)
GAINS = {'kp': KP, 'kd': KD}
TILTED = {'gravity_vector': (3.0, -1.0, -9.28), 'payload': LOAD}


@pytest.mark.parametrize('target', ['mujoco', 'fci'])
def test_an_arm_at_rest_stays_there_under_feedforward_alone(target):
    settings = Settings(target=target, payload_known_to_robot=False, **TILTED)
    # Without feedback the arm is unstable: a rounding error of 1e-16 grows to 1e-12 rad in three
    # seconds. The brakes open after the ramp of the first torque.
    loop = Loop(
        settings,
        gravity=settings.gravity_vector,
        payload=settings.payload_inertia(),
        gravity_compensation=target == 'fci',
        brake_release_after=0.5,
    )
    start = loop.arm.position
    loop.run(3.5)
    assert not loop.arm.braked
    np.testing.assert_allclose(loop.arm.position, start, rtol=0, atol=1e-9)


def test_feedforward_leaves_a_weak_pd_1_percent_of_the_error():
    def error_of(terms):
        loop = Loop(replace(MUJOCO, terms=terms, **GAINS)).run(0.3)
        loop.follow(multisine(FER, 2.0, 0.4))
        desired, errors = loop.controller.reference.at, []
        loop.run(2.0, lambda one, _: errors.append(desired(one.time).q - one.position))
        return np.sqrt(np.mean(np.square(errors)))

    with_feedforward, without = error_of(Terms()), error_of(Terms(coriolis=False, inertia=False))
    # The remaining error comes from the delay of one cycle; a wrong M or C would leave percents.
    assert with_feedforward < 0.01 * without
    assert without > 0.01


def test_gains_hold_the_arm_where_it_stands_also_after_hand_guiding():
    loop = Loop(Settings(target='fci', **GAINS), gravity_compensation=True)
    start = loop.arm.position
    loop.run(1.0)
    held = loop.controller.reference.at(0.9).q
    np.testing.assert_allclose(held, start, rtol=0, atol=1e-12)
    loop.controller.apply(Settings(target='fci'))
    loop.run(0.1)
    # The arm is guided away and released; then the gains are switched on again.
    begun, turn = loop.arm.time, 0.7 * np.eye(7)[0]

    def guide(*_):
        loop.arm.data.qvel[:] = turn * np.sin(np.pi * (loop.arm.time - begun) / 0.8)

    loop.run(0.8, guide)
    loop.controller.apply(Settings(target='fci', **GAINS))
    loop.run(1.0)
    assert loop.controller.mode is Mode.RUNNING
    assert loop.arm.position[0] > 0.3
    np.testing.assert_allclose(loop.command, 0.0, rtol=0, atol=0.1)


def test_an_effort_not_finite_stops_the_arm_and_names_its_joint():
    loop, effort = Loop().run(0.5), np.where(np.arange(7) == 3, np.nan, 0.0)
    cycle = loop.controller.update(1.0, FER.home, np.zeros(7), 1.0, effort=effort)
    assert cycle.observation.condition is Condition.NOT_FINITE
    assert 'fer_joint4 has a measured effort of nan' in cycle.observation.reason
    assert loop.controller.mode is Mode.STOPPING


def test_the_first_torque_on_fci_is_zero_and_ramps_by_the_rate():
    gravity = (5.0, 0.0, -8.44)
    settings = Settings(target='fci', gravity_vector=gravity)
    loop = Loop(settings, gravity_compensation=True, gravity=gravity).run(0.5)
    np.testing.assert_array_equal(loop.published[0], np.zeros(7))
    assert np.abs(np.diff(loop.published, axis=0)).max() <= 1.0 + 1e-12


def test_a_live_payload_change_glides_over_the_ramp_time():
    # The brakes stay closed, or the arm would rise under a load it does not carry.
    settings = replace(MUJOCO, ramp_time=0.5)
    loop = Loop(settings, brake_release_after=60.0).run(0.3)
    before = loop.command
    loop.controller.apply(replace(settings, payload=LOAD))
    count = len(loop.published)
    loop.run(0.6)
    target = NewtonEulerModel(FER.with_payload(Settings(payload=LOAD).payload_inertia()))
    steps = np.diff([before, *loop.published[count:]], axis=0)
    # A kilogram at the flange changes the torque by about 6 N m, in 500 cycles by 0.012 N m each.
    whole = np.abs(target.gravity(FER.home) - NewtonEulerModel(FER).gravity(FER.home)).max()
    assert 3.0 < whole < 10.0
    assert np.abs(steps).max() < 3.0 * whole / 500


def test_a_reference_before_any_joint_state_is_refused():
    with pytest.raises(ReferenceRefusedError, match='before any joint state'):
        FeedforwardController(FER).follow(FER.home)


def test_the_command_ramps_to_a_set_point_that_replaces_a_trajectory():
    loop = Loop(replace(MUJOCO, ramp_time=0.5, **GAINS)).run(0.3)
    loop.follow(multisine(FER, 2.0, 0.1))
    loop.run(0.5)
    with pytest.raises(ReferenceRefusedError):
        loop.controller.follow([FER.home + 5.0], [1.0])
    assert loop.controller.reference.active  # the trajectory goes on
    before = loop.command
    aside = loop.controller.reference.at(loop.controller.latest[0]).q + 0.05
    loop.controller.follow(aside)
    loop.run(2 * LONGEST_STEP_S)
    # Without a ramp the stiffness torque of 60 N m/rad times 0.05 rad takes three cycles.
    assert np.abs(loop.command - before).max() < 0.2


STIFF = {'kp': tuple(25.0 * FER.limit('effort')), 'kd': tuple(3.0 * FER.limit('effort'))}
SETTINGS = (
    MUJOCO,
    Settings(target='fci', **STIFF),
    Settings(target='fci', payload=LOAD, payload_known_to_robot=False),
    replace(MUJOCO, ramp_time=0.0, **GAINS),
    Settings(target='gz_ros2_control', payload=LOAD),
    replace(MUJOCO, payload=(100.0, 0.0, 0.0, 1.0, *[0.0] * 6), max_payload=100.0, **STIFF),
)


request = functools.partial(TrajectoryRequest, FER.joint_names)


class HostileWorld:
    """Does random things to a controller, one per method, and checks every torque."""

    def __init__(self, rng):
        self.rng = rng
        limits = SupervisionLimits(recovery_samples=3, max_state_age=0.0)
        self.controller = enabled(MUJOCO, limits)
        self.stamp, self.arrival, self.q = 10.0, 10.0, FER.home.copy()
        self.last, self.last_stamp = None, self.stamp
        for _ in range(8):  # good states first, so that torques are commanded
            self.take(1e-3, self.q, np.zeros(7))

    def check(self, torque, elapsed):
        if torque is None:
            return
        assert np.isfinite(torque).all()
        assert (np.abs(torque) <= FER.limit('effort')).all()
        if self.last is not None:
            allowed = FER.limit('effort_rate') * min(max(elapsed, 0.0), LONGEST_STEP_S)
            # The sum of the last torque and the step rounds by half an ulp of 87 N m.
            assert (np.abs(torque - self.last) <= allowed + 1e-13).all()
        self.last = torque.copy()

    def take(self, advance, q, dq):
        self.stamp, self.arrival = self.stamp + advance, self.arrival + abs(advance)
        mode, effort = self.controller.mode, self.rng.normal(0, 20, 7)
        cycle = self.controller.update(self.stamp, q, dq, self.arrival, effort=effort)
        if mode is not Mode.RUNNING and cycle.command is not None:
            # References that came while no torque was commanded are forgotten.
            assert not self.controller.reference.active
        self.controller.update_monitors(cycle)
        self.check(cycle.command, self.stamp - self.last_stamp)
        if cycle.command is not None:
            assert cycle.observation.trusted
            self.last_stamp = self.stamp

    def state(self):
        spread = self.rng.choice([0.0, 1e-4, 1e-3, 0.02, 3.0])
        self.q = np.clip(self.q + self.rng.normal(0, spread, 7), -3.1, 3.1)
        advances = [1e-3, 1e-3, 1e-3, 0.5e-3, 0.0, -1e-3, 3e-3, 0.05, 5.0, -5.0]
        self.take(self.rng.choice(advances), self.q, self.rng.normal(0, 1, 7))

    def broken_state(self):
        vectors = np.concatenate([self.q, np.zeros(7)])
        vectors[self.rng.integers(14)] = self.rng.choice([np.nan, np.inf, -np.inf, 1e300, 400.0])
        self.take(1e-3, vectors[:7], vectors[7:])

    def settings(self):
        try:
            self.controller.apply(SETTINGS[self.rng.integers(len(SETTINGS))])
        except SettingsError as error:
            active = 'while the node is active' in str(error) and self.controller.enabled
            assert active or 'the arm would oscillate' in str(error)

    def reference(self):
        home, at_once = np.tile(FER.home, (2, 1)), np.zeros(1)
        requests = (
            multisine(FER, 1.0, 0.5),
            request(at_once, home[:1], np.zeros((1, 7)), np.full((1, 7), 7.5)),
            request(np.array([0.01, 0.5]), home),
            request(np.array([0.0, 1.0]), home, start=self.stamp + 0.5),
            request(at_once, home[:1] * np.nan, start=self.stamp),
        )
        try:
            asked = requests[self.rng.integers(len(requests))]
            self.controller.follow(**asked.arguments(FER))
        except ReferenceRefusedError:
            pass

    def control(self):
        self.rng.choice(
            [
                self.controller.enable,
                self.controller.clear_fault,
                self.silence,
                self.stop_steps,
                lambda: self.controller.disable('hostile'),
                lambda: self.controller.disable('hostile', brake=False),
                lambda: self.controller.reject(Condition.MISMATCHED, 'hostile'),
            ]
        )()

    def silence(self):
        self.arrival += 0.5
        self.controller.check_silence(self.arrival)

    def stop_steps(self):
        for _ in range(5):
            self.check(self.controller.stop_step(0.7e-3), 0.7e-3)


@pytest.mark.parametrize('seed', range(4))
def test_torques_of_hostile_inputs_are_finite_limited_and_slow(seed):
    for draw in range(20):
        rng = np.random.default_rng((seed, draw))
        world = HostileWorld(rng)
        steps = [world.state, world.broken_state, world.settings, world.reference, world.control]
        for _ in range(rng.integers(60)):
            steps[rng.integers(len(steps))]()


@pytest.mark.parametrize(('what', 'every'), [('settings', 5), ('references', 1)])
def test_changes_without_pause_leave_the_feedback_whole(what, every):
    # When every ramp began at the last published torque, frequent changes cancelled the PD.
    settings = replace(MUJOCO, ramp_time=0.5, **GAINS)
    loop = Loop(settings, push=Push((10.0, 5.0, 0.0), 0.7, 0.1)).run(0.5)
    there = loop.arm.position.copy()
    for k in range(2000 // every):
        if what == 'settings':
            loop.controller.apply(replace(settings, scale=1.0 - 0.01 * (k % 2)))
        else:
            loop.controller.follow([there, there], [0.0, 1.0])
        loop.run(1e-3 * every)
    assert loop.speed < 0.02
    np.testing.assert_allclose(loop.arm.position, there, rtol=0.0, atol=1e-3)
