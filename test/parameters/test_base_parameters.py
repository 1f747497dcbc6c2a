# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Base parameters in numbers, in symbols and by the direct method, against published values."""

from dataclasses import replace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import Convention, DHRow, Joint, JointKind
from franka_dynamics.arm.frames import to_modified_convention
from franka_dynamics.dynamics.body_tree import as_body_tree, BASE_BODY
from franka_dynamics.errors import BaseParameterError, JointVectorError
from franka_dynamics.parameters import base_parameters, direct_method
from franka_dynamics.parameters.relations import Relation

from ..agreement import assert_close, refuses
from ..arms import make_random_arm, with_row
from ..dynamics.trees import (
    GRAVITIES,
    random_tree,
    random_tree_of_rows,
    TILTED,
    VERTICAL,
)

FER = fd.load('fer')
STATES = fd.sample_states(FER, 10, 0)
# Coefficients of up to 3 from a least-squares solution; measured 2.3e-14.
ATOL_COEFFICIENT = 1e-12
# The published inertias have four decimals, and errors of masses times squared lengths add up; the
# quoted base parameters have six decimals.
ATOL_QUOTED = 5.1e-7


@pytest.mark.parametrize(
    ('name', 'counts'),
    [
        ('fer', (43, 45, 39)),
        ('fr3', (43, 45, 39)),
        ('scemi', (36, 38, 34)),
        ('rpr', (11, 13, 11)),
    ],
)
def test_a_known_arm_has_the_known_number_of_base_parameters(name, counts):
    found = [len(fd.base_parameters(fd.load(name), gravity)) for gravity in GRAVITIES]
    assert found == [*counts, counts[1]]


def test_the_fers_regrouped_values_are_those_quoted():
    found = fd.base_parameters(fd.load('fer', 'ledezma2021'))
    quoted = {
        'ZZR_1': 0.0373,
        'XXR_2': 1.067532,
        'ZZR_2': 1.113632,
        'mYR_2': -3.335042,
        'mXR_3': 0.744337,
        'XXR_4': 0.643579,
        'mXR_4': -0.550335,
        'mYR_4': 2.000972,
        'ZZR_6': 0.051549,
        'XXR_7': 0.0024,
    }
    values = dict(zip(found.names, found.values()))
    assert {name: values[name] for name in quoted} == pytest.approx(quoted, rel=0, abs=ATOL_QUOTED)


@pytest.mark.parametrize('seed', range(12))
def test_a_random_trees_base_parameters_keep_its_torques(seed):
    tree = random_tree_of_rows(seed, special=(0.6, 0.85, 0.95)[seed % 3])
    gravity = GRAVITIES[seed % 4]
    found = fd.base_parameters(tree, gravity)
    rank, lost = found.check_at_random_states()
    assert rank == len(found) and lost < ATOL_COEFFICIENT
    states = np.random.default_rng(3).uniform(-2.0, 2.0, (3, 12, tree.n))
    vector = np.atleast_2d(gravity)[0]
    # The tree's inverse dynamics is a recursion without a regressor.
    expected = fd.tree_motion(tree, *states, gravity=vector).tau
    assert_close(found.regressor(*states, vector) @ found.values(), expected)


def test_joints_along_any_axis_of_their_bodies_are_regrouped():
    tree = random_tree(4, (BASE_BODY, 0, 1, 1, 0, BASE_BODY, 5))
    states = np.random.default_rng(3).uniform(-2.0, 2.0, (3, 12, tree.n))
    expected = fd.tree_motion(tree, *states)
    found = fd.base_parameters(tree)
    assert_close(found.regressor(*states) @ found.values(), expected.tau)


@pytest.mark.parametrize('convention', Convention)
@pytest.mark.parametrize('seed', range(12))
def test_base_parameters_of_a_random_arm_keep_its_torque(convention, seed):
    # With general angles and lengths (20) and (21) have all their terms; with zero lengths and
    # right angles parameters near the base vanish.
    special = (0.0, 0.6, 0.85, 0.95)[seed % 4]
    rotors = seed % 3 == 0
    kind = {'convention': convention, 'special': special, 'rotors': rotors}
    arm = make_random_arm(seed, base=seed % 2, **kind)
    states = fd.sample_states(arm, 10, seed)
    for gravity in GRAVITIES:
        found = fd.base_parameters(arm, gravity)
        # Parameters for any gravity need the vector; others have their own.
        given, vector = (
            ((TILTED,), TILTED) if gravity is base_parameters.GRAVITY_BASIS_M_S2 else ((), gravity)
        )
        rank, lost = found.check_at_random_states()
        assert rank == len(found) and lost < ATOL_COEFFICIENT
        assert rotors or len(found) <= base_parameters.max_base_parameter_count(arm)
        expected = fd.NewtonEulerModel(arm, vector).inverse_dynamics(*states)
        assert_close(found.regressor(*states, *given) @ found.values(), expected)
        regrouped = fd.NewtonEulerModel(found.regrouped_arm(), vector)
        assert_close(regrouped.inverse_dynamics(*states), expected)


def test_the_rotor_of_joint_1_joins_link_1s_own_inertia():
    # Both turn with dq_1 about one axis; behind the wrist nothing else does.
    found = fd.base_parameters(FER, rotor_inertia=True)
    assert 'ZZR_1 = ZZ_1 + YY_2 + Ia_1' in map(str, found.relations)
    assert {'Ia_3', 'Ia_4', 'Ia_5', 'Ia_6', 'Ia_7'} < set(found.names)


def test_rank_does_not_depend_on_unit_of_length_or_base():
    rows = (replace(one.row, a=1e-3 * one.row.a, d=1e-3 * one.row.d) for one in FER.joints)
    joints = tuple(replace(one, row=row) for one, row in zip(FER.joints, rows))
    pose = np.eye(4)
    scemi = fd.load('scemi')
    pose[:3, 3] = (3e6, -2e6, 5e6)
    for arm, changed in (
        (FER, replace(FER, joints=joints)),
        (scemi, replace(scemi, base=pose)),
    ):
        found = fd.base_parameters(changed)
        assert found.columns == fd.base_parameters(arm).columns
        assert found.column_gap.min_kept_norm > 1e-3


def test_a_twist_that_nearly_vanishes_shows_in_the_rank_gap():
    # Axes 1 and 2 are parallel to within 3.7e-6 rad: more base parameters than if they were.
    arm = fd.load('scemi')
    twisted = (with_row(arm, 1, alpha=alpha) for alpha in (arm.joints[1].row.alpha, 0.0, 3.7e-6))
    kept = [fd.base_parameters(one).column_gap.min_kept_norm for one in twisted]
    assert min(kept[:2]) > 1e-3 and kept[2] < 1e-5


@pytest.mark.parametrize(
    ('call', 'names'),
    [
        *(
            (lambda given=given: fd.base_parameters(FER, given), ('Gravity', 'three'))
            for given in (
                (0.0, -9.81),
                (0.0, 0.0, np.nan),
                np.zeros((0, 3)),
                'up',
                [[0.0], 1.0],
            )
        ),
        *(
            (lambda x=x: fd.base_parameters(FER).regrouped_arm(x), ('base parameters',))
            for x in (1.0, 'text', [[0.0], 1.0], np.zeros(3))
        ),
        *(
            (
                lambda x=x: fd.base_parameters(FER, 'any').regressor(*STATES, x),
                ('gravity vector',),
            )
            for x in ('up', [[0.0], 1.0], (0.0, np.nan, 0.0))
        ),
        (
            lambda: fd.base_parameters(FER, 'any').regressor(*STATES),
            ('gravity vector',),
        ),
        (
            lambda: fd.base_parameters(FER, VERTICAL).regressor(*STATES, TILTED),
            ('[3.0, -5.0',),
        ),
        (lambda: fd.base_parameters(FER).values(fd.load('scemi')), ('scemi', 'fer')),
        (lambda: fd.base_parameters(as_body_tree(FER)).regrouped_arm(), ('tree', 'arm')),
    ],
)
def test_gravity_and_geometry_that_do_not_fit_are_refused(call, names):
    with refuses((BaseParameterError, JointVectorError), *names):
        call()


def test_parameters_for_vertical_gravity_hold_without_gravity():
    # Half the gravity vector, and none, lie in its span.
    assert fd.base_parameters(FER, VERTICAL).regressor(
        *STATES, base_parameters.NO_GRAVITY
    ).shape == (10, 7, 43)


def test_values_with_a_payload_predict_the_loaded_arm():
    found = fd.base_parameters(FER)
    loaded = fd.load('fer', hand='franka_hand')
    expected = fd.NewtonEulerModel(loaded).inverse_dynamics(*STATES)
    assert_close(found.regressor(*STATES) @ found.values(loaded), expected)


# Section 9 of the paper as corrected, in its own symbols, transcribed by hand.
SCEMI = {
    'ZZR_1': 'ZZ_1 + YY_2 + YY_3 + D3**2*(m_3 + m_4 + m_5 + m_6)',
    'XXR_2': 'XX_2 - YY_2 - D3**2*(m_3 + m_4 + m_5 + m_6)',
    'XZR_2': 'XZ_2 - D3*mZ_3',
    'ZZR_2': 'ZZ_2 + D3**2*(m_3 + m_4 + m_5 + m_6)',
    'mXR_2': 'mX_2 + D3*(m_3 + m_4 + m_5 + m_6)',
    'XXR_3': 'XX_3 + YY_4 + 2*RL4*mZ_4 + RL4**2*(m_4 + m_5 + m_6) - YY_3',
    'ZZR_3': 'ZZ_3 + YY_4 + 2*RL4*mZ_4 + RL4**2*(m_4 + m_5 + m_6)',
    'mYR_3': 'mY_3 + mZ_4 + RL4*(m_4 + m_5 + m_6)',
    'XXR_4': 'XX_4 + YY_5 - YY_4',
    'ZZR_4': 'ZZ_4 + YY_5',
    'mYR_4': 'mY_4 - mZ_5',
    'XXR_5': 'XX_5 + YY_6 - YY_5',
    'ZZR_5': 'ZZ_5 + YY_6',
    'mYR_5': 'mY_5 + mZ_6',
    'XXR_6': 'XX_6 - YY_6',
}
# The map's entries are of order one.
ATOL_MAP = 1e-12


def test_scemi_in_symbols_is_the_papers_section_9():
    import sympy as sp  # many tests' processes do without it

    from franka_dynamics.parameters.symbolic_parameters import symbolic_base_parameters

    symbols = symbolic_base_parameters(fd.load('scemi'))
    lines = symbols.as_text().splitlines()
    written = dict(line.split(' = ') for line in lines if line.partition(' = ')[0] in SCEMI)
    assert symbols.sums.keys() == written.keys() == SCEMI.keys()
    for name, expected in SCEMI.items():
        assert sp.expand(sp.sympify(written[name]) - sp.sympify(expected)) == 0, name
    values = {str(letter): value for letter, value in symbols.values.items()}
    assert values == {'D3': 0.5, 'RL4': 0.4}


KNOWN = [
    (fd.load(name), gravity, True)
    for name in ('fer', 'stanford', 'scemi')
    for gravity in (
        VERTICAL,
        base_parameters.GRAVITY_BASIS_M_S2,
        base_parameters.NO_GRAVITY,
    )
]
RANDOM = [
    (make_random_arm(seed, n=5, special=(0.0, 0.5, 0.9)[seed]), gravity, None)
    for seed in range(3)
    for gravity in (TILTED, base_parameters.NO_GRAVITY)
]


@pytest.mark.parametrize(('arm', 'gravity', 'rotors'), [*KNOWN, *RANDOM])
def test_symbols_with_numbers_are_an_arms_eliminations(arm, gravity, rotors):
    from franka_dynamics.parameters.symbolic_parameters import symbolic_base_parameters

    found = fd.base_parameters(arm, gravity, rotor_inertia=rotors)
    symbols = symbolic_base_parameters(arm, gravity, rotor_inertia=rotors)
    assert tuple(symbols.relations) == found.names
    matrix = np.zeros(found.matrix.shape)
    for row, terms in zip(matrix, symbols.relations.values()):
        for factor, members in terms:
            for name in members:
                row[found.standard_names.index(name)] = factor.subs(symbols.values)
    np.testing.assert_allclose(matrix, found.matrix, rtol=0.0, atol=ATOL_MAP)


def test_the_text_is_python_that_gives_the_arms_values():
    from franka_dynamics.parameters.symbolic_parameters import symbolic_base_parameters

    arm = fd.load('fer', 'ledezma2021')
    names = dict(zip(fd.parameter_names(7), fd.parameter_vector(arm)))
    exec(compile(symbolic_base_parameters(arm).as_text(), 'symbols', 'exec'), names)
    found = fd.base_parameters(arm)
    values = [names[name] for name in found.names]
    np.testing.assert_allclose(values, found.values(), rtol=0.0, atol=1e-12)


# Energies per parameter of order 100; measured 6e-13.
ATOL_ENERGY = 1e-11
# Coefficients of up to 3, computed by both methods; measured difference 2.3e-14.
# Of known arms, relative to the value or to 1: sums of some dozen products, each rounded to 1e-16
# of its value, which BLAS adds in another order on each kind of processor; 4e-15 seen with five.
SUMS_OF_PRODUCTS = 5e-14

ARMS = {
    **{name: fd.load(name) for name in ('fer', 'fr3', 'scemi', 'stanford')},
    'rpr': to_modified_convention(fd.load('rpr')),
}


@pytest.mark.parametrize('seed', range(8))
def test_lambda_transforms_energies_of_a_link_at_rest(seed):
    # `energy_regressors` computes energies from twists and poses, without lambda.
    arm = make_random_arm(seed, n=4, special=(0.0, 0.6)[seed % 2], base=True)
    q, dq = np.random.default_rng(seed).uniform(-2.0, 2.0, (2, 4))
    found = np.zeros((2, 10))
    found[1, 6:] = -np.asarray(TILTED) @ arm.base[:3]
    for j, (joint, row) in enumerate(zip(arm.joints, direct_method.modified_dh_rows(arm))):
        turns = joint.kind is JointKind.REVOLUTE
        still = np.where(np.arange(4) < j, dq, 0.0)
        angle = joint.row.theta + q[j] * turns
        at = row._replace(ct=np.cos(angle), st=np.sin(angle), r=row.r + q[j] * (not turns))
        expected = np.reshape(fd.energy_regressors(arm, q, still, TILTED), (2, 4, 10))[:, j]
        found = found @ direct_method.energy_regressor_transform(at).T
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL_ENERGY)
        found = np.reshape(fd.energy_regressors(arm, q, dq, TILTED), (2, 4, 10))[:, j]


@pytest.mark.parametrize('convention', Convention)
def test_energies_are_linear_in_parameters_of_both_conventions(convention):
    arm = make_random_arm(1, n=5, convention=convention)
    q, dq = np.random.default_rng(1).uniform(-2.0, 2.0, (2, 3, 2, 5))
    model = fd.NewtonEulerModel(arm, TILTED)
    X = fd.parameter_vector(arm)
    expected = model.kinetic_energy(q, dq), model.potential_energy(q)
    found = np.array(fd.energy_regressors(arm, q, dq, TILTED)) @ X
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL_ENERGY)


@pytest.mark.parametrize('rotors', [False, True])
@pytest.mark.parametrize('name', ARMS)
def test_the_direct_method_gives_the_qrs_map_of_known_arms(name, rotors):
    for gravity in GRAVITIES:
        found = fd.direct_base_parameters(ARMS[name], gravity, rotor_inertia=rotors)
        other = fd.base_parameters(ARMS[name], gravity, rotor_inertia=rotors)
        assert found.names == other.names
        agree = {'rtol': SUMS_OF_PRODUCTS, 'atol': SUMS_OF_PRODUCTS}
        np.testing.assert_allclose(found.matrix, other.matrix, **agree)
        np.testing.assert_allclose(found.values(), other.values(), **agree)
        assert found.column_gap.min_kept_norm > 1e-3 and found.column_gap.max_dropped_norm < 1e-13


@pytest.mark.parametrize('seed', range(12))
def test_the_direct_method_gives_the_qrs_map_of_a_random_arm(seed):
    special = (0.0, 0.6, 0.85, 0.95)[seed % 4]
    n = 2 + seed % 6
    rotors = seed % 3 == 0
    base = seed % 2
    arm = make_random_arm(seed, n=n, special=special, rotors=rotors, base=base)
    for gravity in GRAVITIES[seed % 2 :: 2]:
        found = fd.direct_base_parameters(arm, gravity)
        other = fd.base_parameters(arm, gravity)
        assert found.columns == other.columns
        np.testing.assert_allclose(found.matrix, other.matrix, rtol=0.0, atol=ATOL_COEFFICIENT)


@pytest.mark.parametrize(
    ('kind', 'gravity', 'kept'),
    [
        (JointKind.REVOLUTE, VERTICAL, {'ZZ_1'}),
        (JointKind.REVOLUTE, TILTED, {'ZZ_1', 'mX_1', 'mY_1'}),
        (JointKind.PRISMATIC, TILTED, {'m_1'}),
    ],
)
def test_a_single_joint_has_the_parameters_of_theorems_3_and_4(kind, gravity, kept):
    joint = Joint('j', kind, DHRow())
    arm = fd.ArmDescription('one', Convention.MODIFIED, (joint,), fd.load('scemi').links[:1])
    assert set(fd.direct_base_parameters(arm, gravity).names) == kept


def test_standard_and_modified_rows_have_the_same_parameters():
    found = fd.direct_base_parameters('rpr')
    assert found.description.convention is Convention.MODIFIED
    # At random states the regressor of that arm has this rank, and regrouping keeps its torques.
    rank, lost = found.check_at_random_states()
    assert len(found) == rank == 11 and lost < 1e-12


def test_a_relation_has_the_signs_of_its_coefficients():
    terms = ((1.0, 'XX_5'), (-1.0, 'YY_5'), (0.25, 'MZ_6'), (-0.5, 'M_6'))
    assert str(Relation('XXR_5', terms)) == 'XXR_5 = XX_5 - YY_5 + 0.25 MZ_6 - 0.5 M_6'
