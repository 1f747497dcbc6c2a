# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A ROS network of this process and its children alone."""

from __future__ import annotations

import os
import random
import socket

from ..resources import share_directory

_RANGE, _MIDDLEWARE = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'RMW_IMPLEMENTATION'
# Before and from Fast DDS 3 on.
_PROFILES = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')
_OVERRULING = ('ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS', 'ROS_DISCOVERY_SERVER')
# 1..101 are free of the ephemeral port range on Linux.
_DOMAINS = range(1, 102)


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
        The ROS domain; if not given one by chance that no other process has claimed in this way
        and in which no node listens. It is kept until this process ends.

    Raises
    ------
    OSError
        If every domain is in use.

    """
    profiles = share_directory() / 'config' / 'fastdds_loopback.xml'
    os.environ['ROS_DOMAIN_ID'] = str(_free_domain() if domain is None else domain)
    os.environ[_MIDDLEWARE] = 'rmw_fastrtps_cpp'
    os.environ[_RANGE] = 'SYSTEM_DEFAULT'
    for name in _PROFILES:
        os.environ[name] = str(profiles)
    for name in _OVERRULING:
        os.environ.pop(name, None)


def _free_domain() -> int:
    domains = list(_DOMAINS)
    random.SystemRandom().shuffle(domains)
    for domain in domains:
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claim.bind(f'\0franka_dynamics/domain/{domain}')
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                # Where DDS announces itself (RTPS 2.5, 9.6.2): bound by every node there.
                probe.bind(('', 7400 + 250 * domain))
        except OSError:
            claim.close()
            continue
        claim.detach()  # the kernel closes it with this process; children do not inherit it
        return domain
    raise OSError('Every ROS domain is in use; end the nodes that are left over.')
