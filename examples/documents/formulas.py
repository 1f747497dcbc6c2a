# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Write an arm's kinematics, or M, C and g, as formulas in symbols: Python or LaTeX.

    python examples/documents/formulas.py kinematics fer      # poses, axes, twists, Jacobians
    python examples/documents/formulas.py motion fr3          # M, C and g
    python examples/documents/formulas.py steps fer           # the whole derivation from the rows
    python examples/documents/formulas.py rpr rpr latex       # the RPR arm (Busellato 2023)

The Python text is a module that reads the joint positions q1, q2, ... and velocities dq1, ...;
LaTeX needs amsmath and geometry. Masses and lengths of the RPR arm are symbols, too. Needs sympy
(the extra `[symbolic]`).
"""

from __future__ import annotations

import sys

import franka_dynamics as fd
from franka_dynamics.symbolic import derivations
from franka_dynamics.symbolic.rendering import as_latex, as_text, Section


def formulas(what: str, arm: str, frame: str = 'LOCAL_WORLD_ALIGNED') -> list[Section]:
    """Return the formulas of an arm, by its name or file; `frame` is that of the Jacobians."""
    if what == 'rpr':
        return derivations.rpr_report()
    if what == 'kinematics':
        return derivations.kinematics(fd.load(arm), frame)
    if what == 'motion':
        return derivations.equations(fd.load(arm))
    return derivations.step_by_step(fd.load(arm))


def main(what: str = 'motion', arm: str = 'fer', form: str = 'python') -> None:
    """Derive the formulas and print them."""
    print((as_latex if form == 'latex' else as_text)(formulas(what, arm)), end='')


if __name__ == '__main__':
    main(*sys.argv[1:])
