# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify payload`: recordings with and without a load -> the node's payload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ._choices import ArmChoice, BagReader
from ._console import ProgressBar, say_each, show, write_json
from .payload_from_mesh import write_payload
from ..identification.payload import identify_payload
from ..recordings.plausibility import plausibility_warnings
from ..recordings.preprocessing import Motion, prepare
from ..recordings.recording import effort_scales
from ..report.payload import inertia_sentence, payload_table, scale_sentence


def run(
    arm: ArmChoice,
    reader: BagReader,
    *,
    without: tuple[str, ...],
    loaded: tuple[str, ...],
    known_mass: float | None,
    effort_scale: tuple[float, ...],
    gravity: tuple[float, float, float],
    json: Path | None,
    output: Path | None,
    desk: Path | None,
) -> int:
    """Identify the payload, print it with standard deviations and write the output files."""
    description = reader.arm_of(loaded[0], arm).load()

    def motions(bags: Sequence[str]) -> list[Motion]:
        recordings = [reader.read(bag, description, bar) for bag in bags]
        for one in recordings:
            warnings = plausibility_warnings(one, description)
            say_each((f'{one.source}: {warning}' for warning in warnings), 'warning')
        scale = effort_scales(effort_scale, description.n)
        prepared = [prepare(one.scaled(scale)) for one in recordings]
        for motion in prepared:
            say_each(motion.remarks, 'note')
        return prepared

    with ProgressBar() as bar:
        estimate = identify_payload(
            motions(without), motions(loaded), description, gravity=gravity
        )
    show(payload_table(estimate))
    say_each([*inertia_sentence(estimate), scale_sentence(estimate, known_mass, effort_scale)])
    if json:
        write_json(json, estimate)
    comment = f'Identified by franka-dynamics from {", ".join(loaded)}'
    write_payload(description, estimate.payload, comment, 'identified', output, desk)
    return 0
