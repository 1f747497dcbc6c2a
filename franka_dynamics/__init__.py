# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Cross-checked gravity, Coriolis and mass-matrix feedforward for serial arms.

    >>> import franka_dynamics as fd
    >>> arm = fd.load('fer')
    >>> fd.Model(arm).gravity(arm.home).shape
    (7,)

Each name in `__all__` is imported at its first use (PEP 562), so that `import franka_dynamics`
alone loads neither Pinocchio nor a compiler nor a solver. `make generated` writes `__init__.pyi`,
which tells editors and type checkers the same. A name must not equal that of a module of the
package, because importing that module would replace the object.
"""

# The names of each module; NAME=OTHER is called OTHER there.
_NAMES_BY_MODULE = {
    'arm': 'ArmDescription available_arms available_hands available_sets LinkInertia load_hand',
    'arm.payload': 'desk_json',
    'arm_io': 'load=load_arm save write_mjcf write_urdf',
    'batch.batch_model': 'BatchModel',
    'batch.generated_model': 'TracedModel',
    'codegen.c_code': 'c_header',
    'codegen.equations': 'customised_equations',
    'codegen.file_comments': 'operation_count',
    'codegen.symbolic': 'sympy_expressions',
    'control.feedforward': 'Feedforward',
    'control.settings': 'Terms',
    'demo.random_plant': 'random_plant',
    'dynamics.body_tree': 'BodyTree',
    'dynamics.closed_chain': 'ClosedChain Loop',
    'dynamics.closed_chain_derivatives': 'differentiate_by_parameters motor_derivatives',
    'dynamics.derivatives': 'dynamics_derivatives linearize tree_motion',
    'dynamics.newton_euler': 'NewtonEulerModel',
    'dynamics.pinocchio_model': 'Model=PinocchioModel',
    'dynamics.product_of_exponentials': 'ExponentialsModel',
    'dynamics.regressor': 'parameter_names parameter_vector torque_regressor',
    'dynamics.sampling': 'sample_states',
    'dynamics.space_inertia': 'space_inertias',
    'errors': 'FrankaDynamicsError',
    'parameters.base_parameters': 'base_parameters',
    'parameters.direct_method': 'direct_base_parameters energy_regressors',
    'identification.drawn_arms': 'draw_identified',
    'identification.identify': 'identify',
    'tracking.law_tracking': 'predict_laws',
    'tracking.laws': 'tracking_law TrackingLaw',
    'tracking.tracking': 'predict_tracking',
    'fit.payload': 'identify_payload',
    'mesh.mesh': 'inertia_motion_derivative mesh_inertia TriangleMesh vertex_derivatives',
    'mesh.mesh_file': 'load_mesh',
    'recordings.log_import': 'import_log recording_from_arrays',
    'recordings.options': 'ColumnMap',
    'recordings.recording': 'read_recording write_recording',
    'rpr.kinematics': 'RprKinematics',
    'urdf.importer': 'import_urdf',
    'validation.compare_files': 'compare',
    'validation.crosscheck': 'compare_formulations crosscheck',
}
_MODULE_BY_NAME = {
    name.partition('=')[0]: (module, name.rpartition('=')[2])
    for module, names in _NAMES_BY_MODULE.items()
    for name in names.split()
}

__all__ = sorted(_MODULE_BY_NAME)
__version__ = '1.0.0rc1'


def __getattr__(name: str) -> object:
    """Return an exported object, imported at first use; functions check their arguments' types."""
    from importlib import import_module
    from inspect import isfunction

    if name not in _MODULE_BY_NAME:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    module, attribute = _MODULE_BY_NAME[name]
    value = getattr(import_module(f'.{module}', __name__), attribute)
    if isfunction(value):
        value = import_module('.arguments', __name__).with_argument_checks(value)
        # Where pickle finds it.
        value.__module__ = __name__
        value.__qualname__ = name
    globals()[name] = value  # later look-ups find the attribute directly
    return value


def __dir__() -> list[str]:
    """Return the exported names, imported or not, and names such as `__file__`."""
    return sorted({*(name for name in globals() if name.startswith('__')), *_MODULE_BY_NAME})
