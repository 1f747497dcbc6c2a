# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Python blocks of these pages run, one after the other."""

from pathlib import Path
import re

import pytest

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
