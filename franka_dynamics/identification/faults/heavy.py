# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The identified masses are at the bounds of what an arm can have."""

from collections.abc import Sequence

import numpy as np

from .fault import Diagnosis, Fault
from ...typing import Array

# Largest ratio of a link's fitted to its starting mass, and of starting to fitted mass. Real arms
# stay within it; without it the solver fails on torques that no arm has.
MAX_MASS_RATIO = 3.0
# A mass is at its bound within this ratio: the solver stops before it.
_AT_BOUND = 0.98
_LEAST = 2  # of sound logs none has so many


class Heavy(Fault):
    """Links with masses at a bound of the fit; its values are ratios to the starting set's."""

    kind, of_all = 'heavy', False
    text = (
        'The fit makes links as heavy, or as light, as it may ({0:.2g} times ...): efforts are no '
        'measured torques (external ones, commands, other units), or this is another arm. Record '
        'measured torques, or take another --set.'
    )


def heavy(ratios: Array | None) -> Sequence[Diagnosis]:
    """Return the fault if `ratios` (n,) of two or more links are at a bound."""
    if ratios is None:
        return ()
    (at,) = np.nonzero(np.abs(np.log(ratios)) > _AT_BOUND * np.log(MAX_MASS_RATIO))
    if len(at) < _LEAST:
        return ()
    return [Diagnosis(Heavy.kind, tuple(at.tolist()), tuple(ratios[at].tolist()))]
