# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A program that loads a ros2_control controller by a spawner, and unloads it when it ends.

Launch files run it in front of the spawner's command. The spawner's own option --unload-on-kill
would not do: it unloads only a controller that it can deactivate, and so none that is inactive
already, as after a reflex. Arguments: the full name of the controller manager, the controller's
name, and the command of the spawner.

1. The spawner loads and activates the controller. If it fails, this program says why the
   controller is not active, unloads it, and ends with the spawner's status. The next start would
   otherwise find it there, with the parameters of the failed one.
2. It waits for SIGINT or SIGTERM, then deactivates the controller if it is active, and unloads it.
   It ends with 1 if the manager does not do that.
"""

from collections.abc import Iterator, Sequence
import signal
import subprocess
import sys
from typing import Any

from controller_manager_msgs.srv import ListControllers, SwitchController, UnloadController

from .node_client import NodeClient
from ...errors import FrankaDynamicsError, list_text

_TIMEOUT_S = 5.0
_SPAWNER_END_TIMEOUT_S = 2.0  # of a spawner that is interrupted, until it is killed
# A controller may be deactivated, as by a reflex, or activated between two requests.
_UNLOAD_ATTEMPTS = 3


def failure_sentences(manager: str, name: str, controllers: Sequence[Any]) -> Iterator[str]:
    """Yield why a controller is not activated, as far as its manager's controllers tell it."""
    failed = _controller_of(name, controllers)
    if failed is None:
        yield f'{name} was not loaded: the log of {manager} says why.'
        return
    if failed.state == 'active':
        yield f'{name} is active already, as an earlier start left it: {_unspawner(manager, name)}'
        return
    needed = set(failed.required_command_interfaces)
    has_holder = False
    for controller in controllers:
        taken = sorted(needed.intersection(controller.claimed_interfaces))
        if taken:
            has_holder = True
            yield (
                f'{controller.name} has {list_text(taken)}, which {name} needs: ros2 control '
                f'switch_controllers --deactivate {controller.name}{_manager_option(manager)}'
            )
    if not has_holder:
        yield f'{name} is {failed.state}: the log of {manager} says why.'


def _controller_of(name: str, controllers: Sequence[Any]) -> Any | None:
    """Return the controller of a name among those of a manager, None if it is not there."""
    return next((controller for controller in controllers if controller.name == name), None)


def _manager_option(manager: str) -> str:
    """Return the option that names a manager to a command of ros2_control, with a blank, or ''."""
    return '' if manager == '/controller_manager' else f' -c {manager}'


def _unspawner(manager: str, name: str) -> str:
    """Return the command that deactivates and unloads a controller."""
    return f'ros2 run controller_manager unspawner {name}{_manager_option(manager)}'


def explain_failure(manager: str, name: str) -> None:
    """
    Print why a controller is not active, and unload it unless it is.

    Raises NodeClientError if the manager does not answer.
    """
    with NodeClient(manager, _TIMEOUT_S) as client:
        found = client.call_service(ListControllers, 'list_controllers').controller
        for sentence in failure_sentences(manager, name, found):
            print(sentence, flush=True)
        failed = _controller_of(name, found)
        if failed is not None and failed.state != 'active':
            client.call_service(UnloadController, 'unload_controller', name=name)


def unload(manager: str, name: str, *, is_own: bool) -> int:
    """
    Unload a controller in whatever state it is, deactivated first; return 1 if that fails.

    One that is active is left to who activated it unless `is_own`. Raises NodeClientError if the
    manager is there and does not answer.
    """
    with NodeClient(manager, _TIMEOUT_S) as client:
        # Discovery takes its time; the controllers of a manager that has ended are gone with it.
        is_there = lambda: manager in client.node.get_fully_qualified_node_names()  # noqa: E731
        if not client.wait_until(is_there, _TIMEOUT_S):
            return 0
        for _ in range(_UNLOAD_ATTEMPTS):
            found = client.call_service(ListControllers, 'list_controllers').controller
            loaded = _controller_of(name, found)
            if loaded is None or (loaded.state == 'active' and not is_own):
                return 0
            if loaded.state == 'active':
                client.call_service(
                    SwitchController,
                    'switch_controller',
                    deactivate_controllers=[name],
                    strictness=SwitchController.Request.BEST_EFFORT,
                )
            client.call_service(UnloadController, 'unload_controller', name=name)
        found = client.call_service(ListControllers, 'list_controllers').controller
    loaded = _controller_of(name, found)
    if loaded is None:
        return 0
    print(
        f'{name} stays in {manager}, where it is {loaded.state} and cannot be unloaded: the log '
        f'of {manager} says why. The next start fails until you unload it '
        f'({_unspawner(manager, name)}), or start {manager} anew.',
        file=sys.stderr,
    )
    return 1


def _end_by_signals() -> None:
    """Turn the first SIGINT or SIGTERM into a KeyboardInterrupt, and ignore later ones."""

    def interrupt(*_: object) -> None:
        """Raise KeyboardInterrupt, once: a second one would interrupt the unloading."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)


def main(args: Sequence[str] | None = None) -> int:
    """Load a controller and wait; unload it at the end; return 1 if that fails."""
    manager, name, *spawner = sys.argv[1:] if args is None else args
    process = None
    _end_by_signals()
    try:
        try:
            # In a session of its own: the terminal's Ctrl-C is for this program.
            process = subprocess.Popen(spawner, start_new_session=True)
            if status := process.wait():
                explain_failure(manager, name)
                return status
            while True:
                signal.pause()
        except KeyboardInterrupt:
            is_own = process is not None and process.poll() == 0  # activated by the spawner
            if process is not None and process.poll() is None:
                _end_spawner(process)
            return unload(manager, name, is_own=is_own)
    except FrankaDynamicsError as error:
        print(error, file=sys.stderr)
        return 1


def _end_spawner(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a spawner that still loads a controller; kill it if it does not end."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(_SPAWNER_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


if __name__ == '__main__':
    sys.exit(main())
