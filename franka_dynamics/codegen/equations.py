# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generates the customised equations of an arm or a tree, by quantity."""

from collections.abc import Sequence
from dataclasses import dataclass
import functools
from itertools import chain

import numpy as np

from . import quantities
from .chain import build_chain, link_parameter_names
from .expression import Graph
from .program import OutputValue, Program
from ..arm import ArmDescription
from ..arm.frames import FLANGE, Frame
from ..arm_io import as_description
from ..arrays import ArrayLike
from ..constants import GRAVITY, ParameterMode, Quantity
from ..dynamics import model
from ..dynamics.body_tree import BodyTree, RobotLike
from ..dynamics.derivatives import dynamics_derivatives
from ..dynamics.regressor import as_column_indices, N_LINK_PARAMETERS
from ..errors import as_enum, SettingsError


@dataclass(frozen=True, eq=False)
class Equations:
    """
    The equations of one quantity of an arm or tree, as expressions of a graph.

    `outputs` are expressions of `graph` in the elements of the `input_names`; `shape` is the
    output array's. `run_time_parameters` are the names of the parameters that a caller sets at run
    time; if there are any, gravity is one of them, and `gravity` in the space frame [m/s^2] is not
    used. Pose, Jacobian and wrench are those of `frame`; a Jacobian has the axes and the point of
    `reference_frame`. `columns` are those of a regressor that has not all of them.
    """

    description: ArmDescription | BodyTree
    gravity: tuple[float, ...]
    quantity: Quantity
    graph: Graph
    outputs: tuple[OutputValue, ...]
    input_names: tuple[str, ...]
    shape: tuple[int, ...]
    run_time_parameters: tuple[str, ...]
    frame: Frame = FLANGE
    reference_frame: str = model.ALIGNED_FRAME
    columns: tuple[int, ...] | None = None

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.description.n

    @property
    def arm_name(self) -> str:
        """The arm's name; 'tree' for a tree."""
        return 'tree' if isinstance(self.description, BodyTree) else self.description.name

    @property
    def function_name(self) -> str:
        """Name of the generated function."""
        name = self.quantity.value
        return name if self.frame == FLANGE else name.replace('flange', 'frame')

    @property
    def output_name(self) -> str:
        """Name of the output array."""
        return quantities.OUTPUT_NAMES[self.quantity]

    def input_size(self, input_name: str) -> int:
        """Return the number of elements of an input array: six of a wrench, n of others."""
        return quantities.TWIST_SIZE if input_name == 'wrench' else self.n

    @property
    def has_derivatives(self) -> bool:
        """Whether the output has the quantity's derivatives, on one more axis, not its values."""
        return len(self.shape) > len(quantities.output_shape(self.quantity, self.n))

    @functools.cached_property
    def program(self) -> Program:
        """The equations as a straight-line program of assignments."""
        return Program(self.graph, self.outputs, self.input_names)


def customised_equations(
    description: RobotLike,
    quantity: Quantity | str = Quantity.INVERSE_DYNAMICS,
    gravity: ArrayLike = GRAVITY,
    *,
    parameters: ParameterMode | str = ParameterMode.BAKED,
    wrench: bool = False,
    classical: bool = False,
    columns: Sequence[int] | None = None,
    derivatives: bool = False,
    frame: Frame = FLANGE,
    reference_frame: str = model.ALIGNED_FRAME,
) -> Equations:
    """
    Return the equations of one quantity, customised to the constants of an arm or a tree.

    Parameters
    ----------
    description : ArmDescription, BodyTree, str or Path
        The arm (or its name or file), with its hand and payload as desired; revolute and prismatic
        joints. Or a tree of bodies, such as a torso with two arms.
    quantity : Quantity or str
        The quantity to compute, or its value, such as 'gravity'.
    gravity : array_like, shape (3,)
        Gravity in the space frame [m/s^2]; not used if parameters are set at run time.
    parameters : ParameterMode or str
        BAKED writes the inertial parameters and gravity as numbers into the code. RUN_TIME makes
        the ten parameters of each link, its rotor inertia and gravity the arguments of a function
        that is called once and prepares constants.
    wrench : bool
        Whether the surroundings exert a wrench on the flange (on a tree's tool), given as the
        input array `wrench` (6,): force, then moment about the flange's origin, in the axes of the
        space frame [N, N m], as `Model` takes it. Only for INVERSE_DYNAMICS.
    classical : bool
        Whether the ten parameters of each link are used as they are, instead of base parameters.
        This takes more operations and is meant for comparisons.
    columns : sequence of int, optional
        Which of the 10 n columns a regressor has, in this order; all if not given.
    derivatives : bool
        Whether to return the derivatives of the quantity by all inputs (but the wrench) instead of
        the quantity. The output then has one more axis, with the derivatives by q first.
    frame : int or str
        Frame to which pose, Jacobian, bias acceleration, operational-space inertia and wrench
        belong, as `Model.jacobian` takes it; 'flange' is a tree's tool.
    reference_frame : str
        Axes and point of a Jacobian, as `Model.jacobian` takes it.

    Returns
    -------
    Equations
        The expressions of the quantity; its `program` has the statements for generated code.

    Raises
    ------
    SettingsError
        If `quantity` or `parameters` is none of the allowed values, a regressor is to have
        parameters at run time, or the quantity has no such option: only a regressor has columns,
        inverse dynamics a wrench, and only what belongs to a frame can have another one.
    FrameError
        If there is no such frame or reference frame.
    BaseParameterError
        If a column of a regressor does not exist or is named twice.
    InertiaError
        If forward dynamics are asked for and the mass matrix is singular at every position, or the
        inertia at a frame that fewer than six joints move.

    """
    if not isinstance(description, BodyTree):
        description = as_description(description)
    n = description.n
    quantity = as_enum(Quantity, quantity, 'quantity', SettingsError)
    parameters = as_enum(ParameterMode, parameters, 'parameters', SettingsError)
    at_run_time = parameters is ParameterMode.RUN_TIME
    axes = model.require_reference_frame(reference_frame)
    _require_options(quantity, at_run_time, columns, wrench, frame, axes)
    columns = as_column_indices(columns, N_LINK_PARAMETERS * n)
    is_regressor = quantity is Quantity.REGRESSOR
    graph = Graph(parameters_vary=is_regressor)
    # The graph in which inertial parameters are symbols, None if they are numbers.
    parameter_graph = graph if at_run_time or is_regressor else None
    stated_gravity = model.as_gravity_vector(gravity)
    gravity_values = stated_gravity
    if at_run_time:
        gravity_values = np.array([graph.parameter(f'g{axis}') for axis in 'xyz'])
    tips = range(1, n + 2) if quantity is Quantity.FRAMES else (frame,)
    chains = tuple(build_chain(description, gravity_values, parameter_graph, tip) for tip in tips)
    writer = quantities.QuantityWriter(
        graph,
        chains,
        with_wrench=wrench,
        keeps_standard_parameters=classical or is_regressor,
        regressor_columns=columns,
        reference_frame=axes,
    )
    outputs = quantities.outputs_of(quantity, writer, derivatives=derivatives)
    if quantity is Quantity.FORWARD_DYNAMICS and not at_run_time:
        _require_regular_mass_matrix(description)
    input_names = quantities.INPUT_NAMES[quantity]
    return Equations(
        description=description,
        gravity=tuple(stated_gravity.tolist()),
        quantity=quantity,
        graph=graph,
        outputs=tuple(outputs),
        input_names=(*input_names, 'wrench') if wrench else input_names,
        shape=quantities.output_shape(quantity, n, columns, derivatives=derivatives),
        run_time_parameters=run_time_parameter_names(n) if at_run_time else (),
        frame=frame,
        reference_frame=axes,
        columns=columns,
    )


def _require_options(
    quantity: Quantity,
    at_run_time: bool,
    columns: Sequence[int] | None,
    wrench: bool,
    frame: Frame,
    reference_frame: str,
) -> None:
    """Raise SettingsError for an option, or for run-time parameters, that a quantity lacks."""
    if quantity is Quantity.REGRESSOR and at_run_time:
        raise SettingsError(
            'A regressor has no inertial parameters to set at run time; leave them baked in.'
        )
    is_given = {
        'columns': columns is not None,
        'wrench': wrench,
        'frame': frame != FLANGE and not wrench,  # a wrench acts at the frame
        'reference_frame': reference_frame != model.ALIGNED_FRAME,
    }
    for option, given in is_given.items():
        if given and option not in quantities.OPTIONS[quantity]:
            owners = [owner.value for owner, own in quantities.OPTIONS.items() if option in own]
            raise SettingsError(
                f'{quantity.value} has no {option} (quantities that have: {", ".join(owners)}); '
                f'leave {option} out.'
            )


def _require_regular_mass_matrix(description: ArmDescription | BodyTree) -> None:
    """
    Raise InertiaError if the mass matrix is singular at a position, so probably at every one.

    `ldl_factors` notices only a pivot that is exactly zero, and not one of rounding errors. At the
    position 0, 1, 2, ... hardly any arm is singular that is not so everywhere.
    """
    still = np.zeros(description.n)
    motion = dynamics_derivatives(description, np.arange(description.n), still, still)
    model.solve_acceleration(motion.tau.by_ddq, still)


def run_time_parameter_names(n: int) -> tuple[str, ...]:
    """Return the names of all links' inertial parameters and rotor inertias, and of gravity."""
    links = [(*link_parameter_names(link), f'X{link}_rotor') for link in range(1, n + 1)]
    return (*chain.from_iterable(links), 'gx', 'gy', 'gz')
