// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "@NAME@/feedforward_controller.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
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

// Of the kinds of command, in the order of Command.
constexpr const char * kCommands[] = {"motion", "torque", "total_torque"};

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
  auto_declare<std::string>("reference", kCommands[0]);
  auto_declare<double>("reference_timeout", kCommandTimeoutS);
  auto_declare<std::string>("robot_model", "");
@DECLARATIONS@
  return CallbackReturn::SUCCESS;
}

bool FeedforwardController::refuse(const std::string & sentence) const
{
  RCLCPP_ERROR(get_node()->get_logger(), "%s", sentence.c_str());
  return false;
}

bool FeedforwardController::read_settings(Settings & settings)
{
  const auto node = get_node();
  const std::string target = node->get_parameter("target").as_string();
  const auto found = std::find_if(
    std::begin(kTargets), std::end(kTargets), [&](const Target & one) {return one.name == target;});
  if (found == std::end(kTargets)) {
    std::string names;
    for (const Target & one : kTargets) {
      names += std::string(names.empty() ? "" : ", ") + one.name;
    }
    return refuse("There is no target '" + target + "'; the choices are " + names + ".");
  }
  settings.target = *found;
  const std::string kind = node->get_parameter("reference").as_string();
  const auto named = std::find(std::begin(kCommands), std::end(kCommands), kind);
  if (named == std::end(kCommands)) {
    return refuse("reference is '" + kind + "'; it must be motion, torque or total_torque.");
  }
  settings.command = static_cast<Command>(named - std::begin(kCommands));
  settings.friction = node->get_parameter("terms.friction").as_bool();
  const auto gravity = node->get_parameter("gravity_vector").as_double_array();
  const auto payload = node->get_parameter("payload").as_double_array();
  if (gravity.size() != 3 || payload.size() != 10) {
    return refuse("gravity_vector takes three numbers and payload ten.");
  }
  std::copy(gravity.begin(), gravity.end(), settings.gravity_vector.begin());
  std::copy(payload.begin(), payload.end(), settings.payload.begin());
  settings.payload_known_to_robot = node->get_parameter("payload_known_to_robot").as_bool();
  settings.scale = node->get_parameter("scale").as_double();
  if (!gains_of(node->get_parameter("kp").as_double_array(), settings.kp) ||
    !gains_of(node->get_parameter("kd").as_double_array(), settings.kd))
  {
    return refuse("kp and kd take one number for all joints, or one for each.");
  }
  return true;
}

CallbackReturn FeedforwardController::on_configure(const rclcpp_lifecycle::State &)
{
  const auto node = get_node();
  joints_ = node->get_parameter("joints").as_string_array();
  if (joints_.size() != kJoints) {
    refuse(
      "joints has " + std::to_string(joints_.size()) + " names, but @ARM@ has " +
      std::to_string(kJoints) + " joints.");
    return CallbackReturn::ERROR;
  }
  Settings settings;
  if (!read_settings(settings)) {
    return CallbackReturn::ERROR;
  }
  feedforward_.restart();
  const char * wrong = feedforward_.configure(settings);
  timeout_ = node->get_parameter("reference_timeout").as_double();
  if (!wrong) {
    wrong = inbox_.configure(settings.command, timeout_);
  }
  if (!wrong) {
    wrong = robot_model_.configure(node->get_parameter("robot_model").as_string());
  }
  if (wrong) {
    refuse(std::string(wrong) + ".");
    return CallbackReturn::ERROR;
  }
  reference_types_ = settings.command == Command::motion ?
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
  if (inbox_.receive(from, message.data.data(), message.data.size()) == Answer::other_publisher) {
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
  const State state = feedforward_.state();
  Status status;
  status.name = get_node()->get_fully_qualified_name();
  status.hardware_id = "@ARM@";
  status.level = state == State::fault ? Status::ERROR :
    state == State::braking || state == State::stopped ? Status::WARN : Status::OK;
  status.message = kStateSentences[static_cast<std::size_t>(state)];
  if (const char * fault = feedforward_.fault()) {
    status.message = std::string("stopped by a fault: ") + fault;
  }
  const auto tell_value = [&status](const std::string & key, const std::string & value) {
      status.values.emplace_back();
      status.values.back().key = key;
      status.values.back().value = value;
    };
  tell_value("state", kStateWords[static_cast<std::size_t>(state)]);
  if (is_in_chained_mode()) {
    tell_value("publisher", "upstream");
  } else if (state == State::following && inbox_.count(Answer::heard)) {
    tell_value("publisher", publisher_name(inbox_.publisher()));
  }
  if (inbox_.count(Answer::other_publisher)) {
    tell_value("refused publisher", publisher_name(refused_));
  }
  tell_value("time-outs", std::to_string(feedforward_.timeouts()));
  for (std::size_t k = 1; k < std::size(kAnswerWords); ++k) {  // the first is no refusal
    tell_value(
      std::string("refused: ") + kAnswerWords[k],
      std::to_string(inbox_.count(static_cast<Answer>(k))));
  }
  if (robot_model_.claimed()) {
    tell_value("largest difference from the robot's model", robot_model_.difference());
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
  auto found = names({hardware_interface::HW_IF_POSITION, hardware_interface::HW_IF_VELOCITY});
  const auto more = robot_model_.interfaces();
  found.insert(found.end(), more.begin(), more.end());
  return {interface_configuration_type::INDIVIDUAL, found};
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
  inbox_.forget();
  given_ = nullptr;
  chained_age_ = std::numeric_limits<double>::infinity();
  if (const char * wrong = robot_model_.activate(state_interfaces_)) {
    refuse(std::string(wrong) + ".");
    return CallbackReturn::ERROR;
  }
  for (const auto & interface : ordered_exported_reference_interfaces_) {
    if (!interface->set_value(kNone)) {
      return CallbackReturn::ERROR;
    }
  }
  return CallbackReturn::SUCCESS;
}

CallbackReturn FeedforwardController::on_deactivate(const rclcpp_lifecycle::State &)
{
  robot_model_.release();
  // The command interfaces still belong to this controller, but no further cycle comes: a ramp is
  // not possible. The last torque written is therefore that at the end of the stop sequence: zero,
  // or the gravity torque if the target does not add it.
  Vector tau;
  return !feedforward_.end(tau) || write(tau) ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
}

return_type FeedforwardController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration & period)
{
  given_ = inbox_.current(period.seconds());
  return return_type::OK;
}

const Reference * FeedforwardController::chained(double elapsed)
{
  const Command command = feedforward_.settings().command;
  std::array<double, command_size(Command::motion)> values;
  const std::size_t count = command_size(command);
  for (std::size_t i = 0; i < count; ++i) {
    auto & interface = *ordered_exported_reference_interfaces_[i];
    values[i] = interface.get_optional().value_or(kNone);
    static_cast<void>(interface.set_value(kNone));  // a value that comes again was written anew
  }
  const bool heard = read_command(command, values.data(), count, chained_) == Answer::heard;
  chained_age_ = heard ? 0.0 : chained_age_ + elapsed;
  return chained_age_ <= timeout_ ? &chained_ : nullptr;
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
  const Reference * given = is_in_chained_mode() ? chained(elapsed) : given_;
  Vector q, dq, tau;
  const bool read = read_states(q, dq);
  if (read) {
    robot_model_.compare(feedforward_.terms(), q, dq);
  }
  // Nothing is written before the first command.
  const bool sends =
    feedforward_.cycle(elapsed, read ? &q : nullptr, read ? &dq : nullptr, given, tau);
  return !sends || write(tau) ? return_type::OK : return_type::ERROR;
}

}  // namespace @NAME@

PLUGINLIB_EXPORT_CLASS(
  @NAME@::FeedforwardController, controller_interface::ChainableControllerInterface)
