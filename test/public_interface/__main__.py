# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the lists of public names: `python -m test.public_interface [KIND ...]`."""

import argparse

from .lists import LISTS, write_list

parser = argparse.ArgumentParser(
    description='Write what the code offers into the lists of public names, and print what was '
    'added and what is gone. CONTRIBUTING.md says when a name may go.'
)
parser.add_argument('kinds', nargs='*', metavar='KIND', help=f'one of {", ".join(LISTS)}')
chosen = parser.parse_args().kinds or [*LISTS]
if unknown := set(chosen) - set(LISTS):
    parser.error(f'unknown: {", ".join(sorted(unknown))}')
for kind in chosen:
    added, gone = write_list(kind)
    for name in sorted(added):
        print(f'{kind}: added {name}')
    for name in sorted(gone):
        print(f'{kind}: gone {name}')
