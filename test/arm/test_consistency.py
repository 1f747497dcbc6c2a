# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of physical consistency, and of its repair within the rounding of a table."""

from importlib.util import find_spec
import re

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.consistency import nearest_physical
from franka_dynamics.errors import InertiaError
from franka_dynamics.names import NEAREST_WITHIN_ROUNDING
from franka_dynamics.urdf.writer import save
from franka_dynamics.urdf.xacro_writer import robot_text

ROUNDING = 5e-5  # half of the table's fourth decimal
# of the change of 2e-5; the solver's tolerance is 1e-8 of the rounding
DISTANCE_RTOL = 1e-3

needs_solver = pytest.mark.skipif(find_spec('cvxpy') is None, reason='cvxpy is not installed')


def test_only_link_2_of_the_table_has_a_margin_below_zero():
    links = load('fer', 'ledezma2021').links
    assert [link.is_physical() for link in links] == [True, False, True, True, True, True, True]
    np.testing.assert_allclose(links[1].consistency_margin(), -1.8e-5, rtol=0.0, atol=5e-7)


@needs_solver
def test_another_solver_finds_no_nearer_repair_of_link_2():
    from scipy.optimize import minimize

    link = load('fer', 'ledezma2021').links[1]
    printed = link.parameters()
    moved = nearest_physical(link, ROUNDING).parameters()
    distance = np.linalg.norm(moved - printed) / ROUNDING

    steps = np.array([LinkInertia.from_parameters(unit).pseudo_inertia() for unit in np.eye(10)])

    def eigen(moves):
        return np.linalg.eigh(link.pseudo_inertia() / ROUNDING + np.tensordot(moves, steps, 1))

    def slope(moves):
        vector = eigen(moves)[1][:, 0]
        return vector @ steps @ vector

    rng = np.random.default_rng(0)
    results = [
        minimize(
            lambda moves: moves @ moves,
            rng.uniform(-0.3, 0.3, 10),
            jac=lambda moves: 2.0 * moves,
            bounds=[(-1.0, 1.0)] * 10,
            constraints={
                'type': 'ineq',
                'fun': lambda moves: eigen(moves)[0][0] - 1e-3,
                'jac': slope,
            },
            options={'ftol': 1e-14, 'maxiter': 500},
        )
        for _ in range(2)
    ]
    nearest = min(np.sqrt(result.fun) for result in results if result.success)
    np.testing.assert_allclose(distance, nearest, rtol=DISTANCE_RTOL, atol=0.0)


@needs_solver
@pytest.mark.parametrize('hand', ['as_listed', 'franka_hand'])
def test_the_table_loaded_with_its_repair_says_so_and_is_usable(hand):
    arm = load('fer', 'ledezma2021', hand=hand, repair=NEAREST_WITHIN_ROUNDING)
    arm.require_physical('a test')
    printed = load('fer', 'ledezma2021', hand=hand)
    for i, (link, before) in enumerate(zip(arm.links, printed.links)):
        moved = np.abs(link.parameters() - before.parameters()).max()
        assert (0.0 < moved <= ROUNDING) if i == 1 else moved == 0.0
    assert load('fer', 'gaz2019', repair=NEAREST_WITHIN_ROUNDING).repairs == ()
    (sentence,) = arm.repairs
    assert re.search(r'fer_joint2 was .* \(eigenvalue -1\.8e-05 .* rounding of 5e-05$', sentence)


@needs_solver
def test_the_table_is_written_only_repaired_and_says_so():
    with pytest.raises(InertiaError, match='repair: nearest_within_rounding'):
        robot_text('fer', 'urdf', 'ledezma2021')
    text = robot_text('fer', 'urdf', 'ledezma2021', repair=NEAREST_WITHIN_ROUNDING)
    assert 'the link behind fer_joint2 was not physical as printed' in text.split('-->')[0]


def test_a_table_of_centres_of_mass_is_not_repaired(tmp_path):
    path = tmp_path / 'own.yaml'
    save(load('fer', 'franka_description'), path)
    text = path.read_text().replace('first_moment:', 'center_of_mass:')
    path.write_text(text.replace('    source:', '    rounding: 1.0e-4\n    source:'))
    with pytest.raises(InertiaError, match='states centres of mass; a repair moves'):
        load(path, repair=NEAREST_WITHIN_ROUNDING)
