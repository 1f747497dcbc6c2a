# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Stands in for generate_parameter_library_cpp where it is not installed: HEADER YAML.

It writes what the controller uses of that program's header: Params, and a ParamListener that
declares the parameters with their descriptions, and refuses values outside their validation.
"""

import json
from pathlib import Path
import sys

import yaml

_TYPES = {
    'bool': ('bool', 'as_bool'),
    'double': ('double', 'as_double'),
    'string': ('std::string', 'as_string'),
    'double_array': ('std::vector<double>', 'as_double_array'),
    'string_array': ('std::vector<std::string>', 'as_string_array'),
}
_HEADER = """#pragma once
#include <algorithm>
#include <mutex>
#include <string>
#include <vector>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
namespace NAME {
struct Params { MEMBERS };
class ParamListener {
public:
  explicit ParamListener(const std::shared_ptr<rclcpp_lifecycle::LifecycleNode> & node) {
    rcl_interfaces::msg::ParameterDescriptor d;
    std::vector<rclcpp::Parameter> all;
    DECLARE
    const auto result = update(all);
    if (!result.successful) {
      throw rclcpp::exceptions::InvalidParameterValueException(result.reason);
    }
    handle_ = node->add_on_set_parameters_callback(
      [this](const std::vector<rclcpp::Parameter> & changed) {return update(changed);});
  }
  Params get_params() const { std::lock_guard<std::mutex> lock(mutex_); return params_; }
private:
  rcl_interfaces::msg::SetParametersResult update(const std::vector<rclcpp::Parameter> & changed) {
    Params params = get_params();
    rcl_interfaces::msg::SetParametersResult result;
    result.successful = true;
    const auto refuse = [&result](const std::string & name) {
        result.successful = false;
        result.reason = "Invalid value of parameter " + name;
      };
    for (const auto & one : changed) { READ }
    std::lock_guard<std::mutex> lock(mutex_);
    if (result.successful) { params_ = params; }
    return result;
  }
  Params params_;
  mutable std::mutex mutex_;
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr handle_;
};
}
"""


def _specs(table, prefix=''):
    for name, entry in table.items():
        if 'type' in entry:
            yield f'{prefix}{name}', entry
        else:
            yield from _specs(entry, f'{prefix}{name}.')


def _literal(value):
    return json.dumps(value).translate(str.maketrans('[]', '{}'))


def _condition(rule, limits):
    if rule == 'one_of':
        return ' || '.join(f'v == {_literal(one)}' for one in limits[0])
    return {
        'gt': 'v > {0}',
        'lt_eq': 'v <= {0}',
        'bounds': 'v >= {0} && v <= {1}',
        'fixed_size': 'v.size() == {0}',
    }[rule].format(*limits)


def header(text):
    """Return the C++ header of a file in generate_parameter_library's schema."""
    ((namespace, table),) = yaml.safe_load(text).items()
    members, declare, read = [], [], []
    for name, entry in _specs(table):
        kind, getter = _TYPES[entry['type']]
        member = f'{kind} {name.rpartition(".")[2]} = {_literal(entry["default_value"])};'
        group = name.partition('.')[0]
        members.append(member if group == name else f'struct {{ {member} }} {group};')
        declare.append(
            f'd.description = {json.dumps(entry["description"])}; '
            f'd.read_only = {json.dumps(entry.get("read_only", False))}; '
            f'node->declare_parameter<{kind}>("{name}", params_.{name}, d); '
            f'all.push_back(node->get_parameter("{name}"));'
        )
        tests = [
            f'if (!({_condition(rule.removesuffix("<>"), limits)})) {{ refuse("{name}"); }}'
            for rule, given in entry.get('validation', {}).items()
            for limits in [given if isinstance(given, list) else [given]]
        ]
        read.append(
            f'if (one.get_name() == "{name}") {{ const auto v = one.{getter}(); '
            f'params.{name} = v; {" ".join(tests)} }}'
        )
    words = {'NAME': namespace, 'MEMBERS': members, 'DECLARE': declare, 'READ': read}
    text = _HEADER
    for word, lines in words.items():
        text = text.replace(word, lines if isinstance(lines, str) else '\n    '.join(lines))
    return text


if __name__ == '__main__':
    Path(sys.argv[1]).write_text(header(Path(sys.argv[2]).read_text('utf-8')), 'utf-8')
