# PYTHON_ARGCOMPLETE_OK
# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The command `franka-dynamics`: one verb per module of this folder.

A verb's module has SUMMARY (one line), GROUP (one of GROUPS), add_arguments(parser) and
run(arguments) -> exit status. It imports what is heavy or optional inside run, so that `--help`
needs neither. Exit status: 0 done, 1 the answer is no (a mismatch, a missed bound), 2 the input
is at fault.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
import os
from pkgutil import iter_modules
import sys
import textwrap
from types import ModuleType

from ._interrupts import interrupts_noted
from .. import __version__, cli
from ..errors import FrankaDynamicsError

INPUT_AT_FAULT = 2
READER_GONE = 141  # as the shell reports a process that SIGPIPE ended
GROUPS = ('see it work', 'check a model', 'from recordings', 'generate', 'while it runs')
OTHERS = 'others'
_WIDTH = 79


def verbs() -> dict[str, str]:
    """Return the verbs and the modules that hold them."""
    names = [module.name for module in iter_modules(cli.__path__)]
    return {
        name.replace('_', '-'): name
        for name in names
        if name != 'main' and not name.startswith('_')
    }


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs."""
    modules = {verb: import_module(f'{cli.__name__}.{name}') for verb, name in verbs().items()}
    parser = argparse.ArgumentParser(
        prog='franka-dynamics',
        usage='franka-dynamics [--version] VERB [options]',
        description='Dynamics of Franka arms: check, compare, identify, generate.',
        epilog=_verbs_by_group(modules),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--version', action='version', version=f'%(prog)s {__version__}')
    subparsers = parser.add_subparsers(
        prog='franka-dynamics',
        metavar='VERB',
        required=True,
        help='one of those below; VERB --help tells its options',
    )
    for verb, module in modules.items():
        # Without `help` a verb is not listed a second time among the positional arguments.
        subparser = subparsers.add_parser(verb, description=module.SUMMARY)
        module.add_arguments(subparser)
        subparser.set_defaults(run=module.run)
    return parser


def _verbs_by_group(modules: dict[str, ModuleType]) -> str:
    """Return the verbs with their summaries, grouped by what they are for."""
    column = max(map(len, modules)) + 4
    blocks = []
    for group in (*GROUPS, OTHERS):
        lines = [
            textwrap.fill(
                module.SUMMARY,
                _WIDTH,
                initial_indent=f'  {verb:<{column - 2}}',
                subsequent_indent=' ' * column,
            )
            for verb, module in modules.items()
            if getattr(module, 'GROUP', OTHERS) == group
        ]
        if lines:
            blocks.append('\n'.join((f'{group}:', *lines)))
    return '\n\n'.join(blocks)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit status; errors of ours become one sentence."""
    with interrupts_noted() as interrupted:
        try:
            return _main(argv)
        except Exception:
            # What an extension module made of the KeyboardInterrupt that was raised within it.
            if not interrupted():
                raise
        except KeyboardInterrupt:
            pass
    print('franka-dynamics: interrupted', file=sys.stderr)
    return 130


def _main(argv: Sequence[str] | None) -> int:
    try:
        parser = build_parser()
        _complete(parser)
        arguments = parser.parse_args(argv)
        arguments.options_given = _given(parser, arguments, argv)
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


def _given(
    parser: argparse.ArgumentParser, arguments: argparse.Namespace, argv: Sequence[str] | None
) -> frozenset[str]:
    """Return the names of the options that were given, whatever their defaults are."""
    (choices,) = (
        action.choices
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    for subparser in choices.values():
        if subparser.get_default('run') is arguments.run:
            for action in subparser._actions:
                action.default = argparse.SUPPRESS
    return frozenset(vars(parser.parse_args(argv)))


def _complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks for completions, and exit; do nothing otherwise."""
    if '_ARGCOMPLETE' in os.environ:
        try:
            import argcomplete
        except ImportError:
            return
        argcomplete.autocomplete(parser)


if __name__ == '__main__':
    sys.exit(main())
