// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Torques that the model does not explain, and their bounds.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "franka_dynamics_controllers/friction.hpp"
#include "franka_dynamics_controllers/momentum_observer.hpp"
#include "franka_dynamics_controllers/state_check.hpp"
#include "franka_dynamics_controllers/terms.hpp"
#include "franka_dynamics_controllers/torque_output.hpp"

namespace franka_dynamics_controllers
{

/// Computes and watches the disturbance torques of one arm, as DisturbanceMonitor of
/// franka_dynamics/control/disturbance.py does, but for the mass of an undeclared load.
///
///   disturbance = sent + added gravity - needed by the motion
///   external = measured without friction - needed by the motion
///
/// Without a measured torque `external` is `disturbance`. `external`, and what is measured beyond
/// what was sent and the target adds, must be within bounds.
class DisturbanceMonitor
{
public:
  DisturbanceMonitor(const Arm & arm, const StateLimits & limits) noexcept
  : effort_friction_(limits.effort_friction), held_until_commanded_(limits.held_until_commanded)
  {
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const bool is_wrist = arm.effort[i] < kMaxWristTorqueLimitNm;
      start_bound_[i] = kMaxStartDisturbanceRatio * arm.effort[i];
      running_bound_[i] =
        (is_wrist ? kMaxWristDisturbanceRatio : kMaxDisturbanceRatio) * arm.effort[i];
    }
  }

  /// The last estimates, in FCI's sign [N m].
  const Vector & disturbance() const noexcept {return disturbance_;}
  const Vector & external() const noexcept {return external_;}
  const Vector & start_bound() const noexcept {return start_bound_;}
  const Vector & running_bound() const noexcept {return running_bound_;}
  /// Whether the torque of the caller's own law is sent.
  void set_own_torque(bool has_own_torque) noexcept {has_own_torque_ = has_own_torque;}

  /// Discard all states, estimates and the allowance for a changed payload.
  void forget_states() noexcept
  {
    observer_.reset();
    friction_.restart();
    has_effort_ = has_acting_torque_ = has_state_ = false;
    effort_.fill(0.0);
    disturbance_.fill(0.0);
    external_.fill(0.0);
    excess_time_ = 0.0;
    brakes_until_ = -kInfinity;
    payload_change_.fill(0.0);
    payload_change_stamp_ = -kInfinity;
  }

  /// Restart estimates and checks at the stamp of a first torque [s].
  void reset_at_first_torque(double stamp) noexcept
  {
    observer_.reset_estimate();
    disturbance_.fill(0.0);
    external_.fill(0.0);
    excess_time_ = 0.0;
    brakes_until_ = stamp + kMaxBrakeReleaseTimeS;
  }

  /// Whether at a stamp [s] brakes may hold the arm, which open late.
  bool may_brakes_hold(double stamp) const noexcept {return stamp <= brakes_until_;}

  /// Change the model by which torques go out.
  void change_terms(const TermModel & before, const TermModel & after, bool has_new_load) noexcept
  {
    if (!has_state_) {
      observer_.reset();
    } else {
      const TwoTorques change = change_of_estimates(before, after);
      observer_.change_model(change);
      for (std::size_t i = 0; i < kMaxJoints; ++i) {
        disturbance_[i] += change.sent[i];
        external_[i] += change.measured[i];
      }
      if (has_new_load) {
        begin_load_allowance(before, after);
      }
    }
    friction_.restart();
  }

  /// What of the torques that were sent counts at a state: the one that acted when it was measured,
  /// and the last ones, of which a receiver may report one as measured.
  struct SentTorques
  {
    bool has_acting = false;
    Vector acting{};
    std::size_t recent_count = 0;
    std::array<Vector, kMaxEffortEchoDelaySteps> recent{};

    SentTorques(const TorqueOutput & output, std::size_t lag) noexcept
    {
      if (output.count() == 0) {
        return;
      }
      has_acting = true;
      acting = output.before(lag);
      recent_count = std::min(output.count(), recent.size());
      for (std::size_t k = 0; k < recent_count; ++k) {
        recent[k] = output.before(k);
      }
    }
  };

  /// Update the estimates by a state, the torques sent before it, and the measured torque. A
  /// `silent` core has sent none for the law or the brake.
  void update(
    const Arm & arm, const TermModel & terms, const StateTerms & state,
    const std::optional<Vector> & effort, const SentTorques & sent, bool silent) noexcept
  {
    const std::size_t n = arm.n();
    state_ = state;
    has_state_ = true;
    end_load_allowance(n);
    has_acting_torque_ = sent.has_acting && !(silent && terms.adds_gravity());
    acting_torque_ = sent.acting;
    TwoTorques torque;
    torque.sent = believed_torque(terms, state.gravity);
    torque.measured = torque.sent;
    has_effort_ = effort && is_measured(n, *effort, sent, terms.adds_gravity(), silent);
    if (has_effort_) {
      effort_ = *effort;
      torque.measured = effort_;
      subtract_friction(arm, terms, torque.measured);
    }
    observer_.update(terms.chain, state.stamp, {state.q, state.dq}, torque, state.gravity);
    disturbance_ = observer_.estimate().sent;
    external_ = observer_.estimate().measured;
  }

  /// Whether a measured torque contradicts `terms` before the first torque. Motor brakes hold an
  /// arm that does not carry itself until a torque comes: none is measured then, or one within
  /// friction, which says nothing. `acting` are the terms by which torques go out.
  Reason contradiction(
    const Arm & arm, const TermModel & acting, const TermModel & terms, const char * target)
  const noexcept
  {
    if (!has_effort_) {
      return {};
    }
    bool is_idle = true;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      is_idle = is_idle && std::abs(effort_[i]) <= arm.stiction[i];
    }
    if ((is_idle || held_until_commanded_) && !terms.adds_gravity()) {
      return {};
    }
    return violation(arm, acting, terms, start_bound_, target);
  }

  /// Whether a disturbance has been beyond its bound for kMaxDisturbanceTimeS; `elapsed` is the time
  /// since the state before [s].
  Reason check_bounds(
    const Arm & arm, const TermModel & terms, const StateTerms & state, double elapsed,
    const Vector & bound, const char * target) noexcept
  {
    if (state.is_moving(arm.n())) {
      brakes_until_ = -kInfinity;  // its brakes are open
    }
    const Differences found = differences(terms, terms);
    bool is_large = false;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      is_large = is_large ||
        std::max(std::abs(found.from_motion[i]), std::abs(found.from_command[i])) > bound[i];
    }
    const bool is_judged = !may_brakes_hold(state.stamp);
    excess_time_ =
      is_judged && is_large ? excess_time_ + std::min(elapsed, kMaxCountedPeriodS) : 0.0;
    return excess_time_ < kMaxDisturbanceTimeS ?
           Reason{} : violation(arm, terms, terms, bound, target);
  }

  /// The joint whose disturbance exceeds its bound most, if one does, compared with `terms`.
  Reason violation(
    const Arm & arm, const TermModel & acting, const TermModel & terms, const Vector & bound,
    const char * target) const noexcept
  {
    const Differences found = differences(acting, terms);
    std::size_t joint = 0;
    double largest = -1.0;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const double ratio =
        std::max(std::abs(found.from_motion[i]), std::abs(found.from_command[i])) / bound[i];
      if (ratio > largest) {
        largest = ratio;
        joint = i;
      }
    }
    if (largest <= 1.0) {
      return {};
    }
    const bool is_by_motion = std::abs(found.from_motion[joint]) / bound[joint] > 1.0;
    const Vector & excess = is_by_motion ? found.from_motion : found.from_command;
    Reason reason = Reason::of_joint(
      ReasonCode::large_disturbance, joint, {excess[joint], bound[joint]});
    reason.target = target;
    reason.has_causes = true;
    reason.compared = !has_effort_ ? Compared::sent_and_needed :
      (is_by_motion ? Compared::measured_and_needed : Compared::measured_and_commanded);
    reason.along = direction_of_excess(arm.n(), excess, gravity_at_state(acting, terms));
    reason.has_own_torque = has_own_torque_;
    find_stop(arm, excess, bound, reason);
    reason.load = is_by_motion ? load_beyond_declared(arm, acting, terms) : 0.0;
    return reason;
  }

  /// Write the joint that an excess torque presses against its stop, if there is one, to `reason`.
  void find_stop(
    const Arm & arm, const Vector & excess, const Vector & bound, Reason & reason) const noexcept
  {
    double largest = 1.0;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const double ratio = excess[i] / bound[i];
      const bool is_upper = state_.q[i] >= near_upper_limit(arm, i) && ratio > largest;
      const bool is_lower = state_.q[i] <= near_lower_limit(arm, i) && -ratio > largest;
      if (is_upper || is_lower) {
        largest = std::abs(ratio);
        reason.stopped_joint = i;
        reason.stop_side = is_upper ? 1 : -1;
      }
    }
  }

  /// The load whose weight alone explains the external torque [kg], 0 if none does. It is below zero
  /// if a declared payload is not there, else that of a point at the flange. Torques count by their
  /// share of start_bound().
  double load_beyond_declared(
    const Arm & arm, const TermModel & acting, const TermModel & terms) const noexcept
  {
    const Body & payload = terms.payload();
    const bool is_declared = payload.mass > 0.0;
    Model carried;
    carried.chain = terms.chain;
    carried.weight = terms.weight;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      carried.chain.links[i].body = {};
    }
    carried.chain.links[arm.n() - 1].body = arm.flange * (is_declared ? payload : Body{1.0, {}, {}});
    Vector weight{};
    carried.gravity(state_.q, weight);
    Vector external = differences(acting, terms).from_motion;
    double square = 0.0;
    double product = 0.0;
    double whole = 0.0;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      weight[i] /= start_bound_[i];
      external[i] /= start_bound_[i];
      square += weight[i] * weight[i];
      product += external[i] * weight[i];
      whole += external[i] * external[i];
    }
    if (square == 0.0) {
      return 0.0;
    }
    const double share = product / square;  // [kg] without a payload
    double rest = 0.0;
    for (std::size_t i = 0; i < arm.n(); ++i) {
      rest += std::pow(external[i] - share * weight[i], 2);
    }
    if (rest > kMaxUnexplainedByLoad * kMaxUnexplainedByLoad * whole) {
      return 0.0;
    }
    if (is_declared) {
      const bool is_absent = kMinAbsentWeights <= -share && -share <= kMaxAbsentWeights;
      return is_absent ? -payload.mass : 0.0;
    }
    return share >= kMinNamedLoadKg ? share : 0.0;
  }

  /// Why a held arm contradicts the terms by which it is to start. It may carry any load between
  /// that of the terms until now and that of these.
  Reason violation_at_start(
    const Arm & arm, const TermModel & acting, const TermModel & terms, const char * target)
  noexcept
  {
    const Vector kept_change = payload_change_;
    const double kept_stamp = payload_change_stamp_;
    if (has_state_ && &terms != &acting) {
      begin_load_allowance(acting, terms);
    }
    const Reason found = violation(arm, acting, terms, start_bound_, target);
    payload_change_ = kept_change;
    payload_change_stamp_ = kept_stamp;
    return found;
  }

private:
  struct Differences
  {
    Vector from_motion{}, from_command{};
  };

  /// Whether an effort is a measured torque. All zeros are none, and some receivers that add
  /// gravity report one of the last torques that were sent.
  static bool is_measured(
    std::size_t n, const Vector & effort, const SentTorques & sent, bool adds_gravity, bool silent)
  noexcept
  {
    const auto end = effort.begin() + n;
    if (std::all_of(effort.begin(), end, [](double x) {return x == 0.0;})) {
      return false;
    }
    for (std::size_t k = 0; !silent && adds_gravity && k < sent.recent_count; ++k) {
      if (std::equal(effort.begin(), end, sent.recent[k].begin())) {
        return false;
      }
    }
    return true;
  }

  void subtract_friction(const Arm & arm, const TermModel & terms, Vector & torque) noexcept
  {
    const bool contains_friction = effort_friction_ == EffortFriction::included ||
      (effort_friction_ == EffortFriction::automatic && terms.efforts_contain_friction());
    if (!contains_friction || arm.friction.kind == FrictionModel::Kind::none) {
      return;
    }
    friction_.follow(arm, state_.stamp, state_.q);
    Vector load{};  // that of a steady motion, because accelerations are not measured
    for (std::size_t i = 0; i < arm.n(); ++i) {
      load[i] = state_.gravity[i] + state_.coriolis[i];
    }
    Vector friction{};
    friction_.torque(arm, state_.dq, load, friction);
    for (std::size_t i = 0; i < arm.n(); ++i) {
      torque[i] -= friction[i];
    }
  }

  /// Allow for any load between that of the terms until now and that of new ones.
  void begin_load_allowance(const TermModel & before, const TermModel & after) noexcept
  {
    Vector gravity{};
    Vector former_gravity{};
    after.gravity(state_.q, gravity);
    before.gravity(state_.q, former_gravity);
    for (std::size_t i = 0; i < after.chain.n; ++i) {
      payload_change_[i] += gravity[i] - former_gravity[i];
    }
    payload_change_stamp_ = state_.stamp;
    end_load_allowance(after.chain.n);
  }

  /// Forget a change of payload after kMaxPickUpTimeS, or once the arm is fast.
  void end_load_allowance(std::size_t n) noexcept
  {
    if (!has_state_ || payload_change_stamp_ == -kInfinity) {
      return;
    }
    const bool is_fast = largest_size(state_.dq, n) > kMaxGentleSpeedRadS;
    if (is_fast || state_.stamp - payload_change_stamp_ > kMaxPickUpTimeS) {
      payload_change_.fill(0.0);
      payload_change_stamp_ = -kInfinity;
    }
  }

  /// The torque that the joints get if sender and receiver do as `terms` say; `gravity` is theirs.
  /// Before the first torque a target that compensates gravity carries the arm itself.
  Vector believed_torque(const TermModel & terms, const Vector & gravity) const noexcept
  {
    Vector torque{};
    if (!has_acting_torque_) {
      return terms.adds_gravity() ? gravity : torque;
    }
    terms.gravity_to_command(state_.q, gravity, torque);
    for (std::size_t i = 0; i < terms.chain.n; ++i) {
      torque[i] = gravity[i] - torque[i] + acting_torque_[i];
    }
    return torque;
  }

  /// g(q) of the state by `terms`; the state has that of the acting ones.
  Vector gravity_at_state(const TermModel & acting, const TermModel & terms) const noexcept
  {
    Vector gravity = state_.gravity;
    if (&terms != &acting) {
      terms.gravity(state_.q, gravity);
    }
    return gravity;
  }

  /// How other terms change the estimates at rest.
  TwoTorques change_of_estimates(const TermModel & before, const TermModel & after) const noexcept
  {
    const Vector gravity = gravity_at_state(before, after);
    const Vector believed = believed_torque(after, gravity);
    const Vector believed_before = believed_torque(before, state_.gravity);
    TwoTorques change;
    for (std::size_t i = 0; i < after.chain.n; ++i) {
      const double needed = gravity[i] - state_.gravity[i];
      const double received = believed[i] - believed_before[i];
      change.sent[i] = received - needed;
      // A measured torque does not depend on what is believed of it.
      change.measured[i] = (has_effort_ ? 0.0 : received) - needed;
    }
    return change;
  }

  /// The differences by `terms`, less what a changed payload may explain of them.
  Differences differences(const TermModel & acting, const TermModel & terms) const noexcept
  {
    TwoTorques change;
    if (has_state_ && &terms != &acting) {
      change = change_of_estimates(acting, terms);
    }
    Differences found;
    for (std::size_t i = 0; i < terms.chain.n; ++i) {
      const double external = external_[i] + change.measured[i];
      found.from_motion[i] = external;
      found.from_command[i] = external - (disturbance_[i] + change.sent[i]);
      if (payload_change_stamp_ != -kInfinity) {
        // An arm that still carries the old load gets less than the new one needs.
        const double lowest = std::min(0.0, -payload_change_[i]);
        const double highest = std::max(0.0, -payload_change_[i]);
        found.from_motion[i] -= std::clamp(found.from_motion[i], lowest, highest);
        found.from_command[i] -= std::clamp(found.from_command[i], lowest, highest);
      }
    }
    return found;
  }

  /// Whether an excess is along or against g(q) at all joints that bear weight.
  Along direction_of_excess(std::size_t n, const Vector & excess, const Vector & gravity)
  const noexcept
  {
    bool is_any_heavy = false;
    bool is_along = true;
    bool is_against = true;
    for (std::size_t i = 0; i < n; ++i) {
      if (std::abs(gravity[i]) > start_bound_[i]) {
        const double share = excess[i] / gravity[i];
        is_any_heavy = true;
        is_along = is_along && share > kMinExcessToGravity;
        is_against = is_against && share < -kMinExcessToGravity;
      }
    }
    if (!is_any_heavy || (!is_along && !is_against)) {
      return Along::neither;
    }
    return is_along ? Along::gravity : Along::against_gravity;
  }

  EffortFriction effort_friction_;
  bool held_until_commanded_;
  Vector start_bound_{}, running_bound_{};
  bool has_own_torque_ = false;

  MomentumObserver observer_{};
  Friction friction_{};  // that measured torques contain
  bool has_effort_ = false;
  Vector effort_{};
  bool has_acting_torque_ = false;  // whether the sent torque carries the arm
  Vector acting_torque_{};
  Vector disturbance_{}, external_{};
  double excess_time_ = 0.0;           // [s]
  double brakes_until_ = -kInfinity;   // stamp until which an arm at rest is not judged [s]
  bool has_state_ = false;
  StateTerms state_{};
  Vector payload_change_{};  // of g(q) [N m]
  double payload_change_stamp_ = -kInfinity;
};

}  // namespace franka_dynamics_controllers
