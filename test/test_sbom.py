# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The bill of materials names every dependency, with version and licence where it is installed."""

import json
from pathlib import Path
import re
import runpy
import sys

import numpy as np

ROOT = Path(__file__).parents[1]


def test_every_dependency_is_listed_once_with_version_and_licence(tmp_path, monkeypatch):
    path = tmp_path / 'sbom.json'
    monkeypatch.setattr(sys, 'argv', ['sbom.py', '--output', str(path)])
    runpy.run_path(str(ROOT / 'release' / 'sbom.py'), run_name='__main__')
    bill = json.loads(path.read_text())
    by_name = {component['name'].lower(): component for component in bill['components']}
    asked = re.findall(r"'([a-z][\w-]*)(?:>=|')", (ROOT / 'setup.py').read_text())
    assert bill['bomFormat'] == 'CycloneDX'
    assert len(by_name) == len(bill['components'])
    assert len(set(by_name) & set(asked)) >= 15
    assert {'rclpy', 'sensor_msgs', 'launch_ros'} <= set(by_name)  # of package.xml
    assert [name for name, one in by_name.items() if 'licenses' not in one] == []
    # Of ROS's wheels by their package.xml; not all of ROS is under one licence.
    assert by_name['control_msgs']['licenses'] != by_name['rclpy']['licenses']
    assert by_name['numpy']['purl'] == f'pkg:pypi/numpy@{np.__version__}'
    for name in ('numpy', 'pin', 'mujoco', 'matplotlib', 'kiwisolver'):
        (entry,) = by_name[name]['licenses']
        assert re.search(r'BSD|Apache|MIT|Python Software', entry['license']['name']), name
