# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fields of a YAML table: read with their type, or refused in a sentence that says where."""

from enum import Enum
from pathlib import Path

import numpy as np
import pytest

from franka_dynamics.arm.strict_yaml import YamlTable
from franka_dynamics.errors import DescriptionError


class Colour(str, Enum):
    RED = 'red'
    BLUE = 'blue'


def table(**values):
    return YamlTable(values, Path('arm.yaml'), 'joints[2]')


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('pi', np.pi),
        ('-pi/2', -np.pi / 2),
        ('+pi/4', np.pi / 4),
        ('3*pi/4', 3 * np.pi / 4),
        ('2pi', 2 * np.pi),
        ('0.25*pi', np.pi / 4),
        ('- pi / 2', -np.pi / 2),
        ('.5 pi', np.pi / 2),
        (0.3, 0.3),
        (1, 1.0),
    ],
)
def test_given_an_angle_when_read_then_it_is_in_radians(text, expected):
    assert table(alpha=text).angle('alpha') == pytest.approx(expected, rel=1e-15, abs=0.0)


@pytest.mark.parametrize(
    ('read', 'value', 'sentence'),
    [
        ('number', '0.3', "must be a number, not '0.3'"),
        ('number', True, 'must be a number, not True'),
        ('number', None, 'must be a number, not None'),
        ('number', float('nan'), 'is nan; it must be finite'),
        ('number', float('-inf'), 'is -inf; it must be finite'),
        ('number', 10**400, 'is inf; it must be finite'),
        ('positive', 0.0, 'is 0; it must be positive'),
        ('angle', 'tau', "must be a number or a text such as '-pi/2', not 'tau'"),
        ('angle', '*pi', 'must be a number or a text'),
        ('angle', 'pi/0', "is 'pi/0', which divides by zero"),
        ('angle', 90, 'is 90 rad, more than a turn; angles are in radians'),
        ('text', 7, 'must be a text, not 7'),
        ('text', ' ', "must be a text, not ' '"),
        ('table', [1], r'must be a mapping, not \[1\]'),
        ('tables', {'a': 1}, 'must be a list of mappings'),
    ],
)
def test_a_value_of_another_kind_is_refused_naming_its_field(read, value, sentence):
    with pytest.raises(DescriptionError, match=rf'^arm.yaml: joints\[2\].field {sentence}'):
        getattr(table(field=value), read)('field')


def test_given_no_such_field_when_read_then_it_is_missing():
    with pytest.raises(DescriptionError, match=r'^arm.yaml: joints\[2\].mass is missing'):
        table().number('mass')


def test_a_default_is_taken_only_for_an_absent_field():
    assert table().number('a', 0.5) == 0.5
    assert table(a=1).number('a', 0.5) == 1.0


@pytest.mark.parametrize(
    ('value', 'sentence'),
    [
        ([1.0, 2.0], r'limits must be a list of 3 numbers, not \[1.0, 2.0\]'),
        (1.0, 'limits must be a list of 3 numbers, not 1.0'),
        ([1.0, 2.0, 'x'], r"limits\[3\] must be a number, not 'x'"),
        ([1.0, float('nan'), 2.0], r'limits\[2\] is nan; it must be finite'),
    ],
)
def test_given_a_list_at_fault_when_read_then_the_entry_is_named(value, sentence):
    with pytest.raises(DescriptionError, match=sentence):
        table(limits=value).numbers('limits', 3)


def test_an_unknown_choice_lists_the_choices():
    assert table(colour='red').choice('colour', Colour) is Colour.RED
    with pytest.raises(DescriptionError, match="colour is 'green'; it must be red or blue"):
        table(colour='green').choice('colour', Colour)


def test_a_misspelt_field_is_refused_by_name():
    with pytest.raises(DescriptionError, match='aplha is not a known field; known here are a, al'):
        table(aplha=0.0).only({'alpha', 'a'})


def test_an_entry_that_is_no_mapping_is_refused_by_its_place():
    with pytest.raises(DescriptionError, match=r'links\[2\] must be a mapping, not 3'):
        table(links=[{}, 3]).tables('links')


def test_errors_in_a_named_entry_carry_its_name():
    entry = table(links=[{'name': 'upper'}]).tables('links')[0]
    with pytest.raises(DescriptionError, match=r'links\[1\] \(upper\).mass is missing'):
        entry.number('mass')


def test_joint_positions_of_several_turns_are_allowed():
    np.testing.assert_allclose(
        table(home=[7.0, '-pi/2']).positions('home', 2), [7.0, -np.pi / 2], rtol=0.0, atol=0.0
    )
