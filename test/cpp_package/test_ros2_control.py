# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The C++ package built by its own CMakeLists, and driven by ros2_control."""

from contextlib import closing
from dataclasses import replace
import re
import shutil
import subprocess
from zlib import crc32

import numpy as np
import pytest
import yaml

import franka_dynamics as fd
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.terms import FrictionFeedforward
from franka_dynamics.urdf.writer import urdf_text

from .cpp_core import ATOL, PAYLOAD
from .ros2_control import built, driving, OFFSET, received, rows_of, Senders
from .test_core import ARMS, WALL
from ..ros.conftest import Manager, Probe
from ..ros2_control_prefix import environment, mock_urdf, PREFIXES
from ..urdf.urdf_texts import by_pinocchio, inertial, random_chain

pytestmark = pytest.mark.skipif(
    not PREFIXES or shutil.which('cmake') is None,
    reason='FRANKA_DYNAMICS_ROS2_CONTROL names no prefix with ros2_control, or there is no cmake',
)
ARM = ARMS['fr3']
ARRAYS = ('payload', 'gravity_vector', 'kp', 'kd')
SETTINGS = Settings(
    target='mujoco',
    terms=fd.Terms(friction=True),
    payload=PAYLOAD,
    gravity_vector=(0.5, -0.4, -9.78),
    kp=(30.0,),
    kd=(3.0,),
    scale=0.9,
)
PLAIN = replace(SETTINGS, terms=fd.Terms(), kp=(0.0,), kd=(0.0,), scale=1.0)


@pytest.fixture(scope='module')
def folder(pytestconfig):
    return built(pytestconfig.cache.mkdir(f'ros2_control-{crc32(PREFIXES.encode())}'))


@pytest.fixture
def run(folder):
    """Return a function that drives the controller; it returns rows and what was said."""

    def drive(what, *words, rows, parameters, arm=ARM, joints=None, code=0):
        command, env = driving(arm, folder, what, *words, parameters=parameters, joints=joints)
        text = '\n'.join(' '.join(f'{value:.17g}' for value in row) for row in rows)
        streams = {'input': text, 'capture_output': True, 'text': True}
        done = subprocess.run(command, env=env, timeout=120, **streams)
        assert done.returncode == code, done.stdout[-1000:] + done.stderr[-4000:]
        return rows_of(done.stdout), done.stderr

    return drive


def near(found, expected, atol=ATOL):
    expected = np.broadcast_to(expected, np.shape(found))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=atol)


def model_of(settings):
    """Return Pinocchio's model of the arm with the payload and gravity of settings."""
    return fd.Model(ARM.with_payload(settings.payload_inertia()), settings.gravity_vector)


def of_feedforward(settings, **more):
    """
    Return the parameters of the controller as YAML.

    Its guard is off: mock hardware does not move, whatever torque it gets.
    """
    values = {
        'guard': False,
        'arm_file': 'ARM_FILE',
        'target': settings.target,
        'terms.friction': settings.terms.friction,
        'terms.offset': settings.terms.offset,
        'payload_known_to_robot': settings.payload_known_to_robot,
        'scale': settings.scale,
        **{name: list(getattr(settings, name)) for name in ARRAYS},
        **more,
    }
    return yaml.safe_dump({'/feedforward': {'ros__parameters': values}}, default_flow_style=None)


def test_its_own_tests_pass(folder):
    env = environment(folder / 'install')
    command = ['ctest', '--test-dir', folder / 'build', '--output-on-failure']
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-5000:]
    assert '100% tests passed, 0 tests failed out of 2' in done.stdout


FINGER = """<link name="finger">{inertial}</link><joint name="finger_joint" type="prismatic">
<parent link="{tip}"/><child link="finger"/><origin xyz="0 0.02 0.1" rpy="0.1 0.2 0.3"/>
<axis xyz="0 1 0"/><limit lower="0.01" upper="0.04" effort="10" velocity="1"/></joint>"""
RANDOM = [
    random_chain(np.random.default_rng(k), kinds)
    for k, kinds in enumerate(
        (
            ['revolute'] * 6,
            ['prismatic', 'revolute', 'continuous', 'prismatic'],
            ['revolute'] * 12,
        )
    )
]
TEXTS = {
    'wall': WALL,
    'held': WALL.replace(
        '</robot>', FINGER.format(inertial=inertial(0.4), tip='fr3_link8') + '</robot>'
    ),
    **{f'random{k}': text for k, text in enumerate(RANDOM)},
}


@pytest.mark.parametrize('name', TEXTS)
def test_an_arm_in_a_urdf_has_the_terms_of_pinocchio(run, name):
    text = TEXTS[name]
    arm = fd.import_urdf(text, joint_names=re.findall(r'<joint name="(\w*joint\d+)"', text))
    held = {'finger_joint': 0.01} if name == 'held' else {}
    q, dq, _ = fd.sample_states(arm, 20, seed=1)
    found, said = run('terms', text, rows=np.hstack([q, dq]), parameters='', arm=arm)
    assert ('joint finger_joint is held at 0.01' in said) == bool(held)
    for row, position, velocity in zip(found, q, dq):
        M, coriolis, gravity = by_pinocchio(text, arm.joint_names, position, velocity, held)
        expected = np.concatenate([coriolis, gravity, M.ravel()])
        np.testing.assert_allclose(row, expected, rtol=0.0, atol=ATOL * max(1.0, M.max()))


WITHOUT_AXIS = FINGER.format(inertial=inertial(0.4), tip='fr3_link8') + '</robot>'
WITHOUT_AXIS = WITHOUT_AXIS.replace('axis xyz="0 1 0"', 'axis xyz="0 0 0"')
LOOP = """<joint name="loop" type="fixed"><parent link="fr3_link3"/><child link="fr3_link1"/>
</joint></robot>"""


@pytest.mark.parametrize(
    ('change', 'joints', 'named'),
    [
        ({}, ['fr3_joint1'], 'the moving joints from the root to fr3_joint1'),
        (
            {},
            ['fr3_joint2'],
            'fr3_joint1, fr3_joint2; the parameter joints must name all',
        ),
        ({}, [*ARM.joint_names[1::-1], *ARM.joint_names[2:]], 'in this order'),
        ({}, ['left_joint1'], 'there is no joint left_joint1'),
        (
            {'effort="87"': 'effort="0"'},
            ARM.joint_names,
            'fr3_joint1 of fr3 has no torque limit',
        ),
        ({'<robot': '<robo'}, ARM.joint_names, 'no URDF'),
        ({'izz="': 'izz="1'}, ARM.joint_names, 'no real body'),
        (
            {'<mass value="2': '<mass value="nan'},
            ARM.joint_names,
            'fr3_link0 is not complete',
        ),
        ({'ixx="0.02': 'iyx="0.02'}, ARM.joint_names, 'fr3_link1 is not complete'),
        (
            {'velocity="2.62"': 'velocity="-2.62"'},
            ARM.joint_names,
            'fr3_joint1 of fr3 has limits',
        ),
        ({'xyz="0 -0.316': 'xyz="0 -316'}, ARM.joint_names, 'fr3_joint3 is 316 m from'),
        ({'</robot>': LOOP}, ARM.joint_names, 'form a loop'),
        ({'type="revolute"': 'type="fixed"'}, ['fr3_joint2'], 'to fr3_joint2 are none'),
        ({'</robot>': WITHOUT_AXIS}, ARM.joint_names, 'finger_joint, which the arm carries, has'),
    ],
)
def test_a_robot_description_that_does_not_fit_is_refused(run, change, joints, named):
    text = urdf_text(fd.load('fr3'))
    for word, other in change.items():
        text = text.replace(word, other)
    if joints == ['fr3_joint1']:
        joints = []
        named = '1 to 12, from base to tip'
    _, said = run('terms', text, rows=[], parameters='', joints=joints, code=1)
    assert named in said


MANAGED = """
/controller_manager:
  ros__parameters:
    update_rate: 1000
    feedforward.type: franka_dynamics_controllers/FeedforwardController
    trajectory.type: joint_trajectory_controller/JointTrajectoryController
/trajectory:
  ros__parameters:
    joints: {joints}
    command_joints: {references}
    command_interfaces: [effort]
    state_interfaces: [position, velocity]
    allow_nonzero_velocity_at_trajectory_end: false
"""


def added(found, settings):
    """Return the efforts of cycles, less gravity torque, of an arm that stood at home."""
    position, velocity, effort = np.split(found, 3, axis=1)
    near(position, ARM.home, 0.0)
    assert not velocity.any()
    return effort - model_of(settings).gravity(ARM.home)


@pytest.mark.parametrize('source', ['arm_file', 'robot_description'])
def test_alone_in_a_controller_manager_it_follows_its_topic(run, source):
    # The mock hardware stands still: the command must equal the terms at that state.
    ddq = np.linspace(-2.0, 2.0, ARM.n)
    row = [*ARM.home, *np.zeros(ARM.n), *ddq]
    given = {}
    text = None
    if source == 'robot_description':
        given = {'arm_file': '', 'joints': list(ARM.joint_names)}
        text = urdf_text(fd.load('fr3'))
    parameters = of_feedforward(PLAIN, kpp=[30.0], **given) + (
        '/controller_manager:\n  ros__parameters:\n    update_rate: 1000\n'
        '    feedforward.type: franka_dynamics_controllers/FeedforwardController\n'
    )
    found, said = run('alone', mock_urdf(ARM, text=text), rows=[row], parameters=parameters)
    assert 'feedforward is active' in said and 'feedforward is inactive' in said
    assert said.count('there is no parameter') == said.count('there is no parameter kpp') == 1
    effort = added(found, PLAIN)
    # The arm is held before the motion, gets its inertia torque during it, and is held afterwards.
    # A busy machine moves the begin and the end, and its messages may pause.
    inertia = model_of(PLAIN).mass_matrix(ARM.home) @ ddq
    near(effort[[0, -1]], 0.0)
    assert np.isclose(effort, inertia, rtol=0.0, atol=ATOL).all(axis=1).any()
    near(effort, np.clip(effort, np.minimum(inertia, 0.0), np.maximum(inertia, 0.0)))
    assert len(found) == 1501 and np.abs(np.diff(effort, axis=0)).max() <= 1.0 + ATOL


def test_behind_a_trajectory_controller_it_adds_the_terms(run):
    # A whole controller_manager on mock hardware, which stands still: what the trajectory
    # controller wants goes through its own interpolation to the feedforward, and that to the arm.
    parameters = of_feedforward(PLAIN, reference='torque') + MANAGED.format(
        joints=list(ARM.joint_names),
        references=[f'feedforward/{name}' for name in ARM.joint_names],
    )
    seconds = 0.4
    after = np.linspace(1.0, 4.0, ARM.n)
    row = [seconds, *(ARM.home + 0.1), *after]
    found, said = run('behind', mock_urdf(ARM), rows=[row], parameters=parameters)
    assert 'feedforward is active, chained' in said and 'trajectory is active' in said
    effort = added(found, PLAIN)
    # At first only gravity; at the trajectory's end the effort of its last point comes through.
    near(effort[0], 0.0, 1e-10)
    np.testing.assert_allclose(effort.max(axis=0), after, rtol=0.02, atol=0.0)
    # Where a busy machine skips cycles the effort jumps, and the limit of 1 N m acts by joint.
    limited = np.abs(np.diff(effort, axis=0, prepend=effort[:1])).max(axis=1) > 1.0 - 1e-9
    share = effort / after
    moving = (share[:, 0] > 0.1) & (share[:, 0] < 0.9) & ~limited
    assert moving.any()
    near(share[moving], share[moving, :1], 1e-9)
    assert (np.diff(share[moving, 0]) >= 0.0).all()


def test_motions_of_a_trajectory_controller_are_followed(run):
    # The hardware stands still at home: at the end kp pulls to the goal, and nothing accelerates.
    references = [f'feedforward/{name}' for name in ARM.joint_names]
    managed = MANAGED.format(joints=list(ARM.joint_names), references=references)
    kinds = '[position, velocity, acceleration]'
    parameters = of_feedforward(replace(PLAIN, kp=(30.0,)), reference='motion')
    parameters += managed.replace('command_interfaces: [effort]', f'command_interfaces: {kinds}')
    row = [0.4, *(ARM.home + 0.1), *np.zeros(ARM.n)]
    found, said = run('behind', mock_urdf(ARM), rows=[row], parameters=parameters)
    assert 'feedforward is active, chained' in said
    effort = added(found, PLAIN)
    near(effort[0], 0.0, 1e-9)
    near(effort[-1], 3.0, 1e-9)
    assert np.abs(np.diff(effort, axis=0)).max() <= 1.0 + ATOL


MANAGER = (
    '/controller_manager:\n  ros__parameters:\n    update_rate: 1000\n'
    '    feedforward.type: franka_dynamics_controllers/FeedforwardController\n'
)


def test_the_torque_of_another_law_gets_all_terms(run):
    # The mock hardware stands still, behind the velocity at which friction is asked for.
    torque = np.linspace(-2.0, 2.0, ARM.n)
    ddq = np.linspace(3.0, -3.0, ARM.n)
    dq = np.full(ARM.n, 0.3)
    settings = replace(PLAIN, terms=fd.Terms(friction=True, offset=True))
    parameters = of_feedforward(settings, reference='law') + MANAGER
    found, said = run('alone', mock_urdf(ARM), rows=[[*torque, *dq, *ddq]], parameters=parameters)
    assert 'feedforward is active' in said
    effort = added(found, settings)
    # Of an arm that stands still, friction is its offset: no slip element has moved.
    friction = FrictionFeedforward(ARM.friction).torque(dq) + ARM.friction.offset
    expected = torque + model_of(settings).mass_matrix(ARM.home) @ ddq + friction
    assert (friction > 0.05).all()
    assert np.isclose(effort, expected, rtol=0.0, atol=1e-9).all(axis=1).any()
    near(effort[-1], 0.0)  # the law has ceased
    first = int(np.flatnonzero(found[:, 2 * ARM.n :].any(axis=1))[0])  # nothing is written before
    assert np.abs(np.diff(effort[first:], axis=0)).max() <= 1.0 + ATOL


def test_hardware_that_does_not_move_is_noticed(run):
    # The mock hardware repeats its positions, while the velocity says that the arm moves.
    torque = np.full(ARM.n, 8.0) * ([1.0] * 4 + [0.2] * 3)
    row = [*torque, *np.full(ARM.n, 0.3), *np.zeros(ARM.n)]
    parameters = of_feedforward(PLAIN, reference='law', guard=True) + MANAGER
    found, said = run('alone', mock_urdf(ARM), rows=[row], parameters=parameters)
    assert 'all positions stand still bit for bit' in said and '/feedforward/start' in said
    near(added(found, PLAIN)[-1], 0.0)


@pytest.mark.parametrize('reference', ['torque', 'total_torque'])
def test_friction_that_would_be_nothing_is_refused_at_configure(run, reference):
    settings = replace(PLAIN, terms=fd.Terms(friction=True))
    parameters = of_feedforward(settings, reference=reference) + MANAGER
    _, said = run('alone', mock_urdf(ARM), rows=[], parameters=parameters, code=1)
    assert 'reference: law' in said and 'reference: motion' in said


@pytest.mark.parametrize(
    ('joints', 'named'),
    [
        (list(ARM.joint_names[:6]), 'differ in number 7: none and fr3_joint7'),
        (
            [f'{name}_' for name in ARM.joint_names],
            'number 1: fr3_joint1_ and fr3_joint1',
        ),
        ([ARM.joint_names[0]] * 7, 'number 2: fr3_joint1 and fr3_joint2'),
    ],
)
def test_joints_other_than_the_files_are_refused_at_configure(run, joints, named):
    parameters = of_feedforward(PLAIN, joints=joints) + MANAGED.format(joints=[], references=[])
    _, said = run('alone', mock_urdf(ARM), rows=[], parameters=parameters, code=1)
    assert named in said


@pytest.mark.parametrize('event', ['kill', 'kill-restart', 'stop-0.5', 'two'])
def test_a_torque_ends_with_its_only_sender(folder, event):
    # A sender beside another one must not time out, however busy the machine is.
    with Senders(ARM, folder, timeout=1.0 if event == 'two' else 0.05) as senders:
        step, held, away, times = senders.happen(event)
    assert step <= 1.0 + ATOL
    away = away[times > 0.0]
    if event == 'two':
        assert (away > -0.1).all() and (away[-1] > 0.5 * OFFSET).all()
        return
    assert held < 0.5  # 0.05 s are due; the cycles of a busy machine come in bursts
    ended = (np.abs(away) < ATOL).all(axis=1)
    assert ended.any() and any('time-outs 1' in said for said in senders.said)
    assert (away[np.argmax(ended) :] > 0.5 * OFFSET).all(axis=1).any() == (event != 'kill')
    assert event != 'kill' or ended[-1]


def test_a_payload_that_is_set_while_the_arm_is_held_is_held(folder):
    with Senders(ARM, folder) as senders:
        before, after, refusal = senders.change_payload(PAYLOAD, heavy=(5.0, *PAYLOAD[1:]))
    near(before, fd.Model(ARM).gravity(ARM.home))
    near(after, fd.Model(ARM.with_payload(SETTINGS.payload_inertia())).gravity(ARM.home))
    assert 'rated load' in refusal


def test_ctrl_c_ends_a_real_manager_that_can_be_started_again(folder):
    driving(ARM, folder, '', parameters=received())
    words = '--params-file', folder / 'parameters.yaml'
    for number in range(2):
        with closing(Probe('beside')) as probe:
            log = folder / f'manager{number}.log'
            installed = [folder / 'install']
            manager = Manager(probe, ARM, log, *words, prefixes=installed)
            try:
                manager.load('receiver')
                manager.switch(['receiver'])
                probe.until_says('receiver', 'waiting for a first command')
                said = manager.interrupt()
            finally:
                manager.process.kill()
        assert 'terminate' not in said and 'receiver' in said


@pytest.mark.parametrize('source', ['robot_description', 'arm_file'])
def test_the_example_holds_the_wrist_and_commands_no_gravity(run, source):
    arm = fd.load('fr3')
    aside = np.concatenate([arm.home + 0.005 * np.resize((1.0, -1.0), 7), np.full(7, 0.05)])
    rows = [[*arm.home, *np.zeros(7)], aside]
    file = '/hold:\n  ros__parameters:\n    arm_file: ARM_FILE\n' if source == 'arm_file' else ''
    found, _ = run('hold', urdf_text(arm), rows=rows, parameters=file, arm=arm)
    near(found[0], 0.0)
    kp = [600.0] * 4 + [250.0, 150.0, 50.0]
    kd = [30.0] * 4 + [10.0, 10.0, 5.0]
    pulls = kp * (arm.home - aside[:7]) - kd * aside[7:]
    near(found[1], pulls + fd.Model(arm).coriolis(*np.split(aside, 2)))
    assert np.abs(found[1]).max() < 20.0
    near(found[2], 0.0)
