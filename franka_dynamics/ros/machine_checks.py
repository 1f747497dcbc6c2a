# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of this machine's real-time permission, kernel, processor and DDS, without ROS."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
import os
from pathlib import Path
import platform
from typing import NamedTuple

from . import FASTDDS_PROFILE_VARIABLES
from ..constants import REALTIME_PRIORITY

# Levels of a check.
GOOD = 'good'
NOTE = 'note'  # good enough for use, but could be better
TO_DO = 'to do'  # must be corrected before use on a real arm
SIMULATOR_SUBJECT = 'simulated arm'  # subject of the check that finds simulated arms
_DEFAULT_MIDDLEWARE = 'rmw_fastrtps_cpp'


class CheckResult(NamedTuple):
    """The result of a check, with subject, level (GOOD, NOTE or TO_DO) and what was found."""

    subject: str
    level: str
    text: str


def machine_checks(*, for_simulation: bool) -> Iterator[CheckResult]:
    """Yield the results of all checks of this machine, less severe for a simulated arm."""
    # Scheduling is a thread's own: `doctor` itself never runs under SCHED_FIFO.
    with ThreadPoolExecutor() as thread:
        priority = os.sched_param(REALTIME_PRIORITY)
        refused = thread.submit(os.sched_setscheduler, 0, os.SCHED_FIFO, priority).exception()
    realtime = Path('/sys/kernel/realtime').exists() or 'PREEMPT_RT' in platform.version()
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0]
    processors = Path('/sys/devices/system/cpu').glob('cpu[0-9]*/cpufreq/scaling_governor')
    names = set()
    for path in processors:
        with suppress(OSError):  # of a processor that is offline
            names.add(path.read_text().strip())
    governors = ', '.join(sorted(names))
    found = f'was refused ({refused})' if refused else 'is allowed'
    text = f'SCHED_FIFO {REALTIME_PRIORITY} {found}'
    fix = (
        'add "@realtime - rtprio 99" and "@realtime - memlock unlimited" to '
        '/etc/security/limits.conf, you to the group realtime, and log in anew; a container needs '
        '--cap-add=sys_nice'
    )
    level = NOTE if for_simulation else TO_DO
    yield make_result('real-time permission', not refused, text, fix, level)
    text = f'{platform.release()} is {"" if realtime else "not "}PREEMPT_RT'
    yield make_result('kernel', realtime, text, 'enough for simulation, not for FCI')
    text = f'{cores} cores, load {load:.1f}'
    yield make_result('processor', load <= 0.75 * cores, text, 'other work may delay cycles')
    if governors:
        fix = 'set performance (cpupower frequency-set -g performance) for even cycles'
        text = f'the governor is {governors}'
        yield make_result('frequency', governors == 'performance', text, fix)
    yield from dds_checks(os.environ)


def make_result(subject: str, ok: bool, text: str, fix: str, bad_level: str = NOTE) -> CheckResult:
    """Return a check's result: GOOD and `text` if `ok`, else `bad_level` and text with the fix."""
    bad_level, text = (GOOD, text) if ok else (bad_level, f'{text}: {fix}')
    return CheckResult(subject, bad_level, text)


def dds_checks(environment: Mapping[str, str]) -> Iterator[CheckResult]:
    """Yield the results of checks of ROS's and Fast DDS's environment variables."""
    domain = environment.get('ROS_DOMAIN_ID') or '0'
    usual = 'SUBNET by default (sim uses LOCALHOST, and is heard only here)'
    reach = environment.get('ROS_AUTOMATIC_DISCOVERY_RANGE') or usual
    middleware = environment.get('RMW_IMPLEMENTATION') or _DEFAULT_MIDDLEWARE
    good = domain.isascii() and domain.isdecimal() and int(domain) <= 101
    fix = 'for ROS_DOMAIN_ID choose one from 0 to 101'
    text = f'domain {domain[:20]}, discovery {reach}, {middleware}'
    yield make_result('network', good, text, fix, TO_DO)
    if server := environment.get('ROS_DISCOVERY_SERVER'):
        whole = environment.get('ROS_SUPER_CLIENT', 'TRUE').upper() in ('TRUE', '1')
        text = f'discovery server {server[:80]}'
        fix = 'ROS_SUPER_CLIENT hides nodes, and a node sends nothing to who is hidden: unset it'
        yield make_result('network', whole, text, fix, TO_DO)
    if middleware == _DEFAULT_MIDDLEWARE:
        yield CheckResult(
            'middleware',
            NOTE,
            f'{_DEFAULT_MIDDLEWARE}, the default, is known for overruns of a 1 kHz controller '
            'once another machine joins the network (franka_ros2, issue 201): keep it off, or '
            'in another ROS_DOMAIN_ID; rmw_cyclonedds_cpp does not overrun, but numbers no '
            'messages, so that Python receivers follow a second sender of torques, too',
        )
    if environment.get('ROS_LOCALHOST_ONLY') == '1':
        text = 'ROS_LOCALHOST_ONLY=1 overrules the discovery range'
        fix = 'unset it and use ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST'
        yield CheckResult('network', NOTE, f'{text}: {fix}')
    for name in FASTDDS_PROFILE_VARIABLES:
        profile = environment.get(name)
        if profile and not Path(profile).is_file():
            text = f'{name} names {profile[:200]}, which does not exist; unset it'
            yield CheckResult('network', TO_DO, text)
