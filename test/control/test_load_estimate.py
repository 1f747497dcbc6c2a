# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The load that nobody declared: on recordings of two real arms, and on a simulated one."""

import re

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.control.disturbance import DisturbanceMonitor
from franka_dynamics.control.feedforward import State, StateLimits
from franka_dynamics.control.settings import Settings
from franka_dynamics.demo.multisine import multisine

from .closed_loop import core, FER, Loop, payload
from .test_core_faults import CARRIED, FIRM

SAID = re.compile(r'([\d.]+) \+- ([\d.]+) kg at the flange that nobody declared')


@pytest.mark.parametrize('kg', [0.0, 0.71])
def test_a_load_is_seen_on_recordings_of_real_arms(kg, fer_recording, fer_1khz_recording):
    # Both arms are bare: the torque of the load is added to what was measured.
    terms, bare = core(Settings(target='fci')).asked.terms, fd.Model(FER)
    loaded = fd.Model(fd.load('fer', payload=[max(kg, 1e-9), 0.01, 0.0, 0.07]))
    for one in (fer_recording, fer_1khz_recording):
        ddq = np.gradient(one.dq, one.time, axis=0)
        more = loaded.inverse_dynamics(one.q, one.dq, ddq)
        more -= bare.inverse_dynamics(one.q, one.dq, ddq)
        found, said = DisturbanceMonitor(FER, StateLimits(), terms), []
        for time, q, dq, effort in zip(one.time.tolist(), one.q, one.dq, one.effort + more):
            found.observe(terms.at(time, q, dq, None), terms, effort, [], 0)
            said.append(found.load.text())
        begin = np.searchsorted(one.time, one.time[0] + 2.0)
        assert not any(said[:begin])
        if kg == 0.0:
            assert not any(said)
            continue
        masses = [float(SAID.match(text)[1]) for text in said if text]
        assert len(masses) > 0.7 * len(said) and masses[-1] == pytest.approx(kg, abs=0.1)
        deviation = float(SAID.match(said[-1])[2])
        assert abs(masses[-1] - kg) < 3.0 * deviation < 0.3


@pytest.mark.parametrize('target', ['fci', 'mujoco'])
@pytest.mark.parametrize('measures', [True, False])
def test_a_load_is_named_while_the_arm_moves_and_changes_no_torque(target, measures):
    simulation = CARRIED if target == 'fci' else {'friction': True}
    loop = Loop(Settings(target=target, **FIRM), measures=measures, **simulation).run(0.3)
    loop.arm.set_payload(Settings(payload=payload(0.7)).payload_inertia())
    loop.run(1.0)
    assert not loop.controller.disturbances.load.text()  # at rest
    loop.follow(multisine(FER, 8.0, 0.3))
    loop.run(1.8)
    assert not loop.controller.disturbances.load.text()  # not yet
    loop.run(5.0)
    assert loop.controller.state is State.RUNNING
    mass, deviation = map(float, SAID.search(loop.controller.status.why).groups())
    assert abs(mass - 0.7) < 3.0 * deviation < 0.3
    loop.controller.change(payload=payload(0.7))  # now it is declared
    loop.run(0.5)
    assert 'nobody' not in loop.controller.status.why
