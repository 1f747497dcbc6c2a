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

from .. import FASTDDS_PROFILE_VARIABLES
from ...constants import REALTIME_PRIORITY

# Levels of a check.
GOOD = 'good'
NOTE = 'note'  # good enough for use, but could be better
TO_DO = 'to do'  # must be corrected before use on a real arm
SIMULATOR_SUBJECT = 'simulated arm'  # subject of the check that finds simulated arms
_DEFAULT_MIDDLEWARE = 'rmw_fastrtps_cpp'
_MAX_LOAD_PER_CORE = 0.75
_MAX_DOMAIN_ID = 232  # the highest that has ports
# Their ports are among those that Linux gives to any program (32768 to 60999).
_BUSY_DOMAIN_IDS = range(102, 215)


class CheckResult(NamedTuple):
    """The result of a check, with subject, level (GOOD, NOTE or TO_DO) and what was found."""

    subject: str
    level: str
    text: str


def machine_checks(*, for_simulation: bool) -> Iterator[CheckResult]:
    """Yield the results of all checks of this machine, less severe for a simulated arm."""
    yield _realtime_check(NOTE if for_simulation else TO_DO)
    yield _kernel_check()
    yield _load_check()
    yield from _frequency_checks()
    yield from dds_checks(os.environ)


def _realtime_check(bad_level: str) -> CheckResult:
    """Return whether this user may use SCHED_FIFO; if not, with a level."""
    # Scheduling is a thread's own: `doctor` itself never runs under SCHED_FIFO.
    with ThreadPoolExecutor() as executor:
        priority = os.sched_param(REALTIME_PRIORITY)
        refusal = executor.submit(os.sched_setscheduler, 0, os.SCHED_FIFO, priority).exception()
    answer = f'was refused ({refusal})' if refusal else 'is allowed'
    fix = (
        'add "@realtime - rtprio 99" and "@realtime - memlock unlimited" to '
        '/etc/security/limits.conf, you to the group realtime, and log in anew; a container needs '
        '--cap-add=sys_nice'
    )
    text = f'SCHED_FIFO {REALTIME_PRIORITY} {answer}'
    return make_result('real-time permission', not refusal, text, fix, bad_level)


def _kernel_check() -> CheckResult:
    """Return whether the kernel is a real-time kernel."""
    realtime = Path('/sys/kernel/realtime').exists() or 'PREEMPT_RT' in platform.version()
    text = f'{platform.release()} is {"" if realtime else "not "}PREEMPT_RT'
    return make_result('kernel', realtime, text, 'enough for simulation, not for FCI')


def _load_check() -> CheckResult:
    """Return whether the processor has time left for control cycles."""
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0]
    text = f'{cores} cores, load {load:.1f}'
    is_idle = load <= _MAX_LOAD_PER_CORE * cores
    return make_result('processor', is_idle, text, 'other work may delay cycles')


def _frequency_checks() -> Iterator[CheckResult]:
    """Yield whether the processor keeps its frequency, where the kernel tells its governors."""
    files = Path('/sys/devices/system/cpu').glob('cpu[0-9]*/cpufreq/scaling_governor')
    names = set()
    for file in files:
        with suppress(OSError):  # of a processor that is offline
            names.add(file.read_text().strip())
    governors = ', '.join(sorted(names))
    if governors:
        fix = 'set performance (cpupower frequency-set -g performance) for even cycles'
        text = f'the governor is {governors}'
        yield make_result('frequency', governors == 'performance', text, fix)


def make_result(subject: str, ok: bool, text: str, fix: str, bad_level: str = NOTE) -> CheckResult:
    """Return a check's result: GOOD and `text` if `ok`, else `bad_level` and text with the fix."""
    if ok:
        return CheckResult(subject, GOOD, text)
    return CheckResult(subject, bad_level, f'{text}: {fix}')


def dds_checks(environment: Mapping[str, str]) -> Iterator[CheckResult]:
    """Yield the results of checks of ROS's and Fast DDS's environment variables."""
    middleware = environment.get('RMW_IMPLEMENTATION') or _DEFAULT_MIDDLEWARE
    yield _network_check(environment, middleware)
    if server := environment.get('ROS_DISCOVERY_SERVER'):
        yield _discovery_server_check(server, environment.get('ROS_SUPER_CLIENT', 'TRUE'))
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
        text = (
            'ROS_LOCALHOST_ONLY=1 overrules the discovery range: unset it and use '
            'ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST'
        )
        yield CheckResult('network', NOTE, text)
    for name in FASTDDS_PROFILE_VARIABLES:
        profile = environment.get(name)
        if profile and not Path(profile).is_file():
            text = f'{name} names {profile[:200]}, which does not exist; unset it'
            yield CheckResult('network', TO_DO, text)


def _network_check(environment: Mapping[str, str], middleware: str) -> CheckResult:
    """Return domain, discovery range and middleware, and whether the domain can be used."""
    domain = environment.get('ROS_DOMAIN_ID') or '0'
    usual_range = 'SUBNET by default (sim uses LOCALHOST, and is heard only here)'
    discovery_range = environment.get('ROS_AUTOMATIC_DISCOVERY_RANGE') or usual_range
    is_number = domain.isascii() and domain.isdecimal()
    is_usable = is_number and int(domain) <= _MAX_DOMAIN_ID
    text = f'domain {domain[:20]}, discovery {discovery_range}, {middleware}'
    lowest_busy = _BUSY_DOMAIN_IDS[0]
    if is_usable and int(domain) in _BUSY_DOMAIN_IDS:
        fix = f'any program may take a port of this domain; below {lowest_busy} none does'
        return make_result('network', False, text, fix, NOTE)
    fix = f'for ROS_DOMAIN_ID choose one from 0 to {lowest_busy - 1}'
    return make_result('network', is_usable, text, fix, TO_DO)


def _discovery_server_check(server: str, super_client: str) -> CheckResult:
    """Return whether nodes see the whole graph of a discovery server, as super clients do."""
    sees_all = super_client.upper() in ('TRUE', '1')
    fix = 'ROS_SUPER_CLIENT hides nodes, and a node sends nothing to who is hidden: unset it'
    return make_result('network', sees_all, f'discovery server {server[:80]}', fix, TO_DO)
