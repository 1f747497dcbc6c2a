# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Python blocks of these pages run, one after the other."""

from pathlib import Path
import re

import pytest

from franka_dynamics.arm import load
from franka_dynamics.recordings.rosbag_writer import write_recording

DOCS = Path(__file__).parents[1] / 'docs'


@pytest.mark.parametrize('page', ['derivatives', 'closed-chains', 'mesh'])
def test_given_a_page_when_its_code_is_run_then_it_does_not_fail(page, tmp_path, monkeypatch):
    if page == 'mesh':
        trimesh = pytest.importorskip('trimesh')
        pytest.importorskip('igl')
        trimesh.creation.box((30, 20, 10)).export(tmp_path / 'tool.stl')
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r'```python\n(.*?)```', (DOCS / f'{page}.md').read_text('utf-8'), re.S)
    assert blocks
    exec(compile('\n'.join(blocks), page, 'exec'), {})


def test_the_page_for_python_runs(tmp_path, monkeypatch, simulate, capsys):
    for library in ('numba', 'rosbags', 'cvxpy'):
        pytest.importorskip(library)
    # Given the recording that the page identifies from, and a cache for what it compiles.
    write_recording(simulate(load('fer', hand='franka_hand'), duration=30.0, noise=0.1),
                    tmp_path / 'bag')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    monkeypatch.chdir(tmp_path)
    # When its blocks are run as one program
    blocks = re.findall(r'```python\n(.*?)```', (DOCS / 'from-python.md').read_text('utf-8'), re.S)
    names = {}
    exec(compile('\n'.join(blocks), 'from-python', 'exec'), names)
    # Then the saved arm is the identified one, with the hand it was identified with.
    assert names['mine'].hand == 'franka_hand'
    assert (tmp_path / 'my_fer.yaml').exists()
    assert 'torque changes by up to' in capsys.readouterr().out
