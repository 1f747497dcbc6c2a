// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for what controllers use of ros2_control, rclcpp and franka_semantic_components, under
// their names. As in rclcpp, a parameter that was not declared cannot be read.
#ifndef ROS2_CONTROL_STAND_IN
#define ROS2_CONTROL_STAND_IN

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#define PLUGINLIB_EXPORT_CLASS(Class, Base)

namespace rclcpp
{
struct Time {};
struct Duration
{
  double length = 0.0;
  double seconds() const {return length;}
};
struct Logger {};
struct Clock {};
struct QoS
{
  explicit QoS(int) {}
  QoS & best_effort() {return *this;}
  QoS & transient_local() {return *this;}
};

using Value = std::variant<
  bool, double, std::string, std::vector<double>, std::vector<std::string>>;
struct Parameter
{
  Value value;
  bool as_bool() const {return std::get<bool>(value);}
  double as_double() const {return std::get<double>(value);}
  std::string as_string() const {return std::get<std::string>(value);}
  std::vector<double> as_double_array() const {return std::get<std::vector<double>>(value);}
  std::vector<std::string> as_string_array() const
  {
    return std::get<std::vector<std::string>>(value);
  }
};

struct Gid {std::uint8_t data[16];};
struct RmwInfo {Gid publisher_gid;};
struct MessageInfo
{
  RmwInfo info{};
  const RmwInfo & get_rmw_message_info() const {return info;}
};
/// Publishers are called sender1, sender2 and so on, after the first number of their GID.
struct EndpointInfo
{
  std::array<std::uint8_t, 16> gid{};
  const std::array<std::uint8_t, 16> & endpoint_gid() const {return gid;}
  std::string node_namespace() const {return "/";}
  std::string node_name() const {return "sender" + std::to_string(gid[0]);}
};

template<typename Message>
struct Publisher
{
  using SharedPtr = std::shared_ptr<Publisher>;
  std::vector<Message> sent;
  void publish(const Message & message) {sent.push_back(message);}
};
template<typename Message>
struct Subscription
{
  using SharedPtr = std::shared_ptr<Subscription>;
  std::function<void(std::shared_ptr<const Message>, const MessageInfo &)> callback;
  const char * get_topic_name() const {return "/feedforward/reference";}
};
struct TimerBase
{
  using SharedPtr = std::shared_ptr<TimerBase>;
  std::function<void()> callback;
};
}  // namespace rclcpp

namespace stand_in
{
inline std::string said;  // what was logged last
inline void say(const rclcpp::Logger &, const char *, const char * sentence) {said = sentence;}
inline std::shared_ptr<void> publisher, subscription;  // those created last
inline rclcpp::TimerBase::SharedPtr timer;
}  // namespace stand_in

#define RCLCPP_ERROR(...) stand_in::say(__VA_ARGS__)
#define RCLCPP_WARN(...) stand_in::say(__VA_ARGS__)
#define RCLCPP_INFO(...) stand_in::say(__VA_ARGS__)
#define RCLCPP_WARN_THROTTLE(logger, clock, ms, ...) stand_in::say(logger, __VA_ARGS__)

namespace rclcpp_lifecycle
{
struct State {};
struct Node
{
  std::map<std::string, rclcpp::Value> given, declared;
  rclcpp::Clock clock;

  rclcpp::Parameter get_parameter(const std::string & name) const {return {declared.at(name)};}
  rclcpp::Logger get_logger() const {return {};}
  std::shared_ptr<rclcpp::Clock> get_clock() const {return std::make_shared<rclcpp::Clock>();}
  const char * get_name() const {return "feedforward";}
  const char * get_fully_qualified_name() const {return "/feedforward";}

  std::vector<rclcpp::EndpointInfo> get_publishers_info_by_topic(const std::string &) const
  {
    std::vector<rclcpp::EndpointInfo> found(2);
    found[0].gid[0] = 1;
    found[1].gid[0] = 2;
    return found;
  }

  template<typename Message, typename Callback>
  auto create_subscription(const std::string &, const rclcpp::QoS &, Callback callback)
  {
    auto made = std::make_shared<rclcpp::Subscription<Message>>();
    made->callback = callback;
    stand_in::subscription = made;
    return made;
  }

  template<typename Message>
  auto create_publisher(const std::string &, const rclcpp::QoS &)
  {
    auto made = std::make_shared<rclcpp::Publisher<Message>>();
    stand_in::publisher = made;
    return made;
  }

  template<typename Callback>
  auto create_wall_timer(std::chrono::milliseconds, Callback callback)
  {
    stand_in::timer = std::make_shared<rclcpp::TimerBase>();
    stand_in::timer->callback = callback;
    return stand_in::timer;
  }
};
}  // namespace rclcpp_lifecycle

namespace std_msgs::msg
{
struct Float64MultiArray {std::vector<double> data;};
}  // namespace std_msgs::msg

namespace diagnostic_msgs::msg
{
struct KeyValue
{
  std::string key, value;
  bool operator==(const KeyValue & other) const {return key == other.key && value == other.value;}
};
struct DiagnosticStatus
{
  static constexpr unsigned char OK = 0, WARN = 1, ERROR = 2;
  unsigned char level = OK;
  std::string name, message, hardware_id;
  std::vector<KeyValue> values;
  bool operator==(const DiagnosticStatus & other) const
  {
    return level == other.level && name == other.name && message == other.message &&
           hardware_id == other.hardware_id && values == other.values;
  }
};
}  // namespace diagnostic_msgs::msg

namespace hardware_interface
{
constexpr char HW_IF_POSITION[] = "position", HW_IF_VELOCITY[] = "velocity",
  HW_IF_ACCELERATION[] = "acceleration", HW_IF_EFFORT[] = "effort";
struct Interface
{
  std::string name;
  std::optional<double> value;
  const std::string & get_name() const {return name;}
  std::optional<double> get_optional() const {return value;}
  [[nodiscard]] bool set_value(double given)
  {
    value = given;
    return true;
  }
};
using LoanedStateInterface = Interface;
struct CommandInterface : Interface
{
  using SharedPtr = std::shared_ptr<CommandInterface>;
  CommandInterface(const std::string & prefix, const std::string & kind)
  : Interface{prefix + "/" + kind, {}} {}
};
}  // namespace hardware_interface

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

class ControllerInterface
{
public:
  virtual ~ControllerInterface() = default;
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_init() = 0;
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) = 0;
  virtual return_type update(const rclcpp::Time &, const rclcpp::Duration &)
  {
    return return_type::ERROR;
  }
  std::shared_ptr<rclcpp_lifecycle::Node> get_node() const {return node_;}
  std::vector<hardware_interface::Interface> state_interfaces_, command_interfaces_;

protected:
  template<typename T>
  void auto_declare(const std::string & name, const T & value)
  {
    const auto given = node_->given.find(name);
    node_->declared[name] = given == node_->given.end() ? rclcpp::Value(value) : given->second;
  }

private:
  std::shared_ptr<rclcpp_lifecycle::Node> node_ = std::make_shared<rclcpp_lifecycle::Node>();
};

class ChainableControllerInterface : public ControllerInterface
{
public:
  virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) = 0;
  virtual return_type update_and_write_commands(
    const rclcpp::Time &, const rclcpp::Duration &) = 0;
  return_type update(const rclcpp::Time & time, const rclcpp::Duration & period) override
  {
    const bool done = is_chained ||
      update_reference_from_subscribers(time, period) == return_type::OK;
    return done ? update_and_write_commands(time, period) : return_type::ERROR;
  }
  void chain() {ordered_exported_reference_interfaces_ = on_export_reference_interfaces_list();}
  bool is_chained = false;
  std::vector<hardware_interface::CommandInterface::SharedPtr>
    ordered_exported_reference_interfaces_;

protected:
  virtual std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() = 0;
  virtual bool on_set_chained_mode(bool) = 0;
  virtual return_type update_reference_from_subscribers(
    const rclcpp::Time &, const rclcpp::Duration &) = 0;
  bool is_in_chained_mode() const {return is_chained;}
};
}  // namespace controller_interface

namespace franka_semantic_components
{
/// A robot whose model is `gravity`, `coriolis` and `mass` (column-major).
class FrankaRobotModel
{
public:
  inline static std::array<double, 7> gravity{}, coriolis{};
  inline static std::array<double, 49> mass{};

  FrankaRobotModel(const std::string & model, const std::string & state)
  : names_{model, state} {}

  std::vector<std::string> get_state_interface_names() {return names_;}
  bool assign_loaned_state_interfaces(
    std::vector<hardware_interface::LoanedStateInterface> & interfaces)
  {
    assigned_ = std::count_if(interfaces.begin(), interfaces.end(), [&](const auto & each) {
          return std::find(names_.begin(), names_.end(), each.get_name()) != names_.end();
        }) == 2;
    return assigned_;
  }
  void release_interfaces() {assigned_ = false;}
  std::array<double, 7> getGravityForceVector() {return checked(gravity);}
  std::array<double, 7> getCoriolisForceVector() {return checked(coriolis);}
  std::array<double, 49> getMassMatrix() {return checked(mass);}

private:
  template<typename Values>
  const Values & checked(const Values & values) const
  {
    if (!assigned_) {throw std::runtime_error("no state interface");}
    return values;
  }

  std::vector<std::string> names_;
  bool assigned_ = false;
};
}  // namespace franka_semantic_components
#endif  // ROS2_CONTROL_STAND_IN
