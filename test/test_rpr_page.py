# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Python on docs/theory/rpr.md runs, and its figures hold."""

from pathlib import Path
import re

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

PAGE = (Path(__file__).parents[1] / 'docs' / 'theory' / 'rpr.md').read_text(encoding='utf-8')


def test_the_pages_python_gives_four_branches_and_the_torque():
    (code,) = re.findall(r'```python\n(.*?)```', PAGE, re.DOTALL)
    names = {}
    exec(code, names)
    arm = load('rpr')
    assert names['branches'].shape == (4, 3)
    dq = np.array([0.8, -0.3, 1.1])
    expected = NewtonEulerModel(arm).inverse_dynamics(
        [0.4, 0.05, 0.7], dq, [1.0, -2.0, 3.0], wrench=[-5.0, 0.0, 2.0, 0.0, 0.0, -0.1]
    ) + arm.friction.torque(dq)
    np.testing.assert_allclose(names['tau'], expected, rtol=0.0, atol=1e-12)
