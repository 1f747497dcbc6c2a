# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Programs as Python functions that numba compiles and plain Python runs."""

from __future__ import annotations

from collections.abc import Iterable

from .program import Program, Result, Statement


def python_function(program: Program, docstring: str = '') -> str:
    """
    Return a program as the source of one Python function, or two.

    The function takes the program's input arrays, then (for parameters at run time) the prepared
    array `p`, then the output array, which it fills. The second function, `prepare_` and its
    name, takes the parameters in the program's order and fills `p`.
    """
    body = [f'    {name}{i} = {name}[{i - 1}]' for name, elements in program.inputs.items()
            for i in elements]
    body += [f'    {name} = p[{k}]' for k, name in enumerate(program.prepared)]
    body += _statements(program.statements)
    body += [f'    {_target(result)} = {result.expression}' for result in program.results]
    arguments = [*program.inputs, *(['p'] if program.parameters else []), _output(program)]
    text = _function(program.name, arguments, docstring, body)
    if not program.parameters:
        return text
    prepare = [f'    {name} = X[{k}]' for k, name in enumerate(program.parameters)]
    prepare += _statements(program.preparation)
    prepare += [f'    p[{k}] = {name}' for k, name in enumerate(program.prepared)]
    return text + '\n\n' + _function(f'prepare_{program.name}', ['X', 'p'],
                                     'Fill p from the parameters X.', prepare)


def _function(name: str, arguments: list[str], docstring: str, body: list[str]) -> str:
    lines = [f'def {name}({", ".join(arguments)}):']
    if docstring:
        lines.append(f'    """{docstring}"""')
    return '\n'.join([*lines, *body]) + '\n'


def _statements(statements: Iterable[Statement]) -> list[str]:
    return [f'    {s.target} = {s.function}({s.expression})' if s.function
            else f'    {s.target} = {s.expression}' for s in statements]


def _output(program: Program) -> str:
    return program.results[0].array


def _target(result: Result) -> str:
    return ' = '.join(f'{result.array}[{", ".join(map(str, place))}]' for place in result.places)
