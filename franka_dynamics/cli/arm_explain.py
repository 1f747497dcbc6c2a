# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm explain`: find the wrong parameter behind another program's torques."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ._arm_options import ArmOptions
from ._options import gravity_option, json_option
from ._say import say, terminal, write_json
from ..arm.sampling import JointStates
from ..errors import RecordingError
from ..options import option
from ..recordings.log_file import read_log
from ..typing import Array

_SHOWN = 10
# An rms torque difference up to _SAME_TORQUE times max(1 N m, largest torque) is rounding error.
_SAME_TORQUE = 1e-11
_ARRAYS = ('q', 'dq', 'ddq', 'tau')


@dataclass(frozen=True, kw_only=True)
class Explain(ArmOptions):
    """Find the single wrong parameter that would explain torques computed by another program."""

    torques: Path = option(
        "a NumPy .npz file with q, dq, ddq and the other program's tau, each of shape "
        '(count, n); tau without friction torque',
        'FILE',
        positional=True,
    )
    gravity: tuple[float, float, float] = gravity_option()
    json: Path | None = json_option()

    def run(self) -> int:
        """Print the parameters that explain the torques best; exit 1 if the torques differ."""
        from ..validation.fault_search import search_faults

        arm = self.load_arm()
        states, torque = _read(self.torques)
        with terminal(stderr=True).status('trying parameters ...'):
            difference, candidates = search_faults(arm, states, torque, gravity=self.gravity)
        say(
            f'{self.torques}: {len(torque)} states; the torques differ from {arm.name} '
            f'({arm.inertial_set}, hand {arm.hand}) by {difference:.3g} N m rms.'
        )
        for place, candidate in enumerate(candidates[:_SHOWN], start=1):
            say(f'{place}. {candidate}')
        if self.json:
            found = [asdict(candidate) for candidate in candidates]
            write_json(self.json, {'difference': difference, 'candidates': found})
        return 0 if difference <= _SAME_TORQUE * max(1.0, np.abs(torque).max()) else 1


def _read(path: Path) -> tuple[JointStates, Array]:
    arrays = read_log(path).arrays
    missing = [name for name in _ARRAYS if name not in arrays]
    if missing:
        raise RecordingError(
            f'{path} has no array {", ".join(missing)}; it needs q, dq, ddq and tau, each '
            'of shape (count, n), as numpy.savez(FILE, q=q, dq=dq, ddq=ddq, tau=tau) writes them.'
        )
    q, dq, ddq, tau = (arrays[name] for name in _ARRAYS)
    if not q.shape == dq.shape == ddq.shape == tau.shape or q.ndim != 2:
        listed = ', '.join(f'{name} {arrays[name].shape}' for name in _ARRAYS)
        raise RecordingError(
            f'{path}: q, dq, ddq and tau must have one shape (count, n); they have {listed}.'
        )
    return JointStates(q, dq, ddq), tau
