# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is left of the middleware when a node's `main` returns; a log that nobody reads."""

import json
from select import select

import pytest

from ..processes import background, run_python, TIMEOUT_S

# Runs a node until its first timer interrupts it, and prints how `main` ended.
ENDING = """
from importlib import import_module
import json
import os
from pathlib import Path
import signal
import sys

module, kind = sys.argv[1:]
program = import_module(f'franka_dynamics.ros.{module}')
seen = []


def middleware_threads():
    names = [one.joinpath('comm').read_text().strip() for one in Path('/proc/self/task').iterdir()]
    # The watchdog of shared memory belongs to the library, and ends as the library is unloaded.
    return sorted(one for one in names if one.startswith('dds.') and one != 'dds.shm.wdog')


class Interrupted(getattr(program, kind)):
    def __init__(self):
        super().__init__()
        # Served once the node is activated, if it activates itself.
        self.create_timer(0.02, self._interrupt)

    def _interrupt(self):
        seen[:] = middleware_threads()
        os.kill(os.getpid(), signal.SIGINT)


setattr(program, kind, Interrupted)
status = program.main([module])
print(json.dumps({'status': status, 'running': seen, 'left': middleware_threads()}))
"""


@pytest.mark.parametrize(
    ('module', 'kind', 'says'),
    [
        ('feedforward_node', 'FeedforwardNode', 'activated'),
        ('simulator_node', 'SimulatorNode', ''),
    ],
)
def test_no_thread_of_the_middleware_outlives_main(module, kind, says):
    status, output, errors = run_python('-c', ENDING, module, kind)
    assert status == 0, errors
    assert says in errors
    assert 'activate the node' not in errors  # it has ended
    end = json.loads(output.splitlines()[-1])
    assert end['status'] == 0
    assert len(end['running']) > 1  # or there would be nothing to end
    assert end['left'] == []


FLOODED = """
from rclpy.logging import get_logger
from franka_dynamics.ros.node_process import make_log_nonblocking
make_log_nonblocking()
for k in range(600):
    get_logger('flood').warning(f'{k} ' + 'x' * 1000)
print('goes on', flush=True)
"""


def test_a_log_that_nobody_reads_stops_nothing_and_one_that_is_read_is_whole():
    with background('-c', FLOODED) as process:
        assert select([process.stdout], [], [], TIMEOUT_S)[0], 'it is stopped'
        assert process.stdout.readline() == 'goes on\n'
        process.stderr.close()
    few = FLOODED.replace('600', '30')
    errors = run_python('-c', few)[2]
    assert all(f'{k} xxx' in errors for k in range(30))
