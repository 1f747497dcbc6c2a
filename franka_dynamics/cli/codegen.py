# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics codegen`, which writes equations of motion as C, CUDA or Python."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
from rich.progress import track

from .choices import ArmChoice, forbid_options, forbid_without
from .console import echo, echo_each, make_console, print_or_write, print_rich
from .requests import CodegenRequest
from ..arm.frames import FLANGE
from ..codegen.c_code import c_header
from ..codegen.cuda_code import cuda_source
from ..codegen.equations import customised_equations
from ..codegen.file_comments import (
    as_identifier,
    operation_count,
    require_distinct_quantities,
)
from ..codegen.python_code import python_module
from ..constants import ParameterMode, Quantity
from ..cpp_package.package import copy_controller_package
from ..errors import SettingsError
from ..report.elements import Table

# Quantities of geometry alone: the code holds neither inertias nor gravity.
_GEOMETRIC = {
    Quantity.FLANGE_POSE,
    Quantity.JACOBIAN,
    Quantity.BIAS_ACCELERATION,
    Quantity.FRAMES,
}
# Quantities whose code has numbers of gravity.
_WITH_GRAVITY = {
    Quantity.INVERSE_DYNAMICS,
    Quantity.NONLINEAR_EFFECTS,
    Quantity.GRAVITY,
    Quantity.DERIVATIVES,
    Quantity.FORWARD_DYNAMICS,
    Quantity.REGRESSOR,
}
# Quantities that belong to --frame.
_OF_A_FRAME = {
    Quantity.FLANGE_POSE,
    Quantity.JACOBIAN,
    Quantity.BIAS_ACCELERATION,
    Quantity.OPERATIONAL_SPACE_INERTIA,
}
_LANGUAGES: dict[str, tuple[Callable[..., str], str]] = {
    'c': (c_header, '.h'),
    'cuda': (cuda_source, '.cuh'),
    'python': (python_module, '.py'),
}


def generate_code(choice: ArmChoice, request: CodegenRequest) -> int:
    """Write code (--output), print operation counts; or copy the package (--package); return 0."""
    require_distinct_quantities(request.quantities)
    if request.package:
        return _copy_cpp_package(request.output)
    quantities = [Quantity(name) for name in request.quantities]
    _forbid_options_without_effect(request, {*quantities})
    arm = choice.load()
    if not arm.urdf:  # loading a URDF has warned of them
        echo_each(arm.inconsistencies(), 'warning')
    frame = int(request.frame) if request.frame.isdecimal() else request.frame
    mode = ParameterMode(request.parameters)
    equations = [
        customised_equations(
            arm,
            quantity,
            request.gravity,
            parameters=mode,
            frame=frame if quantity in _OF_A_FRAME else FLANGE,
        )
        for quantity in track(
            quantities, 'writing equations', console=make_console(), transient=True
        )
    ]
    if request.output is not None:
        code_text, suffix = _LANGUAGES[request.language]
        if request.language != 'python':
            code_text = partial(code_text, precision=request.precision, name=request.name)
        name = as_identifier(request.name or arm.name)
        print_or_write(code_text(equations), request.output / f'{name}_dynamics{suffix}')
    title = f'{arm.name}: operations per evaluation of the code, without sines and cosines'
    rows = [(each.quantity.value, *operation_count(each.program)) for each in equations]
    print_rich(Table(title, ('equations', 'multiplications', 'additions'), rows))
    return 0


def _forbid_options_without_effect(request: CodegenRequest, quantities: set[Quantity]) -> None:
    """Raise click.UsageError for an option that changes nothing of the quantities' code."""
    if request.output is None:
        forbid_without('--output', 'language', 'precision', 'name')
    if request.language == 'python':
        forbid_options('--language python, whose numbers are double', 'precision')
    chosen = f'--quantity {",".join(request.quantities)}'
    if not quantities & _OF_A_FRAME:
        forbid_options(f'{chosen}, which has no frame', 'frame')
    if not quantities & _WITH_GRAVITY:
        forbid_options(f'{chosen}, without gravity', 'gravity')
    inertia_options = ['inertial_set', 'payload']
    if not quantities & _OF_A_FRAME:
        inertia_options.append('hand')  # else its tool centre point may be the frame
    if quantities <= {*_GEOMETRIC, Quantity.REGRESSOR}:
        forbid_options(f'{chosen}, without inertias', 'parameters', *inertia_options)
    if request.parameters == ParameterMode.RUN_TIME.value:
        later = '--parameters run_time: inertias and gravity are set then'
        forbid_options(later, 'gravity', *inertia_options)


def _copy_cpp_package(output: Path | None) -> int:
    """Copy the C++ package to a folder; return 0, or raise SettingsError without a folder."""
    why = '--package, which copies C++ that reads any arm (arm export --format controller)'
    forbid_options(why, *sorted(set(click.get_current_context().params) - {'package', 'output'}))
    if output is None:
        raise SettingsError('--package needs a folder: add --output FOLDER.')
    echo(f'wrote {copy_controller_package(output)}; put it into the src of a colcon workspace')
    return 0
