# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Combinations of parameters of slow tests: every pair of values, not every combination."""

from itertools import combinations, product

import pytest


def all_pairs(axes):
    """
    Return `pytest.mark.parametrize` of the arguments `axes` names, a list of values each.

    Each two values of two arguments occur together in a case (pairwise testing, Cohen 1997);
    each next case is the one with the most pairs that have not occurred.
    """
    every = list(product(*(range(len(values)) for values in axes.values())))

    def pairs(case):
        return set(combinations(enumerate(case), 2))

    missing, chosen = set().union(*map(pairs, every)), []
    while missing:
        chosen.append(max(every, key=lambda case: len(pairs(case) & missing)))
        missing -= pairs(chosen[-1])
    cases = [[values[k] for k, values in zip(case, axes.values())] for case in chosen]
    return pytest.mark.parametrize(tuple(axes), cases)
