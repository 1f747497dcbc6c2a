# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The model explains too little of the efforts, whatever the fault."""

from collections.abc import Sequence

from .fault import Diagnosis, Fault

# Of eighteen sound logs of seven arms E is 0.4 to 9 % of the efforts' root mean square, of one
# 15 %. Of two joints exchanged with all their columns it is 12 to 99 %, unless both hardly bear a
# load.
_MOST = 0.2


class Unexplained(Fault):
    """Efforts that no model explains; its value is E on left-out parts / rms effort."""

    kind, of_all = 'unexplained', False
    text = (
        'The model explains too little: E on left-out parts is {0:.0%} of the efforts. Are the '
        "columns in the order of the arm's joints, is this the arm, are these measured torques, "
        'no external ones or commands, are signs and units right (currents: --torque-constant)?'
    )


def unexplained(share: float) -> Sequence[Diagnosis]:
    """Return the fault if this share of the efforts is too much."""
    return [Diagnosis(Unexplained.kind, (), (share,))] if share > _MOST else ()
