# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify payload`: recordings with and without a load -> the node's payload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ._arm_options import ArmOptions
from ._options import gravity_option, json_option, PayloadFiles
from ._recording_options import RecordingOptions
from ._say import ProgressBar, say, say_each, show, write_json
from ..arm import ArmDescription
from ..arm.payload import PAYLOAD_ORDER
from ..options import option
from ..recordings.plausibility import suspicions
from ..recordings.preprocessing import Motion, prepare
from ..report.table import Table

if TYPE_CHECKING:
    from ..identification.payload import PayloadEstimate

_UNITS = ('kg', *('m',) * 3, *('kg m^2',) * 6)


@dataclass(frozen=True, kw_only=True)
class IdentifyPayload(PayloadFiles, RecordingOptions, ArmOptions):
    """Identify a payload on the flange from recordings with and without it."""

    without: tuple[str, ...] = option('recordings without the payload', 'BAG')
    loaded: tuple[str, ...] = option(
        'recordings with the payload, preferably of the same motion or poses',
        'BAG',
        flags=('--with',),
    )
    static: bool = option(
        'use only poses in which the arm stands still; finds mass and centre of mass only',
        default=False,
    )
    gravity: tuple[float, float, float] = gravity_option()
    json: Path | None = json_option()

    def run(self) -> int:
        """Print the payload with standard deviations and write the output files."""
        from ..identification.payload import identify_payload

        if self.static:
            why = '--static, which averages poses at rest: nothing is filtered'
            self.refuse(why, 'rate', 'cutoff', 'trim')
        arm = self.load_arm()
        with ProgressBar() as bar:
            without = self._motions(arm, bar, self.without)
            loaded = self._motions(arm, bar, self.loaded)
            found = identify_payload(without, loaded, arm, gravity=self.gravity)
        _print(found)
        if self.json:
            data = {
                'order': PAYLOAD_ORDER,
                'estimate': found.values,
                'deviations': found.deviations,
                'inertia_shown': found.inertia_shown,
                'payload': found.payload,
                'joint_noise': found.noise,
            }
            write_json(self.json, data)
        comment = f'Identified by franka-dynamics from {", ".join(self.loaded)}'
        self.write_payload(arm, found.payload, comment, 'identified')
        return 0

    def _motions(self, arm: ArmDescription, bar: ProgressBar, bags: Sequence[str]) -> list[Motion]:
        from ..identification.payload import static_samples

        motions = []
        for bag in bags:
            recording = self.read(bag, arm, bar)
            for sentence in suspicions(recording, arm):
                say(f'{bag}: {sentence}', 'warning')
            motions.append(
                static_samples(recording) if self.static else prepare(recording, self.signal)
            )
        say_each((remark for motion in motions for remark in motion.remarks), 'note')
        return motions


def _print(found: PayloadEstimate) -> None:
    from ..report.elements import rounded

    rows = [
        (name, *rounded(value, spread), rounded(used, spread)[0], unit)
        for name, value, spread, used, unit in zip(
            PAYLOAD_ORDER, found.values, found.deviations, found.payload, _UNITS
        )
    ]
    show(
        Table(
            'payload in the flange frame, inertia about its centre of mass',
            ('', 'estimate', 'standard deviation', 'payload', ''),
            rows,
        )
    )
    if not found.inertia_shown:
        say(
            'The inertia cannot be identified from this motion, so the payload is a point mass. '
            'Move the wrist faster to identify it.'
        )
    elif abs(found.payload - found.values).max() > 1e-9:
        say('No real body has the estimated inertia; the payload has the nearest physical one.')
