# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The core does what its table says: pairs and drawn triples of events, and each row changed."""

from itertools import product
import os
import random

import pytest

from franka_dynamics.control.core_table import (
    Acting,
    ROWS,
    State,
    Torque,
)

from . import core_oracle
from .core_oracle import EVENTS, play

# Drawn triples, in rounds of ROUND; `make model-check` plays more.
TRIPLES = int(os.environ.get('FRANKA_DYNAMICS_TRIPLES', '300'))
ROUND = 100
# Events that lead to each state, by each kind of ending.
BEGINNINGS = [
    tuple(names.split(', '))
    for names in (
        'blocked, usable',
        'usable',
        'usable, LET_GO',
        'usable, LET_GO, usable',
        'usable, HOLD',
        'usable, HOLD, usable',
        'usable, HOLD, usable, silence',
        'usable, FINAL',
        'usable, FINAL, usable',
        'usable, not carried, FINAL, usable',
        'usable, moves, impossible',
        'usable, moves, impossible, TO_ZERO',
        'usable, TO_ZERO',
        'usable, blocked, PAUSE',
        'blocked, PAUSE',
        'usable, HOLD, moves and is lost',
        'usable, FINAL, moves and is lost',
        'usable, moves and is lost',
        'usable, moves and is lost, excess',
        'usable, own ceases',
        'usable, moves and is lost, LET_GO',
    )
]


@pytest.fixture(autouse=True, scope='module')
def few_states():
    with pytest.MonkeyPatch.context() as patch:
        core_oracle.shorten(patch)
        yield


@pytest.mark.parametrize('seed', range(TRIPLES // ROUND))
def test_drawn_triples_of_events_change_what_the_table_says(seed):
    rng = random.Random(seed)
    for _ in range(ROUND):
        begin = rng.choice((('blocked', 'usable'), ('usable',)))
        differs, _ = play((*begin, *rng.choices(list(EVENTS), k=3)))
        assert not differs


@pytest.mark.long
@pytest.mark.parametrize('first', EVENTS)
def test_pairs_of_events_change_what_the_table_says(first):
    for second in EVENTS:
        differs, _ = play(('usable', first, second))
        assert not differs


# Which torques belong to a state; one that was there before stays where the row says SAME.
OF_LAW = {Torque.LAW_FROM_G, Torque.LAW_FROM_LAST, Torque.LAW_FROM_FORMER_LAW}
AT_REST = {Torque.RESTING, Torque.STOP_BY_MODEL, Torque.ZERO}
TORQUES = {
    State.RUNNING: OF_LAW,
    State.BRAKING: {Torque.BRAKE},
    State.HOLDING: {Torque.BRAKE},
    State.SILENT: AT_REST,
    State.STOPPING: AT_REST,
}


def is_sound(row):
    """Return whether the torque of a row is one of its new state."""
    if row.to is None:
        return row.torque is Torque.SAME and row.settings is Acting.SAME
    if row.torque is Torque.SAME:
        return row.state is not None and TORQUES[row.state] == TORQUES[row.to]
    return row.torque in TORQUES[row.to]


def test_the_torque_of_each_row_is_one_of_its_new_state():
    assert all(map(is_sound, ROWS))


@pytest.fixture(scope='module')
def plays_by_row(few_states):
    """Return sequences of events by the rows that they use; core and table agree in each."""
    found = {}
    for begin, event in product(BEGINNINGS, EVENTS):
        names = (*begin, event, 'change', 'usable')
        differs, used = play(names)
        assert not differs
        for row in dict.fromkeys(used):
            found.setdefault(row, []).append(names)
    # Those in which the row is the first of few are told apart soonest.
    return {row: sorted(known, key=len)[:20] for row, known in found.items()}


def changed(row):
    """Return a row with another state, which no torque resembles."""
    return row._replace(to=State.HOLDING if row.to is not State.HOLDING else State.RUNNING)


@pytest.mark.parametrize('number', range(len(ROWS)))
def test_a_row_that_is_changed_is_noticed(number, plays_by_row):
    row = ROWS[number]
    plays = plays_by_row.get(row, ())
    assert plays, f'nothing uses {row}'
    rows = (*ROWS[:number], changed(row), *ROWS[number + 1 :])
    assert any(play(names, rows)[0] for names in plays)
