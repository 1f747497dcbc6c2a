# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command as a process, its help, exit statuses and outputs; mistakes that users make."""

from dataclasses import replace
import json
import os
from pathlib import Path
import re
import subprocess
import sys

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.cli.main import (
    EXIT_BROKEN_PIPE,
    EXIT_INTERRUPTED,
    EXIT_INVALID_INPUT,
    main,
)
from franka_dynamics.cli.option_types import new_bag_path, picture_path
from franka_dynamics.errors import OutputError
from franka_dynamics.files import writable_folder, writable_path
from franka_dynamics.urdf.writer import urdf_text

from ..agreement import refuses
from ..processes import printed, PYTHONPATH, ROOT, run_python, start_python
from ..scripts import commands

PROCESS = ('-m', 'franka_dynamics')
ENVIRONMENT = {**os.environ, 'PYTHONPATH': PYTHONPATH}


def test_help_and_completion_import_nothing_that_computes():
    words = [*dict(commands()), '', 'arm', 'bag', 'identify', 'node']
    heavy = [
        'numpy',
        'pinocchio',
        'scipy',
        'pandas',
        'matplotlib',
        'rich',
        'yaml',
        'rclpy',
    ]
    said = printed(
        '-c',
        'import sys\n'
        'from franka_dynamics.cli.main import main\n'
        f'helps = [main([*words.split(), "--help"]) for words in {words!r}]\n'
        f'print(helps.count(0), [name for name in {heavy!r} if name in sys.modules])',
    )
    assert said.splitlines()[-1] == f'{len(words)} []'
    assert not re.search(r'None|as_listed|[a-z]\.\.\.\n', said)  # nor a sentence cut short


def test_commands_do_linear_algebra_on_one_thread(monkeypatch):
    for name in [name for name in os.environ if name.endswith('_NUM_THREADS')]:
        monkeypatch.delenv(name)
    count = 'import os, numpy; print(len(os.listdir("/proc/self/task")))'
    assert int(printed('-c', f'import franka_dynamics.cli.main; {count}')) == 1


def test_no_traceback_follows_a_reader_that_stops(tmp_path):
    file = tmp_path / 'file'
    tool = tmp_path / 'tool.obj'
    tool.write_text('v 0 0 0\nv 90 0 0\nv 0 90 0\nv 0 0 90\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n')
    for words in (
        f'identify plan --draws 1 --iterations 1 --repetitions 10 --output {file}',
        f'arm check --arm rpr --states 10 --json {file}',
        f'arm compare fr3 fer --json {file}',
        f'arm show --arm rpr --base-parameters --json {file}',
        f'payload-from-mesh {tool} --mass 1 --output {file}',
    ):
        with start_python(*PROCESS, *words.split()) as process:
            process.stdout.close()
            said = process.stderr.read().splitlines()
            # Lines of progress come on a busy machine.
            assert {line for line in said if ' of ' not in line} <= {f'written: {file}'}
        assert process.returncode == EXIT_BROKEN_PIPE and file.is_file(), words
        file.unlink()


@pytest.mark.parametrize('words', ['--help', 'arm show fr3', 'arm show --arm rpr --json'])
def test_an_output_that_takes_nothing_is_named_in_one_line(words):
    for redirection in ('>/dev/full', '>&-'):
        command = [
            'sh',
            '-c',
            f'exec "$@" {redirection}',
            'sh',
            sys.executable,
            *PROCESS,
        ]
        command += words.split()
        done = subprocess.run(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
        assert (done.returncode, done.stderr.count('\n')) == (EXIT_INVALID_INPUT, 1), done.stderr
        assert 'standard output' in done.stderr


def test_a_closed_standard_error_changes_no_answer():
    command = ['sh', '-c', 'exec "$@" 2>&-', 'sh', sys.executable, *PROCESS]
    words = 'arm check --arm rpr --states 10'.split()
    done = subprocess.run([*command, *words], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0 and done.stdout.startswith('pass')


@pytest.mark.parametrize('encoding', ['utf-16-le', 'utf-16-be', 'utf-8'])
@pytest.mark.parametrize('name', ['config/arms/fr3.yaml', 'urdf/fr3.urdf'])
def test_a_file_that_another_system_wrote_is_read(encoding, name, tmp_path):
    path = tmp_path / Path(name).name
    path.write_bytes(('\ufeff' + (ROOT / name).read_text('utf-8')).encode(encoding))
    ours, theirs = (fd.Model(fd.load(f'{one}')) for one in (ROOT / name, path))
    assert np.array_equal(ours.gravity(np.ones(7)), theirs.gravity(np.ones(7)))


@pytest.mark.parametrize('name', ['urdf/fr3.xml', 'urdf/franka.urdf.xacro'])
def test_a_file_that_is_not_utf_8_is_refused_with_a_remedy(name, tmp_path):
    path = tmp_path / Path(name).name
    path.write_text((ROOT / name).read_text('utf-8'), 'utf-16')
    with pytest.raises(fd.FrankaDynamicsError) as error:
        fd.load(path)
    assert f'iconv -f UTF-16 -t UTF-8 {path}' in str(error.value)


@pytest.mark.parametrize('where', ['{}', 'class Dying:\n    def __del__(self): {}\nDying()'])
def test_ctrl_c_in_an_import_or_destructor_exits_in_one_word(where, tmp_path):
    # Given a library that the command line imports, during whose import Ctrl-C comes.
    (tmp_path / 'rich').mkdir()
    text = where.format('os.kill(os.getpid(), signal.SIGINT); time.sleep(5.0)')
    text = f'import os, signal, time\n{text}\ntime.sleep(1.0)\n'
    (tmp_path / 'rich/__init__.py').write_text(text)
    status, _, errors = run_python(*PROCESS, 'arm', 'show', PYTHONPATH=f'{tmp_path}:{PYTHONPATH}')
    assert (status, errors) == (EXIT_INTERRUPTED, 'franka-dynamics: interrupted\n')


@pytest.mark.parametrize('words', ['', 'arm', 'node'])
def test_words_without_an_action_print_the_help(words, capsys):
    bare, asked = ((main(given.split()), capsys.readouterr()) for given in (words, f'{words} -h'))
    status, (out, err) = bare
    assert bare == asked and (status, err) == (0, '') and 'Usage: franka-dynamics' in out


def test_each_action_says_in_one_sentence_that_ros_is_missing():
    names = ['demo', 'sim', 'view', 'bag record', 'node state', 'node play']
    commands = [*names[:5], 'node play fer']
    _, output, errors = run_python(
        '-c',
        'import pkgutil, sys\n'
        'ends = ("_msgs", "_srvs", "_interfaces")\n'
        'names = [one.name for one in pkgutil.iter_modules() if one.name.endswith(ends)]\n'
        'sys.modules.update(dict.fromkeys(["rclpy", *names]))\n'
        'from franka_dynamics.cli.main import main\n'
        f'print(*[main(words.split()) for words in {commands!r}])',
    )
    assert output.splitlines()[-1].split() == [str(EXIT_INVALID_INPUT)] * len(names), errors
    said = [line.partition(' needs ROS 2')[0] for line in errors.splitlines()]
    assert said == [f'franka-dynamics: franka-dynamics {name}' for name in names]


def test_completion_offers_arms_hands_laws_and_quantities(capsys, monkeypatch):
    cases = {
        'arm show --arm fr3v': ['fr3v2', 'fr3v2_1'],
        'sim --hand ro': ['robotiq_arg85'],
        'bag replay recording --hand none,ro': ['none,robotiq_arg85'],
        'bag replay recording --law c': ['crisp'],
        'bag replay recording --law droid,gains,f': ['droid,gains,franky'],
        'codegen --quantity cor': ['coriolis', 'coriolis_matrix'],
        'codegen --quantity gravity,mass_m': ['gravity,mass_matrix'],
    }
    for words, offered in cases.items():
        monkeypatch.setenv('_FRANKA_DYNAMICS_COMPLETE', 'bash_complete')
        monkeypatch.setenv('COMP_WORDS', f'franka-dynamics {words}')
        monkeypatch.setenv('COMP_CWORD', str(len(words.split())))
        assert main([]) == 0
        said = capsys.readouterr().out.split()
        assert [one.removeprefix('plain,') for one in said if one.startswith('plain,')] == offered


# One spelling for one thing: --output, --report, --plot, --json.
OUTPUTS = {'--output', '--report', '--plot', '--json'}
COMMANDS = dict(commands())


@pytest.mark.parametrize('words', COMMANDS)
def test_every_output_is_checked_before_the_work(words):
    for param in COMMANDS[words].params:
        if OUTPUTS & {*param.opts}:
            with pytest.raises(OutputError):
                param.type.convert('/dev/null/below.png', param, None)


LONG = 'x' * 300
UNWRITABLE = [
    (writable_path, 'folder', 'is a folder'),
    (writable_path, 'file/below', 'Not a directory'),
    (writable_folder, 'file', 'folder'),
    (picture_path, 'picture.docx', '.png'),
    *((writable_path, path, 'too long') for path in (LONG, f'{LONG}/y')),
    *((writable_path, f'/proc/{name}', 'written') for name in ('x', 'version')),  # even by root
    (new_bag_path, 'folder', 'overwritten'),
]


@pytest.mark.parametrize(('check', 'path', 'word'), UNWRITABLE)
def test_paths_that_cannot_be_written_are_refused(tmp_path, monkeypatch, check, path, word):
    monkeypatch.chdir(tmp_path)
    Path('file').touch()
    Path('folder').mkdir()
    with refuses(OutputError, path.split('/')[0], word):
        check(path)


def test_where_xacro_is_missing_it_is_named(tmp_path, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, 'xacro', None)
    (tmp_path / 'robot.urdf.xacro').write_text('<robot xmlns:xacro="http://ros.org/wiki/xacro"/>')
    said = refused('arm check', tmp_path / 'robot.urdf.xacro')
    assert 'pip install xacro' in said and 'robot.urdf.xacro' in said


@pytest.mark.parametrize(
    'command', ['arm show', 'arm show --base-parameters', 'arm check --states 2']
)
def test_json_without_a_file_is_printed_alone(command, capsys):
    assert main([*command.split(), '--arm', 'rpr', '--json']) == 0
    assert json.loads(capsys.readouterr().out)
    # Text comes back with the next command.
    assert main([*command.split(), '--arm', 'rpr']) == 0 and 'rpr' in capsys.readouterr().out


MOTION = '--position q{} --velocity dq{} --effort tau{}'
PLAN = 'identify plan --draws 3 --iterations 2 --period 8 --repetitions 400'
# A command, and what its answer names: the value, and what to write instead.
MISTAKES = [
    ('arm show --hand franka', ("'franka'", 'did you mean franka_hand?')),
    (
        'arm show --arm fr3 --q 90,0,0,-90,0,90,45',
        ('fr3_joint1', '90 rad', '--q 1.5708,0,0,-1.5'),
    ),
    ('arm show --arm --json', ("'--json'",)),
    ('arm check --gravity 0,0', ("'--gravity'", "'0,0'", '3')),
    ('node state --node /a//b', ('--node', "'/a//b'", 'no ROS name')),
    ('arm show --q 1_0,0,0,0,0,0,0', ('zero, home or 7 numbers', '1_0')),
    ('arm show --arm fer --q 1,2', ('(2,)', '(7,)', 'fer')),
    ('arm show --arm fer --q nan,0,0,0,0,0,0', ('fer_joint1', 'nan')),
    ('codegen --package --arm fr3', ('--arm', 'arm export --format controller')),
    ('codegen --package', ('--output FOLDER',)),
    (
        'bag import log.csv',
        ('--position q{}', '--velocity dq{}', '--effort tau{}', '--stamp t'),
    ),
    (
        'bag import log.csv --stamp t --position q{}',
        ('velocity is missing', 't, q1, q2'),
    ),
    (f'bag import log.csv {MOTION}', ('stamp column', 'rate')),
    (
        f'bag import log.csv --stamp t {MOTION} --effort-scale 1,2',
        ('[1.0, 2.0]', 'one number'),
    ),
    (
        f'bag import log.csv --arm rpr --stamp t {MOTION} --joint-names a',
        ('--joint-names', '1'),
    ),
    ('node set payload -1,0,0,0', ('-1,0,0,0', 'negative')),
    ('bag replay log.csv', ('log.csv', '`bag import`')),
    # Numbers and names.
    ('arm check --gravity 0,0,inf', ('inf is not a finite number',)),
    ('arm chek', ("'chek'", "'check'", 'arm --help')),
    ('arm show --arm ur5', ('panda is the fer',)),
    ('arm check --arm .', ('. is a folder; give',)),
    ('arm check --arm ~no_user/arm.yaml', ('~no_user/arm.yaml',)),
    ('bag import .', ('overwritten',)),
    ('doctor --joints a,b', ('--joints needs --robot',)),
    ('doctor --hold lift=0.1', ('--hold needs --robot',)),
    ('doctor --machine --topic states', ('--topic', '--machine')),
    # Two descriptions.
    ('arm compare fr3 fer --arm-prefix left_', ('--arm-prefix', 'arm compare --help')),
    (
        'arm compare fr3.urdf fr3.urdf --hand none',
        ('--hand has no meaning with two URDFs',),
    ),
    ('arm compare fr3 fr3.urdf --set gaz2019', ('fr3', 'gaz2019')),
    ('arm export --arm-prefix a&b', ('--arm-prefix', "'a&b'", 'letters, digits')),
    ('arm compare fr3 fr3.urdf --arm-prefix x_', ("'x_fr3_joint1'",)),
    # Recordings.
    (
        f'bag import log.csv --arm fr3 {MOTION} --stamp t',
        ('--position-unit deg', 'fr3_joint'),
    ),
    ('bag replay --arm fer bag --joint-names a,b', ('2 names', 'fer has 7')),
    ('bag replay --arm fer bag --set gaz2020', ("'gaz2020'", 'gaz2019')),
    ('bag replay --arm fer millis', ('--effort-scale', 'mN m')),
    (
        'bag replay --arm fer degrees',
        ('--position-unit deg', 'correct what publishes them'),
    ),
    ('bag replay --arm fer bag --external out.h5', ('out.h5', '.csv')),
    ('bag replay both', ('left_fr3_joint1', 'right_fr3_joint1', '--arm-prefix')),
    ('identify arm --arm fer bag panda', ('fer_joint7', 'panda_joint1')),
    ('identify arm --arm fer bag --test same', ('same holds the same recording',)),
    ('identify arm --arm fer bag --workers 0', ("'0'", 'tcp://')),
    ('identify arm --arm fer bag --output .', ('folder', 'name of a file')),
    (
        'identify payload --arm fer --without bag --with same --output p.yaml',
        ('mass', 'swapped'),
    ),
    (
        'identify payload --without bag --with same --known-mass 0',
        ('--known-mass', 'range'),
    ),
    # Motions and meshes.
    (f'{PLAN} --period 0 --output x.yaml', ('0.0 s', 'positive')),
    ('payload-from-mesh tool.stl --mass -2', ('--mass', '-2')),
    ('arm check --arm fer --gravity 0 0 -9.81', ('commas', '0,0,-9.81')),
]

# Options that mean nothing together; the answer names the option that must go.
WITHOUT_MEANING = """
node state activate --json
node play fer --topic states
view --stamps received
view no_such_bag --node feedforward
bag replay no_such_bag --no-plots --output replay_output
codegen --arm rpr --gravity 0,0,nan
codegen --parameters run_time --gravity 0,0,-9.81
codegen --arm rpr --quantity gravity,gravity --output folder
codegen --package --output folder --gravity 0,0,-9.81
arm show --arm scemi --symbolic --json figures.json
arm show --base-parameters --q zero
arm show fr3 --arm fer
arm compare fr3 fer side:=left
arm compare fr3.urdf fr3.urdf --set gaz2019
arm check fer --arm fr3
arm check fr3 fer --all
arm export --arm fer --force
arm export --arm fer --format franky --hand franka_hand
arm export --arm fer --format crisp --payload 1,0,0,0.1
arm export --arm fer --format desk --hand franka_hand --arm-prefix left_
arm export --arm fer --format desk --hand franka_hand --set gaz2019
arm export --arm fer --format desk --payload 1,0,0,0.1 --set gaz2019
bag import log.csv --list --output new
bag import log.csv --list --position q{}
bag import log.csv --position q{} --velocity derived --effort tau{} --velocity-unit deg/s
bag import log.csv --log-rate 100 --stamp-unit ms
bag record --payload 1,0,0,0.1
bag replay bag --arm fer --joints fer_joint1
bag replay bag --arm fer --hold lift=0.1
bag replay bag --arm fer side:=left
codegen --arm fer --language c
codegen --arm fer --output new --quantity gravity --frame hand_tcp
codegen --arm fer --output new --quantity mass_matrix --gravity 0,0,-9.81
codegen --arm fer --output new --quantity jacobian,frames --payload 1,0,0,0.1
codegen --quantity gravity --parameters run_time --hand franka_hand
codegen --arm fer --output new --parameters run_time --set gaz2019
identify payload --arm fer --plan new --topic joint_states
identify plan --arm fer --output new --joint-names a
view bag --set gaz2019
view bag --urdf fr3.urdf --hand none
bag import log.csv --layout droid --effort-scale 0.001
bag import log.csv --layout droid --position-unit deg
payload-from-mesh tool.stl --mass 1 --density 2700
"""


@pytest.fixture(scope='module')
def folder(tmp_path_factory, simulate):
    """Return a folder with logs, bags and descriptions, sound and unsound."""
    folder = tmp_path_factory.mktemp('here')
    fer = fd.load('fer')
    (folder / 'fr3.urdf').write_text(urdf_text(fd.load('fr3')))
    time = np.arange(0.0, 12.0, 0.01)
    angle = 20.0 * np.sin(time)[:, None] * np.ones(7) + [0, -45, 0, -135, 0, 90, 45]
    velocity = 20.0 * np.cos(time)[:, None] * np.ones(7)
    torque = np.random.default_rng(0).normal(size=angle.shape)
    names = ['t', *(f'{kind}{k}' for kind in ('q', 'dq', 'tau') for k in range(1, 8))]
    table = np.column_stack([time, angle, velocity, torque])
    np.savetxt(folder / 'log.csv', table, delimiter=',', header=','.join(names), comments='')
    recording = simulate(fer, duration=20.0, noise=0.2)
    others = {
        'bag': recording,
        'same': recording,
        'degrees': replace(recording, q=np.degrees(recording.q)),
        'millis': replace(recording, effort=1e3 * recording.effort),
        'panda': replace(recording, joint_names=tuple(f'panda_joint{i}' for i in range(1, 8))),
    }
    sides = [f'{side}_fr3_joint{i}' for side in ('left', 'right') for i in range(1, 8)]
    twice = {what: np.tile(getattr(recording, what), 2) for what in ('q', 'dq', 'effort')}
    others['both'] = replace(recording, joint_names=tuple(sides), **twice)
    for name, one in others.items():
        fd.write_recording(one, folder / name)
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    """Change into the folder, which a mistake leaves as it is."""
    monkeypatch.chdir(folder)
    return folder


EVERY = [
    *MISTAKES,
    *((command, ()) for command in WITHOUT_MEANING.strip().splitlines()),
]


@pytest.mark.parametrize(('command', 'names'), EVERY, ids=[one for one, _ in EVERY])
def test_a_mistake_is_answered_with_its_value_and_a_fix(command, names, here, refused):
    if command.startswith(('node set', 'view --stamps')):
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    before = sorted(here.iterdir())
    said = refused(command)
    assert [name for name in names if name not in said] == [], said
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize('gravity', ['0,0,9.81', '0,0,-981', '0,0,-1.62'])
def test_unusual_gravity_is_remarked(gravity, capsys):
    assert main(f'arm check --arm rpr --states 2 --gravity {gravity}'.split()) == 0
    assert gravity in capsys.readouterr().err
    assert main('arm check --arm rpr --states 2 --gravity 4.9,0,-8.5'.split()) == 0
    assert capsys.readouterr().err == ''


@pytest.fixture
def fr3_bag(simulate, tmp_path):
    """Return the bag of an FR3 with the prefix left_."""
    recording = simulate(fd.load('fr3'), duration=12.0, noise=0.1)
    names = tuple(f'left_{name}' for name in recording.joint_names)
    fd.write_recording(replace(recording, joint_names=names), tmp_path / 'bag')
    return tmp_path / 'bag'


def test_a_bags_arm_and_prefix_are_found_by_its_joints(fr3_bag, answered, refused):
    status, said = answered('bag replay', fr3_bag, '--no-plots', '--hand', 'none')
    assert status == 0 and 'left_fr3_joint1' in said, said
    # Another arm is refused by name.
    said = refused('bag replay --no-plots --arm fer', fr3_bag)
    assert '--arm fr3' in said


def test_json_writes_over_no_file_but_a_json_file(tmp_path, refused):
    """The option takes the next word: `arm check --json robot.urdf` must not replace the robot."""
    robot = tmp_path / 'robot.urdf'
    text = urdf_text(fd.load('rpr'))
    robot.write_text(text, 'utf-8')
    assert 'robot.urdf' in refused('arm check --arm rpr --states 2 --json', robot)
    assert robot.read_text('utf-8') == text
    figures = tmp_path / 'figures.json'
    for _ in range(2):
        assert main(['arm', 'check', '--arm', 'rpr', '--states', '2', '--json', f'{figures}']) == 0


@pytest.mark.parametrize('name', ['//x', '~x', '/a//x', 'a-b', '1a', '/'])
def test_what_is_no_name_of_ros_is_refused(name, refused):
    assert name in refused('node state --node', name)
    assert name in refused('doctor --topic', name)


def test_an_error_of_a_file_leaves_the_callers_output(monkeypatch, capfd):
    """A program that calls `main` prints on after an error that is not of its output."""

    def fail(*_, **__):
        raise PermissionError(13, 'Permission denied', 'somewhere')

    monkeypatch.setattr('franka_dynamics.cli.arm_files.show_arm', fail)
    assert main(['arm', 'show']) == EXIT_INVALID_INPUT
    print('goes on', flush=True)
    assert capfd.readouterr().out == 'goes on\n'


def test_printed_commands_name_files_as_a_shell_reads_them(tmp_path, capsys):
    plan = tmp_path / 'a motion.yaml'
    assert main(['identify', 'payload', '--arm', 'rpr', '--plan', f'{plan}', '--poses', '8']) == 0
    assert f"node play '{plan}'" in capsys.readouterr().out
