# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Time of one state's quantities by `fd.Model`, Pinocchio's own binding and MuJoCo.

    python benchmarks/single_states.py [--arm fer] [--seconds 20]

Each quantity is computed in short blocks that alternate between the three, at random states within
the arm's limits; a row has the median block of each [us] and how many times longer `fd.Model`
takes than the binding. MuJoCo computes M (mj_crb), C dq + g (mj_rne) and the torque of a
motion (mj_inverse), each with the kinematics that it needs.
"""

from collections.abc import Callable, Sequence
from functools import partial
import time

import mujoco
import numpy as np
import pinocchio as pin
from timing import machine, new_parser

import franka_dynamics as fd
from franka_dynamics.simulation.mujoco_model import build_mujoco_model

STATES, ROUNDS = 32, 10  # in a block
# How many of q, dq and ddq a quantity takes, if not all.
INPUTS = {
    'gravity': 1,
    'mass_matrix': 1,
    'jacobian': 1,
    'nonlinear_effects': 2,
    'coriolis': 2,
    'coriolis_matrix': 2,
}


def binding(model: fd.Model) -> dict[str, Callable[..., object]]:
    """Return Pinocchio's own functions by the names of the models' methods."""
    m, data = model.model, model.model.createData()
    frame, aligned = m.getFrameId('flange'), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    weightless = m.copy()
    weightless.gravity = pin.Motion.Zero()
    return {
        'gravity': partial(pin.computeGeneralizedGravity, m, data),
        'inverse_dynamics': partial(pin.rnea, m, data),
        'nonlinear_effects': partial(pin.nonLinearEffects, m, data),
        'coriolis': partial(pin.nonLinearEffects, weightless, data),
        'mass_matrix': partial(pin.crba, m, data),
        'forward_dynamics': partial(pin.aba, m, data),
        'jacobian': lambda q: pin.computeFrameJacobian(m, data, q, frame, aligned),
        'regressor': partial(pin.computeJointTorqueRegressor, m, data),
        'inverse_dynamics_derivatives': partial(pin.computeRNEADerivatives, m, data),
        'coriolis_matrix': partial(pin.computeCoriolisMatrix, m, data),
    }


def in_mujoco(arm: fd.ArmDescription) -> dict[str, Callable[..., object]]:
    """Return MuJoCo's functions, those that it has, by the names of the models' methods."""
    model = build_mujoco_model(arm)
    data, out = mujoco.MjData(model), np.zeros(model.nv)

    def mass_matrix(q: np.ndarray) -> None:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)

    def nonlinear_effects(q: np.ndarray, dq: np.ndarray) -> None:
        data.qpos[:], data.qvel[:] = q, dq
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 0, out)

    def inverse_dynamics(q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> None:
        data.qpos[:], data.qvel[:], data.qacc[:] = q, dq, ddq
        mujoco.mj_inverse(model, data)

    return {one.__name__: one for one in (mass_matrix, nonlinear_effects, inverse_dynamics)}


def microseconds(call: Callable[..., object], states: Sequence[tuple[np.ndarray, ...]]) -> float:
    """Return the time of one call in a block of calls [us]."""
    begin = time.perf_counter()
    for _ in range(ROUNDS):
        for state in states:
            call(*state)
    return (time.perf_counter() - begin) / (ROUNDS * len(states)) * 1e6


def main() -> None:
    """Print one row per quantity."""
    parser = new_parser(__doc__)
    parser.add_argument('--arm', default='fer')
    parser.add_argument('--seconds', type=float, default=20.0, help='for all quantities together')
    options = parser.parse_args()
    arm = fd.load(options.arm)
    model = fd.Model(arm)
    native, other = binding(model), in_mujoco(arm)
    states = [tuple(np.array(v) for v in one) for one in zip(*fd.sample_states(arm, STATES))]
    print(machine())
    print(f'{"":30}{"fd.Model":>10}{"binding":>10}{"MuJoCo":>10}{"fd / binding":>14}')
    for name, direct in native.items():
        own = [state[: INPUTS.get(name, 3)] for state in states]
        rivals = [getattr(model, name), direct, *([other[name]] if name in other else [])]
        blocks = []
        end = time.perf_counter() + options.seconds / len(native)
        while time.perf_counter() < end:
            blocks.append([microseconds(call, own) for call in rivals])
        mine, bound, *rest = np.median(blocks, axis=0)
        shown = f'{rest[0]:10.2f}' if rest else f'{"":10}'
        print(f'{name:30}{mine:10.2f}{bound:10.2f}{shown}{mine / bound:14.2f}', flush=True)


if __name__ == '__main__':
    main()
