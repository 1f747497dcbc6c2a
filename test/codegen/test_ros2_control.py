# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The generated package built by its own CMakeLists and driven by ros2_control."""

from dataclasses import replace
import os
from pathlib import Path
import shutil
import subprocess

import numpy as np
import pytest
import yaml

from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.control.settings import Settings, Terms
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel

from .cpp_core import ATOL, PAYLOAD, WITH_REFERENCE
from .ros2_control import built, driving, OFFSET, rows_of, Senders
from .test_cpp_package import ARMS, recorded, RUNS
from ..ros2_control_prefix import mock_urdf, PREFIXES

pytestmark = pytest.mark.skipif(
    not PREFIXES or shutil.which('cmake') is None,
    reason='FRANKA_DYNAMICS_ROS2_CONTROL names no prefix with ros2_control, or there is no cmake',
)
ARM = ARMS['fr3']
ARRAYS = ('payload', 'gravity_vector', 'kp', 'kd')
SETTINGS = Settings(
    target='mujoco',
    terms=Terms(friction=True),
    payload=PAYLOAD,
    gravity_vector=(0.5, -0.4, -9.78),
    kp=(30.0,),
    kd=(3.0,),
    scale=0.9,
)
PLAIN = replace(SETTINGS, terms=Terms(), kp=(0.0,), kd=(0.0,), scale=1.0)


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return built(ARM, tmp_path_factory.mktemp('ros2_control'))


@pytest.fixture
def drive(folder):
    """Return the arm and a function that drives its package's plugins."""

    def run(what, *words, rows, parameters):
        command, env = driving(ARM, folder, what, *words, parameters=parameters)
        done = subprocess.run(
            command,
            input='\n'.join(' '.join(f'{value:.17g}' for value in row) for row in rows),
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-4000:]
        return rows_of(done.stdout), done.stderr

    return ARM, run


def of_feedforward(settings, **more):
    """Return the parameters of the controller as YAML."""
    values = {
        'target': settings.target,
        'terms.friction': settings.terms.friction,
        'payload_known_to_robot': settings.payload_known_to_robot,
        'scale': settings.scale,
        **{name: list(getattr(settings, name)) for name in ARRAYS},
        **more,
    }
    named = {'/feedforward': {'ros__parameters': values}}
    return yaml.safe_dump(named, default_flow_style=None)


def test_the_controller_gives_the_nodes_torques(drive):
    # A run of the Python node on a simulated arm; the plugin gets the same states and references.
    arm, run = drive
    _, (what, t, q, dq, rq, rdq, rddq, expected) = recorded(arm, SETTINGS, RUNS['brake'][:2])
    first = int(np.flatnonzero(np.isfinite(expected).all(axis=1))[0])
    references = np.hstack([rq, rdq, rddq])
    references[(what & WITH_REFERENCE) == 0] = np.nan
    rows = np.hstack([t[:, None], q, dq, references])[first:]
    found, said = run('controller', rows=rows, parameters=of_feedforward(SETTINGS))
    assert 'rror' not in said
    np.testing.assert_allclose(found[:-1], expected[first:], rtol=0.0, atol=ATOL)
    # After deactivation the command is the torque that holds the arm at its last position.
    model = PinocchioModel(arm.with_payload(SETTINGS.payload_inertia()), SETTINGS.gravity_vector)
    np.testing.assert_allclose(found[-1], model.gravity(q[-1]), rtol=0.0, atol=1e-10)


@pytest.mark.parametrize(
    ('change', 'sentence'),
    [
        ({'target': 'moon'}, "There is no target 'moon'"),
        ({'target': 'fci'}, 'the target compensates friction by itself'),
        ({'kp': [1.0, 2.0]}, 'take one number for all joints, or one for each'),
        ({'payload': [1.0]}, 'payload ten'),
        ({'reference': 'wish'}, 'it must be motion, torque or total_torque'),
        ({'scale': 2.0}, 'scale must be within 0 and 1'),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(drive, change, sentence):
    _, run = drive
    with pytest.raises(AssertionError) as refused:
        run('controller', rows=[], parameters=of_feedforward(SETTINGS, **change))
    assert sentence in str(refused.value) and 'configure' in str(refused.value)


def test_without_a_torque_from_upstream_it_stops(drive):
    arm, run = drive
    settings = replace(PLAIN, payload=(0.0,) * 10)
    count, ended, again = 900, 300, 600
    q, dq = np.tile(arm.home, (count, 1)), np.zeros((count, arm.n))
    torque = np.full_like(q, 2.0)
    torque[ended:again] = np.nan
    rows = np.hstack([1.0 + 1e-3 * np.arange(count)[:, None], q, dq, torque])
    found, _ = run(
        'controller', rows=rows, parameters=of_feedforward(settings, reference='torque')
    )
    gravity = PinocchioModel(arm, settings.gravity_vector).gravity(arm.home)
    np.testing.assert_allclose(found[0], gravity, rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(found[ended - 1], gravity + 2.0, rtol=0.0, atol=ATOL)
    # With 1 N m per cycle two steps lead back to the holding torque, which then stays.
    np.testing.assert_allclose(found[ended], gravity + 1.0, rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(
        found[ended + 1 : again], np.tile(gravity, (again - ended - 1, 1)), rtol=0.0, atol=ATOL
    )
    np.testing.assert_allclose(found[count - 1], gravity + 2.0, rtol=0.0, atol=ATOL)
    # The last row is written at deactivation: the holding torque.
    assert np.abs(np.diff(found[:count], axis=0)).max() <= 1.0 + ATOL
    np.testing.assert_allclose(found[count], gravity, rtol=0.0, atol=ATOL)


@pytest.mark.skipif(
    not any(
        Path(prefix, 'share', 'inverse_dynamics_solver').is_dir()
        for prefix in (PREFIXES or '').split(os.pathsep)
    ),
    reason='inverse_dynamics_solver is not among the prefixes of FRANKA_DYNAMICS_ROS2_CONTROL',
)
def test_the_solver_gives_the_models_terms(drive):
    arm, run = drive
    q, dq, _ = sample_states(arm, 50, seed=1)
    parameters = f'/solver:\n  ros__parameters:\n    dynamics.payload: {list(PAYLOAD)}\n'
    found, _ = run('solver', rows=np.hstack([q, dq]), parameters=parameters)
    model = PinocchioModel(arm.with_payload(Settings(payload=PAYLOAD).payload_inertia()))
    n = arm.n
    for row, position, velocity in zip(found, q, dq):
        expected = [
            model.coriolis(position, velocity),
            model.gravity(position),
            arm.friction.torque(velocity),
            model.mass_matrix(position).ravel(),
        ]
        np.testing.assert_allclose(row, np.concatenate(expected), rtol=0.0, atol=ATOL)
    assert found.shape == (50, 3 * n + n * n)


MANAGED = """
/controller_manager:
  ros__parameters:
    update_rate: 1000
    feedforward.type: my_arm/FeedforwardController
    trajectory.type: joint_trajectory_controller/JointTrajectoryController
/trajectory:
  ros__parameters:
    joints: {joints}
    command_joints: {references}
    command_interfaces: {interfaces}
    state_interfaces: [position, velocity]
    allow_nonzero_velocity_at_trajectory_end: false
"""


def test_alone_in_a_controller_manager_it_follows_its_topic(drive):
    # The mock hardware stands still: the command must equal the terms at that state.
    arm, run = drive
    ddq = np.linspace(-2.0, 2.0, arm.n)
    row = [*arm.home, *np.zeros(arm.n), *ddq]
    parameters = of_feedforward(PLAIN) + (
        '/controller_manager:\n  ros__parameters:\n    update_rate: 1000\n'
        '    feedforward.type: my_arm/FeedforwardController\n'
    )
    found, said = run('alone', mock_urdf(arm), rows=[row], parameters=parameters)
    assert 'feedforward is active' in said and 'feedforward is inactive' in said
    position, velocity, effort = np.split(found, 3, axis=1)
    np.testing.assert_array_equal(position, np.tile(arm.home, (len(found), 1)))
    assert not velocity.any()
    model = PinocchioModel(arm.with_payload(PLAIN.payload_inertia()), PLAIN.gravity_vector)
    held = model.gravity(arm.home)
    moved = held + model.mass_matrix(arm.home) @ ddq
    # The arm is held before the motion, gets its inertia torque during it, and is held afterwards.
    np.testing.assert_allclose(effort[:300], np.tile(held, (300, 1)), rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(effort[600:900], np.tile(moved, (300, 1)), rtol=0.0, atol=ATOL)
    np.testing.assert_allclose(effort[1300:], np.tile(held, (201, 1)), rtol=0.0, atol=ATOL)
    assert np.abs(np.diff(effort, axis=0)).max() <= 1.0 + ATOL


def test_behind_a_trajectory_controller_it_adds_the_terms(drive):
    # A whole controller_manager on mock hardware, which stands still: what the trajectory
    # controller wants goes through its own interpolation to the feedforward, and that to the arm.
    arm, run = drive
    settings = PLAIN
    parameters = of_feedforward(settings, reference='torque') + MANAGED.format(
        joints=list(arm.joint_names),
        references=[f'feedforward/{name}' for name in arm.joint_names],
        interfaces='[effort]',
    )
    seconds, after = 0.4, np.linspace(1.0, 4.0, arm.n)
    row = [seconds, *(arm.home + 0.1), *after]
    found, said = run('behind', mock_urdf(arm), rows=[row], parameters=parameters)
    assert 'feedforward is active, chained' in said and 'trajectory is active' in said
    position, velocity, effort = np.split(found, 3, axis=1)
    np.testing.assert_array_equal(position, np.tile(arm.home, (len(found), 1)))
    assert not velocity.any()
    model = PinocchioModel(arm.with_payload(settings.payload_inertia()), settings.gravity_vector)
    added = effort - model.gravity(arm.home)
    # At first only gravity; at the trajectory's end the effort of its last point comes through.
    np.testing.assert_allclose(added[0], 0.0, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(added.max(axis=0), after, rtol=0.02, atol=0.0)
    # Where a busy machine skips cycles the effort jumps, and the limit of 1 N m acts by joint.
    limited = np.abs(np.diff(added, axis=0, prepend=added[:1])).max(axis=1) > 1.0 - 1e-9
    share = added / after
    moving = (share[:, 0] > 0.1) & (share[:, 0] < 0.9) & ~limited
    assert moving.any()
    np.testing.assert_allclose(
        share[moving], np.repeat(share[moving, :1], arm.n, axis=1), rtol=0.0, atol=1e-9
    )
    assert (np.diff(share[moving, 0]) >= 0.0).all()


@pytest.mark.parametrize('event', ['kill', 'kill-restart', 'stop-0.5', 'two'])
def test_a_torque_ends_with_its_sender_and_no_second_one_is_followed(folder, event):
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
    followed = (away[np.argmax(ended) :] > 0.5 * OFFSET).all(axis=1)
    assert followed.any() == (event != 'kill')
    assert event != 'kill' or ended[-1]
