# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Margins of physical consistency, and the nearest consistent parameters within a rounding."""

from dataclasses import replace
import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import minimize
import yaml

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.arm.consistency import (
    margins,
    nearest_physical,
    NEAREST_WITHIN_ROUNDING,
    repaired,
)
from franka_dynamics.errors import DescriptionError, InertiaError, MissingDependencyError
from franka_dynamics.ros.arm_parameters import ARM_PARAMETERS, load_arm
from franka_dynamics.simulation.mujoco_model import build_mujoco
from franka_dynamics.urdf.xacro_writer import robot_text

ROUNDING = 5e-5  # half of the table's fourth decimal
# Of a move of 2e-5: the solver's tolerance is 1e-8 of the rounding.
DISTANCE_RTOL = 1e-3

needs_solver = pytest.mark.skipif(
    subprocess.run([sys.executable, '-c', 'import cvxpy'], capture_output=True).returncode != 0,
    reason='cvxpy is not installed',
)


def table_link():
    return load('fer', 'ledezma2021').links[1]


def test_given_the_table_when_its_margins_are_taken_then_only_link_2_is_beyond():
    found = margins(load('fer', 'ledezma2021'))
    assert [margin.physical for margin in found] == [True, False, True, True, True, True, True]
    np.testing.assert_allclose(found[1].pseudo_inertia, -1.8e-5, rtol=0.0, atol=5e-7)
    assert [margin.joint for margin in found] == [f'fer_joint{i}' for i in range(1, 8)]


def test_given_franka_descriptions_fer_when_its_margins_are_taken_then_link_4_misses_by_1_1e_3():
    found = margins(load('fer', 'franka_description'))
    assert [margin.physical for margin in found].index(False) == 3
    np.testing.assert_allclose(found[3].triangle, -1.1e-3, rtol=0.0, atol=5e-6)


@pytest.mark.parametrize(
    ('arm', 'inertial_set'), [('fer', 'gaz2019'), ('fr3', 'franka_description')]
)
def test_given_a_set_of_real_bodies_when_its_margins_are_taken_then_all_are_positive(
    arm, inertial_set
):
    for margin in margins(load(arm, inertial_set)):
        assert margin.physical
        assert margin.pseudo_inertia > 0.0 and margin.triangle > 0.0 and margin.mass > 0.0


@needs_solver
def test_given_the_tables_link_2_when_repaired_then_it_is_physical_and_within_its_rounding():
    link = table_link()
    repaired = nearest_physical(link, np.full(10, ROUNDING))
    assert not link.is_physical()
    assert repaired.is_physical()
    assert repaired.triangle_margin() > 0.0
    assert np.abs(repaired.parameters() - link.parameters()).max() <= ROUNDING


@needs_solver
def test_given_the_tables_link_2_when_repaired_then_another_solver_finds_no_nearer_one():
    link = table_link()
    printed = link.parameters()
    repaired = nearest_physical(link, np.full(10, ROUNDING))
    distance = np.linalg.norm(repaired.parameters() - printed) / ROUNDING

    def smallest_eigenvalue(moves):
        moved = LinkInertia.from_parameters(printed + ROUNDING * moves)
        return moved.consistency_margin() / ROUNDING - 1e-3

    rng = np.random.default_rng(0)
    results = [
        minimize(
            lambda moves: moves @ moves,
            rng.uniform(-0.3, 0.3, 10),
            jac=lambda moves: 2.0 * moves,
            bounds=[(-1.0, 1.0)] * 10,
            constraints={'type': 'ineq', 'fun': smallest_eigenvalue},
            options={'ftol': 1e-14, 'maxiter': 500},
        )
        for _ in range(5)
    ]
    nearest = min(np.sqrt(result.fun) for result in results if result.success)
    np.testing.assert_allclose(distance, nearest, rtol=DISTANCE_RTOL, atol=0.0)


@needs_solver
def test_given_numbers_that_may_not_move_when_repaired_then_they_stay():
    link = table_link()
    box = np.full(10, ROUNDING)
    box[6:] = 0.0
    repaired = nearest_physical(link, box)
    assert repaired.is_physical()
    np.testing.assert_array_equal(repaired.parameters()[6:], link.parameters()[6:])
    free = nearest_physical(link, np.full(10, ROUNDING))
    nearer, farther = (
        np.linalg.norm(body.parameters() - link.parameters()) for body in (free, repaired)
    )
    assert nearer < farther


@needs_solver
def test_given_a_box_without_a_body_when_repaired_then_it_is_said():
    with pytest.raises(
        InertiaError,
        match=r'No real body lies within the rounding of link X: '
        r'.*-1\.78e-05.*at most 1e-06 does not fix',
    ):
        nearest_physical(table_link(), np.full(10, 1e-6), name='link X')


def test_given_a_physical_link_when_repaired_then_it_comes_back_as_it_is():
    link = load('fer').links[0]
    assert nearest_physical(link, np.full(10, ROUNDING)) is link


@pytest.mark.parametrize('box', [np.full(9, ROUNDING), np.full(10, -1.0), np.full(10, np.nan)])
def test_given_a_malformed_box_when_repaired_then_it_is_refused(box):
    with pytest.raises(InertiaError, match='ten half-widths, none of them negative'):
        nearest_physical(table_link(), box)


@needs_solver
@pytest.mark.parametrize('hand', ['as_listed', 'none', 'franka_hand'])
def test_given_the_table_when_loaded_with_its_repair_then_it_can_be_used_and_says_so(hand):
    arm = load('fer', 'ledezma2021', hand=hand, repair=NEAREST_WITHIN_ROUNDING)
    arm.require_physical('a test')
    printed = load('fer', 'ledezma2021', hand=hand)
    for i, (link, before) in enumerate(zip(arm.links, printed.links)):
        moved = np.abs(link.parameters() - before.parameters()).max()
        assert (0.0 < moved <= ROUNDING) if i == 1 else moved == 0.0
    assert len(arm.repairs) == 1
    assert arm.repairs[0].startswith(
        'the link behind fer_joint2 was not physical as printed '
        '(eigenvalue -1.8e-05 of its pseudo-inertia)'
    )
    assert arm.repairs[0].endswith('within the rounding of 5e-05')


@needs_solver
def test_given_the_repaired_table_when_mujoco_builds_it_then_it_no_longer_refuses():
    mujoco = pytest.importorskip('mujoco')

    def build(link):
        spec = mujoco.MjSpec()
        body = spec.worldbody.add_body(
            mass=link.mass,
            ipos=link.center_of_mass,
            explicitinertial=True,
            fullinertia=link.inertia_at_center_of_mass[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)],
        )
        body.add_joint()
        return spec.compile()

    with pytest.raises(ValueError, match='inertia must satisfy'):
        build(table_link())
    build(load('fer', 'ledezma2021', repair=NEAREST_WITHIN_ROUNDING).links[1])


@needs_solver
@pytest.mark.parametrize('kind', ['urdf', 'mjcf'])
def test_given_the_table_when_written_then_it_is_refused_unless_repaired_and_says_so(kind):
    with pytest.raises(InertiaError, match='repair: nearest_within_rounding'):
        robot_text('fer', kind, 'ledezma2021')
    text = robot_text('fer', kind, 'ledezma2021', repair=NEAREST_WITHIN_ROUNDING)
    assert 'the link behind fer_joint2 was not physical as printed' in text.split('-->')[0]


@needs_solver
def test_given_the_table_when_simulated_then_it_is_refused_unless_repaired():
    pytest.importorskip('mujoco')
    with pytest.raises(InertiaError, match='cannot be used for the simulator'):
        build_mujoco(load('fer', 'ledezma2021'))
    build_mujoco(load('fer', 'ledezma2021', repair=NEAREST_WITHIN_ROUNDING))


@needs_solver
def test_given_the_table_when_a_node_loads_it_then_its_parameter_repairs_it():
    values = {spec.name: spec.default for spec in ARM_PARAMETERS}
    values['inertial_set'] = 'ledezma2021'
    with pytest.raises(InertiaError):
        load_arm(values).require_physical('commanding torques')
    load_arm({**values, 'repair': NEAREST_WITHIN_ROUNDING}).require_physical('commanding torques')


def test_given_a_physical_set_when_loaded_with_a_repair_then_nothing_changes():
    arm = load('fer', repair=NEAREST_WITHIN_ROUNDING)
    assert arm.links == load('fer').links
    assert arm.repairs == ()


def test_given_a_set_without_rounding_when_repaired_then_it_is_said():
    with pytest.raises(
        InertiaError,
        match=r"'franka_description' of fer states no rounding.*"
        r'behind fer_joint4.*add `rounding`',
    ):
        load('fer', 'franka_description', repair=NEAREST_WITHIN_ROUNDING)


def test_given_an_unknown_repair_when_loaded_then_the_known_ones_are_named():
    with pytest.raises(
        DescriptionError,
        match=r"ledezma2021\.repair is 'guess'; it must be "
        'nearest_within_rounding',
    ):
        load('fer', 'ledezma2021', repair='guess')


def own_file(tmp_path, **changes):
    """Write a file with one link whose rounded tensor is of no body."""
    entry = {
        'source': 'test',
        'inertia_about': 'center_of_mass',
        'rounding': 5e-4,
        'links': [
            {
                'mass': 1.0,
                'center_of_mass': [0.1, 0.0, 0.0],
                'inertia': [0.001, 0.0, 0.0, 0.002, 0.0, 0.0032],
            }
        ],
        **changes,
    }
    path = tmp_path / 'own.yaml'
    path.write_text(
        yaml.safe_dump(
            {
                'name': 'own',
                'convention': 'modified',
                'default_set': 'rounded',
                'joints': [{'name': 'joint1', 'kind': 'revolute', 'dh': {}}],
                'inertial_sets': {'rounded': entry},
            }
        )
    )
    return path


@needs_solver
def test_given_a_table_about_the_center_of_mass_when_repaired_then_only_its_tensor_moves(tmp_path):
    path = own_file(tmp_path)
    printed, repaired = load(path).links[0], load(path, repair=NEAREST_WITHIN_ROUNDING).links[0]
    assert repaired.mass == printed.mass
    np.testing.assert_array_equal(repaired.first_moment, printed.first_moment)
    moved = repaired.inertia_at_center_of_mass - printed.inertia_at_center_of_mass
    assert 0.0 < np.abs(moved).max() <= 5e-4
    # A + B >= C misses by 2e-4; spread over three numbers, each moves by a third.
    np.testing.assert_allclose(
        np.diag(moved), np.array([1.0, 1.0, -1.0]) * 2e-4 / 3.0, rtol=0.01, atol=0.0
    )


@needs_solver
def test_given_a_file_that_asks_for_its_repair_when_loaded_then_it_is_done(tmp_path):
    path = own_file(tmp_path, repair=NEAREST_WITHIN_ROUNDING)
    assert load(path).links[0].is_physical()


def test_given_no_solver_when_a_repair_is_asked_for_then_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, 'cvxpy', None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'franka_dynamics\[identify\]'"):
        load('fer', 'ledezma2021', repair=NEAREST_WITHIN_ROUNDING)


def test_given_no_repair_when_a_set_is_loaded_then_the_solver_is_not_imported():
    code = (
        "import sys; from franka_dynamics.arm import load; load('fer', 'ledezma2021'); "
        "sys.exit('cvxpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, '-c', code]).returncode == 0


def test_given_two_repairs_when_done_then_the_arm_keeps_both_sentences():
    arm = replace(load('fer'), repairs=('first',))
    assert repaired(arm).repairs == ('first',)
