# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Skips, by name, what needs a library that is not installed."""

from importlib.util import find_spec

import pytest


def needs(*libraries):
    """Return a mark that skips tests where a library is not installed."""
    missing = [name for name in libraries if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f'not installed: {", ".join(missing)}')


def lacking(error):
    """Return the library whose absence led to an error; None if the error has another cause."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name:
            library = error.name.partition('.')[0]
            return None if _found(library) else library
        error = error.__cause__ or error.__context__
    return None


def _found(library):
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:
        return False


def skip_without(error):
    """Skip the test if an error came from the absence of a library."""
    if library := lacking(error):
        pytest.skip(f'not installed: {library}')
