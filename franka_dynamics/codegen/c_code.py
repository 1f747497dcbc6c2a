# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated equations as functions of C, in a header."""

from collections.abc import Sequence
import re

from .equations import Equations
from .file_text import as_identifier, file_heading, quantity_summary
from .options import PRECISIONS
from .quantities import TWIST_SIZE
from ..errors import OutputError


def c_functions(equations: Equations, prefix: str, qualifiers: str = 'static inline') -> str:
    """
    Return equations as a C99 function; input arrays have n numbers, a wrench six.

    With parameters at run time, the text begins with a struct of prepared values and a function
    that fills the struct. The names of functions and struct begin with `prefix`, an identifier,
    and an underscore.
    """
    program, name = equations.program, f'{prefix}_{equations.name}'
    output = f'double {equations.output}' + ''.join(f'[{size}]' for size in equations.shape)
    arguments = [
        f'const double {array}[{TWIST_SIZE if array == "wrench" else equations.n}]'
        for array in equations.arrays
    ]
    # Without (void) compilers warn of unused arguments, such as q in the gravity of an arm of
    # prismatic joints.
    body = [f'  (void) {array};' for array, elements in program.inputs.items() if not elements]
    body += program.body_lines('  const double ', 'parameters->p', ';')
    body += [f'  {line};' for line in program.result_lines(equations.output, '][')]
    if not equations.parameters:
        return _function_text(f'{qualifiers} void {name}', [*arguments, output], body)
    if not program.prepared:
        body.insert(0, '  (void) parameters;')
    struct = f'{name}_parameters'
    prepare = program.preparation_lines(equations.parameters, '  const double ', ';')
    prepare += [f'  parameters->p[{k}] = {value};' for k, value in enumerate(program.prepared)]
    prepare += [] if program.prepared else ['  (void) X;', '  parameters->p[0] = 0.0;']
    return '\n'.join(
        [
            f'typedef struct {{ double p[{max(1, len(program.prepared))}]; }} {struct};\n',
            _function_text(
                f'{qualifiers} void {prefix}_prepare_{equations.name}',
                [f'const double X[{len(equations.parameters)}]', f'{struct} *parameters'],
                prepare,
            ),
            _function_text(
                f'{qualifiers} void {name}',
                [*arguments, f'const {struct} *parameters', output],
                body,
            ),
        ]
    )


def _function_text(opening: str, arguments: list[str], body: list[str]) -> str:
    """Return the text of a C function from its opening, arguments and lines."""
    listed = f',\n{" " * len(opening)} '.join(arguments)
    return '\n'.join([f'{opening}({listed})', '{', *body, '}', ''])


# Numbers of generated C that are no indices.
_REAL_NUMBER_PATTERN = re.compile(r'(?<![\w.])(\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+)')


def convert_precision(functions: str, precision: str) -> str:
    """
    Return C functions in double or float precision: arguments, constants, sines and cosines.

    Raises
    ------
    OutputError
        If the precision is neither of the two.

    """
    if precision not in PRECISIONS:
        raise OutputError(f'precision is {precision!r}; choose {" or ".join(PRECISIONS)}.')
    if precision == 'double':
        return functions
    functions = re.sub(r'\bdouble\b', 'float', functions)
    return _REAL_NUMBER_PATTERN.sub(r'\1f', re.sub(r'\b(sin|cos|sqrt)\(', r'\1f(', functions))


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
    head, prefix = file_heading(listed), as_identifier(name or listed[0].arm_name)
    comments = (comment_block([quantity_summary(each)]) for each in listed)
    codes = (convert_precision(c_functions(each, prefix), precision) for each in listed)
    functions = [f'{comment}\n{code}' for comment, code in zip(comments, codes)]
    return guarded_header(head, f'{prefix}_dynamics_h', ['#include <math.h>', '', *functions])


def comment_block(lines: Sequence[str]) -> str:
    """Return lines as a comment of C, which a name that contains */ does not end."""
    return '\n'.join(['/*', *(f' * {one}'.rstrip().replace('*/', '* /') for one in lines), ' */'])


def guarded_header(head: Sequence[str], name: str, lines: Sequence[str]) -> str:
    """Return the text of a C header: a comment, then the lines within an include guard."""
    guard = name.upper()
    opening = [comment_block(head), f'#ifndef {guard}', f'#define {guard}', '']
    return '\n'.join([*opening, *lines, '#endif', ''])
