# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm derive`: symbolic kinematics and equations of motion of an arm."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ._arm_options import ArmOptions, MASS_OPTIONS
from ._options import file_option, print_or_write
from ._say import terminal
from ..arm import ArmDescription
from ..errors import DescriptionError
from ..options import option


@dataclass(frozen=True, kw_only=True)
class Derive(ArmOptions):
    """Write an arm's kinematics or equations of motion as symbolic formulas."""

    kinematics: bool = option(
        'poses T_i, origins r_i, axes omega_i, twists xi_i and Jacobians J_i, J_mi of the frames, '
        'instead of M, C and g',
        default=False,
    )
    reference_frame: str = option(
        'frame of the Jacobians J_i of --kinematics: mixed, space or body',
        choices=('LOCAL_WORLD_ALIGNED', 'WORLD', 'LOCAL'),
        default='LOCAL_WORLD_ALIGNED',
    )
    steps: bool = option(
        'the whole derivation step by step, from the DH rows to M, C and g; for an RPR arm the '
        'derivation of Busellato 2023, with its symbols',
        default=False,
    )
    format: str = option(
        'Python assignments, a LaTeX document, or an HTML page with MathML',
        choices=('text', 'latex', 'html'),
        default='text',
    )
    output: Path | None = file_option('file to write (default: print)')

    def run(self) -> int:
        """Derive the formulas and print or write them."""
        from ..symbolic import derivations
        from ..symbolic.rendering import as_html, as_latex, as_text

        if self.steps:
            self.refuse(
                '--steps, which has all of the derivation', 'kinematics', 'reference_frame'
            )
        if not self.kinematics:
            self.require_with('--kinematics', 'reference_frame')
        arm = self.load_arm()
        report = self.steps and _is_rpr(arm)
        if report:
            self.refuse('--steps of an RPR arm, whose masses are letters', *MASS_OPTIONS)
        with terminal(stderr=True).status('deriving ...'):
            if self.kinematics:
                sections = derivations.kinematics(arm, self.reference_frame)
            elif report:
                sections = derivations.rpr_report()
            elif self.steps:
                sections = derivations.step_by_step(arm)
            else:
                sections = derivations.equations(arm)
            text = {'text': as_text, 'latex': as_latex, 'html': as_html}[self.format](sections)
        print_or_write(text, self.output)
        return 0


def _is_rpr(description: ArmDescription) -> bool:
    """Return whether the arm is an RPR manipulator in the frames of Busellato 2023."""
    from ..rpr.kinematics import RprKinematics

    try:
        RprKinematics.from_description(description)
    except DescriptionError:
        return False
    return True
