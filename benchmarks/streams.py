#!/usr/bin/env python3
# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How well `Reference` follows what policies and planners send: drawn motions, sent in drawn ways.

Each case draws a smooth true motion of an arm and sends it as single set-points (10 to 100 Hz with
jitter, loss and noise), as chunks that replace each other (noisy, late), as whole trajectories, or
replaces a motion in mid-motion by another one. The desired states of every millisecond are
compared with the true motion at the delay at which it fits best, and with the arm's limits,
including the FR3's velocity limits that depend on the position.

    python benchmarks/streams.py              # the cases for judging
    python benchmarks/streams.py --tuning     # the cases at which constants may be chosen
    python benchmarks/streams.py --quick      # one arm, two cases of a kind

Exits with 1 if a limit is broken, a state steps, or a stream or chunk is refused.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from timing import new_parser

from franka_dynamics.arm import ArmDescription, load
from franka_dynamics.arrays import Array, ArrayLike
from franka_dynamics.errors import ReferenceRefusedError
from franka_dynamics.motion.reference import ReferenceFollower

STEP_S = 1e-3
WHOLE_S = 6.0
SETTLED_S = 2.0
# Seeds of the cases; those for judging were not looked at while constants were chosen.
TUNING = 0
JUDGING = 3000
DELAYS_S = np.arange(0.0, 0.6, 0.002)
EVEN_RATE_HZ = 10.0  # of a stream without jitter, loss and noise
# A streamed motion may use twice the acceleration limit for moments.
MOST_SHARE = {'stream': 2.01, 'chunk': 1.01, 'trajectory': 1.01, 'replaced': 1.01}


@dataclass(frozen=True)
class Motion:
    """A true motion: two sines per joint about home, which begin at rest within two seconds."""

    arm: ArmDescription
    amplitude: Array
    rate: Array
    phase: Array

    @classmethod
    def drawn(cls, arm: ArmDescription, rng: np.random.Generator) -> 'Motion':
        """Draw a motion within half of the limits of velocity and of acceleration."""
        assert arm.home is not None
        rate = rng.uniform(0.5, 4.0, (2, arm.n))
        amplitude = rng.uniform(0.3, 1.0, (2, arm.n))
        home = np.array(arm.home)
        room = np.minimum(home - arm.limit('lower'), arm.limit('upper') - home)
        low, high = arm.velocity_bounds(home)
        share = rng.uniform(0.2, 0.5) * np.minimum.reduce(
            [
                room / amplitude.sum(0),
                np.minimum(high, -low) / (amplitude * rate).sum(0),
                arm.limit('acceleration') / (amplitude * rate**2).sum(0),
            ]
        )
        return cls(arm, share * amplitude, rate, rng.uniform(0.0, 6.3, (2, arm.n)))

    def at(self, times: ArrayLike) -> Array:
        """Return positions (k, n) [rad] at times (k,) [s]; at rest before time zero."""
        x = np.clip(np.asarray(times)[:, None] / 2.0, 0.0, 1.0)
        phase = np.multiply.outer(np.asarray(times), self.rate) + self.phase
        swing = (self.amplitude * np.sin(phase)).sum(1)
        return self.arm.home_position + x**3 * (10.0 - 15.0 * x + 6.0 * x**2) * swing

    def acceleration(self, times: Array) -> Array:
        """Return accelerations (k, n) [rad/s^2] at times after two seconds."""
        phase = np.multiply.outer(np.asarray(times), self.rate) + self.phase
        return np.asarray(-(self.amplitude * self.rate**2 * np.sin(phase)).sum(1))


@dataclass
class Case:
    """What is sent: arguments of `follow` with their arrival [s]; the true motion, if any."""

    kind: str
    arm: ArmDescription
    sent: list[tuple[float, dict[str, Any]]]
    motion: Motion | None = None
    words: str = ''


@dataclass
class Found:
    """What became of one case."""

    refused: int = 0
    late: float = np.nan
    error: float = np.nan
    acceleration_error: float = np.nan
    shares: dict[str, float] = field(default_factory=dict)
    step: float = 0.0
    reasons: list[str] = field(default_factory=list)


def streams(arm: ArmDescription, seed: int, count: int) -> Iterator[Case]:
    """Yield streams of set-points with jitter, loss and noise."""
    for draw in range(count):
        rng = np.random.default_rng((seed, 1, draw))
        motion = Motion.drawn(arm, rng)
        rate = float(np.exp(rng.uniform(*np.log([10, 100]))))
        jitter = rng.uniform(0.0, 0.25)
        loss = rng.choice([0.0, 0.0, 0.05, 0.1])
        noise = rng.choice([0.0, 2e-4, 1e-3])
        sampled = np.arange(0.0, WHOLE_S, 1.0 / rate)
        arrivals = sampled + rng.uniform(0.0, jitter / rate, len(sampled))
        points = motion.at(sampled) + rng.normal(0.0, noise, (len(sampled), arm.n))
        kept = rng.random(len(sampled)) >= loss
        sent = [(time, {'q': q}) for time, q in zip(arrivals[kept], points[kept])]
        words = f'{rate:.0f} Hz, jitter {100 * jitter:.0f} %, loss {100 * loss:.0f} %'
        yield Case('stream', arm, sent, motion, f'{words}, noise {1e3 * noise:.1f} mrad')


def even_stream(arm: ArmDescription, rate: float) -> Case:
    """Return a stream of set-points that come when they are due, `rate` a second."""
    motion = Motion.drawn(arm, np.random.default_rng((JUDGING, 5)))
    times = np.arange(0.0, WHOLE_S, 1.0 / rate)
    sent = [(float(time), {'q': q}) for time, q in zip(times, motion.at(times))]
    return Case('stream', arm, sent, motion, f'{rate:.0f} Hz')


def chunks(arm: ArmDescription, seed: int, count: int) -> Iterator[Case]:
    """Yield chunks of points that replace each other, each a while after its first point."""
    for draw in range(count):
        rng = np.random.default_rng((seed, 2, draw))
        motion = Motion.drawn(arm, rng)
        period = 1.0 / rng.uniform(10.0, 50.0)
        length = int(rng.integers(8, 33))
        every = max(1, round(rng.uniform(0.25, 0.75) * length))
        noise = rng.choice([0.0, 1e-3, 3e-3])
        computing = rng.uniform(0.0, 0.1)
        sent = []
        for k in range(0, round(WHOLE_S / period), every):
            times = period * np.arange(1, length + 1)
            points = motion.at(k * period + times) + rng.normal(0.0, noise, (length, arm.n))
            sent.append((k * period + computing, {'q': points, 'times': times}))
        words = f'{length} points at {1 / period:.0f} Hz, every {every}, '
        words += f'{1e3 * computing:.0f} ms late, noise {1e3 * noise:.0f} mrad'
        yield Case('chunk', arm, sent, motion, words)


def trajectories(arm: ArmDescription, seed: int, count: int) -> Iterator[Case]:
    """Yield whole motions, positions alone or with velocities."""
    for draw in range(count):
        rng = np.random.default_rng((seed, 3, draw))
        motion = Motion.drawn(arm, rng)
        times = np.arange(0.0, WHOLE_S, 1.0 / rng.uniform(10, 100))
        asked = {'q': motion.at(times), 'times': times}
        if draw % 2:
            h = 1e-5
            asked['dq'] = (motion.at(times + h) - motion.at(times - h)) / (2 * h)
        words = f'{len(times)} points{", velocities" if draw % 2 else ""}'
        yield Case('trajectory', arm, [(0.0, asked)], motion, words)


def replaced(arm: ArmDescription, seed: int, count: int) -> Iterator[Case]:
    """Yield motions to drawn goals, each replaced by the next one in mid-motion."""
    for draw in range(count):
        rng = np.random.default_rng((seed, 4, draw))
        low = arm.limit('lower')
        high = arm.limit('upper')
        home = np.array(arm.home)
        sent = []
        now = 0.0
        for _ in range(4):
            goal = np.clip(home + rng.uniform(-0.5, 0.5, arm.n), low + 0.1, high - 0.1)
            duration = rng.uniform(0.8, 2.5)
            sent.append((now, {'q': goal[None], 'times': np.array([duration])}))
            now += rng.uniform(0.2, 0.8) * duration
        yield Case('replaced', arm, sent, None, 'to four goals')


KINDS: dict[str, tuple[Callable[..., Iterator[Case]], int]] = {
    'stream': (streams, 24),
    'chunk': (chunks, 24),
    'trajectory': (trajectories, 10),
    'replaced': (replaced, 15),
}


def run(case: Case) -> Found:
    """Send what the case sends; compare the desired states with its motion and the limits."""
    found = Found()
    reference = ReferenceFollower(case.arm)
    coming = list(case.sent)
    reference.at(0.0)
    reference.hold(case.arm.home)
    states = []
    end = case.sent[-1][0] + (0.0 if case.motion else 4.0)
    stamps = np.arange(0.0, max(end, WHOLE_S if case.kind == 'trajectory' else 0.0), STEP_S)
    for stamp in stamps:
        states.append(reference.at(stamp))
        while coming and coming[0][0] <= stamp:
            try:
                reference.follow(**coming.pop(0)[1])
            except ReferenceRefusedError as error:
                found.refused += 1
                found.reasons.append(str(error))
    q, dq, ddq = (np.array(rows) for rows in zip(*states))
    low, high = case.arm.velocity_bounds(q)
    beyond = np.maximum(q - case.arm.limit('upper'), case.arm.limit('lower') - q)
    found.shares = {
        'position': float(1.0 + beyond.max()),
        # Where an FR3 may not move at all, a rounded speed counts as a share of 1.
        'velocity': float(
            np.maximum(dq / np.maximum(high, 1e-3), dq / np.minimum(low, -1e-3)).max()
        ),
        'acceleration': float((np.abs(ddq) / case.arm.limit('acceleration')).max()),
    }
    means = 0.5 * (ddq[1:] + ddq[:-1])
    found.step = float(np.abs(np.diff(dq, axis=0) - STEP_S * means).max())
    if case.motion is not None:
        late = stamps > SETTLED_S + DELAYS_S[-1]
        times = stamps[late][::5]
        q = q[late][::5]
        ddq = ddq[late][::5]
        errors = [np.sqrt(np.mean((case.motion.at(times - d) - q) ** 2)) for d in DELAYS_S]
        best = int(np.argmin(errors))
        true = case.motion.acceleration(times - DELAYS_S[best])
        found.late = float(DELAYS_S[best])
        found.error = float(errors[best])
        found.acceleration_error = float(
            np.sqrt(np.mean((ddq - true) ** 2)) / np.sqrt(np.mean(true**2))
        )
    return found


def judged(kind: str, found: Found) -> list[str]:
    """Return what is wrong with a case."""
    wrong = [
        f'{name} {share:.3f} of its limit'
        for name, share in found.shares.items()
        if share > (MOST_SHARE[kind] if name == 'acceleration' else 1.001)
    ]
    if found.step > 2e-3:
        wrong.append(f'a step of {found.step:.3g} rad/s')
    if found.refused and kind in ('stream', 'chunk'):
        wrong.append(f'{found.refused} refused: {found.reasons[0]}')
    return wrong


def main() -> int:
    """Run all cases of both arms; print a line for each kind, and for each case at fault."""
    parser = new_parser(__doc__)
    parser.add_argument('--tuning', action='store_true', help='the cases for tuning')
    parser.add_argument('--quick', action='store_true', help='fr3, two cases of a kind')
    parser.add_argument('--arms', nargs='+', default=['fer', 'fr3'], metavar='ARM')
    parser.add_argument('--kinds', nargs='+', default=list(KINDS), choices=list(KINDS))
    options = parser.parse_args()
    arms = ['fr3'] if options.quick else options.arms
    failed = 0
    for name in arms:
        arm = load(name)
        for kind in options.kinds:
            make, count = KINDS[kind]
            count = 2 if options.quick else count
            results = []
            for case in make(arm, TUNING if options.tuning else JUDGING, count):
                found = run(case)
                results.append(found)
                wrong = judged(kind, found)
                failed += bool(wrong)
                if wrong:
                    print(
                        f'  {case.words}: {1e3 * found.error:.2f} mrad, {1e3 * found.late:.0f} ms '
                        f'late, ddq {100 * found.acceleration_error:.0f} % off; {"; ".join(wrong)}'
                    )
            median = [
                float(np.median([getattr(one, field) for one in results]))
                for field in ('error', 'late', 'acceleration_error')
            ]
            most = max(one.shares['acceleration'] for one in results)
            print(
                f'{name}, {kind}: {count} cases, {sum(one.refused for one in results)} refused; '
                f'medians {1e3 * median[0]:.2f} mrad off, {1e3 * median[1]:.0f} ms late, ddq '
                f'{100 * median[2]:.1f} % off; acceleration at most {most:.2f} of its limit'
            )
    late = run(even_stream(load(arms[0]), EVEN_RATE_HZ)).late
    print(f'a stream at {EVEN_RATE_HZ:.0f} Hz is followed {late:.2f} s late')
    return int(failed > 0)


if __name__ == '__main__':
    raise SystemExit(main())
