# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is left of the middleware when a node's `main` returns."""

import json
from pathlib import Path
from select import select
import signal

import pytest

from ..processes import background, run_python, TIMEOUT_S, until

ENDING = Path(__file__).parent / 'ending.py'


@pytest.mark.parametrize(
    ('module', 'kind', 'arguments', 'says'),
    [
        ('feedforward_node', 'FeedforwardNode', (), 'activated'),
        ('feedforward_node', 'FeedforwardNode', ('-p', 'autostart:=false'), ''),
        ('simulator_node', 'SimulatorNode', (), ''),
        ('gazebo_direct_node', 'GazeboDirectNode', (), ''),
    ],
    ids=['activated', 'unconfigured', 'simulator', 'gazebo'],
)
def test_no_thread_of_the_middleware_outlives_main(module, kind, arguments, says):
    status, output, errors = run_python(ENDING, module, kind, *arguments)
    assert status == 0, errors
    assert says in errors
    end = json.loads(output.splitlines()[-1])
    assert end['status'] == 0
    assert len(end['running']) > 1  # or there would be nothing to end
    assert end['left'] == []


LEFT = """
import os, signal, sys
from pathlib import Path
from franka_dynamics.ros.node_group import NodeGroup
from franka_dynamics.ros.observer import Observer
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell's background jobs ignore it
folder = Path(sys.argv[1])
nodes = NodeGroup(folder)
nodes.start('feedforward_node', {})
with Observer('waits') as observer:
    observer.until(lambda: observer.status('/simulation/feedforward') is not None, 600.0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_node_ends_in_order_if_the_program_that_started_it_is_killed(tmp_path):
    assert run_python('-c', LEFT, tmp_path)[0] == -signal.SIGKILL
    log = tmp_path / 'feedforward_node.log'
    until(lambda: 'shut down' in log.read_text(), 'its end')


def test_a_crash_shows_its_stack_to_whoever_waits_for_the_end(launch, tmp_path):
    script = tmp_path / 'crashing.py'
    script.write_text('import os\n\n\ndef at_fault():\n    os.abort()\n\n\nat_fault()\n')
    process = launch(str(script))
    with pytest.raises(AssertionError, match=r'exit status -6: .*(?s:.)*in at_fault'):
        process.wait()


FLOODED = """
from rclpy.logging import get_logger
from franka_dynamics.ros.node_process import log_without_blocking
log_without_blocking()
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
