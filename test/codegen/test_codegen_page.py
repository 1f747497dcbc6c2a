# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Python on docs/theory/codegen.md runs, and its figures hold."""

from pathlib import Path
import re

import pytest

from franka_dynamics.arm import load
from franka_dynamics.codegen.emit import operation_count
from franka_dynamics.codegen.equations import customised_equations, Quantity

PAGE = (Path(__file__).parents[2] / 'docs' / 'theory' / 'codegen.md').read_text(encoding='utf-8')


def test_the_pages_python_gives_arrays_of_the_shapes_it_says():
    pytest.importorskip('numba', reason="numba (extra 'batch') is not installed")
    (code,) = re.findall(r'```python\n(.*?)```', PAGE, re.S)
    names = {}
    exec(code, names)
    assert names['tau'].shape == (100_000, 7)
    assert names['M'].shape == (100_000, 7, 7)


def test_the_pages_counts_are_those_counted_again():
    (row,) = re.findall(r'\| fer, fr3: baked in \| (.*?) \|\n', PAGE)
    figures = [tuple(map(int, cell.split(' (')[0].split(' / '))) for cell in row.split(' | ')]
    assert figures == [
        operation_count(customised_equations(load('fer'), quantity)) for quantity in Quantity
    ]
