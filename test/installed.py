# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which optional libraries are installed, without the seconds that importing them takes."""

from importlib.util import find_spec

import pytest


def needs(*libraries):
    """Return a mark that skips tests where a library is not installed."""
    missing = [name for name in libraries if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f'not installed: {", ".join(missing)}')
