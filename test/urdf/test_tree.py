# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Links and joints that are a tree, and the ways not to be one."""

import pytest

from franka_dynamics.urdf.document import LinkTreeError, root_link


def test_the_root_of_a_tree_in_any_order_is_found():
    edges = [('j2', 'b', 'c'), ('j1', 'a', 'b'), ('j3', 'b', 'd')]
    assert root_link(['d', 'c', 'b', 'a'], edges) == 'a'


@pytest.mark.parametrize(
    ('links', 'edges', 'sentence'),
    [
        ([], [], r'has no links\.'),
        (['a', 'b'], [('j', 'a', 'b'), ('k', 'b', 'a')], 'its joints form a loop'),
        (['a', 'b', 'c'], [('j', 'b', 'c'), ('k', 'c', 'b')], 'the links b, c form a loop'),
        (['a', 'b'], [], r'has 2 root links \(a, b\)'),
        (['a'], [('j', 'a', 'b')], "joint 'j' refers to the link 'b'"),
        (
            ['a', 'b', 'c'],
            [('j', 'a', 'c'), ('k', 'b', 'c')],
            "the link 'c' hangs on two joints, 'j' and 'k'",
        ),
        (['a'], [('j', 'a', 'a')], 'its joints form a loop'),
    ],
)
def test_what_is_no_tree_is_refused_with_links_and_joints_named(links, edges, sentence):
    with pytest.raises(LinkTreeError, match=sentence):
        root_link(links, edges)
