# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated equations as a Python module or a C header, and their number of operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import re
import textwrap
from typing import Any, NamedTuple

from .equations import Equations, Quantity
from .options import PRECISIONS
from .program import Program
from ..arm import ArmDescription
from ..arm.frames import FLANGE
from ..errors import OutputError


class OperationCount(NamedTuple):
    """Numbers of multiplications and of additions, among which are subtractions and negations."""

    multiplications: int
    additions: int


# The sign of a number literal is not an operation.
_ADDITION = re.compile(r' [-+] |-(?=[A-Za-z_(])')


def operation_count(program: Program) -> OperationCount:
    """
    Return the numbers of multiplications and additions of one evaluation of a program.

    As in table 1 of Gautier and Khalil 1990, sines, cosines and index arithmetic are not counted;
    nor are divisions, which the table does not have, nor the preparation of parameters.
    """
    text = '\n'.join([*program.statements, *(result for _, result in program.results)])
    return OperationCount(text.count('*'), len(_ADDITION.findall(text)))


def c_functions(program: Program, prefix: str, n: int, qualifiers: str = 'static inline') -> str:
    """
    Return a program as a C99 function; input arrays have n numbers, a wrench six.

    With parameters at run time, the text begins with a struct of prepared values and a function
    that fills the struct. The names of functions and struct begin with `prefix`, an identifier,
    and an underscore.
    """
    name = f'{prefix}_{program.name}'
    output = f'double {program.output}' + ''.join(f'[{size}]' for size in program.shape)
    arguments = [
        f'const double {array}[{6 if array == "wrench" else n}]' for array in program.inputs
    ]
    # Without (void) compilers warn of unused arguments, such as q in the gravity of an arm of
    # prismatic joints.
    body = [f'  (void) {array};' for array, elements in program.inputs.items() if not elements]
    body += _body(program, '  const double ', 'parameters->p', ';')
    body += [f'  {line};' for line in _results(program, '][')]
    if not program.parameters:
        return _c_function(f'{qualifiers} void {name}', [*arguments, output], body)
    if not program.prepared:
        body.insert(0, '  (void) parameters;')
    struct = f'{name}_parameters'
    prepare = _preparation(program, '  const double ', ';')
    prepare += [f'  parameters->p[{k}] = {value};' for k, value in enumerate(program.prepared)]
    prepare += [] if program.prepared else ['  (void) X;', '  parameters->p[0] = 0.0;']
    return '\n'.join(
        [
            f'typedef struct {{ double p[{max(1, len(program.prepared))}]; }} {struct};\n',
            _c_function(
                f'{qualifiers} void {prefix}_prepare_{program.name}',
                [f'const double X[{len(program.parameters)}]', f'{struct} *parameters'],
                prepare,
            ),
            _c_function(
                f'{qualifiers} void {name}',
                [*arguments, f'const {struct} *parameters', output],
                body,
            ),
        ]
    )


def _body(program: Program, opening: str, prepared: str, end: str) -> list[str]:
    """Return the lines that read inputs and prepared values, then the statements' lines."""
    read = [
        f'{array}{i} = {array}[{i - 1}]'
        for array, elements in program.inputs.items()
        for i in elements
    ]
    read += [f'{name} = {prepared}[{k}]' for k, name in enumerate(program.prepared)]
    return [f'{opening}{text}{end}' for text in (*read, *program.statements)]


def _preparation(program: Program, opening: str, end: str) -> list[str]:
    """Return the lines that read the parameters and compute the prepared values."""
    words = {*program.prepared, *re.findall(r'\w+', ' '.join(program.preparation))}
    read = [f'{name} = X[{k}]' for k, name in enumerate(program.parameters) if name in words]
    return [f'{opening}{text}{end}' for text in (*read, *program.preparation)]


def _results(program: Program, between: str) -> list[str]:
    """Return assignments such as M[0][1] = M[1][0] = ...; `between` separates indices."""
    return [
        ' = '.join((*(f'{program.output}[{between.join(map(str, at))}]' for at in places), value))
        for places, value in program.results
    ]


def _c_function(opening: str, arguments: list[str], body: list[str]) -> str:
    listed = f',\n{" " * len(opening)} '.join(arguments)
    return '\n'.join([f'{opening}({listed})', '{', *body, '}', ''])


def python_function(program: Program, docstring: str = '') -> str:
    """
    Return a program's Python source, and that of a function that precomputes parameter terms.

    The function of the program takes the program's input arrays, then (for parameters at run time)
    the prepared array `p`, then the output array, which it fills. If there are parameters, the
    second function, `prepare_` and the program's name, takes the array X of the parameters in the
    program's order and fills `p`.
    """
    body = _body(program, '    ', 'p', '')
    body += [f'    {line}' for line in _results(program, ', ')]
    arguments = [*program.inputs, *(['p'] if program.parameters else []), program.output]
    text = _python_function(program.name, arguments, docstring, body)
    if not program.parameters:
        return text
    prepare = _preparation(program, '    ', '')
    prepare += [f'    p[{k}] = {name}' for k, name in enumerate(program.prepared)]
    name, docstring = f'prepare_{program.name}', 'Fill p from the parameters X.'
    return f'{text}\n\n{_python_function(name, ["X", "p"], docstring, prepare)}'


def python_callable(equations: Equations, xp: Any) -> Callable[..., None]:
    """
    Return a Python function that evaluates the equations with sin, cos and sqrt of a module `xp`.

    The function's inputs are sequences of values of any type that has +, -, * and (forward
    dynamics) /; the output is any object that supports assignment by index.
    """
    names: dict[str, Any] = {name: getattr(xp, name) for name in ('sin', 'cos', 'sqrt')}
    source = python_function(equations.program)
    exec(compile(source, f'<{equations.quantity.value} of {equations.arm_name}>', 'exec'), names)
    function: Callable[..., None] = names[equations.program.name]
    return function


def _python_function(name: str, arguments: list[str], docstring: str, body: list[str]) -> str:
    lines = [f'def {name}({", ".join(arguments)}):']
    if docstring:
        lines.append(f'    """{docstring}"""')
    return '\n'.join([*lines, *body]) + '\n'


_MEANING = {
    Quantity.INVERSE_DYNAMICS: 'tau = M(q) ddq + C(q, dq) dq + g(q)',
    Quantity.NONLINEAR_EFFECTS: 'tau = C(q, dq) dq + g(q)',
    Quantity.GRAVITY: 'tau = g(q)',
    Quantity.CORIOLIS: 'tau = C(q, dq) dq',
    Quantity.MASS_MATRIX: 'M = M(q), symmetric, rotor inertias on its diagonal',
    Quantity.DERIVATIVES: 'D[0] = dtau/dq, D[1] = dtau/d(dq), D[2] = M, of inverse dynamics',
    Quantity.CORIOLIS_MATRIX: 'C = C(q, dq) of Christoffel symbols: dM/dt = C + C^T',
    Quantity.FORWARD_DYNAMICS: 'ddq = M(q)^-1 (tau - C(q, dq) dq - g(q)), by L D L^T',
    Quantity.REGRESSOR: 'H with tau = H X without rotors, X the ten parameters of every link',
    Quantity.FLANGE_POSE: 'T = pose of {tip} in the space frame',
    Quantity.JACOBIAN: 'J with (v, omega) = J dq of {tip}',
    Quantity.BIAS_ACCELERATION: 'a = dJ/dt dq of {tip}, in space axes',
    Quantity.OPERATIONAL_SPACE_INERTIA: 'A = (J M^-1 J^T)^-1 at {tip}, in space axes',
    Quantity.FRAMES: "T = poses of the joints' frames and of the flange in the space frame",
    Quantity.FIRST_MOMENT: 'h = sum of mass times centre of mass of all links, in the space frame',
}
_NAMES = """Names: w, dw angular velocity and acceleration of a link, U = [dw] + [w][w],
a acceleration of a frame's origin (aP: in the axes of the frame before), f and n force and
moment at a joint; the digit is the link, the last letter the axis, in the link's own frame (of the
last link, before its joint turns). m_x holds -x."""


def python_module(sets: Sequence[Equations]) -> str:
    """
    Return the text of a Python module with a function per quantity, which numba can compile.

    Raises
    ------
    OutputError
        If `sets` is no list of equations, no quantity is listed, or one twice, the precision is
        neither double nor float, or if the equations differ in arm, inertias, gravity or
        `ParameterMode` (baked or run-time).

    """
    comment = [f'# {line}'.rstrip() for line in heading(sets)]
    functions = [python_function(equations.program, summary(equations)) for equations in sets]
    lines = [*comment, '', 'from math import cos, sin, sqrt', '', '', '\n\n'.join(functions)]
    return '\n'.join(lines)


# Numbers of generated C that are no indices.
_REAL_NUMBER = re.compile(r'(?<![\w.])(\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+)')


def in_precision(functions: str, precision: str) -> str:
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
    return _REAL_NUMBER.sub(r'\1f', re.sub(r'\b(sin|cos|sqrt)\(', r'\1f(', functions))


def c_header(
    sets: Sequence[Equations], *, precision: str = 'double', name: str | None = None
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
        If `sets` is no list of equations, no quantity is listed, or one twice, or if the
        equations differ in arm, inertias, gravity or `ParameterMode` (baked or run-time).

    """
    head, prefix = heading(sets), identifier(name or sets[0].arm_name)
    functions = [
        f'{comment([summary(each)])}\n'
        + in_precision(c_functions(each.program, prefix, each.n), precision)
        for each in sets
    ]
    return guarded(head, f'{prefix}_dynamics_h', ['#include <math.h>', '', *functions])


def comment(lines: Sequence[str]) -> str:
    """Return lines as a comment of C, which a name that contains */ does not end."""
    return '\n'.join(['/*', *(f' * {one}'.rstrip().replace('*/', '* /') for one in lines), ' */'])


def guarded(head: Sequence[str], name: str, lines: Sequence[str]) -> str:
    """Return a header of C with a comment as its head, that may be included twice."""
    guard = name.upper()
    return '\n'.join(
        [comment(head), f'#ifndef {guard}', f'#define {guard}', '', *lines, '#endif', '']
    )


_WITHOUT_MASS = (
    Quantity.FLANGE_POSE,
    Quantity.JACOBIAN,
    Quantity.BIAS_ACCELERATION,
    Quantity.FRAMES,
)
_WITHOUT_GRAVITY = (
    Quantity.MASS_MATRIX,
    Quantity.CORIOLIS,
    Quantity.CORIOLIS_MATRIX,
    Quantity.OPERATIONAL_SPACE_INERTIA,
    Quantity.FIRST_MOMENT,
)


def heading(sets: Sequence[Equations]) -> list[str]:
    """
    Return the comment at the top of a generated file: arm, parameters, meaning of the names.

    Raises
    ------
    OutputError
        If `sets` is no list of equations, no quantity is listed, or one twice, or if the
        equations differ in arm, inertias, gravity or `ParameterMode` (baked or run-time).

    """
    if not isinstance(sets, Sequence) or not all(isinstance(x, Equations) for x in sets):
        raise OutputError(
            'A file takes a list of equations, such as [customised_equations(arm, "gravity")]; '
            f'got {type(sets).__name__}.'
        )
    require_each_once([each.quantity.value for each in sets])
    equations = _alike(sets)
    return [
        *_lines(
            f'Customised equations of motion of {equations.arm_name}, in SI units. '
            f'{_known(equations)} Generated by franka-dynamics codegen.'
        ),
        '',
        *_lines(_NAMES),
    ]


def _alike(sets: Sequence[Equations]) -> Equations:
    """Return those of some equations that have most parameters; OutputError if they differ."""
    with_mass = [each for each in sets if each.quantity not in _WITHOUT_MASS]
    with_gravity = [each for each in with_mass if each.quantity not in _WITHOUT_GRAVITY]
    baked = [each for each in with_mass if not each.parameters]
    kinds = ['run_time' if each.parameters else 'baked' for each in with_mass]
    # The properties that must be the same in all listed equations, each with the values found and
    # their names in the error message.
    for of, found in (
        ('arm', {each.arm_name: each.arm_name for each in sets}),
        ('kind of parameters', {kind: kind for kind in kinds}),
        ('set of inertias', {one.description: f'that of {one.quantity.value}' for one in baked}),
        ('gravity', {each.gravity: each.gravity for each in with_gravity if not each.parameters}),
    ):
        if len(found) > 1:
            first, second, *_ = found.values()
            raise OutputError(
                f'The equations have more than one {of}: {first} and {second}; write a file for '
                'each.'
            )
    return (with_gravity or with_mass or sets)[0]


def _known(equations: Equations) -> str:
    """Return sentences on where the inertial parameters and gravity are."""
    if equations.parameters:
        return (
            'Inertial parameters and gravity are set at run time, by the functions '
            'called prepare: X holds for each link xx, xy, xz, yy, yz, zz, hx, hy, hz, m '
            '(inertia about the origin of its DH frame, first moment, mass) and the '
            "rotor's inertia, then gravity in the space frame, in SI units."
        )
    arm, gravity = equations.description, f'gravity {list(equations.gravity)} m/s^2 in the space'
    if not isinstance(arm, ArmDescription):
        return f'Baked in: {gravity} frame.'
    doubts = ''.join(f' WARNING: {sentence}.' for sentence in arm.inconsistencies())
    return f'Baked in: {arm.contents}, {gravity} frame.{doubts}'


def require_each_once(names: Sequence[str]) -> None:
    """Raise OutputError if no quantity is listed, or one is listed twice."""
    if not names:
        raise OutputError('No quantity is listed; a file needs one at least.')
    for name in names:
        if names.count(name) > 1:
            raise OutputError(f'{name} is listed twice; a file can have each quantity once.')


def identifier(name: str) -> str:
    """Return a name as an identifier, with _ for other characters and before a leading digit."""
    text = re.sub(r'\W', '_', name, flags=re.ASCII)
    return f'_{text}' if text[:1].isdigit() else text


def summary(equations: Equations) -> str:
    """Return as text the formula of the equations' quantity and the number of operations."""
    multiplications, additions = operation_count(equations.program)
    tip = 'the flange' if equations.frame == FLANGE else f'frame {equations.frame}'
    return (
        f'{_MEANING[equations.quantity].format(tip=tip)}: {multiplications} multiplications, '
        f'{additions} additions.'
    )


def _lines(text: str) -> list[str]:
    return textwrap.wrap(' '.join(text.split()), width=92)
