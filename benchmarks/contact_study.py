# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Contact detectors on hours of a simulated arm with elastic joints: false alarms against delays.

    python benchmarks/contact_study.py simulate FOLDER --free 120 --push 10 --rest 5
    python benchmarks/contact_study.py compare FOLDER [--json FILE]

`simulate` moves the arm along random motions at up to its velocity limits, a minute each, and
writes for every 4 ms the external torque as the model has it before any observer, and the joints'
velocities. The model errs anew in every minute: its inertias by 5 %, its friction by 15 %, with
which the detector uses as much of its threshold as on the recording of a real FER. `compare` runs
observers of first and second order (a stationary Kalman filter of a momentum and a torque that
walk at random is one of these) and filters made for the vibration's spectrum over them, with
thresholds that are constant, by speed, by joint and speed, or by joint and the deviation that the
covariance of the model's parameters predicts, sets each for the same rate of
false alarms by the tail of its largest values, and tells how soon pushes of 10 N at the flange
are found that make 2.5 N m or more at some joint. `as shipped` are the monitor's own thresholds,
which are those by joint and speed for the observer of second order at 120 rad/s, raised where a
recording of a real arm comes near them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
import json
from pathlib import Path

from elastic_plant import ElasticPlant, States
from numba import njit
import numpy as np
import pinocchio as pin
from rich.progress import track
from scipy import signal
from scipy.stats import beta

from franka_dynamics.arm import ArmDescription, load, SigmoidFriction
from franka_dynamics.batch import BatchModel
from franka_dynamics.control.contact import ContactLimits, joint_shares
from franka_dynamics.control.external_wrench import relative_deviation
from franka_dynamics.control.interval_motion import IntervalMotion
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.simulation.joint_elasticity import franka_elasticity
from franka_dynamics.simulation.model_trial import draw_plant

STEP_S, PIECE_S, PERIOD_S = 1e-3, 60, 0.004
JITTER_S, MOST_JITTER_S = 2e-4, 4e-4
REPEATED = 0.06  # share of states that are sent again instead of the new one, as recorded
PUSH_N, PUSH_EVERY_S, PUSH_S, STRONG_NM = 10.0, 2.0, 0.4, 2.5
SEEDS = {'free': 0, 'push': 10000, 'rest': 20000}  # of the first minute of each kind
START_S = 4.0  # that are left out: the arm gets into its motion, the observer settles
ALARMS_PER_HOUR, SOON_S = 0.5, 0.05
BLOCK_S, TAIL = 1.0, 0.05  # the largest values of blocks, and the share of them that is a tail
INERTIA_DEVIATION, FRICTION_DEVIATION = 0.05, 0.15


def excitation(arm: ArmDescription, seed: int, level: float, seconds: float) -> np.ndarray:
    """
    Return a random motion (N, 3, n) at 1 kHz: four sines a joint, within the limits.

    Every joint gets to `level` times its velocity limit, unless its range is too short.
    """
    rng = np.random.default_rng(seed)
    time = STEP_S * np.arange(round(seconds / STEP_S))[:, None]
    lower, upper = arm.limit('lower'), arm.limit('upper')
    motion = np.zeros((len(time), 3, arm.n))
    for _ in range(4):
        w = 2.0 * np.pi * rng.uniform(0.08, 0.5, arm.n)
        phase, share = rng.uniform(0.0, 2.0 * np.pi, arm.n), rng.uniform(0.2, 1.0, arm.n)
        s, c = share * np.sin(w * time + phase), share * np.cos(w * time + phase)
        motion += np.stack([s, w * c, -w * w * s], axis=1)
    peak = np.abs(motion).max(axis=0)
    scale = np.minimum(0.45 * (upper - lower) / peak[0], level * arm.limit('velocity') / peak[1])
    scale = np.minimum(scale, 0.9 * arm.limit('acceleration') / peak[2])
    motion *= scale
    motion[:, 0] += 0.5 * (lower + upper)
    return motion


def erring_model(arm: ArmDescription, seed: int) -> ArmDescription:
    """Return the arm as an identification might have it: inertias and friction are off."""
    rng = np.random.default_rng([seed, 7])
    drawn = draw_plant(arm, seed, INERTIA_DEVIATION).arm
    friction = arm.friction
    assert isinstance(friction, SigmoidFriction)
    return replace(
        drawn,
        friction=SigmoidFriction(
            friction.amplitude * rng.normal(1.0, FRICTION_DEVIATION, arm.n),
            friction.slope * rng.normal(1.0, FRICTION_DEVIATION, arm.n),
            friction.offset,
        ),
    )


def external(
    model: ArmDescription, stamp: np.ndarray, q: np.ndarray, dq: np.ndarray, effort: np.ndarray
) -> np.ndarray:
    """
    Return stamps, seconds, unfiltered external torque and velocity of each interval.

    Shape (N, 2 + 3 n): the position comes last.

    The torque is that whose integral the momentum observer filters: -(dp/dt - rate).
    """
    known = PinocchioModel(model)
    pin_model, data = known.model, known.data
    motion = IntervalMotion(model.n, PERIOD_S)
    still = np.zeros(model.n)
    assert model.friction is not None
    rows, last = [], None
    for at, *state in zip(stamp, q, dq, effort):
        interval = motion.add(float(at), *state)
        if interval is None:
            continue
        gravity = pin.computeGeneralizedGravity(pin_model, data, interval.q).copy()
        momentum = pin.rnea(pin_model, data, interval.q, still, interval.dq) - gravity
        coriolis = pin.computeCoriolisMatrix(pin_model, data, interval.q, interval.dq)
        rate = interval.effort + coriolis.T @ interval.dq - gravity
        rate -= model.friction.torque(interval.dq)
        if last is not None:
            torque = rate - (momentum - last) / interval.seconds
            rows.append(np.concatenate([[at, interval.seconds], torque, interval.dq, interval.q]))
        last = momentum
    return np.array(rows)


_DRAWN = 400  # models from which the covariance of their parameters is taken


@cache
def covariances(arm: ArmDescription) -> tuple[np.ndarray, ...]:
    """Return the covariance of each link's ten parameters among the models that err, (10, 10)."""
    drawn = [draw_plant(arm, seed, INERTIA_DEVIATION).arm.links for seed in range(_DRAWN)]
    return tuple(
        np.cov(np.array([links[k].parameters() for links in drawn]), rowvar=False)
        for k in range(arm.n)
    )


def deviation(arm: ArmDescription, q: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """
    Return the standard deviation of the model's torque by the covariance of its parameters.

    Shape (N, n) [N m]: sqrt(diag(Y cov Y^T)) of the inertias, with accelerations differenced over
    five intervals, and the share by which friction errs; what `identify` would predict if it knew
    its parameters to just that.
    """
    n = arm.n
    dq = rows[:, 2 + n : 2 + 2 * n]
    padded, stamp = np.pad(dq, ((2, 2), (0, 0)), 'edge'), np.pad(rows[:, 0], 2, 'edge')
    ddq = (padded[4:] - padded[:-4]) / np.maximum(stamp[4:] - stamp[:-4], PERIOD_S)[:, None]
    regressor = BatchModel(arm).regressor(q, dq, ddq).reshape(len(q), n, n, 10)
    variance = sum(
        np.einsum('tji,ik,tjk->tj', regressor[:, :, link], covariance, regressor[:, :, link])
        for link, covariance in enumerate(covariances(arm))
    )
    assert arm.friction is not None
    return np.sqrt(variance + (FRICTION_DEVIATION * arm.friction.torque(dq)) ** 2)


def as_sent(states: States, seed: int) -> tuple[np.ndarray, ...]:
    """Return stamps that jitter and states that repeat, as a real driver's."""
    rng = np.random.default_rng([seed, 3])
    count = len(states.q)
    place = np.arange(count)
    again = rng.random(count) < REPEATED
    again[0] = False
    place[again] -= 1
    stamp = STEP_S * np.arange(count) + np.clip(
        rng.normal(0.0, JITTER_S, count), -MOST_JITTER_S, MOST_JITTER_S
    )
    return np.maximum.accumulate(stamp), states.q[place], states.dq[place], states.effort[place]


def pushes(arm: ArmDescription, motion: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return forces (N, 3), and begin and largest joint torque of each push."""
    rng = np.random.default_rng([seed, 5])
    model = PinocchioModel(arm)
    force, table = np.zeros((len(motion), 3)), []
    every, length = round(PUSH_EVERY_S / STEP_S), round(PUSH_S / STEP_S)
    for begin in range(every, len(motion) - length, every):
        begin += int(rng.integers(0, 200))
        direction = rng.standard_normal(3)
        direction *= PUSH_N / np.linalg.norm(direction)
        force[begin : begin + length] = direction
        lever = np.abs(model.jacobian(motion[begin, 0])[:3].T @ direction).max()
        table.append((begin * STEP_S, lever))
    return force, np.array(table)


def simulate(folder: Path, counts: dict[str, int], arm: ArmDescription) -> None:
    """Write a file per minute; those that are there are left."""
    folder.mkdir(parents=True, exist_ok=True)
    plant = ElasticPlant(arm, arm, franka_elasticity(arm))
    jobs = [(kind, SEEDS[kind] + k) for kind, count in counts.items() for k in range(count)]
    for kind, seed in track(jobs, 'minutes'):
        path = folder / f'{kind}{seed:05d}.npz'
        if path.exists():
            continue
        level = float(np.random.default_rng([seed, 1]).uniform(0.05, 1.0))
        if kind == 'rest':
            motion = np.zeros((round(PIECE_S / STEP_S), 3, arm.n))
            motion[:, 0] = excitation(arm, seed, 0.5, 1.0)[0, 0]
            level = 0.0
        else:
            motion = excitation(arm, seed, level, PIECE_S)
        force, table = (None, np.zeros((0, 2))) if kind == 'free' else pushes(arm, motion, seed)
        sent = as_sent(plant.run(motion, seed, push=force), seed)
        rows = external(erring_model(arm, seed), *sent)
        np.savez(
            path,
            rows=rows[:, : 2 + 2 * arm.n].astype('f4'),
            deviation=deviation(arm, rows[:, 2 + 2 * arm.n :], rows).astype('f4'),
            pushes=table,
            level=level,
        )


class Minute:
    """One file: stamps, seconds, torques and velocities of the intervals, and its pushes."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            rows = file['rows'].astype(float)
            self.pushes, self.level = file['pushes'], float(file['level'])
            deviation = file['deviation'].astype(float) if 'deviation' in file else None
        n = (rows.shape[1] - 2) // 2
        self.stamp, self.seconds = rows[:, 0].copy(), rows[:, 1].copy()
        self.torque = rows[:, 2 : 2 + n].copy()
        self.speed = _held(np.abs(rows[:, 2 + n :]).max(axis=1), self.seconds)
        self.deviation = (
            None
            if deviation is None
            else np.column_stack([_held(column, self.seconds) for column in deviation.T])
        )


Filter = Callable[[np.ndarray, np.ndarray], np.ndarray]  # torques, seconds -> torques


def first_order(gain: float) -> Filter:
    """Return the momentum observer of a gain [1/s], as MomentumObserver steps it."""
    return lambda torque, seconds: _first_order(torque, seconds, gain)


def second_order(bandwidth: float, damping: float) -> Filter:
    """Return an observer of second order; damping 0.71 is the stationary Kalman filter's."""
    return lambda torque, seconds: _second_order(torque, seconds, bandwidth, damping)


@njit
def _first_order(torque: np.ndarray, seconds: np.ndarray, gain: float) -> np.ndarray:
    out, value = np.empty_like(torque), np.zeros(torque.shape[1])
    for k in range(len(torque)):
        step = gain * seconds[k]
        value = (value + step * torque[k]) / (1.0 + step)
        out[k] = value
    return out


@njit
def _second_order(
    torque: np.ndarray, seconds: np.ndarray, bandwidth: float, damping: float
) -> np.ndarray:
    out = np.empty_like(torque)
    value, rate = np.zeros(torque.shape[1]), np.zeros(torque.shape[1])
    for k in range(len(torque)):
        step = bandwidth * seconds[k]
        rate = (rate + step * (torque[k] - value)) / (1.0 + 2.0 * damping * step + step * step)
        value = value + step * rate
        out[k] = value
    return out


def shaped(minutes: list[Minute], length: int) -> Filter:
    """
    Return the mean of the last intervals that is least disturbed, joint by joint.

    Weights R^-1 1 / (1^T R^-1 1) with the covariance R of what an untouched arm shows: the best
    linear unbiased estimate of a torque that began `length` intervals ago.
    """
    n = minutes[0].torque.shape[1]
    weights = np.empty((length, n))
    for joint in range(n):
        lags = np.zeros(length)
        for minute in minutes:
            x = signal.detrend(minute.torque[minute.stamp > START_S, joint])
            lags += [float(np.mean(x[: len(x) - k] * x[k:])) for k in range(length)]
        covariance = lags[np.abs(np.subtract.outer(range(length), range(length)))]
        row = np.linalg.solve(covariance + 1e-3 * lags[0] * np.eye(length), np.ones(length))
        weights[:, joint] = row / row.sum()

    def run(torque: np.ndarray, seconds: np.ndarray) -> np.ndarray:
        return np.column_stack(
            [signal.lfilter(weights[:, joint], 1.0, torque[:, joint]) for joint in range(n)]
        )

    return run


HIGH_PASS_S = ContactLimits.high_pass


@njit
def _held(speed: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Return a speed remembered with the high-pass's time constant, as the monitor does."""
    out, value = np.empty_like(speed), 0.0
    for k in range(len(speed)):
        value = max(speed[k], HIGH_PASS_S / (HIGH_PASS_S + seconds[k]) * value)
        out[k] = value
    return out


@njit
def fast(torque: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Return what the monitor's high-pass lets through, shape (N, n)."""
    out, load = np.empty_like(torque), torque[0].copy()
    for k in range(len(torque)):
        share = seconds[k] / (HIGH_PASS_S + seconds[k])
        out[k] = (1.0 - share) * (torque[k] - load)
        load = load + share * (torque[k] - load)
    return out


def blocks(minute: Minute, share: np.ndarray) -> np.ndarray:
    """Return the largest share of each second after the start."""
    kept = minute.stamp >= START_S
    place = ((minute.stamp[kept] - START_S) / BLOCK_S).astype(int)
    out = np.zeros(place.max() + 1)
    np.maximum.at(out, place, share[kept])
    return out


def for_rate(largest: np.ndarray, per_hour: float) -> float:
    """Return the threshold that so many blocks an hour exceed, by an exponential tail."""
    begin = float(np.quantile(largest, 1.0 - TAIL))
    excess = float(np.mean(largest[largest > begin] - begin))
    return begin - excess * float(np.log(per_hour * BLOCK_S / 3600.0 / TAIL))


def delays(minute: Minute, share: np.ndarray) -> list[float]:
    """Return how long after its begin each strong push was found [s]; infinite if it was not."""
    found = []
    for begin, lever in minute.pushes:
        if lever >= STRONG_NM and begin >= START_S:
            late = minute.stamp[(share > 1.0) & (minute.stamp >= begin)] - begin
            found.append(float(late[0]) if len(late) and late[0] <= PUSH_S else np.inf)
    return found


def share_within(count: int, of: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share (Clopper and Pearson 1934)."""
    low = beta.ppf(0.025, count, of - count + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, of - count) if count < of else 1.0
    return float(low), float(high)


SPEEDS = (0.0, 0.25, 0.5, 0.8, 1.1, 1.5, 2.0, 2.7)  # [rad/s] between which quantiles are taken
QUANTILE = 0.9995
DEVIATION_QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.7, 0.85, 0.95, 0.99)

Thresholds = Callable[[Minute], np.ndarray]  # of each interval and joint [N m], (N, n)


def by_speed(rest: np.ndarray, moving: np.ndarray) -> Thresholds:
    """Return thresholds from those at rest [N m] and per speed [N m s/rad], shape (n,) each."""
    return lambda minute: rest + moving * minute.speed[:, None]


def line(measure: np.ndarray, torque: np.ndarray, edges: np.ndarray) -> tuple[float, float]:
    """Return slope and value at zero of a line through a torque's high quantile over a measure."""
    points = []
    for low, high in pairwise(edges):
        inside = (measure >= low) & (measure < high)
        if np.count_nonzero(inside) > 1.0 / (1.0 - QUANTILE):
            points.append((measure[inside].mean(), np.quantile(torque[inside], QUANTILE)))
    x, y = np.array(points).T
    slope, rest = np.polyfit(x, y, 1)
    return max(float(slope), 0.02), max(float(rest), 0.05)


def fitted(minutes: list[Minute], torques: list[np.ndarray]) -> Thresholds:
    """Return lines over speed through a high quantile of each joint's torque."""
    kept = [minute.stamp >= START_S for minute in minutes]
    torque = np.concatenate([row[k] for row, k in zip(torques, kept)])
    speed = np.concatenate([minute.speed[k] for minute, k in zip(minutes, kept)])
    slope, rest = np.array([line(speed, column, SPEEDS) for column in torque.T]).T
    return by_speed(rest, slope)


def by_deviation(minutes: list[Minute], torques: list[np.ndarray]) -> Thresholds:
    """Return lines over the deviation that the parameters' covariance predicts, joint by joint."""
    kept = [minute.stamp >= START_S for minute in minutes]
    torque = np.concatenate([row[k] for row, k in zip(torques, kept)])
    measure = np.concatenate([minute.deviation[k] for minute, k in zip(minutes, kept)])
    edges = np.quantile(measure, DEVIATION_QUANTILES, axis=0)
    slope, rest = np.array([line(*columns) for columns in zip(measure.T, torque.T, edges.T)]).T
    return lambda minute: rest + slope * minute.deviation


def shipped(arm: ArmDescription) -> Thresholds:
    """Return the monitor's own thresholds."""
    rest, moving = joint_shares(arm)
    limits = ContactLimits()
    return by_speed(limits.threshold * rest, limits.threshold_per_speed * moving)


def shares(minute: Minute, torque: np.ndarray, thresholds: Thresholds) -> np.ndarray:
    """Return the largest share of its threshold that any joint had, shape (N,)."""
    return (torque / thresholds(minute)).max(axis=1)


def compare(folder: Path, arm: ArmDescription) -> dict[str, dict[str, float]]:
    """Return figures by detector."""
    sets = {kind: [Minute(path) for path in sorted(folder.glob(f'{kind}*.npz'))] for kind in SEEDS}
    filters: dict[str, Filter] = {
        f'first order, {gain:g} 1/s': first_order(gain) for gain in (35.0, 50.0, 80.0)
    }
    filters |= {
        f'second order, {w:g} rad/s, damping {d:g}': second_order(w, d)
        for w, d in ((100.0, 0.71), (120.0, 0.71), (150.0, 0.71), (200.0, 1.0))
    }
    moving = [minute for minute in sets['free'] if minute.level > 0.3][:20]
    filters |= {f'spectrum, {4 * length} ms': shaped(moving, length) for length in (4, 6, 8)}
    alike = relative_deviation(arm)
    figures = {}
    for name, filtered in track(filters.items(), 'detectors'):
        torques = {
            kind: [
                np.abs(fast(filtered(minute.torque, minute.seconds), minute.seconds))
                for minute in minutes
            ]
            for kind, minutes in sets.items()
        }
        shapes = {
            'constant': by_speed(alike, np.zeros(arm.n)),
            'by speed': by_speed(alike, 0.5 * alike),
            'by joint and speed': fitted(sets['free'], torques['free']),
            'as shipped': shipped(arm),
        }
        if all(minute.deviation is not None for minutes in sets.values() for minute in minutes):
            shapes['by covariance'] = by_deviation(sets['free'], torques['free'])
        for shape, thresholds in shapes.items():
            figures[f'{name}; {shape}'] = figures_of(
                sets, torques, thresholds, fixed=shape == 'as shipped'
            )
    return figures


def figures_of(
    sets: dict[str, list[Minute]],
    torques: dict[str, list[np.ndarray]],
    thresholds: Thresholds,
    *,
    fixed: bool,
) -> dict[str, float]:
    """Return alarms and delays; thresholds that are not fixed are scaled to ALARMS_PER_HOUR."""
    free = [
        blocks(minute, shares(minute, torque, thresholds))
        for minute, torque in zip(sets['free'], torques['free'])
    ]
    largest = np.concatenate(free)
    factor = 1.0 if fixed else for_rate(largest, ALARMS_PER_HOUR)
    begin = float(np.quantile(largest, 1.0 - TAIL))
    excess = float(np.mean(largest[largest > begin] - begin))
    row = {
        'hours': len(largest) * BLOCK_S / 3600.0,
        'alarms': float(np.sum(largest > factor)),
        'an hour, by the tail': 3600.0 / BLOCK_S * TAIL * float(np.exp((begin - factor) / excess)),
        'factor': factor,
    }
    for kind in ('push', 'rest'):
        found: list[float] = []
        for minute, torque in zip(sets[kind], torques[kind]):
            found += delays(minute, shares(minute, torque, thresholds) / factor)
        if found:
            late = np.array(found)
            soon = int(np.sum(late <= SOON_S))
            low, high = share_within(soon, len(late))
            row |= {
                f'{kind}: pushes': len(late),
                f'{kind}: within 50 ms [%]': 100.0 * soon / len(late),
                f'{kind}: at least [%]': 100.0 * low,
                f'{kind}: at most [%]': 100.0 * high,
                f'{kind}: median [ms]': 1e3 * float(np.median(late)),
                f'{kind}: 95 % [ms]': 1e3 * float(np.quantile(late, 0.95)),
            }
    return row


def main() -> None:
    """Simulate or compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('what', choices=('simulate', 'compare'))
    parser.add_argument('folder', type=Path, help='of the simulated minutes')
    parser.add_argument('--arm', default='fer')
    for kind, count in (('free', 120), ('push', 10), ('rest', 5)):
        parser.add_argument(f'--{kind}', type=int, default=count, metavar='MINUTES')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the figures here')
    arguments = parser.parse_args()
    arm = load(arguments.arm)
    if arguments.what == 'simulate':
        simulate(arguments.folder, {kind: getattr(arguments, kind) for kind in SEEDS}, arm)
        return
    if not any(arguments.folder.glob('free*.npz')):
        parser.error(f'{arguments.folder} holds no simulated minutes; simulate first')
    figures = compare(arguments.folder, arm)
    for name, row in figures.items():
        print(name + ': ' + ', '.join(f'{key} {value:.4g}' for key, value in row.items()))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + '\n')


if __name__ == '__main__':
    main()
