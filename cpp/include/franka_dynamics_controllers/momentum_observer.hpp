// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Estimates torques that the motion of an arm does not need, from its momentum, without
// accelerations.
#pragma once

#include <array>
#include <cstddef>
#include <limits>

#include "franka_dynamics_controllers/constants.hpp"

namespace franka_dynamics_controllers
{

/// Compute the momentum M(q) dq, and C(q, dq)^T dq.
///
/// The latter is the derivative of the kinetic energy by q: the momentum of the links from a joint
/// on, times the velocity before that joint, crossed with the joint's axis. No matrix is computed.
inline void momentum(
  const Chain & chain, const JointState & state, Vector & momentum, Vector & energy_gradient)
noexcept
{
  std::array<Pose, kMaxJoints> pose;
  std::array<Three, kMaxJoints> linear, angular, speed_before, turn_before;
  Three v, w;  // of the link's frame, in its axes
  for (std::size_t i = 0; i < chain.n; ++i) {
    const Link & link = chain.links[i];
    const Three along_axis{0.0, 0.0, state.dq[i]};
    pose[i] = link.at(state.q[i]);
    const Rows back = transposed(pose[i].rotation);
    v = back * (v + cross(w, pose[i].position));
    w = back * w;
    speed_before[i] = v;
    turn_before[i] = w;
    Three & changed = link.prismatic ? v : w;
    changed = changed + along_axis;
    const auto & [m, h, I] = link.body;
    linear[i] = m * v + cross(w, h);
    angular[i] = I * w + cross(h, v);
  }
  constexpr Three kAxis{0.0, 0.0, 1.0};
  Three p, l;  // momentum of the links from this one on
  for (std::size_t i = chain.n; i-- > 0; ) {
    const Link & link = chain.links[i];
    p = p + linear[i];
    l = l + angular[i];
    momentum[i] = link.along(p, l) + link.rotor_inertia * state.dq[i];
    const Three turned_axis = cross(turn_before[i], kAxis);
    energy_gradient[i] = link.prismatic ?
      dot(p, turned_axis) : dot(l, turned_axis) + dot(p, cross(speed_before[i], kAxis));
    p = pose[i].rotation * p;
    l = pose[i].rotation * l + cross(pose[i].position, p);
  }
}

/// Torques that the joints get by two accounts: what was sent, and what is measured [N m].
struct TwoTorques
{
  Vector sent{};
  Vector measured{};
};

/// Estimates external torques in FCI's sign, as MomentumObserver of
/// franka_dynamics/dynamics/external_torque.py does (De Luca et al. 2006, eq. 13).
class MomentumObserver
{
public:
  const TwoTorques & estimate() const noexcept {return estimate_;}

  /// Forget all states.
  void reset() noexcept {*this = MomentumObserver();}

  /// Set the estimates and their rates to zero.
  void reset_estimate() noexcept
  {
    estimate_ = {};
    rate_ = {};
  }

  /// Add a change to the estimates, after the model has changed [N m].
  void change_model(const TwoTorques & change) noexcept
  {
    for (std::size_t i = 0; i < kMaxJoints; ++i) {
      estimate_.sent[i] += change.sent[i];
      estimate_.measured[i] += change.measured[i];
    }
    has_momentum_ = false;
  }

  /// Update the estimates by a state at `stamp` [s]. `torque` are those of the joints, gravity
  /// included and friction subtracted, `gravity` is g(q) [N m]. A stamp that goes back or leaves a
  /// gap of more than kMaxStateGapS restarts the observer.
  void update(
    const Chain & chain, double stamp, const JointState & state, const TwoTorques & torque,
    const Vector & gravity) noexcept
  {
    Vector now{};
    Vector energy_gradient{};
    momentum(chain, state, now, energy_gradient);
    const double elapsed = stamp - stamp_;
    const bool goes_on = elapsed >= 0.0 && elapsed <= kMaxStateGapS;
    const bool has_momentum = has_momentum_;
    const Vector before = momentum_;
    stamp_ = stamp;
    momentum_ = now;
    has_momentum_ = true;
    if (goes_on && !has_momentum) {
      return;  // the model has changed: there is no momentum to compare with
    }
    for (std::size_t i = 0; i < chain.n; ++i) {
      const double own = energy_gradient[i] - gravity[i];
      const double change = now[i] - before[i];
      if (goes_on) {
        filter(elapsed, torque.sent[i] + own, change, estimate_.sent[i], rate_.sent[i]);
        filter(elapsed, torque.measured[i] + own, change, estimate_.measured[i], rate_.measured[i]);
      } else {  // as if the momentum were constant, which is exact at rest
        estimate_.sent[i] = torque.sent[i] + own;
        estimate_.measured[i] = torque.measured[i] + own;
        rate_.sent[i] = rate_.measured[i] = 0.0;
      }
    }
  }

private:
  /// Implicit integration makes the filter stable for any time step.
  static void filter(
    double elapsed, double torque, double momentum_change, double & estimate, double & rate)
  noexcept
  {
    constexpr double kBandwidth = kObserverBandwidthRadS;
    const double step = kBandwidth * elapsed;
    const double missing = elapsed * (torque - estimate) - momentum_change;
    rate = (rate + kBandwidth * kBandwidth * missing) /
      (1.0 + 2.0 * kObserverDampingRatio * step + step * step);
    estimate += elapsed * rate;
  }

  double stamp_ = -std::numeric_limits<double>::infinity();  // [s]
  bool has_momentum_ = false;  // by the present model
  Vector momentum_{};
  TwoTorques estimate_{};
  TwoTorques rate_{};
};

}  // namespace franka_dynamics_controllers
