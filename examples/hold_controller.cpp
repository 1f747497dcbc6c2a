// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// A ros2_control controller of your own on the core of franka_dynamics_controllers: it holds the
// pose at which it is activated. The arm is that of the parameter arm_file, which
// `franka-dynamics arm export --format controller` writes with identified inertias and friction, or
// without one that of robot_description, without friction. The core keeps the limits of torque and
// torque rate, and ends at zero torque if joint states cease. In CMakeLists.txt link it to
// franka_dynamics_controllers::franka_dynamics_controllers.
#include <memory>
#include <string>
#include <vector>

#include "controller_interface/controller_interface.hpp"
#include "franka_dynamics_controllers/arm_file.hpp"
#include "franka_dynamics_controllers/arm_from_urdf.hpp"
#include "franka_dynamics_controllers/feedforward.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace core = franka_dynamics_controllers;

class HoldController : public controller_interface::ControllerInterface
{
  std::vector<std::string> joints_{"fr3_joint1", "fr3_joint2", "fr3_joint3", "fr3_joint4",
    "fr3_joint5", "fr3_joint6", "fr3_joint7"};
  std::unique_ptr<core::Feedforward> feedforward_;
  core::Reference start_;

  controller_interface::InterfaceConfiguration interfaces(std::vector<std::string> kinds) const
  {
    std::vector<std::string> names;
    for (const auto & kind : kinds) {
      for (const auto & joint : joints_) {names.push_back(joint + "/" + kind);}
    }
    return {controller_interface::interface_configuration_type::INDIVIDUAL, names};
  }

  core::JointState measured() const
  {
    core::JointState state;
    for (std::size_t i = 0; i < joints_.size(); ++i) {
      // A state that is missing becomes NaN, which the core does not believe.
      state.q[i] = state_interfaces_[i].get_optional().value_or(NAN);
      state.dq[i] = state_interfaces_[joints_.size() + i].get_optional().value_or(NAN);
    }
    return state;
  }

public:
  using CallbackReturn = controller_interface::CallbackReturn;
  using return_type = controller_interface::return_type;

  controller_interface::InterfaceConfiguration command_interface_configuration() const override
  {
    return interfaces({"effort"});
  }
  controller_interface::InterfaceConfiguration state_interface_configuration() const override
  {
    return interfaces({"position", "velocity"});
  }
  CallbackReturn on_init() override
  {
    auto_declare<std::string>("arm_file", "");
    return CallbackReturn::SUCCESS;
  }

  core::Arm arm()
  {
    const std::string file = get_node()->get_parameter("arm_file").as_string();
    if (file.empty()) {
      std::vector<std::string> notes;
      return core::arm_from_urdf(get_robot_description(), joints_, "", notes);
    }
    core::Arm arm = core::arm_from_file(file);
    joints_ = arm.joints;
    return arm;
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override
  {
    core::Settings settings;
    settings.target = core::kFci;  // the robot adds the gravity torque; kMujoco: nobody does
    settings.kp = {600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0};  // N m/rad
    settings.kd = {30.0, 30.0, 30.0, 30.0, 10.0, 10.0, 5.0};         // N m s/rad
    // settings.friction = true;  // that of an identified arm_file, along a motion's velocity
    // For a law of your own (Cartesian impedance, ...) leave kp and kd out, say
    // settings.command = core::Command::law, and give in each cycle a core::Reference with your
    // torque, and in dq the velocity at which friction counts.
    try {
      feedforward_ = std::make_unique<core::Feedforward>(arm());
      const std::string refused = feedforward_->configure(settings);
      if (refused.empty()) {return CallbackReturn::SUCCESS;}
      RCLCPP_ERROR(get_node()->get_logger(), "%s.", refused.c_str());
    } catch (const std::exception & error) {
      RCLCPP_ERROR(get_node()->get_logger(), "%s.", error.what());
    }
    return CallbackReturn::FAILURE;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    feedforward_->restart();
    start_.q = measured().q;
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override
  {
    core::Vector tau;
    return !feedforward_->end_at_once(tau) || write(tau) ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
  }

  return_type update(const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    core::Vector tau;
    const core::JointState state = measured();
    const bool sends = feedforward_->cycle(period.seconds(), &state, &start_, tau);
    return !sends || write(tau) ? return_type::OK : return_type::ERROR;
  }

private:
  bool write(const core::Vector & tau)
  {
    bool done = true;
    for (std::size_t i = 0; i < joints_.size(); ++i) {
      done = command_interfaces_[i].set_value(tau[i]) && done;
    }
    return done;
  }
};

PLUGINLIB_EXPORT_CLASS(HoldController, controller_interface::ControllerInterface)
