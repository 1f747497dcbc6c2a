# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""When an identified arm counts as better than a published set."""

import numpy as np
import pytest

from franka_dynamics.identification.verdict import errors_of, judge, PartScore, Score

SAMPLES = 100


def part(name, error, rigid=1.0):
    def squares(value):
        return np.array([SAMPLES * value**2])

    return PartScore(name, SAMPLES, squares(error), squares(9.0), squares(rigid), squares(error))


def judged(arm, published, *, rigid=(1.0, 1.0), name='run{}'):
    own = [part(name.format(k), error, rigid[0]) for k, error in enumerate(arm)]
    theirs = [part(name.format(k), error, rigid[1]) for k, error in enumerate(published)]
    return judge(score('own', own), [score('published', theirs)], score('start', theirs))


def score(name, parts):
    return Score(name, np.zeros(1), errors_of(np.ones(1), 1), tuple(parts))


def test_a_gain_beyond_the_spread_is_better():
    assert judged([0.30, 0.31, 0.29, 0.30], [0.45, 0.47, 0.44, 0.46]).better


def test_a_gain_within_the_spread_is_not():
    said = judged([0.30, 0.31, 0.29, 0.30], [0.31, 0.72, 0.30, 0.31])
    assert not said.better
    assert said.gain < said.spread


def test_one_lost_bag_is_enough_to_be_no_better():
    arm, published = [0.30, 0.30, 0.30, 0.30, 0.41], [0.50, 0.50, 0.50, 0.50, 0.40]
    said = judged(arm, published)
    assert said.gain > said.spread
    assert said.lost == ('run4',)
    assert not said.better
    # A stretch says too little by itself: the bag counts.
    assert judged(arm, published, name='run, stretch {} of 5').better


@pytest.mark.parametrize(('gain', 'better'), [(0.04, False), (0.06, True)])
def test_a_gain_of_less_than_a_twentieth_is_not_worth_it(gain, better):
    published = np.array([0.50, 0.51, 0.49, 0.50])
    said = judged((1.0 - gain) * published, published)
    assert said.gain > said.spread
    assert said.better is better


def test_worse_inertias_are_no_better():
    assert not judged([0.3] * 4, [0.5, 0.51, 0.5, 0.5], rigid=(1.01, 1.0)).better
