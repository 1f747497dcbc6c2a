# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`import franka_dynamics` offers every name it promises and loads nothing heavy for it."""

import subprocess
import sys

import pytest

import franka_dynamics as fd


def test_the_front_door_resolves():
    for name in fd.__all__:
        assert getattr(fd, name) is not None, name
    assert set(fd.__all__) <= set(dir(fd))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'franka_dynamics' has no attribute 'gravity'"):
        fd.gravity  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'lode'"):
        from franka_dynamics import lode  # noqa: F401


def words_printed(program):
    """Return the words that a program prints in a Python of its own."""
    return subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, check=True
    ).stdout.split()


def test_importing_the_package_loads_no_engine():
    program = (
        'import sys; before = set(sys.modules); import franka_dynamics; '
        'print(*sorted({name.split(".")[0] for name in set(sys.modules) - before}))'
    )
    loaded = words_printed(program)
    assert set(loaded) - set(sys.stdlib_module_names) == {'franka_dynamics'}


def test_the_model_of_an_arm_loads_neither_compiler_nor_solver():
    program = (
        'import sys; import franka_dynamics as fd; arm = fd.load("fer"); '
        'fd.Model(arm).gravity(arm.home); print(*sys.modules)'
    )
    loaded = words_printed(program)
    assert 'pinocchio' in loaded
    assert not set(loaded) & set('llvmlite cvxpy mujoco scipy sympy rich matplotlib'.split())
