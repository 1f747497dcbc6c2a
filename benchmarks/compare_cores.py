# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Give the cores of two checkouts the same random calls; print where they answer differently.

    git worktree add ../before main
    python benchmarks/compare_cores.py --old ../before

Each checkout runs in a process of its own. The old one writes the scripts: random requests and
joint states of an arm that moves by the torques that it gets (Pinocchio's dynamics with rotors and
friction), with whatever goes wrong with states, or states that are garbage. The new one gets the
same calls. After each call torque, states, sentences, counts, log and what was raised are
compared. Prints the largest difference of torques, and each kind of difference: in how many
scripts it comes first (what follows may be its consequence), how many calls, and where. Only what
users of `fd.Feedforward` call is used, so that any two checkouts can be compared. Exit status 1 if
torques differ by more than 1e-12 or anything else does.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Generator, Iterator
import logging
from pathlib import Path
import pickle
import re
import subprocess
import sys
from typing import Any, IO
from unittest import mock

import numpy as np

HERE = Path(__file__).resolve()
MOST_DIFFERENT_NM = 1e-12
ROTOR, VISCOUS, COULOMB = 0.1, 0.5, 1.0  # of each joint of the plant [kg m^2, N m s/rad, N m]
TARGETS = ('fci', 'franka_gazebo', 'gz_ros2_control', 'mujoco')
GAINS: tuple[dict[str, Any], ...] = (
    {},
    {'kd': (1.0,)},
    {'kp': (10.0,), 'kd': (1.0,)},
    {'kp': (100.0,), 'kd': (5.0,)},
)
JOINT = """<joint name="j{i}" type="{type}"><parent link="l{before}"/><child link="l{i}"/>
<origin xyz="0 0.1 0.3" rpy="{turn} 0 0"/><axis xyz="0 0 1"/>{limit}</joint><link name="l{i}">
<inertial><mass value="{mass}"/><origin xyz="0.05 0.1 0"/><inertia ixx="0.03" iyy="0.02"
izz="0.04" ixy="0.001" ixz="0" iyz="0"/></inertial></link>"""

Call = tuple[str, tuple[Any, ...], dict[str, Any]]
Answer = dict[str, Any]
Script = Generator[Call, Answer, None]


def imported_arm() -> str:
    """Return the URDF of an arm of four joints: one slides, and one has no torque limit."""
    limit = '<limit lower="-2" upper="2" velocity="2" effort="{}"/>'
    joints = (
        ('revolute', 1.5, 4.0, limit.format(80)),
        ('revolute', 0.0, 3.0, limit.format(60)),
        ('prismatic', 1.5, 1.0, limit.format(90)),
        ('revolute', -1.5, 0.5, limit.format(0)),
    )
    chain = ''.join(
        JOINT.format(i=i, before=i - 1, type=kind, turn=turn, mass=mass, limit=limits)
        for i, (kind, turn, mass, limits) in enumerate(joints, 1)
    )
    return f'<robot name="slider"><link name="l0"/>{chain}</robot>'


# The scripts -------------------------------------------------------------------------------------


def chosen(rng: np.random.Generator, *values: Any) -> Any:
    """Return one of some values."""
    return values[int(rng.integers(len(values)))]


def load_of(mass: float) -> tuple[float, ...]:
    """Return a payload as the ten numbers of the setting."""
    own = 0.003 * mass
    return (mass, 0.0, 0.0, 0.1 * (mass > 0.0), own, 0.0, 0.0, own, 0.0, own)


def tilted(angle: float) -> tuple[float, float, float]:
    """Return gravity in a base that is tilted by an angle [rad]."""
    return 9.81 * float(np.sin(angle)), 0.0, -9.81 * float(np.cos(angle))


def settings_of(rng: np.random.Generator) -> dict[str, Any]:
    """Draw settings that may be wrong for the arm, or for any arm."""
    drawn: tuple[dict[str, Any], ...] = (
        *GAINS,
        {'payload': load_of(chosen(rng, 0.0, 0.5, 2.5, 40.0))},
        {'gravity_vector': tilted(chosen(rng, 0.0, 0.5, 1.5, 3.0))},
        {'target': chosen(rng, *TARGETS)},
        {'scale': chosen(rng, 0.5, 1.0, 2.0)},
        {'terms': {'inertia': False, 'friction': bool(rng.integers(2))}},
        {'payload': load_of(1.0), 'payload_known_to_robot': False},
        {'mount_tilt_compensated_by': chosen(rng, '', 'robot', 'node')},
    )
    return dict(chosen(rng, *drawn))


def core_of(rng: np.random.Generator) -> dict[str, Any]:
    """Draw how a core is made; what it is told is right in two of three draws."""
    limits = {
        'min_input_rate': 90.0,
        'max_state_age': chosen(rng, 0.0, 0.03, 0.1, 0.1),
        'effort_friction': chosen(rng, 'auto', 'auto', 'auto', 'excluded'),
        'held_until_commanded': bool(rng.random() < 0.2),
        'try_joints': bool(rng.random() < 0.15),
        'joint_factors': chosen(rng, (1.0,), (1.0,), (0.5,)),
    }
    wrong = settings_of(rng) if rng.random() < 0.3 else {}
    return {
        'arm': chosen(rng, 'fer', 'fr3', 'fr3', imported_arm()),
        'target': chosen(rng, *TARGETS),
        'period': chosen(rng, 5e-4, 1e-3, 1e-3, 1e-3, 2e-3, 1e-2),
        'limits': limits,
        'applied_when_silent': bool(rng.integers(2)),
        'soft_gains': chosen(rng, None, None, 3.0),
        'settings': {**chosen(rng, *GAINS), **wrong},
    }


class Plant:
    """An arm under torques: Pinocchio's dynamics with rotors and friction, and its sensors."""

    def __init__(self, given: dict[str, Any], rng: np.random.Generator) -> None:
        import franka_dynamics as fd

        self.rng = rng
        arm = fd.load(given['arm'])
        self.n, self.q, self.limit = arm.n, np.array(arm.home), arm.limit('effort')
        told = given['settings'].get('payload', load_of(0.0))
        load = chosen(rng, told, told, told, load_of(2.0)) if told[0] < 10.0 else load_of(1.0)
        if arm.rated_load is not None and load[0] > arm.rated_load:
            load = load_of(0.0)
        self.known, self.carried = fd.Model(arm), fd.Model(fd.load(given['arm'], payload=load))
        self.adds = given['target'] in ('fci', 'franka_gazebo')
        if rng.random() < 0.1:
            self.adds = not self.adds
        self.period, self.opens = given['period'], int(rng.integers(5, 120))
        self.dq, self.effort = np.zeros(arm.n), self.carried.gravity(self.q)
        self.noise = chosen(rng, 0.0, 1e-5, 1e-5)

    def move(self, torque: Any) -> None:
        """Apply a torque for a period; brakes hold the arm at first."""
        self.opens -= 1
        if self.opens > 0:
            return
        steps = max(1, round(self.period / 1e-3))
        for _ in range(steps):
            drive = torque + (self.known.gravity(self.q) if self.adds else 0.0)
            friction = VISCOUS * self.dq + COULOMB * np.tanh(20.0 * self.dq)
            inertia = self.carried.mass_matrix(self.q) + ROTOR * np.eye(self.n)
            bias = self.carried.nonlinear_effects(self.q, self.dq)
            ddq = np.linalg.solve(inertia, drive - bias - friction)
            self.effort = drive - ROTOR * ddq
            self.dq = np.clip(self.dq + self.period / steps * ddq, -20.0, 20.0)
            self.q = np.clip(self.q + self.period / steps * self.dq, -6.0, 6.0)

    def read(self) -> dict[str, Any]:
        """Return what sensors measure."""
        q, dq, effort = (
            value + size * self.rng.normal(size=self.n)
            for value, size in (
                (self.q, self.noise),
                (self.dq, 200.0 * self.noise),
                (self.effort, 1e4 * self.noise),
            )
        )
        return {'q': q, 'dq': dq, 'effort': effort}


def requests(rng: np.random.Generator, q: Any, time: float) -> Call:
    """Draw what a user asks of a core."""
    n = len(q)
    ahead = q + rng.normal(0.0, chosen(rng, 0.002, 0.03, 0.3), n)
    times = np.linspace(0.0, chosen(rng, 0.1, 0.5), 5)
    blend = (times / times[-1])[:, None]
    motion = q + blend**2 * (3.0 - 2.0 * blend) * rng.normal(0.0, 0.05, n)
    drawn: tuple[tuple[float, Call], ...] = (
        (3.0, ('start', (), {})),
        (1.0, ('stop', ('a user stops',), {'then': 'LET_GO'})),
        (0.4, ('stop', ('a user holds',), {'then': 'HOLD'})),
        (0.3, ('stop', ('another receiver',), {'then': 'TO_ZERO'})),
        (0.1, ('stop', ('another model',), {'then': 'FINAL'})),
        (2.0, ('change', (), settings_of(rng))),
        (0.4, ('reset', (), {})),
        (2.0, ('follow', (ahead,), {})),
        (3.0, ('follow', (motion, times), {})),
        (0.3, ('follow', (motion[::-1], times), {'start': time + 0.05})),
        (0.2, ('follow', ([], []), {})),
        (0.3, ('blocked', (chosen(rng, '', '', 'an owner waits'),), {})),
        (
            0.2,
            ('reject_state', ('a state is unreadable', time), {'faulty': bool(rng.integers(2))}),
        ),
    )
    weights = np.array([weight for weight, _ in drawn])
    return drawn[int(rng.choice(len(drawn), p=weights / weights.sum()))][1]


class Channel:
    """What becomes of joint states on their way: one trouble at a time, for some calls."""

    TROUBLES = (
        *('frozen', 'stuck', 'impossible', 'garbage', 'gap', 'back', 'late', 'early', 'twice'),
        *('aged', 'effort sign', 'effort nan', 'effort none', 'swapped', 'leap', 'coarse'),
    )

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.trouble, self.left, self.kept = rng, '', 0, None
        self.effort = bool(rng.random() < 0.7)
        self.clock = chosen(rng, None, None, 0.0, 1e3)  # of arrivals, beside that of stamps
        self.age = chosen(rng, None, None, 0.001, 0.01)
        self.every = chosen(rng, 0.002, 0.01, 0.02)  # how often a trouble begins

    def passed(self, state: dict[str, Any], time: float) -> tuple[dict[str, Any] | None, float]:
        """Return the state as it comes, None where none does, and the time by stamps."""
        rng = self.rng
        if self.left <= 0 and rng.random() < self.every:
            self.trouble, self.left = chosen(rng, *self.TROUBLES), int(rng.geometric(0.03))
            self.kept = {name: value.copy() for name, value in state.items()}
            time += {'back': -chosen(rng, 0.01, 2.0), 'early': 1.0}.get(self.trouble, 0.0)
        self.left -= 1
        trouble, k = self.trouble if self.left >= 0 else '', int(rng.integers(len(state['q'])))
        came: dict[str, Any] = {**state, 'time': time}
        if trouble == 'frozen':
            came.update(self.kept or {})
        elif trouble == 'stuck' and self.kept is not None:
            came['q'], came['dq'] = state['q'].copy(), state['dq'].copy()
            came['q'][0], came['dq'][0] = self.kept['q'][0], 0.0
        elif trouble == 'impossible':
            came[chosen(rng, 'q', 'dq')] = np.full(len(state['q']), chosen(rng, np.nan, 1e9, 90.0))
        elif trouble == 'garbage':
            came = {name: rng.normal(size=len(state['q'])) for name in state} | {'time': time}
        elif trouble == 'leap':
            came['q'] = state['q'] + 0.5 * (np.arange(len(state['q'])) == k)
        elif trouble == 'swapped':
            came = {name: value[::-1] for name, value in state.items()} | {'time': time}
        elif trouble == 'coarse':
            came['q'] = np.round(state['q'], 4)
        elif trouble in ('late', 'twice'):
            came['time'] = time - (0.003 if trouble == 'late' else self.left % 2 * 1e-3)
        elif trouble.startswith('effort'):
            wrong = {'sign': -state['effort'], 'nan': np.full_like(state['effort'], np.nan)}
            came['effort'] = wrong.get(trouble.split()[1])
        if not self.effort:
            came['effort'] = None
        age = 0.002 * -self.left if trouble == 'aged' else self.age
        came['age'] = None if age is None else abs(age)
        came['now'] = None if self.clock is None else came['time'] + self.clock + (age or 0.0)
        return (None if trouble == 'gap' else came), time


def script(seed: int, calls: int) -> Script:
    """Yield the calls of one script; the answers move the arm."""
    rng = np.random.default_rng(seed)
    given = core_of(rng)
    while 'raised' in (yield 'made', (), given):
        given = core_of(rng)
    plant, channel, time = Plant(given, rng), Channel(rng), float(chosen(rng, 0.0, 1.0, 1.7e9))
    asks, moves = chosen(rng, 0.01, 0.03, 0.1), rng.random() < 0.9
    torque = np.zeros(plant.n)
    for _ in range(calls):
        if rng.random() < asks:
            yield requests(rng, plant.q, time)
        time += given['period'] * (chosen(rng, 0.9, 1.0, 1.1) if rng.random() < 0.1 else 1.0)
        state, time = channel.passed(plant.read(), time)
        if state is not None:
            answer = yield 'step', (state.pop('q'), state.pop('dq'), state.pop('time')), state
        else:
            clock = time if channel.clock is None else time + channel.clock
            answer = yield 'tick', (clock,), {}
        given_torque = answer.get('torque')
        if given_torque is not None and (given['applied_when_silent'] or answer.get('sends')):
            torque = given_torque
        if moves:
            plant.move(torque)


# One core ----------------------------------------------------------------------------------------
class Core:
    """The core of the checkout that is first in sys.path."""

    SEEN = ('state', 'status', 'why', 'state_problem', 'faulty', 'enabled', 'ended', 'sends')

    def __init__(self) -> None:
        self.core: Any = None
        self.log: list[str] = []
        self.sent: list[Any] = []
        self.now = 0.0  # by this computer's clock [s]
        handler = logging.Handler()
        handler.emit = lambda record: self.log.append(record.getMessage())  # type: ignore[method-assign]
        logger = logging.getLogger('franka_dynamics')
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False

    def answer(self, call: Call) -> Answer:
        """Make a call, half a millisecond later; return all that a user sees of it."""
        self.now += 5e-4
        self.log, self.sent, seen = [], [], {}
        try:
            torque = self._called(*call)
        except Exception as error:
            said = f'{type(error).__name__}: {error}'
            seen['raised'] = said.replace(sys.path[0], '')  # a file's checkout
        else:
            seen['torque'] = torque if isinstance(torque, np.ndarray) else None
        seen['log'] = '; '.join(self.log)
        seen['sent'] = self.sent
        if self.core is not None:
            for name in self.SEEN:
                value = getattr(self.core, name, None)
                seen[name] = str(getattr(value, 'value', value))
            seen['sends'] = bool(self.core.sends)
            seen['counts'] = str(sorted(self.core.counts.items()))
        return seen

    def _called(self, name: str, values: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if name == 'made':
            self.core = None
            self.core = self._made(**options)
            return None
        if self.core is None:
            return None
        if name == 'blocked':
            self.core.blocked = values[0]
            return None
        if name == 'stop':
            from franka_dynamics.control.core_state import Stop

            options = {'then': Stop[options['then']]}
        return getattr(self.core, name)(*values, **self._settings(options))

    def _made(self, settings: dict[str, Any], limits: dict[str, Any], **options: Any) -> Any:
        import franka_dynamics as fd
        from franka_dynamics.control.feedforward import StateLimits

        return fd.Feedforward(
            limits=StateLimits(**limits),
            send=lambda torque: self.sent.append(torque.copy()),
            **options,
            **self._settings(settings),
        )

    def _settings(self, options: dict[str, Any]) -> dict[str, Any]:
        import franka_dynamics as fd

        terms = options.get('terms')
        return {**options, 'terms': fd.Terms(**terms)} if terms is not None else options


def serve(folder: Path) -> None:
    """Answer scripts, or the numbers of scripts to write, that come on standard input."""
    sys.path.insert(0, str(folder))
    import franka_dynamics as fd

    if Path(fd.__file__).parents[1] != folder:
        sys.exit(f'franka_dynamics comes from {fd.__file__}, and not from {folder}.')
    core, out = Core(), sys.stdout.buffer
    # A loop that gives no time waits by this computer's clock, which is not the same twice.
    mock.patch('franka_dynamics.control.state_check.monotonic', lambda: core.now).start()
    sys.stdout = sys.stderr
    while True:
        try:
            job = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        if isinstance(job, list):
            reply: Any = [core.answer(call) for call in job]
        else:
            calls, answers = [], []
            running = script(*job)
            call = next(running, None)
            while call is not None:
                calls.append(call)
                answers.append(core.answer(call))
                try:
                    call = running.send(answers[-1])
                except StopIteration:
                    break
            reply = calls, answers
        pickle.dump(reply, out)
        out.flush()


# The comparison ----------------------------------------------------------------------------------
class Side:
    """A process that runs the core of one checkout."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, str(HERE), '--serve', str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, job: Any) -> None:
        """Send a job."""
        pickle.dump(job, self._pipe(self.process.stdin))
        self._pipe(self.process.stdin).flush()

    def answer(self) -> Any:
        """Return what came of the job."""
        try:
            return pickle.load(self._pipe(self.process.stdout))
        except EOFError:
            sys.exit('A core ended without an answer; what it said stands above.')

    def close(self) -> None:
        """End the process."""
        self._pipe(self.process.stdin).close()
        self.process.wait()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


def differences(old: Answer, new: Answer) -> Iterator[tuple[str, str, str]]:
    """Yield what differs between two answers to one call, and both texts without numbers."""
    for name in sorted(old.keys() | new.keys()):
        one, other = old.get(name), new.get(name)
        if name == 'torque':
            size = difference(one, other)
            if size > MOST_DIFFERENT_NM:
                yield name, f'{old.get("state")}', f'{new.get("state")}'
        elif name == 'sent':
            pairs = zip(one or (), other or ())
            if len(one or ()) != len(other or ()):
                yield name, f'{len(one or ())} torques', f'{len(other or ())} torques'
            elif any(difference(*pair) > MOST_DIFFERENT_NM for pair in pairs):
                yield name, 'a torque', 'another torque'
        elif one != other:
            yield name, *apart(plain(one), plain(other))


def difference(one: Any, other: Any) -> float:
    """Return the largest difference of two torques [N m]; infinite if one is none."""
    if one is None or other is None:
        return 0.0 if one is other else np.inf
    return float(np.abs(one - other).max())


def plain(value: Any) -> str:
    """Return a text without its numbers."""
    return re.sub(r'-?\d+(\.\d+)?(e[-+]\d+)?', '#', f'{value}')


def apart(one: str, other: str) -> tuple[str, str]:
    """Return what two texts say from a little before where they differ."""
    same = next((i for i, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), 0)
    begin = max(0, same - 30)
    return one[begin : begin + 150], other[begin : begin + 150]


def main() -> int:
    """Compare two checkouts; print what differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--old', type=Path, metavar='FOLDER', help='the checkout to compare with')
    parser.add_argument('--new', type=Path, metavar='FOLDER', default=HERE.parents[1])
    parser.add_argument('--scripts', type=int, default=200)
    parser.add_argument('--calls', type=int, default=600, help='joint states of a script')
    parser.add_argument('--seed', type=int, default=0, help='of the first script')
    parser.add_argument('--serve', type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        serve(given.serve)
        return 0
    if given.old is None or not (given.old / 'franka_dynamics').is_dir():
        parser.error('--old names no checkout of franka_dynamics')
    return compared(given)


def compared(given: argparse.Namespace) -> int:
    """Run the scripts in both checkouts; return the exit status."""
    old, new = Side(given.old.resolve()), Side(given.new.resolve())
    seeds = list(range(given.seed, given.seed + given.scripts))
    old.ask((seeds[0], given.calls))
    kinds: Counter[tuple[str, str, str]] = Counter()
    first: dict[tuple[str, str, str], str] = {}
    seen: Counter[str] = Counter()
    begins: Counter[tuple[str, str, str]] = Counter()
    largest, different = 0.0, 0
    for k, seed in enumerate(seeds):
        calls, answers = old.answer()
        new.ask(calls)
        if k + 1 < len(seeds):
            old.ask((seeds[k + 1], given.calls))
        at = None  # the first call that differs
        for i, (call, one, other) in enumerate(zip(calls, answers, new.answer())):
            seen[one.get('state', 'not made')] += 1
            size = difference(one.get('torque'), other.get('torque'))
            largest = max(largest, size)
            for kind in differences(one, other):
                at = i if at is None else at
                kinds[kind] += 1
                begins[kind] += at == i
                first.setdefault(kind, f'script {seed}, call {i} ({call[0]}): {size:.3g} N m')
        different += at is not None
        if sys.stderr.isatty():
            print(f'\r{k + 1} of {len(seeds)} scripts', end='', file=sys.stderr, flush=True)
    old.close()
    new.close()
    counted = ', '.join(f'{count} {state}' for state, count in seen.most_common())
    print(f'{len(seeds)} scripts, {seen.total()} calls: {counted}')
    for kind, count in sorted(kinds.items(), key=lambda one: (-begins[one[0]], -one[1])):
        name, one, other = kind
        print(f'{begins[kind]:4} scripts, {count:6} calls, {name}: {one or "-"}')
        print(f'    -> {other or "-"}\n    first: {first[kind]}')
    print(f'largest difference of torques {largest:.3g} N m; {different} scripts differ')
    return int(bool(kinds))


if __name__ == '__main__':
    sys.exit(main())
