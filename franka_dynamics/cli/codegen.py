# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics codegen`: an arm's equations of motion as C or Python, counted."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ._arm_options import add_arm_options, add_tree_option, load_arm, load_tree
from ._options import add_gravity_option, output_folder, refuse
from ._say import terminal
from ..errors import SettingsError

if TYPE_CHECKING:
    from rich.console import Console

    from ..arm import ArmDescription
    from ..codegen.emit import Origin
    from ..codegen.equations import Equations, Parameters
    from ..codegen.friction_code import FrictionCode

SUMMARY = "Generate an arm's equations of motion as C or Python, and count their operations."
_LANGUAGES = {'c': '.h', 'llvm': '.ll', 'python': '.py', 'cuda': '.cu'}
_LANES = 4  # states in a vector of the language llvm: 256 bits; LLVM halves what is too wide
_QUANTITIES = ('inverse_dynamics', 'gravity', 'coriolis', 'mass_matrix')
_ON_REQUEST = (
    'nonlinear_effects',
    'derivatives',
    'forward_dynamics',
    'coriolis_matrix',
    'regressor',
    'flange_pose',
    'jacobian',
)
_ALL_BUT_TABLE1 = {
    'arm': '--arm',
    'inertial_set': '--set',
    'hand': '--hand',
    'repair': '--repair',
    'payload': '--payload',
    'language': '--language',
    'output': '--output',
    'parameters': '--parameters',
    'gravity': '--gravity',
    'rotors': '--rotors',
    'terminal_wrench': '--terminal-wrench',
    'search': '--search',
    'classical': '--classical',
    'friction': '--friction',
    'package': '--package',
    'quantities': '--quantity',
}
_NOT_IN_A_PACKAGE = (
    'language',
    'parameters',
    'gravity',
    'terminal_wrench',
    'search',
    'classical',
    'friction',
    'quantities',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_arm_options(parser)
    add_tree_option(parser)
    parser.add_argument(
        '--language',
        choices=sorted(_LANGUAGES),
        default='c',
        help="a C99 header, a Python module, or code over many states: LLVM's assembly with "
        'vectors and a C header, or CUDA kernels (default: %(default)s)',
    )
    parser.add_argument(
        '--output',
        type=output_folder,
        metavar='FOLDER',
        help='where the file goes; without it operations are only counted',
    )
    parser.add_argument(
        '--parameters',
        choices=('baked', 'run_time'),
        default='baked',
        help='inertial parameters and gravity as numbers in the code, or set '
        'when it runs (default: %(default)s)',
    )
    add_gravity_option(parser, 'space', default=(0.0, 0.0, -9.81), note=', where it is baked in')
    parser.add_argument(
        '--rotors',
        action='store_true',
        help='give every joint that has none a rotor inertia, as the motors of '
        'table 1 of Gautier and Khalil 1990 have one',
    )
    parser.add_argument(
        '--terminal-wrench',
        choices=('space', 'last_frame'),
        nargs='?',
        const='space',
        help='let the surroundings exert a force and a moment on the flange, inputs f and m of '
        "inverse_dynamics: space, about the flange's origin in the axes of the space frame, or "
        'last_frame, about the origin and in the axes of the last DH frame, which is cheaper '
        '(default: %(const)s)',
    )
    parser.add_argument(
        '--search',
        action='store_true',
        help='look for the form with the fewest operations: a tenth fewer, after seconds for an '
        'arm and minutes for a tree',
    )
    parser.add_argument(
        '--classical',
        action='store_true',
        help="use the links' ten parameters as they are instead of base "
        'parameters: for comparison, for it costs more',
    )
    parser.add_argument(
        '--table1',
        action='store_true',
        help='count every case of table 1 of Gautier and Khalil 1990, like with '
        'like, and print it beside the printed figures (about a minute)',
    )
    parser.add_argument(
        '--friction',
        action='store_true',
        help="add the arm file's friction: its torque and, for Maxwell-slip "
        'elements, the step of their state',
    )
    parser.add_argument(
        '--package',
        metavar='NAME',
        help='write a whole ament_cmake package of '
        'that name below --output: a C++ core, a chainable ros2_control '
        'controller, '
        'a solver plugin',
    )
    parser.add_argument(
        '--quantity',
        action='append',
        choices=(*_QUANTITIES, *_ON_REQUEST),
        dest='quantities',
        help='what to generate; may be repeated (default: '
        'inverse_dynamics, gravity, coriolis and mass_matrix)',
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the file and print the counts."""
    from rich.progress import track

    from ..codegen.equations import customised_equations, Parameters, Quantity, WrenchFrame

    console = terminal()
    if arguments.table1:
        refuse(arguments, '--table1, whose cases are those of the paper', **_ALL_BUT_TABLE1)
        return _table1(console)
    if arguments.tree is not None:
        return _tree(arguments, console)
    if arguments.package is not None:
        refuse(
            arguments,
            '--package, which writes C++ with parameters and gravity at run time',
            **{name: _ALL_BUT_TABLE1[name] for name in _NOT_IN_A_PACKAGE},
        )
        if arguments.output is None:
            raise SettingsError('--package needs a folder: add --output FOLDER.')
    elif arguments.output is None:
        refuse(
            arguments,
            'no file: operations of the equations alone are counted (add --output FOLDER)',
            friction='--friction',
        )
    if arguments.parameters == 'run_time':
        refuse(arguments, '--parameters run_time: gravity is set then', gravity='--gravity')
    description = load_arm(arguments)
    if arguments.rotors:
        from ..codegen.table1 import with_rotors

        description = with_rotors(description)
    if arguments.package is not None:
        return _package(arguments, description, console)
    if arguments.language in ('llvm', 'cuda'):
        for option, given in (
            ('--parameters run_time', arguments.parameters == 'run_time'),
            ('--friction', arguments.friction),
            ('--terminal-wrench', arguments.terminal_wrench),
        ):
            if given:
                raise SettingsError(
                    f'{option} has no meaning with --language {arguments.language}, whose code '
                    'has q, dq, ddq and numbers alone. Leave one of them out.'
                )
    parameters = Parameters(arguments.parameters)
    names = arguments.quantities or _QUANTITIES
    if arguments.terminal_wrench:
        if arguments.quantities not in (None, ['inverse_dynamics']):
            raise SettingsError(
                '--terminal-wrench is an input of inverse_dynamics alone; leave '
                'the other quantities out.'
            )
        names = ('inverse_dynamics',)
    listed = [
        customised_equations(
            description,
            Quantity(name),
            arguments.gravity,
            parameters=parameters,
            search=arguments.search,
            classical=arguments.classical,
            terminal_wrench=arguments.terminal_wrench is not None,
            wrench_frame=WrenchFrame(arguments.terminal_wrench or 'space'),
        )
        for name in track(names, console=console, description='writing equations', transient=True)
    ]
    _print_counts(console, description, listed)
    if arguments.output is not None:
        console.print(
            f'wrote {_write(arguments, description, parameters, listed)}',
            soft_wrap=True,
        )
    return 0


def _tree(arguments: argparse.Namespace, console: Console) -> int:
    """Write a tree's equations, and count them."""
    from rich.progress import track
    from rich.table import Table

    from ..codegen.emit import identifier, operation_count, Origin
    from ..codegen.equations import customised_equations, Parameters, Quantity

    tree = load_tree(arguments, 'rotors', 'terminal_wrench', 'friction', 'package')
    parameters, name = Parameters(arguments.parameters), identifier(arguments.tree.stem)
    listed = [
        customised_equations(
            tree,
            Quantity(quantity),
            arguments.gravity,
            parameters=parameters,
            search=arguments.search,
            classical=arguments.classical,
        )
        for quantity in track(
            arguments.quantities or _QUANTITIES,
            console=console,
            description='writing equations',
            transient=True,
        )
    ]
    table = Table(title=f'{name}, {tree.n} joints: operations per evaluation')
    for column in ('equations', 'multiplications', 'additions'):
        table.add_column(column, justify='left' if column == 'equations' else 'right')
    for equations in listed:
        table.add_row(equations.quantity.value, *map(str, operation_count(equations)))
    console.print(table)
    console.print(f'joints: {", ".join(tree.names)}', soft_wrap=True)
    if arguments.output is not None:
        x, y, z = arguments.gravity
        origin = Origin(name, f'of {arguments.tree.name}', 'none', (x, y, z), parameters)
        path = _write_file(arguments, origin, listed, None)
        console.print(f'wrote {path}', soft_wrap=True)
    return 0


def _write(
    arguments: argparse.Namespace,
    description: ArmDescription,
    parameters: Parameters,
    listed: list[Equations],
) -> Path:
    from ..codegen.emit import Origin

    x, y, z = arguments.gravity
    origin = Origin(
        description.name, description.inertial_set, description.hand, (x, y, z), parameters
    )
    friction = _friction(description) if arguments.friction else None
    return _write_file(arguments, origin, listed, friction)


def _write_file(
    arguments: argparse.Namespace,
    origin: Origin,
    listed: list[Equations],
    friction: FrictionCode | None,
) -> Path:
    from ..codegen.cuda import cuda_source
    from ..codegen.emit import c_header, identifier, python_module
    from ..codegen.vector_ir import batch_header, vector_ir
    from ..files import write_text

    prefix = identifier(origin.arm)
    if arguments.language == 'llvm':
        functions = {f'{prefix}_{each.quantity.value}_batch': each for each in listed}
        written: Path = arguments.output / f'{prefix}_batch.ll'
        write_text(written, vector_ir(functions, _LANES))
        write_text(written.with_suffix('.h'), batch_header(origin, functions))
        return written
    path: Path = arguments.output / f'{prefix}_dynamics{_LANGUAGES[arguments.language]}'
    if arguments.language == 'cuda':
        write_text(path, cuda_source(origin, listed))
    else:
        write = c_header if arguments.language == 'c' else python_module
        write_text(path, write(origin, listed, friction))
    return path


def _package(arguments: argparse.Namespace, description: ArmDescription, console: Console) -> int:
    """Write an ament_cmake package."""
    from ..codegen.cpp_package import cpp_package
    from ..files import write_text

    with console.status('writing equations'):
        files = cpp_package(description, arguments.package)
    for path, text in files.items():
        write_text(arguments.output / arguments.package / path, text)
    console.print(
        f'wrote {arguments.output / arguments.package} ({len(files)} files); put it '
        'into the src of a colcon workspace',
        soft_wrap=True,
    )
    return 0


def _friction(description: ArmDescription) -> FrictionCode:
    from ..codegen.friction_code import FrictionCode
    from ..errors import FrictionError

    if description.friction is None:
        raise FrictionError(
            f'{description.file or description.name} has no friction model; add '
            'one to the arm file (identify writes it) or leave --friction out.'
        )
    return FrictionCode.of(description.friction)


def _print_counts(console: Console, description: ArmDescription, listed: list[Equations]) -> None:
    from rich.table import Table

    from ..codegen.emit import (
        CLASSICAL,
        GENERAL,
        general_robot,
        MINIMUM,
        operation_count,
        printed,
        SIMPLIFIED,
    )

    table = Table(
        title=f'{description.name}: operations per evaluation, counted in the code '
        '(sin and cos aside)'
    )
    for column in ('equations', 'multiplications', 'additions'):
        table.add_column(column, justify='left' if column == 'equations' else 'right')
    for equations in listed:
        table.add_row(equations.quantity.value, *map(str, operation_count(equations)))
    table.add_section()
    for parameters in (CLASSICAL, MINIMUM):
        counts = general_robot(description.n, parameters)
        table.add_row(
            f'Gautier & Khalil 1990, any {description.n}R robot, {parameters}', *map(str, counts)
        )
        inertia = SIMPLIFIED if description.inertial_set == SIMPLIFIED else GENERAL
        entry = printed(description.name, parameters, inertia)
        if entry is not None:
            wrench = ', with rotors and terminal wrench' if inertia == SIMPLIFIED else ''
            table.add_row(
                f'Gautier & Khalil 1990, {description.name} {inertia}, {parameters}{wrench}',
                *map(str, entry),
            )
    console.print(table)


def _table1(console: Console) -> int:
    """Print table 1 beside our counts."""
    from rich.progress import track
    from rich.table import Table

    from ..codegen.table1 import CASES, count

    table = Table(title='Gautier and Khalil 1990, table 1: multiplications / additions')
    for heading in (
        'robot',
        'inertias',
        'parameters',
        'rotors, wrench',
        'printed',
        'ours',
    ):
        table.add_column(
            heading, justify='left' if heading in ('robot', 'inertias', 'parameters') else 'right'
        )
    for case in track(CASES, console=console, description='writing equations', transient=True):
        table.add_row(
            case.robot,
            case.inertia,
            case.parameters.split()[0],
            'yes' if case.loaded else 'no',
            *(f'{a} / {b}' for a, b in (case.printed, count(case))),
        )
    console.print(table)
    console.print(
        'simplified: diagonal tensors, one first moment a link. classical: ten '
        'parameters a link; minimum: base parameters.',
    )
    return 0
