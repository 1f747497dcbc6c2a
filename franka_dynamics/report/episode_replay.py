# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The row of a table that a replay of one episode of a data set gives, made by any worker."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .episode_table import ASKED, READ, REFUSED, SOUND, UNJUDGED, UNSOUND
from .replay import external_torque_columns
from .verdict import verdict_lines
from ..arm import ArmDescription
from ..arrays import Array
from ..errors import FrankaDynamicsError, short_text
from ..fit.options import IdentificationOptions
from ..judge.replay_evaluation import evaluate_replay, ReplayEvaluation
from ..recordings.episodes import Episode
from ..recordings.options import SignalOptions
from ..recordings.recording import Recording
from ..recordings.replay import effort_lag

_MAX_SENTENCE_LENGTH = 400
# Columns of external torque that a replay gives, and of which a data set is written.
EXTERNAL_COLUMNS = (
    'external_torque',
    'external_torque_deviation',
    'external_wrench',
    'external_wrench_deviation',
)


@dataclass(frozen=True, eq=False)
class EpisodeReplay:
    """
    Compares episodes with arms' models; a call with name and episode returns a row of the table.

    The row has the key `_columns` if `with_columns`: `time` (N,) [s] from the first message, and
    the columns of `external_torque_columns`, of the filtered motion. An episode that cannot be
    used is a row that says why.
    """

    arms: Sequence[ArmDescription]
    signal: SignalOptions
    options: IdentificationOptions
    with_columns: bool = False

    def __call__(self, named_episode: tuple[str, Episode]) -> dict[str, Any]:
        """Return the row of an episode."""
        name, episode = named_episode
        row = {'episode': name, 'path': episode.path, 'number': episode.number}
        try:
            recording = episode.recording()
            result = evaluate_replay(recording, self.arms, self.signal, self.options)
            return {**row, **self._row_of(recording, result)}
        except FrankaDynamicsError as error:
            reason = str(error)
        except Exception as error:  # a library's: the other episodes are to be done all the same
            reason = f'{type(error).__name__}: {error}'
        return {**row, 'status': REFUSED, 'reason': _one_line(reason)}

    def _row_of(self, recording: Recording, result: ReplayEvaluation) -> dict[str, Any]:
        """Return what is told of an episode that was read."""
        best = result.predictions[0]
        gravity = list(self.options.gravity)
        columns = external_torque_columns(result, gravity)
        largest = np.abs(columns['external_torque']).max(axis=0)  # (n,), N m
        joint = int(np.argmax(largest))
        verdict, cause = self._verdict_texts(result)
        found = {
            'status': READ,
            'reason': '',
            'seconds': recording.duration,
            'messages': len(recording),
            'E': best.error.E,
            'E_unit': best.error_unit.name,
            'set': best.arm.inertial_set,
            'hand': best.arm.hand,
            'fit_as_well': ', '.join(one.set_and_hand for one in result.rival_predictions),
            'verdict': verdict,
            'cause': cause,
            'lag_ms': 1e3 * effort_lag(best, result.motion),
            'external_torque': float(largest[joint]),
            'external_joint': joint + 1,
            'remarks': _one_line(' '.join((*result.warnings, *result.motion.remarks))),
        }
        if self.with_columns:
            found['_columns'] = {'time': result.motion.time, **columns}
        return found

    def _verdict_texts(self, result: ReplayEvaluation) -> tuple[str, str]:
        """Return the verdict on an episode in words, and its first cause or question, if any."""
        verdict = result.verdict
        if verdict is None:
            return UNJUDGED, ''
        if verdict.sound and not verdict.has_questions:
            return SOUND, ''
        n = result.predictions[0].arm.n
        names = [f'joint {k}' for k in range(1, n + 1)]
        lines = verdict_lines(verdict, names, self.options.effort_scales(n))
        word = ASKED if verdict.sound else UNSOUND
        return word, _one_line([*verdict.value_faults, *lines][0])


def columns_at(times: Array, columns: Mapping[str, Array]) -> dict[str, Array]:
    """
    Return columns of a filtered motion at the times of an episode's rows, (rows, k) float32.

    They are interpolated between samples; where the motion has none, at its ends and in gaps, they
    are NaN. `times` (rows,) are in seconds from the first message, like the columns' `time`.
    """
    time = columns['time']
    period = float(np.median(np.diff(time)))
    after = np.clip(np.searchsorted(time, times), 1, len(time) - 1)
    inside = (times >= time[0] - 1e-9) & (times <= time[-1] + 1e-9)
    inside &= time[after] - time[after - 1] < 1.5 * period
    found = {}
    for name in EXTERNAL_COLUMNS:
        values = [np.interp(times, time, column) for column in columns[name].T]
        found[name] = np.where(inside[:, None], np.column_stack(values), np.nan)
    return {name: values.astype(np.float32) for name, values in found.items()}


def _one_line(text: str) -> str:
    """Return a text of bounded length in one line."""
    return short_text(' '.join(text.split()), _MAX_SENTENCE_LENGTH)
