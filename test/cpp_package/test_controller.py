# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The ros2_control controllers, generated and of the examples, against a stand-in, and run."""

import ctypes
import functools
from pathlib import Path
import shutil
import subprocess

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.control.settings import RECEIVER_PROFILES
from franka_dynamics.cpp_package.package import cpp_package_files
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.parameter_schema import specs

from .cpp_core import ATOL, COMPILER, DOUBLES, needs_compiler, PAYLOAD, STRICT, vectors, write
from .test_package import ARMS

pytestmark = needs_compiler
HERE = Path(__file__).parent
ARM = ARMS['fr3']
HOME, STILL = np.array(ARM.home), np.zeros(ARM.n)
STANDS_FOR = (
    'controller_interface/chainable_controller_interface',
    'diagnostic_msgs/msg/diagnostic_status',
    'franka_semantic_components/franka_robot_model',
    'hardware_interface/types/hardware_interface_type_values',
    'pluginlib/class_list_macros',
    'rclcpp/rclcpp',
    'std_msgs/msg/float64_multi_array',
)
ROW = "largest difference from the robot's model"


@functools.cache
def files():
    """Return the package's texts by their paths."""
    return cpp_package_files(ARM, 'my_arm')


def built(folder):
    """Compile the controller; return the library."""
    write(files(), folder)
    for header in STANDS_FOR:
        path = folder / 'stand_in' / f'{header}.hpp'
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / 'ros2_control_stand_in.hpp', path)
    sources = folder / 'src' / 'feedforward_controller.cpp', HERE / 'controller_drive.cpp'
    command = [COMPILER, *STRICT, '-DWITH_FRANKA_MODEL', '-O0', '-fPIC', '-shared']
    command += ['-I', folder / 'include', '-I', folder / 'stand_in']
    command += ['-o', folder / 'controller.so', *sources]
    subprocess.run(command, check=True)
    library, made = ctypes.CDLL(str(folder / 'controller.so')), ctypes.c_void_p
    library.make.restype = made
    for name in ('start', 'status', 'interfaces'):
        getattr(library, name).restype = ctypes.c_char_p
    text, number = ctypes.c_char_p, ctypes.c_int
    for name, types in {
        'set_bool': [text, number],
        'set_double': [text, ctypes.c_double],
        'set_string': [text, text],
        'set_doubles': [text, number, DOUBLES],
        'set_joints': [number, ctypes.POINTER(text)],
        'start': [number],
        'receive': [number, number, DOUBLES],
        'command': [ctypes.c_void_p],
        'cycle': [ctypes.c_double, *[DOUBLES] * 3],
        **{key: [] for key in ('drop', 'stop', 'status', 'interfaces')},
    }.items():
        getattr(library, name).argtypes = [made, *types]
    library.robots.argtypes = [DOUBLES] * 3
    return library


@pytest.fixture(scope='module')
def library(tmp_path_factory):
    return built(tmp_path_factory.mktemp('controller'))


class Controller:
    """A controller with parameters, started unless that is refused (`refused` says why)."""

    def __init__(self, library, *, chained=False, **parameters):
        self._library, self._made = library, library.make()
        self.allocations = 0
        for name, value in parameters.items():
            self._set(name.replace('__', '.').encode(), value)
        refused = library.start(self._made, chained)
        self.refused = refused and refused.decode()

    def _set(self, name, value):
        call, made = self._library, self._made
        if isinstance(value, bool):
            call.set_bool(made, name, value)
        elif isinstance(value, str):
            call.set_string(made, name, value.encode())
        elif isinstance(value, float):
            call.set_double(made, name, value)
        elif name == b'joints':
            call.set_joints(
                made, len(value), (ctypes.c_char_p * len(value))(*map(str.encode, value))
            )
        else:
            call.set_doubles(made, name, len(value), np.array(value, float))

    def __del__(self):
        self._library.drop(self._made)

    def receive(self, values, sender=1):
        self._library.receive(self._made, sender, len(values), np.array(values, float))

    def command(self, values):
        """Give values by the chained interfaces; None: none."""
        self._values = None if values is None else np.array(values, float)
        place = None if values is None else self._values.ctypes.data
        self._library.command(self._made, place)

    def cycle(self, q=HOME, dq=STILL, seconds=1e-3):
        """Return the efforts that were written, NaN if none was."""
        effort = np.empty(ARM.n)
        count = self._library.cycle(self._made, seconds, np.array(q), np.array(dq), effort)
        assert count >= 0, 'update failed'
        self.allocations += count
        return effort

    def stop(self):
        assert self._library.stop(self._made)

    @property
    def status(self):
        """Level, message and values of the latest status."""
        level, message, *rest = self._library.status(self._made).decode().split('\n')
        return int(level), message, dict(zip(rest[::2], rest[1::2]))

    @property
    def interfaces(self):
        return self._library.interfaces(self._made).decode().split()


def flattened(values, prefix=''):
    """Yield the parameters of a section of a file, by their names in Python."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flattened(value, f'{prefix}{name}__')
        elif name != 'type':
            yield f'{prefix}{name}', value


@pytest.mark.parametrize('name', ['controllers', 'receiver'])
def test_it_starts_with_the_packages_parameter_files(library, name):
    ((_, section),) = yaml.safe_load(files()[f'config/{name}.yaml']).items()
    parameters = dict(flattened(section['ros__parameters']))
    assert Controller(library, **parameters).refused is None
    # A parameter that the controller does not have would be ignored by ROS.
    declared = {spec.name for part in ('torque', 'motion') for spec in specs(part)}
    declared |= {'joints', 'reference', 'reference_timeout', 'robot_model'}
    assert {name.replace('__', '.') for name in parameters} <= declared


@pytest.mark.parametrize(
    ('parameters', 'named'),
    [
        ({}, None),
        *(({'target': name}, None) for name in RECEIVER_PROFILES),
        ({'target': 'moon'}, "'moon'"),
        ({'kp': [1.0, 2.0]}, 'kp'),
        ({'kp': [30.0], 'reference': 'torque'}, 'kp'),
        ({'payload': [1.0]}, 'payload'),
        ({'reference': 'wish'}, "'wish'"),
        ({'reference_timeout': 0.0}, 'reference_timeout'),
        ({'scale': 2.0}, 'scale'),
        ({'joints': ['one']}, '7 joints'),
    ],
)
def test_parameters_that_cannot_be_used_are_refused_by_name(library, parameters, named):
    refused = Controller(library, **parameters).refused
    assert (named in refused) if named else refused is None


def test_chained_it_writes_the_python_controllers_torques_and_allocates_nothing(library):
    settings, command, torque = None, None, STILL
    for kind, columns in vectors(files(), 'motion'):
        if kind == 'settings' and settings:
            break  # a controller reads parameters when it is configured
        if kind == 'settings':
            settings = [float(each) for each in columns[2:]]
            friction, known, scale, *rest = settings
            gravity, payload, kp, kd = np.split(rest, [3, 13, 13 + ARM.n])
            controller = Controller(
                library,
                chained=True,
                reference_timeout=5e-4,  # less than a cycle: what is not renewed ceases
                target=columns[1],
                terms__friction=bool(friction),
                payload_known_to_robot=bool(known),
                scale=scale,
                gravity_vector=gravity,
                payload=payload,
                kp=kp,
                kd=kd,
            )
            assert controller.refused is None
        elif kind == 'reference':
            command = np.array(columns, float)
        else:
            q, dq = np.split(np.array(columns[1 : 1 + 2 * ARM.n], float), 2)
            controller.command(command)
            found = controller.cycle(q, dq, float(columns[0]))
            torque = np.array(columns[2 + 2 * ARM.n :], float)
            np.testing.assert_allclose(found, torque, rtol=0.0, atol=ATOL)
            command = None
    assert controller.allocations == 0
    assert controller.status[2]['state'] == 'following'
    assert controller.status[2]['publisher'] == 'upstream'
    controller.stop()  # writes the torque that holds the arm
    held = PinocchioModel(ARM).gravity(q)
    np.testing.assert_allclose(controller.cycle(q, dq), held, rtol=0.0, atol=ATOL)


def test_chained_torques_that_are_not_renewed_end_at_the_time_out(library):
    controller = Controller(library, chained=True, target='mujoco', reference='total_torque')
    holding = PinocchioModel(ARM).gravity(HOME)
    for k in range(60):
        if k % 4 == 0:  # an upstream controller at a quarter of the rate
            controller.command(holding + 1.0)
        np.testing.assert_allclose(controller.cycle(), holding + 1.0, rtol=0.0, atol=ATOL)
        assert controller.status[2]['state'] == 'following'
    states = [(controller.cycle(), controller.status[2]['state'])[1] for _ in range(80)]
    assert states[:45] == ['following'] * 45 and states[52] == 'braking'
    assert states[-1] == 'holding' and controller.allocations == 0


def test_it_follows_one_sender_brakes_and_says_so(library):
    controller = Controller(library, target='mujoco', reference='total_torque')
    assert np.isnan(controller.cycle()).all() and controller.status[2]['state'] == 'waiting'
    holding = PinocchioModel(ARM).gravity(HOME)
    for _ in range(20):
        controller.receive(holding + 1.0)
        controller.receive(-holding, sender=2)
        controller.receive(holding[1:])
        effort = controller.cycle()
    np.testing.assert_allclose(effort, holding + 1.0, rtol=0.0, atol=ATOL)
    level, _, values = controller.status
    assert (level, values['publisher'], values['refused publisher']) == (0, '/sender1', '/sender2')
    assert (values['refused: other publisher'], values['refused: wrong size']) == ('20', '20')
    for k in range(80):
        effort = controller.cycle()
        if k == 55:
            assert controller.status[2]['state'] == 'braking' and controller.status[0] == 1
    assert controller.status[2]['state'] == 'holding'
    assert controller.status[2]['time-outs'] == '1'
    np.testing.assert_allclose(effort, holding, rtol=0.0, atol=ATOL)
    controller.cycle(HOME * np.nan)
    level, message, values = controller.status
    assert (level, values['state']) == (2, 'fault') and 'joint state' in message
    assert controller.allocations == 0


def test_it_compares_its_model_with_the_robots(library):
    # The robot knows of no payload, and its numbers differ a little from the arm file's.
    controller = Controller(
        library, robot_model='fr3', payload=PAYLOAD, payload_known_to_robot=False
    )
    assert controller.refused is None
    assert controller.interfaces[-2:] == ['fr3/robot_model', 'fr3/robot_state']
    model, dq = PinocchioModel(ARM), np.linspace(-0.5, 0.5, ARM.n)
    gravity, coriolis = model.gravity(HOME), model.coriolis(HOME, dq)
    mass = model.mass_matrix(HOME)
    library.robots(gravity, coriolis, mass.ravel(order='F'))
    controller.cycle(HOME, dq)
    assert controller.status[2][ROW] == 'g 0.000 N m, C dq 0.000 N m, M 0.0000 kg m^2'
    first, second = np.zeros((2, ARM.n))
    first[1], second[3], mass[0, 2] = -0.25, 0.125, mass[0, 2] + 0.0625
    library.robots(gravity + first, coriolis + second, mass.ravel(order='F'))
    controller.cycle(HOME, dq)
    library.robots(gravity, coriolis, model.mass_matrix(HOME).ravel(order='F'))
    controller.cycle(HOME, dq)  # the largest difference since activation stays
    assert controller.status[2][ROW] == 'g 0.250 N m, C dq 0.125 N m, M 0.0625 kg m^2'
    assert controller.allocations == 0
    # Without the parameter nothing is compared; without a message nobody is named.
    assert not {ROW, 'publisher'} & set(Controller(library).status[2])


# All that the controller calls of the class that differs without franka_ros2's headers.
BARE = """
#include "my_arm/robot_model.hpp"
extern "C" const char * refusal(const char * robot)
{
  static my_arm::RobotModel model;
  std::vector<int> interfaces;
  model.compare(my_arm::TermModel(), my_arm::Vector(), my_arm::Vector());
  model.release();
  return model.activate(interfaces) || !model.interfaces().empty() ? "" : model.configure(robot);
}
"""


def test_without_franka_ros2s_headers_the_robots_model_is_refused(tmp_path):
    write({**files(), 'bare.cpp': BARE}, tmp_path)
    options = [*STRICT, '-O0', '-fPIC', '-shared', '-I', 'include', '-o', 'bare.so', 'bare.cpp']
    subprocess.run([COMPILER, *options], check=True, cwd=tmp_path)
    refusal = ctypes.CDLL(str(tmp_path / 'bare.so')).refusal
    refusal.restype = ctypes.c_char_p
    assert b'robot_model' in refusal(b'fr3') and refusal(b'') is None


def test_the_controller_sends_the_models_torques(tmp_path):
    for header in ('controller_interface/controller_interface', 'pluginlib/class_list_macros'):
        path = tmp_path / f'{header}.hpp'
        path.parent.mkdir()
        shutil.copy(HERE / 'ros2_control_stand_in.hpp', path)
    assert main(['codegen', '--arm', 'fr3', '--output', str(tmp_path)]) == 0
    command = [COMPILER, '-std=c++17', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-I.']
    command += ['-I', HERE.parents[1] / 'examples', HERE / 'hold_drive.cpp', '-o', 'controller.so']
    subprocess.run(command, check=True, cwd=tmp_path)
    drive = ctypes.CDLL(str(tmp_path / 'controller.so')).drive
    drive.argtypes = [DOUBLES] * 4
    arm = load('fr3')
    model = PinocchioModel(arm)
    (q0, q), (dq, _), _ = sample_states(arm, 2, seed=0)
    tau = np.full(7, np.nan)
    assert drive(q0.copy(), q.copy(), dq.copy(), tau) == 0
    expected = model.inverse_dynamics(q, dq, 100.0 * (q0 - q) - 20.0 * dq)
    np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-11)
