// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
// A stand-in for ros2_control's controller_interface, for the controller of docs/howto/cpp.md.
#ifndef STAND_IN_FOR_CONTROLLER_INTERFACE
#define STAND_IN_FOR_CONTROLLER_INTERFACE

#include <optional>
#include <string>
#include <vector>

#define PLUGINLIB_EXPORT_CLASS(Class, Base)

namespace rclcpp
{
struct Time {};
struct Duration {};
}  // namespace rclcpp
namespace rclcpp_lifecycle
{
struct State {};
}  // namespace rclcpp_lifecycle

namespace controller_interface
{
enum class CallbackReturn { SUCCESS, ERROR };
enum class return_type { OK, ERROR };
enum class interface_configuration_type { ALL, INDIVIDUAL, NONE };
struct InterfaceConfiguration
{
  interface_configuration_type type;
  std::vector<std::string> names;
};

struct Interface
{
  std::optional<double> value;
  std::optional<double> get_optional() const { return value; }
  [[nodiscard]] bool set_value(double given)
  {
    value = given;
    return true;
  }
};

class ControllerInterface
{
public:
  virtual ~ControllerInterface() = default;
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_init() = 0;
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) = 0;
  virtual return_type update(const rclcpp::Time &, const rclcpp::Duration &) = 0;
  std::vector<Interface> state_interfaces_, command_interfaces_;
};
}  // namespace controller_interface
#endif  // STAND_IN_FOR_CONTROLLER_INTERFACE
