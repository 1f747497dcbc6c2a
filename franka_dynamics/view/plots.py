# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torques over time against their limits, in the page of the browser."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from .scene import COMMANDED, CORIOLIS, GRAVITY, INERTIA, MEASURED, ViewState
from ..arm import ArmDescription
from ..typing import Array

WINDOW_S = 10.0
SHARES = 'all joints, share of limit'
MODEL = 'model'
_LAST = 1e6  # in the page, below what others add
_PERIOD_S = 0.2  # between two pictures of a plot
_COLOURS = ('#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b', '#e377c2')
_LIMIT_COLOUR = '#dc3232'


class TorqueHistory:
    """
    The last seconds of an arm's torques.

    Parameters
    ----------
    description : ArmDescription
        The arm.
    window : float
        How long torques are kept [s].

    """

    def __init__(self, description: ArmDescription, window: float = WINDOW_S) -> None:
        self._limit = description.limit('effort')
        self._window = window
        self._states: deque[ViewState] = deque()

    def add(self, state: ViewState) -> None:
        """Take a state; one that is earlier than the last begins anew."""
        if self._states and state.time <= self._states[-1].time:
            if state.time == self._states[-1].time:
                return
            self._states.clear()
        self._states.append(state)
        while self._states[0].time < state.time - self._window:
            self._states.popleft()

    def shares(self) -> tuple[Array, ...]:
        """Return times (N,) [s] and each joint's |torque| over its limit, n times (N,) [%]."""
        rows = [self._of(state, COMMANDED, MEASURED) for state in self._states]
        shares = 100.0 * np.abs(np.reshape(rows, (-1, len(self._limit)))) / self._limit
        return (self._times(), *shares.T)

    def joint(self, number: int) -> tuple[Array, ...]:
        """Return times [s], measured, commanded, model, limit and -limit of a joint [N m]."""
        i = number - 1
        measured, commanded, model = (
            np.array([row[i] for row in rows])
            for rows in (
                [self._of(state, MEASURED) for state in self._states],
                [self._of(state, COMMANDED) for state in self._states],
                [self._model(state) for state in self._states],
            )
        )
        limit = np.full(len(self._states), self._limit[i])
        return self._times(), measured, commanded, model, limit, -limit

    def _times(self) -> Array:
        return np.array([state.time for state in self._states])

    def _of(self, state: ViewState, *columns: str) -> Array:
        """Return the first column that is known, else NaN, which is not drawn."""
        known = (state.torques[name] for name in columns if name in state.torques)
        return next(known, np.full(len(self._limit), np.nan))

    def _model(self, state: ViewState) -> Array:
        """Return g + C dq + M ddq of those terms that are known."""
        terms = [
            state.torques[name] for name in (GRAVITY, CORIOLIS, INERTIA) if name in state.torques
        ]
        return np.sum(terms, axis=0) if terms else np.full(len(self._limit), np.nan)


class TorquePlots:
    """
    A choice of plots in the page: all joints' shares of their limits, or one joint in N m.

    Parameters
    ----------
    server : viser.ViserServer
        The page.
    description : ArmDescription
        The arm.

    """

    def __init__(self, server: Any, description: ArmDescription) -> None:
        self._history = TorqueHistory(description)
        self._names = list(description.joint_names)
        self._shown: float | None = None
        gui = server.gui
        with gui.add_folder('torques over time', order=_LAST):
            self._choice = gui.add_dropdown('plot', (SHARES, *self._names))
            labels = [name.rpartition('_')[2] for name in self._names]
            self._shares = gui.add_uplot(
                _empty(1 + len(labels)),
                (
                    {'label': 't [s]'},
                    *(
                        _series(label, _COLOURS[i % len(_COLOURS)])
                        for i, label in enumerate(labels)
                    ),
                ),
                scales={'x': {'time': False}, 'y': {'auto': False, 'range': (0.0, 105.0)}},
                title='share of the torque limit [%] over t [s]',
                aspect=1.6,
            )
            self._joint = gui.add_uplot(
                _empty(6),
                (
                    {'label': 't [s]'},
                    _series(MEASURED, _COLOURS[0]),
                    _series(COMMANDED, _COLOURS[1]),
                    _series(MODEL, _COLOURS[2]),
                    _series('limit', _LIMIT_COLOUR),
                    _series('-limit', _LIMIT_COLOUR),
                ),
                scales={'x': {'time': False}},
                title='torque of the joint [N m] over t [s]',
                aspect=1.6,
                visible=False,
            )
        self._choice.on_update(lambda _: self._draw())

    def add(self, state: ViewState) -> None:
        """Take a state; plots follow a few times per second."""
        self._history.add(state)
        if self._shown is None or not 0.0 <= state.time - self._shown < _PERIOD_S:
            self._shown = state.time
            self._draw()

    def _draw(self) -> None:
        joint = self._choice.value
        self._shares.visible, self._joint.visible = joint == SHARES, joint != SHARES
        if joint == SHARES:
            self._shares.data = self._history.shares()
        else:
            self._joint.data = self._history.joint(1 + self._names.index(joint))


def _empty(count: int) -> tuple[Array, ...]:
    return tuple(np.zeros(0) for _ in range(count))


def _series(label: str, colour: str) -> dict[str, Any]:
    return {'label': label, 'stroke': colour, 'width': 1.5}
