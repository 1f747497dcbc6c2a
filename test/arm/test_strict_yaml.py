# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Values that YAML 1.1 would change silently are read as written, or refused."""

from functools import partial

import pytest

from franka_dynamics.arm import strict_yaml
from franka_dynamics.errors import DescriptionError

read_mapping = partial(strict_yaml.read_mapping, expected='an arm file starts with name')


def written(tmp_path, text):
    path = tmp_path / 'arm.yaml'
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        *(('1e-5', 1e-5), ('3.', 3.0), ('010', 10), ('.inf', float('inf'))),
        *((text, text) for text in ('1:30', '1:30.5', '1_000', '1_0.5', '0x10')),
    ],
)
def test_given_a_scalar_when_read_then_it_is_what_a_person_means(tmp_path, text, value):
    read = read_mapping(written(tmp_path, f'key: {text}'))['key']
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ('text', 'sentence'),
    [
        ('mass: 1\nother: 2\nmass: 3\n', r'arm.yaml: line 3: mass is given twice in one mapping'),
        ('2019: {}\n', r'line 1: the key 2019 is not a string; put it in quotes'),
        ('a: [1, 2\n', r'arm.yaml cannot be read as YAML: .*may be cut short'),
        ('a: !!python/object:os.system {}\n', r'cannot be read as YAML'),
        ('', r'holds no mapping \(it is empty or a bare NoneType\)'),
        ('[' * 1200, r'cannot be read as YAML'),
        ('a: 1\n---\nb: 2\n', r'cannot be read as YAML'),
        (f'name: mine\nmass: {"1" * 5000}\n', r'line 2: a number of 5000 digits'),
    ],
)
def test_a_file_at_fault_is_refused_in_one_sentence(tmp_path, text, sentence):
    with pytest.raises(DescriptionError, match=sentence) as error:
        read_mapping(written(tmp_path, text))
    assert '\n' not in str(error.value)


def test_a_folder_or_a_missing_file_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / 'missing.yaml'):
        with pytest.raises(DescriptionError, match=f'{path} cannot be read'):
            read_mapping(path)
