# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The picture of an arm: which frames it names, and what it refuses."""

import re

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.errors import OutputError
from franka_dynamics.report import arm as arm_picture

matplotlib = pytest.importorskip('matplotlib', reason='the [view] extra is not installed')


def test_an_arms_picture_is_of_the_kind_its_suffix_says(tmp_path):
    path = tmp_path / 'arm.png'
    arm_picture.draw_arm(load('rpr'), [0.5, 0.1, 0.7], path)
    assert path.read_bytes().startswith(b'\x89PNG')
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_an_svg_names_every_frame_and_center_of_mass(tmp_path):
    with matplotlib.rc_context({'svg.fonttype': 'none'}):
        arm_picture.draw_arm(load('fer'), load('fer').home, tmp_path / 'arm.svg')
    text = (tmp_path / 'arm.svg').read_text()
    for label in (
        '{S}',
        '{1}, {2}',
        '{3}',
        '{4}',
        '{5}, {6}',
        '{7}',
        '{flange}',
        *(f'c{i}' for i in range(1, 8)),
    ):
        assert re.search(rf'>\s*{re.escape(label)}\s*<', text)


@pytest.mark.parametrize(
    ('name', 'sentence'),
    [('arm.xyz', "'xyz' is no picture format; use one of .*png"), ('arm', 'no suffix')],
)
def test_a_file_name_without_a_picture_suffix_lists_formats(tmp_path, name, sentence):
    with pytest.raises(OutputError, match=sentence):
        arm_picture.draw_arm(load('rpr'), np.zeros(3), tmp_path / name)
    assert not list(tmp_path.iterdir())
