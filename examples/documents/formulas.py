# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Write an arm's kinematics, or M, C and g, as formulas, or those of the RPR report in symbols.

    python examples/documents/formulas.py kinematics fer      # frames and the flange's Jacobian
    python examples/documents/formulas.py motion fr3          # M, C and g
    python examples/documents/formulas.py rpr                 # the RPR arm (Busellato 2023)
    python examples/documents/formulas.py rpr latex           # the same as equations of LaTeX

The formulas of an arm are the Python module that `franka-dynamics codegen` writes: with inertial
parameters as symbols, and lengths as numbers. Masses and lengths of the RPR arm are symbols, too;
they need sympy (the extra `[symbolic]`).
"""

import sys

import franka_dynamics as fd
from franka_dynamics.codegen.python_code import python_module

QUANTITIES = {
    'kinematics': ('frames', 'jacobian'),
    'motion': ('mass_matrix', 'coriolis_matrix', 'gravity'),
}


def formulas(what: str, given: str) -> str:
    """Return the formulas as text; `given` is the arm, for the RPR report python or latex."""
    if what == 'rpr':
        from franka_dynamics.rpr.symbolic import (
            latex_text,
            python_text,
            rpr_report_sections,
        )

        return (latex_text if given == 'latex' else python_text)(rpr_report_sections())
    arm = fd.load(given)
    return python_module(
        [fd.customised_equations(arm, one, parameters='run_time') for one in QUANTITIES[what]]
    )


def main(what: str = 'motion', given: str = 'fer') -> None:
    """Print the formulas."""
    print(formulas(what, given), end='')


if __name__ == '__main__':
    main(*sys.argv[1:])
