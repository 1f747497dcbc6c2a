# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `franka-dynamics`, also started by `python -m franka_dynamics`."""

import sys


def main() -> int:
    """Import and run the command line; Ctrl-C during the import shows no traceback."""
    try:
        from .cli.main import main as command

        return command()
    except KeyboardInterrupt:
        return 130


if __name__ == '__main__':
    sys.exit(main())
