# PYTHON_ARGCOMPLETE_OK
# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The command `franka-dynamics`: ten words, some followed by an action, as in `arm check`.

Each action is an `Action` in a module of this folder, listed in WORDS. Actions import optional
libraries inside functions, so that `--help` does not need them. Exit status: 0 done, 1 a check
failed (a mismatch, a missed bound), or a node or robot failed or did not answer, 2 wrong input or
a missing library, 3 the machine is too busy (demo), 130 interrupted, 141 the reader of the output
has gone.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import suppress
import errno
from importlib import import_module
import inspect
import os
import re
import sys
from typing import Any, NoReturn

from ._action import Action, add_options, filled, usage
from ._interrupts import or_interrupted
from ._say import GET_ROS
from .. import __version__
from ..errors import FrankaDynamicsError, MissingDependencyError, nearest, SettingsError

INPUT_AT_FAULT = FrankaDynamicsError.status
READER_GONE = 141  # exit status that the shell gives a process ended by SIGPIPE
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
WORDS: dict[str, str | dict[str, str]] = {
    'demo': 'demo.Demo',
    'sim': 'sim.Sim',
    'doctor': 'doctor.Doctor',
    'view': 'view.View',
    'arm': {
        'show': 'arm_show.Show',
        'check': 'arm_check.Check',
        'compare': 'arm_compare.Compare',
        'explain': 'arm_explain.Explain',
        'import': 'arm_import.ImportUrdf',
        'export': 'arm_export.Export',
        'base-parameters': 'arm_base_parameters.BaseParameterTable',
    },
    'bag': {
        'record': 'bag_record.Record',
        'import': 'bag_import.Import',
        'replay': 'bag_replay.Replay',
        'external': 'bag_external.External',
    },
    'identify': {
        'arm': 'identify_arm.Identify',
        'payload': 'identify_payload.IdentifyPayload',
        'plan': 'identify_plan.Plan',
    },
    'payload-from-mesh': 'payload_from_mesh.PayloadFromMesh',
    'codegen': 'codegen.Codegen',
    'node': {
        'state': 'node.State',
        'get': 'node.Get',
        'set': 'node.Set',
        'load': 'node.Load',
        'play': 'node.Play',
        'clear': 'node.Clear',
        'monitor': 'node_monitor.Monitor',
        'defaults': 'node.Defaults',
    },
}
# What `franka-dynamics --help` says of each word.
ABOUT = {
    'demo': 'Run a simulated arm with its node, and measure both.',
    'sim': 'A simulated arm, the node that holds it, a view of both.',
    'doctor': 'Check machine, network, topics, clock and gravity.',
    'view': 'An arm with its torques in the browser.',
    'arm': 'Print, check, compare and convert arms:',
    'bag': 'Record, import, and compare with the model:',
    'identify': 'Inertias and friction, or a payload, from recordings:',
    'payload-from-mesh': "A tool's payload from its mesh (STL, OBJ, PLY).",
    'codegen': "An arm's equations as C or Python; operations counted.",
    'node': 'State, parameters and motion of a running node:',
}
_COLUMN = 20


def _found(place: str) -> type[Action]:
    module, _, name = place.partition('.')
    return getattr(import_module(f'.{module}', __package__), name)


class _OneSentence(argparse.ArgumentParser):
    """A parser whose error messages suggest the most similar choice and name --help."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # By its own pattern Python before 3.14 takes -9.81e0 for an option, not for a number.
        self._negative_number_matcher = re.compile(r'-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$')

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse's own _print_message ignores write errors, such as a full disk's.
        if message:
            (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Raise SettingsError with the message; argparse would print the usage as well."""
        chosen = re.search(r"invalid choice: '(.*?)' .choose from (.*).$", message, re.S)
        near = chosen and nearest(chosen[1], re.findall(r'[\w-]+', chosen[2]))
        program, *words = self.prog.split()
        group = WORDS.get(words[0]) if words else None
        if chosen and isinstance(group, dict) and chosen[1] in group:
            near = f'`{program} {words[0]} {chosen[1]}`'  # an action typed where a value belongs
        meant = f'; did you mean {near}?' if near else ''
        raise SettingsError(f'{message}{meant} (see {self.prog} --help)')


class _Parser(_OneSentence):
    """The parser of the whole command, whose help lists all words on one screen."""

    def format_help(self) -> str:
        """Return the help: each word with its purpose, and the names of its actions."""
        lines = [self.format_usage(), f'{self.description}\n']
        for word, target in WORDS.items():
            lines.append(f'  {word:<{_COLUMN - 2}}{ABOUT[word]}')
            if not isinstance(target, str):
                lines.append(f'    {" ".join(target)}')
        return '\n'.join((*lines, '\nWORD --help and WORD ACTION --help list the options.\n'))


def build_parser(words: Sequence[str] = (), *, whole: bool = True) -> argparse.ArgumentParser:
    """
    Return the command's parser, with the options of words[0], or of all words if none is given.

    With `whole` the help of an action also lists rarely used options.
    """
    parser = _Parser(
        prog='franka-dynamics',
        usage='franka-dynamics [--help] [--version] WORD [ACTION] [options]',
        description='Dynamics of Franka arms: check, compare, identify, generate.',
    )
    parser.add_argument('--version', action='version', version=f'%(prog)s {__version__}')
    parser.set_defaults(action=None, parser=parser)
    first = parser.add_subparsers(
        prog='franka-dynamics', metavar='WORD', parser_class=_OneSentence
    )
    for word, target in WORDS.items():
        leaf = first.add_parser(word, description=ABOUT[word])
        leaf.set_defaults(parser=leaf)
        if words and words[0] != word:
            continue
        if isinstance(target, str):
            _fill(leaf, _found(target), whole)
            continue
        group = leaf.add_subparsers(metavar='ACTION')
        for name, place in target.items():
            action = _found(place)
            help = (inspect.getdoc(action) or '').partition('\n')[0]
            _fill(group.add_parser(name, help=help), action, whole)
    return parser


def _fill(leaf: argparse.ArgumentParser, action: type[Action], whole: bool) -> None:
    leaf.description = inspect.getdoc(action)
    add_options(leaf, action, whole=whole)
    leaf.usage = usage(leaf)
    leaf.set_defaults(action=action, parser=leaf)


def parsers(parser: argparse.ArgumentParser, words: str = '') -> Iterator[tuple[str, Any]]:
    """Yield the words of every action (`demo`, `arm check`, ...) and their parser."""
    below = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if not below:
        yield words, parser
    for word, inner in below[0].choices.items() if below else ():
        yield from parsers(inner, f'{words} {word}'.strip())


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the command and return its exit status.

    After a FrankaDynamicsError, Ctrl-C, or if standard output is written to a full disk, one
    sentence on standard error says what happened.
    """
    return or_interrupted(lambda: _main(list(sys.argv[1:] if argv is None else argv)))


def _main(argv: list[str]) -> int:
    try:
        try:
            status = _answered(argv)
        except SystemExit as ended:  # of --help and --version
            status = int(ended.code or 0)
        sys.stdout.flush()
        return status
    except FrankaDynamicsError as error:
        _tell(f'{error}')
        return error.status
    except BrokenPipeError:
        # The program that reads the pipe, such as head, has closed it.
        _write_nowhere()
        return READER_GONE
    except OSError as error:
        if error.filename or error.errno not in _NOT_WRITTEN:
            raise
        _write_nowhere()
        _tell(f'standard output cannot be written: {error.strerror}.')
        return INPUT_AT_FAULT


def _tell(sentence: str) -> None:
    """Print a sentence to standard error; do nothing if standard error cannot be written."""
    with suppress(OSError):
        print(f'franka-dynamics: {sentence}', file=sys.stderr)


def _write_nowhere() -> None:
    """Discard unwritten standard output, which Python would fail to write at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _answered(argv: list[str]) -> int:
    """Run the action that the arguments name, or print the help; return the exit status."""
    if '_ARGCOMPLETE' in os.environ:
        with suppress(ImportError):
            import argcomplete

            argcomplete.autocomplete(build_parser())
    known = argv[:1] if argv and argv[0] in WORDS else ['no word']
    parser = build_parser(known, whole='--help-all' in argv)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        leaf = arguments.parser
        word, options = unknown[0].partition('=')[0], leaf._option_string_actions
        if not word.startswith('-'):
            meant = f'--arm {word}' if '--arm' in options else ''
        elif word.startswith('--robot') and '--arm' in options:
            meant = '--arm'
        else:
            meant = nearest(word, options)
        suggestion = f'; did you mean {meant}?' if meant else ''
        leaf.error(f'unrecognized arguments: {" ".join(unknown)}{suggestion}')
    if arguments.action is None:
        arguments.parser.print_help()
        return 0
    try:
        return filled(arguments.action, arguments).run()
    except ImportError as error:
        missing = (error.name or '').partition('.')[0]
        if not (missing.startswith(('rcl', 'ament_')) or missing.endswith(('_msgs', '_srvs'))):
            raise
        what = arguments.parser.prog
        raise MissingDependencyError(f'{what} needs ROS 2 ({error}): {GET_ROS}.') from error


if __name__ == '__main__':
    sys.exit(main())
