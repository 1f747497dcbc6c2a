# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What ends torques: the table of causes, how two are joined, and what no stop is for."""

from functools import reduce
import itertools

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm.payload import payload_from_array
from franka_dynamics.control import disturbance, excess_causes
from franka_dynamics.control.ending import Cause, Reaction, Remedy
from franka_dynamics.control.feedforward import State, StateLimits, Stop
from franka_dynamics.control.misdirected_torques import find_misdirected_joints
from franka_dynamics.control.settings import Settings
from franka_dynamics.errors import UrdfWarning
from franka_dynamics.simulation.arm_simulation import Push
from franka_dynamics.simulation.joint_elasticity import franka_elasticity

from .closed_loop import core, FER, HOME, Loop, MOVING, MUJOCO, payload, Script, STILL
from .test_core_faults import CARRIED, FIRM, GENTLE, NOTHING

FR3 = fd.load('fr3')


@given(st.lists(st.sampled_from(Cause), min_size=1))
def test_joined_endings_keep_the_first_reason_and_the_hardest_remedy(causes):
    endings = [cause.ending(f'{k} {cause.name}') for k, cause in enumerate(causes)]
    joined = reduce(lambda one, later: one.joined_with(later), endings)
    assert joined.why.startswith(endings[0].why) and joined.why.endswith(endings[-1].why)
    order = list(Remedy).index
    assert order(joined.remedy) == max(order(one.remedy) for one in endings)
    what = {one.reaction for one in endings}
    if Reaction.ZERO in what or Reaction.COAST in what:  # no such arm is braked again
        assert joined.reaction is (Reaction.ZERO if Reaction.ZERO in what else Reaction.COAST)
    assert (joined.reaction is Reaction.HOLD) <= (Reaction.HOLD in what)


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_an_arm_whose_states_cease_in_motion_comes_to_rest(target):
    simulation = CARRIED if target == 'fci' else {'friction': True}
    loop = Loop(Settings(target=target, **FIRM), **simulation).run(0.4)
    loop.move(3, 0.5, 0.8)
    loop.run(0.4)
    before = loop.speed
    torque = loop.tick(1000)
    assert before > 0.5 and loop.fastest < 1.5 * before and loop.controller.state is State.SILENT
    # What a node leaves is the resting torque, not the last one of those that slowed the arm.
    core, factor = loop.controller, float(target == 'mujoco')
    rest = factor * core.acting_terms.gravity(core.open_loop_stop.probable_state(np.inf)[0])
    near = 0.0 if target == 'fci' else 0.2  # [N m], of the way after the stop
    np.testing.assert_allclose(torque, rest, rtol=0.0, atol=near)


@pytest.mark.parametrize(('mass', 'friction'), [(0.0, True), (1.0, False), (4.0, True)])
def test_a_held_arm_stays_with_a_load_that_nobody_declared_while_no_states_come(mass, friction):
    carried = payload_from_array(np.array(payload(mass))) if mass else fd.LinkInertia.zero()
    loop = Loop(Settings(target='mujoco', **GENTLE), payload=carried, friction=friction).run(0.3)
    loop.controller.stop('test', Stop.HOLD)
    loop.until(State.HOLDING, 1.5).run(0.3)
    loop.fastest, held = 0.0, loop.arm.position
    loop.tick(500)
    assert loop.controller.state is State.SILENT and np.abs(loop.arm.position - held).max() < 0.02
    loop.run(0.6)  # it is held again
    assert loop.controller.state is State.HOLDING and loop.fastest < 0.1


def test_a_held_arm_that_is_pushed_away_is_not_driven_on_while_no_states_come():
    push = Push((0.0, 40.0, 0.0), 1.3, 0.55)
    loop = Loop(MUJOCO, friction=True, armature=True, push=push).run(0.3)
    loop.controller.stop('test', Stop.HOLD)
    loop.until(State.HOLDING, 0.9)
    loop.run(1.6 - loop.arm.time)
    assert loop.controller.state is State.HOLDING and loop.speed > 0.5
    torque = loop.tick(300)
    seen = loop.controller.open_loop_stop.probable_state(np.inf)[0]
    np.testing.assert_allclose(torque, fd.NewtonEulerModel(FER).gravity(seen), rtol=0.0, atol=0.05)


def test_an_arm_whose_last_link_has_no_mass_is_stopped_while_no_states_come():
    joint = (
        '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>'
        '<axis xyz="{3}"/><limit lower="-3" upper="3" velocity="4" effort="50"/></joint>'
    )
    link = (
        '<link name="b"><inertial><mass value="3"/><origin xyz="0.2 0 0"/><inertia ixx="0.1" '
        'iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    joints = joint.format('j1', 'a', 'b', '0 1 0') + joint.format('j2', 'b', 'c', '0 0 1')
    with pytest.warns(UrdfWarning, match='no|neither'):
        arm = fd.load(f'<robot name="r"><link name="a"/>{link}{joints}<link name="c"/></robot>')
    node, q, dq = core(arm=arm), np.array([0.1, 0.2]), np.array([0.3, 0.0])
    for k in range(120):
        q = q + 1e-3 * dq + [0.0, 1e-9]
        node.step(q, dq, 1e-3 * k)
        dq[0] += 0.06 * (k > 100)  # by no torque that was sent
    assert node.state is not State.SILENT
    torques = [node.tick(1e-3 * k) for k in range(120, 1500)]
    assert node.state is State.SILENT and np.isfinite(torques).all()


def test_a_joint_that_is_lost_lets_no_arm_be_slowed_for_ever():
    # Torques of swapped joints would drive it.
    script = Script(Settings(target='fci', **GENTLE)).running().give(20, MOVING)
    script.give(300, MOVING, impossible=9.0)
    assert script.core.state is State.SILENT


def test_an_arm_that_nothing_is_to_brake_any_more_is_not_braked_by_its_model():
    script = Script(MUJOCO).braking(hold=True)
    while script.core.ending.reaction is Reaction.HOLD:  # impossible states too often
        script.give(60, MOVING)
        assert script.core.state is State.BRAKING
        script.give(1, MOVING, impossible=9.0)
    assert script.core.ending.reaction is Reaction.COAST
    script.give(150, MOVING, impossible=9.0)
    gravity = fd.NewtonEulerModel(FER).gravity(script.q)
    np.testing.assert_allclose(script.sent[-1][0], gravity[0], rtol=0.0, atol=0.1)


NO_MOTOR = np.ones(7) - np.eye(7)[3]


@pytest.mark.parametrize(
    ('factors', 'simulation', 'named'),
    [
        (NOTHING, {}, 'ignores'),
        (np.ones(7), {'brake_release_after': 1e9, 'position_noise': 1e-6}, 'brakes hold the arm'),
        (NO_MOTOR, {}, 'dead motor'),
    ],
)
def test_torques_that_are_ignored_are_told_from_a_dead_motor(factors, simulation, named):
    ignored = named != 'dead motor'
    loop = Loop(Settings(target='fci', **FIRM), **CARRIED, **simulation).run(0.4)
    loop.controller.follow(HOME + np.outer([0, 1], [0.3, 0.3, -0.3, 0.3, 0.3, 0.3, 0.3]), [0, 0.8])
    loop.run(0.3)
    step = loop.arm.step
    loop.arm.step = lambda torque, is_new: step(factors * torque, is_new=is_new)
    loop.run(1.0)
    assert loop.controller.faulty and named in loop.controller.why
    assert ('no torque arrives' in loop.controller.why) is ignored


@pytest.mark.parametrize(('name', 'elastic'), [('fer', True), ('fr3', False), ('fr3v2', True)])
def test_an_arm_that_nobody_carries_is_held_and_not_let_go(name, elastic):
    arm = fd.load(name)
    soft = {'elasticity': franka_elasticity(arm) if elastic else None, 'friction': True}
    loop = Loop(Settings(target='fci', **FIRM), description=arm, **soft).run(1.5)
    assert loop.controller.state is State.HOLDING and loop.fastest < 1.0


def test_after_refused_states_a_loop_gets_no_step_of_torque():
    loop = fd.Feedforward(FR3, 'mujoco')
    torques = [loop.step(NOTHING if k < 3 else FR3.home, STILL, 1e-3 * k) for k in range(60)]
    assert np.abs(np.diff(torques, axis=0)).max() <= 1.0 + 1e-12
    assert np.abs(torques[-1]).max() > 15.0


def test_coarse_stamps_hide_no_reason():
    limits = StateLimits(min_input_rate=90.0, max_state_age=0.0)
    node = core(Settings(target='fci', kd=(30.0,)), limits=limits)
    for k in range(600):
        node.step(HOME + 1e-9 * k, STILL, 1e-2 * (k // 10), now=1e-3 * k)
    assert 'kd' in node.why


@pytest.mark.parametrize(
    ('joint', 'share', 'desired', 'wrong'),
    # Joint 5 sticks by 6.5 % of its torque limit, joint 1 by 1.3 %. As a motion ends, a joint is
    # desired to move by less than an encoder counts.
    [
        (4, 0.05, 1.0, False),
        (4, 0.09, 1.0, True),
        (0, 0.015, 1.0, False),
        (0, 0.03, 1.0, True),
        (0, 0.03, 0.03, True),
        (0, 0.03, 0.01, False),
    ],
)
def test_a_joint_may_stick_as_its_friction_says(joint, share, desired, wrong):
    loop, one = fd.Feedforward(FR3), np.eye(7)[joint]
    for k in range(200):
        sample = loop.states.make_sample(HOME, STILL, None, 1e-3 * k, None, None)
        loop.states.record_sample(sample, 1e-3 * k)
        torque, wanted = share * min(1.0, k / 50) * FR3.limit('effort') * one, desired * one
        found = loop.repeated_positions.check_positions(loop.states, torque, wanted)
    assert (found is not None) is wrong


def test_a_torque_that_grows_against_a_contact_accelerates_nothing():
    made = core(Settings(target='fci'))
    terms, monitor = made.requested_law.terms, made.disturbances
    for k in range(60):
        state = terms.terms_at(1e-3 * k, HOME, STILL, None)
        sent = [max(0.0, k - 30.0) * 0.2 * np.eye(7)[6]]  # up to 6 N m
        monitor.update(state, None, sent, 0)
    assert monitor.disturbance_torque[6] > monitor.start_bound[6]
    assert np.max(monitor.speed_gain_at_reversal(state)) < 1e-6


@pytest.mark.parametrize('of', excess_causes.ExcessKind)
@pytest.mark.parametrize('times', [-20.0, -2.0, -1.0, 0.0, 1.0, 20.0])
def test_each_excess_has_causes_and_a_load_is_never_taken_for_missing_gravity_alone(of, times):
    gravity, bound = np.array([0.0, 20.0, 10.0]), np.full(3, 5.0)
    for only, moves, adds in itertools.product((slice(1, 3), slice(1, 2)), *2 * [(False, True)]):
        excess = np.array([0.0, 0.0, 4.0])
        excess[only] += times * gravity[only]
        found = excess_causes.TorqueExcess(of, excess, gravity, bound, moves, adds, 'fci', 'a')
        causes = excess_causes.probable_causes(found)
        assert causes
        assert 'nobody adds' not in causes or 'declared' in causes or of == excess_causes.COMMAND


# Gears bend: joint 5's torque rises and falls like the one sent to joint 2 before, reversed.
def test_a_push_of_some_states_is_not_taken_for_the_torque_of_another_joint():
    bound, push = np.full(7, 3.75), np.array([1.2, 3.0, 5.2, 6.3, 5.8, 5.1])
    rows = np.zeros((60, 3, 7))
    rows[-6:, 1, 4], rows[-9:-3, :2, 1] = -push, push[:, None] - 0.3
    assert find_misdirected_joints(rows, bound, 0.5 * bound, 1e-3, measured=True) is None
    rows[-6:, 0, 4] = push  # its own
    found = find_misdirected_joints(rows, bound, 0.5 * bound, 1e-3, measured=True)
    assert found is not None and np.flatnonzero(found).tolist() == [4]


def test_a_push_is_not_taken_for_the_torque_of_a_joint_that_gets_its_own():
    bound, rises = np.full(7, 3.75), 6.0 - 6.0 * np.exp(-0.1 * np.arange(30.0))
    bound[1], rows = 9.0, np.zeros((100, 3, 7))
    rows[-30:, 1, 4] = rows[-30:, 0, 1] = rows[-30:, 1, 1] = rises
    for measured in (False, True):
        assert find_misdirected_joints(rows, bound, 0.5 * bound, 1e-3, measured=measured) is None
    rows[-30:, 1, 1], rows[-30:, 1, 4] = rises - 2.0, 0.9 * rises  # the push disturbs both
    assert find_misdirected_joints(rows, bound, 0.5 * bound, 1e-3, measured=False) is None
    rows[-30:, 1, 1] = 0.0  # it gets joint 5's: the two are exchanged
    found = find_misdirected_joints(rows, bound, 0.5 * bound, 1e-3, measured=False)
    assert found is not None and found[[1, 4]].all()
    rows[-55:-25, 0, 1], rows[-25:, 0, 1] = rises, 6.0  # estimated torques fit it by chance then
    assert find_misdirected_joints(rows, bound, 0.5 * bound, 1e-3, measured=False) is None


def test_joints_that_a_push_disturbs_are_not_taken_for_exchanged(monkeypatch):
    core, every = Script(MUJOCO).running().give(9).core, np.arange(7)
    monkeypatch.setattr(disturbance, 'find_misdirected_joints', lambda *_, **__: every < 2)
    push = fd.Model(FER).jacobian(HOME)[:3].T @ [0.0, 0.0, 60.0]  # most at joint 6, for its limit
    for torque in push, 20.0 * (every % 4 == 0), 40.0 * np.cos(0.5 * np.pi * (every - 1.0)):
        core.disturbances.disturbance_torque = torque
        ending = core.disturbances.check_bounds(core.latest, 0.01, True, False)
        assert (ending is None) is (torque is push)
