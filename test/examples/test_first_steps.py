# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The notebook runs from its first cell to its last."""

import json
from pathlib import Path
import shutil

import numpy as np

import franka_dynamics as fd

EXAMPLES = Path(__file__).parents[2] / 'examples'


def test_the_notebook_identifies_the_shipped_recording(tmp_path, monkeypatch):
    # Given the notebook beside its recording, in a folder of its own.
    shutil.copytree(EXAMPLES / 'recording', tmp_path / 'recording')
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / 'first_steps.ipynb').read_text('utf-8'))
    program = '\n'.join(
        ''.join(cell['source']) for cell in notebook['cells'] if cell['cell_type'] == 'code'
    )
    names = {}
    # When its code runs.
    exec(compile(program, 'first_steps.ipynb', 'exec'), names)
    # Then the inertias found predict what was left out better than the published ones, and the
    # file that it wrote is that arm.
    verdict = names['verdict']
    assert verdict.inertias < 0.8 * verdict.start_inertias
    q = fd.load('fer').home
    np.testing.assert_allclose(
        fd.Model(fd.load('my_fer.yaml')).gravity(q),
        fd.Model(names['result'].arm).gravity(q),
        rtol=0.0,
        atol=1e-9,
    )
