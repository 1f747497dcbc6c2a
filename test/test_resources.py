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


def test_share_of_a_source_tree_is_the_folder_beside_the_package(monkeypatch, tmp_path):
    place(monkeypatch, tmp_path / 'checkout' / 'franka_dynamics')
    (tmp_path / 'checkout' / 'package.xml').touch()
    (tmp_path / 'checkout' / 'config').mkdir()
    assert share_directory() == tmp_path / 'checkout'


@pytest.mark.parametrize(
    'lib', ['lib/python3.12/site-packages', 'local/lib/python3.12/dist-packages']
)
def test_share_of_an_installation_is_below_its_prefix(monkeypatch, tmp_path, lib):
    place(monkeypatch, tmp_path / lib / 'franka_dynamics')
    expected = tmp_path / 'share' / 'franka_dynamics'
    (expected / 'config').mkdir(parents=True)
    assert share_directory() == expected


def test_modules_without_data_say_how_to_install_them(monkeypatch, tmp_path):
    place(monkeypatch, tmp_path / 'franka_dynamics')
    with pytest.raises(DescriptionError, match='Install the package with colcon or pip'):
        share_directory()
