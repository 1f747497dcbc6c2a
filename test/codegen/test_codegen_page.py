# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Python on docs/theory/codegen.md runs."""

from pathlib import Path
import re

PAGE = (Path(__file__).parents[2] / 'docs' / 'theory' / 'codegen.md').read_text(encoding='utf-8')


def test_the_pages_python_gives_arrays_of_the_shapes_it_says():
    (code,) = re.findall(r'```python\n(.*?)```', PAGE, re.S)
    names = {}
    exec(code, names)
    assert names['tau'].shape == (100_000, 7)
    assert names['M'].shape == (100_000, 7, 7)
