# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The page of errata names tests that exist."""

from pathlib import Path
import re

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / 'docs' / 'theory' / 'errata.md').read_text(encoding='utf-8')
NAMED = [
    (file, name.strip())
    for file, names in re.findall(r'(test_\w+\.py): ([^|;]+)', PAGE)
    for name in names.split(',')
]


@pytest.mark.parametrize('file, name', NAMED)
def test_given_a_named_test_when_looked_for_then_it_exists(file, name):
    (path,) = (ROOT / 'test').rglob(file)
    assert re.search(rf'def test_\w*{re.escape(name)}', path.read_text(encoding='utf-8'))


def test_given_the_page_when_read_then_it_names_tests():
    assert len(NAMED) >= 14
