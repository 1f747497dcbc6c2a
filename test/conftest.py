# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all tests: an isolated ROS domain, real and simulated recordings."""

import functools
import gc
from importlib.util import find_spec
from itertools import chain, zip_longest
import os
from pathlib import Path

# Tests start hundreds of processes; without byte code each compiles the package again.
os.environ.pop('PYTHONDONTWRITEBYTECODE', None)
# Tests do not need real-time scheduling.
os.environ['FRANKA_DYNAMICS_REALTIME'] = 'off'
os.environ.setdefault('MPLBACKEND', 'Agg')
# The matrices here are small: BLAS threads of tests that run side by side only wait for each
# other. The setting counts when numpy is first imported.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.ros.clients.node_group import use_isolated_network

from .processes import descendants, failing_after, kill_all, still_running, take_charge

# Each xdist worker is a process, in a ROS domain of its own.
use_isolated_network()

take_charge()
gc.disable()  # until all tests are collected: nothing of them is garbage
RECORDINGS = 'FRANKA_DYNAMICS_RECORDINGS'
# Of a test, or of its fixtures: what hangs, not what is slow, reaches it.
HANGS_AFTER_S = 420.0
# Tests of nodes wait for each other's processes, all others compute: files of both kinds take
# turns, so that no processor is idle, the longest first: a worker runs a whole file.
LONGEST = (
    'test_verdict.py test_examples.py test_identify_verbs.py test_silence.py test_bag.py '
    'test_front_door.py test_stopping.py test_identify.py test_installation.py'
).split()
WAITING_ROOMS = ('ros', 'launch_files')
SLOWEST_ROOMS = (
    'control',
    'cpp_package',
    'identification',
    'judge',
    'fit',
    'cli',
    'batch',
    'validation',
)

# What needs more of ROS than its wheels bring, and what needs PyTorch. By default these are
# neither collected nor counted as skipped: CONTRIBUTING.md names the commands that run them.
APART = {
    'ros': (
        'cpp_package/test_ros2_control.py',
        'launch_files',
        'ros/test_launch.py',
        'ros/test_controller_managers.py',
        'ros/test_franka_ros2.py',
        'ros/test_gazebo.py',
    ),
    'libraries': ('batch/test_torch_model.py', 'examples/test_payload_by_gradient.py'),
}


@functools.cache
def _apart(path):
    """Return the marks of a file or folder of tests by APART."""
    name = path.relative_to(Path(__file__).parent)
    return [mark for mark, paths in APART.items() if any(name.is_relative_to(p) for p in paths)]


def pytest_ignore_collect(collection_path, config):
    """Leave out what needs an environment of its own, unless `-m` asks for it."""
    marks = _apart(collection_path)
    return True if any(f'not {mark}' in config.option.markexpr for mark in marks) else None


def pytest_itemcollected(item):
    """Mark a test that needs an environment of its own."""
    for mark in _apart(item.path):
        item.add_marker(mark)


def pytest_collection_modifyitems(items):
    """Let files that wait and files that compute take turns, the longest first."""
    files = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    order = {name: k for k, name in enumerate((*LONGEST, *SLOWEST_ROOMS))}

    def place(path):
        return min(order.get(name, len(order)) for name in (path.name, path.parent.name))

    waiting = [path for path in files if path.parent.name in WAITING_ROOMS]
    computing = [path for path in files if path.parent.name not in WAITING_ROOMS]
    waiting.sort(key=place)
    computing.sort(key=place)
    turns = chain.from_iterable(zip_longest(waiting, computing))
    items[:] = [item for path in turns if path for item in files[path]]


def pytest_collection_finish():
    """Keep the collected tests, half a million objects, out of every later garbage collection."""
    gc.enable()
    gc.collect()
    gc.freeze()


# What an installation may lack: the libraries of the extras, of tests, and of ROS. A test that
# lacks any other library fails.
OPTIONAL = frozenset(
    'cffi clarabel distributed franka_sim gymnasium h5py hypothesis igl jax llvmlite '
    'matplotlib mujoco pandas PIL pyarrow pylibfranka robot_descriptions rosbags '
    'scipy sympy torch trimesh viser xacro ament_index_python launch launch_ros rclpy '
    'ros2cli'.split()
)


def lacking(error):
    """Return the library of OPTIONAL whose absence led to an error, else None."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name:
            library = error.name.partition('.')[0]
            if library not in OPTIONAL and not library.endswith(('_msgs', '_srvs', '_interfaces')):
                return None
            try:
                return None if find_spec(library) else library
            except ModuleNotFoundError:
                return library
        error = error.__cause__ or error.__context__
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Skip a module of tests that imports a library which is not installed."""
    report = yield
    failure = report.call.excinfo if report.failed else None
    if failure is not None and (library := lacking(failure.value)):
        report.outcome = 'skipped'
        report.longrepr = (str(collector.path), 0, f'Skipped: not installed: {library}')
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """Skip a test that meets a library which is not installed, and fail one that hangs."""
    try:
        with failing_after(0.0 if item.get_closest_marker('long') else HANGS_AFTER_S):
            return (yield)
    except Exception as error:
        if library := lacking(error):
            pytest.skip(f'not installed: {library}')
        raise


pytest_runtest_call = pytest_runtest_setup


@pytest.fixture(scope='module', autouse=True)
def nothing_is_left_running():
    """Require that a module's processes have ended after its tests; kill the others."""
    before = set(descendants(os.getpid()))
    yield
    left = still_running(before)
    kill_all(left)
    assert not left, f'still running: {left}'


def _recorded(name, public):
    """Return the bag of a real arm, or skip."""
    folder = Path(os.environ.get(RECORDINGS) or os.devnull, name)
    if not folder.exists():
        pytest.skip(f'{RECORDINGS} does not name a folder with {name}; it is public at {public}')
    return folder


@pytest.fixture(scope='session')
def fer_recording_path():
    """Return the bag of a real arm's excitation, or skip."""
    return _recorded('fer_excitation', 'https://github.com/unisa-acg/inverse-dynamics-solver')


def _read_once(path):
    """Return a real FER's recording, whose numbers tests share and cannot change."""
    from franka_dynamics.recordings.recording import read_recording

    recording = read_recording(path, load('fer').joint_names)
    for numbers in (recording.stamp_ns, recording.q, recording.dq, recording.effort):
        numbers.setflags(write=False)
    return recording


@pytest.fixture(scope='session')
def fer_recording(fer_recording_path):
    """Return the recording of a real arm's excitation, or skip."""
    return _read_once(fer_recording_path)


@pytest.fixture(scope='session')
def fer_1khz_recording():
    """Return the recording of another real arm's fast excitation at 1 kHz, or skip."""
    samples = 'https://github.com/marcocognetti/FrankaEmikaPandaDynModel (Trajectory_1)'
    return _read_once(_recorded('fer_gaz2019_1khz', samples))


@pytest.fixture(scope='session')
def simulate():
    """Return `simulate` of made_recordings, which imports what many tests do not need."""
    from .made_recordings import simulate

    return simulate


@pytest.fixture(scope='session')
def remembered_regressors():
    """Compute the regressor of the same states once: most motions differ by efforts alone."""
    from franka_dynamics.parameters import base_parameters

    compute = base_parameters.torque_regressor
    remembered = {}

    def regressor(tree, *states, **options):
        arrays = tree.placements, tree.twists, *states
        key = (
            repr((tree.parents, options)),
            *(np.asarray(one).tobytes() for one in arrays),
        )
        found = remembered.pop(key, None)
        if found is None:
            found = compute(tree, *states, **options)
            found.setflags(write=False)
        remembered[key] = found
        if len(remembered) > 150:  # four motions with every fault of their states, 1.5 MB each
            del remembered[next(iter(remembered))]
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base_parameters, 'torque_regressor', regressor)
        yield


@pytest.fixture(scope='session')
def setup_script():
    """Return the names setup.py defines; `arguments` holds what it passes to setuptools."""
    import runpy

    import setuptools

    from franka_dynamics.files import share_directory

    recorded = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setuptools, 'setup', recorded.update)
        patch.chdir(share_directory())
        return {**runpy.run_path('setup.py'), 'arguments': recorded}
