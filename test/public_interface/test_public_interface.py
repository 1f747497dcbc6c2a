# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The public interface is what the committed lists say; a name changes only by the rule."""

from functools import cache
import re

import pytest

import franka_dynamics as fd
from franka_dynamics.files import share_directory

from .lists import listed_names, LISTS, offered_names, removed_names

UPDATE = '`python -m test.public_interface` adds them'
CHANGELOG = (share_directory() / 'CHANGELOG.rst').read_text('utf-8')
offered = cache(offered_names)


def release(text):
    """Return a version as numbers that can be compared."""
    return tuple(map(int, text.split('.')))


@pytest.mark.parametrize('kind', LISTS)
def test_no_public_name_is_lost(kind):
    names, former = offered(kind)
    lost = listed_names(kind) - names - set(former) - set(removed_names(kind))
    assert not lost, 'CONTRIBUTING.md says how a public name changes'


@pytest.mark.parametrize('kind', LISTS)
def test_each_public_name_is_listed(kind):
    names, former = offered(kind)
    assert not names - listed_names(kind), UPDATE
    left = listed_names(kind) & {*former, *removed_names(kind)}
    assert not left, 'former and removed names leave the list'


@pytest.mark.parametrize('kind', LISTS)
def test_each_changed_name_has_a_line_in_the_changelog(kind):
    # Of json_names the keys below a former key count as former, too.
    former = [] if kind == 'json' else offered(kind)[1]
    words = {f'``{re.split("[ .(]", name.rstrip(")"))[-1]}``' for name in former}
    words |= set(removed_names(kind).values())
    assert not [word for word in words if word not in CHANGELOG]


@pytest.mark.parametrize('kind', LISTS)
def test_a_former_name_goes_with_its_release(kind):
    now = release(fd.__version__)
    assert not [name for name, until in offered(kind)[1].items() if release(until) <= now]
