# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller's parameters in generate_parameter_library's schema."""

import pytest
import yaml

from .cpp_core import PACKAGE

RANGES = {'bounds', 'gt', 'gt_eq', 'lt', 'lt_eq', 'lower_bounds', 'upper_bounds'}


def specifications(table, prefix=''):
    """Yield the name and the entry of each parameter of a table with groups."""
    for name, entry in table.items():
        if 'type' in entry:
            yield f'{prefix}{name}', entry
        else:
            yield from specifications(entry, f'{prefix}{name}.')


TEXT = (PACKAGE / 'src/feedforward_controller_parameters.yaml').read_text('utf-8')
PARAMETERS = dict(specifications(yaml.safe_load(TEXT)['feedforward_controller']))


@pytest.mark.parametrize('name', PARAMETERS)
def test_a_parameter_has_at_most_one_range_validator(name):
    # Of two, generate_parameter_library before 1.0.0 writes code that throws in on_init.
    rules = {rule.removesuffix('<>') for rule in PARAMETERS[name].get('validation', {})}
    assert len(rules & RANGES) <= 1
