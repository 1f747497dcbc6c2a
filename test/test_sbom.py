# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The bill of materials names every dependency, with version and licence where it is installed."""

import json
from pathlib import Path
import re
import runpy
import sys

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope='module')
def bill(tmp_path_factory):
    path = tmp_path_factory.mktemp('sbom') / 'sbom.json'
    arguments, sys.argv = sys.argv, ['sbom.py', '--output', str(path)]
    try:
        runpy.run_path(str(ROOT / 'release' / 'sbom.py'), run_name='__main__')
    finally:
        sys.argv = arguments
    return json.loads(path.read_text())


def test_every_direct_dependency_is_in_it(bill):
    names = {component['name'].lower() for component in bill['components']}
    asked = re.findall(r"'([a-z][\w-]*)(?:>=|')", (ROOT / 'setup.py').read_text())
    assert {'numpy', 'pin', 'mujoco', 'scipy'} <= names
    assert len(names & set(asked)) >= 15
    assert {'rclpy', 'sensor_msgs', 'launch_ros'} <= names  # of package.xml


def test_everything_has_a_licence_and_is_listed_once(bill):
    assert [one['name'] for one in bill['components'] if 'licenses' not in one] == []
    names = [one['name'].lower() for one in bill['components']]
    assert len(names) == len(set(names))
    by_name = {one['name']: one for one in bill['components']}
    # Of ROS's wheels by their package.xml; not all of ROS is under one licence.
    assert by_name['rclpy']['version'].count('.') == 2
    assert by_name['control_msgs']['licenses'] != by_name['rclpy']['licenses']
    assert 'python3-numpy' not in by_name and 'pinocchio' not in by_name


def test_what_is_installed_has_its_version_and_licence(bill):
    by_name = {component['name'].lower(): component for component in bill['components']}
    assert by_name['numpy']['version'] == np.__version__
    assert by_name['numpy']['purl'] == f'pkg:pypi/numpy@{np.__version__}'
    for name in ('numpy', 'pin', 'mujoco', 'matplotlib', 'kiwisolver'):
        (entry,) = by_name[name]['licenses']
        assert re.search(r'BSD|Apache|MIT|Python Software', entry['license']['name']), name
    assert bill['bomFormat'] == 'CycloneDX'
