# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A ROS network of this process and its children alone."""

from __future__ import annotations

import os
import random

from ..resources import share_directory

_RANGE, _MIDDLEWARE = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'RMW_IMPLEMENTATION'
# Before and from Fast DDS 3 on.
_PROFILES = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')
_OVERRULING = ('ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS', 'ROS_DISCOVERY_SERVER')
# 1..101 are free of the ephemeral port range on Linux.
DOMAINS = range(1, 102)


def use_loopback(domain: int | None = None) -> None:
    """
    Set the environment so that torques reach nobody else: UDP on 127.0.0.1, a domain apart.

    Before rclpy is initialised. The discovery range LOCALHOST would keep off the network as
    well, but rmw_fastrtps then insists on shared memory, whatever FASTDDS_BUILTIN_TRANSPORTS
    says, and asks a few unicast ports for other nodes: they were seen to find each other after
    up to three seconds, and processes to crash as they left. With multicast on the loopback
    interface they do after 0.12 s.

    Parameters
    ----------
    domain : int, optional
        The ROS domain; one by chance if not given.

    """
    profiles = share_directory() / 'config' / 'fastdds_loopback.xml'
    os.environ['ROS_DOMAIN_ID'] = str(
        random.SystemRandom().choice(DOMAINS) if domain is None else domain
    )
    os.environ[_MIDDLEWARE] = 'rmw_fastrtps_cpp'
    os.environ[_RANGE] = 'SYSTEM_DEFAULT'
    for name in _PROFILES:
        os.environ[name] = str(profiles)
    for name in _OVERRULING:
        os.environ.pop(name, None)
