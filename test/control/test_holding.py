# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm that is held after a fault: pushes, gaps in the states, contact, other faults."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.control.cycle_result import Mode
from franka_dynamics.control.fault_latch import ClearedBy
from franka_dynamics.control.settings import Settings, Terms
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.simulation.arm_simulation import Push

from .closed_loop import commands_at_rest, FER, KD, KP, Loop, MUJOCO

FCI = Settings(target='fci')
GRAVITY = NewtonEulerModel(FER).gravity(FER.home)
THREE_KG = LinkInertia.from_center_of_mass(3.0, (0.0, 0.0, 0.05), np.zeros(6))


def held(settings=MUJOCO, arm=FER):
    """Return a loop whose arm is held at rest after a fault."""
    own = settings.target == 'fci'
    loop = Loop(settings, description=arm, gravity_compensation=own, friction=True).run(0.5)
    loop.controller.latch_fault('a test', ClearedBy.ACKNOWLEDGEMENT)
    assert not loop.controller.clear_fault()[0]  # while the arm is braked
    loop.run(0.3)
    assert loop.controller.holding
    return loop


@pytest.mark.parametrize(
    ('name', 'target', 'force'),
    [('fr3', 'mujoco', (0.0, 60.0, 0.0)), ('fer', 'fci', (0.0, 0.0, -80.0))],
)
def test_a_held_arm_that_is_pushed_stays_held(name, target, force):
    loop = held(Settings(target=target), load(name))
    loop.arm.push = Push(force, loop.arm.read().time, 0.5)
    start = np.array(loop.arm.data.site_xpos[loop.arm.flange_site])
    loop.run(1.0)
    assert loop.controller.holding
    # The arm yields by 4 to 5 cm; an arm that is not held moves by half a metre.
    assert np.linalg.norm(loop.arm.data.site_xpos[loop.arm.flange_site] - start) < 0.1
    # After the push, the torque against it is gone.
    loop.fastest = 0.0
    loop.run(0.5)
    assert loop.fastest < 0.1


def test_an_arm_is_held_against_gravity_even_if_gravity_is_switched_off():
    # Before the fault the gains alone carry the arm, 2.5 cm below its reference.
    gains = {'kp': (400.0,) * 4 + (100.0,) * 3, 'kd': (30.0,) * 4 + (1.0,) * 3}
    loop = held(replace(MUJOCO, terms=Terms(gravity=False), **gains))
    place = loop.arm.read().position
    loop.run(0.5)
    assert loop.controller.holding
    np.testing.assert_allclose(loop.arm.read().position, place, rtol=0, atol=0.01)


def test_a_gap_of_states_does_not_end_a_hold_with_a_load():
    loop = held()
    loop.arm.carry(THREE_KG)
    loop.run(1.0)
    height = loop.arm.data.site_xpos[loop.arm.flange_site][2]
    gap = loop.arm.read().time + 0.03
    while loop.arm.read().time < gap:
        loop.controller.check_silence(loop.arm.read().time)
        torque = loop.controller.stop_step(1e-3)
        loop.command = loop.command if torque is None else torque
        loop.arm.step(loop.command, fresh=torque is not None)
    assert loop.controller.mode in (Mode.STOPPING, Mode.SILENT)
    loop.run(2.0)
    assert loop.controller.holding
    assert loop.controller.fault == 'a test'
    assert loop.arm.data.site_xpos[loop.arm.flange_site][2] > height - 0.02


@pytest.mark.parametrize(('off', 'resumed'), [(np.nan, True), (0.1, False)])
def test_a_hold_goes_on_after_a_state_that_is_not_finite_but_not_after_a_jump(off, resumed):
    loop = held()
    stamp, q, dq = loop.controller.latest
    loop.controller.update(stamp + 5e-4, q + off, dq, stamp + 5e-4)
    loop.run(0.5)
    assert loop.controller.holding == resumed


@pytest.mark.parametrize('until', [ClearedBy.ACTIVATION, ClearedBy.CONFIGURATION])
def test_a_graver_fault_ends_a_hold(until):
    loop = held()
    loop.controller.latch_fault('somebody else commands', until)
    loop.run(0.5)
    assert loop.controller.mode is Mode.SILENT
    assert loop.controller.fault == 'somebody else commands'


def test_a_brake_that_drives_the_arm_is_given_up_for_good():
    loop = Loop().run(0.5).swing()
    step, gravity = loop.arm.step, NewtonEulerModel(FER).gravity

    def weakly_reversed_about_gravity(torque, fresh):
        return step(1.2 * gravity(loop.arm.read().position) - 0.2 * torque, fresh=fresh)

    loop.arm.step = weakly_reversed_about_gravity
    loop.controller.latch_fault('a test', ClearedBy.ACKNOWLEDGEMENT)
    modes = []
    loop.run(0.3, lambda _, cycle: modes.append(loop.controller.mode))
    assert 'it gains energy' in loop.controller.stop_reason
    assert Mode.BRAKING not in modes[modes.index(Mode.STOPPING) :]


def test_a_joint_is_not_kept_moving_by_the_compensation_of_its_friction():
    # The wrist of an FR3 has little inertia and much friction.
    arm = load('fr3')
    settings = replace(FCI, kp=KP, kd=(6.0, 6.0, 6.0, 6.0, 1.0, 1.0, 0.06))
    loop = Loop(settings, description=arm, gravity_compensation=True, friction=True).run(0.5)
    loop.move(6, 2.0, 1.5)
    loop.run(0.75)
    assert loop.arm.data.qvel[6] > 1.5
    before = loop.arm.data.qpos[6]
    loop.controller.disable('a test')
    loop.run(1.5)
    # Braking from 2.5 rad/s with the joint's 10 rad/s^2 takes 0.31 rad, with friction less.
    assert loop.arm.data.qpos[6] - before < 0.35
    assert loop.controller.mode is Mode.SILENT


def test_on_fci_a_contact_is_let_go_when_the_node_is_deactivated():
    loop = held(FCI)
    loop.arm.push = Push((0.0, 0.0, 40.0), loop.arm.read().time, 10.0)  # a table holds it up
    loop.run(1.0)
    assert np.abs(loop.command).max() > 5.0
    loop.controller.disable('a test')
    loop.run(0.2)
    assert loop.controller.mode is Mode.SILENT
    np.testing.assert_allclose(loop.command, 0.0, rtol=0, atol=1e-9)


def test_a_load_that_is_still_not_declared_keeps_a_fault():
    loop = Loop(MUJOCO).run(0.5)
    loop.arm.carry(THREE_KG)
    loop.run(1.0)
    assert loop.controller.holding
    cleared, why = loop.controller.clear_fault()
    assert not cleared
    assert 'check payload' in why
    inertia = (0.003, 0.0, 0.0, 0.003, 0.0, 0.003)
    loop.controller.apply(replace(MUJOCO, payload=(3.0, 0.0, 0.0, 0.05, *inertia)))
    loop.run(0.5)
    assert loop.controller.clear_fault()[0]
    loop.fastest = 0.0
    loop.run(1.0)
    assert loop.controller.mode is Mode.RUNNING
    assert loop.fastest < 0.2


# What acts on the arm when commanding begins again. ---------------------------------------------


@pytest.mark.parametrize(('target', 'measures'), [('mujoco', True), ('gz_ros2_control', False)])
def test_an_arm_that_moved_while_silent_is_given_gravity_or_the_next_torque(target, measures):
    loop = Loop(Settings(target=target), measures=measures).run(0.5)
    loop.controller.disable('a test')
    loop.run(0.2)
    elsewhere = FER.home + [0.0, 0.7, 0.0, 0.3, 0.0, 0.0, 0.0]
    loop.controller.supervisor.reset()
    loop.controller.enable()
    effort = np.zeros(7) if measures else None
    first = commands_at_rest(loop.controller, 100, q=elsewhere, begin=5.0, effort=effort)[0]
    # The efforts show that no torque acts; a receiver without a time-out may hold the last torque.
    expected = NewtonEulerModel(FER).gravity(elsewhere) if measures else loop.command
    np.testing.assert_allclose(first, expected, rtol=0, atol=1e-12 if measures else 1.0 + 1e-9)


def test_another_target_is_checked_even_if_the_arm_moves():
    loop = Loop(FCI, gravity_compensation=True).run(0.5)
    loop.controller.disable('a test')
    loop.run(0.3)
    loop.controller.apply(MUJOCO)
    loop.arm.push = Push((0.0, 10.0, 0.0), loop.arm.read().time, 5.0)
    loop.controller.enable()
    loop.run(0.3)
    assert loop.controller.mode is Mode.SILENT
    assert 'or set target to fci' in loop.controller.waits_for


# Gains and efforts that no arm can have. --------------------------------------------------------


def test_stiffness_without_damping_is_refused_when_it_would_swing():
    loop = Loop(MUJOCO).run(0.5)
    with pytest.raises(SettingsError, match='use a kd of at least'):
        loop.controller.apply(replace(MUJOCO, kp=tuple(20.0 * FER.limit('effort'))))
    loop.controller.apply(replace(MUJOCO, kp=KP, kd=KD))


@pytest.mark.parametrize('effort', [-1.7e308, 900.0])
def test_an_effort_far_beyond_a_limit_is_no_measurement(effort):
    loop = Loop(MUJOCO).run(0.5)
    stamp, q, dq = loop.controller.latest
    efforts = np.where(np.arange(7) == 1, effort, GRAVITY)
    for k in range(1, 4):
        loop.controller.update(stamp + 1e-3 * k, q, dq, stamp + 1e-3 * k, effort=efforts)
        loop.controller.stop_step(1e-3)
    assert 'check the unit' in loop.controller.fault
    assert np.isfinite(loop.controller.guard.external).all()
