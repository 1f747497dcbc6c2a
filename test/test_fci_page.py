# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""docs/fci.md holds every parameter of the node, with its default and its sentence."""

from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from franka_dynamics.ros.fci_parameters import FCI_PARAMETERS

PAGE = (Path(__file__).parents[1] / 'docs' / 'fci.md').read_text(encoding='utf-8')


@pytest.mark.parametrize('spec', FCI_PARAMETERS, ids=lambda spec: spec.name)
def test_given_a_parameter_when_looked_up_then_the_page_has_it(spec):
    rows = [line for line in PAGE.splitlines() if line.startswith(f'| `{spec.name}` |')]
    if rows:
        default = str(spec.default).lower() if isinstance(spec.default, bool) else spec.default
        assert f'| {default or chr(39) * 2}' in rows[0]
        assert spec.sentence in rows[0]
    else:
        family = spec.name.split('.')[0] + '.*' if '.' in spec.name else spec.name
        assert f'`{family}`' in PAGE
