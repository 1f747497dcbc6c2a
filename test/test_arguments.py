# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments of the exported functions are refused in a sentence that names them."""

import inspect
import pickle

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.control.feedforward import StateLimits
from franka_dynamics.control.settings import Settings as Settings
from franka_dynamics.dynamics.external_torque import WrenchEstimator
from franka_dynamics.errors import ArgumentError, SettingsError
from franka_dynamics.simulation.receiver import TorqueReceiver

from .agreement import refuses

WRONG = [
    None,
    3.5,
    3,
    True,
    'a:=b',
    'a\0b',
    b'x',
    '~nobody/a',
    'a' * 300,
    [[1, 2], [3]],
]
WRONG += [[1, 'b'], {1: 2}, {1}, object(), np.zeros((2, 2))]


@pytest.fixture(scope='module')
def arguments(tmp_path_factory):
    """Return right arguments of functions, by their names."""
    arm = fd.load('fr3')
    folder = tmp_path_factory.mktemp('written')
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    q = arm.home
    state = {'q': q, 'dq': q, 'ddq': q, 'gravity': (0.0, 0.0, -9.81)}
    return {
        'load': {
            'arm': 'fr3',
            'hand': 'none',
            'prefix': '',
            'repair': None,
            'joints': None,
        }
        | {
            'held': None,
            'tip': None,
            'xacro': None,
            'inertial_set': None,
            'payload': None,
        },
        'import_urdf': {
            'urdf': '<robot/>',
            'joint_names': None,
            'held': None,
            'prefix': '',
        },
        'load_hand': {'name': 'franka_hand'},
        'save': {
            'description': arm,
            'path': folder / 'a.yaml',
            'title': 'A',
            'notes': '',
        },
        'write_urdf': {
            'description': arm,
            'path': folder / 'a.urdf',
            'root': 'base',
            'tool': None,
        }
        | {'shapes': None, 'tool_shapes': ()},
        'write_mjcf': {'description': arm, 'path': folder / 'a.xml', 'ideal': True},
        'compare': {'first': 'fr3', 'second': 'fer', 'xacro': None},
        'crosscheck': {'description': arm, 'count': 2, 'seed': 0},
        'sample_states': {'description': arm, 'count': 2, 'seed': 0},
        'torque_regressor': {
            'robot': arm,
            **state,
            'rotor_inertia': False,
            'columns': None,
        },
        'tree_motion': {'robot': arm, **state, 'tool_wrench': None},
        'mesh_inertia': {
            'mesh': fd.TriangleMesh(np.eye(4)[:, :3], faces),
            'density': 1.0,
        },
        'load_mesh': {'path': folder / 'a.stl', 'unit': 'm'},
        'BodyTree': {
            'parents': [-1],
            'placements': [np.eye(4)],
            'twists': [[0, 0, 0, 0, 0, 1]],
        }
        | {
            'inertias': [fd.LinkInertia.zero()],
            'joint_names': ['j'],
            'rotor_inertias': [0.0],
        },
        'ClosedChain': {'tree': arm, 'active': [0], 'loops': []},
        'RprKinematics': {'d0': 0.3, 'a1': 0.1, 'd2bar': 0.2, 'a3': 0.4},
    }


def test_no_wrong_argument_is_an_error_of_another_kind(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # 'a:=b' is a path, too
    for name, right in arguments.items():
        for argument in right:
            for wrong in WRONG:
                try:
                    getattr(fd, name)(**{**right, argument: wrong})
                except fd.FrankaDynamicsError as error:
                    assert len(f'{error}') < 700, (name, argument, wrong)


@pytest.mark.parametrize(
    ('call', 'words'),
    [
        (lambda: fd.load('fr3', prefix=None), ('prefix', 'None', 'text')),
        (lambda: fd.load('fr3', xacro='a:=b'), ('xacro', "'a:=b'", 'mapping')),
        (lambda: fd.load('fr3', held={'j': '1'}), ('held', "{'j': '1'}", 'number')),
        (lambda: fd.load('fr3', joints='abc'), ('joints', "'abc'", 'list')),
        (lambda: fd.write_urdf('fr3', None), ('path', 'None', 'path')),
        (lambda: fd.write_urdf('fr3', 'x', root=4), ('root', '4', 'text')),
        (
            lambda: fd.write_mjcf('fr3', 'x', ideal='no'),
            ('ideal', "'no'", 'True or False'),
        ),
        (lambda: fd.crosscheck('fr3', count=2.5), ('count', '2.5', 'whole number')),
        (lambda: fd.mesh_inertia('a.stl', 1.0), ('mesh', "'a.stl'", 'TriangleMesh')),
        (lambda: fd.Feedforward('fr3', period='a'), ('period', "'a'", 'a number')),
        (lambda: fd.Feedforward('fr3', limits=3), ('limits', '3', 'StateLimits')),
        (
            lambda: fd.Feedforward('fr3', applied_when_silent=3),
            ('silent', '3', 'True or False'),
        ),
        (lambda: fd.Feedforward('fr3', send='a'), ('send', "'a'", 'a function')),
        (lambda: fd.predict_tracking(3, 'fr3', 600.0), ('path', '3', 'a path')),
        (lambda: StateLimits(held_until_commanded=2), ('held_until_commanded', '2')),
        (
            lambda: fd.Feedforward('fr3').follow(np.zeros(7), ahead='a'),
            ('ahead', "'a'"),
        ),
        (
            lambda: fd.Feedforward('fr3').follow(np.zeros(7), start='a'),
            ('start', "'a'"),
        ),
        (lambda: fd.Feedforward('fr3').follow(np.zeros(7), window=3), ('window', '3')),
        (
            lambda: fd.Feedforward('fr3').stop('a', then='hold'),
            ('then', "'hold'", 'Stop'),
        ),
        (lambda: fd.Feedforward('fr3').stop(3), ('reason', '3', 'text')),
        (
            lambda: TorqueReceiver(fd.load('fr3'), Settings(), 'a'),
            ('timeout', "'a'", 'number'),
        ),
        (lambda: TorqueReceiver(fd.load('fr3'), 3, 0.1), ('settings', '3', 'Settings')),
        (lambda: WrenchEstimator(3), ('model', '3', 'PinocchioModel')),
        (lambda: fd.Feedforward('fr3').reject_state(3, 0.0), ('why', '3', 'text')),
    ],
)
def test_the_sentence_names_argument_value_and_what_it_must_be(call, words):
    with pytest.raises(ArgumentError) as caught:
        call()
    assert all(word in f'{caught.value}' for word in words)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        *(('min_input_rate', rate) for rate in (0, -3)),
        *[
            ('state_timeout', np.nan),
            ('max_state_age', -1),
            ('effort_friction', 'none'),
        ],
    ],
)
def test_impossible_limits_of_states_are_refused_by_name(name, value):
    with refuses(SettingsError, name, value):
        StateLimits(**{name: value})


def test_missing_arguments_are_pythons_own_error():
    with pytest.raises(TypeError, match='load'):
        fd.load()


def test_exported_functions_are_pickled_with_their_signature():
    assert pickle.loads(pickle.dumps(fd.load)) is fd.load
    assert 'xacro' in inspect.signature(fd.load).parameters


def test_a_warning_points_to_the_line_that_loads_the_arm(tmp_path):
    text = '<mujoco><option gravity="0 0 -1"/><worldbody><body name="a"><joint name="j"/>'
    text += '<geom size=".1"/></body></worldbody></mujoco>'
    with pytest.warns(UserWarning, match='gravity') as found:
        fd.load(text)
    assert found[0].filename == __file__


class _Path:
    def __init__(self, path):
        self._path = path

    def __fspath__(self):
        return f'{self._path}'


def test_what_libraries_give_is_taken(tmp_path):
    arm = fd.load('fr3')
    fd.write_urdf(arm, _Path(tmp_path / 'a.urdf'))
    fd.save(arm, tmp_path / 'a.yaml', title=None, source=None)
    assert fd.load(tmp_path / 'a.urdf', joints=dict.fromkeys(arm.joint_names).keys()).n == 7
    states = fd.sample_states(arm, np.array(2), np.random.default_rng(3))
    assert np.array_equal(states.q, fd.sample_states(arm, 2, 3).q)
    with_rotors = fd.torque_regressor(arm, *states, rotor_inertia=1)
    assert np.array_equal(with_rotors, fd.torque_regressor(arm, *states, rotor_inertia=True))
    for wrong in (np.array(3), {1: 2}):
        with pytest.raises(ArgumentError, match='columns'):
            fd.torque_regressor(arm, *states, columns=wrong)
    with pytest.raises(ArgumentError, match='options'):
        fd.identify([], arm, options={})
