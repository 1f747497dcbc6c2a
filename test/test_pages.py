# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Links of the pages lead to existing files; commands, code, examples and layouts work."""

from dataclasses import replace
from importlib.util import find_spec
import json
import os
from pathlib import Path
import re
import shlex
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import load
from franka_dynamics.arm.friction import ViscousCoulombFriction
from franka_dynamics.arm_io import save
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.recordings.recording import write_recording
from franka_dynamics.validation.crosscheck import crosscheck

from . import scripts
from .arms import make_random_arm
from .scripts import commands, parsed

ROOT = Path(__file__).parents[1]
DOCS = ROOT / 'docs'
# The text of each page.
PAGES = {
    path: path.read_text('utf-8')
    for path in (
        ROOT / 'README.md',
        ROOT / 'CONTRIBUTING.md',
        ROOT / 'paper/paper.md',
        *sorted(DOCS.rglob('*.md')),
    )
    if not {'_build', 'generated'} & {*path.parts}
}
# The Python blocks of each page.
CODE = {
    path.relative_to(ROOT).as_posix(): blocks
    for path, text in PAGES.items()
    if (blocks := re.findall(r'```python\n(.*?)```', text, re.S))
}
(ARM_FILE,) = re.findall(r'```yaml\n(.*?)```', PAGES[DOCS / 'howto/arm-files.md'], re.DOTALL)
each_page = pytest.mark.parametrize('page', PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())


def links(page):
    """Return the files of the repository that a page links to, with the anchors."""
    found = re.findall(r'\]\((?![a-z]+:)([^)\s#]*)#?([^)\s]*)\)', PAGES[page])
    return [((page.parent / path).resolve() if path else page, anchor) for path, anchor in found]


def anchors(page):
    """Return the anchors of a page's headings, as GitHub and MyST name them."""
    headings = re.findall(r'^#+ (.*)', PAGES[page], re.M)
    return {re.sub(r'[^\w\- ]', '', one.lower()).strip().replace(' ', '-') for one in headings}


@each_page
def test_a_page_names_what_exists(page):
    for target, anchor in links(page):
        assert target.exists(), target
        assert not anchor or anchor in anchors(target), f'{target}#{anchor}'


@pytest.mark.parametrize('file', [*PAGES, ROOT / 'Makefile', ROOT / '.ci/run'], ids=str)
def test_scripts_that_are_named_exist(file):
    named = re.findall(r'\b(?:test|benchmarks|examples)/\w[\w/]*\.py\b', file.read_text('utf-8'))
    assert [path for path in named if not (ROOT / path).is_file()] == []


@each_page
def test_a_pages_commands_are_taken(page):
    text = PAGES[page].replace('\\\n', ' ')
    for command in re.findall(r'(?m)(?:^ *|`)(franka-dynamics [^`\n]+)', text):
        words = shlex.split(command.replace('...', ''), comments=True)[1:]
        words = [word for word in words if word != '&']
        # Refused, a command raises click.UsageError.
        if '--help' not in words:
            parsed(words)


@each_page
def test_a_pages_options_exist(page):
    flags = {flag for _, one in commands() for param in one.params for flag in param.opts}
    flags |= {'--help', '--params-file', '--show-args'}  # of each verb, of ROS
    programs = [
        *ROOT.glob('examples/*.py'),
        *ROOT.glob('benchmarks/*.py'),
        ROOT / 'Makefile',
    ]
    scripts = ''.join(path.read_text('utf-8') for path in programs)
    for flag in re.findall(r'`(--[a-z][a-z-]*)[^`]*`', PAGES[page]):
        assert flag in flags or f"'{flag}'" in scripts, flag


@each_page
def test_a_pages_tables_have_rows(page):
    lines = PAGES[page].splitlines()
    rulers = [k for k, line in enumerate(lines) if re.fullmatch(r'\s*(\|-+)+\|', line)]
    assert all(lines[k + 1].lstrip().startswith('|') for k in rulers)


def test_nothing_installs_this_package_from_an_index():
    # The name is on no index, and whoever registers it there could run code at those who do.
    folders = (
        'docs',
        'examples',
        'franka_dynamics',
        'launch',
        'config',
        'benchmarks',
        '.ci',
    )
    paths = [path for folder in folders for path in (ROOT / folder).rglob('*') if path.is_file()]
    for path in (
        *paths,
        *PAGES,
        ROOT / 'Makefile',
        ROOT / 'package.xml',
        ROOT / 'CHANGELOG.rst',
    ):
        text = path.read_bytes().decode('utf-8', 'ignore')
        by_name = r'franka[-_]dynamics\[[a-z]|install(\s+-\S+)*\s+[\'"]?franka[-_]dynamics\b'
        found = re.search(by_name, text)
        assert found is None, f'{path}: {text[found.start() :][:60]}'


def test_the_pages_figures_are_those_of_the_code():
    with scripts.loaded(DOCS / 'figures.py') as module:
        pages = module.generated_pages()
    for page, text in pages.items():
        assert (ROOT / page).read_text('utf-8') == text, f'{page}: run make generated'


@pytest.fixture(scope='module')
def bag(simulate, tmp_path_factory):
    """Return a bag of an arm with a hand."""
    path = tmp_path_factory.mktemp('recorded') / 'bag'
    write_recording(simulate(load('fer', hand='franka_hand'), duration=30.0, noise=0.1), path)
    return path


# [N m/A]
CONSTANTS = np.array([11.9, 12.0, 9.8, 10.7, 11.0, 10.8])


def ur_log():
    """Return 20 s of a UR's log, (N, 31): target currents are those of torques and friction."""
    rng = np.random.default_rng(0)
    time = np.arange(0.0, 20.0, 0.01)
    phase = np.outer(time, rng.uniform(1.0, 3.0, 6))
    dq = 0.5 * np.cos(phase)
    torque = 20.0 * np.cos(phase + 1.0) + 5.0 * np.sin(0.3 * phase)
    current = torque / CONSTANTS + 0.8 * dq + 0.4 * np.sign(dq) + 0.1
    unused = np.zeros((len(time), 6))
    return np.column_stack([time, unused, dq, unused, current, torque])


def identified_arm():
    """Return an arm with rotors, and friction that grows with the load."""
    arm = make_random_arm(3, n=6, rotors=True)
    rows = np.outer([5.0, 8.0, 0.3, 0.1], np.ones(6))
    friction = ViscousCoulombFriction(
        *rows[:3], width=0.01, load_dependent=rows[3], receiver_offset=np.full(6, -0.2)
    )
    return replace(arm, friction=friction)


@pytest.mark.parametrize('page', CODE)
def test_the_code_of_a_page_runs(page, bag, tmp_path, monkeypatch):
    # Given what pages take for granted: a bag of the arm, a tool's mesh, a received message.
    import trimesh

    monkeypatch.chdir(tmp_path)
    trimesh.creation.box((30, 20, 10)).export('tool.stl')
    for name in ('bag', 'my_bag'):
        shutil.copytree(bag, name)
    np.savetxt('ur.csv', ur_log(), delimiter=',')
    save(identified_arm(), 'my_ur10e.yaml')
    # Then its code runs, as one program.
    blocks = [block for block in CODE[page] if 'import torch' not in block or find_spec('torch')]
    names = {'numpy': np, 'message': SimpleNamespace(effort=np.zeros(49))}
    exec(compile('\n'.join(blocks), page, 'exec'), names)
    if page == 'docs/howto/from-python.md':
        mine = names['mine']
        found = names['result'].arm
        assert mine.hand == 'franka_hand'
        np.testing.assert_array_equal(mine.links[3].inertia, found.links[3].inertia)
    if page == 'docs/howto/another-arm.md':
        np.testing.assert_allclose(names['constants'], CONSTANTS, rtol=0.005)
        arm = identified_arm()
        q, dq, ddq = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 6))
        links = replace(arm, joints=tuple(replace(one, rotor_inertia=0.0) for one in arm.joints))
        rotors = np.array([one.rotor_inertia for one in arm.joints]) * ddq
        moving = NewtonEulerModel(links).inverse_dynamics(q, dq, ddq) + rotors
        weight = NewtonEulerModel(links).gravity(q)
        rubbing = 5.0 * dq + (8.0 + 0.1 * np.abs(moving)) * np.tanh(dq / 0.01) - 0.2
        np.testing.assert_allclose(
            names['feedforward'](q, dq, ddq),
            moving - weight + rubbing,
            rtol=1e-9,
        )


@pytest.mark.skipif(
    not os.environ.get('FRANKA_DYNAMICS_PUBLIC_LOGS'),
    reason='FRANKA_DYNAMICS_PUBLIC_LOGS names no clones of public logs',
)
def test_the_torque_constants_are_those_of_the_log(tmp_path, monkeypatch, capsys):
    logs = Path(os.environ['FRANKA_DYNAMICS_PUBLIC_LOGS'], 'dynamic_calibration/dataset_ur10e')
    shutil.copy(logs / 'identification_data/ur-20_02_10-30sec_12harm.csv', tmp_path / 'ur.csv')
    monkeypatch.chdir(tmp_path)
    exec(CODE['docs/howto/another-arm.md'][0], {})
    assert f'`{capsys.readouterr().out.strip()}`' in PAGES[DOCS / 'howto/another-arm.md']


def test_the_pages_arm_file_loads(tmp_path):
    path = tmp_path / 'my_arm.yaml'
    path.write_text(ARM_FILE)
    arm = load(path)
    np.testing.assert_allclose(arm.home, [0.0, np.pi / 4], rtol=0.0, atol=0.0)
    assert crosscheck(arm, count=20).passed


LAYOUT = json.loads((ROOT / 'config/foxglove/feedforward.json').read_text())['configById']
RVIZ = yaml.safe_load((ROOT / 'config/rviz/feedforward.rviz').read_text())['Visualization Manager']
# What the page of the nodes says the node publishes, under the node's default name.
LISTED = PAGES[DOCS / 'reference' / 'node.md']
TOPIC_KEYS = ('Topic', 'Description Topic')
TOPICS = {name.replace('~', '/feedforward') for name in re.findall(r'`(~?/[a-z_/]+)`', LISTED)} | {
    '/joint_states',
    '/robot_description',
    '/diagnostics',
}


def test_the_page_of_the_nodes_has_each_topic():
    lines = (ROOT / 'test/public_interface/ros.txt').read_text('utf-8').splitlines()
    found = {
        line.split()[-1]
        for line in lines
        if re.match(r'feedforward (publish|subscribe) topic', line)
    }
    # ROS's own topics, of every node.
    found -= {'/rosout', '/clock', '/parameter_events', '~/transition_event'}
    rows = LISTED.split('## Topics of the feedforward node')[1].split('\n\n')
    table = next(part for part in rows if part.startswith('| topic |'))
    assert set(re.findall(r'(?m)^\| `([^`]+)`', table)) == found


def test_plots_and_views_name_topics_and_a_frame_that_exist():
    plots = [panel for name, panel in LAYOUT.items() if 'Plot' in name]
    paths = [path['value'] for plot in plots for path in plot['paths']]
    plotted = {re.fullmatch(r'(.+)\.effort\[[0-6]\]', path)[1] for path in paths}
    arm = LAYOUT['3D!arm']
    layer = LAYOUT['3D!arm']['layers']['arm']
    shown = {one[key]['Value'] for one in RVIZ['Displays'] for key in TOPIC_KEYS if key in one}
    shown |= {layer['topic'], layer['jointStatesTopic'], *arm['topics']}
    shown.add(LAYOUT['DiagnosticSummary!all']['topicToRender'])
    assert len(paths) == 7 * len(plots) and plotted and shown | plotted <= TOPICS
    assert RVIZ['Global Options']['Fixed Frame'] == 'fer_link0'
