# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gains that would oscillate are refused, and a loop that oscillates is stopped."""

from collections import deque
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.control.control_law import ControlLaw
from franka_dynamics.control.cycle_result import Mode
from franka_dynamics.control.oscillation import damping_rate, OscillationWatch
from franka_dynamics.errors import SettingsError
from franka_dynamics.simulation.arm_simulation import Push

from .closed_loop import commands_at_rest, enabled, FER, KD, KP, Loop, MUJOCO

EFFORT = FER.limit('effort')
PUSH = Push((10.0, 5.0, 0.0), 0.3, 0.1)


def test_one_joint_has_its_closed_form():
    np.testing.assert_allclose(damping_rate(np.diag([2.0, 0.5]), np.array([1.0, 4.0])), 8.0)


@pytest.mark.parametrize(
    ('rate', 'period', 'age', 'said'),
    [
        (400.0, 1e-3, None, ''),
        (400.0, 4e-3, 0.01, 'torques are 12.0 ms late'),
        (3000.0, 1e-3, None, 'torques are 1.0 ms late'),
    ],
)
def test_damping_too_strong_for_the_measured_delay_is_refused(rate, period, age, said):
    law = ControlLaw(FER, replace(MUJOCO, kd=KD))
    kd = tuple(np.array(KD) * rate / law.damping_rate)
    told_before, told_live = enabled(replace(MUJOCO, kd=kd)), enabled(MUJOCO)
    for controller in (told_before, told_live):
        commands_at_rest(controller, 100, begin=0.0, period=period, age=age)
    assert said in told_before.waits_for
    assert (told_before.mode is Mode.RUNNING) == (not said)
    with pytest.raises(SettingsError, match=said) if said else nullcontext():
        told_live.apply(replace(MUJOCO, kd=kd))


def test_damping_of_a_light_wrist_is_refused_before_it_drops_the_arm():
    loop = Loop(replace(MUJOCO, kd=(0.3,)), description=load('fr3')).run(0.5)
    assert loop.published == []
    assert 'oscillate' in loop.controller.waits_for


# Weak gains oscillated on with 0.65 N m at a delay of 12 ms, and diverged at 20 ms.
@pytest.mark.parametrize(('delay', 'most'), [(12, 1.5), (20, 3.5)])
def test_what_swings_without_end_is_stopped_before_it_runs_away(delay, most):
    speeds = []  # of the fastest joint while torques were commanded [rad/s]

    def watch(*_):
        if loop.controller.mode in (Mode.RUNNING, Mode.BRAKING):
            speeds.append(loop.speed)

    loop = Loop(replace(MUJOCO, kp=KP, kd=KD), push=PUSH).run(0.25)
    # From now on torques reach the arm `delay` cycles late.
    on_their_way, step = deque([loop.command] * delay), loop.arm.step

    def late(torque, fresh):
        on_their_way.append(torque)
        step(on_their_way.popleft(), fresh=True)

    loop.arm.step = late
    loop.run(1.0, watch)
    assert loop.controller.fault
    assert 'not braked to rest' not in loop.controller.stop_reason
    assert max(speeds) < most


def test_gentle_gains_and_a_push_are_no_swing():
    loop = Loop(replace(MUJOCO, kp=KP, kd=KD), push=Push((10.0, 0.0, 0.0), 0.3, 0.05)).run(2.0)
    assert not loop.controller.fault
    assert loop.controller.mode is Mode.RUNNING


def swing(frequency, amplitude, decay=0.0, noise=0.0, seconds=3.0):
    """Return the joint that the watch finds if the torque of joint 3 oscillates, or None."""
    watch, random = OscillationWatch(EFFORT), np.random.default_rng(0)
    for k in range(round(1e3 * seconds)):
        t = 1e-3 * k
        torque = noise * random.standard_normal(7) + 5.0
        torque[2] += amplitude * np.exp(-decay * t) * np.sin(2.0 * np.pi * frequency * t)
        if (joint := watch.add(t, torque)) is not None:
            return joint
    return None


@pytest.mark.parametrize(
    ('joint', 'given'),
    [
        *((2, (frequency, 3.0, 0.0, 0.05)) for frequency in (6.0, 12.0, 100.0, 500.0 / 1.01)),
        (2, (12.0, 0.5, -26.4, 0.0, 0.3)),  # three times as large at each of seven turns
        (None, (12.0, 0.5)),  # below 2 % of the torque limit
        (None, (2.0, 20.0)),  # as slow as a motion
        (None, (12.0, 10.0, 5.0)),  # a decaying oscillation
        (None, (0.0, 0.0, 0.0, 0.04)),
    ],
)
def test_what_swings_without_end_or_grows_is_found_and_nothing_else(joint, given):
    assert swing(*given) == joint
