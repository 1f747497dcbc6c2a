# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The notebooks run from their first cell to their last."""

import json
from pathlib import Path
import shutil

import numpy as np

import franka_dynamics as fd

EXAMPLES = Path(__file__).parents[2] / 'examples'


def code_cells(name):
    """Return the code cells of a notebook, each with its text under 'source'."""
    cells = json.loads((EXAMPLES / name).read_text('utf-8'))['cells']
    return [
        {**cell, 'source': ''.join(cell['source'])}
        for cell in cells
        if cell['cell_type'] == 'code'
    ]


def test_the_first_steps_identify_the_shipped_recording(tmp_path, monkeypatch):
    shutil.copytree(EXAMPLES / 'recording', tmp_path / 'recording')
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in code_cells('01_first_steps.ipynb'):
        exec(compile(cell['source'], '01_first_steps.ipynb', 'exec'), names)
    # The inertias found predict what was left out better than the published ones, and the file
    # that it wrote is that arm.
    arm, published = names['result'].arm_score, names['result'].published
    assert arm.test.E < min(one.test.E for one in published)
    assert names['verdict'].sound
    q = fd.load('fer').home
    written, found = (fd.Model(arm).gravity(q) for arm in ('my_fer.yaml', names['result'].arm))
    np.testing.assert_allclose(written, found, rtol=0.0, atol=1e-9)


def test_the_exponentials_print_the_outputs_they_are_shipped_with(capsys):
    # Each cell compares its symbols with the models; what it shows of them is sympy's wording.
    cells = code_cells('documents/product_of_exponentials.ipynb')
    names = {}
    for cell in cells:
        exec(compile(cell['source'], 'product_of_exponentials.ipynb', 'exec'), names)
        shipped = [''.join(o['text']) for o in cell['outputs'] if o['output_type'] == 'stream']
        assert capsys.readouterr().out == ''.join(shipped)
