# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The program `franka-dynamics`: it runs a command, and turns errors into sentences and statuses.

Exit status: 0 done, 1 a check failed (a mismatch, a missed bound), or a node or robot failed or
did not answer, 2 wrong input or a missing library, 3 the machine is too busy (demo), 130
interrupted, 141 the reader of the output has gone.
"""

from collections.abc import Sequence
import os
import sys
from typing import Any
import warnings

import click
from click.shell_completion import shell_complete

from .commands.root import root_command
from ..errors import ArmWarning, FrankaDynamicsError

PROGRAM_NAME = 'franka-dynamics'
_COMPLETION_VARIABLE = '_FRANKA_DYNAMICS_COMPLETE'  # set by the script that click gives a shell
EXIT_INVALID_INPUT = FrankaDynamicsError.status
EXIT_INTERRUPTED = 130  # as shells report SIGINT
EXIT_BROKEN_PIPE = 141  # as shells report SIGPIPE
_STDERR_DESCRIPTOR = 2


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the command line and return its exit status.

    After wrong input, an error of this package or Ctrl-C, one sentence on standard error says
    what happened.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    instruction = os.environ.get(_COMPLETION_VARIABLE)
    if instruction:
        return shell_complete(root_command, {}, PROGRAM_NAME, _COMPLETION_VARIABLE, instruction)
    if sys.stderr is None:
        # If standard error is closed, the next file that is opened gets its number, and libraries
        # would write their messages into that file.
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDERR_DESCRIPTOR)
        sys.stderr = os.fdopen(_STDERR_DESCRIPTOR, 'w')
    if sys.stdout is None:  # closed: the next file that is opened would get the output
        return _print_error('standard output is closed; >/dev/null drops it', EXIT_INVALID_INPUT)
    try:
        with (
            root_command.make_context(PROGRAM_NAME, words) as command,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter('once', ArmWarning)  # some commands load an arm twice
            warnings.showwarning = _show_warning
            status: int = root_command.invoke(command) or 0
        sys.stdout.flush()
        return status
    except click.exceptions.Exit as ended:  # of --help and --version
        return ended.exit_code
    except click.ClickException as error:
        return _print_error(_usage_sentence(error), EXIT_INVALID_INPUT)
    except FrankaDynamicsError as error:
        return _print_error(f'{error}', error.status)
    except KeyboardInterrupt as error:
        return _print_error(str(error) or 'interrupted', EXIT_INTERRUPTED)
    except BrokenPipeError:
        _drop_unwritable_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        _drop_unwritable_output()
        place = error.filename or 'standard output'
        return _print_error(f'{place}: {error.strerror or error}.', EXIT_INVALID_INPUT)


def _usage_sentence(error: click.ClickException) -> str:
    """Return click's error about the typed words as one sentence that names the help."""
    message = error.format_message().rstrip('.').replace('\n', ' ')
    context = getattr(error, 'ctx', None)
    where = context.command_path if context else PROGRAM_NAME
    if isinstance(error, click.NoSuchOption):
        is_negative_number = error.option_name[1:2].isdigit()
        if is_negative_number:
            message += '; a list has commas and no spaces, as 0,0,-9.81'
    return f'{message} (see {where} --help)'


def _drop_unwritable_output() -> None:
    """Drop what standard output does not take, which Python would fail to write at its exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(
    message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Print a warning about an arm as one sentence, any other warning as Python does."""
    if issubclass(category, ArmWarning):
        print(f'warning: {message}', file=sys.stderr)
    else:
        text = warnings.formatwarning(message, category, filename, lineno)
        print(text, file=sys.stderr)


def _print_error(sentence: str, exit_status: int) -> int:
    """Print an error sentence to standard error; return the given exit status."""
    print(f'{PROGRAM_NAME}: {sentence}', file=sys.stderr)
    return exit_status


if __name__ == '__main__':
    sys.exit(main())
