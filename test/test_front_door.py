# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`import franka_dynamics` offers every name it promises and loads nothing heavy for it."""

from pathlib import Path
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics import _lazy


@pytest.mark.parametrize('name', sorted(fd.__all__))
def test_the_front_door_resolves(name):
    assert getattr(fd, name) is not None
    assert name in dir(fd)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'franka_dynamics' has no attribute 'gravity'"):
        fd.gravity  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'lode'"):
        from franka_dynamics import lode  # noqa: F401


def test_lazy_exports_import_when_asked_and_only_once(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(_lazy, 'import_module', lambda *home: asked.append(home) or np)
    package = ModuleType('room')
    package.__file__ = str(tmp_path / '__init__.py')
    offer = (
        'if TYPE_CHECKING:\n    from .a import eye as eye\n    from .b import zeros as naught\n'
    )
    Path(package.__file__).write_text(offer, encoding='utf-8')
    monkeypatch.setitem(sys.modules, 'room', package)
    package.__getattr__, _, names = _lazy.lazy_exports('room')
    assert (names, asked) == (['eye', 'naught'], [])
    assert package.naught is np.zeros
    assert package.naught is np.zeros
    assert asked == [('.b', 'room')]


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
    assert not set(loaded) & {
        'llvmlite',
        'cvxpy',
        'mujoco',
        'scipy',
        'sympy',
        'rich',
        'matplotlib',
    }
