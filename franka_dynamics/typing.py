# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Type aliases for annotations."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray as NDArray

# Not NDArray[np.float64]: since NumPy 2.5 that is an alias whose origin is not np.ndarray, and
# fields of files are read by their types' origins.
Array = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
