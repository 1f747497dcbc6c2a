# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Python blocks of the README and of every page run, one after the other."""

from pathlib import Path
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.recordings.recording import write_recording

ROOT = Path(__file__).parents[1]
# Libraries that the code of a page needs and `make test` does not install.
NEEDED = {'docs/howto/gradients.md': ('jax', 'torch')}


def blocks(page):
    """Return a page's Python blocks as one program."""
    return '\n'.join(re.findall(r'```python\n(.*?)```', (ROOT / page).read_text('utf-8'), re.S))


PAGES = [
    page
    for page in (
        'README.md',
        *sorted(
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / 'docs').rglob('*.md')
            if '_build' not in path.parts
        ),
    )
    if blocks(page)
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder to run in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(page, **names):
    exec(compile(blocks(page), page, 'exec'), names)
    return names


@pytest.fixture(scope='module')
def bag(simulate, tmp_path_factory):
    """Return a bag of an arm with a hand."""
    path = tmp_path_factory.mktemp('recorded') / 'bag'
    write_recording(simulate(load('fer', hand='franka_hand'), duration=30.0, noise=0.1), path)
    return path


@pytest.mark.parametrize('page', PAGES)
def test_the_code_of_a_page_runs(page, folder, bag):
    # Given what pages take for granted: a bag of the arm, a tool's mesh, a received message.
    for library in ('cvxpy', 'igl', 'rosbags', 'trimesh', *NEEDED.get(page, ())):
        pytest.importorskip(library)
    import trimesh

    trimesh.creation.box((30, 20, 10)).export(folder / 'tool.stl')
    for name in ('bag', 'my_bag'):
        shutil.copytree(bag, folder / name)
    # Then its code runs.
    names = run(page, numpy=np, message=SimpleNamespace(effort=np.zeros(49)))
    if page == 'docs/howto/from-python.md':
        assert names['mine'].hand == 'franka_hand'
        np.testing.assert_array_equal(
            names['mine'].links[3].inertia, names['result'].arm.links[3].inertia
        )
