# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sequences of stops, faults, changed settings and lost states, one after the other."""

import math

import numpy as np
import pytest

from franka_dynamics.control.feedforward import GOOD_STATES, Limits, MOST_RESTARTS, State
from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import NotStartedError, SettingsError

from .closed_loop import FER, MUJOCO
from .test_core_faults import payload
from .test_core_states import GRAVITY, HOME, MOVING, Script, STILL


def test_a_receiver_that_is_not_the_target_gets_zero_also_during_a_stop():
    script = Script(MUJOCO).stopping()
    script.core.stop('not the target', to_zero=True)
    script.core.stop('deactivated')  # as a node that is shut down then
    script.tick(200)
    assert script.core.state is State.SILENT
    np.testing.assert_array_equal(script.sent[-1], STILL)


def test_a_receiver_that_is_not_the_target_is_not_braked_by_a_second_fault():
    script = Script(MUJOCO).running()
    script.core.stop('not the target', to_zero=True)
    script.give(5)
    script.core.stop('a second fault', hold=True)
    script.give(100 + 2 * GOOD_STATES)
    assert script.core.state is State.SILENT
    np.testing.assert_array_equal(script.sent[-1], STILL)


def test_a_stop_follows_a_moving_arm_also_if_ticks_come_between_its_states():
    script = Script(MUJOCO).stopping()
    for _ in range(300):
        script.give(dq=MOVING).core.tick(script.time)
    assert script.core.state is State.STOPPING
    script.give(5)  # at rest
    assert script.core.state is not State.STOPPING


def test_a_torque_that_is_not_finite_ends_braking_that_fails_at_the_same_state(monkeypatch):
    script = Script().braking(True)

    def fails(state, *_):
        script.core._brake.driven = 'test'
        return np.full(7, math.nan)

    monkeypatch.setattr(script.core._brake, 'torque', fails)
    script.give()
    assert script.core.state is State.STOPPING
    assert np.isfinite(script.sent).all()


def test_an_arm_that_gains_energy_while_braked_does_not_begin_by_itself():
    script = Script().braking(False)
    script.core.start()
    for speed in np.linspace(0.3, 2.0, 60):
        script.give(dq=speed * np.sign(MOVING))
    script.tick(200).give(3 * GOOD_STATES)
    assert script.core.state is State.SILENT
    assert script.core.faulty


def test_a_payload_told_while_the_arm_is_held_may_be_lifted_after_the_start():
    script = Script(MUJOCO).running()
    script.core.stop('test', hold=True)
    carries = {'effort': GRAVITY}
    script.give(80, **carries)
    assert script.core.state is State.HOLDING
    script.core.change(payload=payload(3.0))
    script.give(80, **carries)
    script.core.start()
    script.give(300, **carries)
    assert script.core.state is State.RUNNING


def test_a_payload_corrected_before_it_is_lifted_is_no_fault():
    script = Script(MUJOCO).running()
    carries = {'effort': GRAVITY}
    script.give(100, **carries)
    for mass in (3.0, 2.9):
        script.core.change(payload=payload(mass))
        script.give(300, **carries)
    assert script.core.state is State.RUNNING


def test_who_carries_the_arm_cannot_change_once_torques_are_sent():
    script = Script(MUJOCO)
    law = script.core.prepare(target='fci')
    script.running()
    with pytest.raises(SettingsError, match='fci'):
        script.core.use(law)
    assert script.core.settings.target == 'mujoco'


def test_the_caller_may_write_into_the_torques_that_it_gets():
    kept = [Script(MUJOCO).give(GOOD_STATES + 30) for _ in range(2)]
    for script, written in zip(kept, (True, False)):
        for k in range(20):
            script.time += 1e-3
            bad = math.nan if k == 10 else 0.0
            torques = (
                script.core.step(HOME + bad, STILL, script.time),
                script.core.step(HOME, STILL, script.time),  # its stamp is not new
                script.core.tick(script.time),
            )
            script.sent += [torque.copy() for torque in torques]
            for torque in torques if written else ():
                torque += 5.0
    np.testing.assert_array_equal(kept[0].sent, kept[1].sent)
    assert not kept[0].core.zero.any()


def test_stops_before_the_clock_was_set_back_are_not_counted_as_of_this_minute():
    script = Script()
    for _ in range(MOST_RESTARTS):
        script.time += 3600.0
        script.give().running().tick(300)
    script.time = 1.0
    script.give(2 * GOOD_STATES).tick(300)
    assert not script.core.faulty


def test_a_source_whose_stamps_stand_still_is_lost():
    script = Script(MUJOCO).running()
    for k in range(100):
        script.core.step(HOME, STILL, script.time, now=script.time + 1e-3 * k)
    assert script.core.state is not State.RUNNING


def test_after_a_final_fault_a_reset_does_not_begin_again():
    script = Script().running()
    script.core.stop('test', final=True)
    script.core.reset()
    script.give(3 * GOOD_STATES)
    assert script.core.state is State.SILENT
    with pytest.raises(NotStartedError, match='test'):
        script.core.start()


def test_a_node_begins_where_the_arm_is_if_it_was_moved_in_silence():
    script = Script(Settings(target='mujoco'), applied_when_silent=False).running()
    script.core.stop('test')
    script.give(200)
    assert script.core.state is State.SILENT
    script.q = script.q + 0.5 * np.array([0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    script.time += 1.0
    script.core.start()
    script.sent.clear()
    script.give(GOOD_STATES + 2)
    gravity = NewtonEulerModel(FER).gravity(script.q)
    np.testing.assert_allclose(script.sent[0], gravity, rtol=0, atol=1e-9 * np.abs(gravity).max())


@pytest.mark.parametrize('lost', [True, False])
def test_a_stop_of_a_moving_arm_ends_once_no_state_comes(lost):
    script = Script(MUJOCO, limits=Limits(max_state_age=0.0, state_timeout=1e3)).stopping()
    script.give(30, MOVING)
    assert script.core.state is State.STOPPING
    if lost:
        script.core.lose('test', script.time)
    script.tick(200)
    assert script.core.state is State.SILENT


def test_a_simulation_started_again_is_commanded_again_though_it_holds_the_last_torque():
    # As a node in simulated time gives states: `now` goes on while simulated time begins anew, and
    # no torque was missed in simulated time.
    script = Script(MUJOCO).running()
    script.give(80)
    for k in range(3 * GOOD_STATES + 20):
        at = {'age': 0.0, 'now': 5.0 + 1e-3 * k, 'effort': GRAVITY}
        script.core.step(HOME, STILL, 1.0 + 1e-3 * k, **at)
    assert script.core.state is State.RUNNING, script.core.status


def test_repeated_stamps_that_get_older_are_silence():
    script = Script(MUJOCO).running()
    for k in range(100):
        at = {'age': 1e-3 * k, 'now': script.time + 1e-3 * k}
        script.core.step(HOME, STILL, script.time, **at)
    assert script.core.state is not State.RUNNING
