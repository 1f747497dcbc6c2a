# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
ament's linters, where they are installed (apt install ros-$ROS_DISTRO-ament-lint-auto).

ament_copyright is left out: it knows no header that gives the licence by its SPDX identifier.
So is package.xml for ament_xmllint, whose schema it fetches from download.ros.org; catkin_pkg
reads that file in test_installation.py.
"""

from pathlib import Path
import shutil

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ('benchmarks', 'examples', 'franka_dynamics', 'launch', 'release', 'test')
PYTHON = [str(ROOT / name) for name in (*FOLDERS, 'setup.py')]


def linter(name):
    return pytest.importorskip(f'ament_{name}.main', reason=f'ament_{name} is not installed')


def test_ament_flake8_finds_nothing(capsys):
    config = str(ROOT / 'test' / 'ament_flake8.ini')
    rc, errors = linter('flake8').main_with_errors(['--config', config, *PYTHON])
    assert rc == 0, '\n'.join(errors[:20]) + capsys.readouterr().err[-1000:]


def test_ament_pep257_finds_nothing(capsys):
    # D401 asks properties, too, for a verb in the imperative; ruff asks it of functions alone.
    rc = linter('pep257').main([*PYTHON, '--add-ignore', 'D401'])
    assert rc == 0, capsys.readouterr().out[-3000:]


def test_ament_xmllint_finds_nothing(capsys):
    main = linter('xmllint').main
    if shutil.which('xmllint') is None:
        pytest.skip('xmllint is not installed')
    folders = [str(ROOT / name) for name in ('config', 'security', 'urdf')]
    rc = main([*folders, '--extensions', 'xml', 'urdf', 'sdf', 'xacro'])
    assert rc == 0, capsys.readouterr().err[-3000:]
