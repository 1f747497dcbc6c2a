# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The arm file on docs/howto/arm-files.md loads, and its example of an error is the error."""

from pathlib import Path
import re

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.errors import DescriptionError
from franka_dynamics.validation.crosscheck import crosscheck

PAGE = (Path(__file__).parents[1] / 'docs' / 'howto' / 'arm-files.md').read_text(encoding='utf-8')
(EXAMPLE,) = re.findall(r'```yaml\n(.*?)```', PAGE, re.DOTALL)


def test_the_pages_arm_file_loads_and_its_formulations_agree(tmp_path):
    path = tmp_path / 'my_arm.yaml'
    path.write_text(EXAMPLE)
    arm = load(path)
    np.testing.assert_allclose(arm.home, [0.0, np.pi / 4], rtol=0.0, atol=0.0)
    assert crosscheck(arm, count=20).passed


def test_the_pages_example_of_an_error_is_the_error_raised(tmp_path):
    path = tmp_path / 'my_arm.yaml'
    path.write_text(
        EXAMPLE.replace(
            '    dh: {a: 0.4}\n', '    dh: {a: 0.4}\n    limits: {position: [1.0, -1.0]}\n'
        )
    )
    (sentence,) = re.findall(r'^my_arm.yaml: .*$', PAGE, re.MULTILINE)
    with pytest.raises(DescriptionError) as error:
        load(path)
    assert str(error.value) == str(path.parent / sentence)
