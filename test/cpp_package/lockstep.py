# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The core in both languages, given the same joint states, commands and calls."""

import numpy as np

import franka_dynamics as fd
from franka_dynamics.control.core_table import Stop
from franka_dynamics.control.settings import Settings, StateLimits
from franka_dynamics.errors import FrankaDynamicsError

from . import cpp_core

TOLERANCE_NM = 1e-9  # of torques up to 100 N m
# The compiled core goes over to a motion by a ramp of 0.2 s, because it may begin anywhere. The
# Python core plans motions from where the arm is desired.
TOLERANCE_AFTER_BEGIN_NM = 1e-6


class Pair:
    """
    A Python core and a compiled one. Each step and call fails if their answers differ.

    With `command` motion the compiled core gets the point of the Python core's motion beside each
    joint state, and with law or torque both get the torque of the caller's law. `words` are all
    reasons that were compared.
    """

    def __init__(
        self,
        core,
        target='mujoco',
        command='motion',
        *,
        in_loop=True,
        limits=None,
        period=1e-3,
        **settings,
    ):
        limits = limits or StateLimits()
        self.python = fd.Feedforward(
            core.arm,
            target,
            period=period,
            limits=limits,
            applied_when_silent=in_loop,
            **settings,
        )
        self.compiled = cpp_core.Feedforward(
            core,
            Settings(target=target).changed(**settings),
            command,
            period=period,
            limits=limits,
            in_loop=in_loop,
        )
        self._has_own_law = command != 'motion'
        self._has_rates = command == 'law'
        self._n = core.arm.n
        self.words = set()
        self.states = set()
        self.largest_difference = 0.0
        self._ramp_end = -np.inf
        self._is_following = False  # a motion, or its last point

    @property
    def state(self):
        return self.python.state.value

    def step(self, q, dq, stamp, *, own=None, velocity=None, acceleration=None, **times):
        """Give both a joint state; return the torque. `own` is the torque of the caller's law."""
        given = None
        more = {}
        if self._has_own_law:  # in C++ nothing begins without a command
            self.python.blocked = '' if own is not None else 'no torque is commanded'
        zero = np.zeros(self._n)
        if own is not None:
            velocity = dq if velocity is None else velocity
            acceleration = zero if acceleration is None else acceleration
            given = [zero, velocity, acceleration, own]
            more['torque'] = own
            if self._has_rates:
                more.update(velocity=velocity, acceleration=acceleration)
        elif self._is_following and self.python.reference.motion is not None:
            point = self.python.reference.motion.at(stamp)
            given = [point.q, point.dq, point.ddq, zero]
        expected = self.python.step(q, dq, stamp, **times, **more)
        return self._compared(
            expected, self.compiled.step(q, dq, stamp, **times, given=given), stamp
        )

    def tick(self, now):
        return self._compared(self.python.tick(now), self.compiled.tick(now), now)

    def reject_state(self, now):
        expected = self.python.reject_state('rejected', now)
        return self._compared(expected, self.compiled.reject_state(now), now)

    def _compared(self, expected, found, when):
        python = self.python
        told = self.compiled.told
        self._is_following = self._is_following and self.state == 'running'
        where = f'at {when:.3f} s: {python.status} beside {self.compiled.why!r}'
        assert self.compiled.state == self.state, where
        ending = python.ending
        assert (told.reaction, told.remedy) == (ending.reaction, ending.remedy), where
        assert told.sends == python.sends, where
        assert self.compiled.why == python.why.replace(*ADVICE), where
        delay = self.state == 'running' and python.status.why != 'torques are sent'
        assert not self.compiled.note or 'ms late' in self.compiled.note, where
        assert bool(self.compiled.note) == (delay and 'ms late' in python.status.why), where
        difference = np.abs(found - expected).max()
        self.largest_difference = max(self.largest_difference, difference)
        most = TOLERANCE_AFTER_BEGIN_NM if when < self._ramp_end else TOLERANCE_NM
        assert difference <= most, f'{difference} N m {where}: {found} for {expected}'
        self.words.add(python.why)
        self.states.add(self.state)
        return expected

    def start(self):
        """Start both; return whether they may be started."""
        refused = self._refusal(self.python.start)
        assert bool(self.compiled.start()) == refused
        return not refused

    def stop(self, then=Stop.LET_GO):
        self.python.stop('stopped', then)
        self.compiled.stop(then)

    def reset(self):
        self.python.reset()
        self.compiled.reset()

    def change(self, **settings):
        """Change settings of both; return whether they are accepted."""
        refused = self._refusal(self.python.change, **settings)
        assert bool(self.compiled.change(**settings)) == refused
        return not refused

    def follow(self, *motion, **more):
        """Follow a motion; return whether it is accepted."""
        is_refused = self._refusal(self.python.follow, *motion, **more)
        if not is_refused:
            self._is_following = True
            self._ramp_end = self.python.reference.motion.begin + 0.3
        return not is_refused

    @staticmethod
    def _refusal(request, *values, **more):
        try:
            request(*values, **more)
        except FrankaDynamicsError:
            return True
        return False


# What a loop in Python is advised, and a loop in C++.
ADVICE = (
    '; a slower loop of yours gives its period (at most 0.01 s), or calls step in substeps',
    '',
)
