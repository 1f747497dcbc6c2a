# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The animated picture: what feedforward is worth in it, and its size."""

import pytest

from .. import scripts

pytest.importorskip('mujoco')

PICTURE = scripts.ROOT / 'docs' / 'images' / 'with_and_without.gif'


def test_feedforward_leaves_less_than_half_of_the_error(example, capsys):
    assert example.main([]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_the_committed_picture_moves_and_is_small():
    with pytest.importorskip('PIL.Image').open(PICTURE) as image:
        assert image.n_frames > 20
    assert PICTURE.stat().st_size < 1.5e6
