# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One interface of all models: equal signatures, and the page's table of who has what."""

import inspect
from pathlib import Path

from franka_dynamics.batch.batch_model import BatchModel
from franka_dynamics.batch.traced_model import KernelModel, TracedModel
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel

PAGE = Path(__file__).parents[2] / 'docs' / 'howto' / 'from-python.md'
# JaxModel and TorchModel are KernelModels.
ENGINES = {
    '`Model`': (PinocchioModel,),
    '`NewtonEulerModel`, `ExponentialsModel`': (NewtonEulerModel, ExponentialsModel),
    '`BatchModel`, `JaxModel`, `TorchModel`, `TracedModel`': (
        BatchModel,
        KernelModel,
        TracedModel,
    ),
}


def methods(engine):
    """Return the parameters of an engine's public methods, without self, and their defaults."""
    found = {}
    for name, method in inspect.getmembers(engine, inspect.isfunction):
        if not name.startswith('_'):
            _, *parameters = inspect.signature(method).parameters.values()
            found[name] = [(one.name, one.default) for one in parameters]
    return found


def test_a_method_has_the_same_parameters_in_every_model():
    known = methods(PinocchioModel)
    for engine in (engine for column in ENGINES.values() for engine in column):
        for name, parameters in methods(engine).items():
            assert parameters == known.get(name, parameters), f'{engine.__name__}.{name}'


def test_the_pages_table_is_that_of_the_methods():
    lines = [f'| method | {" | ".join(ENGINES)} |', f'|---{"|---" * len(ENGINES)}|']
    for name, parameters in sorted(methods(PinocchioModel).items()):
        given = ', '.join(parameter for parameter, _ in parameters)
        has = [
            'yes' if all(name in methods(engine) for engine in column) else 'no'
            for column in ENGINES.values()
        ]
        lines.append(f'| `{name}({given})` | {" | ".join(has)} |')
    table = '\n'.join(lines)
    assert table in PAGE.read_text('utf-8'), f'the table should be:\n{table}'
