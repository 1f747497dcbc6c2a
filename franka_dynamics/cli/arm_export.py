# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm export`: an arm as URDF or MJCF, or for controllers."""

from __future__ import annotations

from pathlib import Path

from ._choices import ArmChoice
from ._command import forbid_with, require_with
from ._console import print_or_write
from ._options import require_not_existing
from ..arm.arm_file import is_robot_model
from ..arm.hand_file import is_file_name
from ..control.friction_forms import TEXTS
from ..cpp_package.arm_text import controller_arm_text
from ..urdf.xacro_writer import robot_text


def run(arm: ArmChoice, output: Path | None, force: bool, form: str, ideal: bool) -> int:
    """Print the arm in a format or write it to a file."""
    require_not_existing(output, force)
    if output is not None and output.suffix == '.mjcf' and form != 'mjcf':
        forbid_with(f'{output}, whose ending says MJCF', 'form')
        form = 'mjcf'
    if form != 'mjcf':
        require_with('--format mjcf', 'ideal')
    texts = {**TEXTS, 'controller': controller_arm_text}
    if form in texts:
        print_or_write(texts[form](arm.load()), output)
        return 0
    own = is_file_name(arm.arm) or is_robot_model(arm.arm)
    source, prefix = Path(arm.arm).name if own else '', arm.arm_prefix
    text = robot_text(arm.load(), form, source=source, prefix=prefix, ideal=ideal)
    print_or_write(text, output)
    return 0
