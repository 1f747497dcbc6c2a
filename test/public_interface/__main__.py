# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Adds new public names to the lists: `python -m test.public_interface [KIND ...]`."""

import argparse
import sys

from .lists import LISTS, write_list

parser = argparse.ArgumentParser(
    description='Add what the code offers to the lists of public names. A name that is gone stays '
    'until removed_names.yaml has it; then exit status 1.'
)
parser.add_argument('kinds', nargs='*', metavar='KIND', help=f'one of {", ".join(LISTS)}')
chosen = parser.parse_args().kinds or [*LISTS]
if unknown := set(chosen) - set(LISTS):
    parser.error(f'unknown: {", ".join(sorted(unknown))}')
missing = 0
for kind in chosen:
    added, gone = write_list(kind)
    missing += len(gone)
    for name in sorted(added):
        print(f'{kind}: added {name}')
    for name in sorted(gone):
        print(f'{kind}: gone {name}', file=sys.stderr)
sys.exit(1 if missing else 0)
