# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm export`: an arm as URDF or MJCF, generated from its description."""

from __future__ import annotations

from ._say import print_or_write
from .actions import ArmExport
from ..arm.payload import read_payload
from ..urdf.xacro_writer import robot_text


def run(given: ArmExport) -> int:
    """Print or write the URDF or MJCF."""
    given.require_new()
    form = given.format
    if given.output is not None and given.output.suffix == '.mjcf':
        form = 'mjcf'
        if 'format' in given.options_given and given.format != form:
            given.refuse(f'{given.output}, whose ending says MJCF', 'format')
    if form != 'mjcf':
        given.require_with('--format mjcf', 'ideal')
    text = robot_text(
        given.arm,
        form,
        given.inertial_set,
        hand=given.hand,
        prefix=given.arm_prefix,
        repair=given.repair,
        payload=None if given.payload is None else read_payload(given.payload),
        ideal=given.ideal,
    )
    print_or_write(text, given.output)
    return 0
