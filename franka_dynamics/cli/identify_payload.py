# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify payload`: recordings with and without a load -> the node's payload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ._options import ArmChoice, BagReader
from ._say import ProgressBar, say, say_each, show, write_json
from .payload_from_mesh import write_payload
from ..arm import ArmDescription
from ..arm.payload import PAYLOAD_ORDER
from ..identification.payload import identify_payload
from ..recordings.options import SignalOptions
from ..recordings.plausibility import suspicions
from ..recordings.preprocessing import Motion, prepare
from ..report.elements import rounded
from ..report.table import Table

_UNITS = ('kg', *('m',) * 3, *('kg m^2',) * 6)


def run(
    arm: ArmChoice,
    reader: BagReader,
    signal: SignalOptions,
    *,
    without: tuple[str, ...],
    loaded: tuple[str, ...],
    gravity: tuple[float, float, float],
    json: Path | None,
    output: Path | None,
    desk: Path | None,
) -> int:
    """Print the payload with standard deviations and write the output files."""
    description = reader.arm_of(loaded[0], arm).load()
    with ProgressBar() as bar:

        def motions(bags: Sequence[str]) -> list[Motion]:
            return [_motion(bag, description, reader, signal, bar) for bag in bags]

        found = identify_payload(motions(without), motions(loaded), description, gravity=gravity)
    rows = [
        (name, *rounded(value, spread), rounded(used, spread)[0], unit)
        for name, value, spread, used, unit in zip(
            PAYLOAD_ORDER, found.values, found.deviations, found.payload, _UNITS
        )
    ]
    title = 'payload in the flange frame, inertia about its centre of mass'
    show(Table(title, ('', 'estimate', 'standard deviation', 'payload', ''), rows))
    if not found.inertia_shown:
        say(
            'The inertia cannot be identified from this motion, so the payload is a point mass. '
            'Move the wrist faster to identify it.'
        )
    elif abs(found.payload - found.values).max() > 1e-9:
        say('No real body has the estimated inertia; the payload has the nearest physical one.')
    if json:
        data = {
            'order': PAYLOAD_ORDER,
            'estimate': found.values,
            'deviations': found.deviations,
            'inertia_shown': found.inertia_shown,
            'payload': found.payload,
            'joint_noise': found.noise,
        }
        write_json(json, data)
    comment = f'Identified by franka-dynamics from {", ".join(loaded)}'
    write_payload(description, found.payload, comment, 'identified', output, desk)
    return 0


def _motion(
    bag: str, arm: ArmDescription, reader: BagReader, signal: SignalOptions, bar: ProgressBar
) -> Motion:
    recording = reader.read(bag, arm, bar)
    say_each((f'{bag}: {sentence}' for sentence in suspicions(recording, arm)), 'warning')
    motion = prepare(recording, signal)
    say_each(motion.remarks, 'note')
    return motion
