# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm export`: an arm as URDF or MJCF, generated from its description."""

from __future__ import annotations

from dataclasses import dataclass

from ._arm_options import ArmOptions
from ._options import arm_prefix_option, NewFile, print_or_write
from ..arm.payload import read_payload
from ..options import option
from ..urdf.xacro_writer import FORMATS, robot_text


@dataclass(frozen=True, kw_only=True)
class Export(NewFile, ArmOptions):
    """Write an arm as URDF or MJCF."""

    arm_prefix: str = arm_prefix_option()
    format: str = option('format of the output', choices=FORMATS, default=FORMATS[0])
    ideal: bool = option(
        "leave the real joints' armature and friction out of an MJCF, so that MuJoCo's M, C and g "
        "are the models'",
        default=False,
    )

    def run(self) -> int:
        """Print or write the URDF or MJCF."""
        self.require_new()
        form = self.format
        if self.output is not None and self.output.suffix == '.mjcf':
            form = 'mjcf'
            if 'format' in self.options_given and self.format != form:
                self.refuse(f'{self.output}, whose ending says MJCF', 'format')
        if form != 'mjcf':
            self.require_with('--format mjcf', 'ideal')
        text = robot_text(
            self.arm,
            form,
            self.inertial_set,
            hand=self.hand,
            prefix=self.arm_prefix,
            repair=self.repair,
            payload=None if self.payload is None else read_payload(self.payload),
            ideal=self.ideal,
        )
        print_or_write(text, self.output)
        return 0
