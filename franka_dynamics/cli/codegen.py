# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics codegen`: an arm's equations of motion as C or Python code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.progress import track

from ._arm_options import ArmOptions
from ._options import folder_option, gravity_option
from ._say import say, show, terminal
from ..codegen.emit import require_each_once
from ..codegen.equations import customised_equations, Parameters, Quantity
from ..errors import SettingsError
from ..files import write_text
from ..options import option
from ..report.table import Table

_LANGUAGES = {'c': '.h', 'python': '.py'}
_QUANTITIES = ('inverse_dynamics', 'gravity', 'coriolis', 'mass_matrix')
_EVERY = tuple(one.value for one in Quantity)
_NOT_IN_A_PACKAGE = ('language', 'parameters', 'gravity', 'quantities')


@dataclass(frozen=True, kw_only=True)
class Codegen(ArmOptions):
    """Generate an arm's equations of motion as C or Python; count their operations."""

    language: str = option(
        'a C99 header or a Python module; cpp: with --package',
        choices=(*_LANGUAGES, 'cpp'),
        default='c',
    )
    output: Path | None = folder_option(
        'folder of the file; without it operations are only counted'
    )
    parameters: str = option(
        'inertial parameters and gravity as numbers in the code (baked), or set at run time',
        choices=[one.value for one in Parameters],
        default='baked',
    )
    gravity: tuple[float, float, float] = gravity_option(', where it is baked in')
    package: str | None = option(
        'write a whole ament_cmake package of that name below --output: a C++ core, a chainable '
        'ros2_control controller, a solver plugin',
        'NAME',
        default=None,
    )
    quantities: tuple[str, ...] = option(
        f'quantities to generate: {", ".join(_EVERY)}',
        'QUANTITY',
        flags=('--quantity',),
        choices=_EVERY,
        default=_QUANTITIES,
    )

    def run(self) -> int:
        """Print operation counts and, with --output, write the file; or write a package."""
        from ..codegen.emit import c_header, identifier, operation_count, python_module

        require_each_once(self.quantities)
        if self.package is not None:
            return self._write_package(self.package)
        if self.language == 'cpp':
            raise SettingsError(
                '--language cpp writes a whole package; add --package NAME and --output FOLDER.'
            )
        if self.parameters == 'run_time':
            self.refuse('--parameters run_time: gravity is set then', 'gravity')
        arm, parameters = self.load_arm(), Parameters(self.parameters)
        quantities = track(
            self.quantities, 'writing equations', console=terminal(), transient=True
        )
        listed = [
            customised_equations(arm, Quantity(name), self.gravity, parameters=parameters)
            for name in quantities
        ]
        show(
            Table(
                f'{arm.name}: operations per evaluation of the code, without sines and cosines',
                ('equations', 'multiplications', 'additions'),
                [(each.quantity.value, *operation_count(each.program)) for each in listed],
            )
        )
        if self.output is not None:
            write = {'c': c_header, 'python': python_module}[self.language]
            path = self.output / f'{identifier(arm.name)}_dynamics{_LANGUAGES[self.language]}'
            write_text(path, write(listed))
            say(f'wrote {path}')
        return 0

    def _write_package(self, name: str) -> int:
        """Write an ament_cmake package with the arm's equations; return exit status 0."""
        from ..codegen.cpp_package import cpp_package

        why = '--package, which writes C++ with parameters and gravity at run time'
        self.refuse(why, *_NOT_IN_A_PACKAGE)
        if self.output is None:
            raise SettingsError('--package needs a folder: add --output FOLDER.')
        arm, folder = self.load_arm(), self.output / name
        with terminal().status('writing equations'):
            files = cpp_package(arm, name)
        for path, text in files.items():
            write_text(folder / path, text)
        say(f'wrote {folder} ({len(files)} files); put it into the src of a colcon workspace')
        return 0
