// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#ifndef @GUARD@_FEEDFORWARD_CONTROLLER_HPP
#define @GUARD@_FEEDFORWARD_CONTROLLER_HPP

#include <memory>
#include <string>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "rclcpp/rclcpp.hpp"
#include "realtime_tools/realtime_buffer.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

#include "@NAME@/feedforward.hpp"

namespace @NAME@
{

/// Feedforward torques of @ARM@ as a chainable controller.
///
/// States: <joint>/position and <joint>/velocity. Command: <joint>/effort. References, from a
/// controller upstream or from the topic ~/reference (std_msgs/Float64MultiArray):
/// with `reference: torque` one torque a joint, which is added to the terms; with
/// `reference: motion` positions, then velocities, then accelerations of all joints.
class FeedforwardController : public controller_interface::ChainableControllerInterface
{
public:
  controller_interface::CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  controller_interface::CallbackReturn on_configure(
    const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_activate(
    const rclcpp_lifecycle::State & previous) override;
  controller_interface::CallbackReturn on_deactivate(
    const rclcpp_lifecycle::State & previous) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() override;
  bool on_set_chained_mode(bool chained) override;
  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  using Message = std_msgs::msg::Float64MultiArray;
  struct Received
  {
    std::shared_ptr<Message> message;
    double seconds = 0.0;  // when it came, by the node's clock
  };

  bool read_settings(Settings & settings);
  bool read_states(Vector & q, Vector & dq) const;
  bool write(const Vector & tau);
  std::vector<std::string> names(const std::vector<std::string> & interfaces) const;

  std::vector<std::string> joints_;
  std::vector<std::string> reference_types_;
  bool motion_ = true;
  double timeout_ = 0.05;
  Feedforward feedforward_;
  const char * fault_ = nullptr;  // as it was told
  std::vector<double> values_;  // the reference of this cycle; NaN where there is none
  realtime_tools::RealtimeBuffer<Received> received_;
  rclcpp::Subscription<Message>::SharedPtr subscription_;
};

}  // namespace @NAME@

#endif  // @GUARD@_FEEDFORWARD_CONTROLLER_HPP
