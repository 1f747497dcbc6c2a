// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Feedforward torques of one arm, without ROS: gravity, Coriolis, inertia and friction torque,
// payload, torque and torque-rate limits, a brake, and a stop sequence that needs no state.
//
// Real-time safe: no allocation, no lock, no exception and no system call after configure().
// SI units; arrays in joint order. tau = M(q) ddq + C(q, dq) dq + g(q).
#ifndef @GUARD@_FEEDFORWARD_HPP
#define @GUARD@_FEEDFORWARD_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "@NAME@/friction.hpp"
#include "@NAME@/settings.hpp"
#include "@NAME@/terms.hpp"

namespace @NAME@
{

/// Largest torque rate [N m/s], even if the arm file allows more: FCI stops a robot at a higher
/// rate. kLongestStep is the longest time between two commands that counts for a change [s].
constexpr double kMostRate = 1000.0;
constexpr double kLongestStep = 1e-3;

struct Reference
{
  Vector q{}, dq{}, ddq{};
};

/// Limits torques and torque rates.
class TorqueLimiter
{
public:
  /// The torque nearest to `desired` that may follow `previous` after `elapsed` seconds. At most
  /// kLongestStep of the time counts; a negative time or NaN counts as zero.
  static Vector limit(const Vector & desired, const Vector & previous, double elapsed) noexcept
  {
    const double seconds = elapsed > 0.0 ? std::min(elapsed, kLongestStep) : 0.0;
    Vector torque;
    for (std::size_t i = 0; i < kJoints; ++i) {
      const double within = within_limit(i, desired[i]);
      const double step = std::min(kEffortRate[i], kMostRate) * seconds;
      torque[i] = std::min(std::max(within, previous[i] - step), previous[i] + step);
    }
    return torque;
  }

  static double within_limit(std::size_t i, double torque) noexcept
  {
    return std::min(std::max(torque, -kEffort[i]), kEffort[i]);
  }
};

/// Brings a moving arm to rest by M(q) a, with a = -dq / T within the acceleration limits. Braking
/// needs valid states, and no reference.
class Braking
{
public:
  static constexpr double kTimeConstant = 0.03;  // [s]
  static constexpr double kRestSpeed = 0.02;     // [rad/s] a slower joint is at rest
  static constexpr double kLongest = 1.0;        // [s] longest braking
  static constexpr double kMostAcceleration = 10.0;  // [rad/s^2] the FR3's limit

  /// Start braking. With `hold` the arm is kept at rest afterwards, and braked again if pushed.
  void begin(bool hold = false) noexcept
  {
    hold_ = hold;
    began_ = at_rest_ = false;
    still_ = 0;
  }

  bool at_rest() const noexcept {return at_rest_;}

  /// Compute the brake's torque. Returns false at the end of braking: the arm is at rest and need
  /// not be held, kLongest has passed, or the kinetic energy grows.
  bool torque(
    double stamp, const Vector & q, const Vector & dq, const TermModel & terms,
    Vector & tau) noexcept
  {
    Vector momentum, slowing;
    terms.inertia(q, dq, momentum);
    double energy = 0.0;
    for (std::size_t i = 0; i < kJoints; ++i) {
      energy += 0.5 * dq[i] * momentum[i];
    }
    if (at_rest_ && energy > kLeastEnergy) {
      begin(hold_);
    }
    if (!began_) {
      began_ = true;
      since_ = before_ = stamp;
      energy_ = gaining_ = 0.0;
    }
    still_ = moves(dq, 2.0 * kRestSpeed) ? 0 : still_ + 1;
    at_rest_ = at_rest_ || still_ >= kRestSamples;
    if (stamp - since_ < kLate) {
      energy_ = std::max(energy_, energy);
    } else {
      gaining_ = energy > kMostEnergyGain * energy_ + kLeastEnergy ?
        gaining_ + (stamp - before_) : 0.0;
    }
    before_ = stamp;
    if (at_rest_ ? !hold_ : stamp - since_ > kLongest || gaining_ > kLongestGain) {
      return false;
    }
    for (std::size_t i = 0; i < kJoints; ++i) {
      const double most = std::min(kAcceleration[i], kMostAcceleration);
      slowing[i] = std::min(
        std::max(-dq[i] / kTimeConstant, -most), most);
    }
    terms.inertia(q, slowing, tau);
    return true;
  }

  static bool moves(const Vector & dq, double least = kRestSpeed) noexcept
  {
    return !std::all_of(
      dq.begin(), dq.end(), [least](double speed) {return std::abs(speed) < least;});
  }

private:
  // An arm is at rest after so many samples below twice kRestSpeed; gears make velocities ripple.
  static constexpr int kRestSamples = 20;
  // A brake takes kinetic energy out of the arm. If a brake adds energy, the model or the velocity
  // is wrong. Earlier torques may add energy for kLate, and a person who pushes for kLongestGain.
  static constexpr double kMostEnergyGain = 1.5, kLeastEnergy = 0.05;  // [1], [J]
  static constexpr double kLate = 0.05, kLongestGain = 0.1;            // [s]

  double since_ = 0.0, before_ = 0.0, energy_ = 0.0, gaining_ = 0.0;
  int still_ = 0;
  bool began_ = false, hold_ = false, at_rest_ = false;
};

/// The result of an update: a command, or why there is no command.
enum class Outcome {command, silent, not_finite, out_of_range};

/// Computes the torque for a state and a reference. One object per arm; not thread safe.
///
/// Call update() once per state. If update() gives no command, call stop_step() until stop_step()
/// returns false. While torques are commanded, a value that is not finite, a joint out of its
/// range or far from its reference is a fault: the arm is stopped until clear_fault(), and fault()
/// says why.
class Feedforward
{
public:
  /// Use other settings from the next update on. The step in the command is faded out, and the
  /// friction elements' state becomes unknown. Returns nullptr, or why the settings are refused;
  /// the present settings then stay in use.
  const char * configure(const Settings & settings) noexcept
  {
    if (const char * reason = refuse(settings)) {
      return reason;
    }
    if (mode_ == Mode::running && !changed_) {
      before_ = law_;
      changed_ = true;
    }
    law_.settings = settings;
    const auto given = [](const Vector & gains) {
        return std::any_of(gains.begin(), gains.end(), [](double gain) {return gain > 0.0;});
      };
    law_.has_gains = given(settings.kp) || given(settings.kd);
    law_.terms.configure(settings);
    law_.friction.restart();
    return nullptr;
  }

  const Settings & settings() const noexcept {return law_.settings;}
  const TermModel & terms() const noexcept {return law_.terms;}
  const Vector & last() const noexcept {return last_;}
  bool stopping() const noexcept {return mode_ == Mode::stopping;}
  bool braking() const noexcept {return mode_ == Mode::braking;}
  /// Whether the brake has stopped the arm and holds it until resume().
  bool holding() const noexcept {return braking() && braking_.at_rest();}
  /// Whether a torque was commanded since the start or the last restart().
  bool started() const noexcept {return started_;}

  /// The fault that stopped the arm, or nullptr.
  const char * fault() const noexcept {return fault_;}

  /// Acknowledge the fault; commands begin again with the next valid state.
  void clear_fault() noexcept {fault_ = nullptr;}

  /// Forget everything but the settings: the next update gives the first command. Without
  /// restart() the first command after a stop starts from the last one, which may still act.
  void restart() noexcept
  {
    mode_ = Mode::silent;
    fault_ = nullptr;
    started_ = blending_ = blend_asked_ = changed_ = desires_ = follows_ = false;
    last_.fill(0.0);
    law_.friction.restart();
  }

  /// Compute the torque `tau` [N m] for one joint state; the caller publishes the torque.
  ///
  /// Without a `reference` the last reference's position is kept; if there was no reference and
  /// there are gains, the present position becomes the reference. `torque`, if given, is a torque
  /// from upstream that is added before the limits.
  Outcome update(
    double stamp, const Vector & q, const Vector & dq, const Reference * reference,
    Vector & tau, const Vector * torque = nullptr) noexcept
  {
    if (!all_finite(q) || !all_finite(dq) || !std::isfinite(stamp)) {
      return fail("a joint state is not finite", Outcome::not_finite);
    }
    for (std::size_t i = 0; i < kJoints; ++i) {
      if (!within_range(i, q[i])) {
        return fail("a joint is out of its range", Outcome::out_of_range);
      }
    }
    if (law_.settings.friction) {
      law_.friction.follow(stamp, q);
    }
    q_ = q;
    dq_ = dq;
    stamp_ = stamp;
    if (mode_ == Mode::stopping || (mode_ == Mode::silent && fault_)) {
      return Outcome::silent;
    }
    if (mode_ == Mode::silent) {
      run();
    }
    // The reference before this update, for the torque that would follow without a new reference.
    const bool desired_before = desires_, begins = reference && !follows_;
    const bool ends = !reference && follows_;  // perhaps with a velocity
    const Reference was = ends ? given_ : held_;
    const Reference * desired_state = desired(reference);
    if (mode_ == Mode::running && desired_state && too_far(q, desired_state->q)) {
      fault_ = "a joint is further from its reference than max_tracking_error";
      brake();
      if (mode_ == Mode::stopping) {
        return Outcome::silent;
      }
    }
    Vector gravity, ours{}, coriolis, total{};
    law_.terms.gravity(q, gravity);
    // Torques from upstream may contain gravity; once they cease nobody else compensates gravity.
    if (law_.settings.gravity || law_.settings.torque_from_upstream) {
      law_.terms.gravity_to_command(q, gravity, ours);
    }
    law_.terms.coriolis(q, dq, coriolis);
    if (mode_ == Mode::braking) {
      if (!braking_.torque(stamp, q, dq, law_.terms, total)) {
        stop();
        return Outcome::silent;
      }
      add(total, coriolis);
      add(total, ours);
    } else {
      law_.torque(q, dq, desired_state, gravity, coriolis, total);
      if (torque) {
        add(total, *torque);
      }
      if (law_.has_gains && !desired_state) {
        hold(q);
      }
    }
    if (!all_finite(total)) {
      return fail("the computed torque is not finite", Outcome::not_finite);
    }
    if (!started_) {
      for (std::size_t i = 0; i < kJoints; ++i) {
        last_[i] = TorqueLimiter::within_limit(
          i, law_.settings.target.start_at_gravity ? ours[i] : 0.0);
      }
      started_ = true;
      command_stamp_ = stamp;
    }
    if (mode_ == Mode::running) {
      Vector otherwise{};
      const bool fresh = changed_ || begins || ends;
      if (fresh) {
        const Law & before = changed_ ? before_ : law_;
        Vector weight, turning;
        before.terms.gravity(q, weight);
        before.terms.coriolis(q, dq, turning);
        const Reference * then =
          begins || ends ? (desired_before ? &was : nullptr) : desired_state;
        before.torque(q, dq, then, weight, turning, otherwise);
        if (torque) {
          add(otherwise, *torque);
        }
      }
      glide(stamp, total, fresh ? &otherwise : nullptr);
      changed_ = false;
    }
    const Vector limited = TorqueLimiter::limit(total, last_, stamp - command_stamp_);
    if (!all_finite(total) || !all_finite(limited)) {
      return fail("the command is not finite", Outcome::not_finite);
    }
    last_ = limited;
    command_stamp_ = stamp;
    tau = last_;
    return Outcome::command;
  }

  /// Bring a moving arm to rest by the next updates, and then begin the stop sequence. An arm that
  /// follows torques from upstream, with a target that adds no gravity, is held at rest instead.
  void brake() noexcept
  {
    const bool hold = law_.settings.torque_from_upstream && law_.settings.target.stop_at_gravity;
    if (mode_ == Mode::running && started_ && (hold || Braking::moves(dq_))) {
      mode_ = Mode::braking;
      forget_reference();
      braking_.begin(hold);
    } else if (mode_ == Mode::running) {
      stop();
    }
  }

  /// End braking or holding, because commands have come again; after a fault nothing changes.
  void resume() noexcept
  {
    if (mode_ == Mode::braking && !fault_) {
      run();
    }
  }

  /// Begin the stop sequence, which needs no states and, with `to_zero`, ends at zero torque.
  void stop(bool to_zero = false) noexcept
  {
    if (mode_ != Mode::running && mode_ != Mode::braking) {
      return;
    }
    if (!started_) {
      mode_ = Mode::silent;  // nothing was commanded, so no stop sequence is needed
      return;
    }
    Vector gravity{}, ours{};
    if (law_.settings.target.stop_at_gravity && !to_zero &&
      (law_.settings.gravity || law_.settings.torque_from_upstream))
    {
      law_.terms.gravity(q_, gravity);
      law_.terms.gravity_to_command(q_, gravity, ours);
    }
    for (std::size_t i = 0; i < kJoints; ++i) {
      stop_goal_[i] = TorqueLimiter::within_limit(i, ours[i]);
    }
    forget_reference();
    mode_ = Mode::stopping;
  }

  /// Begin the stop sequence if the last valid state is older than `timeout` [s] at the time `now`
  /// on the clock of the states' stamps. Returns whether the stop sequence runs.
  bool check_silence(double now, double timeout) noexcept
  {
    if (!(now - stamp_ <= timeout)) {
      stop();
    }
    return stopping();
  }

  /// Compute the next torque of the stop sequence, `elapsed` seconds after the last torque.
  /// Returns false once the sequence has ended; `tau` is then the sequence's last torque.
  bool stop_step(double elapsed, Vector & tau) noexcept
  {
    tau = last_;
    if (mode_ != Mode::stopping) {
      return false;
    }
    if (last_ == stop_goal_) {
      mode_ = Mode::silent;
      return false;
    }
    last_ = TorqueLimiter::limit(stop_goal_, last_, elapsed);
    tau = last_;
    return true;
  }

private:
  enum class Mode {silent, running, braking, stopping};

  /// Settings and models that give a torque for a state and a reference.
  struct Law
  {
    Settings settings{};
    TermModel terms{};
    Friction friction{};
    bool has_gains = false;

    /// Sum the gravity that the target does not add, `scale` times Coriolis, inertia and friction
    /// torque, and the PD torque. `reference` may be null.
    void torque(
      const Vector & q, const Vector & dq, const Reference * reference, const Vector & gravity,
      const Vector & coriolis, Vector & total) const noexcept
    {
      const bool there = settings.at_reference && reference;
      Vector part;
      total.fill(0.0);
      if (settings.coriolis) {
        total = coriolis;
        if (there) {
          terms.coriolis(reference->q, reference->dq, total);
        }
      }
      if (settings.inertia && reference) {
        terms.inertia(there ? reference->q : q, reference->ddq, part);
        add(total, part);
      }
      if (settings.friction && reference) {
        // Friction at the measured velocity would follow the sensor's noise.
        friction.feedforward(reference->dq, part);
        add(total, part);
      }
      for (double & each : total) {
        each *= settings.scale;
      }
      if (settings.gravity) {
        terms.gravity_to_command(q, gravity, part);
        add(total, part);
      }
      for (std::size_t i = 0; has_gains && i < kJoints; ++i) {
        total[i] += reference ?
          settings.kp[i] * (reference->q[i] - q[i]) + settings.kd[i] * (reference->dq[i] - dq[i]) :
          -settings.kd[i] * dq[i];
      }
    }
  };

  static void add(Vector & total, const Vector & part) noexcept
  {
    for (std::size_t i = 0; i < kJoints; ++i) {
      total[i] += part[i];
    }
  }

  Outcome fail(const char * reason, Outcome outcome) noexcept
  {
    if (started_ && (mode_ == Mode::running || mode_ == Mode::braking)) {
      fault_ = fault_ ? fault_ : reason;
    }
    stop();
    return outcome;
  }

  void run() noexcept
  {
    mode_ = Mode::running;
    blend_asked_ = true;
    changed_ = false;
  }

  void forget_reference() noexcept {desires_ = follows_ = false;}

  void hold(const Vector & q) noexcept
  {
    held_ = Reference{q, Vector{}, Vector{}};
    desires_ = true;
  }

  /// The reference; without a reference the position that is held, or nullptr if none is held.
  const Reference * desired(const Reference * reference) noexcept
  {
    if (mode_ != Mode::running) {
      return nullptr;
    }
    follows_ = reference != nullptr;
    if (reference) {
      hold(reference->q);
      given_ = *reference;
      return reference;
    }
    return desires_ ? &held_ : nullptr;
  }

  bool too_far(const Vector & q, const Vector & desired) const noexcept
  {
    for (std::size_t i = 0; i < kJoints; ++i) {
      const double bound = law_.settings.max_tracking_error[i];
      if (bound > 0.0 && !(std::abs(q[i] - desired[i]) <= bound)) {
        return true;
      }
    }
    return false;
  }

  /// Add to the torque `desired` an offset that prevents a step at a start or a change, and is
  /// faded out over the ramp time. At a start the offset is the difference to the last torque
  /// published, at a change to `before`: the torque of the former settings and reference at the
  /// present state.
  void glide(double stamp, Vector & desired, const Vector * before) noexcept
  {
    const double ramp = law_.settings.ramp_time;
    const double passed = ramp > 0.0 ? (stamp - since_) / ramp : 1.0;
    // The offset's remaining fraction is at most 1, even if the stamps go back.
    const double left = blending_ && passed < 1.0 ? std::min(1.0 - passed, 1.0) : 0.0;
    if (!blend_asked_ && !before) {
      blending_ = left > 0.0;
      for (std::size_t i = 0; i < kJoints; ++i) {
        desired[i] += left * difference_[i];
      }
      return;
    }
    for (std::size_t i = 0; i < kJoints; ++i) {
      difference_[i] = blend_asked_ ? last_[i] - desired[i] :
        left * difference_[i] + ((*before)[i] - desired[i]);
      desired[i] += ramp > 0.0 ? difference_[i] : 0.0;
    }
    since_ = stamp;
    blending_ = true;
    blend_asked_ = false;
  }

  Law law_{}, before_{};
  Braking braking_{};
  Reference held_{}, given_{};  // what is held without a reference; the last reference
  Vector q_{}, dq_{};
  Vector last_{}, stop_goal_{}, difference_{};
  double stamp_ = 0.0, command_stamp_ = 0.0, since_ = 0.0;
  const char * fault_ = nullptr;
  Mode mode_ = Mode::silent;
  bool started_ = false, blending_ = false, blend_asked_ = false;
  bool changed_ = false;  // whether the settings changed since the last update, from `before_`
  bool desires_ = false;  // whether `held_` is valid
  bool follows_ = false;  // whether the last update had a reference
};

}  // namespace @NAME@

#endif  // @GUARD@_FEEDFORWARD_HPP
