# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The ros2 launch and run commands of the pages name arguments and programs that exist."""

from pathlib import Path
import re
import shlex

import pytest

pytest.importorskip('launch', reason="ROS's own launch is not installed")

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / 'README.md', *sorted((ROOT / 'docs').rglob('*.md'))]


def commands():
    """Return every ros2 command of the pages, as words after ros2, by what is written there."""
    found = {}
    for page in PAGES:
        text = page.read_text(encoding='utf-8')
        blocks = '\n'.join(re.findall(r'```(?:sh)?\n(.*?)```', text, re.S)).replace('\\\n', ' ')
        inline = re.findall(r'`(ros2 [^`]+)`', text)
        for line in (*blocks.splitlines(), *inline):
            if not line.strip().startswith('ros2 '):
                continue
            line = line.partition(' > ')[0]  # the shell, not ros2, reads a redirection
            words = shlex.split(re.sub(r'\$\([^)]*\)', 'VALUE', line), comments=True)
            # `ros2 param` or `ros2 param load` alone is a name, not a command.
            if len(words) > 3:
                found[' '.join(words)] = words[1:]
    return found


COMMANDS = commands()
OF_LAUNCH, OF_RUN = (
    [text for text, words in COMMANDS.items() if words[:2] == [verb, 'franka_dynamics']]
    for verb in ('launch', 'run')
)


@pytest.mark.parametrize('text', OF_LAUNCH)
def test_a_launch_command_of_a_page_gives_arguments_that_exist(text):
    from launch.launch_description_sources import get_launch_description_from_python_launch_file

    name, *given = [word for word in COMMANDS[text][2:] if not word.startswith('--')]
    path = ROOT / 'launch' / name
    description = get_launch_description_from_python_launch_file(str(path))
    declared = {one.name: one for one in description.get_launch_arguments()}
    for argument, value in (word.split(':=') for word in given):
        choices = declared[argument].choices
        assert choices is None or value in choices


@pytest.mark.parametrize('text', OF_RUN)
def test_a_run_command_of_a_page_names_a_command_of_this_package(text, setup_script):
    scripts = setup_script['arguments']['entry_points']['console_scripts']
    assert COMMANDS[text][2] in {script.split(' = ')[0] for script in scripts}
