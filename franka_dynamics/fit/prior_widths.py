# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How far a prior lets parameters be from its mean; the module does not import NumPy."""

from dataclasses import dataclass

# The precision before torques choose one: the starting set's masses have a standard deviation of
# 32 %.
DEFAULT_PRIOR_PRECISION = 10.0


@dataclass(frozen=True)
class PriorWidths:
    """
    How far a prior lets parameters be from its mean; a width of zero is a term left out.

    `regularization` is the precision of masses and centres of mass: masses have a relative
    standard deviation of 1 / sqrt of it. That of inertias about centres of mass, and of rotors, is
    `inertia` times as large. The others are standard deviations: of `friction` (viscous and
    Coulomb), of the `offset` and of `slip` elements as shares of a joint's torque limit, of the
    friction that grows with the `load` as a share of the load. `stribeck` is that of friction that
    falls with the speed, as a share of the torque limit. The defaults are those before torques
    choose (`choice`): a motion is planned, and recordings are judged, with them.
    """

    regularization: float = DEFAULT_PRIOR_PRECISION
    friction: float = 0.02
    offset: float = 0.002
    slip: float = 0.02
    load: float = 0.2
    stribeck: float = 0.02
    inertia: float = 1.0


# Widths of terms that may be left out, by a width of zero.
TERMS_TO_LEAVE_OUT = 'slip', 'load', 'stribeck'
