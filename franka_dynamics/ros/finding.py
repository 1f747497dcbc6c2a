# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the namespace of a node or topic that a user names without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import time
from typing import Any

from ..errors import listed, SettingsError


def resolved(name: str, present: set[str], what: str) -> str:
    """
    Return the full name of a node or topic that a user gave.

    A name with a leading slash is a full name. Another name is looked up in `present`, full names:
    first in the root namespace, then in all others. If it is not there, the root namespace is
    assumed. Raises SettingsError, with `what` in the sentence, if several namespaces have it.
    """
    if name.startswith('/'):
        return name
    if f'/{name}' in present:
        return f'/{name}'
    found = sorted(one for one in present if one.endswith(f'/{name}'))
    if len(found) > 1:
        raise SettingsError(
            f'{name} stands for {len(found)} {what}s here: {listed(found)}; name one of them, '
            'with its slash.'
        )
    return found[0] if found else f'/{name}'


def find(
    own: Any,
    spin: Callable[[], object],
    seconds: float,
    node: str = '',
    topics: Sequence[str] = (),
) -> tuple[str, list[str]]:
    """
    Return the full names of a node and of topics that a user named.

    A name without a leading slash is looked up among the nodes or the published topics that the
    node `own` discovers: until all are found, but for at most `seconds` [s]. `spin` is called
    while waiting.
    """
    end = time.monotonic() + seconds
    while True:
        nodes, published = _nodes(own), _published(own)
        sought = [(node, nodes), *((topic, published) for topic in topics)]
        if all(_is_found(*one) for one in sought) or time.monotonic() > end:
            break
        spin()
    return (
        resolved(node, nodes, 'node') if node else '',
        [resolved(topic, published, 'topic') for topic in topics],
    )


def _is_found(name: str, present: set[str]) -> bool:
    return not name or name[0] == '/' or any(one.endswith(f'/{name}') for one in present)


def _nodes(own: Any) -> set[str]:
    return {f'{space.rstrip("/")}/{name}' for name, space in own.get_node_names_and_namespaces()}


def _published(own: Any) -> set[str]:
    return {name for name, _ in own.get_topic_names_and_types() if own.count_publishers(name)}
