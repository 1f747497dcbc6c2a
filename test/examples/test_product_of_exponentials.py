# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The notebook of the Panda notebook's cells runs, and prints what it is shipped with."""

import json
from pathlib import Path

import pytest

pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')

NOTEBOOK = Path(__file__).parents[2] / 'examples' / 'product_of_exponentials.ipynb'


def test_the_notebook_prints_the_outputs_it_is_shipped_with(capsys):
    # Each cell compares its letters with the models; what it shows of them is sympy's wording.
    cells = json.loads(NOTEBOOK.read_text('utf-8'))['cells']
    names, claims = {}, 0
    for cell in (cell for cell in cells if cell['cell_type'] == 'code'):
        exec(compile(''.join(cell['source']), NOTEBOOK.name, 'exec'), names)
        shipped = [''.join(o['text']) for o in cell['outputs'] if o['output_type'] == 'stream']
        printed = capsys.readouterr().out
        assert printed == ''.join(shipped)
        claims += printed.count('True')
    assert claims == 22
    # M, C and g of two links are shown in letters.
    assert (
        sum('text/latex' in o.get('data', {}) for c in cells[-6:] for o in c.get('outputs', ()))
        == 3
    )
