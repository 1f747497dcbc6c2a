# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The C++ controller's model beside the one that franka_ros2 reads from a simulated robot."""

from contextlib import closing, contextmanager, ExitStack
import os
import re
from zlib import crc32

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
import pytest
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.cpp_package.package import controller_arm_text
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.clients.node_client import NodeClient
from franka_dynamics.ros.topics import DESCRIPTION_QOS

from .conftest import Probe
from .test_franka_ros2 import BRINGUP, command, pytestmark  # noqa: F401
from .test_launch import running_launch_files
from ..cpp_package.cpp_core import PACKAGE
from ..cpp_package.ros2_control import TYPE
from ..processes import TIMEOUT_S
from ..ros2_control_prefix import in_prefixes, made, PREFIXES
from ..simulated_robot import FrankaSim

FR3 = load('fr3')
PARAMETERS = """
/receiver:
  ros__parameters:
    type: {type}
    arm_file: {arm_file}
    target: fci
    reference: total_torque
    robot_model: fr3
"""
# Largest differences of g [N m] and M [kg m^2] by rounding: 4e-15 and 9e-16 were seen.
EQUAL = 1e-12
LOAD = [1.0, 0.02, 0.0, 0.05, 0.002, 0.0, 0.0, 0.002, 0.0, 0.002]
WRITTEN = 1e-5  # relative: ~/status writes six digits


@pytest.fixture(scope='module')
def install(pytestconfig):
    """Build the C++ package beside franka_ros2, without its own tests; return the prefix."""
    # In the clone, where ccache knows what another clone has compiled.
    folder = pytestconfig.cache.mkdir(f'franka_model-{crc32(PREFIXES.encode())}')
    options = '-DCMAKE_BUILD_TYPE=None', '-DBUILD_TESTING=OFF'
    made(PACKAGE, folder / 'build', folder / 'install', *options)
    return folder / 'install'


@pytest.fixture
def probe(install, tmp_path, monkeypatch):
    """Run franka_ros2 with the controller on a simulated robot; return a probe beside them."""
    for name, path in (('AMENT_PREFIX_PATH', install), ('LD_LIBRARY_PATH', install / 'lib')):
        monkeypatch.setenv(name, f'{path}{os.pathsep}{os.environ.get(name, "")}')
    monkeypatch.delenv('FRANKA_DYNAMICS_REALTIME', raising=False)
    (tmp_path / 'arm.yaml').write_text(controller_arm_text(FR3))
    parameters = tmp_path / 'receiver.yaml'
    parameters.write_text(PARAMETERS.format(type=TYPE, arm_file=tmp_path / 'arm.yaml'))
    robot = FrankaSim(tmp_path, measured=True)
    with ExitStack() as ends:
        ends.callback(robot.kill)
        robot.prefer()
        beside = ends.enter_context(closing(Probe()))
        launch = ends.enter_context(contextmanager(running_launch_files)(tmp_path))
        launch(
            str(in_prefixes(BRINGUP)),
            'robot_type:=fr3',
            f'robot_ip:={robot.address}',
            'load_franka_robot_state_broadcaster:=false',
        )
        spawner = 'run', 'controller_manager', 'spawner', 'receiver'
        command(*spawner, '--param-file', str(parameters))
        yield beside


def differences(status):
    """Return the largest differences of g [N m] and M [kg m^2] in a ~/status, or None."""
    text = next((one.value for one in status.values if "robot's model" in one.key), '')
    found = re.match(r'g (\S+) N m, M (\S+) kg m\^2', text)
    return None if found is None else tuple(map(float, found.groups()))


def test_the_model_at_rest_is_the_robots(probe):
    statuses = []
    kind = DiagnosticStatus
    probe.create_subscription(kind, '/receiver/status', statuses.append, DESCRIPTION_QOS)
    states = probe.collect(JointState, 'franka/joint_states')
    probe.until(lambda: states and statuses and differences(statuses[-1]), 'a comparison')
    assert max(differences(statuses[-1])) < EQUAL
    # Then with a load of which the robot knows nothing: the difference is the load's.
    row = dict(zip(states[-1].name, states[-1].position))
    q = np.array([row[name] for name in FR3.joint_names])
    with NodeClient('/receiver', TIMEOUT_S, probe.spin) as client:
        client.set_parameters({'payload': LOAD})
    probe.until(lambda: differences(statuses[-1])[0] > EQUAL, 'the load')
    loaded = NewtonEulerModel(FR3.with_payload(LOAD))
    bare = NewtonEulerModel(FR3)
    expected = [
        np.abs(getattr(loaded, name)(q) - getattr(bare, name)(q)).max()
        for name in ('gravity', 'mass_matrix')
    ]
    np.testing.assert_allclose(differences(statuses[-1]), expected, rtol=WRITTEN)
