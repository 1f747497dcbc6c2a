# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Computes test vectors for C++ code: the Python controller's torques over scripted events.

A file of test vectors has these rows; empty columns are left out:

- `begin`: a new controller, its settings in the next row
- `settings`, command, target, friction, payload_known_to_robot, mount_tilt_compensated_by, scale,
  gravity_vector (3), payload (10), kp (n), kd (n): from the next cycle on
- `message`, sender, answer, values: a message with a command, and whether it is accepted
- `reference`, q (n), dq (n), ddq (n): the motion's state in the next cycle
- `brake`: the arm is braked from the next cycle on
- `cycle`, seconds since the last cycle, q (n), dq (n), state, torque (n): what comes out

The joint states are scripted and not those of an arm that obeys, so that nothing has to be
simulated. The Python controller's bounds on unexplained torque are so wide that it accepts them.
"""

from collections.abc import Iterator
from dataclasses import replace
import logging
import math
from typing import Any

import numpy as np

from franka_dynamics.arm import ArmDescription
from franka_dynamics.arm.frames import is_base_tilted
from franka_dynamics.arrays import Array
from franka_dynamics.control.default_gains import default_gains
from franka_dynamics.control.feedforward import Feedforward, State, StateLimits
from franka_dynamics.control.limits import TorqueLimiter
from franka_dynamics.control.settings import Settings as Settings
from franka_dynamics.control.settings import Terms
from franka_dynamics.control.stopping import BrakingController
from franka_dynamics.control.terms import TermModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.simulation.receiver import (
    COMMAND_TIMEOUT_S,
    ReceiverState,
    TorqueReceiver,
)

TILTS = ('', 'robot', 'node')  # enumerators of Tilt in settings.hpp
_PERIOD_S = 1e-3
_AMPLITUDE, _SHARE = (
    0.05,
    0.2,
)  # of a joint's motion: [rad], at most this share of its range
# Cycles of the core's script: a motion begins after the ramp of the start, settings change while
# it is followed, and states are lost during the ramp of that change.
_MOVES = 230
_CHANGES = 280
_LOST = 330
# Cycle of the receiver's script from which faults follow each other, and when senders end them.
_FAULTS = 740
_AFTER_FAULTS = (*range(5), *range(95, 100), *range(190, 195))
_REST_S = 0.05  # the arm rests until the first torque, before which nothing is written
_DIGITS = 9  # decimals of the scripted states, which keeps files small
_INCLINED = (2.0, -3.0, -9.12)  # about as long as 9.81 m/s^2


def controller_test_vectors(arm: ArmDescription) -> str:
    """Return a text of scripted inputs and expected torques, for tests of the C++ controller."""
    log = logging.getLogger(Feedforward.__module__)
    before = log.level
    log.setLevel(logging.ERROR)  # the scripted faults are nobody's news
    try:
        return '\n'.join((*_rows(arm), ''))
    finally:
        log.setLevel(before)


def _rows(arm: ArmDescription) -> list[str]:
    rows: list[str] = []
    payload = (0.3, 0.01, -0.02, 0.06, 0.002, 0.0001, -0.0002, 0.002, 0.0003, 0.002)
    if arm.rated_load is not None and arm.rated_load - arm.carried_mass < payload[0]:
        payload = (0.0,) * 10
    effort = arm.limit('effort')
    most = zip(default_gains(arm), (effort, 0.1 * effort))
    kp, kd = (tuple(np.minimum(gain, bound).tolist()) for gain, bound in most)
    held = Settings('mujoco', Terms(friction=arm.friction is not None), kp=kp, kd=kd)
    carried = Settings(
        terms=held.terms,
        payload=payload,
        payload_known_to_robot=False,
        gravity_vector=_INCLINED,
        mount_tilt_compensated_by='node',
    )
    tilted = [
        Settings(payload=payload, payload_known_to_robot=False, mount_tilt_compensated_by=who)
        for who in TILTS[1:]
        if is_base_tilted(arm)
    ]
    for settings in (held, carried, *tilted):
        if _fits(settings, arm):
            rows += _followed(arm, settings, payload)
    if _fits(held, arm):
        rows += _braked(arm, held)
    for settings in (
        Settings(target='mujoco', payload=payload),
        Settings(payload=payload),
    ):
        if _fits(settings, arm):
            rows += _received(arm, settings)
    return rows


def _fits(settings: Settings, arm: ArmDescription) -> bool:
    """Return whether settings suit the arm: a rotated base refuses some targets and gravities."""
    try:
        settings.validate(arm)
    except SettingsError:
        return False
    return True


def _amplitude(arm: ArmDescription) -> Array:
    limits = (
        arm.limit('upper') - arm.home_position,
        arm.home_position - arm.limit('lower'),
    )
    amplitude = np.minimum(_AMPLITUDE, _SHARE * np.minimum(*limits))
    return amplitude * np.resize((1.0, -0.7, 0.5), arm.n)


def _followed(arm: ArmDescription, settings: Settings, load: tuple[float, ...]) -> Iterator[str]:
    """Yield rows of the core: a start, a motion, changed settings, and states that are lost."""
    yield 'begin'
    yield _settings_row('motion', settings, arm)
    home = arm.home_position
    amplitude = _amplitude(arm)
    limits = StateLimits(max_state_age=0.0)
    core = Feedforward(arm, limits=limits, applied_when_silent=False, **vars(settings))
    core.disturbances.running_bound = np.full(arm.n, np.inf)  # the C++ core has no guard
    stamp = 0.0
    begun = False
    for k in range(_LOST + 450):
        before = stamp
        stamp = k * _PERIOD_S
        phase = 3.0 * max(0.0, stamp - _REST_S)
        q = np.round(home + amplitude * (1.0 - math.cos(phase)), _DIGITS)
        dq = np.round(3.0 * amplitude * math.sin(phase), _DIGITS)
        if k == _MOVES:
            begin = q if core.reference.motion is None else core.reference.motion.at(stamp).q
            core.reference.hold(begin)
            way = 0.1 * amplitude
            # A quintic from rest to rest needs an acceleration of 5.8 way / seconds^2.
            least = np.sqrt(8.0 * np.abs(way) / np.abs(arm.limit('acceleration'))).max()
            seconds = max(0.08, float(least))
            core.follow([begin, begin + way], [0.0, seconds], *np.zeros((2, 2, arm.n)))
        if k == _CHANGES:
            kp = tuple(0.5 * gain for gain in settings.kp)
            settings = replace(settings, kp=kp, payload=load, scale=0.5)
            core.change(kp=kp, payload=load, scale=0.5)
            yield _settings_row('motion', settings, arm)
        if k >= _LOST:  # the position of one joint, then of all, then the velocities, too
            bad = np.nan if settings.payload_known_to_robot else arm.limit('upper') + 1.0
            q = np.where((np.arange(arm.n) == 0) | (k >= _LOST + 100), bad, q)
            dq = dq * (np.nan if k >= _LOST + 350 else 1.0)
        active = core.reference.has_open_motion
        torque = core.step(q, dq, stamp)
        if core.state is State.SILENT and begun:
            return
        if core.sends:
            motion = core.reference.motion
            if motion is not None and (active or core.reference.has_open_motion):
                yield _row('reference', *np.concatenate(motion.at(stamp)))
            state = ReceiverState.FOLLOWING if core.state is State.RUNNING else ReceiverState.FAULT
            yield _row('cycle', stamp - before, *q, *dq, state.status_word, *torque)
            begun = True


def _braked(arm: ArmDescription, settings: Settings) -> Iterator[str]:
    """
    Yield rows of a brake with gains: an arm slows down, is held, and is pushed aside; a slow loop.

    The torque that the model does not explain is zero, because the C++ controller knows none.
    """
    settings = replace(settings, kd=tuple((0.1 * arm.limit('effort')).tolist()))
    yield 'begin'
    yield _settings_row('motion', settings, arm)
    q = np.round(arm.home_position, _DIGITS)
    amplitude = _amplitude(arm)
    terms = TermModel(arm, settings)
    brake = BrakingController(arm)
    zero = np.zeros(arm.n)
    limiter = TorqueLimiter(arm.limit('effort'), arm.limit('effort_rate'))
    torque = limiter.clip_torque(terms.gravity_to_command(q, terms.gravity(q)))
    yield _row('cycle', _PERIOD_S, *q, *zero, ReceiverState.FOLLOWING.status_word, *torque)
    yield 'brake'
    brake.begin(zero, settings.gains(arm.n))
    stamp = 0.0
    push = zero.copy()
    # The last joint gets 0.5 J at most, and is pushed so far that its pull yields.
    inertia = terms.true_model.mass_matrix(q)[-1, -1]
    push[-1] = min(3.0, 60.0 * abs(amplitude[-1]), inertia**-0.5) * np.sign(amplitude[-1])
    for k in range(200):
        seconds = _PERIOD_S if k < 150 else 40 * _PERIOD_S
        stamp += seconds
        dq = np.round(2.0 * amplitude * math.exp(-k / 20.0) + (k // 50 == 2) * push, _DIGITS)
        q = np.round(q + _PERIOD_S * dq, _DIGITS)
        desired = brake.torque(terms.terms_at(stamp, q, dq, None), terms, zero, seconds)
        torque = limiter.limit(desired, torque, seconds)
        brake.record_limited_torque(desired, torque)
        name = ReceiverState.HOLDING if brake.at_rest else ReceiverState.BRAKING
        yield _row('cycle', seconds, *q, *dq, name.status_word, *torque)


def _received(arm: ArmDescription, settings: Settings) -> Iterator[str]:
    """
    Yield rows of the receiver: senders that cease, are two, or wrong, and every kind of fault.

    States are not finite while the arm is braked, then it is driven. From _FAULTS on a sender
    comes after each fault and ceases. The faults are an impossible velocity while the arm is
    braked, an impossible position and a fast arm while it is held.
    """
    yield 'begin'
    yield _settings_row('total_torque', settings, arm)
    q = np.round(arm.home_position, _DIGITS)
    amplitude = _amplitude(arm)
    effort = arm.limit('effort')
    speed = np.sign(amplitude) * np.minimum(0.3, 0.3 * arm.limit('velocity'))
    # The generated controller begins at the torque that holds the arm.
    carried = settings.profile.receiver_adds_gravity
    holding = np.zeros(arm.n) if carried else TermModel(arm, settings).gravity(q)
    holding = np.clip(holding, -effort, effort)
    receiver = TorqueReceiver(arm, settings, COMMAND_TIMEOUT_S, holding=holding)
    stamp = 0.0
    numbers = {1: 0, 2: 1_000_000}
    most = 2.2 * np.minimum(10.0, arm.limit('velocity')) * np.sign(amplitude)
    for k in range(_FAULTS + 310):
        before = stamp
        stamp = k * _PERIOD_S
        if k < 100:
            dq = 0.0 * speed
        elif k < 420:  # braked, slower than the brake would do it
            dq = speed * math.exp(-max(0.0, k - 150) / 40.0)
        elif k < _FAULTS:  # driven
            dq = 0.2 * speed * math.exp((k - 420) / 60.0)
        else:
            dq = most * (_FAULTS + 275 <= k < _FAULTS + 300)
        q = np.round(q + _PERIOD_S * dq, _DIGITS)
        dq = np.round(dq, _DIGITS)
        wave = holding + 0.05 * effort * math.sin(0.05 * k)
        wave = np.clip(wave, -effort, effort)
        for sender, values in _messages(k, wave, effort):
            numbers[sender] += 1
            refusal = receiver.accept(values, numbers[sender])
            yield _row(
                'message',
                sender,
                'heard' if refusal is None else refusal.value,
                *values,
            )
        measured = q.copy()
        moving = dq.copy()
        if 340 <= k < 370:
            measured *= math.nan
        if _FAULTS + 65 <= k < _FAULTS + 68:
            moving[0] = 2e3
        if _FAULTS + 180 <= k < _FAULTS + 183:
            measured[-1] = arm.limit('upper')[-1] + 0.3
        torque = receiver.step(stamp, measured, moving)
        state = receiver.state.status_word
        yield _row('cycle', stamp - before, *measured, *moving, state, *torque)


def _messages(k: int, wave: Array, effort: Array) -> Iterator[tuple[int, Array]]:
    """Yield sender and values of the messages before cycle k."""
    if k < 120 or 400 <= k < 440 or (k - _FAULTS) in _AFTER_FAULTS:
        yield (1 if k < 120 else 2), wave
    if k in (20, 140, 410):
        yield (1 if k == 410 else 2), wave
    if k in (30, 130):
        yield 1, wave[:-1]
        yield 1, np.where(np.arange(len(wave)) == 1, math.inf, wave)
        yield 1, np.where(np.arange(len(wave)) == 0, 1.001 * effort, wave)


def _settings_row(command: str, settings: Settings, arm: ArmDescription) -> str:
    kp, kd = settings.gains(arm.n)
    return _row(
        'settings',
        command,
        settings.target,
        int(settings.terms.friction),
        int(settings.payload_known_to_robot),
        TILTS.index(settings.mount_tilt_compensated_by),
        settings.scale,
        *settings.gravity_vector,
        *settings.payload,
        *kp,
        *kd,
    )


def _row(*values: Any) -> str:
    return ','.join(each if isinstance(each, str) else repr(float(each)) for each in values)
