#!/usr/bin/env python3
# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Follow a policy's targets on a model that this project did not make: MuJoCo Menagerie's FR3.

The model has a time step of 2 ms, joint friction and rotor inertias, and position servos. This
program switches the servos off, and gives friction and rotor inertias to the controller. A policy
sends joint targets at 30 Hz; the same soft gains follow them with and without feedforward.

    pip install '.[sim]' robot_descriptions
    python examples/15_menagerie.py           # robot_descriptions downloads the model
    python examples/15_menagerie.py fr3.xml   # or a file of mujoco_menagerie/franka_fr3
"""

import argparse
from dataclasses import replace

import mujoco
import numpy as np

import franka_dynamics as fd
from franka_dynamics.arm import ViscousCoulombFriction

KP = (120.0, 120.0, 120.0, 120.0, 30.0, 30.0, 20.0)  # N m/rad
KD = (12.0, 12.0, 12.0, 12.0, 3.0, 3.0, 2.0)  # N m s/rad
PERIOD_S, SETTLE_S, DURATION_S = 1.0 / 30.0, 0.5, 6.0


def policy(home, time):
    """Return the policy's joint positions, (7,) [rad], at a time [s]; at rest before time zero."""
    x = np.clip(time / 2.0, 0.0, 1.0)
    return home + 0.3 * x**3 * np.sin(2.0 * np.pi * 0.4 * time + np.arange(len(home)))


def follow(model, home, terms):
    """Follow the policy; return the rms difference of reference and arm [rad]."""
    arm = fd.load('fr3')
    rotors = zip(arm.joints, model.dof_armature)
    arm = replace(
        arm,
        joints=tuple(replace(joint, rotor_inertia=float(rotor)) for joint, rotor in rotors),
        friction=ViscousCoulombFriction(model.dof_damping, model.dof_frictionloss, np.zeros(7)),
    )
    feedforward = fd.Feedforward(
        arm,
        target='mujoco',
        period=model.opt.timestep,
        kp=KP,
        kd=KD,
        terms=terms,
    )
    data = mujoco.MjData(model)
    data.qpos[:] = home
    errors, sent = [], 0
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
    return float(np.sqrt(np.mean(np.square(errors))))


def main(argv=None) -> int:
    """Print both errors; return 1 unless feedforward at least halves the error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('model', nargs='?', help='franka_fr3/fr3.xml of mujoco_menagerie')
    path = parser.parse_args(argv).model
    if path is None:
        try:
            from robot_descriptions import fr3_mj_description
        except Exception as error:  # it is not installed, or git cannot download the model
            raise SystemExit(
                f'{error}; pip install robot_descriptions, which downloads the model, or name the '
                'file fr3.xml of mujoco_menagerie'
            ) from None
        path = fr3_mj_description.MJCF_PATH
    model = mujoco.MjModel.from_xml_path(path)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    home = np.array(model.key(0).qpos)
    alone = follow(model, home, fd.Terms(coriolis=False, inertia=False))
    with_feedforward = follow(model, home, fd.Terms(friction=True))
    print(
        f'rms difference from the reference: g and PD {1e3 * alone:.1f} mrad, with feedforward '
        f'{1e3 * with_feedforward:.1f} mrad, at {1e3 * model.opt.timestep:g} ms a step'
    )
    return int(not with_feedforward < 0.5 * alone)


if __name__ == '__main__':
    raise SystemExit(main())
