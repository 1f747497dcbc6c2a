# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify arm`: recordings -> an arm file that predicts the arm's torques."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
import shlex

from ._say import ProgressBar, say, say_each, show, suggest, write_json
from .actions import IdentifyArm
from ..arm import available_sets
from ..errors import ClusterError, needing
from ..files import write_text
from ..identification.identify import identify
from ..identification.options import IdentificationOptions
from ..identification.results import Identification, IDENTIFIED
from ..identification.sources import Bag, labels_of
from ..names import AS_LISTED
from ..report import identification as report
from ..report.replay import E_IN_WORDS

_CONNECT_S = 20.0


def run(given: IdentifyArm) -> int:
    """Identify the arm, print and write the results; exit 1 if the arm is rejected."""
    given.require_new()
    start = given.load_arm()
    names = given.names_in_bag(start)
    bags, tests = (
        [Bag(path, names, given.topic, given.stamps, given.signal) for path in paths]
        for paths in (given.bags, given.tests)
    )
    hand = start.hand if given.hand == AS_LISTED else given.hand
    with ProgressBar() as bar, _executor(given) as executor:
        result = identify(
            bags,
            start,
            given.load_each(available_sets(given.arm), (hand,)),
            given.part(IdentificationOptions),
            tests=tests,
            skip_failures=given.skip_bad_bags,
            executor=executor,
            progress=bar.follow('identifying'),
        )
    refused = _refusal(given, result)
    # Files are written before results are printed, because `| head` can end this program.
    _write(given, result, [*bags, *tests], arm_file=not refused)
    show_identification(result, base_parameters=given.all)
    if given.report:
        say(f'page: {given.report}')
    if refused:
        say(refused, style='red')
        return 1
    if given.output:
        count = len(result.names)
        fitted = f'all {count} bags' if count > 1 else 'all of the bag'
        say(f'arm file: {given.output} (set {IDENTIFIED}, fitted to {fitted}). Next:')
        written = shlex.quote(str(given.output))
        suggest(f'arm check --arm {written}', f'arm export --arm {written} --output arm.urdf')
    else:
        say('no arm file was written: name one with --output')
    return 0


def _write(given: IdentifyArm, result: Identification, bags: list[Bag], *, arm_file: bool) -> None:
    """Write the files of --report and --json, and with `arm_file` the file of --output."""
    if given.output and arm_file:
        result.save(given.output, payload=given.payload, anyway=True)
    if given.report:
        used, scale = {one.name for one in result.notes}, given.scale(result.model.n)
        motions = (
            (name, bag.motion(result.model, scale))
            for name, bag in zip(labels_of(bags), bags)
            if name in used
        )
        page = report.identification_page(result, motions, base_parameters=given.all)
        write_text(given.report, page)
    if given.json:
        write_json(given.json, report.identification_as_data(result))


def _refusal(given: IdentifyArm, result: Identification) -> str:
    """Return why the identified arm is rejected, or an empty string."""
    if not (result.verdict.sound or given.anyway):
        why = 'the recordings are not sound; --anyway accepts them'
    elif given.require is not None and not result.arm_score.test.E <= given.require:
        why = f'E on the left-out parts is above the required {given.require:g} {result.unit}'
    elif result.improvement.better or given.anyway:
        return ''
    else:
        why = 'it is not better than the published sets; --anyway writes it nevertheless'
    return f'No arm file was written: {why}.'


def show_identification(result: Identification, *, base_parameters: bool = False) -> None:
    """Print the verdict, warnings and tables of an identification."""
    say(report.conclusion(result), style='bold')
    say_each(report.details(result), 'warning')
    show(*report.tables(result), *([report.parameter_table(result)] if base_parameters else []))
    say(E_IN_WORDS)


@contextmanager
def _executor(arguments: IdentifyArm) -> Iterator[Executor | None]:
    """Yield an executor for --dask or --processes, or None to run in this process."""
    if arguments.dask is None:
        many = arguments.processes > 1
        with ProcessPoolExecutor(arguments.processes) if many else nullcontext() as pool:
            yield pool
        return
    with needing('Identifying on a cluster needs dask', 'cluster'):
        from distributed import Client
    try:
        client = Client(arguments.dask, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f'No Dask scheduler answers at {arguments.dask} ({error}); start one with '
            '`dask scheduler`, or fix the address.'
        ) from error
    with client:
        yield client.get_executor(pure=False)
