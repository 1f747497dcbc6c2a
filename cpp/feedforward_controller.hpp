// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#ifndef @GUARD@_FEEDFORWARD_CONTROLLER_HPP
#define @GUARD@_FEEDFORWARD_CONTROLLER_HPP

#include <string>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "diagnostic_msgs/msg/diagnostic_status.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

#include "@NAME@/inbox.hpp"
#include "@NAME@/robot_model.hpp"

namespace @NAME@
{

/// Feedforward torques of @ARM@ as a chainable controller, with a time-out for its references.
///
/// State interfaces are <joint>/position and <joint>/velocity, command interfaces <joint>/effort.
/// References come from a controller upstream, or from one publisher at a time on ~/reference
/// (Float64MultiArray); the parameter `reference` says what they mean (Command in settings.hpp).
/// ~/status (DiagnosticStatus) has the controller's state, its publisher and the refused messages.
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
  using Status = diagnostic_msgs::msg::DiagnosticStatus;

  bool read_settings(Settings & settings);
  bool refuse(const std::string & sentence) const;
  const Reference * chained(double elapsed);
  bool read_states(Vector & q, Vector & dq) const;
  bool write(const Vector & tau);
  void receive(const Message & message, const rclcpp::MessageInfo & info);
  std::string publisher_name(const Inbox::Publisher & gid) const;
  void tell();
  std::vector<std::string> names(const std::vector<std::string> & interfaces) const;

  std::vector<std::string> joints_;
  std::vector<std::string> reference_types_;
  Feedforward feedforward_;
  Inbox inbox_;
  const Reference * given_ = nullptr;  // from ~/reference
  Reference chained_;                  // the last one from upstream
  double timeout_ = kCommandTimeoutS, chained_age_ = 0.0;  // [s]
  RobotModel robot_model_;
  rclcpp::Subscription<Message>::SharedPtr subscription_;

  // Members that the executor's thread uses, never the control cycle.
  rclcpp::Publisher<Status>::SharedPtr publisher_;
  rclcpp::TimerBase::SharedPtr timer_;
  Inbox::Publisher refused_{};  // the last publisher that was refused
  Status status_;               // the status published last
};

}  // namespace @NAME@

#endif  // @GUARD@_FEEDFORWARD_CONTROLLER_HPP
