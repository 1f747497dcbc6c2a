# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Time of one state's quantities by `fd.Model`, Pinocchio's own binding and MuJoCo.

    python benchmarks/single_states.py [--arm fer] [--seconds 20] [--quick]

Each quantity is computed in short blocks that alternate between the three, at random states within
the arm's limits; a row has the median block of each [us] and how many times longer `fd.Model`
takes than the binding. Processor time is counted, so that other work on the machine lengthens a
block only by what it does to the caches. MuJoCo computes M (mj_crb), C dq + g (mj_rne) and the
torque of a motion (mj_inverse), each with the kinematics that it needs.

Exit status 1: a quantity of `fd.Model` takes more than 4 times as long as the binding's.
"""

from collections.abc import Callable, Sequence
from functools import partial
import sys
import time

import mujoco
import numpy as np
import pinocchio as pin
from timing import machine, new_parser

import franka_dynamics as fd
from franka_dynamics.simulation.mujoco_model import build_mujoco_model

STATES = 32  # in a block
ROUNDS = 10
HEADS = '| of one state | fd.Model [us] | binding [us] | fd.Model / binding | MuJoCo [us] |'
MAX_RATIO = 4.0  # of the times of `fd.Model` and the binding
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
    m = model.model
    data = model.model.createData()
    frame = m.getFrameId('flange')
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
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
    data = mujoco.MjData(model)
    out = np.zeros(model.nv)

    def mass_matrix(q: np.ndarray) -> None:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)

    def nonlinear_effects(q: np.ndarray, dq: np.ndarray) -> None:
        data.qpos[:] = q
        data.qvel[:] = dq
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 0, out)

    def inverse_dynamics(q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> None:
        data.qpos[:] = q
        data.qvel[:] = dq
        data.qacc[:] = ddq
        mujoco.mj_inverse(model, data)

    return {one.__name__: one for one in (mass_matrix, nonlinear_effects, inverse_dynamics)}


def microseconds(call: Callable[..., object], states: Sequence[tuple[np.ndarray, ...]]) -> float:
    """Return the time of one call in a block of calls [us]."""
    begin = time.thread_time()
    for _ in range(ROUNDS):
        for state in states:
            call(*state)
    return (time.thread_time() - begin) / (ROUNDS * len(states)) * 1e6


def main() -> int:
    """Print one row per quantity; return 1 if one takes too long, else 0."""
    parser = new_parser(__doc__)
    parser.add_argument('--arm', default='fer')
    parser.add_argument('--seconds', type=float, default=20.0, help='for all quantities together')
    parser.add_argument('--quick', action='store_true', help='two seconds, for tests')
    options = parser.parse_args()
    seconds = 2.0 if options.quick else options.seconds
    arm = fd.load(options.arm)
    model = fd.Model(arm)
    native = binding(model)
    other = in_mujoco(arm)
    states = [tuple(np.array(v) for v in one) for one in zip(*fd.sample_states(arm, STATES))]
    print(machine())
    print(f'\n{HEADS}\n|---|---|---|---|---|')
    slow = []
    for name, direct in native.items():
        own = [state[: INPUTS.get(name, 3)] for state in states]
        rivals = [
            getattr(model, name),
            direct,
            *([other[name]] if name in other else []),
        ]
        blocks = []
        end = time.perf_counter() + seconds / len(native)
        while time.perf_counter() < end:
            blocks.append([microseconds(call, own) for call in rivals])
        mine, bound, *rest = np.median(blocks, axis=0)
        times = ' | '.join(f'{one:.1f}' for one in (mine, bound))
        other_time = f'{rest[0]:.1f}' if rest else ''
        print(f'| `{name}` | {times} | {mine / bound:.1f} | {other_time} |', flush=True)
        if mine > MAX_RATIO * bound:
            slow.append(name)
    if slow:
        print(f'\nMore than {MAX_RATIO:g} times as long as the binding: {", ".join(slow)}.')
    return 1 if slow else 0


if __name__ == '__main__':
    sys.exit(main())
