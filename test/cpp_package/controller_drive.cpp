// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// The generated controller behind a C interface, for test_controller.py. It is compiled with a
// stand-in of ros2_control, and counts what a control cycle allocates.
#include <cstdlib>
#include <new>

#include "my_arm/feedforward_controller.hpp"

namespace
{
bool counts = false;
int allocations = 0;
std::string text;  // the last one that was returned

class Controller : public my_arm::FeedforwardController
{
public:
  using FeedforwardController::on_export_reference_interfaces_list;
};
}  // namespace

void * operator new(std::size_t size)
{
  allocations += counts;
  return std::malloc(size);
}
void operator delete(void * place) noexcept {std::free(place);}
void operator delete(void * place, std::size_t) noexcept {std::free(place);}

extern "C" {
Controller * make() {return new Controller;}
void drop(Controller * it) {delete it;}

void set_bool(Controller * it, const char * name, int value)
{
  it->get_node()->given[name] = value != 0;
}
void set_double(Controller * it, const char * name, double value)
{
  it->get_node()->given[name] = value;
}
void set_string(Controller * it, const char * name, const char * value)
{
  it->get_node()->given[name] = std::string(value);
}
void set_doubles(Controller * it, const char * name, int count, const double * values)
{
  it->get_node()->given[name] = std::vector<double>(values, values + count);
}
void set_joints(Controller * it, int count, const char ** names)
{
  it->get_node()->given["joints"] = std::vector<std::string>(names, names + count);
}

/* Configures and activates; returns why not, or null. */
const char * start(Controller * it, int chained)
{
  constexpr auto kDone = controller_interface::CallbackReturn::SUCCESS;
  stand_in::said.clear();
  if (it->on_init() != kDone) {return "init";}
  try {
    if (it->on_configure({}) != kDone) {return stand_in::said.c_str();}
  } catch (const std::exception & error) {
    return (text = std::string("configure threw ") + error.what()).c_str();
  }
  it->command_interfaces_.clear();
  it->state_interfaces_.clear();
  for (const auto & name : it->command_interface_configuration().names) {
    it->command_interfaces_.push_back({name, {}});
  }
  for (const auto & name : it->state_interface_configuration().names) {
    it->state_interfaces_.push_back({name, {}});
  }
  it->chain();
  it->is_chained = chained != 0;
  return it->on_activate({}) == kDone ? nullptr : stand_in::said.c_str();
}

void receive(Controller *, int from, int count, const double * values)
{
  using Message = std_msgs::msg::Float64MultiArray;
  rclcpp::MessageInfo info;
  info.info.publisher_gid.data[0] = static_cast<std::uint8_t>(from);
  auto message = std::make_shared<Message>();
  message->data.assign(values, values + count);
  std::static_pointer_cast<rclcpp::Subscription<Message>>(stand_in::subscription)->callback(
    message, info);
}

/* A chained command of as many values as the controller has references; null for none. */
void command(Controller * it, const double * values)
{
  std::size_t k = 0;
  for (auto & each : it->ordered_exported_reference_interfaces_) {
    each->value = values ? values[k++] : std::numeric_limits<double>::quiet_NaN();
  }
}

/* Runs a cycle; tau gets NaN where nothing was written. Returns the number of allocations. */
int cycle(Controller * it, double seconds, const double * q, const double * dq, double * tau)
{
  const std::size_t n = it->command_interfaces_.size();
  for (std::size_t i = 0; i < n; ++i) {
    it->state_interfaces_[i].value = q[i];
    it->state_interfaces_[n + i].value = dq[i];
  }
  allocations = 0;
  counts = true;
  const auto done = it->update({}, {seconds});
  counts = false;
  for (std::size_t i = 0; i < n; ++i) {
    tau[i] = it->command_interfaces_[i].value.value_or(std::numeric_limits<double>::quiet_NaN());
  }
  return done == controller_interface::return_type::OK ? allocations : -1;
}

int stop(Controller * it) {return it->on_deactivate({}) == controller_interface::CallbackReturn::SUCCESS;}

void robots(const double * gravity, const double * coriolis, const double * mass)
{
  using Robot = franka_semantic_components::FrankaRobotModel;
  std::copy(gravity, gravity + 7, Robot::gravity.begin());
  std::copy(coriolis, coriolis + 7, Robot::coriolis.begin());
  std::copy(mass, mass + 49, Robot::mass.begin());
}

/* The status, published if it changed: level, message, then key and value, a line each. */
const char * status(Controller *)
{
  using Status = diagnostic_msgs::msg::DiagnosticStatus;
  stand_in::timer->callback();
  const auto & sent =
    std::static_pointer_cast<rclcpp::Publisher<Status>>(stand_in::publisher)->sent;
  text = std::to_string(sent.back().level) + "\n" + sent.back().message;
  for (const auto & value : sent.back().values) {
    text += "\n" + value.key + "\n" + value.value;
  }
  return text.c_str();
}

/* Names of the interfaces that are claimed, a line each. */
const char * interfaces(Controller * it)
{
  text.clear();
  for (const auto & name : it->state_interface_configuration().names) {
    text += name + "\n";
  }
  return text.c_str();
}
}
