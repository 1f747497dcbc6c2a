# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A planned identification motion as a trajectory message, sentences and a table."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
import yaml

from .elements import Header, rounded_to_deviation, Table
from ..identification.excitation import Excitation
from ..identification.excitation_problem import ExcitationProblem, MAX_STD_TO_PRIOR_RATIO

_POINT_RATE_HZ = 25.0


def identifiable_sentence(excitation: Excitation, repeats: int, period: float, bags: int) -> str:
    """Return a sentence on how many base parameters repetitions of a trajectory identify."""
    given = f', and the {bags} given bags' if bags else ''
    left = excitation.std_to_prior_ratios
    return (
        f'After {repeats} repetitions of {period:g} s ({repeats * period / 60.0:.1f} minutes)'
        f'{given} {np.count_nonzero(left <= MAX_STD_TO_PRIOR_RATIO)} of {len(left)} base '
        f'parameters are identifiable; a standard deviation is at most '
        f"{left.max():.0%} of the prior's (masses 100 %, others in proportion)."
    )


def unidentified_parameter_tables(
    problem: ExcitationProblem, excitation: Excitation, missing: NDArray[np.bool_]
) -> list[Table]:
    """Return a table of base parameters that a motion leaves unknown, in a list, else []."""
    base, values = problem.model.base, problem.model.base.values(problem.arm)
    torques = problem.torque_to_noise_ratio(excitation.parameter_std)
    rows = [
        (
            *(base.names[k], *rounded_to_deviation(values[k], excitation.parameter_std[k])),
            *(excitation.std_to_prior_ratios[k], torques[k]),
            'NOT identifiable' if missing[k] else 'not needed',
        )
        for k in np.flatnonzero(excitation.std_to_prior_ratios > MAX_STD_TO_PRIOR_RATIO)
    ]
    heads = (
        *('parameter', 'start', 'deviation', Header("of the prior's", format='.0%')),
        *(Header('torque, of the noise', format='.2g'), ''),
    )
    title = (
        'base parameters that stay unknown: the part of the prior deviation that is left, and the '
        "torque that one deviation makes, relative to a joint's noise (not needed: below 0.1)"
    )
    return [Table(title, heads, rows)] if rows else []


def trajectory_yaml(joint_names: Sequence[str], excitation: Excitation, period: float) -> str:
    """Return one period [s] of an excitation as the YAML text of a JointTrajectory message."""
    time = np.linspace(0.0, period, round(period * _POINT_RATE_HZ) + 1)
    fields = ('positions', 'velocities', 'accelerations')
    stamps = np.round(time * 1e9).astype(np.int64).tolist()
    points = [
        dict(zip(fields, rows))
        | {'time_from_start': dict(zip(('sec', 'nanosec'), divmod(stamp, 10**9)))}
        for stamp, *rows in zip(
            stamps, *(np.round(excitation.trajectory.at(time), 6) + 0.0).tolist(), strict=True
        )
    ]
    message = {'joint_names': list(joint_names), 'points': points}
    return yaml.safe_dump(message, sort_keys=False, default_flow_style=None, width=1000)
