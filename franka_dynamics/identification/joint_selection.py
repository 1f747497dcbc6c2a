# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which columns of a joint state are the arm's, found by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arm import available_arms, load
from ..errors import RecordingError


class JointSelection(NamedTuple):
    """Columns of the arm's joints in a message, from base to tip, and their names there."""

    columns: NDArray[np.intp]
    names: tuple[str, ...]


def select_joints(present: Sequence[str], wanted: Sequence[str], *, where: str,
                  ) -> JointSelection | None:
    """
    Find the arm's joints among the names of a message.

    If none of `wanted` is present, names that end like them and share another beginning are
    taken (`panda_joint1` ... for `fer_joint1` ...), provided that only one beginning has them
    all.

    Parameters
    ----------
    present : sequence of str
        Joint names of the message, in its order.
    wanted : sequence of str
        The arm's joint names from base to tip.
    where : str
        Bag, topic and message, for the error.

    Returns
    -------
    JointSelection or None
        None if the message has nothing to do with the arm.

    Raises
    ------
    RecordingError
        If some of the arm's joints are missing, one appears twice, or several arms could be
        meant.

    """
    if any(name in present for name in wanted):
        return _by_names(present, tuple(wanted), where)
    beginning = _common_beginning(wanted).rpartition('_')[0]
    tails = tuple(name[len(beginning):] for name in wanted)
    heads = {name[:-len(tails[0])] for name in present if name.endswith(tails[0])}
    complete = sorted(head for head in heads if all(head + tail in present for tail in tails))
    if len(complete) > 1:
        raise RecordingError(
            f'{where} has none of {wanted[0]} ... {wanted[-1]} but the joints of '
            f'{len(complete)} arms ({", ".join(head + tails[0] for head in complete)} ...); say '
            'which with --arm-prefix or --joint-names.')
    if complete:
        names = tuple(complete[0] + tail for tail in tails)
        _require_no_shipped_arm(present, names, wanted, where)
        return _by_names(present, names, where)
    return None


def _require_no_shipped_arm(present: Sequence[str], names: tuple[str, ...],
                            wanted: Sequence[str], where: str) -> None:
    """Refuse to take one arm for another whose joints are merely named alike."""
    for arm in available_arms():
        theirs = load(arm).joint_names
        if names[0] in theirs and all(name in present for name in theirs):
            raise RecordingError(
                f'{where} has the joints of {arm}, {theirs[0]} ... {theirs[-1]}, not '
                f'{wanted[0]} ... {wanted[-1]}; give --arm {arm}, or say with --joint-names that '
                'they are to be read as this arm.')


def _common_beginning(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    length = next((i for i, (a, b) in enumerate(zip(first, last)) if a != b),
                  min(len(first), len(last)))
    return first[:length]


def _by_names(present: Sequence[str], names: tuple[str, ...], where: str) -> JointSelection:
    for name in names:
        if name not in present:
            raise RecordingError(f'{where} has no joint {name}; it names '
                                 f'{", ".join(present)}. Every message must have all '
                                 f'{len(names)} joints of the arm.')
        if list(present).count(name) > 1:
            raise RecordingError(f'{where} names the joint {name} more than once, so its state '
                                 'is ambiguous; mend the publisher.')
    return JointSelection(np.array([present.index(name) for name in names]), names)
