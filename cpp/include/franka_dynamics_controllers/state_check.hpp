// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Which joint states can be used: their values, their times, and whether they fit together.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

#include "franka_dynamics_controllers/reasons.hpp"
#include "franka_dynamics_controllers/settings.hpp"

namespace franka_dynamics_controllers
{

/// Whether the first n values are finite.
inline bool all_finite(const Vector & values, std::size_t n) noexcept
{
  return std::all_of(
    values.begin(), values.begin() + n, [](double value) {return std::isfinite(value);});
}

/// The largest absolute value of the first n.
inline double largest_size(const Vector & values, std::size_t n) noexcept
{
  double largest = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::abs(values[i]));
  }
  return largest;
}

/// A joint state with its times [s].
struct StateSample : JointState
{
  std::optional<Vector> effort{};  ///< the measured torque [N m], if one is measured
  double stamp = 0.0;              ///< when it was measured
  std::optional<double> age{};     ///< how old it is, if that is known
  std::optional<double> now{};     ///< when it came, by the clock of Feedforward::tick()

  double received_at() const noexcept {return now.value_or(stamp);}
};

/// The last values of a quantity, at most kMinGoodStateCount of them.
class LatestValues
{
public:
  void clear() noexcept {count_ = 0;}
  void add(double value) noexcept
  {
    values_[(first_ + count_) % kSize] = value;
    if (count_ < kSize) {
      ++count_;
    } else {
      first_ = (first_ + 1) % kSize;
    }
  }
  std::size_t count() const noexcept {return count_;}
  /// Of two in the middle the larger one.
  double median() const noexcept
  {
    std::array<double, kSize> sorted;
    for (std::size_t k = 0; k < count_; ++k) {
      sorted[k] = values_[(first_ + k) % kSize];
    }
    const auto middle = sorted.begin() + count_ / 2;
    std::nth_element(sorted.begin(), middle, sorted.begin() + count_);
    return *middle;
  }

private:
  static constexpr std::size_t kSize = kMinGoodStateCount;
  std::array<double, kSize> values_{};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

/// The positions at or beyond which a joint may be at its stop. At its greatest velocity it goes
/// from there to its limit in kMaxDisturbanceTimeS, since a joint that hits its stop has bounced
/// back until then. Without a velocity limit it is the limit.
inline double near_lower_limit(const Arm & arm, std::size_t i) noexcept
{
  const bool is_limited = std::isfinite(arm.velocity[i]);
  return arm.lower[i] + (is_limited ? kMaxDisturbanceTimeS * arm.velocity[i] : 0.0);
}
inline double near_upper_limit(const Arm & arm, std::size_t i) noexcept
{
  const bool is_limited = std::isfinite(arm.velocity[i]);
  return arm.upper[i] - (is_limited ? kMaxDisturbanceTimeS * arm.velocity[i] : 0.0);
}

/// Whether a state's stamp is new, repeated or late, or so far back that its clock was set back.
enum class StampOrder {is_new, out_of_order, set_back};

/// Checks the joint states of one arm, one after the other, as StateCheck of
/// franka_dynamics/control/state_check.py does; that file lists what can be wrong.
class StateCheck
{
public:
  StateCheck(const Arm & arm, const StateLimits & limits) noexcept
  : limits_(limits),
    max_period_(kPeriodMarginFactor * std::max(1.0 / limits.min_input_rate, limits.period))
  {
    const auto finite = [](double x) {return std::clamp(x, -kLargest, kLargest);};
    n_ = arm.n();
    for (std::size_t i = 0; i < n_; ++i) {
      max_velocity_[i] = kMaxPossibleSpeedRatio * arm.velocity[i];
      // Finite also where there is no limit, so that an infinite value is beyond it. A velocity
      // beyond its limit is possible: an arm that falls must be braked.
      lower_[i] = finite(arm.lower[i] - kPositionToleranceRad);
      upper_[i] = finite(arm.upper[i] + kPositionToleranceRad);
      max_effort_[i] = kMaxPossibleEffortToLimit * arm.effort[i];
      near_lower_[i] = near_lower_limit(arm, i);
      near_upper_[i] = near_upper_limit(arm, i);
    }
    reset();
  }

  const StateLimits & limits() const noexcept {return limits_;}
  /// Whether a state has come.
  bool has_stamp() const noexcept {return stamp_.has_value();}
  const Vector & q() const noexcept {return q_;}
  bool has_position() const noexcept {return has_position_;}
  /// Time between the latest state and the one before, and its age [s]; their medians.
  double elapsed() const noexcept {return elapsed_;}
  double age() const noexcept {return age_;}
  double period() const noexcept {return period_;}
  double median_age() const noexcept {return median_age_;}
  /// When it came, by the clock of `now` [s].
  double arrival_time() const noexcept {return arrival_time_;}
  /// Whether the caller has given that.
  bool is_arrival_given() const noexcept {return is_arrival_given_;}
  /// Why the latest state cannot be used.
  const Reason & problem() const noexcept {return problem_;}
  /// Whether its values are possible, each by itself, and whether its position agrees with the one
  /// before, too, be the state late or not.
  bool has_possible_values() const noexcept {return has_possible_values_;}
  bool is_position_known() const noexcept {return is_position_known_;}
  int good_count() const noexcept {return good_count_;}
  /// Whether the last kMinGoodStateCount states were usable.
  bool has_enough_states() const noexcept {return good_count_ >= kMinGoodStateCount;}

  /// Forget all states.
  void reset() noexcept
  {
    q_.fill(0.0);
    has_position_ = false;
    dq_.fill(0.0);
    problem_ = Reason::of(ReasonCode::no_state);
    has_possible_values_ = false;
    is_position_known_ = false;
    forget_times();
  }

  /// Forget all but the last position, as after the clock was set back.
  void forget_times() noexcept
  {
    good_count_ = 0;
    stamp_.reset();
    is_arrival_given_ = false;
    elapsed_ = age_ = arrival_time_ = stamp_clock_at_arrival_ = 0.0;
    periods_.clear();
    ages_.clear();
    period_ = limits_.period;
    median_age_ = 0.0;
    old_stamp_count_ = set_back_count_ = 0;
    stamps_repeat_ = false;
    drift_.fill(0.0);
    place_count_ = 0;
  }

  /// Record why the latest state cannot be used; no reason: it can, and is counted.
  void reject(const Reason & problem) noexcept
  {
    problem_ = problem;
    good_count_ = problem ? 0 : std::min(good_count_ + 1, kManyStates);
  }

  /// The time without a new state after which states count as lost [s].
  double silence_timeout() const noexcept {return std::max(limits_.state_timeout, 3.0 * period_);}

  /// The age of the latest state in multiples of the last period, rounded; 0 if unknown.
  std::size_t age_in_periods() const noexcept
  {
    const double periods = elapsed_ > 0.0 ? std::nearbyint(age_ / elapsed_) : 0.0;
    return std::isfinite(periods) && periods < 1e6 ? static_cast<std::size_t>(periods) : 0;
  }

  /// Why joint states allow no first torque yet.
  Reason start_refusal() const noexcept
  {
    if (!has_enough_states()) {
      return Reason::of(
        ReasonCode::few_states,
        {static_cast<double>(good_count_), static_cast<double>(kMinGoodStateCount)});
    }
    if (median_age_ <= kMaxStateAgeAtStartS) {
      return {};
    }
    return Reason::of(ReasonCode::stale_at_start, {1e3 * median_age_, 1e3 * kMaxStateAgeAtStartS});
  }

  /// Count a state's stamp, and tell its order. Stamps that have not gone on for
  /// kMinGoodStateCount states become the problem.
  StampOrder stamp_order(const StateSample & sample) noexcept
  {
    if (!stamp_ || sample.stamp > *stamp_) {
      stamps_repeat_ = old_stamp_count_ > 0;
      old_stamp_count_ = set_back_count_ = 0;
      return StampOrder::is_new;
    }
    const double seconds_behind = *stamp_ - sample.stamp;
    ++old_stamp_count_;
    set_back_count_ += seconds_behind > 0.0;
    if (old_stamp_count_ > kMinGoodStateCount) {  // before, stamps may be coarse
      problem_ = Reason::of(ReasonCode::stamp_repeated, {sample.stamp});
    }
    const bool is_set_back =
      seconds_behind > kMaxReorderingTimeS || set_back_count_ >= kMinGoodStateCount;
    return is_set_back ? StampOrder::set_back : StampOrder::out_of_order;
  }

  /// `now` and the silence of tick() for a repeated or late state [s]. Without an arrival time such
  /// a state counts as one that comes a period after the one before.
  std::array<double, 2> tick_arguments(const StateSample & old) const noexcept
  {
    const double waited =
      old.now ? *old.now - arrival_time_ : static_cast<double>(old_stamp_count_) * period_;
    const double now = arrival_time_ + waited;
    const bool tells_age = old.age && !(!old.now && waited > kMaxReorderingTimeS);
    return {now, tells_age ? old.stamp + *old.age - stamp_clock_at_arrival_ : waited};
  }

  /// Why a value is impossible or no number.
  Reason check_values(const StateSample & sample) const noexcept
  {
    Reason impossible;
    const Vector none{};
    const Vector & effort = sample.effort ? *sample.effort : none;
    for (std::size_t part = 0; part < 3; ++part) {
      const Vector & values = part == 0 ? sample.q : (part == 1 ? sample.dq : effort);
      for (std::size_t i = 0; i < n_; ++i) {
        const double value = values[i];
        if (!std::isfinite(value)) {
          return Reason::of_joint(
            ReasonCode::value_not_finite, i, {value}, kQuantities[part]);
        }
        const double most =
          part == 0 ? upper_[i] : (part == 1 ? kMaxPossibleVelocityRadS : max_effort_[i]);
        const double least = part == 0 ? lower_[i] : -most;
        if (!impossible && (value < least || value > most)) {
          impossible = part == 2 ?
            Reason::of_joint(
            ReasonCode::effort_not_n_m, i, {value, kMaxPossibleEffortToLimit}) :
            Reason::of_joint(
            ReasonCode::impossible_value, i, {value, least, most}, kQuantities[part]);
          if (part == 2) {
            find_stop(sample.q, effort, impossible);
          }
        }
      }
    }
    return impossible;
  }

  /// Write the joint that may have hit its stop, if there is one, to `reason`. Of several at a limit
  /// it is the one with the largest effort to its limit. An impact moves the other joints, too, so
  /// that the effort that is impossible may be another joint's, and efforts have either sign.
  void find_stop(const Vector & q, const Vector & effort, Reason & reason) const noexcept
  {
    double largest = -1.0;
    for (std::size_t i = 0; i < n_; ++i) {
      const bool is_upper = q[i] >= near_upper_[i];
      const double ratio = std::abs(effort[i]) / max_effort_[i];
      if ((is_upper || q[i] <= near_lower_[i]) && ratio > largest) {
        largest = ratio;
        reason.stopped_joint = i;
        reason.stop_side = is_upper ? 1 : -1;
      }
    }
  }

  /// Check and record a new state that came at `now` [s]; return why it cannot be used. Unless
  /// `guards`, possible values are enough.
  Reason check(const StateSample & sample, double now, bool guards) noexcept
  {
    Reason problem = check_values(sample);
    has_possible_values_ = !problem;
    Reason late;
    if (!problem) {
      late = check_timing(sample, now);
      problem = check_motion(sample);
      q_ = sample.q;
      dq_ = sample.dq;
      has_position_ = true;
      add_place(sample);
    }
    is_position_known_ = !problem;
    if (!guards && has_possible_values_) {
      problem = late = Reason{};
    }
    reject(problem ? problem : late);
    return problem_;
  }

  /// Whether the velocities of the latest state contradict its positions.
  bool is_velocity_wrong() const noexcept
  {
    return problem_.code == ReasonCode::wrong_velocity ||
           problem_.code == ReasonCode::zero_velocities;
  }

  /// The mean velocity over the latest states' positions.
  Vector velocity_by_positions() const noexcept
  {
    Vector velocity{};
    if (place_count_ < 2) {
      return velocity;
    }
    const Place & first = places_[first_place_];
    const Place & last = places_[(first_place_ + place_count_ - 1) % places_.size()];
    for (std::size_t i = 0; i < n_; ++i) {
      velocity[i] = (last.q[i] - first.q[i]) / (last.stamp - first.stamp);
    }
    return velocity;
  }

private:
  static constexpr double kLargest = std::numeric_limits<double>::max();
  static constexpr int kManyStates = 1000000;  // more need not be counted
  static constexpr const char * kQuantities[] = {"position", "velocity", "effort"};

  struct Place
  {
    double stamp;  // [s]
    Vector q;
  };

  void add_place(const StateSample & sample) noexcept
  {
    places_[(first_place_ + place_count_) % places_.size()] = {sample.stamp, sample.q};
    if (place_count_ < places_.size()) {
      ++place_count_;
    } else {
      first_place_ = (first_place_ + 1) % places_.size();
    }
  }

  /// Record the times of a new state; return why states are rare, old, ahead or missing.
  Reason check_timing(const StateSample & sample, double now) noexcept
  {
    const std::optional<double> before = stamp_;
    stamp_ = sample.stamp;
    arrival_time_ = now;
    is_arrival_given_ = sample.now.has_value();
    stamp_clock_at_arrival_ = sample.stamp + sample.age.value_or(0.0);
    const bool uses_age = sample.age && limits_.max_state_age > 0.0;
    const double stated_age = uses_age ? *sample.age : 0.0;  // negative if ahead of the clock
    age_ = std::max(0.0, stated_age);
    ages_.add(age_);
    median_age_ = ages_.median();
    if (before) {
      elapsed_ = sample.stamp - *before;
      periods_.add(elapsed_);
      period_ = periods_.median();
    }
    return timing_problem(stated_age);
  }

  Reason timing_problem(double stated_age) const noexcept
  {
    if (periods_.count() + 1 >= kMinGoodStateCount && period_ > max_period_) {
      if (stamps_repeat_) {
        return Reason::of(ReasonCode::coarse_stamps, {1e3 * period_});
      }
      return Reason::of(
        ReasonCode::rare_states, {1.0 / period_, kPeriodMarginFactor / max_period_});
    }
    if (elapsed_ > silence_timeout()) {
      return Reason::of(ReasonCode::states_missing, {1e3 * elapsed_});
    }
    const double max_age = limits_.max_state_age;  // 0: ages are not used, and this one is 0
    if (std::abs(stated_age) <= max_age) {  // false for NaN
      return {};
    }
    return Reason::of(
      stated_age < 0.0 ? ReasonCode::stamp_ahead : ReasonCode::stale,
      {1e3 * std::abs(stated_age), 1e3 * max_age});
  }

  /// Track drift; return why a joint leapt or contradicts its velocity.
  Reason check_motion(const StateSample & sample) noexcept
  {
    const double gap = elapsed_;
    if (!(gap > 0.0 && gap <= silence_timeout()) || !has_position_) {
      drift_.fill(0.0);  // the first state, or the first one after a gap
      place_count_ = 0;
      return {};
    }
    const double kept_share = std::max(0.0, 1.0 - gap / kDriftTimeConstantS);
    const bool are_velocities_zero = std::all_of(
      sample.dq.begin(), sample.dq.begin() + n_, [](double speed) {return speed == 0.0;});
    std::optional<std::size_t> leapt, drifted;
    Vector moved{};
    for (std::size_t i = 0; i < n_; ++i) {
      moved[i] = sample.q[i] - q_[i];
      drift_[i] = kept_share * drift_[i] + moved[i] - 0.5 * gap * (sample.dq[i] + dq_[i]);
      const double max_drift = are_velocities_zero ? kMaxStillPositionDriftRad :
        kMaxPositionDriftRad + (kMaxVelocityDelayS + gap) * std::abs(sample.dq[i]);
      if (!leapt && std::abs(moved[i]) > max_velocity_[i] * gap + kMaxPositionDriftRad) {
        leapt = i;
      }
      if (!drifted && std::abs(drift_[i]) > max_drift) {
        drifted = i;
      }
    }
    if (!leapt && !drifted) {
      return {};
    }
    const Vector drift = drift_;
    drift_.fill(0.0);
    if (leapt) {
      place_count_ = 0;
      return Reason::of_joint(ReasonCode::position_leap, *leapt, {moved[*leapt], gap});
    }
    const std::size_t i = *drifted;
    return are_velocities_zero ?
           Reason::of_joint(ReasonCode::zero_velocities, i, {drift[i]}) :
           Reason::of_joint(ReasonCode::wrong_velocity, i, {drift[i], sample.dq[i]});
  }

  StateLimits limits_;
  double max_period_;  // [s]
  std::size_t n_ = 0;
  Vector max_velocity_{}, lower_{}, upper_{}, max_effort_{}, near_lower_{}, near_upper_{};

  Vector q_{}, dq_{};
  bool has_position_ = false;
  Reason problem_{};
  bool has_possible_values_ = false;
  bool is_position_known_ = false;
  int good_count_ = 0;

  std::optional<double> stamp_{};  // [s]
  double elapsed_ = 0.0;
  double age_ = 0.0;
  double arrival_time_ = 0.0;
  bool is_arrival_given_ = false;
  double stamp_clock_at_arrival_ = 0.0;
  LatestValues periods_{};
  LatestValues ages_{};
  double period_ = kMaxStepS;
  double median_age_ = 0.0;
  int old_stamp_count_ = 0;  // states in a row, up to the latest, whose stamps are not new
  int set_back_count_ = 0;   // those of them whose stamps lie before the newest
  bool stamps_repeat_ = false;  // whether a stamp repeated just before the latest new one

  Vector drift_{};
  std::array<Place, kMinGoodStateCount> places_{};
  std::size_t first_place_ = 0;
  std::size_t place_count_ = 0;
};

}  // namespace franka_dynamics_controllers
