// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "@NAME@/feedforward_controller.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace @NAME@
{

using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;

namespace
{
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool target_of(const std::string & name, Target & target)
{
  if (name == "fci") {
    target = kFci;
  } else if (name == "franka_gazebo") {
    target = kFrankaGazebo;
  } else if (name == "gz_ros2_control") {
    target = kGzRos2Control;
  } else if (name == "mujoco") {
    target = kMujoco;
  } else {
    return false;
  }
  return true;
}

bool gains_of(const std::vector<double> & values, Vector & gains)
{
  if (values.size() == 1) {
    gains.fill(values[0]);
    return true;
  }
  if (values.size() != kJoints) {
    return false;
  }
  std::copy(values.begin(), values.end(), gains.begin());
  return true;
}
}  // namespace

CallbackReturn FeedforwardController::on_init()
{
  const std::vector<std::string> joints(kJointNames.begin(), kJointNames.end());
  auto_declare<std::vector<std::string>>("joints", joints);
  auto_declare<std::string>("reference", "motion");
  auto_declare<double>("reference_timeout", timeout_);
@DECLARATIONS@
  return CallbackReturn::SUCCESS;
}

bool FeedforwardController::read_settings(Settings & settings)
{
  const auto node = get_node();
  const auto refuse = [&](const std::string & sentence) {
      RCLCPP_ERROR(node->get_logger(), "%s", sentence.c_str());
      return false;
    };
  const std::string target = node->get_parameter("target").as_string();
  if (!target_of(target, settings.target)) {
    return refuse(
      "There is no target '" + target + "'; the choices are fci, franka_gazebo, gz_ros2_control, "
      "mujoco.");
  }
  settings.gravity = node->get_parameter("terms.gravity").as_bool();
  settings.coriolis = node->get_parameter("terms.coriolis").as_bool();
  settings.inertia = node->get_parameter("terms.inertia").as_bool();
  settings.friction = node->get_parameter("terms.friction").as_bool();
  const std::string source = node->get_parameter("state_source").as_string();
  if (source != "measured" && source != "reference") {
    return refuse("state_source is '" + source + "'; it must be measured or reference.");
  }
  settings.at_reference = source == "reference";
  const auto gravity = node->get_parameter("gravity_vector").as_double_array();
  const auto payload = node->get_parameter("payload").as_double_array();
  if (gravity.size() != 3 || payload.size() != 10) {
    return refuse("gravity_vector takes three numbers and payload ten.");
  }
  std::copy(gravity.begin(), gravity.end(), settings.gravity_vector.begin());
  std::copy(payload.begin(), payload.end(), settings.payload.begin());
  settings.payload_known_to_robot = node->get_parameter("payload_known_to_robot").as_bool();
  settings.max_payload = node->get_parameter("max_payload").as_double();
  settings.scale = node->get_parameter("scale").as_double();
  settings.ramp_time = node->get_parameter("ramp_time").as_double();
  const auto tracking = node->get_parameter("max_tracking_error").as_double_array();
  if (!gains_of(node->get_parameter("kp").as_double_array(), settings.kp) ||
    !gains_of(node->get_parameter("kd").as_double_array(), settings.kd) ||
    !gains_of(tracking, settings.max_tracking_error))
  {
    return refuse(
      "kp, kd and max_tracking_error take one number for all joints, or one for each.");
  }
  return true;
}

CallbackReturn FeedforwardController::on_configure(const rclcpp_lifecycle::State &)
{
  const auto node = get_node();
  joints_ = node->get_parameter("joints").as_string_array();
  if (joints_.size() != kJoints) {
    RCLCPP_ERROR(
      node->get_logger(), "joints has %zu names, but @ARM@ has %zu joints.", joints_.size(),
      kJoints);
    return CallbackReturn::ERROR;
  }
  const std::string kind = node->get_parameter("reference").as_string();
  if (kind != "motion" && kind != "torque") {
    RCLCPP_ERROR(
      node->get_logger(), "reference is '%s'; it must be motion or torque.", kind.c_str());
    return CallbackReturn::ERROR;
  }
  motion_ = kind == "motion";
  timeout_ = node->get_parameter("reference_timeout").as_double();
  if (!(timeout_ > 0.0)) {
    RCLCPP_ERROR(node->get_logger(), "reference_timeout must be positive [s].");
    return CallbackReturn::ERROR;
  }
  Settings settings;
  if (!read_settings(settings)) {
    return CallbackReturn::ERROR;
  }
  if (const char * fault = feedforward_.configure(settings)) {
    RCLCPP_ERROR(node->get_logger(), "%s.", fault);
    return CallbackReturn::ERROR;
  }
  reference_types_ = motion_ ?
    std::vector<std::string>{hardware_interface::HW_IF_POSITION,
    hardware_interface::HW_IF_VELOCITY, hardware_interface::HW_IF_ACCELERATION} :
    std::vector<std::string>{hardware_interface::HW_IF_EFFORT};
  values_.assign(reference_types_.size() * kJoints, kNone);
  subscription_ = node->create_subscription<Message>(
    "~/reference", rclcpp::SystemDefaultsQoS(),
    [this](const std::shared_ptr<Message> message) {
      if (message->data.size() != values_.size() ||
      !std::all_of(
        message->data.begin(), message->data.end(), [](double x) {return std::isfinite(x);}))
      {
        RCLCPP_ERROR_THROTTLE(
          get_node()->get_logger(), *get_node()->get_clock(), 1000,
          "~/reference takes %zu finite numbers; got %zu.", values_.size(), message->data.size());
        return;
      }
      received_.writeFromNonRT({message, get_node()->now().seconds()});
    });
  return CallbackReturn::SUCCESS;
}

std::vector<std::string> FeedforwardController::names(
  const std::vector<std::string> & interfaces) const
{
  std::vector<std::string> found;
  for (const auto & interface : interfaces) {
    for (const auto & joint : joints_) {
      found.push_back(joint + "/" + interface);
    }
  }
  return found;
}

InterfaceConfiguration FeedforwardController::command_interface_configuration() const
{
  return {interface_configuration_type::INDIVIDUAL, names({hardware_interface::HW_IF_EFFORT})};
}

InterfaceConfiguration FeedforwardController::state_interface_configuration() const
{
  return {interface_configuration_type::INDIVIDUAL,
    names({hardware_interface::HW_IF_POSITION, hardware_interface::HW_IF_VELOCITY})};
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
FeedforwardController::on_export_reference_interfaces_list()
{
  std::vector<hardware_interface::CommandInterface::SharedPtr> interfaces;
  for (const auto & name : names(reference_types_)) {
    interfaces.push_back(
      std::make_shared<hardware_interface::CommandInterface>(get_node()->get_name(), name));
  }
  return interfaces;
}

bool FeedforwardController::on_set_chained_mode(bool) {return true;}

CallbackReturn FeedforwardController::on_activate(const rclcpp_lifecycle::State &)
{
  feedforward_.restart();
  fault_ = nullptr;
  std::fill(values_.begin(), values_.end(), kNone);
  for (const auto & interface : ordered_exported_reference_interfaces_) {
    if (!interface->set_value(kNone)) {
      return CallbackReturn::ERROR;
    }
  }
  received_.initRT(Received{});
  return CallbackReturn::SUCCESS;
}

CallbackReturn FeedforwardController::on_deactivate(const rclcpp_lifecycle::State &)
{
  // Called while the command interfaces are still ours, outside the cycle: a ramp is not possible
  // here, so what carries nobody goes to zero and what holds the arm stays.
  feedforward_.stop();
  Vector tau = feedforward_.last();
  while (feedforward_.stop_step(kLongestStep, tau)) {
  }
  return !feedforward_.started() || write(tau) ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
}

return_type FeedforwardController::update_reference_from_subscribers(
  const rclcpp::Time & time, const rclcpp::Duration &)
{
  const Received * received = received_.readFromRT();
  if (!received->message || time.seconds() - received->seconds > timeout_) {
    std::fill(values_.begin(), values_.end(), kNone);
  } else {
    std::copy(received->message->data.begin(), received->message->data.end(), values_.begin());
  }
  return return_type::OK;
}

bool FeedforwardController::read_states(Vector & q, Vector & dq) const
{
  for (std::size_t i = 0; i < kJoints; ++i) {
    const auto position = state_interfaces_[i].get_optional();
    const auto velocity = state_interfaces_[kJoints + i].get_optional();
    if (!position || !velocity) {
      return false;
    }
    q[i] = *position;
    dq[i] = *velocity;
  }
  return true;
}

bool FeedforwardController::write(const Vector & tau)
{
  bool done = true;
  for (std::size_t i = 0; i < kJoints; ++i) {
    done = command_interfaces_[i].set_value(tau[i]) && done;
  }
  return done;
}

return_type FeedforwardController::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration & period)
{
  if (is_in_chained_mode()) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] = ordered_exported_reference_interfaces_[i]->get_optional().value_or(kNone);
    }
  }
  Vector q, dq, tau = feedforward_.last();
  const bool read = read_states(q, dq);
  const bool given = std::all_of(
    values_.begin(), values_.end(), [](double x) {return std::isfinite(x);});
  // Without a motion the arm is held; a torque that nobody gives any more is braked and stopped.
  const bool requested = motion_ || given;
  if (!read) {
    feedforward_.stop();
  } else if (!requested) {
    feedforward_.brake();
  }
  bool commanded = false;
  if (read && (requested || feedforward_.braking())) {
    Reference reference;
    Vector torque{};
    for (std::size_t i = 0; given && i < kJoints; ++i) {
      if (motion_) {
        reference.q[i] = values_[i];
        reference.dq[i] = values_[kJoints + i];
        reference.ddq[i] = values_[2 * kJoints + i];
      } else {
        torque[i] = values_[i];
      }
    }
    commanded = feedforward_.update(
      time.seconds(), q, dq, given && motion_ ? &reference : nullptr, tau,
      motion_ ? nullptr : &torque) == Outcome::command;
  }
  if (!commanded) {
    feedforward_.stop_step(period.seconds(), tau);
  }
  if (feedforward_.fault() != fault_) {
    fault_ = feedforward_.fault();
    if (fault_) {
      RCLCPP_ERROR(
        get_node()->get_logger(), "Stopped: %s. Deactivate and activate to begin again.", fault_);
    }
  }
  // Before the first command the interfaces are left as they are.
  return !feedforward_.started() || write(tau) ? return_type::OK : return_type::ERROR;
}

}  // namespace @NAME@

PLUGINLIB_EXPORT_CLASS(
  @NAME@::FeedforwardController, controller_interface::ChainableControllerInterface)
