# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds which link of a URDF is the flange, on which a payload is, by the names in use.

REP 199 has two frames there: `tool0`, whose z axis points away from the arm, and `flange`, whose x
axis does.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from .serial_chain import SerialChain
from ..errors import listed
from ..spatial import inverse_transform, JointKind
from ..typing import Array

# Endings of a flange's name, the first one that a link has counts: by REP 199, of MuJoCo
# Menagerie's sites, of Kinova, KUKA (lbr-stack) and UFACTORY; then Franka's link n + 1, and the
# other frame of REP 199.
_ENDINGS = ('tool0', 'attachment_site', 'end_effector_link', 'link_ee', 'link_eef')
_MIN_DISTANCE_M = 1e-3  # of frames with different origins
_MIN_COSINE = 0.7  # between the z axis of a flange and the direction away from the arm
_MIN_ALONG = 0.3  # least share of the way to the flange that lies along the last joint's axis


class Flange(NamedTuple):
    """A URDF's flange: its link, doubts about it, and whether no link has a known name."""

    name: str
    notes: tuple[str, ...] = ()
    is_guess: bool = False


def find_flange(chain: SerialChain, tip: str | None = None) -> Flange:
    """
    Return the link that is the flange: `tip`, one with a flange's name, or the last moving link.

    Raises
    ------
    UrdfError
        If `tip` is not fixed to the last moving link.

    """
    document, words, last = chain.document, chain.document.words, chain.joints[-1].child
    links = [*filter(document.is_body, chain.tools)] or [*chain.tools]
    if tip is not None:
        if tip not in chain.tools:
            raise document.error(
                f'the {words.link} {tip!r} is not fixed to {last!r}; {words.links} that are: '
                f'{listed(links)}.'
            )
        return Flange(tip)
    endings = (*_ENDINGS, f'link{len(chain.joints) + 1}', 'flange')
    named = [name for one in endings for name in links if _ends_with(name, one)]
    how = 'another is chosen by fd.load(..., tip=) and arm import --tip'
    if named:
        found, pose = named[0], chain.poses[named[0]]
        notes, axis = [], _axis_away(chain, pose)
        ways = {name: np.linalg.norm(chain.poses[name][:3, 3] - pose[:3, 3]) for name in named}
        if elsewhere := [name for name, way in ways.items() if way > _MIN_DISTANCE_M]:
            notes.append(f'{listed(elsewhere)} elsewhere has the name of one, too')
        if axis != '+z':
            notes.append(f'its {axis} axis points away from the arm, not z')
        sentence = (
            f'the flange is {found!r}: {"; ".join(notes)}; a payload counts in its frame ({how}).'
        )
        return Flange(found, (sentence,) if notes else ())
    others = [name for name in links if name != links[0]]
    choice = f'; fixed to it are {listed(others)}' if others else ''
    return Flange(
        links[0],
        (
            f'no {words.link} has the name of a flange: {links[0]!r} is taken, the last that '
            f'moves, and a payload counts from there ({how}{choice}).',
        ),
        is_guess=True,
    )


def _ends_with(name: str, ending: str) -> bool:
    """Return whether the last words of a name are those of an ending, in any spelling of them."""
    words = re.sub(r'(?<=[a-z])(?=[A-Z])|[^A-Za-z0-9]+', '_', name).lower()
    return re.search(rf'(^|_){ending}$', words) is not None


def _axis_away(chain: SerialChain, flange: Array) -> str:
    """
    Return which axis of a flange, such as '+z', points away from the arm at position zero.

    Away is the way to the flange from the last joint's frame or, if that has the same origin, from
    the frame of the joint before; unless it is small, its part along the last joint's axis.
    """
    frames = [chain.mount, *(chain.poses[joint.child] for joint in chain.joints)]
    back, last = inverse_transform(flange), chain.joints[-1]
    ways = [-(back @ frame[:, 3])[:3] for frame in (frames[-1], frames[-2])]
    away = ways[float(np.linalg.norm(ways[0])) < _MIN_DISTANCE_M]
    axis = (back @ frames[-1])[:3, :3] @ last.axis
    along, length = float(away @ axis), float(np.linalg.norm(away))
    if last.motion is JointKind.PRISMATIC or abs(along) > _MIN_ALONG * length:
        away, length = np.copysign(1.0, along) * axis, 1.0
    if away[2] >= _MIN_COSINE * length:
        return '+z'
    largest = int(np.abs(away).argmax())
    return f'{"-" if away[largest] < 0.0 else "+"}{"xyz"[largest]}'
