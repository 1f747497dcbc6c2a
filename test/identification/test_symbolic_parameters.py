# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Symbolic base parameters: the paper's example by its symbols, other arms by their numbers."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics.regressor import parameter_names, parameter_vector
from franka_dynamics.identification.base_parameters import ANY_GRAVITY, base_parameters, NO_GRAVITY
from franka_dynamics.identification.symbolic_parameters import symbolic_base_parameters

from .trees import TILTED, VERTICAL
from ..arms import make_random_arm

sp = pytest.importorskip('sympy')

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
    symbols = symbolic_base_parameters(load('scemi'))
    lines = symbols.as_text().splitlines()
    written = dict(line.split(' = ') for line in lines if line.partition(' = ')[0] in SCEMI)
    assert symbols.regrouped.keys() == written.keys() == SCEMI.keys()
    for name, expected in SCEMI.items():
        assert sp.expand(sp.sympify(written[name]) - sp.sympify(expected)) == 0, name
    values = {str(letter): value for letter, value in symbols.values.items()}
    assert values == {'D3': 0.5, 'RL4': 0.4}


KNOWN = [
    (load(name), gravity, True)
    for name in ('fer', 'stanford', 'scemi')
    for gravity in (VERTICAL, ANY_GRAVITY, NO_GRAVITY)
]
RANDOM = [
    (make_random_arm(seed, n=5, special=(0.0, 0.5, 0.9)[seed]), gravity, None)
    for seed in range(3)
    for gravity in (TILTED, NO_GRAVITY)
]


@pytest.mark.parametrize(('arm', 'gravity', 'rotors'), [*KNOWN, *RANDOM])
def test_symbols_with_numbers_are_an_arms_eliminations(arm, gravity, rotors):
    found = base_parameters(arm, gravity, rotor_inertia=rotors)
    symbols = symbolic_base_parameters(arm, gravity, rotor_inertia=rotors)
    assert tuple(symbols.relations) == found.names
    matrix = np.zeros(found.matrix.shape)
    for row, terms in zip(matrix, symbols.relations.values()):
        for factor, members in terms:
            for name in members:
                row[found.standard_names.index(name)] = sp.sympify(factor).subs(symbols.values)
    np.testing.assert_allclose(matrix, found.matrix, rtol=0.0, atol=ATOL_MAP)


def test_the_text_is_python_that_gives_the_arms_values():
    arm = load('fer', 'ledezma2021')
    names = dict(zip(parameter_names(7), parameter_vector(arm)))
    exec(compile(symbolic_base_parameters(arm).as_text(), 'symbols', 'exec'), names)
    found = base_parameters(arm)
    values = [names[name] for name in found.names]
    np.testing.assert_allclose(values, found.values(), rtol=0.0, atol=1e-12)
