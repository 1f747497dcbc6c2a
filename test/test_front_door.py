# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`import franka_dynamics` offers every name it promises and loads nothing heavy for it."""

from dataclasses import replace
import functools
import inspect
from inspect import unwrap
import json
from operator import attrgetter
from pathlib import Path
import pydoc
import re
import sys

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import Convention, JointKind
from franka_dynamics.arm.shapes import Shape, ShapeKind
from franka_dynamics.urdf.writer import urdf_text

from . import scripts
from .agreement import refuses
from .processes import printed

ROOT = str(Path(fd.__file__).parents[1])


def test_the_front_door_resolves_its_names_and_no_others():
    assert all(getattr(fd, name) is not None for name in fd.__all__)
    # `help(fd)` asks for each name that `dir` lists.
    assert {name for name in dir(fd) if not name.startswith('__')} == set(fd.__all__)
    with refuses(AttributeError, 'gravity'):
        fd.gravity  # noqa: B018


def test_type_checkers_see_the_same_names():
    seen = {'__package__': fd.__name__}
    path = Path(fd.__file__).with_name('__init__.pyi')
    exec(path.read_text('utf-8'), seen)
    offered = {name: unwrap(getattr(fd, name)) for name in fd.__all__}
    seen = {name: unwrap(one) for name, one in seen.items() if not name.startswith('_')}
    assert seen == offered
    with scripts.loaded(Path(ROOT, 'docs', 'type_stub.py')) as module:
        assert module.stub() == path.read_text('utf-8'), 'make generated writes it'


def modules_loaded(program, *options):
    """Return the modules that a Python of its own has loaded after a program."""
    return set(printed(*options, '-c', f'import sys; {program}; print(*sys.modules)').split())


def test_the_command_begins_before_slow_modules_are_read():
    # -S, because the environment's own start files read what they like. Until the command
    # handles Ctrl-C, every module that it imports is a time in which Ctrl-C is a traceback.
    loaded = modules_loaded('import franka_dynamics', '-S')
    tops = {name.partition('.')[0] for name in loaded}
    assert tops - set(sys.stdlib_module_names) == {'franka_dynamics', '__main__'}
    assert not {'typing', 'ast', 'pathlib'} & loaded


def test_the_model_of_an_arm_loads_neither_compiler_nor_solver():
    program = 'import franka_dynamics as fd; arm = fd.load("fer"); fd.Model(arm).gravity(arm.home)'
    loaded = modules_loaded(program)
    assert 'pinocchio' in loaded
    assert not loaded & set('llvmlite clarabel mujoco scipy sympy click rich matplotlib'.split())


@pytest.fixture
def files(tmp_path):
    """Return one arm as an arm file, a URDF and a xacro file."""
    arm = fd.load('fr3', hand='none')
    fd.save(arm, tmp_path / 'arm.yaml')
    fd.write_urdf(arm, tmp_path / 'arm.urdf')
    text = (tmp_path / 'arm.urdf').read_text('utf-8')
    expanded = text.replace('<robot ', '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ')
    (tmp_path / 'arm.xacro').write_text(expanded, encoding='utf-8')
    return tmp_path


def test_load_and_compare_take_names_files_and_urdf_text(files):
    text = (files / 'arm.urdf').read_text()
    found = fd.load(f'\n{text}')
    assert found.joints == fd.load(files / 'arm.urdf').joints
    assert found.links == fd.load(files / 'arm.urdf').links
    assert fd.compare(files / 'arm.yaml', text).passed
    assert fd.compare(files / 'arm.yaml', files / 'arm.urdf').passed
    different = fd.compare('fer', 'fr3')
    assert not different.passed and different.first.name == 'fer'
    with refuses(fd.FrankaDynamicsError, 'the URDF'):
        fd.load(text[:500])


PAYLOAD = (0.5, 0.0, 0.0, 0.1, 1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)
BODY = fd.LinkInertia.from_center_of_mass(0.5, PAYLOAD[1:4], PAYLOAD[4:])


@pytest.mark.parametrize(('payload', 'count'), [(PAYLOAD, 10), (PAYLOAD[:4], 4), (BODY, 10)])
@pytest.mark.parametrize('name', ['fr3', 'arm.urdf'])
def test_load_puts_a_payload_on_the_flange(payload, count, name, files):
    arm = name if name == 'fr3' else files / name
    inertia = PAYLOAD[4:] if count == 10 else np.zeros(6)
    body = fd.LinkInertia.from_center_of_mass(0.5, PAYLOAD[1:4], inertia)
    assert fd.load(arm, payload=payload).links == fd.load(arm).with_payload(body).links
    assert fd.load(arm, payload=np.zeros(10)).links == fd.load(arm).links


def test_the_rated_load_holds_for_all_payloads_together():
    for heavy in ((5.0, 0.0, 0.0, 0.0), (3.1, 0.0, 0.0, 0.0)):
        with refuses(fd.FrankaDynamicsError, 'fr3 (3 kg)'):
            fd.load('fr3', payload=heavy)
    core = fd.Feedforward(fd.load('fr3', payload=(2.0, 0.0, 0.0, 0.0)))
    core.change(payload=(1.0, 0.0, 0.0, 0.0))
    with refuses(fd.FrankaDynamicsError, '1.5 kg beside 2 kg'):
        core.change(payload=(1.5, 0.0, 0.0, 0.0))
    # A hand counts, too: 0.7126 kg.
    handed = fd.load('fr3', hand='franka_hand')
    fd.Feedforward(handed, payload=(2.28, 0.0, 0.0, 0.0))
    with refuses(fd.FrankaDynamicsError, '2.3 kg beside 0.7126 kg'):
        fd.Feedforward(handed, payload=(2.3, 0.0, 0.0, 0.0))


STATE = fd.load('fr3').home


@pytest.mark.parametrize(
    ('function', 'states'),
    [
        *((name, ()) for name in ('parameter_names', 'parameter_vector', 'customised_equations')),
        ('sample_states', (3,)),
        *((name, ('written',)) for name in ('save', 'write_urdf', 'write_mjcf')),
        ('space_inertias', (STATE,)),
        ('energy_regressors', (STATE, STATE)),
        *((x, (STATE,) * 3) for x in 'torque_regressor dynamics_derivatives linearize'.split()),
        *((name, ()) for name in ('Model', 'NewtonEulerModel', 'ExponentialsModel', 'BatchModel')),
        *((name, ()) for name in ('BodyTree.from_description', 'Feedforward')),
    ],
)
def test_an_arm_is_given_by_name_or_file_all_else_is_refused(function, states, files, monkeypatch):
    monkeypatch.chdir(files)
    call = attrgetter(function)(fd)
    for arm in ('fr3', *(files / f'arm.{form}' for form in ('yaml', 'urdf', 'xacro'))):
        found = call(arm, *states)
        if function.endswith('Model'):
            expected = fd.Model(fd.load('fr3', hand='none')).gravity(STATE)
            # A URDF has 15 decimals.
            np.testing.assert_allclose(found.gravity(STATE), expected, rtol=0, atol=1e-11)
    # The names of parameters may also be asked for by a number of links.
    number, kind = (7.0, 'float') if function == 'parameter_names' else (7, 'int')
    refusals = {
        'fr33': 'Did you mean fr3?',
        number: f'got a {kind}',
        None: 'got a NoneType',
    }
    for wrong, said in refusals.items():
        with refuses(fd.FrankaDynamicsError, said):
            call(wrong, *states)


FER = fd.load('fer', hand='none')
URDF = urdf_text(FER)
# A call that takes a member of an enumeration, what it makes of it, and another member.
WORDS = [
    (lambda word: replace(FER, convention=word).convention, Convention.MODIFIED),
    (
        lambda word: fd.import_urdf(URDF, convention=word).convention,
        Convention.STANDARD,
    ),
    (lambda word: replace(FER.joints[0], kind=word).kind, JointKind.REVOLUTE),
    (lambda word: Shape(word, (0.1, 0.5)).kind, ShapeKind.CAPSULE),
]


def test_import_urdf_reads_text_and_file_and_names_the_file(tmp_path):
    file = tmp_path / 'robot.urdf'
    file.write_text(URDF)
    for given in (URDF, str(file), file):
        assert fd.import_urdf(given).links == fd.load(URDF).links
    for given in (file.with_name('none.urdf'), 'none.urdf'):
        with refuses(fd.FrankaDynamicsError, 'none.urdf'):
            fd.import_urdf(given)


@pytest.mark.parametrize(('call', 'member'), WORDS)
def test_enumeration_members_may_be_given_by_their_word(call, member):
    assert call(member.value) is call(member) is member
    with refuses(fd.FrankaDynamicsError, "'nonsense'", member.value):
        call('nonsense')


# Before a program: what a system does not bring is absent, whoever asks for it.
WITHOUT = """
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ABSENT:
            raise ModuleNotFoundError(f'{name} is not installed', name=name)


ABSENT = set(sys.argv.pop(1).split(','))
sys.meta_path.insert(0, Absent())
"""
# Configures the node with both models, and runs it from joint states to commands.
NODE = """
import rclpy
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from franka_dynamics.ros.node.feedforward_node import FeedforwardNode

rclpy.init()
node = FeedforwardNode()
assert node.trigger_configure() == TransitionCallbackReturn.SUCCESS
assert node.trigger_activate() == TransitionCallbackReturn.SUCCESS
arm = node.cycle.controller.description
for step in range(3):
    message = JointState(name=arm.joint_names, position=arm.home.tolist(), velocity=[0.0] * 7)
    message.header.stamp = node.get_clock().now().to_msg()
    node.cycle.on_joint_state(bytes(serialize_message(message)))
assert node.trigger_shutdown() == TransitionCallbackReturn.SUCCESS
node.destroy_node()
rclpy.shutdown()
print('ran')
"""
# Every library that an extra brings.
EXTRAS = (
    'mujoco rosbags scipy matplotlib h5py pandas pyarrow trimesh sympy llvmlite cffi clarabel '
    'casadi jax torch meshcat viser PIL distributed pylibfranka'
).split()


def test_the_node_imports_only_what_apt_brings():
    pytest.importorskip('rclpy')
    absent = [*EXTRAS, 'click', 'rich', 'setuptools', 'pkg_resources', 'pytest']
    absent.remove('cffi')  # apt's Python has it
    assert printed('-c', WITHOUT + NODE, ','.join(absent)).splitlines()[-1] == 'ran'


# Runs commands one after another, each with its own words; prints status and errors of each.
COMMANDS = """
from contextlib import redirect_stderr, redirect_stdout
import io
import json

from franka_dynamics.__main__ import main

found = {}
for command in sys.argv[1:]:
    sys.argv[1:] = command.split()
    with redirect_stderr(io.StringIO()) as said, redirect_stdout(io.StringIO()):
        found[command] = main(), said.getvalue()
print(json.dumps(found))
"""
ROS = ('rclpy', 'sensor_msgs', 'diagnostic_msgs', 'trajectory_msgs')
# Commands where no extra is installed: exit status, and the extra that is asked for.
WITHOUT_EXTRAS = [
    ('arm show panda', 0, None),
    ('arm show --arm rpr --base-parameters', 0, None),
    ('arm check --arm rpr --states 10', 0, None),
    ('arm compare fr3 fr3v2', 1, None),
    *((f'arm export --format {kind}', 0, None) for kind in ('urdf', 'mjcf', 'controller')),
    ('codegen --arm rpr', 0, None),
    ('node defaults feedforward', 0, None),
    ('arm export --arm fer --format franky', 2, 'identify'),
    ('arm export --arm fer --format crisp', 2, 'identify'),
    ('arm show --arm rpr --symbolic', 2, 'symbolic'),
    ('identify plan --arm fer --draws 1000000', 2, 'identify'),  # before it draws
    ('identify arm bag', 2, 'identify'),
    ('bag replay bag', 2, 'replay'),
    ('payload-from-mesh part.stl --mass 1', 2, 'mesh'),
    ('arm check urdf/fr3.xml', 2, 'sim'),
    *((word, 2, 'ros-jazzy') for word in ('sim', 'demo', 'view', 'node state')),
]
# Commands without one library.
WITHOUT_ONE = [
    ('clarabel', 'demo', 'sim,identify'),  # which it needs last
    ('matplotlib', 'demo', 'sim,identify'),
    ('matplotlib', 'bag replay bag', 'replay'),
    ('matplotlib', 'identify arm bag --report page.html', 'identify'),
    ('matplotlib', 'payload-from-mesh part.stl --mass 1 --plot a.png', 'mesh'),
    ('scipy', 'payload-from-mesh test/mesh/__init__.py --mass 1', 'mesh'),
    ('rosbags', 'bag replay bag', 'replay'),
    ('mujoco', 'arm check urdf/fr3.xml', 'sim'),
    ('trimesh', 'payload-from-mesh part.stl --mass 1', 'mesh'),
]


@functools.cache
def answers(absent, commands):
    """Return exit status and errors of commands by their words, run without some libraries."""
    return json.loads(printed('-c', WITHOUT + COMMANDS, absent, *commands, cwd=ROOT))


@pytest.mark.parametrize(
    ('libraries', 'words', 'status', 'extra'),
    [
        *((','.join([*EXTRAS, *ROS]), *row) for row in WITHOUT_EXTRAS),
        *((library, words, 2, extra) for library, words, extra in WITHOUT_ONE),
    ],
)
def test_a_command_runs_without_extras_or_names_the_one_it_needs(libraries, words, status, extra):
    commands = [one for library, one, _ in WITHOUT_ONE if library == libraries]
    found, said = answers(libraries, tuple(commands or [one for one, *_ in WITHOUT_EXTRAS]))[words]
    assert (found, len(said.splitlines())) == (status, 1 if extra else 0), said
    assert not extra or f"pip install '.[{extra}]'" in said


# What a program does without one library: the extra that it asks for, or None where arrays of
# NumPy are evaluated alike, whatever other libraries for arrays there are.
IN_PYTHON = [
    *((library, 'open_table', 'logs') for library in ('pandas', 'pyarrow')),
    *((library, 'read_parquet', 'logs') for library in ('pandas', 'pyarrow')),
    ('h5py', 'read_hdf5', 'logs'),
    ('distributed', 'use_cluster', 'cluster'),
    ('rosbags', 'read_bag', 'replay'),
    ('mujoco', 'simulate', 'sim'),
    ('clarabel', 'minimise', 'identify'),
    *((library, 'evaluate', None) for library in ('jax', 'torch', 'cupy', 'cuda')),
]
ACTIONS = """
import json
import os
from pathlib import Path
import warnings

import numpy as np

import franka_dynamics as fd
from franka_dynamics.recordings.log_file import read_log
from franka_dynamics.report.episode_table import EpisodeTable
from franka_dynamics.semidefinite import quadratic_minimiser
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings
from franka_dynamics.workers import workers_of

folder, *rows = sys.argv[1:]


def open_table():
    EpisodeTable(Path(folder), {}, resume=False)


def read_parquet():
    (Path(folder) / 'log.parquet').write_bytes(b'PAR1')
    read_log(folder + '/log.parquet')


def read_hdf5():
    (Path(folder) / 'log.h5').write_bytes(b'HDF')
    read_log(folder + '/log.h5')


def use_cluster():
    with workers_of('tcp://127.0.0.1:9'):
        pass


def read_bag():
    fd.read_recording(folder, fd.load('fer').joint_names)


def simulate():
    ArmSimulation(fd.load('fer'), SimulationSettings())


def minimise():
    quadratic_minimiser(np.eye(2), np.zeros(2), [])


def evaluate():
    warnings.simplefilter('error')
    model = fd.BatchModel(fd.load('fer'))
    states = fd.sample_states(model.description, 5, 1)
    print(json.dumps(model.inverse_dynamics(*states).tolist()))


for row in rows:  # each in a copy of this process, so that it loads only what it asks for
    library, action = row.split()
    if not os.fork():
        assert library not in sys.modules
        ABSENT.add(library)
        try:
            globals()[action]()
        except Exception as error:
            print(type(error).__name__, error)
        sys.stdout.flush()
        os._exit(0)
    os.wait()
"""


def test_python_without_a_library_names_the_extra_or_does_without(tmp_path):
    rows = [f'{library} {action}' for library, action, _ in IN_PYTHON]
    said = printed('-c', WITHOUT + ACTIONS, 'none', str(tmp_path), *rows, cwd=ROOT).splitlines()
    expected = fd.Model(fd.load('fer')).inverse_dynamics(*fd.sample_states(FER, 5, 1))
    for (library, action, extra), line in zip(IN_PYTHON, said, strict=True):
        if extra:
            assert line.startswith('MissingDependencyError'), (library, action, line)
            assert f"pip install '.[{extra}]'" in line, (library, action, line)
        else:
            np.testing.assert_allclose(json.loads(line), expected, rtol=1e-10, atol=1e-10)


def test_help_prints_words_and_no_addresses():
    for name in fd.__all__:
        one = getattr(fd, name)
        if inspect.isroutine(one) or inspect.isclass(one):
            text = pydoc.render_doc(one)
            assert not re.search(r'0x[0-9a-f]{6}|numpy\._typing', text), name
