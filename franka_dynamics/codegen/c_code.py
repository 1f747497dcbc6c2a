# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Programs as C99 functions."""

from __future__ import annotations

from collections.abc import Iterable

from .program import Program, Result, Statement


def c_functions(program: Program, prefix: str, n: int) -> str:
    """
    Return a program as one C99 function, or, with parameters at run time, a struct and two.

    Parameters
    ----------
    program : Program
        What to compute.
    prefix : str
        Put in front of every name, with an underscore: an identifier.
    n : int
        Number of joints: the size of the input arrays.

    """
    name = f'{prefix}_{program.name}'
    square = len(program.results[0].places[0]) == 2
    output = f'double {program.results[0].array}[{n}]' + (f'[{n}]' if square else '')
    arguments = [f'const double {array}[{n}]' for array in program.inputs]
    body = [f'  const double {array}{i} = {array}[{i - 1}];'
            for array, elements in program.inputs.items() for i in elements]
    if not program.parameters:
        body += _statements(program.statements) + _results(program.results)
        return _function(name, [*arguments, output], body)
    struct = f'{name}_parameters'
    arguments.append(f'const {struct} *parameters')
    body += [f'  const double {value} = parameters->p[{k}];'
             for k, value in enumerate(program.prepared)]
    body += _statements(program.statements) + _results(program.results)
    prepare = [f'  const double {value} = X[{k}];' for k, value in enumerate(program.parameters)]
    prepare = [line for line, value in zip(prepare, program.parameters)
               if value in program.prepared or _is_read(value, program.preparation)]
    prepare += _statements(program.preparation)
    prepare += [f'  parameters->p[{k}] = {value};' for k, value in enumerate(program.prepared)]
    return '\n'.join([
        f'typedef struct {{ double p[{max(1, len(program.prepared))}]; }} {struct};\n',
        _function(f'{prefix}_prepare_{program.name}',
                  [f'const double X[{len(program.parameters)}]', f'{struct} *parameters'],
                  prepare),
        _function(name, [*arguments, output], body)])


def _function(name: str, arguments: list[str], body: list[str]) -> str:
    indent = ' ' * len(f'static inline void {name}(')
    listed = f',\n{indent}'.join(arguments)
    return '\n'.join([f'static inline void {name}({listed})', '{', *body, '}', ''])


def _statements(statements: Iterable[Statement]) -> list[str]:
    return [f'  const double {s.target} = {s.function}({s.expression});' if s.function
            else f'  const double {s.target} = {s.expression};' for s in statements]


def _results(results: Iterable[Result]) -> list[str]:
    lines = []
    for result in results:
        places = [f'{result.array}' + ''.join(f'[{i}]' for i in place) for place in result.places]
        lines.append(f'  {" = ".join(places)} = {result.expression};')
    return lines


def _is_read(name: str, statements: Iterable[Statement]) -> bool:
    return any(name in _words(statement.expression) for statement in statements)


def _words(expression: str) -> list[str]:
    return ''.join(c if c.isalnum() or c == '_' else ' ' for c in expression).split()
