# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""When settings act and by which ramp; a law of one's own that ceases; an arm not carried."""

import numpy as np
import pytest

from franka_dynamics.control.core_table import Remedy
from franka_dynamics.control.feedforward import Feedforward, State, Stop
from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import StartRefusedError

from .closed_loop import core, FER, GRAVITY, HOME, Loop, MOVING, MUJOCO, payload, Script, STILL

FIRM = {'kp': (600.0,) * 4 + (250.0, 100.0, 10.0), 'kd': (50.0,) * 4 + (6.0, 3.0, 0.06)}
LOOP = {'applied_when_silent': True}
HEAVY = payload(2.0)
# Half of what a ramp of 0.2 s brings in 12 ms on top of its even slope is allowed.
MOST_OF_RAMP_IN_12_MS = 1.5 * 12.0 / 200.0


def silent(script):
    return script.tick(60)


def blocked(script):
    script.stop().give(300)
    script.core.blocked = 'nobody applies torques'
    return script.start().give(5)


@pytest.mark.parametrize('wait', [silent, blocked, lambda script: script])
def test_settings_act_by_the_ramp_also_while_a_loop_waits(wait):
    script = wait(Script(MUJOCO, **LOOP).running().give(300))
    count = len(script.sent)
    script.core.change(payload=HEAVY)
    sent = np.array(script.give(300).sent[count - 1 :])
    loaded = FER.with_payload(Settings(payload=HEAVY).payload_inertia())
    change = NewtonEulerModel(loaded).gravity(HOME) - GRAVITY
    np.testing.assert_allclose(sent[-1] - sent[0], change, rtol=0.0, atol=1e-6)
    within_12_ms = np.abs(sent[12:] - sent[:-12]).max(axis=0)
    assert (within_12_ms <= MOST_OF_RAMP_IN_12_MS * np.abs(change) + 1e-9).all()


def test_settings_wait_for_start_after_a_stop():
    script = Script(MUJOCO, **LOOP).running().stop().give(300)
    script.core.change(payload=payload(0.5))
    count = len(script.sent)
    sent = np.array(script.give(300).sent[count - 1 :])
    np.testing.assert_allclose(sent, np.tile(sent[0], (len(sent), 1)), rtol=0.0, atol=1e-9)
    moved = np.abs(script.start().give(400).sent[-1] - sent[0])
    assert moved.max() > 1.0


@pytest.mark.parametrize('lost', [False, True])
def test_a_brake_keeps_its_gains_until_start(lost):
    script = Script().holding()
    script.core.change(kp=(600.0,) * 4 + (100.0,) * 3, kd=(40.0,) * 4 + (4.0,) * 3)
    if lost:
        script.tick(400).give(200)
    assert script.core.state is State.HOLDING
    before = script.give(50).sent[-1]
    pushed = script.leap(0.005 * np.eye(7)[1]).give().sent[-1]
    # kp 60 N m/rad and the brake's own stiffness; 600 N m/rad would add 3 N m.
    assert abs(pushed[1] - before[1]) < 1.0


def own_law(target='mujoco'):
    """Return a script in which a law of the caller's has given torques for a while."""
    script = Script(Settings(target=target), **LOOP).running().give(250)
    return script, 20.0 * np.eye(7)[3]


def test_a_law_of_ones_own_begins_and_ends_by_the_ramp():
    script, torque = own_law()
    script.core.disturbances.running_bound[:] = np.inf
    sent = [script.sent[-1]]
    for given in (torque, None):
        own = {} if given is None else {'torque': given}
        count = len(script.sent)
        script.give(300, **own)
        sent = np.array([script.sent[count - 1], *script.sent[count:]])
        np.testing.assert_allclose(np.abs(sent[-1] - sent[0]), torque, rtol=0.0, atol=1e-6)
        assert np.abs(np.diff(sent, axis=0)).max() <= 1.01 * 20.0 / 200.0
    assert script.core.state is State.RUNNING


def test_a_moving_arm_whose_own_law_ceases_is_braked_and_begins_again():
    script, torque = own_law()
    script.give(300, torque=0.01 * torque)
    script.give(30, dq=MOVING, torque=0.01 * torque)
    script.give(1, dq=MOVING)
    assert script.core.state is State.BRAKING and not script.core.faulty
    assert 'your own law' in script.core.why
    script.give(1, dq=0.5 * MOVING, torque=0.01 * torque)
    assert script.core.state is State.RUNNING
    script.give(1, dq=0.5 * MOVING)
    assert script.core.state is State.BRAKING
    script.give(150)
    assert script.core.state is State.RUNNING


@pytest.mark.parametrize('is_started', [False, True])
def test_a_stop_holds_an_arm_that_gravity_does_not_carry(is_started):
    loop = Loop(
        Settings(target='mujoco', payload=HEAVY, **FIRM),
        controller=LOOP,
        measures=False,
        friction=True,
        armature=True,
    ).run(1.0)
    assert loop.controller.state is State.RUNNING
    begin = loop.arm.position
    loop.controller.stop('a user')
    if is_started:
        loop.controller.start()  # while the arm is braked
    loop.fastest = 0.0
    loop.run(1.5)
    assert loop.controller.state is State.HOLDING, loop.controller.status
    assert loop.fastest < 0.2 and np.abs(loop.arm.position - begin).max() < 0.05
    assert 'carry' in loop.controller.why and loop.controller.status.remedy is Remedy.START
    with pytest.raises(StartRefusedError, match='departs by'):
        loop.controller.start()
    loop.controller.stop('a user')
    assert loop.run(0.02).controller.state in (State.STOPPING, State.SILENT)


def test_a_burst_of_states_moves_the_torque_as_one_does():
    controller = core(Settings(target='mujoco', kp=(100.0,), kd=(1.0,)))
    for k in range(300):
        controller.step(HOME + 1e-13 * (-1) ** k, STILL, 1.0 + 1e-3 * k, now=1.0 + 1e-3 * k)
    before = controller.output.last_torque
    displaced = HOME + 0.019 * np.eye(7)[3]
    for k in range(1, 6):
        controller.step(displaced + 1e-13 * k, STILL, 1.299 + 1e-3 * k, now=1.3)
    assert 0.5 < np.abs(controller.output.last_torque - before).max() <= 1.0 + 1e-9


def test_states_that_become_late_are_told_while_torques_are_sent(caplog):
    controller = Feedforward(FER, 'fci', kp=(100.0,), kd=(2.0,))
    for k in range(400):
        late = 0.0 if k < 100 else 0.05
        controller.step(HOME + 1e-13 * (-1) ** k, STILL, 1e-3 * k, age=late)
        assert k != 99 or 'swing' not in controller.status.why
    assert controller.state is State.RUNNING and 'swing' in controller.status.why
    assert sum('swing' in record.getMessage() for record in caplog.records) == 1


def test_a_loop_that_was_reset_sends_zero_before_a_state_comes():
    script = Script(MUJOCO, **LOOP).running()
    script.core.reset()
    assert not script.core.tick(script.time + 1e-3).any()


def test_a_second_stop_replaces_one_that_is_to_hold():
    script = Script().braking(True).stop()
    assert script.give(200).core.state is State.SILENT
    script = Script().holding().stop(Stop.LET_GO)
    assert script.give(200).core.state is State.SILENT
