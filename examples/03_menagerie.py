#!/usr/bin/env python3
# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Follow a policy's targets on a model that this project did not make: MuJoCo Menagerie's FR3.

The model has a time step of 2 ms, joint friction and rotor inertias, and position servos. This
program switches the servos off. The controller's arm is read from the same file. Its friction and
rotor inertias would count for simulations alone, so the program makes them the arm's own. A
policy sends joint targets at 30 Hz; the same soft gains follow them with and without feedforward,
and menagerie.png shows both errors.

    pip install '.[sim]' robot_descriptions
    python examples/03_menagerie.py           # robot_descriptions downloads the model
    python examples/03_menagerie.py fr3.xml   # or a file of mujoco_menagerie/franka_fr3
"""

from dataclasses import replace
import sys

import numpy as np

try:
    from matplotlib.figure import Figure
    import mujoco
except ImportError as error:
    raise SystemExit(f"{error}; run, in the clone, pip install '.[sim,replay]'") from None

import franka_dynamics as fd

KP = (120.0, 120.0, 120.0, 120.0, 30.0, 30.0, 20.0)  # N m/rad
KD = (12.0, 12.0, 12.0, 12.0, 3.0, 3.0, 2.0)  # N m s/rad
PERIOD_S = 1.0 / 30.0
SETTLE_S = 0.5
DURATION_S = 6.0


def policy(home, time):
    """Return the policy's joint positions, (7,) [rad], at a time [s]; at rest before time zero."""
    x = np.clip(time / 2.0, 0.0, 1.0)
    return home + 0.3 * x**3 * np.sin(2.0 * np.pi * 0.4 * time + np.arange(len(home)))


def follow(arm, model, home, terms):
    """Follow the policy; return the differences of reference and arm, (k, 7) [rad]."""
    feedforward = fd.Feedforward(
        arm, target='mujoco', period=model.opt.timestep, kp=KP, kd=KD, terms=terms
    )
    data = mujoco.MjData(model)
    data.qpos[:] = home
    errors = []
    sent = 0
    while data.time < SETTLE_S + DURATION_S:
        time = data.time - SETTLE_S
        if time >= sent * PERIOD_S:
            feedforward.follow(policy(home, time))
            sent += 1
        data.qfrc_applied[:] = feedforward.step(data.qpos, data.qvel, data.time)
        if feedforward.reference.motion is not None:
            errors.append(feedforward.reference.motion.at(data.time).q - data.qpos)
        mujoco.mj_step(model, data)
    if feedforward.state != 'running':
        raise SystemExit(f'the arm was stopped: {feedforward.status}')
    return np.array(errors)


def downloaded():
    """Return the path of Menagerie's FR3."""
    try:
        from robot_descriptions import fr3_mj_description
    except Exception as error:  # it is not installed, or git cannot download the model
        raise SystemExit(
            f'{error}; pip install robot_descriptions, which downloads the model, or name the '
            'file fr3.xml of mujoco_menagerie'
        ) from None
    return fr3_mj_description.MJCF_PATH


def main(path=None) -> None:
    """Print and draw both errors."""
    path = path or downloaded()
    model = mujoco.MjModel.from_xml_path(path)
    arm = fd.load(path).with_armature()
    arm = replace(arm, friction=arm.simulated_friction)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    home = np.array(model.key(0).qpos)
    figure = Figure(figsize=(9.0, 4.0), layout='constrained')
    axes = figure.add_subplot(xlabel='time [s]', ylabel='norm of the joint error [rad]')
    for name, terms in (
        ('g and PD', fd.Terms(coriolis=False, inertia=False)),
        ('with feedforward', fd.Terms(friction=True)),
    ):
        errors = follow(arm, model, home, terms)
        rms = 1e3 * np.sqrt(np.mean(errors**2))
        print(f'{name}: {rms:.1f} mrad rms at {1e3 * model.opt.timestep:g} ms a step')
        axes.plot(model.opt.timestep * np.arange(len(errors)), np.linalg.norm(errors, axis=1))
    axes.legend(('g and PD', 'with feedforward'))
    figure.savefig('menagerie.png', dpi=110)


if __name__ == '__main__':
    main(*sys.argv[1:])
