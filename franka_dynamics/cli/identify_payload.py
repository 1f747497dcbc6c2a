# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify payload`: recordings with and without a load -> the node's payload."""

from __future__ import annotations

from collections.abc import Sequence

from ._say import ProgressBar, say, say_each, show, write_json
from .actions import IdentifyPayload
from .payload_from_mesh import write_payload
from ..arm import ArmDescription
from ..arm.payload import PAYLOAD_ORDER
from ..identification.payload import identify_payload
from ..recordings.plausibility import suspicions
from ..recordings.preprocessing import Motion, prepare
from ..report.elements import rounded
from ..report.table import Table

_UNITS = ('kg', *('m',) * 3, *('kg m^2',) * 6)


def run(given: IdentifyPayload) -> int:
    """Print the payload with standard deviations and write the output files."""
    arm = given.load_arm()
    with ProgressBar() as bar:
        without = _motions(given, arm, bar, given.without)
        loaded = _motions(given, arm, bar, given.loaded)
        found = identify_payload(without, loaded, arm, gravity=given.gravity)
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
    if given.json:
        data = {
            'order': PAYLOAD_ORDER,
            'estimate': found.values,
            'deviations': found.deviations,
            'inertia_shown': found.inertia_shown,
            'payload': found.payload,
            'joint_noise': found.noise,
        }
        write_json(given.json, data)
    comment = f'Identified by franka-dynamics from {", ".join(given.loaded)}'
    write_payload(given, arm, found.payload, comment, 'identified')
    return 0


def _motions(
    given: IdentifyPayload, arm: ArmDescription, bar: ProgressBar, bags: Sequence[str]
) -> list[Motion]:
    motions = []
    for bag in bags:
        recording = given.read(bag, arm, bar)
        say_each((f'{bag}: {sentence}' for sentence in suspicions(recording, arm)), 'warning')
        motions.append(prepare(recording, given.signal))
    say_each((remark for motion in motions for remark in motion.remarks), 'note')
    return motions
