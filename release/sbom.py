# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Write what this package depends on, with versions and licences, as CycloneDX JSON."""

import argparse
from collections import deque
from importlib.metadata import distribution, PackageNotFoundError
import json
import os
from pathlib import Path
import re
import sys
from xml.etree import ElementTree

PACKAGE = 'franka_dynamics'
# Apt's names for what PyPI has no wheel of, or what comes with ROS.
_ROS = re.compile(r'<(?:exec_)?depend>([\w-]+)</(?:exec_)?depend>')
# Apt's names of what is listed by PyPI's.
_ALSO_ON_PYPI = {
    'pinocchio': 'pin',
    'python3-numpy': 'numpy',
    'python3-click': 'click',
    'python3-rich': 'rich',
    'python3-yaml': 'pyyaml',
}
# Where nothing is installed to be asked, or its metadata are silent: what the sources state.
_STATED = {
    'cmeel-qhull': 'Qhull',
    'colorama': 'BSD-3-Clause',
    'control_msgs': 'BSD-3-Clause',
    'controller_manager': 'Apache-2.0',
    'controller_manager_msgs': 'Apache-2.0',
    'forward_command_controller': 'Apache-2.0',
    'jax': 'Apache-2.0',
    'joint_trajectory_controller': 'Apache-2.0',
    'launch': 'Apache-2.0',
    'launch_ros': 'Apache-2.0',
    'ros2launch': 'Apache-2.0',
    'tomli': 'MIT',
    'torch': 'BSD-3-Clause',
}


def required(name: str, extras: bool = False) -> list[str]:
    """
    Return the names that a distribution requires; with `extras` those of its extras too.

    ROS's wheels are left out: package.xml lists the ROS packages.
    """
    try:
        lines = distribution(name).requires or []
    except PackageNotFoundError:
        return []
    return [
        re.split(r'[\s;<>=!~\[(]', line, maxsplit=1)[0]
        for line in lines
        if (extras or 'extra ==' not in line) and not line.startswith('ros-')
    ]


def licence(name: str) -> str:
    """Return a distribution's licence as its metadata states it, in one line."""
    metadata = distribution(name).metadata
    classified = [
        line.rsplit('::', 1)[1].strip()
        for line in metadata.get_all('Classifier') or []
        if line.startswith('License ::')
    ]
    # Some put the licence's whole text into the older field: then the classifier says it.
    stated = (metadata.get('License') or '').strip()
    short = stated if '\n' not in stated and stated.upper() != 'UNKNOWN' else ''
    return metadata.get('License-Expression') or short or ', '.join(classified)


def licensed(entry: dict[str, object], stated: str) -> dict[str, object]:
    """Return an entry with the licence that is known of it, if any."""
    known = stated or _STATED.get(str(entry['name']), '')
    return entry | ({'licenses': [{'license': {'name': known}}]} if known else {})


def ros_component(name: str) -> dict[str, object]:
    """Return the entry of a ROS package, by its package.xml where it is installed."""
    entry: dict[str, object] = {'type': 'library', 'name': name, 'group': 'ros'}
    prefixes = [sys.prefix, *os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)]
    for prefix in filter(None, prefixes):
        manifest = Path(prefix, 'share', name, 'package.xml')
        if manifest.is_file():
            tree = ElementTree.parse(manifest)
            stated = ', '.join(one.text or '' for one in tree.findall('license'))
            return licensed(entry | {'version': tree.findtext('version', '')}, stated)
    return licensed(entry, '')


def component(name: str) -> dict[str, object]:
    """Return one entry of the bill; without a version where it is not installed here."""
    entry: dict[str, object] = {'type': 'library', 'name': name}
    try:
        version = distribution(name).version
    except PackageNotFoundError:
        return licensed(entry | {'purl': f'pkg:pypi/{name.lower()}'}, '')
    entry |= {'version': version, 'purl': f'pkg:pypi/{name.lower().replace("_", "-")}@{version}'}
    return licensed(entry, licence(name))


def bill(root: Path) -> dict[str, object]:
    """Return the whole bill: direct and indirect requirements, and ROS packages by name."""
    found, queue = {}, deque(required(PACKAGE, extras=True))
    while queue:
        name = queue.popleft()
        key = re.sub(r'[-_.]+', '-', name).lower()
        if key not in found:
            found[key] = component(name)
            queue.extend(required(name))
    named = set(_ROS.findall((root / 'package.xml').read_text(encoding='utf-8')))
    ros = [
        ros_component(name) for name in sorted(named) if _ALSO_ON_PYPI.get(name, name) not in found
    ]
    own = distribution(PACKAGE)
    return {
        'bomFormat': 'CycloneDX',
        'specVersion': '1.5',
        'version': 1,
        'metadata': {
            'component': {
                'type': 'library',
                'name': PACKAGE,
                'version': own.version,
                'licenses': [{'license': {'id': 'Apache-2.0'}}],
            }
        },
        'components': [found[key] for key in sorted(found)] + ros,
    }


def main() -> None:
    """Write the bill to a file or the screen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--output', type=Path, help='write there, not to the screen')
    arguments = parser.parse_args()
    text = json.dumps(bill(Path(__file__).resolve().parents[1]), indent=2) + '\n'
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        arguments.output.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
