# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes the tables of the Python core (control/core_table.py) as a C++ header.

`make generated` does, a test compares.
"""

from collections.abc import Iterator
from enum import Enum
import json
from pathlib import Path

from franka_dynamics.control import core_table
from franka_dynamics.control.core_table import (
    Acting,
    Cause,
    Event,
    From,
    Reaction,
    Remedy,
    ROWS,
    State,
    Torque,
)
from franka_dynamics.files import write_text

PATH = Path(__file__).parents[1] / 'cpp/include/franka_dynamics_controllers/core_table.hpp'
_HEADER = """// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// What ends torques, and what an event changes: written by `make generated` from
// franka_dynamics/control/core_table.py, which explains it.
#pragma once

#include <optional>

namespace franka_dynamics_controllers
{

"""
_STRUCTS = """
/// What the arm gets after torques have ended.
struct ReactionColumns
{
  const char * words;
  bool replaces_former;
  bool is_watched;
};

/// What the user must do before torques begin again.
struct RemedyColumns
{
  const char * words;
  bool begins_alone;
  bool is_fault;
};

/// What ends torques or keeps them waiting.
struct CauseColumns
{
  const char * words;
  Reaction reaction;
  Remedy remedy;
};

/// What an event changes in a state, or in any. The row holds for any reaction and remedy that
/// another row of this state and event does not name. Without `to` the call is refused.
struct Row
{
  std::optional<CoreState> state;
  Event event;
  std::optional<Reaction> after_reaction;
  std::optional<Remedy> after_remedy;
  std::optional<CoreState> to;
  TorqueOfEvent torque;
  From since;
  Acting settings;
};

"""
_END = """
}  // namespace franka_dynamics_controllers
"""
# The enumerations by their C++ names.
_ENUMS: dict[str, type[Enum]] = {
    'CoreState': State,
    'Reaction': Reaction,
    'Remedy': Remedy,
    'Cause': Cause,
    'Event': Event,
    'TorqueOfEvent': Torque,
    'From': From,
    'Acting': Acting,
}
_NAME_OF = {kind: name for name, kind in _ENUMS.items()}


def headers() -> dict[Path, str]:
    """Return the text of the header by its path."""
    return {PATH: _header()}


def _header() -> str:
    enums = [_enum(name, kind) for name, kind in _ENUMS.items()]
    tables = '\n\n'.join(
        (
            _table('ReactionColumns', 'kReactions', map(_reaction, Reaction)),
            _table('RemedyColumns', 'kRemedies', map(_remedy, Remedy)),
            _table('CauseColumns', 'kCauses', map(_cause, Cause)),
            _table('Row', 'kRows', map(_row, ROWS)),
        )
    )
    return _HEADER + '\n'.join(enums) + '\n' + _STRUCTS + tables + '\n' + _END


def _enum(name: str, kind: type[Enum]) -> str:
    names = ''.join(f'\n  {one.name.lower()},' for one in kind)
    return f'enum class {name} {{{names}\n}};'


def _reaction(one: Reaction) -> str:
    return _literals(one.value, one.replaces_former, one.is_watched)


def _remedy(one: Remedy) -> str:
    return _literals(one.value, one.begins_alone, one.is_fault)


def _cause(one: Cause) -> str:
    return _literals(one.words, one.reaction, one.remedy)


def _row(row: core_table.Row) -> str:
    reaction = row.after if isinstance(row.after, Reaction) else None
    remedy = row.after if isinstance(row.after, Remedy) else None
    found_in = _literals(row.state, row.event, reaction, remedy)
    brings = _literals(row.to, row.torque, row.since, row.settings)
    return f'{found_in},\n   {brings}'


def _literals(*values: object) -> str:
    return ', '.join(map(_literal, values))


def _literal(value: object) -> str:
    if value is None:
        return 'std::nullopt'
    if isinstance(value, Enum):
        return f'{_NAME_OF[type(value)]}::{value.name.lower()}'
    return json.dumps(value)


def _table(kind: str, name: str, rows: Iterator[str]) -> str:
    listed = ''.join(f'\n  {{{row}}},' for row in rows)
    return f'constexpr {kind} {name}[] = {{{listed}\n}};'


if __name__ == '__main__':
    for path, text in headers().items():
        write_text(path, text)
