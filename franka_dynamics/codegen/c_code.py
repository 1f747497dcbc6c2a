# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated equations as a header of C functions."""

from collections.abc import Sequence
import re

from .equations import Equations
from .file_comments import as_identifier, file_heading, quantity_summary
from ..constants import PRECISIONS
from ..errors import OutputError


def c_functions(equations: Equations, name_prefix: str, qualifiers: str = 'static inline') -> str:
    """
    Return C99 functions that evaluate equations at one state and, if any, set run-time parameters.

    Input arrays have n numbers, a wrench six. With parameters at run time, the text begins with a
    struct of prepared values and a function that fills the struct. The names of functions and
    struct begin with `name_prefix`, an identifier, and an underscore.
    """
    program = equations.program
    name = f'{name_prefix}_{equations.function_name}'
    inputs = [
        f'const double {array}[{equations.input_size(array)}]' for array in equations.input_names
    ]
    output = f'double {equations.output_name}{c_indices(equations.shape)}'
    # Without (void) compilers warn of unused arguments, such as q in the gravity of an arm of
    # prismatic joints.
    body = [f'  (void) {array};' for array, elements in program.inputs.items() if not elements]
    body += [f'  const double {line};' for line in program.body_lines('parameters->p')]
    body += [f'  {line};' for line in program.result_lines(equations.output_name, '][')]
    if not equations.run_time_parameters:
        return _function_text(f'{qualifiers} void {name}', [*inputs, output], body)
    struct = f'{name}_parameters'
    prepared_names = program.prepared_names
    prepare = [
        f'  const double {line};'
        for line in program.preparation_lines(equations.run_time_parameters)
    ]
    if prepared_names:
        prepare += [f'  parameters->p[{k}] = {value};' for k, value in enumerate(prepared_names)]
    else:
        # C has no arrays without elements: the one that there is is not used.
        prepare += ['  (void) X;', '  parameters->p[0] = 0.0;']
        body = ['  (void) parameters;', *body]
    prepare_function = _function_text(
        f'{qualifiers} void {name_prefix}_prepare_{equations.function_name}',
        [f'const double X[{len(equations.run_time_parameters)}]', f'{struct} *parameters'],
        prepare,
    )
    function = _function_text(
        f'{qualifiers} void {name}', [*inputs, f'const {struct} *parameters', output], body
    )
    return '\n'.join(
        [
            f'typedef struct {{ double p[{max(1, len(prepared_names))}]; }} {struct};\n',
            prepare_function,
            function,
        ]
    )


def c_indices(indices: Sequence[int]) -> str:
    """Return indices, or the sizes of an array, as C writes them, such as [7][7]."""
    return ''.join(f'[{index}]' for index in indices)


def _function_text(declaration: str, arguments: list[str], body: list[str]) -> str:
    """Return the text of a C function from its opening, arguments and lines."""
    listed = f',\n{" " * len(declaration)} '.join(arguments)
    return '\n'.join([f'{declaration}({listed})', '{', *body, '}', ''])


# Numbers of generated C that are no indices.
_REAL_NUMBER_PATTERN = re.compile(r'(?<![\w.])(\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+)')


def convert_precision(c_text: str, precision: str) -> str:
    """
    Return C functions' text converted to a precision, 'double' or 'float'; otherwise OutputError.

    Raises
    ------
    OutputError
        If the precision is neither of the two.

    """
    if precision not in PRECISIONS:
        raise OutputError(f'precision is {precision!r}; choose {" or ".join(PRECISIONS)}.')
    if precision == 'double':
        return c_text
    c_text = re.sub(r'\bdouble\b', 'float', c_text)
    c_text = re.sub(r'\b(sin|cos|sqrt)\(', r'\1f(', c_text)
    return _REAL_NUMBER_PATTERN.sub(r'\1f', c_text)


def c_header(
    listed: Sequence[Equations], *, precision: str = 'double', name: str | None = None
) -> str:
    """
    Return a C99 header with one arm's equations as functions; the header includes math.h only.

    With the `precision` float they compute in single precision, for microcontrollers. The names of
    functions and types begin with `name`, or else the arm's; headers with different names can be
    included together.

    Returns
    -------
    str
        The text of the header.

    Raises
    ------
    OutputError
        If `listed` is no list of equations, no quantity is listed, or one twice, or if the
        equations differ in arm, inertias, gravity or `ParameterMode` (baked or run-time).

    """
    head = file_heading(listed)
    prefix = as_identifier(name or listed[0].arm_name)
    functions = []
    for equations in listed:
        comment = comment_block([quantity_summary(equations)])
        code = convert_precision(c_functions(equations, prefix), precision)
        functions.append(f'{comment}\n{code}')
    return guarded_header(head, f'{prefix}_dynamics_h', ['#include <math.h>', '', *functions])


def comment_block(lines: Sequence[str]) -> str:
    """Return lines as a block comment of C, in which any */ is broken up."""
    commented = [f' * {line}'.rstrip().replace('*/', '* /') for line in lines]
    return '\n'.join(['/*', *commented, ' */'])


def guarded_header(heading: Sequence[str], guard_name: str, lines: Sequence[str]) -> str:
    """Return the text of a C header with a comment and an include guard around `lines`."""
    guard = guard_name.upper()
    opening = [comment_block(heading), f'#ifndef {guard}', f'#define {guard}', '']
    return '\n'.join([*opening, *lines, '#endif', ''])
