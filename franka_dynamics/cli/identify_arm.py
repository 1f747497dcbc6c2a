# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify arm`: recordings -> an arm file that predicts the arm's torques."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
import shlex
from typing import TYPE_CHECKING

from ._arm_options import ArmOptions, suggest
from ._options import file_option, gravity_option, json_option, NewFile
from ._recording_options import RecordingOptions
from ._say import ProgressBar, say, say_each, show, write_json
from ..arm import ArmDescription, available_sets
from ..arm.arm_file import AS_LISTED
from ..errors import ClusterError, needing
from ..identification.options import IdentificationOptions
from ..options import option

if TYPE_CHECKING:
    from ..identification.results import Identification
    from ..identification.sources import Bag

_CONNECT_S = 20.0


@dataclass(frozen=True, kw_only=True)
class Identify(RecordingOptions, IdentificationOptions, ArmOptions, NewFile):
    """Identify an arm's inertias and friction from recordings of it."""

    bags: tuple[str, ...] = option(
        'rosbag2 folders, or .mcap or .db3 files, of one arm and one load', 'BAG', positional=True
    )
    tests: tuple[str, ...] = option(
        'more bags of the same arm and load, not used in the fit, that decide whether the '
        'result is better; by default parts of the bags are left out in turn',
        'BAG',
        flags=('--test',),
        default=(),
    )
    output: Path | None = file_option(
        'file for the identified arm, fitted to all bags; written if the arm is better than the '
        'best published set'
    )
    gravity: tuple[float, float, float] = gravity_option()
    processes: int = option('number of processes that read bags and make fits', 'N', default=1)
    dask: str | None = option(
        'read and fit on the Dask cluster whose scheduler has this address (tcp://host:8786); '
        'its workers must see the bags under the same paths',
        'ADDRESS',
        default=None,
    )
    base_parameters: bool = option(
        'print the base parameters and friction with their standard deviations', default=False
    )
    skip_bad_bags: bool = option(
        'go on without bags that cannot be used, and name them', default=False
    )
    report: Path | None = file_option('write an HTML page with plots')
    json: Path | None = json_option()
    require: float | None = option(
        'exit with 1, and write no arm file, unless the error E on the left-out parts is at most '
        'this [N m; percent of the limits if a joint is prismatic]',
        'E',
        default=None,
    )

    def run(self) -> int:
        """Identify the arm, print and write the results; exit 1 if the arm is rejected."""
        from ..identification.identify import identify
        from ..identification.results import IDENTIFIED
        from ..identification.sources import Bag

        self.require_new()
        start = self.load_arm()
        names = self.names_in_bag(start)
        bags, tests = (
            [Bag(path, names, self.topic, self.stamps, self.signal) for path in paths]
            for paths in (self.bags, self.tests)
        )
        with ProgressBar() as bar, _executor(self) as executor:
            result = identify(
                bags,
                start,
                published_sets(self, start),
                self.part(IdentificationOptions),
                tests=tests,
                skip_failures=self.skip_bad_bags,
                executor=executor,
                progress=bar.follow('identifying'),
            )
        refused = self._refusal(result)
        # Files are written before results are printed, because `| head` can end this program.
        self._write(result, [*bags, *tests], arm_file=not refused)
        show_identification(result, base_parameters=self.base_parameters)
        if self.report:
            say(f'page: {self.report}')
        if refused:
            say(refused, style='red')
            return 1
        if self.output:
            count = len(result.recorded.names)
            fitted = f'all {count} bags' if count > 1 else 'all of the bag'
            say(f'arm file: {self.output} (set {IDENTIFIED}, fitted to {fitted}). Next:')
            written = shlex.quote(str(self.output))
            suggest(f'arm check --arm {written}', f'arm export --arm {written} --output arm.urdf')
        else:
            say('no arm file was written: name one with --output')
        return 0

    def _write(self, result: Identification, bags: list[Bag], *, arm_file: bool) -> None:
        """Write the files of --report and --json, and with `arm_file` the file of --output."""
        from ..files import write_text
        from ..identification.sources import labels_of
        from ..report.identification import identification_as_data, identification_page

        if self.output and arm_file:
            result.save(self.output, payload=self.payload, anyway=True)
        if self.report:
            used, scale = {one.name for one in result.recorded.notes}, self.scale(result.model.n)
            motions = (
                (name, bag.motion(result.model, scale))
                for name, bag in zip(labels_of(bags), bags)
                if name in used
            )
            write_text(self.report, identification_page(result, motions))
        if self.json:
            write_json(self.json, identification_as_data(result))

    def _refusal(self, result: Identification) -> str:
        """Return why the identified arm is rejected, or an empty string."""
        if not (result.verdict.sound or self.anyway):
            return (
                'No arm file was written, because the recordings are not sound; --anyway accepts '
                'them as they are.'
            )
        if self.require is not None and not result.arm_score.test.E <= self.require:
            return (
                f'E on the left-out parts is above the required {self.require:g} {result.unit}; '
                'no arm file was written.'
            )
        if result.improvement.better or self.anyway:
            return ''
        return (
            'The identified arm is not better than the published sets, so no arm file was '
            'written; --anyway writes it nevertheless.'
        )


def published_sets(options: ArmOptions, start: ArmDescription) -> list[ArmDescription]:
    """Return the arm once with each published inertial set, all with the hand of `start`."""
    hand = start.hand if options.hand == AS_LISTED else options.hand
    return options.load_each(available_sets(options.arm), (hand,))


def show_identification(result: Identification, *, base_parameters: bool = False) -> None:
    """Print the verdict, warnings and tables of an identification."""
    from ..report.identification import conclusion, details, link_table, parameter_table, tables
    from ..report.replay import E_IN_WORDS

    say(conclusion(result), style='bold')
    say_each(details(result), 'warning')
    show(*tables(result), link_table(result))
    if base_parameters:
        show(parameter_table(result))
    say(E_IN_WORDS)


@contextmanager
def _executor(arguments: Identify) -> Iterator[Executor | None]:
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
