# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Write an arm's kinematics, or M, C and g, as formulas in symbols: Python or LaTeX.

The Python text is a module that reads the joint positions q1, q2, ... and velocities dq1, ...;
LaTeX needs amsmath and geometry. `python examples/14_formulas.py kinematics --arm fer` prints the
poses, axes, twists and Jacobians of every frame, `motion` M, C and g, `steps` the whole derivation
from the Denavit-Hartenberg rows. `rpr` prints the report of the RPR arm (Busellato 2023, as
corrected), whose masses and lengths are symbols too. Needs sympy (the extra `[symbolic]`).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import franka_dynamics as fd
from franka_dynamics.symbolic import derivations
from franka_dynamics.symbolic.rendering import as_latex, as_text, Section


def formulas(what: str, arm: str, reference_frame: str) -> list[Section]:
    """Return the formulas of an arm, by its name or file."""
    if what == 'rpr':
        return derivations.rpr_report()
    if what == 'kinematics':
        return derivations.kinematics(fd.load(arm), reference_frame)
    if what == 'motion':
        return derivations.equations(fd.load(arm))
    return derivations.step_by_step(fd.load(arm))


def main(argv: Sequence[str] | None = None) -> None:
    """Derive the formulas, and print or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('what', choices=('kinematics', 'motion', 'steps', 'rpr'))
    parser.add_argument('--arm', default='fer', help='a shipped arm or an arm file')
    parser.add_argument(
        '--reference-frame',
        choices=('LOCAL_WORLD_ALIGNED', 'WORLD', 'LOCAL'),
        default='LOCAL_WORLD_ALIGNED',
        help='frame of the Jacobians of kinematics',
    )
    parser.add_argument('--latex', action='store_true', help='a LaTeX document, not Python')
    parser.add_argument('--output', type=Path, help='the file to write (default: print)')
    arguments = parser.parse_args(argv)
    sections = formulas(arguments.what, arguments.arm, arguments.reference_frame)
    text = (as_latex if arguments.latex else as_text)(sections)
    if arguments.output is None:
        print(text, end='')
    else:
        arguments.output.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
