// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "controller_interface/chainable_controller_interface.hpp"
#include "diagnostic_msgs/msg/diagnostic_status.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"
#include "std_srvs/srv/trigger.hpp"

#include "franka_dynamics_controllers/feedforward_controller_parameters.hpp"
#include "franka_dynamics_controllers/feedforward.hpp"
#include "franka_dynamics_controllers/inbox.hpp"
#include "franka_dynamics_controllers/newest.hpp"
#include "franka_dynamics_controllers/receiver.hpp"
#include "robot_model.hpp"

namespace franka_dynamics_controllers
{

/// Feedforward torques of an arm as a chainable controller, with a time-out for its references.
///
/// State interfaces are <joint>/position and <joint>/velocity and, where torques are measured,
/// <joint>/effort; command interfaces are <joint>/effort. References come from a controller
/// upstream, or from one publisher at a time on ~/reference (Float64MultiArray); the parameter
/// `reference` says what they mean (Command in settings.hpp). Total torques are applied by a
/// TorqueReceiver, all others by a Feedforward with its guard. ~/status (DiagnosticStatus) has the
/// state and its reason, the publisher and the refused messages; ~/start clears a fault.
class FeedforwardController : public controller_interface::ChainableControllerInterface
{
public:
  using CallbackReturn = controller_interface::CallbackReturn;
  using LifecycleState = rclcpp_lifecycle::State;

  CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  CallbackReturn on_configure(const LifecycleState & previous) override;
  CallbackReturn on_activate(const LifecycleState & previous) override;
  CallbackReturn on_deactivate(const LifecycleState & previous) override;
  CallbackReturn on_cleanup(const LifecycleState & previous) override;
  CallbackReturn on_error(const LifecycleState & previous) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() override;
  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  using Message = std_msgs::msg::Float64MultiArray;
  using Parameters = feedforward_controller::Params;
  using Status = diagnostic_msgs::msg::DiagnosticStatus;
  using Trigger = std_srvs::srv::Trigger;

  Arm read_arm() const;
  const Arm & arm() const {return receiver_ ? receiver_->arm() : feedforward_->arm();}
  Command command() const {return command_;}
  StateLimits state_limits() const;
  bool has_measured_effort(const Arm & arm) const;
  Settings checked_settings(const Parameters & given) const;
  void use(const Settings & settings);
  void warn_of_unknown_parameters();
  CallbackReturn fail(const std::string & reason) const;
  rcl_interfaces::msg::SetParametersResult accept(const std::vector<rclcpp::Parameter> & changed);
  void open_topics();
  bool end_torques();
  const Reference * chained(double elapsed);
  bool read_states(JointState & state, Vector & effort) const;
  void start_if_requested();
  void answer_start(Trigger::Response & response);
  bool write(const Vector & tau);
  void receive(const Message & message, const rclcpp::MessageInfo & info);
  std::string publisher_name(const Inbox::Publisher & gid) const;
  Status status();
  void tell_state(Status & status);
  void tell_receiver_state(Status & status) const;
  void publish_status();
  std::vector<std::string> names(const std::vector<std::string> & interfaces) const;

  std::shared_ptr<feedforward_controller::ParamListener> parameter_listener_;
  Parameters parameters_;  // those of the configuration
  Command command_ = Command::motion;
  bool measures_effort_ = false;
  // One of these two, by the kind of commands.
  std::unique_ptr<Feedforward> feedforward_;
  std::unique_ptr<TorqueReceiver> receiver_;
  std::unique_ptr<Inbox> inbox_;
  // What the control cycle has still to take: the law of other settings, or these.
  Newest<ControlLaw> laws_;
  bool is_law_waiting_ = false;  // the newest one, until it pulls no joint
  Newest<Settings> settings_;
  std::atomic<bool> is_start_requested_{false};
  Newest<Reason> start_answer_;
  const Reference * given_ = nullptr;  // from ~/reference
  Reference chained_;                  // the last one from upstream
  double chained_age_ = std::numeric_limits<double>::infinity();  // [s]
  RobotModel robot_model_;
  rclcpp::Subscription<Message>::SharedPtr subscription_;

  // Members that the executor's thread uses, never the control cycle.
  std::mutex configuring_;  // between configuring or cleaning up, and the callbacks below
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr accepting_;
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr applying_;
  rclcpp::Publisher<Status>::SharedPtr publisher_;
  rclcpp::Service<Trigger>::SharedPtr declaration_;
  rclcpp::Service<Trigger>::SharedPtr starting_;
  rclcpp::TimerBase::SharedPtr timer_;
  Inbox::Publisher refused_{};  // the last publisher that was refused
  Status status_;               // the status published last
};

}  // namespace franka_dynamics_controllers
