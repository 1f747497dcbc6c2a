# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact told from load: synthetic torques, the closed loop with a simulated arm, a real arm."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.contact import (
    ContactLimits,
    ContactMonitor,
    joint_shares,
    LARGEST_LOAD_KG,
    LEARNING_MARGIN,
    learnt,
    LOAD_WARNING_KG,
    origin,
    PERIOD_S,
    replay_contact,
)
from franka_dynamics.control.external_torque import BANDWIDTH, DAMPING
from franka_dynamics.control.multisine import multisine
from franka_dynamics.control.planning import follow_request
from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.simulation.arm_simulation import Push
from franka_dynamics.simulation.joint_elasticity import franka_elasticity

from .closed_loop import Loop
from ..foreign_logs import teleoperated

FER = load('fer')
GRAVITY = NewtonEulerModel(FER).gravity(FER.home)
LIMITS = ContactLimits()
KP, KD = (300.0,) * 4 + (80.0,) * 3, (20.0,) * 4 + (4.0,) * 3
# The simulated arm vibrates as a real one does.
SENSORS = {
    'friction': True,
    'elasticity': franka_elasticity(FER),
    'position_noise': 2e-6,
    'velocity_noise': 3e-3,
    'effort_noise': 0.05,
}
WITHIN_S = 0.05


class Bench:
    """A monitor in front of an arm at rest, whose external torque is made up."""

    def __init__(self, limits=LIMITS):
        self.monitor = ContactMonitor(PinocchioModel(FER), limits)
        self.stamp, self.changes = 0.0, []

    def hold(self, external, seconds):
        """Let a torque act, in FCI's sign; note every change of the flag."""
        for _ in range(round(1e3 * seconds)):
            self.stamp += 1e-3
            if self.monitor.update(self.stamp, FER.home, np.zeros(7), GRAVITY + external):
                self.changes.append((self.stamp, self.monitor.in_contact))
        return self.monitor


def torque(joint, value):
    return value * np.eye(7)[joint]


def test_a_step_above_the_threshold_tells_joint_time_and_peak():
    bench = Bench()
    bench.hold(np.zeros(7), 1.0)
    monitor = bench.hold(torque(2, -4.0), 0.2)
    assert monitor.in_contact
    assert monitor.contacts == 1
    assert monitor.latest.joint == 2
    # When w^2 / (s^2 + 2 d w s + w^2) has reached the threshold; then up to two periods.
    time, swings = np.linspace(0.0, 0.1, 2000), np.sqrt(1.0 - DAMPING**2)
    phase = BANDWIDTH * swings * time
    rise = 1.0 - np.exp(-DAMPING * BANDWIDTH * time) * (
        np.cos(phase) + DAMPING / swings * np.sin(phase)
    )
    crossing = time[np.flatnonzero(4.0 * rise > LIMITS.threshold * joint_shares(FER)[0][2])[0]]
    assert crossing < monitor.latest.stamp - 1.0 < crossing + 2.0 * PERIOD_S
    # It overshoots by 4 % after 37 ms, of which a high-pass of 0.5 s leaves 96 %.
    assert monitor.latest.peak == pytest.approx(4.0, rel=0.05)


def test_a_push_that_stays_ends_as_contact_and_becomes_load():
    bench = Bench()
    bench.hold(np.zeros(7), 1.0)
    monitor = bench.hold(torque(0, 4.0), 5.0)
    (_, begun), (ended, still) = bench.changes
    assert begun and not still
    # It has fallen to half the threshold after high_pass ln(4 / 0.625), and stays there for hold.
    assert ended - 1.0 == pytest.approx(
        LIMITS.high_pass * np.log(4.0 / (0.5 * LIMITS.threshold)) + LIMITS.hold, abs=0.03
    )
    np.testing.assert_allclose(monitor.load, torque(0, 4.0), rtol=0, atol=0.01)


def test_torque_fluttering_about_the_threshold_sets_one_flag():
    bench = Bench(ContactLimits(high_pass=60.0))
    bench.hold(np.zeros(7), 1.0)
    for _ in range(20):
        bench.hold(torque(1, 1.6), 0.1)
        bench.hold(torque(1, 0.9), 0.1)  # below the threshold, above half of it
    assert [flag for _, flag in bench.changes] == [True]


def test_a_gap_in_the_states_ends_the_contact_and_settles_anew():
    bench = Bench()
    bench.hold(np.zeros(7), 1.0)
    bench.hold(torque(2, 4.0), 0.1)
    bench.stamp += 1.0
    monitor = bench.hold(torque(2, 4.0), 0.3)
    assert bench.changes[-1][1] is False
    assert not monitor.settled
    assert np.isnan(monitor.load_mass())


class Watched(Loop):
    """A loop of a vibrating arm, and a monitor that sees what the node sees."""

    def __init__(self, **simulation):
        super().__init__(Settings(target='mujoco', kp=KP, kd=KD), **{**SENSORS, **simulation})
        self.monitor = ContactMonitor(self.controller.terms.true, LIMITS, FER.friction)
        self.flagged = []

    def watch(self, reading, _):
        state = (reading.time, reading.position, reading.velocity, reading.effort)
        if self.monitor.update(*state) and self.monitor.in_contact:
            self.flagged.append(reading.time)

    def run(self, seconds):
        return super().run(seconds, self.watch)


def test_ten_newtons_at_the_flange_are_flagged_in_time():
    begun = 1.1
    loop = Watched(push=Push((0.0, 0.0, -10.0), begun, 1.0)).run(1.5)
    assert len(loop.flagged) == 1
    assert 0.0 < loop.flagged[0] - begun < WITHIN_S


def payload(mass):
    return Settings(
        payload=(mass, 0.0, 0.02, 0.05, *[0.002 * mass * x for x in (1, 0, 0, 1, 0, 1)])
    ).payload_inertia()


def test_the_largest_stated_payload_error_is_load_not_contact():
    loop = Watched(payload=payload(LARGEST_LOAD_KG)).run(1.0)
    follow_request(loop.controller, multisine(FER, 4.0, 0.4))
    loop.run(4.0)
    assert not loop.flagged
    # Its centre of mass is 5 cm off the flange, and the load lags the motion by half a second.
    assert loop.monitor.load_mass() == pytest.approx(LARGEST_LOAD_KG, rel=0.2)


def test_a_real_arm_in_motion_that_nobody_touches_is_not_flagged(
    fer_recording,
):
    recording = fer_recording
    monitor = ContactMonitor(PinocchioModel(FER), friction=FER.friction)
    masses = []
    for state in zip(1e-9 * recording.stamp_ns, recording.q, recording.dq, recording.effort):
        monitor.update(*state)
        masses.append(monitor.load_mass())
    assert monitor.contacts == 0
    # The model's own errors on this arm, of about 1 N m, are not much of a mass.
    assert np.nanmax(np.abs(masses)) < LOAD_WARNING_KG
    assert monitor.largest_share < 0.9  # 0.78 measured


def test_fast_motion_of_a_real_arm_at_1_khz_raises_no_alarm(fer_1khz_recording):
    recording = fer_1khz_recording
    found = replay_contact(FER, recording.time, recording.q, recording.dq, recording.effort)
    assert found.contacts == ()
    assert found.watched > 20.0
    assert found.largest_share < 0.9  # 0.71 measured; 2.02 with the velocities as they are read


def test_an_alarm_has_the_figures_of_one_joint():
    # Given a push that joint 3 feels first and joint 5 feels more, in parts of its threshold.
    time = 1e-3 * np.arange(4000)
    effort = np.tile(GRAVITY, (4000, 1))
    effort[2000:2300, 2] -= 2.0
    effort[2020:2300, 4] -= 4.0
    still = np.zeros((4000, 7))
    (contact,) = replay_contact(
        replace(FER, friction=None), time, still + FER.home, still, effort
    ).contacts
    # Then its share is its peak's, of the joint that is named.
    assert contact.joint == 2
    assert contact.share == pytest.approx(
        contact.peak / (LIMITS.threshold * joint_shares(FER)[0][2]), rel=1e-9
    )


def test_limits_learnt_from_a_vibrating_arm_hold_on_its_next_recording():
    # Given an arm whose joint 4 vibrates at 12 Hz, which the defaults take for contact.
    arm = load('fr3')
    first, second = (teleoperated(arm, 5.0, joint=3, seed=seed) for seed in (1, 2))
    found = replay_contact(arm, first.time, first.q, first.dq, first.effort)
    assert found.contacts and found.contacts[0].joint == 3
    assert 'seen on no fr3' in origin(arm, LIMITS)
    # When its thresholds are learnt.
    limits = learnt(found)
    again = replay_contact(arm, second.time, second.q, second.dq, second.effort, limits=limits)
    # Then another recording raises no alarm, and the joints that do not vibrate are as they were.
    assert again.contacts == ()
    factors = np.array(limits.joint_factors)
    assert factors[3] == pytest.approx(LEARNING_MARGIN * found.shares[3], abs=2e-3)
    np.testing.assert_array_equal(np.delete(factors, 3), 1.0)
    assert 'set for this arm' in origin(arm, limits)


def test_factors_of_another_number_of_joints_are_refused():
    with pytest.raises(SettingsError, match='give one positive number, or 7'):
        ContactMonitor(PinocchioModel(FER), ContactLimits(joint_factors=(1.0, 2.0)))
