# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The example that a test file is named after."""

import pytest

from ..scripts import tested_by


@pytest.fixture(scope='module')
def example(request):
    """Return the example as a module."""
    with tested_by(request) as module:
        yield module
