# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated equations as Python source, as a Python module and as a callable function."""

from collections.abc import Callable, Sequence
from typing import Any

from .equations import Equations
from .file_comments import file_heading, quantity_summary


def python_function(equations: Equations, docstring: str = '') -> str:
    """
    Return the text of Python functions that evaluate equations and set run-time parameters.

    The function takes the input arrays, then (for parameters at run time) the prepared array `p`,
    then the output array, which it fills. If there are run-time parameters, a second function,
    `prepare_` and the first one's name, takes their array X in their order and fills `p`.
    """
    program = equations.program
    body = [
        *program.body_lines('p'),
        *program.result_lines(equations.output_name, ', '),
    ]
    prepared = ['p'] if equations.run_time_parameters else []
    arguments = [*equations.input_names, *prepared, equations.output_name]
    text = _function_text(equations.function_name, arguments, docstring, body)
    if not equations.run_time_parameters:
        return text
    prepare = program.preparation_lines(equations.run_time_parameters)
    prepare += [f'p[{k}] = {name}' for k, name in enumerate(program.prepared_names)]
    name = f'prepare_{equations.function_name}'
    docstring = 'Fill p from the parameters X.'
    return f'{text}\n\n{_function_text(name, ["X", "p"], docstring, prepare)}'


def python_callable(equations: Equations, xp: Any) -> Callable[..., None]:
    """
    Return a Python function that evaluates the equations with sin, cos and sqrt of a module `xp`.

    The function's inputs are sequences of values of any type that has +, -, * and (forward
    dynamics) /; the output is any object that supports assignment by index.
    """
    return python_functions(equations, xp)[equations.function_name]


def python_functions(equations: Equations, xp: Any) -> dict[str, Callable[..., None]]:
    """Return the functions of `python_function` by their names, as `python_callable` has them."""
    names: dict[str, Any] = {name: getattr(xp, name) for name in ('sin', 'cos', 'sqrt')}
    source = python_function(equations)
    file_name = f'<{equations.quantity.value} of {equations.arm_name}>'
    exec(compile(source, file_name, 'exec'), names)
    return names


def _function_text(name: str, arguments: list[str], docstring: str, body: list[str]) -> str:
    """Return the text of a Python function from its arguments, docstring and lines."""
    body = [f'"""{docstring}"""', *body] if docstring else body
    return '\n    '.join([f'def {name}({", ".join(arguments)}):', *body]) + '\n'


def python_module(listed: Sequence[Equations]) -> str:
    """
    Return the text of a Python module with a function per quantity, which numba can compile.

    Raises
    ------
    OutputError
        If `listed` is no list of equations, no quantity is listed, or one twice, or if the
        equations differ in arm, inertias, gravity or `ParameterMode` (baked or run-time).

    """
    comment = [f'# {line}'.rstrip() for line in file_heading(listed)]
    functions = [python_function(equations, quantity_summary(equations)) for equations in listed]
    lines = [
        *comment,
        '',
        'from math import cos, sin, sqrt',
        '',
        '',
        '\n\n'.join(functions),
    ]
    return '\n'.join(lines)
