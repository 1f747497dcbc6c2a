# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertia in {S} against the same point masses carried to {S} by Pinocchio's poses."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.space_inertia import space_inertias

from ..arms import of_points

ATOL = 1e-13  # tensors near 10 kg m^2


@pytest.mark.parametrize('name', ['fer', 'fr3', 'rpr'])
def test_space_tensors_are_those_of_the_moved_point_masses(name):
    rng = np.random.default_rng(0)
    arm = load(name, hand='none')
    clouds = [(rng.uniform(0.1, 1.0, 6), rng.uniform(-0.3, 0.3, (6, 3))) for _ in arm.links]
    arm = replace(arm, links=tuple(of_points(*cloud) for cloud in clouds))
    q = rng.uniform(-1.5, 1.5, arm.n)
    poses = PinocchioModel(arm).frames(q)
    for link, (masses, points), pose in zip(space_inertias(arm, q), clouds, poses):
        moved = points @ pose[:3, :3].T + pose[:3, 3]
        center = masses @ moved / masses.sum()
        for actual, expected in (
            (link.mass, masses.sum()),
            (link.center_of_mass, center),
            (link.about_frame_origin, of_points(masses, moved - pose[:3, 3]).inertia),
            (link.about_center_of_mass, of_points(masses, moved - center).inertia),
            (link.about_space_origin, of_points(masses, moved).inertia),
        ):
            np.testing.assert_allclose(actual, expected, rtol=0.0, atol=ATOL)
