# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Built by colcon or installed by pip, programs and files are found far from the source."""

import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

import pytest

from franka_dynamics.files import share_directory

from .launch_files.launching import PACKAGES
from .processes import TIMEOUT_S

SOURCE = share_directory()
NOT_SOURCE = '.* build install log docs benchmarks *.egg-info __pycache__ *_output'.split()


@pytest.fixture(scope='module')
def source(tmp_path_factory):
    """Return a copy of the source tree, since builds leave files in theirs."""
    copy = tmp_path_factory.mktemp('workspace') / 'src' / 'franka_dynamics'
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns(*NOT_SOURCE))
    return copy


def succeed(command, **options):
    """Run a command and return what it printed; fail with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope='module')
def colcon(source):
    """Return the prefix colcon installs into, and the environment its setup.bash makes."""
    pytest.importorskip('colcon_ros', reason='requirements/test.txt is not installed')
    workspace = source.parents[1]
    build = [
        sys.executable,
        *'-m colcon build --event-handlers console_direct-'.split(),
    ]
    assert 'Finished <<< franka_dynamics' in succeed(build, cwd=workspace)
    printed = succeed(['bash', '-c', '. install/setup.bash && env -0'], cwd=workspace)
    environment = dict(entry.split('=', 1) for entry in printed.split('\0') if '=' in entry)
    return workspace / 'install' / 'franka_dynamics', environment


@pytest.fixture(scope='module')
def pip(source, tmp_path_factory):
    """Return the prefix pip installs the source archive into, offline, and an environment."""
    prefix = tmp_path_factory.mktemp('pip')
    archives = tmp_path_factory.mktemp('archives')
    build = f'from setuptools import build_meta; build_meta.build_sdist({str(archives)!r})'
    succeed([sys.executable, '-c', build], cwd=source)
    (archive,) = archives.glob('*.tar.gz')
    options = (
        '-q --no-deps --no-index --no-build-isolation --no-compile --ignore-installed'.split()
    )
    into = ['--prefix', str(prefix), str(archive)]
    command = [sys.executable, '-m', 'pip', 'install', *options, *into]
    succeed(command, cwd=prefix)
    (library,) = prefix.glob('lib/python*/site-packages')
    return prefix, {**os.environ, 'PYTHONPATH': str(library)}


@pytest.mark.parametrize(('way', 'programs'), [('colcon', 'lib/franka_dynamics'), ('pip', 'bin')])
def test_an_installed_verb_uses_installed_files_all_there(way, programs, request, setup_script):
    prefix, environment = request.getfixturevalue(way)
    share = prefix / 'share' / 'franka_dynamics'
    for folder in setup_script['SHARED_FOLDERS']:
        expected = {
            path.relative_to(SOURCE)
            for path in (SOURCE / folder).rglob('*')
            if path.is_file() and path.name[0] != '.' and '__pycache__' not in path.parts
        }
        assert expected, folder
        assert [path for path in expected if not (share / path).is_file()] == []
    assert (share / 'package.xml').is_file()
    program = prefix / programs / 'franka-dynamics'
    if way == 'colcon':
        found = succeed(['bash', '-c', 'command -v franka-dynamics'], env=environment)
        assert Path(found.strip()) == program
    # Files are found there; each program is there, and leads to a function.
    code = (
        'from importlib.metadata import distribution\n'
        'from franka_dynamics.files import share_directory\n'
        "found = distribution('franka_dynamics').entry_points\n"
        'print(share_directory(), *[one.name for one in found if callable(one.load())])'
    )
    where, *names = succeed([sys.executable, '-c', code], env=environment, cwd=prefix).split()
    assert Path(where) == share
    stated = setup_script['arguments']['entry_points']['console_scripts']
    assert {*names} == {one.split(' = ')[0] for one in stated}
    assert [name for name in names if not (prefix / programs / name).is_file()] == []
    # Where `ros2 run` and launch look for programs, too.
    libexec = prefix / 'lib/franka_dynamics'
    assert [name for name in names if not os.access(libexec / name, os.X_OK)] == []
    for path in {program, libexec / program.name}:
        printed = succeed([path, 'node', 'defaults'], env=environment, cwd=prefix)
        assert printed == (SOURCE / 'config/feedforward/default.yaml').read_text(encoding='utf-8')


def test_each_requirement_has_a_version_in_the_constraints(setup_script):
    arguments = setup_script['arguments']
    base = [*arguments['install_requires'], *arguments['extras_require']['all']]
    folder = SOURCE / 'requirements'
    for distribution in ('jazzy', 'kilted'):
        files = [folder / f'ros-{distribution}.txt', folder / 'test.txt']
        listed = [line for path in files for line in path.read_text('utf-8').splitlines()]
        needed = {re.split(r'[^\w.-]', line)[0] for line in base + listed if line[:1] != '#'}
        lines = (folder / f'constraints/{distribution}.txt').read_text('utf-8').splitlines()
        pinned = {line.split('==')[0] for line in lines if '==' in line}
        assert {name.lower().replace('_', '-') for name in needed} <= pinned, 'make constraints'


@pytest.fixture
def package():
    """Return package.xml as ROS's own reader has it."""
    catkin = pytest.importorskip('catkin_pkg.package', reason='requirements/test.txt is missing')
    warnings = []
    package = catkin.parse_package(SOURCE / 'package.xml', warnings=warnings)
    package.validate(warnings=warnings)  # an invalid e-mail address is an error here
    assert warnings == []
    return package


def test_package_xml_agrees_with_setup_py(package, setup_script):
    setup = setup_script['arguments']
    (maintainer,), (license_,) = package.maintainers, package.licenses
    said = {
        **{name: getattr(package, name) for name in ('name', 'version', 'description')},
        'license': str(license_),
        'maintainer': maintainer.name,
        'maintainer_email': maintainer.email,
    }
    # ROS's versions are three numbers, without the name of a candidate.
    assert re.fullmatch(rf'{re.escape(said.pop("version"))}((a|b|rc)\d+)?', setup['version'])
    assert said.items() <= setup.items()


def words(pattern, kind, *folders):
    """Return what a pattern finds in the files of a kind in folders."""
    files = (path for folder in folders for path in (SOURCE / folder).rglob(f'*.{kind}'))
    return {word for path in files for word in re.findall(pattern, path.read_text('utf-8'), re.M)}


def dependencies(package, **variables):
    """Return what rosdep would install for a package with environment variables."""
    package.evaluate_conditions(variables)
    return {one.name for one in package.exec_depends if one.evaluated_condition}


def test_package_xml_declares_what_is_imported_and_launched(package):
    declared = dependencies(package)
    ros = {
        name
        for name in words(r'^\s*(?:from|import) (\w+)', 'py', 'franka_dynamics', 'launch')
        if name in ('rclpy', 'launch', 'launch_ros', 'builtin_interfaces', 'rcl_interfaces')
        or name.endswith(('_msgs', '_srvs'))
    }
    assert {'rclpy', 'sensor_msgs', 'launch_ros'} <= ros <= declared
    controllers = words(r'^ *type: (\w+)/', 'yaml', 'config') | {'controller_manager'}
    assert {'forward_command_controller', 'joint_trajectory_controller'} <= controllers
    # Without these packages the tests of the launch files could not start them.
    launched = {*PACKAGES} - {'franka_dynamics'}
    assert controllers | launched <= dependencies(package, FRANKA_DYNAMICS_LAUNCH='all')
    # Who takes this package as a library of models gets no controller and no Gazebo.
    light = {'robot_state_publisher', 'xacro'}
    heavy = controllers | launched - light
    assert not heavy & declared and light <= declared


def make(*words, **environment):
    """Run make, unaffected by a `make PYTHON=... test` that runs this test."""
    made = ('PYTHON', 'MAKEFLAGS', 'MAKEOVERRIDES')
    kept = {name: value for name, value in os.environ.items() if name not in made}
    command = ['make', *words]
    given = {**kept, **environment}
    return subprocess.run(command, cwd=SOURCE, env=given, capture_output=True, text=True)


@pytest.mark.parametrize('works', [True, False])
def test_an_environment_that_works_is_updated_and_never_removed(tmp_path, works):
    # Given programs that write down how they are called, in an environment made before.
    programs = tmp_path / 'venv' / 'bin'
    calls = tmp_path / 'calls'
    programs.mkdir(parents=True)
    for path, status in (
        (programs / 'python', int(not works)),
        (tmp_path / 'python3', 0),
    ):
        path.write_text(f'#!/bin/sh\necho "{path.name} $*" >> {calls}\nexit {status}\n')
        path.chmod(0o755)
    shutil.copy(tmp_path / 'python3', programs / 'uv')
    ready = tmp_path / 'venv' / 'demo-ready'
    python = tmp_path / 'python3'
    done = make(f'{ready}', f'VENV={tmp_path / "venv"}', f'PYTHON={python}')
    assert done.returncode == 0 and ready.exists(), done.stderr
    said = calls.read_text()
    assert ('venv --clear' in said) != works and 'pip install --python' in said


@pytest.mark.parametrize(
    ('lacks', 'package'), [('ensurepip', 'python3-venv'), ('libgomp.so.1', 'libgomp1')]
)
def test_what_a_bare_system_lacks_is_said_before_setup(tmp_path, lacks, package):
    # Given a system each Python of which lacks something.
    programs = tmp_path / 'programs'
    programs.mkdir()
    for name in ('python3', *(f'python3.{minor}' for minor in range(11, 15))):
        one = programs / name
        refusal = f'case "$*" in *{lacks}*) exit 1;; esac'
        one.write_text(f'#!/bin/sh\n{refusal}\nexec {sys.executable} "$@"\n')
        one.chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ['PATH']])
    done = make('demo', f'VENV={tmp_path / "venv"}', PATH=path)
    assert done.returncode == 2 and f'apt install {package}' in done.stderr
    assert not (tmp_path / 'venv').exists()
