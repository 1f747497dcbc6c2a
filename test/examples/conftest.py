# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Each example as a module, under its name."""

import pytest

from .. import scripts


def _loading(name):
    @pytest.fixture(scope='module', name=name)
    def example():
        with scripts.loaded(scripts.example(name)) as module:
            yield module

    return example


for _name in scripts.EXAMPLES:
    globals()[f'_{_name}'] = _loading(_name)
