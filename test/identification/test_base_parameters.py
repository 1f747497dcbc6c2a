# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Base parameters by the direct method, against numerical rank, published counts and values."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from franka_dynamics.arm import Convention, load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import BaseParameterError, InertiaError
from franka_dynamics.identification.base_parameters import (
    ANY_GRAVITY,
    base_parameters,
    NO_GRAVITY,
    upper_bound,
)
from franka_dynamics.identification.numerical_base_parameters import numerical_base_parameters

PAGE = Path(__file__).parents[2] / 'docs' / 'theory' / 'base-parameters.md'

VERTICAL, TILTED = (0.0, 0.0, -9.81), (3.0, -5.0, -7.0)
GRAVITIES = {'vertical': VERTICAL, 'tilted': TILTED, 'none': NO_GRAVITY}
CONVENTIONS = list(Convention)
# Relative to max(1, |tau|); the worst of 1800 random arms and gravities was 1.6e-14.
EPS_TORQUE = 1e-12
# Coefficients of up to 3 from a least-squares solution; measured 2.3e-14.
ATOL_COEFFICIENT = 1e-12
# Values are printed to four decimals and the sums of masses times squared lengths carry that on;
# the quoted ones are rounded to six.
ATOL_QUOTED = 5.1e-7


def assert_torques_equal(actual, expected):
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=EPS_TORQUE * scale)


@pytest.mark.parametrize(
    'name, counts',
    [
        ('fer', (43, 45, 39)),
        ('fr3', (43, 45, 39)),
        ('scemi', (36, 38, 34)),
        ('rpr', (11, 13, 11)),
    ],
)
def test_a_known_arm_has_the_known_number_of_base_parameters(name, counts):
    for gravity, count in zip(GRAVITIES.values(), counts):
        assert len(base_parameters(load(name), gravity)) == count
    assert len(base_parameters(load(name), ANY_GRAVITY)) == counts[1]


@pytest.mark.parametrize('rotors', [False, True])
@pytest.mark.parametrize('gravity', [*GRAVITIES.values(), ANY_GRAVITY])
@pytest.mark.parametrize('name', ['fer', 'scemi', 'rpr'])
def test_base_parameters_by_qr_are_those_of_the_direct_method(name, gravity, rotors):
    direct = base_parameters(load(name), gravity, rotor_inertia=rotors)
    numerical = numerical_base_parameters(load(name), gravity, rotor_inertia=rotors)
    assert direct.columns == numerical.columns
    np.testing.assert_allclose(direct.matrix, numerical.matrix, rtol=0.0, atol=ATOL_COEFFICIENT)


def test_the_fers_regrouped_values_are_those_quoted():
    found = base_parameters(load('fer', 'ledezma2021'))
    values = dict(zip(found.names, found.values()))
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
    np.testing.assert_allclose(
        [values[name] for name in quoted], list(quoted.values()), rtol=0.0, atol=ATOL_QUOTED
    )


def test_the_fers_relations_read_as_in_the_paper():
    written = {relation.name: str(relation) for relation in base_parameters(load('fer')).relations}
    assert written['ZZR_1'] == 'ZZR_1 = ZZ_1 + YY_2'
    assert written['XXR_5'] == 'XXR_5 = XX_5 - YY_5 + YY_6 + 0.007744 m_7'
    assert written['mYR_4'] == 'mYR_4 = mY_4 + mZ_5 + 0.384 (m_5 + m_6 + m_7)'
    assert written['XY_2'] == 'XY_2'
    # a_4^2 = a_5^2 takes the masses behind link 4 out of this sum, to the last bit.
    assert written['XXR_3'] == 'XXR_3 = XX_3 - YY_3 + YY_4 - 0.00680625 m_4'


def test_every_standard_parameter_of_the_fer_is_sorted_somewhere():
    found = base_parameters(load('fer'))
    names = found.standard_names
    assert [names[k] for k in found.no_effect] == [
        'XX_1',
        'XY_1',
        'XZ_1',
        'YY_1',
        'YZ_1',
        'mX_1',
        'mY_1',
        'mZ_1',
        'm_1',
        'mZ_2',
        'm_2',
    ]
    assert sorted((*found.columns, *found.no_effect, *found.regrouped)) == list(range(70))


@pytest.mark.parametrize('convention', CONVENTIONS)
@pytest.mark.parametrize('seed', range(120))
def test_a_random_arms_base_parameters_are_as_many_as_the_rank(random_arm, convention, seed):
    arm = random_arm(seed, convention=convention)
    rotors = seed % 4 == 0
    for gravity in GRAVITIES.values():
        numerical = numerical_base_parameters(arm, gravity, rotor_inertia=rotors, count=40)
        found = base_parameters(arm, gravity, rotor_inertia=rotors)
        assert len(found) == numerical.rank
        without_rotors = base_parameters(arm, gravity) if rotors else found
        assert len(without_rotors) <= upper_bound(arm)


@pytest.mark.parametrize('convention', CONVENTIONS)
@pytest.mark.parametrize('seed', range(60))
def test_base_parameters_of_a_random_arm_keep_its_torque(random_arm, convention, seed):
    # Every second arm has odd angles and lengths only, where (20) and (21) have all their terms.
    arm = random_arm(seed, convention=convention, special=0.6 * (seed % 2), rotors=seed % 3 == 0)
    states = sample_states(arm, 10, seed)
    for gravity in GRAVITIES.values():
        found = base_parameters(arm, gravity)
        expected = NewtonEulerModel(arm, gravity).inverse_dynamics(*states)
        assert_torques_equal(found.regressor(*states) @ found.values(), expected)
        assert_torques_equal(
            NewtonEulerModel(found.grouped(), gravity).inverse_dynamics(*states), expected
        )


@pytest.mark.parametrize('name', ['fer', 'fr3', 'scemi'])
def test_base_parameters_of_a_known_arm_give_pinocchios_torque(name):
    arm = load(name)
    found = base_parameters(arm)
    states = sample_states(arm, 200, 0)
    model = PinocchioModel(arm)
    expected = np.array([model.inverse_dynamics(*state) for state in zip(*states)])
    assert_torques_equal(found.regressor(*states) @ found.values(), expected)


def test_parameters_for_any_gravity_give_each_gravitys_torque():
    arm = load('fer')
    found = base_parameters(arm, ANY_GRAVITY)
    states = sample_states(arm, 10, 0)
    for gravity in (VERTICAL, TILTED):
        assert_torques_equal(
            found.regressor(*states, gravity) @ found.values(),
            NewtonEulerModel(arm, gravity).inverse_dynamics(*states),
        )


def test_values_with_a_payload_predict_the_loaded_arm():
    arm = load('fer')
    found = base_parameters(arm)
    loaded = load('fer', hand='franka_hand')
    states = sample_states(arm, 10, 0)
    assert_torques_equal(
        found.regressor(*states) @ found.values(loaded),
        NewtonEulerModel(loaded).inverse_dynamics(*states),
    )


def test_a_base_on_a_wall_is_counted_under_tilted_gravity():
    pose = np.eye(4)
    pose[:3, :3] = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
    assert len(base_parameters(replace(load('fer'), base=pose))) == 45


def test_the_rotor_of_joint_1_joins_link_1s_own_inertia():
    # Both turn with dq_1 about one axis; behind the wrist nothing else does.
    found = base_parameters(load('fer'), rotor_inertia=True)
    assert 'ZZR_1 = ZZ_1 + YY_2 + Ia_1' in map(str, found.relations)
    assert {'Ia_3', 'Ia_4', 'Ia_5', 'Ia_6', 'Ia_7'} < set(found.names)


def test_an_arms_rotors_are_parameters_unless_told_otherwise(random_arm):
    assert base_parameters(random_arm(3, n=3, rotors=True)).matrix.shape[1] == 33
    assert base_parameters(random_arm(3, n=3)).matrix.shape[1] == 30


def test_a_regrouped_arm_is_refused_by_the_pinocchio_model():
    with pytest.raises(InertiaError, match='first moment'):
        PinocchioModel(base_parameters(load('fer')).grouped())


def test_lengths_in_millimetres_keep_the_base_parameters():
    # The rank decision must not depend on the unit of length.
    arm = load('fer')
    small = replace(
        arm,
        joints=tuple(
            replace(joint, row=replace(joint.row, a=1e-3 * joint.row.a, d=1e-3 * joint.row.d))
            for joint in arm.joints
        ),
    )
    assert base_parameters(small).columns == base_parameters(arm).columns


def test_an_arm_far_from_the_space_frame_keeps_its_rank_gap():
    pose = np.eye(4)
    pose[:3, 3] = (3e6, -2e6, 5e6)
    far = replace(load('scemi'), base=pose)
    assert base_parameters(far).rank_gap == base_parameters(load('scemi')).rank_gap


def test_a_twist_rounded_to_four_decimals_shows_in_the_rank_gap():
    # -1.5708 instead of -pi/2 is another arm, if a similar one: by 3.7e-6.
    arm = load('scemi')
    rounded = replace(
        arm,
        joints=tuple(
            replace(joint, row=replace(joint.row, alpha=round(joint.row.alpha, 4)))
            for joint in arm.joints
        ),
    )
    assert base_parameters(arm).rank_gap.smallest_kept > 0.1
    assert base_parameters(rounded).rank_gap.smallest_kept < 1e-5


@pytest.mark.parametrize(
    'gravity, sentence',
    [
        ((0.0, -9.81), r'three finite numbers .* got \[0.0, -9.81\]'),
        ((0.0, 0.0, np.nan), 'three finite numbers'),
        (np.zeros((0, 3)), 'three finite numbers'),
    ],
)
def test_given_bad_gravity_when_asked_then_the_sentence_names_it(gravity, sentence):
    with pytest.raises(BaseParameterError, match=sentence):
        base_parameters(load('fer'), gravity)


def test_vertical_parameters_are_refused_under_tilted_gravity():
    found = base_parameters(load('fer'), VERTICAL)
    states = sample_states(load('fer'), 1, 0)
    with pytest.raises(BaseParameterError, match=r'under \[3.0, -5.0, -7.0\] more parameters'):
        found.regressor(*states, TILTED)
    # Half the gravity, or none, is covered.
    assert found.regressor(*states, NO_GRAVITY).shape == (1, 7, 43)


def test_parameters_for_any_gravity_ask_for_one_to_regress():
    found = base_parameters(load('fer'), ANY_GRAVITY)
    with pytest.raises(BaseParameterError, match='say which one'):
        found.regressor(*sample_states(load('fer'), 1, 0))


def test_values_of_another_geometry_are_refused():
    with pytest.raises(BaseParameterError, match='scemi has another geometry than fer'):
        base_parameters(load('fer')).values(load('scemi'))


def test_too_few_values_put_back_say_how_many_are_needed():
    with pytest.raises(BaseParameterError, match=r'43 base parameters .* ZZR_1.* shape \(42,\)'):
        base_parameters(load('fer')).standard_vector(np.zeros(42))


def test_the_documented_example_prints_what_it_says(capsys):
    page = PAGE.read_text(encoding='utf-8')
    example = page.split('```python\n')[1].split('```')[0]
    names = {}
    exec(compile(example, 'base-parameters.md', 'exec'), names)
    printed = capsys.readouterr().out.strip()
    assert f'# {printed}' in example
    assert names['tau'].shape == (1000, 7) and names['beta'].shape == (43,)
