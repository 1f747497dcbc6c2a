# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The effort of a joint drifts by a torque, as of a sensor that warms up."""

import numpy as np

from .fault import Fault, Samples
from ...typing import Array


class OffsetDrift(Fault):
    """A drift of the effort offset; its value is the change from begin to end [N m]."""

    kind, of_all, of_each = 'offset_drift', False, True
    text = '{effort} drifts by {0:.2f} N m. Let the arm warm up, or record in shorter pieces.'

    def columns(self, at: Samples) -> list[Array]:
        """Return the time as a fraction of the recording, -0.5 to 0.5."""
        return [at.of(np.broadcast_to(at.elapsed[:, None] - 0.5, at.rigid.shape), self.joints)]
