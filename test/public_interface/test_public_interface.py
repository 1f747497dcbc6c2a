# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The public interface is what the committed lists say; a name changes only by the rule."""

import pytest

from .lists import listed_names, LISTS, offered_names

UPDATE = '`python -m test.public_interface` writes the lists'


@pytest.mark.parametrize('kind', LISTS)
def test_the_public_names_are_the_listed_ones(kind):
    offered = offered_names(kind)
    listed = listed_names(kind)
    assert not listed - offered, 'CONTRIBUTING.md says when a public name may go'
    assert not offered - listed, UPDATE
