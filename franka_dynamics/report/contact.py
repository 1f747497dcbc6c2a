# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts found in a recording, in words and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..control.contact_replay import ContactReplay


def contact_lines(found: ContactReplay, joint_names: Sequence[str]) -> Iterator[str]:
    """Yield a sentence on the whole, and a line per contact: time, joint, share, link."""
    count = len(found.contacts)
    yield (
        f'Contact: {count or "no"} alarm{"s" * (count != 1)} in {found.watched:.1f} s; at most '
        f'{found.largest_share:.0%} of the threshold was used.'
    )
    for contact in found.contacts:
        yield (
            f'  {contact.stamp:9.3f} s  {joint_names[contact.joint]}  {contact.peak:.2f} N m, '
            f'{contact.share:.0%} of the threshold, link {contact.link} or beyond'
        )


def contact_as_data(found: ContactReplay, joint_names: Sequence[str]) -> dict[str, Any]:
    """Return the same in types that JSON has; times in s, torques in N m."""
    return {
        'watched': found.watched,
        'largest_share': found.largest_share,
        'alarms': [
            {
                'time': contact.stamp,
                'joint': joint_names[contact.joint],
                'peak': contact.peak,
                'share': contact.share,
                'link': contact.link,
            }
            for contact in found.contacts
        ],
    }
