# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""When an identified arm counts as better than a published set."""

import numpy as np
import pytest

from franka_dynamics.identification.scoring import PartScore, Score
from franka_dynamics.identification.verdict import judge
from franka_dynamics.recordings.replay import ResidualRms, Unit

SAMPLES, NM = 100, Unit('N m', (1.0,))


def score(name, errors, rigid=1.0, part='run{}'):
    """Return a score with errors [N m] on unseen parts, and errors of inertias alone."""
    squares = [SAMPLES * np.square([[error], [9.0], [rigid], [error]]) for error in errors]
    parts = [PartScore(part.format(k), SAMPLES, *own, NM) for k, own in enumerate(squares)]
    return Score(name, np.zeros(1), ResidualRms.of_squares(np.ones(1), 1, NM), tuple(parts))


def judged(arm, published, rigid=1.0, part='run{}'):
    own, theirs = score('own', arm, rigid, part), score('published', published, part=part)
    return judge(own, [theirs], theirs)


PUBLISHED = np.array([0.50, 0.51, 0.49, 0.50])


@pytest.mark.parametrize(
    ('arm', 'published', 'beyond', 'better'),
    [
        ([0.30, 0.31, 0.29, 0.30], [0.45, 0.47, 0.44, 0.46], True, True),
        ([0.30, 0.31, 0.29, 0.30], [0.31, 0.72, 0.30, 0.31], False, False),
        # A gain below 5 % does not count.
        (0.96 * PUBLISHED, PUBLISHED, True, False),
        (0.94 * PUBLISHED, PUBLISHED, True, True),
    ],
)
def test_a_gain_beyond_the_spread_is_better(arm, published, beyond, better):
    said = judged(arm, published)
    assert bool(said.gain > said.spread) is beyond
    assert said.better is better


def test_one_lost_bag_is_enough_to_be_no_better():
    arm, published = [0.30, 0.30, 0.30, 0.30, 0.41], [0.50, 0.50, 0.50, 0.50, 0.40]
    said = judged(arm, published)
    assert said.gain > said.spread and said.lost == ('run4',)
    assert not said.better
    # Being worse on one stretch of a bag does not count.
    assert judged(arm, published, part='run, stretch {} of 5').better


def test_worse_inertias_are_no_better():
    assert not judged([0.3] * 4, [0.5, 0.51, 0.5, 0.5], rigid=1.01).better


def test_the_best_published_set_is_the_rival():
    good, poor = (score(f'{error}', [error] * 4) for error in (0.31, 0.6))
    for published in ((good, poor), (poor, good)):
        said = judge(score('own', [0.3] * 4), published, poor)
        assert said.best == '0.31' and not said.better
        assert said.gain == pytest.approx(0.01)


def test_newtons_and_newton_metres_are_added_as_parts_of_their_limits():
    unit = Unit('% of the limits', (1.0, 0.1))
    found = ResidualRms.of(np.array([[3.0, 40.0], [-3.0, -40.0]]), unit)
    assert found.whole == pytest.approx(5.0)
    np.testing.assert_allclose(found.joints, [3.0, 40.0])
