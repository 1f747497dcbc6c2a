# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The public interface is what the committed lists say; a name changes only by the rule."""

from functools import cache

import pytest

from franka_dynamics.files import share_directory

from .lists import all_offered_names, changed_names, listed_names, LISTS

UPDATE = 'python -m test.public_interface adds them'
offered = cache(all_offered_names)


@pytest.mark.parametrize('kind', LISTS)
def test_no_public_name_is_lost(kind):
    lost = listed_names(kind) - offered(kind) - set(changed_names(kind))
    assert not lost, 'give each an alias and a place in changed_names.yaml'


@pytest.mark.parametrize('kind', LISTS)
def test_each_public_name_is_listed(kind):
    added = offered(kind) - listed_names(kind) - set(changed_names(kind))
    assert not added, UPDATE


@pytest.mark.parametrize('kind', LISTS)
def test_a_changed_name_has_its_alias_and_changelog_line(kind):
    changelog = (share_directory() / 'CHANGELOG.rst').read_text('utf-8')
    for name, change in changed_names(kind).items():
        assert change['changelog'] in changelog, name
        assert name not in listed_names(kind), name
        if change['alias']:
            assert {name, change['now']} <= offered(kind), name
