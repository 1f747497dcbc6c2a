# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The node's contact detection over recorded states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .contact import Contact, ContactLimits, ContactMonitor
from ..arm import ArmDescription
from ..dynamics import GRAVITY
from ..dynamics.pinocchio_model import PinocchioModel
from ..typing import Array

_PROGRESS_EVERY = 500


@dataclass(frozen=True, eq=False)
class ContactReplay:
    """
    What the contact monitor would have said about a recording.

    `contacts` in order of time, with stamps in seconds since the first state;
    `largest_share` is the most that any joint ever had of its threshold; `watched` is for how
    long the monitor was settled [s].
    """

    contacts: tuple[Contact, ...]
    largest_share: float
    watched: float


def replay_contact(
    arm: ArmDescription,
    time: Array,
    q: Array,
    dq: Array,
    effort: Array,
    *,
    gravity: ArrayLike = GRAVITY,
    limits: ContactLimits | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ContactReplay:
    """
    Run the contact monitor over recorded states, one by one, as the node does.

    Parameters
    ----------
    arm : ArmDescription
        The arm with what it carried; its friction is taken out of the torques.
    time : ndarray, shape (N,)
        Stamps [s], increasing.
    q, dq, effort : ndarray, shape (N, n)
        Position [rad], velocity [rad/s] and measured torque [N m].
    gravity : array_like, shape (3,)
        Gravity in the base frame [m/s^2].
    limits : ContactLimits, optional
        When it is a contact; the node's defaults.
    progress : callable, optional
        Called with the number of states done and of all.

    """
    monitor = ContactMonitor(PinocchioModel(arm, gravity), limits, arm.friction)
    contacts: list[Contact] = []
    largest, watched = 0.0, 0.0
    steps = np.diff(time, prepend=time[:1])
    for count, (stamp, step, *state) in enumerate(zip(time, steps, q, dq, effort), start=1):
        began = monitor.update(float(stamp), *state) and monitor.in_contact
        if began and monitor.latest is not None:
            contacts.append(monitor.latest)
        elif monitor.in_contact and monitor.latest is not None:
            contacts[-1] = monitor.latest  # its peak has grown
        # A gap restarts the monitor, and with it the share.
        largest = max(largest, monitor.largest_share)
        watched += float(step) * monitor.settled
        if progress is not None and count % _PROGRESS_EVERY == 0:
            progress(count, len(time))
    return ContactReplay(tuple(contacts), largest, watched)
