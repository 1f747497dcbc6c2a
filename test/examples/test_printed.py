# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Examples and notebooks run from end to end, and what they find is printed and drawn."""

import json
from pathlib import Path
import re
import shutil

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.dynamics.model import GRAVITY

from .. import scripts
from ..codegen.arms import standard_parameters

pytest.importorskip('mujoco')  # without it examples exit

INFINITY = float('inf')
# For each example: settings that make it short, figures that it prints, and their bounds. By
# design a stream of a policy's targets is followed two periods of 33 ms late; a chunk has the
# coming targets.
RUNS = {
    'dual_arm': ({}, r'base parameters: (\d+) of 150', [(99.0, 99.0)]),
    'rpr_workspace': ({'POINTS': 24}, r'in at most (\d+) postures', [(1.0, 4.0)]),
    'policy': (
        {'SETTLE_S': 0.2, 'DURATION_S': 2.9},
        r'(\d+) ms late',
        [(0, INFINITY), (66, INFINITY), (0, 65)],
    ),
}


@pytest.mark.parametrize('name', RUNS)
def test_an_example_prints_its_figures_and_draws(name, capsys, tmp_path, monkeypatch):
    settings, pattern, bounds = RUNS[name]
    monkeypatch.chdir(tmp_path)
    with scripts.loaded(scripts.example(name)) as module:
        for setting, value in settings.items():
            monkeypatch.setattr(module, setting, value)
        module.main()
    said = capsys.readouterr().out
    found = [float(text) for text in re.findall(pattern, said)]
    assert all(least <= one <= most for one, (least, most) in zip(found, bounds, strict=True))
    (picture,) = Path().glob('*.png')
    assert picture.stat().st_size > 1000
    for off in re.findall(r': (\S+) N m from Pinocchio', said):  # of the two arms
        assert float(off) < 1e-11


def test_feedforward_leaves_the_readmes_errors():
    with scripts.loaded(scripts.example('with_and_without')) as module:
        runs = [module.follow(200.0, 1.0, arm) for arm in (None, module.ARM)]
        found = [np.sqrt(np.mean(module.flange_off(run) ** 2)) for run in runs]
    readme = (scripts.ROOT / 'README.md').read_text(encoding='utf-8')
    (stated,) = re.findall(r'\| 200, [^|]*picture[^|]* \| (\S+) \| (\S+) \|', readme)
    np.testing.assert_allclose(found, np.array(stated, float), rtol=0.1)


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


@pytest.mark.long
def test_the_exponentials_print_the_outputs_they_are_shipped_with(capsys):
    # Each cell compares its symbols with the models; what it shows of them is sympy's wording.
    cells = code_cells('documents/product_of_exponentials.ipynb')
    names = {}
    for cell in cells:
        exec(compile(cell['source'], 'product_of_exponentials.ipynb', 'exec'), names)
        shipped = [''.join(o['text']) for o in cell['outputs'] if o['output_type'] == 'stream']
        assert capsys.readouterr().out == ''.join(shipped)


ATOL = 1e-12


@pytest.mark.parametrize(('what', 'name'), [('motion', 'rpr'), ('kinematics', 'fer')])
def test_the_text_runs_and_gives_the_models_values(what, name, formulas, capsys):
    formulas.main(what, name)
    arm, names = fd.load(name), {}
    exec(capsys.readouterr().out, names)
    q, dq = np.linspace(0.05, 0.7, arm.n), np.linspace(1.0, -1.0, arm.n)
    for quantity in formulas.QUANTITIES[what]:
        states = (q, dq) if quantity == 'coriolis_matrix' else (q,)
        expected = getattr(fd.NewtonEulerModel(arm), quantity)(*states)
        p, found = np.zeros(1000), np.full_like(expected, np.nan)
        names[f'prepare_{quantity}'](standard_parameters(arm, GRAVITY), p)
        names[quantity](*states, p, found)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL)
