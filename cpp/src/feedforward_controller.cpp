// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "feedforward_controller.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"

#include "franka_dynamics_controllers/arm_file.hpp"
#include "franka_dynamics_controllers/arm_from_urdf.hpp"
#include "controller_settings.hpp"

namespace franka_dynamics_controllers
{

using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;
using hardware_interface::HW_IF_ACCELERATION;
using hardware_interface::HW_IF_EFFORT;
using hardware_interface::HW_IF_POSITION;
using hardware_interface::HW_IF_VELOCITY;
using Locked = std::lock_guard<std::mutex>;

namespace
{
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Parameters that are not this controller's, and yet no mistake: of ROS and ros2_control, and those
// that franka_bringup gives to every node of its controller manager.
const std::vector<std::string> kOfOthers{
  "type", "update_rate", "is_async", "async_parameters", "thread_priority", "use_sim_time",
  "qos_overrides", "params_file", "node_options_args", "fallback_controllers",
  "arm_prefix", "load_gripper", "robot_type"};

bool ends_with(const std::string & name, const std::string & ending)
{
  return name.size() >= ending.size() &&
         name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}
}  // namespace

FeedforwardController::CallbackReturn FeedforwardController::on_init()
{
  try {
    parameter_listener_ = std::make_shared<feedforward_controller::ParamListener>(get_node());
  } catch (const std::exception & error) {
    return fail(error.what());
  }
  return CallbackReturn::SUCCESS;
}

void FeedforwardController::warn_of_unknown_parameters()
{
  // ros2_control may declare whatever a file gives, without a description; some are its own.
  const auto node = get_node();
  for (const auto & [name, value] :
    node->get_node_parameters_interface()->get_parameter_overrides())
  {
    const std::string first = name.substr(0, name.find('.'));
    const bool of_others =
      std::find(kOfOthers.begin(), kOfOthers.end(), first) != kOfOthers.end();
    if (!of_others && (!node->has_parameter(name) ||
      node->describe_parameter(name).description.empty()))
    {
      RCLCPP_WARN(node->get_logger(), "there is no parameter %s.", name.c_str());
    }
  }
}

FeedforwardController::CallbackReturn FeedforwardController::fail(const std::string & reason) const
{
  RCLCPP_ERROR(
    get_node()->get_logger(), "%s%s", reason.c_str(), ends_with(reason, "?") ? "" : ".");
  return CallbackReturn::FAILURE;
}

Arm FeedforwardController::read_arm() const
{
  const std::vector<std::string> & requested = parameters_.joints;
  if (parameters_.arm_file.empty()) {
    std::vector<std::string> notes;
    Arm arm = arm_from_urdf(get_robot_description(), requested, parameters_.flange, notes);
    for (const auto & note : notes) {
      RCLCPP_INFO(get_node()->get_logger(), "robot_description: %s.", note.c_str());
    }
    return arm;
  }
  Arm arm = arm_from_file(parameters_.arm_file);
  if (requested.empty()) {
    return arm;
  }
  // A prefix may stand before the names that the file has.
  const auto [named_end, file_end] = std::mismatch(
    requested.begin(), requested.end(), arm.joints.begin(), arm.joints.end(), ends_with);
  if (named_end != requested.end() || file_end != arm.joints.end()) {
    throw std::runtime_error("joints names " + std::to_string(requested.size()) + " and " +
            parameters_.arm_file + " has " + std::to_string(arm.n()) +
            " joints, which differ in number " + std::to_string(named_end - requested.begin() + 1) +
            ": " + (named_end == requested.end() ? "none" : *named_end) + " and " +
            (file_end == arm.joints.end() ? "none" : *file_end));
  }
  arm.joints = requested;
  return arm;
}

FeedforwardController::CallbackReturn FeedforwardController::on_configure(const LifecycleState &)
{
  const Locked locked(configuring_);
  parameters_ = parameter_listener_->get_params();
  warn_of_unknown_parameters();
  try {
    const Arm arm = read_arm();
    const Settings settings = settings_of(parameters_, arm);
    const std::string reason = robot_model_.configure(parameters_.robot_model, arm.n());
    if (!reason.empty()) {
      return fail(reason);
    }
    const auto logger = get_node()->get_logger();
    if (arm.payload.mass > 0.0 && settings.payload[0] > 0.0) {
      RCLCPP_WARN(
        logger, "payload is %g kg, beside %g kg that %s was exported with: both are counted.",
        settings.payload[0], arm.payload.mass, arm.name.c_str());
    }
    const bool has_friction = arm.friction.kind != FrictionModel::Kind::none;
    const bool may_command_friction =
      settings.command == Command::motion || settings.command == Command::law;
    if (has_friction && !settings.friction && may_command_friction) {
      RCLCPP_INFO(
        logger, "%s has joint friction, which terms.friction: true commands.", arm.name.c_str());
    }
    command_ = settings.command;
    measures_effort_ = has_measured_effort(arm);
    feedforward_.reset();
    receiver_.reset();
    if (command_ == Command::total_torque) {
      receiver_ = std::make_unique<TorqueReceiver>(arm);
      receiver_->apply(settings);
    } else {
      const StateLimits limits = state_limits();
      feedforward_ = std::make_unique<Feedforward>(arm, limits);
      const std::string refused = feedforward_->refusal(settings, limits.period);
      if (!refused.empty()) {
        return fail(refused);
      }
      static_cast<void>(feedforward_->apply(feedforward_->law_of(settings)));
    }
    inbox_ = std::make_unique<Inbox>(arm, command_, parameters_.reference_timeout);
  } catch (const std::exception & error) {
    return fail(error.what());
  }
  static_cast<void>(settings_.read());  // older than those of the configuration
  static_cast<void>(laws_.read());
  open_topics();
  return CallbackReturn::SUCCESS;
}

void FeedforwardController::open_topics()
{
  const auto node = get_node();
  // The parameters' own callback comes after this one, so nothing must be changed here.
  accepting_ = node->add_on_set_parameters_callback(
    [this](const std::vector<rclcpp::Parameter> & changed) {return accept(changed);});
  applying_ = node->add_post_set_parameters_callback(
    [this](const std::vector<rclcpp::Parameter> &) {
      const Locked locked(configuring_);
      use(settings_of(parameter_listener_->get_params(), arm()));
    });
  // Best effort also matches reliable publishers. A depth of ten, so that a second publisher's
  // messages do not push out those of the accepted one.
  subscription_ = node->create_subscription<Message>(
    "~/reference", rclcpp::QoS(10).best_effort(),
    [this](const std::shared_ptr<const Message> & message, const rclcpp::MessageInfo & info) {
      receive(*message, info);
    });
  publisher_ = node->create_publisher<Status>("~/status", rclcpp::QoS(1).transient_local());
  timer_ = node->create_wall_timer(std::chrono::milliseconds(50), [this]() {publish_status();});
  if (feedforward_) {
    starting_ = node->create_service<Trigger>(
      "~/start",
      [this](const Trigger::Request::SharedPtr &, const Trigger::Response::SharedPtr & response) {
        answer_start(*response);
      });
  } else {
    // Tells the sender of torques for which target they must be.
    declaration_ = node->create_service<Trigger>(
      "~/franka_dynamics/takes_torques_for_" + parameters_.target,
      [](const Trigger::Request::SharedPtr &, const Trigger::Response::SharedPtr & response) {
        response->success = true;
      });
  }
}

rcl_interfaces::msg::SetParametersResult FeedforwardController::accept(
  const std::vector<rclcpp::Parameter> & changed)
{
  rcl_interfaces::msg::SetParametersResult result;
  result.successful = true;
  try {
    const auto present = parameter_listener_->get_params();
    const auto given = with_changes(present, changed);
    const Locked locked(configuring_);
    const Settings settings = checked_settings(given);
    if (feedforward_) {
      const Reason pulled = feedforward_->pull_refusal(settings_of(present, arm()), settings);
      if (pulled) {
        throw std::runtime_error(text_of(pulled, arm()));
      }
    }
  } catch (const std::exception & error) {
    result.successful = false;
    result.reason = error.what();
  }
  return result;
}

StateLimits FeedforwardController::state_limits() const
{
  StateLimits limits;
  if (const unsigned rate = get_update_rate(); rate > 0) {
    limits.period = std::max(1.0 / rate, kMinStatePeriodS);
  }
  if (limits.period > kMaxStatePeriodS && parameters_.guard) {
    throw std::runtime_error(
            "the update_rate is " + std::to_string(get_update_rate()) + " Hz; the guard needs " +
            as_text(1.0 / kMaxStatePeriodS) + " Hz or more");
  }
  return limits;
}

bool FeedforwardController::has_measured_effort(const Arm & arm) const
{
  if (parameters_.measured_effort != "auto" || command_ == Command::total_torque) {
    return parameters_.measured_effort == "used" && command_ != Command::total_torque;
  }
  return has_effort_states(get_robot_description(), arm.joints);
}

Settings FeedforwardController::checked_settings(const Parameters & given) const
{
  const Settings settings = settings_of(given, arm());
  if (feedforward_) {
    const std::string refused = feedforward_->refusal(settings, state_limits().period);
    if (!refused.empty()) {
      throw std::runtime_error(refused);
    }
  }
  return settings;
}

void FeedforwardController::use(const Settings & settings)
{
  if (feedforward_) {
    laws_.write(feedforward_->law_of(settings));
  } else {
    settings_.write(settings);
  }
}

void FeedforwardController::answer_start(Trigger::Response & response)
{
  static_cast<void>(start_answer_.read());
  is_start_requested_ = true;
  constexpr int kMaxWaits = 100;
  for (int k = 0; k < kMaxWaits && !start_answer_.has_new(); ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!start_answer_.has_new()) {
    response.success = false;
    response.message = "no control cycle came; the next one will start";
    return;
  }
  const Reason refused = start_answer_.read();
  response.success = !refused;
  response.message = refused ? text_of(refused, arm()) : "started; ~/status says if it waits";
}

void FeedforwardController::start_if_requested()
{
  if (feedforward_ && is_start_requested_.exchange(false)) {
    start_answer_.write(feedforward_->start());
  }
}

void FeedforwardController::receive(const Message & message, const rclcpp::MessageInfo & info)
{
  const Locked locked(configuring_);
  Inbox::Publisher from{};
  const auto & gid = info.get_rmw_message_info().publisher_gid.data;
  static_assert(sizeof gid == sizeof from);
  std::copy(std::begin(gid), std::end(gid), from.begin());
  if (inbox_->receive(from, message.data.data(), message.data.size()) == Answer::other_publisher) {
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

void FeedforwardController::tell_state(Status & status)
{
  const Feedforward::Status & now = feedforward_->status();
  const Ending & ending = now.ending;
  status.level = Status::OK;
  if (ending.is_fault()) {
    status.level = Status::ERROR;
  } else if (now.state != CoreState::running && now.state != CoreState::silent) {
    status.level = Status::WARN;
  } else if (now.state == CoreState::silent && !ending.begins_alone()) {
    status.level = Status::WARN;
  }
  const std::string why = text_of(ending, arm());
  const std::string word = kStateWords[static_cast<std::size_t>(now.state)];
  status.message = word + ": " + (why.empty() ? "torques are sent" : why);
  if (const std::string note = text_of(now.note, arm()); !note.empty()) {
    status.message += "; " + note;
  }
  if (ending.remedy == Remedy::wait) {
    status.message += std::string("; to command again: ") +
      kRemedies[static_cast<std::size_t>(ending.remedy)].words;
  } else if (ending.remedy == Remedy::configure) {
    status.message += "; to command again: clean up and configure " + status.name;
  } else if (ending.remedy != Remedy::none) {
    const std::string first = ending.is_fault() ? "remove the cause, then call " : "call ";
    status.message += "; to command again: " + first + status.name + "/start";
  }
}

void FeedforwardController::tell_receiver_state(Status & status) const
{
  const ReceiverState state = receiver_->state();
  status.level = Status::OK;
  if (state == ReceiverState::fault) {
    status.level = Status::ERROR;
  } else if (state == ReceiverState::braking || state == ReceiverState::stopped) {
    status.level = Status::WARN;
  }
  status.message = kReceiverSentences[static_cast<std::size_t>(state)];
  if (const char * fault = receiver_->fault()) {
    status.message += std::string(": ") + fault + "; the next torque ends it";
  }
}

FeedforwardController::Status FeedforwardController::status()
{
  Status status;
  status.name = get_node()->get_fully_qualified_name();
  status.hardware_id = arm().name;
  std::string state;
  bool is_followed = false;
  if (feedforward_) {
    tell_state(status);
    const CoreState now = feedforward_->state();
    state = kStateWords[static_cast<std::size_t>(now)];
    is_followed = now == CoreState::running;
  } else {
    tell_receiver_state(status);
    const ReceiverState now = receiver_->state();
    state = kReceiverWords[static_cast<std::size_t>(now)];
    is_followed = now == ReceiverState::following;
  }
  const auto add_value = [&status](const std::string & key, const std::string & value) {
      status.values.emplace_back();
      status.values.back().key = key;
      status.values.back().value = value;
    };
  add_value("state", state);
  if (is_in_chained_mode()) {
    add_value("publisher", "upstream");
  } else if (is_followed && inbox_->count(Answer::heard)) {
    add_value("publisher", publisher_name(inbox_->publisher()));
  }
  if (inbox_->count(Answer::other_publisher)) {
    add_value("refused publisher", publisher_name(refused_));
  }
  add_value(
    "time-outs",
    std::to_string(feedforward_ ? feedforward_->timeouts() : receiver_->timeouts()));
  if (feedforward_) {
    add_value("guard", parameters_.guard ? "on" : "off");
    add_value("measured torques", measures_effort_ ? "used" : "none");
    add_value("faults", std::to_string(feedforward_->faults()));
    add_value("lost states", std::to_string(feedforward_->losses()));
  }
  for (std::size_t k = 1; k < std::size(kAnswerWords); ++k) {  // the first is no refusal
    const auto count = inbox_->count(static_cast<Answer>(k));
    add_value(std::string("refused: ").append(kAnswerWords[k]), std::to_string(count));
  }
  if (robot_model_.claimed()) {
    add_value("largest difference from the robot's model", robot_model_.difference());
  }
  return status;
}

void FeedforwardController::publish_status()
{
  const Locked locked(configuring_);
  const Status now = status();
  if (now == status_) {
    return;
  }
  publisher_->publish(now);
  std::string text = now.message;
  for (const auto & value : now.values) {
    text.append("; ").append(value.key).append(" ").append(value.value);
  }
  const auto logger = get_node()->get_logger();
  if (now.message == status_.message) {  // only values changed, such as counts of refused messages
    RCLCPP_WARN_THROTTLE(logger, *get_node()->get_clock(), 1000, "%s", text.c_str());
  } else if (now.level == Status::OK) {
    RCLCPP_INFO(logger, "%s", text.c_str());
  } else {
    RCLCPP_WARN(logger, "%s", text.c_str());
  }
  status_ = now;
}

std::vector<std::string> FeedforwardController::names(
  const std::vector<std::string> & interfaces) const
{
  std::vector<std::string> full_names;
  for (const auto & interface : interfaces) {
    for (const auto & joint : arm().joints) {
      full_names.push_back(std::string(joint).append("/").append(interface));
    }
  }
  return full_names;
}

InterfaceConfiguration FeedforwardController::command_interface_configuration() const
{
  return {interface_configuration_type::INDIVIDUAL, names({HW_IF_EFFORT})};
}

InterfaceConfiguration FeedforwardController::state_interface_configuration() const
{
  std::vector<std::string> kinds{HW_IF_POSITION, HW_IF_VELOCITY};
  if (measures_effort_) {
    kinds.emplace_back(HW_IF_EFFORT);
  }
  std::vector<std::string> claimed = names(kinds);
  const std::vector<std::string> of_robot_model = robot_model_.interfaces();
  claimed.insert(claimed.end(), of_robot_model.begin(), of_robot_model.end());
  return {interface_configuration_type::INDIVIDUAL, claimed};
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
FeedforwardController::on_export_reference_interfaces_list()
{
  std::vector<std::string> kinds{
    command_ == Command::motion ? HW_IF_POSITION : HW_IF_EFFORT};
  if (command_ == Command::motion || command_ == Command::law) {
    kinds.emplace_back(HW_IF_VELOCITY);
    kinds.emplace_back(HW_IF_ACCELERATION);
  }
  std::vector<hardware_interface::CommandInterface::SharedPtr> interfaces;
  for (const auto & name : names(kinds)) {
    interfaces.push_back(
      std::make_shared<hardware_interface::CommandInterface>(get_node()->get_name(), name));
  }
  return interfaces;
}

FeedforwardController::CallbackReturn FeedforwardController::on_activate(const LifecycleState &)
{
  if (feedforward_) {
    feedforward_->restart();
  } else {
    receiver_->restart();
  }
  is_start_requested_ = false;
  inbox_->forget();
  given_ = nullptr;
  chained_age_ = std::numeric_limits<double>::infinity();
  std::string reason = robot_model_.activate(state_interfaces_);
  for (const auto & interface : ordered_exported_reference_interfaces_) {
    if (!interface->set_value(kNone)) {
      reason = "the reference interfaces cannot be written";
    }
  }
  return reason.empty() ? CallbackReturn::SUCCESS : fail(reason);
}

bool FeedforwardController::end_torques()
{
  // The command interfaces still belong to this controller, but no further cycle comes: a ramp is
  // not possible. The last torque written is therefore that at the end of the stop sequence: zero,
  // or the gravity torque if the target does not add it.
  Vector tau;
  bool sent = false;
  if (feedforward_) {
    sent = feedforward_->end_at_once(tau);
  } else if (receiver_) {
    sent = receiver_->end_at_once(tau);
  }
  return !sent || command_interfaces_.empty() || write(tau);
}

FeedforwardController::CallbackReturn FeedforwardController::on_deactivate(const LifecycleState &)
{
  robot_model_.release();
  return end_torques() ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
}

FeedforwardController::CallbackReturn FeedforwardController::on_cleanup(const LifecycleState &)
{
  const Locked locked(configuring_);
  accepting_.reset();
  applying_.reset();
  timer_.reset();
  subscription_.reset();
  publisher_.reset();
  declaration_.reset();
  starting_.reset();
  robot_model_.configure("", 0);
  status_ = Status{};
  return CallbackReturn::SUCCESS;
}

FeedforwardController::CallbackReturn FeedforwardController::on_error(const LifecycleState & state)
{
  static_cast<void>(end_torques());
  robot_model_.release();
  return on_cleanup(state);
}

return_type FeedforwardController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration & period)
{
  given_ = inbox_->current(period.seconds());
  return return_type::OK;
}

const Reference * FeedforwardController::chained(double elapsed)
{
  std::array<double, command_size(Command::motion, kMaxJoints)> values{};
  const std::size_t count = command_size(command_, arm().n());
  for (std::size_t i = 0; i < count; ++i) {
    auto & interface = *ordered_exported_reference_interfaces_[i];
    values[i] = interface.get_optional().value_or(kNone);
    static_cast<void>(interface.set_value(kNone));  // a value that comes again was written anew
  }
  const Answer answer =
    read_command(arm(), command_, values.data(), count, chained_);
  chained_age_ = answer == Answer::heard ? 0.0 : chained_age_ + elapsed;
  const auto is_written = [](double value) {return std::isfinite(value);};
  if (answer != Answer::heard && std::any_of(values.begin(), values.begin() + count, is_written)) {
    inbox_->count_answer(answer);
  }
  return chained_age_ <= parameters_.reference_timeout ? &chained_ : nullptr;
}

bool FeedforwardController::read_states(JointState & state, Vector & effort) const
{
  const std::size_t n = arm().n();
  for (std::size_t i = 0; i < n; ++i) {
    const auto position = state_interfaces_[i].get_optional();
    const auto velocity = state_interfaces_[n + i].get_optional();
    if (!position || !velocity) {
      return false;
    }
    state.q[i] = *position;
    state.dq[i] = *velocity;
    if (measures_effort_) {  // one that is missing is not measured, as NaN says
      effort[i] = state_interfaces_[2 * n + i].get_optional().value_or(kNone);
    }
  }
  return true;
}

bool FeedforwardController::write(const Vector & tau)
{
  bool all_written = true;
  for (std::size_t i = 0; i < command_interfaces_.size(); ++i) {
    const bool is_written = command_interfaces_[i].set_value(tau[i]);
    all_written = all_written && is_written;
  }
  return all_written;
}

return_type FeedforwardController::update_and_write_commands(
  const rclcpp::Time &, const rclcpp::Duration & period)
{
  // Time is the sum of the periods, because the node's clock can be set back.
  const double elapsed = period.seconds();
  const Reference * given = is_in_chained_mode() ? chained(elapsed) : given_;
  JointState state;
  Vector effort{};
  Vector tau;
  const JointState * const measured = read_states(state, effort) ? &state : nullptr;
  if (measured) {
    robot_model_.compare(receiver_ ? receiver_->terms() : feedforward_->terms(), state);
  }
  // Nothing is written before the first total torque, or before a state has agreed with the model.
  bool sends = false;
  if (receiver_) {
    if (settings_.has_new()) {
      receiver_->apply(settings_.read());
    }
    sends = receiver_->cycle(elapsed, measured, given, tau);
  } else {
    // A law that would pull the arm was refused when it was set, but the arm has moved since: it
    // waits until it pulls no more.
    if (laws_.has_new() || is_law_waiting_) {
      is_law_waiting_ = static_cast<bool>(feedforward_->apply(laws_.read()));
    }
    start_if_requested();
    sends =
      feedforward_->cycle(elapsed, measured, given, tau, measures_effort_ ? &effort : nullptr);
  }
  return !sends || write(tau) ? return_type::OK : return_type::ERROR;
}

}  // namespace franka_dynamics_controllers

PLUGINLIB_EXPORT_CLASS(
  franka_dynamics_controllers::FeedforwardController,
  controller_interface::ChainableControllerInterface)
