# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The commands `franka-dynamics identify ...`."""

from pathlib import Path
from typing import Annotated

from ..command import Argument, command_of, Fields, Group, Option
from ..option_types import Assignment, CommaList, FILE_TYPE, NEW_FILE_TYPE, Number, OUT_FILE_TYPE
from ..options import (
    ADD_GRAVITY_OPTION,
    BagOptions,
    BAGS_TYPE,
    DataSetOptions,
    EFFORT_SCALE_OPTION,
    GRAVITY_OPTION,
    JsonPath,
    MotionLimitOptions,
    RecordedArmFileOptions,
    RecordedArmOptions,
    SpaceOptions,
    StampedBagOptions,
    Workers,
)
from ..requests import PayloadRequest, PlanRequest
from ...fit.options import FRICTION_MODELS, IdentificationOptions

identify = Group('identify', help='Identify an arm or a payload from recordings of it.')
_FIT_OPTIONS = Fields(
    gravity=GRAVITY_OPTION,
    friction=Option('friction model', FRICTION_MODELS),
    regularization=Option(
        'precision of the prior on masses (default: what makes the torques likeliest)',
        Number(0.0, min_open=True),
    ),
    prior_widths=Option(
        'widths of the prior, instead of what makes the torques likeliest: friction, offset and '
        'slip as shares of the torque limit, load as a share of the load, inertia as a multiple '
        "of the masses' width; slip=0 or load=0 leaves it out",
        CommaList('NAME=WIDTH,...', Assignment('NAME=WIDTH')),
    ),
    rotor_inertia=Option('identify one rotor inertia per joint as well'),
    effort_scale=EFFORT_SCALE_OPTION,
    add_gravity=ADD_GRAVITY_OPTION,
    accept_unsound=Option(
        'write the arm file even if recordings are unsound or the arm is no better',
        flags='--anyway',
    ),
)


@command_of(identify, 'arm')
def identify_arm(
    *,
    bags: Annotated[tuple[str, ...], Argument('BAG|DATASET...', FILE_TYPE)],
    tests: Annotated[
        tuple[str, ...],
        Option(
            'bags that judge the fit to BAGs; then the arm is fitted to all (default: parts of '
            'BAGs)',
            BAGS_TYPE,
            flags='--test',
        ),
    ] = (),
    output: Annotated[
        Path | None, Option('new file for the identified arm', NEW_FILE_TYPE)
    ] = None,
    report: Annotated[Path | None, Option('write an HTML page with plots', OUT_FILE_TYPE)] = None,
    json: JsonPath = None,
    fit: Annotated[IdentificationOptions, _FIT_OPTIONS],
    workers: Workers = '1',
    reader: DataSetOptions,
    choice: RecordedArmFileOptions,
) -> int:
    """
    Identify an arm's inertias and friction from recordings of it.

    BAGs are rosbag2 folders, .mcap, .db3 or (ROS 1) .bag files of one arm; of a DATASET, as for
    `bag replay`, episodes that cannot be used are left out and told. The identified arm must
    predict motion that the fit has not seen better than the best published set does. If it does,
    the arm file is written, fitted to all bags. If only its friction does better, the arm file has
    the published inertias. Import a URDF first (`arm import`). fd.identify has more options.
    """
    from ..identify import identify_arm

    return identify_arm(choice, reader, fit, bags, tests, output, report, json, workers)


@command_of(identify, 'payload')
def identify_payload(
    *,
    request: PayloadRequest,
    limits: SpaceOptions,
    reader: StampedBagOptions,
    choice: RecordedArmOptions,
) -> int:
    """
    Identify a payload from recordings with and without it.

    First plan the motion to record by --plan. It goes to poses within the arm's limits and above
    --table. At each the arm rests twice, once for each sign of friction.
    """
    from ..payload import plan_or_identify_payload

    return plan_or_identify_payload(choice, reader, limits, request)


@command_of(identify, 'plan')
def plan(
    *,
    request: PlanRequest,
    limits: MotionLimitOptions,
    reader: BagOptions,
    choice: RecordedArmOptions,
) -> int:
    """
    Compute a trajectory for identification.

    The motion stays within the arm's limits and above the table. With --given it is planned for
    the parameters that these bags leave uncertain.
    """
    from ..identify_plan import plan_motion

    return plan_motion(choice, reader, limits, request)
