// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "@NAME@/feedforward_controller.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>

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
  auto_declare<double>("reference_timeout", 0.05);
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
  if (kind == "motion") {
    command_ = Command::motion;
  } else if (kind == "torque") {
    command_ = Command::torque;
  } else if (kind == "total_torque") {
    command_ = Command::total_torque;
  } else {
    RCLCPP_ERROR(
      node->get_logger(), "reference is '%s'; it must be motion, torque or total_torque.",
      kind.c_str());
    return CallbackReturn::ERROR;
  }
  Settings settings;
  if (!read_settings(settings)) {
    return CallbackReturn::ERROR;
  }
  const double timeout = node->get_parameter("reference_timeout").as_double();
  if (const char * reason = receiver_.configure(settings, command_, timeout)) {
    RCLCPP_ERROR(node->get_logger(), "%s.", reason);
    return CallbackReturn::ERROR;
  }
  reference_types_ = command_ == Command::motion ?
    std::vector<std::string>{hardware_interface::HW_IF_POSITION,
    hardware_interface::HW_IF_VELOCITY, hardware_interface::HW_IF_ACCELERATION} :
    std::vector<std::string>{hardware_interface::HW_IF_EFFORT};
  // Best effort also matches reliable publishers. A depth of ten, so that a second publisher's
  // messages do not push out those of the accepted one.
  subscription_ = node->create_subscription<Message>(
    "~/reference", rclcpp::QoS(10).best_effort(),
    [this](const std::shared_ptr<const Message> message, const rclcpp::MessageInfo & info) {
      receive(*message, info);
    });
  publisher_ = node->create_publisher<Status>("~/status", rclcpp::QoS(1).transient_local());
  timer_ = node->create_wall_timer(std::chrono::milliseconds(50), [this]() {tell();});
  return CallbackReturn::SUCCESS;
}

void FeedforwardController::receive(const Message & message, const rclcpp::MessageInfo & info)
{
  Inbox::Publisher from{};
  const auto & gid = info.get_rmw_message_info().publisher_gid.data;
  static_assert(sizeof gid == sizeof from);
  std::copy(std::begin(gid), std::end(gid), from.begin());
  if (receiver_.inbox.receive(from, message.data.data(), message.data.size()) ==
    Answer::other_publisher)
  {
    refused_ = from;
  }
}

std::string FeedforwardController::publisher_name(const Inbox::Publisher & gid) const
{
  for (const auto & info : get_node()->get_publishers_info_by_topic(
      subscription_->get_topic_name()))
  {
    if (std::equal(gid.begin(), gid.end(), info.endpoint_gid().begin())) {
      const std::string space = info.node_namespace();
      return space + (space.back() == '/' ? "" : "/") + info.node_name();
    }
  }
  return "a publisher that is gone";
}

void FeedforwardController::tell()
{
  // In the order of State.
  static constexpr const char * kStates[] = {
    "waiting for a first command", "following",
    "braking by the model: the torques ceased, or a fault",
    "holding the arm until a command comes", "stopped",
    "stopped by a fault; deactivate and activate to begin again: "};
  const State state = receiver_.state();
  const auto & inbox = receiver_.inbox;
  Status status;
  status.name = get_node()->get_fully_qualified_name();
  status.hardware_id = "@ARM@";
  status.level = state == State::fault ? Status::ERROR :
    state == State::braking || state == State::stopped ? Status::WARN : Status::OK;
  status.message = kStates[static_cast<std::size_t>(state)];
  if (const char * fault = receiver_.fault(); fault && state == State::fault) {
    status.message += fault;
  }
  const auto tell_value = [&status](const char * key, const std::string & value) {
      status.values.emplace_back();
      status.values.back().key = key;
      status.values.back().value = value;
    };
  if (state == State::following) {
    tell_value(
      "publisher", is_in_chained_mode() ? "upstream" : publisher_name(inbox.publisher()));
  }
  if (inbox.count(Answer::other_publisher)) {
    tell_value("refused publisher", publisher_name(refused_));
  }
  tell_value("time-outs", std::to_string(receiver_.timeouts()));
  static constexpr std::pair<const char *, Answer> kRefused[] = {
    {"refused: other publisher", Answer::other_publisher},
    {"refused: wrong size", Answer::wrong_size},
    {"refused: not finite", Answer::not_finite},
    {"refused: out of bounds", Answer::out_of_bounds}};
  for (const auto & [key, answer] : kRefused) {
    tell_value(key, std::to_string(inbox.count(answer)));
  }
  if (status == status_) {
    return;
  }
  publisher_->publish(status);
  std::string said = status.message;
  for (const auto & value : status.values) {
    said += "; " + value.key + " " + value.value;
  }
  const auto logger = get_node()->get_logger();
  if (status.message != status_.message && status.level == Status::OK) {
    RCLCPP_INFO(logger, "%s", said.c_str());
  } else if (status.message != status_.message) {
    RCLCPP_WARN(logger, "%s", said.c_str());
  } else {  // only values changed, such as the counts of refused messages
    RCLCPP_WARN_THROTTLE(logger, *get_node()->get_clock(), 1000, "%s", said.c_str());
  }
  status_ = status;
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
  receiver_.restart();
  for (const auto & interface : ordered_exported_reference_interfaces_) {
    if (!interface->set_value(kNone)) {
      return CallbackReturn::ERROR;
    }
  }
  return CallbackReturn::SUCCESS;
}

CallbackReturn FeedforwardController::on_deactivate(const rclcpp_lifecycle::State &)
{
  // The command interfaces still belong to this controller, but no further cycle comes: a ramp is
  // not possible. The last torque written is therefore that at the end of the stop sequence: zero,
  // or the gravity torque if the target does not add it.
  Vector tau;
  return !receiver_.end(tau) || write(tau) ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
}

return_type FeedforwardController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration &)
{
  return return_type::OK;  // the inbox is read with the period of the cycle
}

const Values * FeedforwardController::chained_values()
{
  const std::size_t count = command_size(command_);
  for (std::size_t i = 0; i < count; ++i) {
    chained_[i] = ordered_exported_reference_interfaces_[i]->get_optional().value_or(kNone);
  }
  return judged(command_, chained_.data(), count) == Answer::heard ? &chained_ : nullptr;
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
  const rclcpp::Time &, const rclcpp::Duration & period)
{
  // Time is the sum of the periods, because the node's clock can be set back.
  const double elapsed = period.seconds();
  const Values * values =
    is_in_chained_mode() ? chained_values() : receiver_.inbox.current(elapsed);
  Vector q, dq, tau;
  const bool read = read_states(q, dq);
  const bool started =
    receiver_.cycle(elapsed, read ? &q : nullptr, read ? &dq : nullptr, values, tau);
  // Nothing is written before the first command.
  return !started || write(tau) ? return_type::OK : return_type::ERROR;
}

}  // namespace @NAME@

PLUGINLIB_EXPORT_CLASS(
  @NAME@::FeedforwardController, controller_interface::ChainableControllerInterface)
