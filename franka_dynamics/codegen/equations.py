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
from ..constants import ParameterMode, Quantity
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
    used. Pose, Jacobian and wrench are those of `frame`.
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
    gravity: ArrayLike = model.GRAVITY,
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
        If `quantity` or `parameters` is none of the allowed values, if a regressor is to have
        parameters at run time, another quantity columns, or one other than inverse dynamics a
        wrench.
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
    quantity = as_enum(Quantity, quantity, 'quantity', SettingsError)
    if columns is not None and quantity is not Quantity.REGRESSOR:
        raise SettingsError(f'columns are those of a regressor; {quantity.value} has none.')
    columns = as_column_indices(columns, N_LINK_PARAMETERS * description.n)
    parameters = as_enum(ParameterMode, parameters, 'parameters', SettingsError)
    at_run_time = parameters is ParameterMode.RUN_TIME
    _require_supported_options(quantity, at_run_time, wrench)
    graph = Graph(parameters_vary=quantity is Quantity.REGRESSOR)
    symbols = graph if at_run_time or quantity is Quantity.REGRESSOR else None
    numbers = model.as_gravity_vector(gravity)
    values = np.array([graph.parameter(f'g{axis}') for axis in 'xyz']) if at_run_time else numbers
    tips = range(1, description.n + 2) if quantity is Quantity.FRAMES else (frame,)
    chains = tuple(build_chain(description, values, symbols, one) for one in tips)
    own_parameters = classical or quantity is Quantity.REGRESSOR
    axes = model.require_reference_frame(reference_frame)
    writer = quantities.QuantityWriter(graph, chains, wrench, own_parameters, columns, axes)
    outputs = quantities.outputs_of(quantity, writer, derivatives=derivatives)
    arrays = quantities.INPUT_NAMES[quantity]
    if quantity is Quantity.FORWARD_DYNAMICS and not at_run_time:
        # A mass matrix that is singular but for rounding errors is an InertiaError, too;
        # `ldl_factors` notices only a pivot that is exactly zero.
        still = np.zeros(description.n)
        motion = dynamics_derivatives(description, np.arange(description.n), still, still)
        model.solve_acceleration(motion.tau.by_ddq, still)
    return Equations(
        description,
        tuple(numbers.tolist()),
        quantity,
        graph,
        tuple(outputs),
        (*arrays, 'wrench') if wrench else arrays,
        quantities.output_shape(quantity, description.n, columns, derivatives=derivatives),
        run_time_parameter_names(description.n) if at_run_time else (),
        frame,
    )


def _require_supported_options(quantity: Quantity, at_run_time: bool, with_wrench: bool) -> None:
    """Raise SettingsError for run-time parameters or a wrench that the quantity cannot have."""
    if quantity is Quantity.REGRESSOR and at_run_time:
        raise SettingsError(
            'A regressor has no inertial parameters to set at run time; leave them baked in.'
        )
    if with_wrench and quantity is not Quantity.INVERSE_DYNAMICS:
        raise SettingsError(
            f'Only inverse dynamics have a wrench as input: {quantity.value} has none; leave '
            'wrench out.'
        )


def run_time_parameter_names(n: int) -> tuple[str, ...]:
    """Return the names of all links' inertial parameters and rotor inertias, and of gravity."""
    links = [(*link_parameter_names(link), f'X{link}_rotor') for link in range(1, n + 1)]
    return (*chain.from_iterable(links), 'gx', 'gy', 'gz')
