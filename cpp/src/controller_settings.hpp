// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// The settings that the controller's parameters ask for.
#pragma once

#include <vector>

#include "rclcpp/rclcpp.hpp"

#include "franka_dynamics_controllers/feedforward_controller_parameters.hpp"
#include "franka_dynamics_controllers/settings.hpp"

namespace franka_dynamics_controllers
{

/// The command that the parameter `reference` names.
Command command_of(const feedforward_controller::Params & given);

/// The settings that parameters ask for; throws std::runtime_error if they cannot be used.
Settings settings_of(const feedforward_controller::Params & given, const Arm & arm);

/// Parameters with some of them changed; throws an exception if one is of another type.
feedforward_controller::Params with_changes(
  feedforward_controller::Params given, const std::vector<rclcpp::Parameter> & changed);

}  // namespace franka_dynamics_controllers
