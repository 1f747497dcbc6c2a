# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What watchers of the arm look at, and what they say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from .control_law import ControlLaw
from .ending import Ending
from .terms import StateTerms, TermModel
from .trajectory import ReferencePoint
from ..typing import Array


class Cycle(NamedTuple):
    """
    One joint state, and which law answers it: the input of watchers.

    `terms` are those by which torques go out, `law` is that of the settings asked for, `elapsed`
    the time since the state before [s], `torque` the desired torque, (n,) [N m]. `runs`: the
    control law answers it; `brakes`: the brake does; `rests`: the resting torque does, and moves
    the arm if it is wrong. `refused` is why the law's torques may not begin though the arm moves,
    or ''.
    """

    state: StateTerms
    terms: TermModel
    reference: ReferencePoint | None
    law: ControlLaw
    elapsed: float
    torque: Array
    runs: bool = False
    brakes: bool = False
    rests: bool = False
    refused: str = ''


class Watcher(ABC):
    """Checks each joint state that gets a torque, and ends torques if it must."""

    @abstractmethod
    def check(self, cycle: Cycle) -> Ending | None:
        """Return the ending of torques at this joint state, or None."""

    def reset(self) -> None:  # noqa: B027
        """Forget the states before, if they count: torques begin."""
