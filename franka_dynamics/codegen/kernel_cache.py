# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Generated kernels as files that numba can cache its machine code beside.

They lie in the user's cache folder (XDG_CACHE_HOME, or ~/.cache), named by a hash of all they
are made of, so that an arm's kernel is compiled once and not at every start.
"""

from __future__ import annotations

import hashlib
from importlib.util import module_from_spec, spec_from_file_location
import os
from pathlib import Path
import sys
import tempfile
from types import ModuleType

from . import sine_cosine, transpose
from .. import __version__


def load_kernel(source: str) -> ModuleType:
    """Return the module of a kernel's source, from a file that stays."""
    import numba

    shared = [Path(file).read_text(encoding='utf-8')
              for file in (sine_cosine.__file__, transpose.__file__) if file]
    identity = '\n'.join([__version__, numba.__version__, sys.version, *shared, source])
    name = f'kernel_{hashlib.sha256(identity.encode()).hexdigest()[:24]}'
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, _written(f'{name}.py', source))
    assert spec is not None and spec.loader is not None  # a .py file always has both
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    return module


def _written(name: str, source: str) -> Path:
    """Write a source where it is not yet; without a writable cache, into a temporary folder."""
    root = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
    path = root / 'franka_dynamics' / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not (path.is_file() and path.read_text(encoding='utf-8') == source):
            _replace(path, source)
    except OSError:
        path = Path(tempfile.mkdtemp(prefix='franka_dynamics-')) / name
        _replace(path, source)
    return path


def _replace(path: Path, source: str) -> None:
    """Write a file that another process, which may load it just now, sees whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix='.kernel-', suffix='.py')
    with open(handle, 'w', encoding='utf-8') as file:
        file.write(source)
    os.replace(name, path)
