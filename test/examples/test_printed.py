# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Examples run from end to end, and what they find is printed and drawn."""

from pathlib import Path
import re

import numpy as np
import pytest

from .. import scripts

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


def test_feedforward_leaves_the_readmes_errors_and_a_small_picture(capsys, monkeypatch):
    with scripts.loaded(scripts.example('with_and_without')) as module:
        monkeypatch.setattr(module, 'draw', lambda *_: None)  # which needs EGL
        monkeypatch.setattr(module, 'STIFFNESSES', (200.0,))
        module.main()
    readme = (scripts.ROOT / 'README.md').read_text(encoding='utf-8')
    found, stated = (
        np.array(re.findall(pattern, text), float)
        for pattern, text in (
            (r'kp (\d+) .* is (\S+) mm .* PD, (\S+) mm .*: (\S+) times', capsys.readouterr().out),
            (r'\| (\d+)[^|]* \| (\S+) mm \| (\S+) mm \| (\S+) times less', readme),
        )
    )
    (row,) = found
    np.testing.assert_allclose(row, stated[stated[:, 0] == 200.0][0], rtol=0.1)
    picture = scripts.ROOT / 'docs' / 'images' / 'with_and_without.gif'
    assert picture.stat().st_size < 1.5e6
    with pytest.importorskip('PIL.Image').open(picture) as image:
        assert image.n_frames > 20
