# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names of an arm's links, which follow from the names of its joints."""

from __future__ import annotations

from collections.abc import Sequence
import re
from typing import NamedTuple

_NUMBERED = re.compile(r'^(.*)joint(\d+)$')


class LinkNames(NamedTuple):
    """Names of the links: the base's, one per joint, and the flange's."""

    base: str
    moving: tuple[str, ...]
    flange: str

    @property
    def prefix(self) -> str:
        """Prefix of numbered link names, such as 'fr3_'; '' for names without numbers."""
        return self.flange.rpartition('link')[0]


def link_names(joint_names: Sequence[str]) -> LinkNames:
    """
    Return the link names for given joint names: link0, link1, ... for joint1, ..., else NAME_link.

    For joint1, joint2, ..., with any prefix, the links are link0, link1, ... with that prefix, as
    Franka's. For other joint names, also for numbers that begin at 0, '_link' is appended to each
    joint's name, and base and flange are 'base_link' and 'flange'.
    """
    matches = [_NUMBERED.match(name) for name in joint_names]
    numbers = [int(match.group(2)) for match in matches if match]
    stems = {match.group(1) for match in matches if match}
    first = numbers[0] if numbers else 0
    in_order = numbers == list(range(first, first + len(joint_names)))
    if len(stems) == 1 and in_order and first > 0:  # the base link's number is first - 1
        stem = stems.pop()
        names = [f'{stem}link{first + k}' for k in range(-1, len(joint_names) + 1)]
        return LinkNames(names[0], tuple(names[1:-1]), names[-1])
    return LinkNames('base_link', tuple(f'{name}_link' for name in joint_names), 'flange')
