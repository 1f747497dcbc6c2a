// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
// A ros2_control controller that holds the pose at which it is activated, with the same stiffness
// in every pose, by the terms that `franka-dynamics codegen --arm fr3 --output include` writes.
// It has no limits of torque and torque rate and no stop sequence.
#include <controller_interface/controller_interface.hpp>
#include <pluginlib/class_list_macros.hpp>

#include "fr3_dynamics.h"

class HoldController : public controller_interface::ControllerInterface
{
  double start_[7] = {};

  controller_interface::InterfaceConfiguration interfaces(std::vector<std::string> kinds) const
  {
    std::vector<std::string> names;
    for (const auto & kind : kinds) {
      for (int i = 1; i <= 7; ++i) {
        names.push_back("fr3_joint" + std::to_string(i) + "/" + kind);
      }
    }
    return {controller_interface::interface_configuration_type::INDIVIDUAL, names};
  }

public:
  controller_interface::InterfaceConfiguration command_interface_configuration() const override
  {
    return interfaces({"effort"});
  }
  controller_interface::InterfaceConfiguration state_interface_configuration() const override
  {
    return interfaces({"position", "velocity"});
  }
  controller_interface::CallbackReturn on_init() override
  {
    return controller_interface::CallbackReturn::SUCCESS;
  }
  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    for (int i = 0; i < 7; ++i) {
      const auto position = state_interfaces_[i].get_optional();
      if (!position) { return controller_interface::CallbackReturn::ERROR; }
      start_[i] = *position;
    }
    return controller_interface::CallbackReturn::SUCCESS;
  }

  controller_interface::return_type update(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    double q[7], dq[7], M[7][7], coriolis[7], gravity[7];
    for (int i = 0; i < 7; ++i) {
      const auto position = state_interfaces_[i].get_optional();
      const auto velocity = state_interfaces_[7 + i].get_optional();
      if (!position || !velocity) { return controller_interface::return_type::ERROR; }
      q[i] = *position;
      dq[i] = *velocity;
    }
    fr3_mass_matrix(q, M);
    fr3_coriolis(q, dq, coriolis);
    fr3_gravity(q, gravity);
    bool sent = true;
    for (int i = 0; i < 7; ++i) {
      double tau = coriolis[i] + gravity[i];  // without gravity on a real arm, which adds it itself
      for (int j = 0; j < 7; ++j) {
        tau += M[i][j] * (100.0 * (start_[j] - q[j]) - 20.0 * dq[j]);  // 1/s^2, 1/s
      }
      sent = command_interfaces_[i].set_value(tau) && sent;
    }
    return sent ? controller_interface::return_type::OK : controller_interface::return_type::ERROR;
  }
};

PLUGINLIB_EXPORT_CLASS(HoldController, controller_interface::ControllerInterface)
