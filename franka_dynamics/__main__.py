# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `franka-dynamics`, also started by `python -m franka_dynamics`."""

import _thread
import sys
import threading


def reraise_interrupt(unraisable: 'sys.UnraisableHookArgs') -> None:
    """
    Interrupt the main thread if Python could not raise a KeyboardInterrupt; print other errors.

    Such places are destructors and callbacks of the garbage collector, of which JAX has one.
    """
    if unraisable.exc_type is KeyboardInterrupt:
        # A moment later, because here it would be only reported, too.
        threading.Timer(0.05, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(unraisable)


def main() -> int:
    """Run the command line and return its exit status, 130 after Ctrl-C."""
    sys.unraisablehook = reraise_interrupt
    try:
        from .cli.main import main as command

        return command()
    except KeyboardInterrupt:
        return 130


if __name__ == '__main__':
    sys.exit(main())
