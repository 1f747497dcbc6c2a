# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Computes torque commands and checks joint states; uses no ROS.

A joint state goes through these files, in this order:

    feedforward     what users call: the settings, start, stop, motions
    core_step       one step in six parts; what is commanded in which case
    state_check     is the state possible, on time, consistent?  (watchers: does it stand still?)
    core_state      the torque of each state; transitions        (ending: causes and reasons)
    control_law     the torque while RUNNING                     (terms: g, C dq, M ddq, friction)
    stopping        the torque while the arm is braked, held or not seen
    torque_output   limits of torque and rate                    (limits)
    disturbance     torques that the model does not explain      (wiring, advice)
    watchers        speeds and falls that end torques

Settings: settings, default_gains. A receiver of torques: receiver. The room `motion` plans what
`feedforward` follows; the room `dynamics` estimates external torques, loads and wrenches.
"""
