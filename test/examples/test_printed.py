# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Examples run from end to end, and what they find is printed and drawn."""

from functools import partial
from pathlib import Path
import re

import pytest

from .. import scripts

EXAMPLES = Path(__file__).parents[2] / 'examples'
# For each example: options that make it short, a figure that it prints, and the figure's bounds.
RUNS = {
    'five_bar': (['--iterations', '1'], r'central differences: (\S+) relative', (0.0, 1e-6)),
    'dual_arm': ([], r'base parameters: (\d+) of 150', (99.0, 99.0)),
    'rpr_workspace': (['--points', '24'], r'in at most (\d+) postures', (1.0, 4.0)),
}


@pytest.mark.parametrize('name', RUNS)
def test_an_example_prints_its_figure_and_draws(name, capsys, tmp_path, monkeypatch):
    for library in ('matplotlib', 'scipy'):
        pytest.importorskip(library)
    options, pattern, (least, most) = RUNS[name]
    monkeypatch.chdir(tmp_path)
    with scripts.loaded(scripts.example(name)) as module:
        if name == 'five_bar':
            monkeypatch.setattr(module, 'Objective', partial(module.Objective, samples=7))
        module.main([*options, '--plot', 'picture.png'])
    said = capsys.readouterr().out
    (found,) = re.findall(pattern, said)
    assert least <= float(found) <= most
    assert Path('picture.png').stat().st_size > 1000
    for off in re.findall(r': (\S+) N m from Pinocchio', said):  # of the two arms
        assert float(off) < 1e-11
