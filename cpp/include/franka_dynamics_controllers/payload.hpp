// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// A load on the flange as ten numbers, and why they are refused.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "franka_dynamics_controllers/arm.hpp"
#include "franka_dynamics_controllers/text.hpp"

namespace franka_dynamics_controllers
{

/// As for libfranka's setLoad, in the flange frame: mass [kg], centre of mass x, y, z [m], inertia
/// about the centre of mass xx, xy, xz, yy, yz, zz [kg m^2]. Zeros are no payload.
using Payload = std::array<double, 10>;

/// Why the arm cannot carry a payload, or ''.
inline std::string refuse_payload(const Arm & arm, const Payload & payload)
{
  const auto & [mass, x, y, z, xx, xy, xz, yy, yz, zz] = payload;
  const auto is_finite = [](double number) {return std::isfinite(number);};
  if (!std::all_of(payload.begin(), payload.end(), is_finite)) {
    return "payload must be ten finite numbers in kg, m and kg m^2";
  }
  if (mass < 0.0) {
    return "payload: a mass cannot be negative";
  }
  if (mass == 0.0) {
    const bool is_none = payload == Payload{};
    return is_none ? "" : "payload has no mass but a centre of mass or an inertia";
  }
  if (mass > kMaxPayloadKg) {
    return "payload: no arm carries more than " + as_text(kMaxPayloadKg) + " kg; are these grams?";
  }
  if (mass > arm.rated_load) {
    return "payload: " + as_text(mass) + " kg are more than the rated load of " + arm.name + ", " +
           as_text(arm.rated_load) + " kg beside what it carries already";
  }
  if (std::hypot(x, y, z) > kMaxPayloadDistanceM) {
    return "payload: its centre of mass is more than " + as_text(kMaxPayloadDistanceM) +
           " m from the flange; are these millimetres?";
  }
  const double max_inertia = mass * kMaxPayloadDistanceM * kMaxPayloadDistanceM;
  const auto is_too_large = [max_inertia](double inertia) {
      return std::abs(inertia) > max_inertia;
    };
  if (std::any_of(payload.begin() + 4, payload.end(), is_too_large)) {
    return "payload: its inertia is larger than that of any body within " +
           as_text(kMaxPayloadDistanceM) + " m of its centre";
  }
  if (!is_real(symmetric({xx, xy, xz, yy, yz, zz}), xx + yy + zz)) {
    return "payload: this inertia belongs to no real body (A + B >= C is violated)";
  }
  return "";
}

}  // namespace franka_dynamics_controllers
