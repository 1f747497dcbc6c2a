# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Types of command-line options, which convert typed text and refuse wrong values."""

from collections.abc import Callable
import math
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ..errors import OutputError
from ..files import share_directory, writable_folder, writable_path
from ..recordings.options import layout_columns, LAYOUT_FIELDS, LOG_LAYOUTS

STDOUT_PATH = Path('-')  # path that stands for standard output
_PICTURE_SUFFIXES = ('.png', '.svg', '.pdf')


class Number(click.FloatRange):
    """Option type of a finite number in a range; click's own ranges also accept NaN."""

    name = 'number'

    def _describe_range(self) -> str:
        """Return the allowed range as text for the help, or '' if it has no bounds."""
        if self.min is None and self.max is None:
            return ''
        return super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the option's value as a finite float; otherwise raise click.BadParameter."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f'{value} is not a finite number', param, ctx)
        return number


class Assignment(click.ParamType):
    """Option type of a pair of a name and a number, such as a joint's position."""

    name = 'assignment'

    def __init__(self, form: str = 'JOINT=POSITION') -> None:
        """Make the type of a pair; `form` tells in errors how it is written."""
        self.form = form

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the pair (name, position) in a text; otherwise raise click.BadParameter."""
        joint, sign, position = f'{value}'.partition('=')
        if not (joint and sign):
            self.fail(f'{value!r} is no {self.form}', param, ctx)
        return joint, Number().convert(position, param, ctx)


class CommaList(click.ParamType):
    """Option type of a tuple of values separated by commas; `count` fixes their number."""

    name = 'values'

    def __init__(
        self,
        metavar: str,
        item_type: click.ParamType = click.STRING,
        count: int | None = None,
    ) -> None:
        """Make the type of `count` items of `item_type`; help shows `metavar` for it."""
        self.metavar = metavar
        self.item_type = item_type
        self.count = count

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a text's values as a tuple, a non-text unchanged; or raise click.BadParameter."""
        if not isinstance(value, str):
            return value
        parts = [self.item_type.convert(part.strip(), param, ctx) for part in value.split(',')]
        if self.count not in (None, len(parts)):
            self.fail(
                f'{value!r} has {len(parts)} of {self.count} values with commas',
                param,
                ctx,
            )
        return tuple(parts)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the completions of the last value behind those that are typed already."""
        typed, comma, last = incomplete.rpartition(',')
        items = self.item_type.shell_complete(ctx, param, last)
        if not comma:
            return items
        # The shell completes names of files by itself, but not behind a comma.
        words = [item.value for item in items if item.type == 'plain']
        return [CompletionItem(f'{typed},{word}') for word in words]


class LayoutType(click.ParamType):
    """Option type of where a log's columns are: a known layout, or FIELD=COLUMNS with commas."""

    name = 'layout'

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return columns by the fields of ColumnMap; otherwise raise click.BadParameter."""
        if not isinstance(value, str):
            return value
        if '=' not in value:
            if value not in LOG_LAYOUTS:
                self.fail(f'{value!r} is neither {", ".join(LOG_LAYOUTS)} nor FIELD=COLUMNS,...')
            return layout_columns(value)
        columns: dict[str, str] = {}
        field = ''
        for part in value.split(','):
            name, sign, text = part.partition('=')
            if sign:
                field = name.strip()
                columns[field] = text
            else:  # one more column of the same field
                columns[field] += f',{part}'
        unknown = columns.keys() - LAYOUT_FIELDS
        if unknown:
            self.fail(f'{sorted(unknown)[0]!r} is none of {", ".join(LAYOUT_FIELDS)}')
        return columns


class ShippedNameOrPath(click.Path):
    """Option type of a path or the name of a file shipped in a folder of config/."""

    def __init__(self, config_folder: str) -> None:
        """Make the type of names of files in config/`config_folder`, and of paths."""
        super().__init__()
        self.config_folder = config_folder

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return files and names of shipped files as shell completions of the typed text."""
        shipped = (share_directory() / 'config' / self.config_folder).glob(f'{incomplete}*.yaml')
        names = [CompletionItem(path.stem) for path in sorted(shipped)]
        return super().shell_complete(ctx, param, incomplete) + names


class OutputPath(click.Path):
    """Option type of an output's path, which `check_path` checks before the command runs."""

    def __init__(self, check_path: Callable[[str], Path]) -> None:
        """Make the type of paths that `check_path` accepts."""
        super().__init__()
        self.check_path = check_path

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path that `check_path` accepts; otherwise raise its OutputError."""
        return self.check_path(f'{value}')


# Paths of outputs --------------------------------------------------------------------------------
def picture_path(text: str) -> Path:
    """Return a picture's path; raise OutputError if not writable, or no .png, .svg or .pdf."""
    path = writable_path(text)
    if path.suffix.lower() not in _PICTURE_SUFFIXES:
        suffixes = ', '.join(_PICTURE_SUFFIXES)
        raise OutputError(f'{path} is no picture; the name must end in {suffixes}.')
    return path


def csv_path(text: str) -> Path:
    """Return the path of a CSV file; raise OutputError unless it is writable and ends in .csv."""
    if Path(text).suffix.lower() != '.csv':
        raise OutputError(f'{text}: the name must end in .csv.')
    return writable_path(text)


def json_path(text: str) -> Path:
    """
    Return --json as a path, '-' for standard output; raise OutputError if it cannot be written.

    The option takes the word after it as its file. So that `arm check --json robot.urdf` does not
    write over the robot, OutputError is also raised for a file that has content and is not called
    .json.
    """
    if text == f'{STDOUT_PATH}':
        return STDOUT_PATH
    path = writable_path(text)
    if path.suffix.lower() != '.json' and path.is_file() and path.stat().st_size > 0:
        raise OutputError(
            f'{path} exists, and is no .json file. --json takes the word after it as its file: '
            'put --json last, or name a .json file.'
        )
    return path


def output_path(text: str) -> Path:
    """Return the path of a file, or of a folder, that can be written; else raise OutputError."""
    return writable_folder(text) if Path(text).suffix == '' else writable_path(text)


def new_bag_path(text: str) -> Path:
    """Return a path for a new bag; raise OutputError if it exists or cannot be written."""
    return _require_new_path(writable_folder(text), 'a bag is never overwritten: choose another.')


def new_file_path(text: str) -> Path:
    """Return a path for a new file; raise OutputError if it exists or cannot be written."""
    return _require_new_path(writable_path(text), 'remove it, or choose another name.')


def _require_new_path(path: Path, fix: str) -> Path:
    """Return a path, or raise OutputError with a fix if something exists there already."""
    if path.exists():
        raise OutputError(f'{path} exists already; {fix}')
    return path


def require_not_existing(output: Path | None, overwrite: bool) -> None:
    """Raise OutputError if the output file exists, unless `overwrite` (--force) is true."""
    if output is not None and output.exists() and not overwrite:
        raise OutputError(f'{output} exists; choose another name, or add --force.')


# Types that several options have -----------------------------------------------------------------
FILE_TYPE = click.Path()
VECTOR_TYPE = CommaList('X,Y,Z', Number(), 3)
ARM_TYPE = ShippedNameOrPath('arms')
HAND_TYPE = ShippedNameOrPath('hands')
OUT_FILE_TYPE = OutputPath(writable_path)
OUT_DIR_TYPE = OutputPath(writable_folder)
OUT_PATH_TYPE = OutputPath(output_path)
PICTURE_TYPE = OutputPath(picture_path)
JSON_TYPE = OutputPath(json_path)
NEW_BAG_TYPE = OutputPath(new_bag_path)
NEW_FILE_TYPE = OutputPath(new_file_path)
