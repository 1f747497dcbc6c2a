# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The plugin of inverse_dynamics_solver, loaded by pluginlib, beside this package's Python."""

import os
from pathlib import Path
import shutil
import subprocess
from zlib import crc32

import numpy as np
import pytest
import yaml

import franka_dynamics as fd
from franka_dynamics.control.settings import Settings
from franka_dynamics.cpp_package.package import controller_arm_text
from franka_dynamics.urdf.writer import urdf_text

from .cpp_core import PAYLOAD
from .ros2_control import built
from .test_core import ARMS
from ..ros2_control_prefix import environment, PREFIXES

INTERFACE = 'share/inverse_dynamics_solver/package.xml'
pytestmark = pytest.mark.skipif(
    shutil.which('cmake') is None
    or not any((Path(one) / INTERFACE).exists() for one in PREFIXES.split(os.pathsep)),
    reason='there is no cmake, or FRANKA_DYNAMICS_ROS2_CONTROL names no prefix with '
    'inverse_dynamics_solver',
)
DRIVE = Path(__file__).parent / 'solver_drive.cpp'
ATOL = 1e-9  # [N m]
SPACE = 'dynamics'  # of the solver's parameters
GRAVITY = (0.5, -0.4, -9.78)
BARE = ARMS['bare']


@pytest.fixture(scope='module')
def folder(pytestconfig):
    name = f'ros2_control-{crc32(PREFIXES.encode())}'
    return built(pytestconfig.cache.mkdir(name), DRIVE)


@pytest.fixture
def solve(folder, tmp_path):
    """Return a function that calls the solver; it returns terms by name, and what was said."""

    def call(arm, motions, urdf='', n=7, code=0, **parameters):
        (tmp_path / 'arm.yaml').write_text(controller_arm_text(arm))
        (tmp_path / 'arm.urdf').write_text(urdf)
        if not urdf:
            parameters.setdefault('arm_file', str(tmp_path / 'arm.yaml'))
        given = {f'{SPACE}.{name}': value for name, value in parameters.items()}
        file = tmp_path / 'parameters.yaml'
        file.write_text(yaml.safe_dump({'/drive': {'ros__parameters': given}}))
        program = folder / f'{DRIVE.stem}_tool' / DRIVE.stem
        words = [program, n, SPACE, tmp_path / 'arm.urdf', '--ros-args', '--params-file', file]
        env = {**environment(folder / 'install'), 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
        text = '\n'.join(' '.join(f'{value:.17g}' for value in row) for row in motions)
        streams = {'input': text, 'capture_output': True, 'text': True}
        done = subprocess.run([*map(str, words)], env=env, timeout=120, **streams)
        assert done.returncode == code, done.stderr[-4000:]
        rows = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
        found = {}
        if len(rows):
            widths = np.cumsum([n * n, n, n, n])
            names = 'mass', 'coriolis', 'gravity', 'friction', 'torque'
            found = dict(zip(names, np.split(rows, widths, axis=1)))
        return found, done.stderr

    return call


def near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)


@pytest.mark.parametrize('name', ['fer', 'fr3', 'fr3v2'])
def test_an_arm_with_friction_and_payload_has_the_torques_of_python(solve, name):
    arm = ARMS[name]
    q, dq, ddq = fd.sample_states(arm, 50, seed=3)
    given = {'payload': list(PAYLOAD), 'gravity_vector': list(GRAVITY), 'terms.friction': True}
    found, said = solve(arm, np.hstack([q, dq, ddq]), **given)
    assert 'not initialized' in said  # before initialize()
    payload = Settings(target='mujoco', payload=PAYLOAD).payload_inertia()
    model = fd.Model(arm.with_payload(payload), GRAVITY)
    near(found['mass'], [model.mass_matrix(row).ravel() for row in q])
    near(found['coriolis'], [model.coriolis(*row) for row in zip(q, dq)])
    near(found['gravity'], [model.gravity(row) for row in q])
    near(found['friction'], arm.friction.torque(dq))
    rigid = [model.inverse_dynamics(*row) for row in zip(q, dq, ddq)]
    near(found['torque'], rigid + arm.friction.torque(dq))


def test_friction_that_grows_with_the_load_is_in_the_torques_alone(solve):
    arm = ARMS['loaded']
    q, dq, ddq = fd.sample_states(arm, 10, seed=4)
    motions = np.hstack([q, dq, ddq])
    found, said = solve(arm, motions, **{'terms.friction': True})
    rigid = np.array([fd.Model(arm).inverse_dynamics(*row) for row in zip(q, dq, ddq)])
    near(found['torque'], rigid + arm.friction.torque(dq, rigid_torque=rigid))
    assert 'grows with the load' in said and np.isnan(found['friction']).all()
    found, _ = solve(arm, motions)
    near(found['torque'], rigid)


def test_an_arm_of_a_robot_description_has_no_friction(solve):
    q, dq, ddq = fd.sample_states(BARE, 10, seed=5)
    urdf = urdf_text(BARE)
    found, _ = solve(BARE, np.hstack([q, dq, ddq]), urdf, joints=list(BARE.joint_names))
    model = fd.Model(fd.import_urdf(urdf, joint_names=BARE.joint_names))
    near(found['torque'], [model.inverse_dynamics(*row) for row in zip(q, dq, ddq)])
    near(found['friction'], 0.0)


@pytest.mark.parametrize(
    ('given', 'named'),
    [
        ({'arm_file': ''}, 'dynamics.arm_file is empty, and there is no robot_description'),
        ({'arm_file': '/none.yaml'}, '/none.yaml: cannot be opened'),
        ({'joints': ['fr3_joint1']}, 'dynamics.joints is for an arm of robot_description'),
        ({'payload': [1.0, 0.0]}, 'dynamics.payload has 2 numbers; it takes 4 or 10'),
        ({'payload': [50.0, 0.0, 0.0, 0.0]}, 'payload: 50'),
        ({'payload': 'heavy'}, "parameter 'dynamics.payload' has invalid type"),
        ({'gravity_vector': [0.0, -9.81]}, 'dynamics.gravity_vector has 2 numbers; it takes 3'),
        ({'gravity_vector': [0.0, 0.0, -981.0]}, 'gravity_vector must be three numbers'),
        ({'terms.friction': True}, 'terms.friction is on, but fr3 has no friction model'),
    ],
)
def test_parameters_that_cannot_be_used_are_refused_in_a_sentence(solve, given, named):
    _, said = solve(BARE, [], code=1, **given)
    assert named in said


def test_a_state_of_another_number_of_joints_is_refused(solve):
    _, said = solve(BARE, np.zeros((1, 18)), n=6, code=1)
    assert '6 joint positions instead of the 7 of fr3' in said
