# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The command `franka-dynamics`: one verb per module of this folder.

A verb's module has SUMMARY (one line), add_arguments(parser) and run(arguments) -> exit status.
It imports what is heavy or optional inside run, so that `--help` needs neither.
Exit status: 0 done, 1 the answer is no (a mismatch, a missed bound), 2 the input is at fault.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
import os
from pkgutil import iter_modules
import sys

from .. import __version__, cli
from ..errors import FrankaDynamicsError

INPUT_AT_FAULT = 2
READER_GONE = 141  # as the shell reports a process that SIGPIPE ended


def verbs() -> dict[str, str]:
    """Return the verbs and the modules that hold them."""
    names = [module.name for module in iter_modules(cli.__path__)]
    return {name.replace('_', '-'): name for name in names
            if name != 'main' and not name.startswith('_')}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs."""
    parser = argparse.ArgumentParser(
        prog='franka-dynamics', description='Dynamics of Franka arms: check, compare, generate.')
    parser.add_argument('--version', action='version', version=f'%(prog)s {__version__}')
    subparsers = parser.add_subparsers(title='verbs', metavar='VERB', required=True)
    for verb, module_name in verbs().items():
        module = import_module(f'{cli.__name__}.{module_name}')
        subparser = subparsers.add_parser(verb, help=module.SUMMARY, description=module.SUMMARY)
        module.add_arguments(subparser)
        subparser.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit status; errors of ours become one sentence."""
    arguments = build_parser().parse_args(argv)
    try:
        status = int(arguments.run(arguments))
        sys.stdout.flush()
        return status
    except FrankaDynamicsError as error:
        print(f'franka-dynamics: {error}', file=sys.stderr)
        return INPUT_AT_FAULT
    except BrokenPipeError:
        # The reader, such as head, has seen enough; what is still buffered must go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except KeyboardInterrupt:
        print('franka-dynamics: interrupted', file=sys.stderr)
        return 130


if __name__ == '__main__':
    sys.exit(main())
