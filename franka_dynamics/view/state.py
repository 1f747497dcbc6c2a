# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is shown of an arm at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..arm import ArmDescription

Array = NDArray[np.float64]
GRAVITY, CORIOLIS, INERTIA = 'g', 'C dq', 'M ddq'
MEASURED, COMMANDED, EXTERNAL = 'meas.', 'cmd.', 'ext.'
COLUMNS = (GRAVITY, CORIOLIS, INERTIA, MEASURED, COMMANDED, EXTERNAL)


@dataclass(frozen=True, eq=False)
class ViewState:
    """
    One moment: `time` [s], positions `q` (n,), and torques (n,) [N m] by column, where known.

    External torque has FCI's sign: measured minus model.
    """

    time: float
    q: Array
    torques: Mapping[str, Array] = field(default_factory=dict)


def share_of_limit(state: ViewState, description: ArmDescription) -> Array | None:
    """
    Return |torque| over its limit for each joint, shape (n,), or None where no torque is known.

    The commanded torque counts where there is one, else the measured one.
    """
    torque = state.torques.get(COMMANDED, state.torques.get(MEASURED))
    return None if torque is None else np.abs(torque) / description.limit('effort')
