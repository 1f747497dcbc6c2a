# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One process at a time may command a topic; a keeper takes the torque of a dead one back."""

import os
import signal
import stat
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from franka_dynamics.control import keeper as keeper_module
from franka_dynamics.control.keeper import Keeper, KeeperState
from franka_dynamics.control.lease import CommandLease, lease_path, LeaseFile, Lock
from franka_dynamics.errors import LeaseError

DOMAIN, TIMEOUT_S = 240, 60.0
RATE = np.full(7, 1000.0)
HELD = np.array([80.0, -40.0, 0.0, 10.0, 0.0, 1.0, 0.25])
REST = np.array([0.0, -30.0, 1.0, 18.0, 0.5, 2.0, 0.0])
# A process that commands 80 N m for ever, or stands still where it is told to.
CHILD = """
import sys, time
import numpy as np
from franka_dynamics.control.lease import CommandLease
lease = CommandLease(sys.argv[1], int(sys.argv[2]), '/child')
lease.acquire(np.full(7, 1000.0))
def publish():
    print('published', flush=True)
    if sys.argv[3] == 'within':
        time.sleep(600)
while True:
    lease.speak(np.full(7, 80.0), np.zeros(7), publish)
    time.sleep(1e-3)
"""


@pytest.fixture
def topic(monkeypatch):
    name = f'/arm_{os.getpid()}_{time.monotonic_ns()}/commands' + 'x' * 200
    yield name
    lease_path(name, DOMAIN).unlink(missing_ok=True)


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that the test sets: `clock[0]` [s]."""
    now = [time.monotonic()]
    monkeypatch.setattr(time, 'monotonic', lambda: now[0])
    return now


class Topic(list):
    """What keepers publish, and what they say."""

    def __init__(self, name):
        super().__init__()
        self.name, self.said, self.keepers = name, [], []

    def keeper(self, silence=0.25):
        say = self.said.append
        logger = SimpleNamespace(info=say, warning=say, error=say)
        keeper = Keeper(self.name, DOMAIN, silence, self.append, logger)
        self.keepers.append(keeper)
        return keeper

    @property
    def text(self):
        return ' '.join(self.said)

    def close(self):
        for keeper in self.keepers:
            keeper.close()


@pytest.fixture
def published(topic):
    heard = Topic(topic)
    yield heard
    heard.close()


@pytest.fixture
def lease(topic):
    made = CommandLease(topic, DOMAIN, '/left/feedforward')
    yield made
    made.close()


@pytest.fixture
def child(topic):
    processes = []

    def start(kind):
        processes.append(
            subprocess.Popen(
                [sys.executable, '-c', CHILD, topic, str(DOMAIN), kind],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
            )
        )
        assert processes[-1].stdout.readline() == 'published\n'
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def look_on(keepers, clock, seconds):
    """Let keepers look every millisecond."""
    for _ in range(round(1e3 * seconds)):
        clock[0] += 1e-3
        for keeper in keepers:
            keeper.look()


def hold(lease, rate=RATE):
    """Command a torque by a lease, as a node does."""
    lease.acquire(rate)
    lease.speak(HELD, REST, lambda: None)


def abandon(lease):
    """Leave a lease as a killed process does."""
    lease._file.unlock(Lock.HOLDER)


def test_only_one_may_hold_a_lease(lease, topic):
    lease.acquire(RATE)
    second = CommandLease(topic, DOMAIN, '/right/feedforward')
    with pytest.raises(LeaseError, match=rf'^/left/feedforward \(process {os.getpid()}\) comm'):
        second.acquire(RATE)
    lease.release()
    second.acquire(RATE)
    second.close()


@pytest.mark.parametrize(('other', 'domain'), [('/other', DOMAIN), (None, DOMAIN + 1)])
def test_another_topic_or_domain_is_another_lease(lease, topic, other, domain):
    lease.acquire(RATE)
    second = CommandLease(other or topic, domain, '/second')
    second.acquire(RATE)
    second.close()
    lease_path(other or topic, domain).unlink()


def test_one_that_only_stands_by_owns_nothing(lease, topic, published, clock):
    # Given a second node, configured and never active.
    standby = CommandLease(topic, DOMAIN, '/standby')
    lease.acquire(RATE)
    keeper = published.keeper()
    lease.speak(HELD, REST, lambda: None)
    keeper.look()
    # When it is cleaned up, nothing happens; when the active one dies, its torque is taken back.
    standby.close()
    look_on([keeper], clock, 0.2)
    assert not published
    abandon(lease)
    look_on([keeper], clock, 0.2)
    np.testing.assert_array_equal(published[-1], REST)


def test_the_torque_of_a_dead_one_goes_to_rest_within_its_rate(lease, published, clock):
    keeper = published.keeper()
    hold(lease, np.full(7, 500.0))
    look_on([keeper], clock, 0.01)
    abandon(lease)
    look_on([keeper], clock, 0.5)
    np.testing.assert_array_equal(published[0], HELD)
    np.testing.assert_array_equal(published[-1], REST)
    assert np.abs(np.diff(published, axis=0)).max() <= 0.5 + 1e-9
    assert len(published) in (161, 162)  # 80 N m at 0.5 N m per millisecond
    assert '/left/feedforward (process' in published.text
    assert keeper.state is KeeperState.WATCHING


@pytest.mark.parametrize('ended_at', ['release', 'rest', 'silence'])
def test_after_an_orderly_end_nothing_is_published(lease, published, clock, ended_at):
    # Given a node that went to zero because another carries the arm, though its target holds
    # gravity: what it published last is where its stop ended.
    keeper = published.keeper()
    hold(lease)
    lease.speak(np.zeros(7), np.zeros(7), lambda: None)
    look_on([keeper], clock, 0.01)
    if ended_at == 'release':
        lease.release()
    elif ended_at == 'rest':
        abandon(lease)
    look_on([keeper], clock, 1.0)
    assert not published


def test_a_torque_that_acted_before_the_keeper_is_only_told(lease, published, clock):
    # Whether its receiver has been started anew meanwhile nobody knows: a stop might be a step.
    hold(lease)
    abandon(lease)
    clock[0] += 1.0
    keeper = published.keeper()
    look_on([keeper], clock, 0.2)
    assert not published
    assert published.text.count('deactivate its receiver') == 1


def test_one_that_stands_still_never_speaks_beside_the_keeper(lease, published, clock):
    keeper = published.keeper(silence=0.25)
    lease.acquire(RATE)
    assert lease.speak(HELD, REST, lambda: published.append(HELD))
    look_on([keeper], clock, 0.24)
    assert len(published) == 1
    look_on([keeper], clock, 0.05)
    assert 'stands still for 25' in published.text
    # When it goes on in the middle of the keeper's stop.
    assert not lease.speak(HELD, REST, lambda: published.append(HELD))
    assert not lease.held
    look_on([keeper], clock, 0.2)
    assert np.abs(np.diff(published, axis=0)).max() <= 1.0 + 1e-9
    np.testing.assert_array_equal(published[-1], REST)
    # Then it may begin anew, from what the keeper left.
    lease.release()
    np.testing.assert_array_equal(lease.acquire(RATE), REST)
    assert lease.speak(REST, REST, lambda: None)


def test_a_sign_of_life_without_a_torque_is_no_silence(lease, published, clock):
    # As where simulated time stands still, or states come rarely.
    keeper = published.keeper(silence=0.25)
    hold(lease)
    for _ in range(20):
        look_on([keeper], clock, 0.1)
        lease.note_alive()
    assert not published
    assert lease.speak(HELD, REST, lambda: None)


def test_a_machine_that_stands_still_as_a_whole_is_no_silence(lease, published, clock):
    keeper = published.keeper(silence=0.25)
    hold(lease)
    look_on([keeper], clock, 0.01)
    clock[0] += 3.0
    keeper.look()
    lease.note_alive()
    look_on([keeper], clock, 0.2)
    assert not published


def test_while_the_keeper_stops_nobody_begins(lease, topic, published, clock):
    keeper = published.keeper()
    hold(lease)
    look_on([keeper], clock, 0.01)
    abandon(lease)
    heir = CommandLease(topic, DOMAIN, '/heir')
    # Even before the keeper has noticed.
    assert 'the keeper has still to take back' in heir._try(RATE)
    look_on([keeper], clock, 0.02)
    assert keeper.state is KeeperState.STOPPING
    assert heir._try(RATE)
    look_on([keeper], clock, 0.2)
    np.testing.assert_array_equal(heir.acquire(RATE), REST)
    heir.close()


def test_of_ten_keepers_one_stops_and_another_goes_on_from_there(lease, published, clock):
    keepers = [published.keeper() for _ in range(10)]
    hold(lease)
    look_on(keepers, clock, 0.01)
    abandon(lease)
    look_on(keepers, clock, 0.03)
    stopping = [keeper for keeper in keepers if keeper.state is KeeperState.STOPPING]
    assert len(stopping) == 1
    # When that one is killed in the middle of its stop.
    published.keepers.remove(stopping[0])
    stopping[0].close()
    keepers.remove(stopping[0])
    look_on(keepers, clock, 0.2)
    np.testing.assert_array_equal(published[-1], REST)
    assert np.abs(np.diff(published, axis=0)).max() <= 1.0 + 1e-9
    assert published.text.count('the stop sequence ended') == 1


def test_a_keeper_killed_while_a_node_stands_still_is_followed(lease, published, clock):
    first, second = published.keeper(), published.keeper()
    hold(lease)
    look_on([first, second], clock, 0.3)
    assert first.state is KeeperState.STOPPING
    published.keepers.remove(first)
    first.close()
    assert not lease.speak(HELD, REST, lambda: published.append(HELD))
    look_on([second], clock, 0.2)
    np.testing.assert_array_equal(published[-1], REST)
    assert np.abs(np.diff(published, axis=0)).max() <= 1.0 + 1e-9


def test_a_process_that_dies_is_stopped_and_its_heir_too(child, published):
    keeper = published.keeper(silence=0.0)
    for _ in range(2):
        keeper.look()
        process = child('on')
        until(keeper, lambda: 'is watched' in published.text)
        count = len(published)
        process.kill()
        until(keeper, lambda count=count: len(published) > count and not published[-1].any())
        until(keeper, lambda: keeper.state is KeeperState.WATCHING)


def test_a_process_that_stands_still_while_it_publishes_is_ended(child, published):
    # Its message may come out at any later time, so nobody could speak beside it.
    keeper = published.keeper(silence=0.05)
    keeper.look()
    process = child('within')
    until(keeper, lambda: published and not published[-1].any())
    assert process.wait(TIMEOUT_S) == -signal.SIGKILL
    assert 'stands still while it publishes: it is ended' in published.text


def test_one_in_another_namespace_is_not_ended_by_its_number(child, published, monkeypatch, topic):
    monkeypatch.setattr(keeper_module, 'process_namespace', lambda: 1)
    keeper = published.keeper(silence=0.05)
    keeper.look()
    process = child('within')
    until(keeper, lambda: 'cannot be ended from here' in published.text)
    assert process.poll() is None


def until(keeper, done):
    give_up = time.monotonic() + TIMEOUT_S
    while not done():
        time.sleep(1e-3)
        keeper.look()
        assert time.monotonic() < give_up


def test_a_lease_is_its_users_alone(topic, monkeypatch, tmp_path):
    file = LeaseFile(topic, DOMAIN)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    file.close()
    # A folder that others may write to, or that leads elsewhere.
    for folder in (tmp_path / 'open', tmp_path / 'link'):
        if folder.name == 'open':
            folder.mkdir()
            folder.chmod(0o777)
        else:
            folder.symlink_to('/tmp')
        monkeypatch.setattr(
            'franka_dynamics.control.lease.lease_path', lambda *_, f=folder: f / 'lease'
        )
        with pytest.raises(LeaseError, match=r"this user's alone"):
            LeaseFile(topic, DOMAIN)
    monkeypatch.setattr(
        'franka_dynamics.control.lease.lease_path', lambda *_: tmp_path / 'no' / 'way' / 'lease'
    )
    with pytest.raises(LeaseError, match='cannot be opened'):
        LeaseFile(topic, DOMAIN)


def test_a_damaged_lease_is_told_once_and_never_followed(topic, published, clock):
    random = np.random.default_rng(0)
    keeper = published.keeper()
    file = LeaseFile(topic, DOMAIN)
    examples = int(os.environ.get('FRANKA_DYNAMICS_FUZZ', '20'))
    for _ in range(examples):
        noise = random.bytes(len(file._bytes))
        file._bytes[:] = noise
        look_on([keeper], clock, 0.005)
    assert not published
    assert 'is damaged; stop what commands it' in published.text
    with pytest.raises(LeaseError, match='is damaged'):
        CommandLease(topic, DOMAIN, '/node').acquire(RATE)
    file.close()


@pytest.mark.parametrize(('torque', 'rate'), [(np.full(7, np.nan), RATE), (HELD, 0.0 * RATE)])
def test_values_without_sense_are_not_followed(lease, published, clock, torque, rate):
    keeper = published.keeper()
    lease.acquire(rate)
    lease.speak(torque, REST, lambda: None)
    look_on([keeper], clock, 0.01)
    abandon(lease)
    look_on([keeper], clock, 0.1)
    assert not published
    assert 'is damaged' in published.text
