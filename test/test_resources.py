# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where the data files are found: source tree, colcon's and pip's layout, or one clear error."""

import pytest

from franka_dynamics import resources as share
from franka_dynamics.errors import DescriptionError
from franka_dynamics.resources import share_directory


def place(monkeypatch, package):
    package.mkdir(parents=True)
    monkeypatch.setattr(share, '__file__', str(package / 'share.py'))


@pytest.mark.parametrize(
    ('lib', 'share'),
    [
        ('checkout', 'checkout'),
        ('lib/python3.12/site-packages', 'share/franka_dynamics'),
        ('local/lib/python3.12/dist-packages', 'share/franka_dynamics'),
    ],
)
def test_the_data_files_are_beside_the_package_or_below_its_prefix(
    monkeypatch, tmp_path, lib, share
):
    place(monkeypatch, tmp_path / lib / 'franka_dynamics')
    (tmp_path / share / 'config').mkdir(parents=True)
    (tmp_path / share / 'package.xml').touch()
    assert share_directory() == tmp_path / share


def test_modules_without_data_say_how_to_install_them(monkeypatch, tmp_path):
    place(monkeypatch, tmp_path / 'franka_dynamics')
    with pytest.raises(DescriptionError, match='Install the package with colcon or pip'):
        share_directory()
