// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Activates the controller of examples/ at q0 and calls it once at q, dq, for
// test_controller.py; a missing state is an error.
#include "hold_controller.cpp"

extern "C" int drive(const double * q0, const double * q, const double * dq, double * tau)
{
  HoldController controller;
  controller.command_interfaces_.resize(controller.command_interface_configuration().names.size());
  controller.state_interfaces_.resize(controller.state_interface_configuration().names.size());
  const auto & missing = controller_interface::return_type::ERROR;
  if (controller.update({}, {}) != missing) { return 1; }
  for (int i = 0; i < 7; ++i) { controller.state_interfaces_[i].value = q0[i]; }
  if (controller.on_activate({}) != controller_interface::CallbackReturn::SUCCESS) { return 2; }
  for (int i = 0; i < 7; ++i) {
    controller.state_interfaces_[i].value = q[i];
    controller.state_interfaces_[7 + i].value = dq[i];
  }
  if (controller.update({}, {}) != controller_interface::return_type::OK) { return 3; }
  for (int i = 0; i < 7; ++i) { tau[i] = *controller.command_interfaces_[i].value; }
  return 0;
}
