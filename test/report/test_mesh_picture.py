# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The inertia ellipsoid of a body."""

import numpy as np

from franka_dynamics.arm import LinkInertia
from franka_dynamics.report.bodies import ellipsoid_axes


def test_a_solid_ellipsoids_own_half_axes_come_back():
    a, b, c = 0.3, 0.2, 0.1
    moments = 0.2 * 2.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    body = LinkInertia.from_center_of_mass(2.0, (0.1, 0.2, 0.3), np.diag(moments))
    half_axes, directions = ellipsoid_axes(body)
    np.testing.assert_allclose(half_axes, [a, b, c], rtol=1e-12, atol=0.0)
    np.testing.assert_allclose(np.abs(directions), np.eye(3), rtol=0.0, atol=1e-12)
