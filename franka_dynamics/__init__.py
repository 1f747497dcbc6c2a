# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Cross-checked gravity, Coriolis and mass-matrix feedforward for Franka arms.

    >>> import franka_dynamics as fd
    >>> arm = fd.load('fer')
    >>> fd.Model(arm).gravity(arm.home).shape
    (7,)

Each name in `__all__` is imported at its first use (PEP 562), so that `import franka_dynamics`
alone loads neither Pinocchio nor a compiler nor a solver. `__init__.pyi` tells editors and type
checkers the same. A name must not equal that of a module of the package, because importing that
module would replace the object.
"""

# The module of each name, which ends with `:NAME` if the name there is another one.
_MODULES = {
    'ArmDescription': 'arm',
    'available_arms': 'arm',
    'available_hands': 'arm',
    'available_sets': 'arm',
    'LinkInertia': 'arm',
    'load_hand': 'arm',
    'load': 'arm_io:load_arm',
    'save': 'arm_io',
    'write_mjcf': 'arm_io',
    'write_urdf': 'arm_io',
    'BatchModel': 'batch.batch_model',
    'TracedModel': 'batch.traced_model',
    'c_header': 'codegen.c_code',
    'operation_count': 'codegen.file_text',
    'customised_equations': 'codegen.equations',
    'Feedforward': 'control.feedforward',
    'Terms': 'control.settings',
    'predict_tracking': 'identification.other_controllers',
    'BodyTree': 'dynamics.body_tree',
    'ClosedChain': 'dynamics.closed_chain',
    'Loop': 'dynamics.closed_chain',
    'differentiate_by_parameters': 'dynamics.closed_chain_derivatives',
    'motor_derivatives': 'dynamics.closed_chain_derivatives',
    'dynamics_derivatives': 'dynamics.derivatives',
    'linearize': 'dynamics.derivatives',
    'tree_motion': 'dynamics.derivatives',
    'NewtonEulerModel': 'dynamics.newton_euler',
    'Model': 'dynamics.pinocchio_model:PinocchioModel',
    'ExponentialsModel': 'dynamics.product_of_exponentials',
    'parameter_names': 'dynamics.regressor',
    'parameter_vector': 'dynamics.regressor',
    'torque_regressor': 'dynamics.regressor',
    'sample_states': 'dynamics.sampling',
    'space_inertias': 'dynamics.space_inertia',
    'FrankaDynamicsError': 'errors',
    'base_parameters': 'identification.base_parameters',
    'direct_base_parameters': 'identification.direct_method',
    'energy_regressors': 'identification.direct_method',
    'identify': 'identification.identify',
    'identify_payload': 'identification.payload',
    'inertia_motion_derivative': 'mesh.mesh',
    'mesh_inertia': 'mesh.mesh',
    'TriangleMesh': 'mesh.mesh',
    'vertex_derivatives': 'mesh.mesh',
    'load_mesh': 'mesh.mesh_file',
    'import_log': 'recordings.log_import',
    'recording_from_arrays': 'recordings.log_import',
    'ColumnMap': 'recordings.options',
    'read_recording': 'recordings.recording',
    'write_recording': 'recordings.recording',
    'RprKinematics': 'rpr.kinematics',
    'import_urdf': 'urdf.importer',
    'compare': 'validation.compare_files',
    'compare_formulations': 'validation.crosscheck',
    'crosscheck': 'validation.crosscheck',
}

__all__ = sorted(_MODULES)
__version__ = '0.2.0'


def __getattr__(name: str) -> object:
    """Return an exported name, imported from its module at first use."""
    from importlib import import_module
    from inspect import isfunction

    if name not in _MODULES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    module, _, attribute = _MODULES[name].partition(':')
    value = getattr(import_module(f'.{module}', __name__), attribute or name)
    if isfunction(value):
        value = import_module('.arguments', __name__).with_argument_checks(value)
        value.__module__, value.__qualname__ = __name__, name  # where pickle finds it
    globals()[name] = value  # later look-ups find the attribute directly
    return value


def __dir__() -> list[str]:
    """Return the exported names, imported or not, and names such as `__file__`."""
    return sorted({*(name for name in globals() if name.startswith('__')), *_MODULES})
