// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "controller_settings.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>

namespace franka_dynamics_controllers
{

namespace
{
// What a parameter says, in the order of the enumerations Command and Tilt.
const std::vector<std::string> kCommands{"motion", "torque", "total_torque", "law"};
const std::vector<std::string> kTilts{"", "robot", "node"};

template<typename Enumeration>
Enumeration choice(const std::vector<std::string> & words, const std::string & word)
{
  return static_cast<Enumeration>(std::find(words.begin(), words.end(), word) - words.begin());
}

/// Copy a parameter's numbers, of which there must be `count` or, if that is another number,
/// `short_count`. One number for several joints is that of each.
template<std::size_t Size>
void fill(
  const std::string & name, const std::vector<double> & given, std::size_t short_count,
  std::size_t count, std::array<double, Size> & place)
{
  if (given.size() != short_count && given.size() != count) {
    const std::string choice = short_count == count ? "" : std::to_string(short_count) + " or ";
    throw std::runtime_error(
            name + " has " + std::to_string(given.size()) + " numbers; it takes " + choice +
            std::to_string(count));
  }
  std::copy(given.begin(), given.end(), place.begin());
  if (short_count == 1 && given.size() == 1) {
    std::fill_n(place.begin(), count, given[0]);
  }
}
}  // namespace

Command command_of(const feedforward_controller::Params & given)
{
  return choice<Command>(kCommands, given.reference);
}

Settings settings_of(const feedforward_controller::Params & given, const Arm & arm)
{
  Settings settings;
  settings.target = *std::find_if(
    std::begin(kTargets), std::end(kTargets),
    [&](const Target & target) {return target.name == given.target;});
  settings.command = command_of(given);
  settings.mount_tilt_compensated_by = choice<Tilt>(kTilts, given.mount_tilt_compensated_by);
  settings.friction = given.terms.friction;
  settings.offset = given.terms.offset;
  settings.guard = given.guard;
  std::array<double, 3> gravity{};
  fill("gravity_vector", given.gravity_vector, 3, 3, gravity);
  settings.gravity_vector = {gravity[0], gravity[1], gravity[2]};
  settings.payload_known_to_robot = given.payload_known_to_robot;
  settings.scale = given.scale;
  settings.friction_scale = given.friction_scale;
  fill("payload", given.payload, 4, settings.payload.size(), settings.payload);
  fill("kp", given.kp, 1, arm.n(), settings.kp);
  fill("kd", given.kd, 1, arm.n(), settings.kd);
  const std::string reason = refuse(arm, settings);
  if (!reason.empty()) {
    throw std::runtime_error(reason);
  }
  return settings;
}

feedforward_controller::Params with_changes(
  feedforward_controller::Params given, const std::vector<rclcpp::Parameter> & changed)
{
  // The parameters that feedforward_controller_parameters.yaml does not declare as read-only: one
  // that is added there must be added here, too, or it is not checked.
  for (const auto & parameter : changed) {
    const std::string & name = parameter.get_name();
    if (name == "terms.friction") {
      given.terms.friction = parameter.as_bool();
    }
    if (name == "terms.offset") {
      given.terms.offset = parameter.as_bool();
    }
    if (name == "gravity_vector") {
      given.gravity_vector = parameter.as_double_array();
    }
    if (name == "payload") {
      given.payload = parameter.as_double_array();
    }
    if (name == "payload_known_to_robot") {
      given.payload_known_to_robot = parameter.as_bool();
    }
    if (name == "scale") {
      given.scale = parameter.as_double();
    }
    if (name == "friction_scale") {
      given.friction_scale = parameter.as_double();
    }
    if (name == "kp") {
      given.kp = parameter.as_double_array();
    }
    if (name == "kd") {
      given.kd = parameter.as_double_array();
    }
  }
  return given;
}

}  // namespace franka_dynamics_controllers
