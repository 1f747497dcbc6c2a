# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The example that a test file is named after."""

import pytest

from .. import scripts


@pytest.fixture(scope='module')
def example(request):
    """Return the example as a module."""
    with scripts.loaded(scripts.example(request.path.stem.removeprefix('test_'))) as module:
        yield module
