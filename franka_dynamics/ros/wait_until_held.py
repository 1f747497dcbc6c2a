# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m franka_dynamics.ros.wait_until_held NODE` waits until torques hold NODE's arm."""

import math
import signal
import sys

from .topic_listener import TopicListener

if __name__ == '__main__':
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # launch ends this process so
    with TopicListener('status_waiter') as listener:
        listener.wait_until(
            lambda: bool((one := listener.latest_status(sys.argv[1])) and one.is_arm_held),
            math.inf,
        )
