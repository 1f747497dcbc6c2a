# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
franka-sim on one loopback address; run by the Python of its own environment.

Arguments: address, file for the torques it receives (doubles), and as JSON whether tau_J includes
MuJoCo's own gravity torque, as a real robot's sensors do; else it repeats the last command.
"""

import json
import logging
import sys

from franka_sim import mujoco_franka_sim
from franka_sim.franka_sim_server import FrankaSimServer


def record_torques(simulation, path):
    """Write every torque that reaches the simulation, so that tests see the robot's side."""
    take = simulation.update_torques
    record = open(path, 'wb', buffering=0)

    def update_torques(torques):
        record.write(mujoco_franka_sim.np.asarray(torques, dtype=float).tobytes())
        take(torques)

    simulation.update_torques = update_torques


def measure_gravity(simulation):
    """Add the torque that carries the arm to tau_J, as link-side sensors see it."""
    get = simulation.get_robot_state

    def get_robot_state():
        state = dict(get())
        carried = simulation.data.qfrc_gravcomp[simulation.arm_dofs_idx]
        state['tau_J'] = mujoco_franka_sim.np.asarray(state['tau_J']) + carried
        return state

    simulation.get_robot_state = get_robot_state


def main():
    logging.basicConfig(level=logging.INFO, stream=sys.stdout)
    address = sys.argv[1]
    record = sys.argv[2]
    measured = json.loads(sys.argv[3])
    # Its idle hold is tuned for more rotor inertia than ours has; at steps of 1 ms it would shake.
    mujoco_franka_sim.ARM_POSITION_KP /= 10.0
    mujoco_franka_sim.ARM_POSITION_KD /= 10.0
    server = FrankaSimServer(host=address, enable_gripper=False)
    if measured:
        measure_gravity(server.physics_sim)
    record_torques(server.physics_sim, record)
    try:
        server.start()
    finally:
        server.stop()


if __name__ == '__main__':
    main()
