# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Links and joints as a tree: one root, one parent each, no loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MOST_NAMES = 6  # more link names than this make an error message unreadable
Edge = tuple[str, str, str]  # joint, parent link, child link


class TreeError(ValueError):
    """Links and joints form no tree; the sentence lacks the name of the file."""


def root_link(links: Iterable[str], edges: Sequence[Edge]) -> str:
    """
    Return the one link that no joint leads to.

    Parameters
    ----------
    links : iterable of str
        All link names.
    edges : sequence of (joint, parent link, child link)
        All joints.

    Raises
    ------
    TreeError
        If a joint names a link that is not there, a link hangs on two joints, or there is not
        exactly one root from which every link is reached.

    """
    names = list(links)
    parents: dict[str, str] = {}
    for joint, parent, child in edges:
        for link in (parent, child):
            if link not in names:
                raise TreeError(f'joint {joint!r} refers to the link {link!r}, which does not '
                                'exist.')
        if child in parents:
            raise TreeError(f'the link {child!r} hangs on two joints, {parents[child]!r} and '
                            f'{joint!r}; a URDF is a tree.')
        parents[child] = joint
    root = _only_root([name for name in names if name not in parents], bool(names))
    lost = sorted(set(names) - _reached_from(root, edges))
    if lost:
        raise TreeError(f'the links {", ".join(lost)} form a loop of joints; a URDF is a tree.')
    return root


def _only_root(roots: list[str], any_links: bool) -> str:
    if not any_links:
        raise TreeError('has no links.')
    if not roots:
        raise TreeError('its joints form a loop; a URDF is a tree with one root link.')
    if len(roots) > 1:
        raise TreeError(f'has {len(roots)} root links ({", ".join(roots[:_MOST_NAMES])}); join '
                        'them with fixed joints, a URDF is one tree.')
    return roots[0]


def _reached_from(root: str, edges: Sequence[Edge]) -> set[str]:
    reached, frontier = {root}, [root]
    while frontier:
        link = frontier.pop()
        children = [child for _, parent, child in edges if parent == link]
        reached.update(children)
        frontier.extend(children)
    return reached
