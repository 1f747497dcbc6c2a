# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Former place of `simulation.receiver`."""

from .. import former_names

__getattr__ = former_names.of_module(
    __name__,
    '0.3',
    COMMAND_TIMEOUT_S='..simulation.receiver.COMMAND_TIMEOUT_S',
    ReceiverState='..simulation.receiver.ReceiverState',
    TorqueReceiver='..simulation.receiver.TorqueReceiver',
    TorqueRefusal='..simulation.receiver.TorqueRefusal',
)
