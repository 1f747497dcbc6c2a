# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The compiled core does what the core's table says, by the oracle that judges the Python core.

What only the guard's physics can find (an excess, a contradiction, an arm that g(q) does not
carry) is played by test_lockstep.py.
"""

import math
import os
import random
from types import SimpleNamespace

import pytest

from franka_dynamics.control.core_table import State
from franka_dynamics.control.feedforward import StateLimits
from franka_dynamics.control.settings import Settings
from franka_dynamics.errors import StartRefusedError

from . import cpp_core
from .cpp_core import compiled, Core
from ..control import core_oracle
from ..control.core_oracle import OWN_NM

pytestmark = cpp_core.needs_compiler
# Drawn triples, in rounds of ROUND; `make model-check` plays more.
TRIPLES = int(os.environ.get('FRANKA_DYNAMICS_TRIPLES', '100'))
ROUND = 50
FLAGS_OF_PHYSICS = ('disagrees', 'not carried', 'excess')
OWN = ('own', 'own moves', 'own ceases', 'own is no number')


class Compiled:
    """A compiled core with the methods of the Python core that the oracle's pair calls."""

    def __init__(self, core, command):
        settings = Settings(target='mujoco')
        limits = StateLimits(max_state_age=0.0)
        self._core = cpp_core.Feedforward(core, settings, command, limits=limits)
        self.checks = []
        self.disturbances = SimpleNamespace()
        self.tick = self._core.tick
        self.reset = self._core.reset

    @property
    def state(self):
        return State(self._core.state)

    @property
    def ending(self):
        return self._core.told

    @property
    def blocked(self):
        return ''

    @blocked.setter
    def blocked(self, why):
        self._core.block(bool(why))

    def step(self, q, dq, stamp, torque=None):
        given = None if torque is None else [[0.0], dq, [0.0], torque]
        return self._core.step(q, dq, stamp, given=given)

    def reject_state(self, why, now, *, faulty):
        return self._core.reject_state(now, faulty=faulty)

    def stop(self, why, kind):
        self._core.stop(kind)

    def start(self):
        refused = self._core.start()
        if refused:
            raise StartRefusedError(refused)

    def change(self, **settings):
        assert self._core.change(**settings) is None


class Pair(core_oracle.Pair):
    """A compiled core and the oracle; with a law, states without its torque block the begin."""

    def __init__(self, core, command):
        super().__init__()
        self.core = Compiled(core, command)
        self._has_law = command == 'law'

    def acting_load(self):
        return None

    def usable(self, speed=0.0, own=None):
        if self._has_law:
            self.oracle.flags -= {'blocked'}
            if own is None:
                self.oracle.flags |= {'blocked'}
        super().usable(speed, own)


def _runs_away(pair):
    """Let the arm run away, and rest until the momentum observer has forgotten how it stopped."""
    core_oracle.EVENTS['runs away'](pair)
    for _ in range(60):
        pair.usable()


EVENTS = {name: event for name, event in core_oracle.EVENTS.items() if name not in OWN}
EVENTS['runs away'] = _runs_away
for flag in FLAGS_OF_PHYSICS:
    EVENTS.pop(flag)
# With a law of one's own each usable state has its torque, but where it ceases.
EVENTS_OF_LAW = {
    **{name: event for name, event in core_oracle.EVENTS.items() if name in OWN},
    **{name: EVENTS[name] for name in EVENTS if name not in ('blocked', 'runs away')},
    'usable': lambda pair: [pair.usable(0.0, OWN_NM) for _ in range(core_oracle.MIN_COUNT + 2)],
    'one usable': lambda pair: pair.usable(0.0, OWN_NM),
    'moves': lambda pair: [pair.usable(0.1, OWN_NM) for _ in range(2)],
    'moves and is lost': lambda pair: [pair.usable(0.1, OWN_NM), pair.broken(math.nan)],
}


@pytest.fixture(scope='module')
def core(tmp_path_factory):
    folder = tmp_path_factory.mktemp('cpp')
    return Core(compiled(folder), core_oracle._ARM, folder)


@pytest.fixture(autouse=True)
def many_states(monkeypatch):
    monkeypatch.setattr(core_oracle, 'MIN_COUNT', 20)


def play(core, command, names, events):
    pair = Pair(core, command)
    for name in names:
        events[name](pair)
        pair.usable(0.0, None if command == 'motion' else OWN_NM)
    return pair.differs


@pytest.mark.parametrize('seed', range(TRIPLES // ROUND))
@pytest.mark.parametrize('command', ['motion', 'law'])
def test_drawn_triples_of_events_change_what_the_table_says(core, command, seed):
    rng = random.Random(seed)
    events = EVENTS if command == 'motion' else EVENTS_OF_LAW
    for _ in range(ROUND):
        names = ('usable', *rng.choices(list(events), k=3))
        assert not play(core, command, names, events), names


COMMANDED_FIRST = [
    *(('motion', first) for first in EVENTS),
    *(('law', first) for first in EVENTS_OF_LAW),
]


@pytest.mark.parametrize(('command', 'first'), COMMANDED_FIRST)
def test_pairs_of_events_change_what_the_table_says(core, command, first):
    events = EVENTS if command == 'motion' else EVENTS_OF_LAW
    for second in events:
        names = ('usable', first, second)
        assert not play(core, command, names, events), names
