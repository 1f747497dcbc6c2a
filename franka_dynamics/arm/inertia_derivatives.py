# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivative of an inertia by the rigid motion that moves it (seed 003, section 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .inertia import LinkInertia


def motion_derivative(inertia: LinkInertia) -> NDArray[np.float64]:
    """
    Return d phi/d eta of an inertia that a small rigid motion eta carries along.

    With G = Ad_T^{-T} G_0 Ad_T^{-1} (29) and [d eta] = dT T^{-1}, that is with the body moved by
    exp([d eta]) as seen from the frame it is described in: (33), (34) and the two blocks printed
    without a number after (34).

    Parameters
    ----------
    inertia : LinkInertia
        The body where it is now, about the origin of its frame.

    Returns
    -------
    ndarray, shape (10, 6)
        Rows (m, h, I_diag, I_off), columns eta = (omega, v): rotation [rad] first, then
        translation [m]. `mesh_derivatives.in_parameter_order` reorders the rows.

    """
    mass, (hx, hy, hz) = inertia.mass, inertia.first_moment
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.inertia
    derivative = np.zeros((10, 6))
    derivative[1:4, :3] = [[0.0, hz, -hy], [-hz, 0.0, hx], [hy, -hx, 0.0]]
    derivative[1:4, 3:] = mass * np.eye(3)
    derivative[4:7, :3] = 2.0 * np.array([[0.0, xz, -xy], [-yz, 0.0, xy], [yz, -xz, 0.0]])
    derivative[4:7, 3:] = 2.0 * np.array([[0.0, hy, hz], [hx, 0.0, hz], [hx, hy, 0.0]])
    derivative[7:, :3] = [[-xz, yz, xx - yy], [xy, zz - xx, -yz], [yy - zz, -xy, xz]]
    derivative[7:, 3:] = [[-hy, -hx, 0.0], [-hz, 0.0, -hx], [0.0, -hz, -hy]]
    return derivative
