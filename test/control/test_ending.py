# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What ends torques: the table of causes, how two are joined, and what no stop is for."""

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm.payload import payload_from_array
from franka_dynamics.control.core_table import Cause, Reaction, Remedy
from franka_dynamics.control.ending import ending_by
from franka_dynamics.control.feedforward import State, StateLimits, Stop
from franka_dynamics.control.settings import Settings
from franka_dynamics.errors import UrdfWarning
from franka_dynamics.simulation.joint_elasticity import franka_elasticity

from .closed_loop import core, HOME, Loop, payload, STILL
from .test_core_faults import CARRIED, FIRM, GENTLE, NOTHING

FR3 = fd.load('fr3')


@given(st.lists(st.sampled_from(Cause), min_size=1))
def test_joined_endings_keep_first_reason_and_hardest_remedy(causes):
    endings = [ending_by(cause, f'{k} {cause.name}') for k, cause in enumerate(causes)]
    joined = reduce(lambda one, later: one.joined_with(later), endings)
    assert joined.why.startswith(endings[0].why) and joined.why.endswith(endings[-1].why)
    order = list(Remedy).index
    assert order(joined.remedy) == max(order(one.remedy) for one in endings)
    what = {one.reaction for one in endings}
    if Reaction.ZERO in what:  # no such arm is braked again
        assert joined.reaction is Reaction.ZERO
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
    core = loop.controller
    factor = float(target == 'mujoco')
    rest = factor * core.acting_terms.gravity(core.open_loop_stop.probable_state(np.inf)[0])
    near = 0.0 if target == 'fci' else 0.2  # [N m], of the way after the stop
    np.testing.assert_allclose(torque, rest, rtol=0.0, atol=near)


@pytest.mark.parametrize(('mass', 'friction'), [(0.0, True), (1.0, False), (4.0, True)])
def test_an_arm_under_an_undeclared_load_stays_without_states(mass, friction):
    carried = payload_from_array(np.array(payload(mass))) if mass else fd.LinkInertia.zero()
    loop = Loop(Settings(target='mujoco', **GENTLE), payload=carried, friction=friction).run(0.3)
    loop.controller.stop('test', Stop.HOLD)
    loop.until(State.HOLDING, 1.5).run(0.3)
    loop.fastest = 0.0
    held = loop.arm.position
    loop.tick(500)
    assert loop.controller.state is State.SILENT and np.abs(loop.arm.position - held).max() < 0.02
    loop.run(0.6)  # it is held again
    assert loop.controller.state is State.HOLDING and loop.fastest < 0.1


def test_an_arm_with_a_massless_link_stops_without_states():
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
    node = core(arm=arm)
    q = np.array([0.1, 0.2])
    dq = np.array([0.3, 0.0])
    for k in range(120):
        q = q + 1e-3 * dq + [0.0, 1e-9]
        node.step(q, dq, 1e-3 * k)
        dq[0] += 0.06 * (k > 100)  # by no torque that was sent
    assert node.state is not State.SILENT
    torques = [node.tick(1e-3 * k) for k in range(120, 1500)]
    assert node.state is State.SILENT and np.isfinite(torques).all()


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
