# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Print how well judges of recordings find faults that were put into public logs.

    python benchmarks/judges/compare.py [FOLDER] [--cases 30] [--seed 0] [--log UR10e]

FOLDER holds clones of the repositories in benchmarks/identification/logs.yaml; what it lacks is
looked for in the folder FRANKA_DYNAMICS_RECORDINGS, or said and left out. Of each log's first
recording there are changes that do no harm, and a number of faults is drawn by the seed
(benchmarks/log_faults.py). A case's true effect is E of the arm identified from the changed log
over E of the one identified from the log as it is, both on the log as it is. README.md has the
scores and a way to enter a judge.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
import os
from pathlib import Path
import sys
from typing import NamedTuple

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')  # as benchmarks/broken_logs.py, which says why
sys.path.insert(0, str(Path(__file__).parents[1] / 'identification'))
sys.path.insert(0, str(Path(__file__).parents[1]))

from broken_logs import error_of, identified, LEAST_HARM, MOST_COMPARED, MOST_HARM, sums_of
from judges import Judgement, JUDGES, Question, Told
from log_faults import Case, cases
import numpy as np
from run import logs  # of the benchmark of identification
from timing import new_parser

from franka_dynamics.arm import ArmDescription
from franka_dynamics.errors import FrankaDynamicsError
from franka_dynamics.fit.options import IdentificationOptions
from franka_dynamics.recordings.preprocessing import to_motion
from franka_dynamics.recordings.recording import Recording

HEADS = (
    '| log | judge | cases | refused or asked rightly | named rightly | harmful accepted | '
    'harmless refused | harmless asked | wrong name | stated / true effect |'
)
DOWN = np.array([0.0, 0.0, -9.81])
ALIKE = {'gain': ('gain', 'one_way'), 'one_way': ('gain', 'one_way')}
IN_GENERAL = 'unexplained', 'driven'  # names that say no more than that something is wrong


class Score(NamedTuple):
    """A judgement on a case, and the case's true effect."""

    case: Case
    true_effect: float
    judgement: Judgement

    @property
    def outcome(self) -> str:
        """The column of the table in which it counts, '' where nothing had to be said."""
        said = self.judgement
        if said.refused and self.true_effect < LEAST_HARM:
            return 'harmless refused'
        if said.refused and not all(_is_right(one, self.case) for one in said.named):
            return 'wrong name'
        if said.refused:
            return 'named rightly' if said.named else 'refused'
        if said.asked:
            return 'asked' if self.true_effect > LEAST_HARM else 'harmless asked'
        return 'harmful accepted' if self.true_effect > MOST_HARM else ''


def _is_right(told: Told, case: Case) -> bool:
    if told.kind in IN_GENERAL:
        return bool(case.kind)
    if told.kind in ('changed', 'contact'):
        return case.kind in ('changed', 'contact', 'plateau')
    is_of_kind = told.kind in ALIKE.get(case.kind, (case.kind,))
    is_of_joints = set(told.joints) <= set(case.joints)
    return is_of_kind and is_of_joints and bool(told.joints) == bool(case.joints)


def stated_to_true(scores: Sequence[Score]) -> list[float]:
    """
    Return stated over true effects, of true effects from 1.2 to 10.

    The first score is that of the log as it is. What is said of it as well is no effect of a case.
    """

    def told(score: Score) -> tuple[Told, ...]:
        return (*score.judgement.named, *score.judgement.questions)

    before = {(one.kind, one.joints) for one in told(scores[0])}
    ratios = list[float]()
    for score in scores:
        effects = [
            one.effect
            for one in told(score)
            if np.isfinite(one.effect) and (one.kind, one.joints) not in before
        ]
        if effects and LEAST_HARM < score.true_effect < MOST_COMPARED:
            ratios.append(max(effects) / score.true_effect)
    return ratios


def drawn_cases(arm: ArmDescription, count: int, seed: int) -> list[Case]:
    """Return all cases without a fault, first the log as it is, and others drawn by a seed."""
    harmless = [case for case in cases(arm, DOWN) if not case.kind]
    faults = [case for case in cases(arm, DOWN) if case.kind]
    chosen = np.random.default_rng(seed).permutation(len(faults))[: count - len(harmless)]
    return [*harmless, *(faults[k] for k in sorted(chosen))]


def scores_of(
    arm: ArmDescription, log: Recording, has_rotors: bool, chosen: Sequence[Case]
) -> dict[str, list[Score]]:
    """Return each judge's scores on a log, without cases that cannot be prepared."""
    options = IdentificationOptions(DOWN, rotor_inertia=has_rotors)
    model = options.torque_model(arm)
    sums = sums_of(model, to_motion(log))
    error = error_of(sums, identified(model, arm, sums))
    scores: dict[str, list[Score]] = {name: [] for name in JUDGES}
    for case in chosen:
        declared = replace(options, gravity=case.gravity).torque_model(arm)
        try:
            changed = case.change(log)
            motion = to_motion(changed)
            theta = identified(declared, arm, sums_of(declared, motion))
        except FrankaDynamicsError:
            continue
        used = sums
        if not np.array_equal(case.gravity, DOWN):  # the arm is used with the declared gravity
            used = sums_of(declared, to_motion(log))
        effect = error_of(used, theta) / error
        for name, judge in JUDGES.items():
            score = Score(case, effect, judge(Question(changed, motion, declared, arm)))
            scores[name].append(score)
            print(f'{case.name:34s} {effect:7.2f} {name:32s} {score.outcome}', file=sys.stderr)
    return scores


def row(log: str, judge: str, scores: Sequence[Score]) -> str:
    """Return a row of the table."""
    counts = Counter(one.outcome for one in scores)
    told = counts['named rightly'] + counts['refused'] + counts['asked']
    ratios = stated_to_true(scores)
    stated = '-' if not ratios else '{:.2f} to {:.2f}'.format(*np.quantile(ratios, (0.25, 0.75)))
    numbers = (
        len(scores),
        told,
        *(
            counts[name]
            for name in (
                'named rightly',
                'harmful accepted',
                'harmless refused',
                'harmless asked',
                'wrong name',
            )
        ),
    )
    return f'| {log} | {judge} | {" | ".join(map(str, numbers))} | {stated} |'


def main() -> None:
    """Print the table of the logs that are here."""
    parser = new_parser(__doc__)
    parser.add_argument(
        'folder', type=Path, nargs='?', help='clones of the repositories in logs.yaml'
    )
    parser.add_argument('--cases', type=int, default=30, help='of each log (default: 30)')
    parser.add_argument('--seed', type=int, default=0, help='by which they are drawn')
    parser.add_argument('--log', default='', help='logs whose name contains this')
    arguments = parser.parse_args()
    rows = []
    for log in logs():
        if arguments.log not in log.name:
            continue
        read = log.read(arguments.folder)
        if read is None:
            print(f'{log.name}: {log.repository} is not in {arguments.folder}', file=sys.stderr)
            continue
        arm, (first, *_) = read
        chosen = drawn_cases(arm, arguments.cases, arguments.seed)
        scores = scores_of(arm, first, log.rotor_inertia, chosen)
        rows += [row(log.name, name, some) for name, some in scores.items()]
    print(HEADS)
    print('|' + '---|' * (HEADS.count('|') - 1))
    print('\n'.join(rows))


if __name__ == '__main__':
    main()
