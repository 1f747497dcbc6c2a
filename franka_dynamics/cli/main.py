# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The command `franka-dynamics`: ten words, some followed by an action, as in `arm check`.

The module `actions` has a class for each action, without the libraries that do the work, so that
`--help` does not need them. Exit status: 0 done, 1 a
check failed (a mismatch, a missed bound), or a node or robot failed or did not answer, 2 wrong
input or a missing library, 3 the machine is too busy (demo), 130 interrupted, 141 the reader of
the output has gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
import os
import sys

import click
from click.shell_completion import shell_complete

from . import actions
from ._action import Action, GET_ROS
from ._click import Verb, Words
from ._interrupts import or_interrupted
from .. import __version__
from ..errors import FrankaDynamicsError, MissingDependencyError, SettingsError
from ..files import NOT_WRITTEN

NAME = 'franka-dynamics'
_COMPLETE = '_FRANKA_DYNAMICS_COMPLETE'  # set by the script that click gives a shell
INPUT_AT_FAULT = FrankaDynamicsError.status
READER_GONE = 141  # exit status that the shell gives a process ended by SIGPIPE
# Each word with what `franka-dynamics --help` says of it, and its actions, or none.
WORDS = {
    'demo': ('Run a simulated arm with its node, and measure both.', ''),
    'sim': ('A simulated arm, the node that holds it, a view of both.', ''),
    'doctor': ('Check machine, network, topics, clock and gravity.', ''),
    'view': ('An arm with its torques in the browser.', ''),
    'arm': ('Print, check, compare and convert arms:', 'show check import export'),
    'bag': ('Record, import, and compare with the model:', 'record import replay'),
    'identify': ('Inertias and friction, or a payload, from recordings:', 'arm payload plan'),
    'payload-from-mesh': ("A tool's payload from its mesh (STL, OBJ, PLY).", ''),
    'codegen': ("An arm's equations as C or Python; operations counted.", ''),
    'node': (
        'State, parameters and motion of a running node:',
        'state set play clear monitor defaults',
    ),
}


class _Command(Words):
    """The whole command, whose help lists all words on one screen."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help: each word with its purpose, and the names of its actions."""
        lines = [
            'Usage: franka-dynamics [--help] [--version] WORD [ACTION] [options]\n',
            'Dynamics of Franka arms: check, compare, identify, generate.\n',
        ]
        for word, (about, below) in WORDS.items():
            lines.append(f'  {word:<18}{about}')
            if below:
                lines.append(f'    {below}')
        lines.append('\nWORD --help and WORD ACTION --help list the options.\n')
        formatter.write('\n'.join(lines))


def _verb(words: str) -> Verb:
    """Return the command of an action, such as `arm check`, from its class, such as ArmCheck."""
    kind = words.title().replace('-', '').replace(' ', '')
    return Verb(words.rpartition(' ')[2], getattr(actions, kind))


def _word(word: str) -> click.Command:
    """Return the command of a word."""
    about, below = WORDS[word]
    each = {one: _verb(f'{word} {one}') for one in below.split()}
    return Words(word, about, each) if each else _verb(word)


COMMAND = click.version_option(__version__, message='%(prog)s %(version)s')(
    _Command(NAME, '', {word: _word(word) for word in WORDS})
)


def parsed(words: Sequence[str]) -> Action:
    """
    Return the action that command-line words name, with its options.

    Raises
    ------
    SettingsError
        If a word or an option is unknown, or a value is missing or wrong.
    click.exceptions.Exit
        After --help or --version, or if no action was named and the help was printed instead.

    """
    try:
        with COMMAND.make_context(NAME, list(words)) as context:
            action: Action = COMMAND.invoke(context)
        return action
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else NAME
        said = error.format_message().rstrip('.').replace('\n', ' ')
        raise SettingsError(f'{said} (see {where} --help)') from error


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
        except click.exceptions.Exit as ended:  # of --help and --version
            status = ended.exit_code
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
        if error.filename or error.errno not in NOT_WRITTEN:
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


def _answered(words: list[str]) -> int:
    """Run the action that the words name, or print the help; return the exit status."""
    instruction = os.environ.get(_COMPLETE)
    if instruction:
        return shell_complete(COMMAND, {}, NAME, _COMPLETE, instruction)
    action = parsed(words)
    try:
        from ._say import PRINTED, silent

        with silent(text=getattr(action, 'json', None) == PRINTED):
            return action.resolved().run()
    except ImportError as error:
        missing = (error.name or '').partition('.')[0]
        if not (missing.startswith(('rcl', 'ament_')) or missing.endswith(('_msgs', '_srvs'))):
            raise
        what = ' '.join([NAME, *words[: 2 if WORDS[words[0]][1] else 1]])
        raise MissingDependencyError(f'{what} needs ROS 2 ({error}): {GET_ROS}.') from error


if __name__ == '__main__':
    sys.exit(main())
