# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
What the stages after the fit need of the recordings, read once for all of them.

Sums alone are kept of a recording while an arm is fitted. Afterwards the positions along all
recordings are needed (`receiver_offset`), and whole stretches of a few (`torque_deviation`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .torque_deviation import MAX_OBSERVED_MESSAGE_COUNT, MAX_OBSERVED_RECORDING_COUNT
from ..arm import ArmDescription
from ..arrays import Array
from ..errors import FrankaDynamicsError
from ..fit.sources import AnyRecording, as_recording
from ..recordings.preprocessing import Motion, without_idle_effort
from ..recordings.recording import Recording

_MAX_POSE_COUNT = 1000  # of all recordings together; neighbouring samples show the same pose


class ReadAgain(NamedTuple):
    """Positions along recordings, (N, n) [rad or m], and what the observer is run along."""

    positions: Array
    observed: list[Recording]


def read_again(
    sources: Sequence[AnyRecording], start: ArmDescription, message_count: int
) -> ReadAgain:
    """
    Return positions at equal steps of each recording, and the beginnings of the first ones.

    There are at most some 1,000 positions in all, of `message_count` messages, and nothing else
    is kept of what was read. A recording that cannot be read is left out; motions, which are
    filtered, and recordings of idle efforts alone show the observer nothing.
    """
    step = 1 + message_count // _MAX_POSE_COUNT
    positions = [np.zeros((0, start.n))]
    observed: list[Recording] = []
    for source in sources:
        if isinstance(source, Motion):
            positions.append(source.q[::step].copy())  # a view would keep all of the motion
            continue
        try:
            recording = as_recording(source, 'a recording', start)
            positions.append(recording.q[::step].copy())
            if len(observed) < MAX_OBSERVED_RECORDING_COUNT:
                measured = without_idle_effort(recording)
                first = np.arange(len(measured)) < MAX_OBSERVED_MESSAGE_COUNT
                observed.append(measured.select(first))  # copies, as a mask does
        except FrankaDynamicsError:
            continue
    return ReadAgain(np.concatenate(positions), observed)
