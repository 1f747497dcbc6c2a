# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Write an arm's kinematics, or M, C and g, as formulas, or those of the RPR report in symbols.

    python examples/documents/formulas.py textbook planar.yaml  # M, C dq and g of a few joints
    python examples/documents/formulas.py kinematics fer      # frames and the flange's Jacobian
    python examples/documents/formulas.py motion fr3          # M, C and g
    python examples/documents/formulas.py rpr                 # the RPR arm (Busellato 2023)
    python examples/documents/formulas.py rpr latex           # the same as equations of LaTeX

Those of `textbook` are simplified by sympy (the extra `[symbolic]`), for up to three joints in a
minute. Those of `kinematics` and `motion` are the Python module that `franka-dynamics codegen`
writes. Both have inertial parameters as symbols, and lengths as numbers. Masses and lengths of the
RPR arm are symbols, too, by sympy.
"""

import sys

import franka_dynamics as fd
from franka_dynamics.codegen.python_code import python_module

TEXTBOOK = {'M': 'mass_matrix', 'C_dq': 'coriolis', 'g': 'gravity'}
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
    if what == 'textbook':
        equations = {
            name: fd.customised_equations(arm, quantity, parameters='run_time')
            for name, quantity in TEXTBOOK.items()
        }
        return '\n'.join(
            f'{name} = {fd.sympy_expressions(one)}\n' for name, one in equations.items()
        )
    return python_module(
        [fd.customised_equations(arm, one, parameters='run_time') for one in QUANTITIES[what]]
    )


def main(what: str = 'motion', given: str = 'fer') -> None:
    """Print the formulas."""
    print(formulas(what, given), end='')


if __name__ == '__main__':
    main(*sys.argv[1:])
