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

from franka_dynamics.control.settings import Settings, Terms
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.sampling import sample_states

from .cpp_core import ATOL, PAYLOAD
from .ros2_control import built, driving, OFFSET, rows_of, Senders
from .test_package import ARMS
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
def run(folder):
    """Return a function that drives the plugins of the arm's package."""

    def drive(what, *words, rows, parameters):
        command, env = driving(ARM, folder, what, *words, parameters=parameters)
        text = '\n'.join(' '.join(f'{value:.17g}' for value in row) for row in rows)
        done = subprocess.run(
            command, input=text, env=env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-4000:]
        return rows_of(done.stdout), done.stderr

    return drive


def near(found, expected, atol=ATOL):
    np.testing.assert_allclose(
        found, np.broadcast_to(expected, np.shape(found)), rtol=0.0, atol=atol
    )


def model_of(settings):
    """Return Pinocchio's model of the arm with the payload and gravity of settings."""
    return PinocchioModel(ARM.with_payload(settings.payload_inertia()), settings.gravity_vector)


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


@pytest.mark.skipif(
    not any(
        Path(prefix, 'share', 'inverse_dynamics_solver').is_dir()
        for prefix in (PREFIXES or '').split(os.pathsep)
    ),
    reason='inverse_dynamics_solver is not among the prefixes of FRANKA_DYNAMICS_ROS2_CONTROL',
)
def test_the_solver_gives_the_models_terms(run):
    q, dq, _ = sample_states(ARM, 50, seed=1)
    parameters = f'/solver:\n  ros__parameters:\n    dynamics.payload: {list(PAYLOAD)}\n'
    found, _ = run('solver', rows=np.hstack([q, dq]), parameters=parameters)
    model = model_of(Settings(payload=PAYLOAD))
    vectors = [model.coriolis(q, dq), model.gravity(q), ARM.friction.torque(dq)]
    near(found, np.hstack([*vectors, model.mass_matrix(q).reshape(50, -1)]))


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


def test_alone_in_a_controller_manager_it_follows_its_topic(run):
    # The mock hardware stands still: the command must equal the terms at that state.
    ddq = np.linspace(-2.0, 2.0, ARM.n)
    row = [*ARM.home, *np.zeros(ARM.n), *ddq]
    parameters = of_feedforward(PLAIN) + (
        '/controller_manager:\n  ros__parameters:\n    update_rate: 1000\n'
        '    feedforward.type: my_arm/FeedforwardController\n'
    )
    found, said = run('alone', mock_urdf(ARM), rows=[row], parameters=parameters)
    assert 'feedforward is active' in said and 'feedforward is inactive' in said
    effort = added(found, PLAIN)
    # The arm is held before the motion, gets its inertia torque during it, and is held afterwards.
    near(effort[:300], 0.0)
    near(effort[600:900], model_of(PLAIN).mass_matrix(ARM.home) @ ddq)
    near(effort[1300:], 0.0)
    assert len(found) == 1501 and np.abs(np.diff(effort, axis=0)).max() <= 1.0 + ATOL


def test_behind_a_trajectory_controller_it_adds_the_terms(run):
    # A whole controller_manager on mock hardware, which stands still: what the trajectory
    # controller wants goes through its own interpolation to the feedforward, and that to the arm.
    parameters = of_feedforward(PLAIN, reference='torque') + MANAGED.format(
        joints=list(ARM.joint_names),
        references=[f'feedforward/{name}' for name in ARM.joint_names],
    )
    seconds, after = 0.4, np.linspace(1.0, 4.0, ARM.n)
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
