// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Feedforward torques of one arm, without ROS: follows motions or torques from upstream, brakes the
// arm when they cease, and keeps the limits of torque and torque rate.
//
// Real-time safe: no allocation, no lock, no exception and no system call after configure().
// SI units; arrays in joint order. tau = M(q) ddq + C(q, dq) dq + g(q).
#ifndef @GUARD@_FEEDFORWARD_HPP
#define @GUARD@_FEEDFORWARD_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

#include "@NAME@/friction.hpp"
#include "@NAME@/settings.hpp"
#include "@NAME@/terms.hpp"

namespace @NAME@
{

/// A command from upstream: a motion's q, dq and ddq, or a torque.
struct Reference
{
  Vector q{}, dq{}, ddq{}, torque{};
};

inline void add(Vector & total, const Vector & part) noexcept
{
  for (std::size_t i = 0; i < kJoints; ++i) {
    total[i] += part[i];
  }
}

/// What lets commands be followed again; of two the later counts.
enum class Remedy {none, wait, clear};

/// Why torques ended, and until when: Ending and Cause of the Python controller.
struct Ending
{
  const char * why = nullptr;
  Remedy until = Remedy::none;

  /// Whether it is a fault that stays until it is cleared.
  bool latched() const noexcept {return until == Remedy::clear;}
  /// This ending and a later one: the first reason stays named, the harder remedy counts.
  Ending joined(const Ending & later) const noexcept
  {
    return {why ? why : later.why, std::max(until, later.until)};
  }
};

namespace cause
{
constexpr Ending kStatesLost{"a joint state is missing or not finite", Remedy::wait};
constexpr Ending kStateImpossible{
  "a joint is where it cannot be, or faster than it can be", Remedy::clear};
constexpr Ending kBrakingFailed{
  "something drives the arm: it gets faster in spite of braking", Remedy::clear};
constexpr Ending kTorqueNotFinite{"the computed torque is not finite", Remedy::clear};
}  // namespace cause

/// The torque nearest to `desired` within the torque limits that may follow `previous` after
/// `elapsed` seconds, of which at most kMaxStepS counts.
inline Vector limited(const Vector & desired, const Vector & previous, double elapsed) noexcept
{
  Vector torque;
  for (std::size_t i = 0; i < kJoints; ++i) {
    const double within = std::min(std::max(desired[i], -kEffort[i]), kEffort[i]);
    const double step = std::min(kEffortRate[i], kMaxTorqueRateNmS) * std::min(elapsed, kMaxStepS);
    torque[i] = std::min(std::max(within, previous[i] - step), previous[i] + step);
  }
  return torque;
}

/// Brings a moving arm to rest by a PD torque towards the pose where braking began and by M(q) a,
/// as far as kd damps less: a is that of a critically damped joint with the time constant
/// kBrakingTimeConstantS, or longer and with softer gains in a slow loop. Without a motion's gains
/// there is no pose, and a only damps.
class BrakingController
{
public:
  BrakingController() noexcept = default;
  /// `pulls`: whether the arm is to be held where it stops, with the gains of `settings` at least.
  BrakingController(const Settings & settings, bool pulls) noexcept
  : kp_(settings.kp), kd_(settings.kd), pulls_(pulls) {}

  bool at_rest() const noexcept {return at_rest_;}
  /// Whether something else drives the arm: it gets faster.
  bool driven() const noexcept {return gaining_ >= kRunawayDetectionTimeS;}

  /// Compute the brake's torque, `elapsed` seconds after the last one.
  void torque(
    const Vector & q, const Vector & dq, const TermModel & terms, double elapsed,
    Vector & tau) noexcept
  {
    const double late = kMinTimeConstantToAgeRatio * std::max(0.0, elapsed - kMaxStepS);
    const double decay = std::max(kBrakingTimeConstantS, late);
    const double stiffness = 0.25 / (decay * decay);  // critically damped [1/s^2]
    // It yields where a would reach its bound, and the arm stays where it was pushed to.
    constexpr double kMost = kMaxBrakingDecelerationRadS2;
    const double yields = kMost / stiffness;
    Matrix M;
    terms.mass_matrix(q, M);
    Vector momentum, slowing;
    terms.inertia(q, dq, momentum);
    watch(dq, 0.5 * std::inner_product(dq.begin(), dq.end(), momentum.begin(), 0.0), elapsed);
    Vector pull;
    for (std::size_t i = 0; i < kJoints; ++i) {
      const bool moved = !begun_ || (!at_rest_ && held_back_[i] != 0.0);
      const double away = moved ? 0.0 : std::min(std::max(q[i] - stop_pose_[i], -yields), yields);
      stop_pose_[i] = q[i] - away;
      const double soft = 1.0 / std::max(1.0, late * kd_[i] / M[i][i]);
      const double kd = soft * kd_[i];
      pull[i] = soft * kp_[i] * away + kd * dq[i];
      const double missing = 1.0 - std::min(1.0, kd * decay / M[i][i]);
      const double damps = std::min(std::max(dq[i] / decay, -kMost), kMost);
      slowing[i] = -missing * ((pulls_ ? stiffness * away : 0.0) + damps);
    }
    begun_ = true;
    terms.inertia(q, slowing, tau);
    for (std::size_t i = 0; i < kJoints; ++i) {
      tau[i] -= pull[i];
    }
  }

  /// Note what limits made of a desired torque.
  void limit(const Vector & desired, const Vector & sent) noexcept
  {
    for (std::size_t i = 0; i < kJoints; ++i) {
      held_back_[i] = desired[i] - sent[i];
    }
  }

private:
  void watch(const Vector & dq, double energy, double elapsed) noexcept
  {
    time_ += elapsed;
    const bool slow = std::all_of(
      dq.begin(), dq.end(), [](double speed) {return std::abs(speed) < 2.0 * kMaxRestSpeedRadS;});
    resting_ = slow ? resting_ + 1 : 0;
    at_rest_ = at_rest_ || resting_ >= kMinGoodStateCount || time_ > kMaxBrakingTimeS;
    bool gains = at_rest_ && energy > kMaxHeldArmEnergyJ;
    // A torque that the limit of its rate holds back takes this time to turn round.
    const bool turning = std::any_of(
      held_back_.begin(), held_back_.end(), [](double torque) {return torque != 0.0;});
    const double turn = 2.0 * *std::max_element(kEffort.begin(), kEffort.end()) / kMaxTorqueRateNmS;
    const double late = turning ? std::min(turn, kMaxBrakingTimeS) : kMinBrakingTimeS;
    for (std::size_t i = 0; !at_rest_ && i < kJoints; ++i) {
      const double speed = std::abs(dq[i]);
      gains = gains || (time_ >= late && speed > speed_[i] + kMaxSpeedIncreaseRatio * kVelocity[i]);
      speed_[i] = time_ < late ? std::max(speed_[i], speed) : speed_[i];
    }
    gaining_ = gains ? gaining_ + elapsed : 0.0;
  }

  double time_ = 0.0, gaining_ = 0.0;  // [s]
  Vector speed_{}, stop_pose_{};  // largest at first [rad/s]; where the gains pull to
  Vector kp_{}, kd_{};
  Vector held_back_{};  // by limits from the last torque [N m]
  int resting_ = 0;
  bool pulls_ = false, begun_ = false, at_rest_ = false;
};

/// Knows where the arm was last, and the torque that brings it to rest from there by the model
/// while no joint state can be believed.
class UnseenArm
{
public:
  /// Note a state that is believed.
  void see(const Vector & q, const Vector & dq) noexcept
  {
    q_ = q;
    dq_ = dq;
    known_ = true;
    stops_ = false;
  }

  /// Forget where the arm was.
  void reset() noexcept {known_ = stops_ = false;}

  /// Bring an arm that moved when it was seen last to rest from there, at a time [s].
  void lose(double now) noexcept
  {
    const bool moved = std::any_of(
      dq_.begin(), dq_.end(), [](double speed) {return std::abs(speed) > kMaxRestSpeedRadS;});
    if (known_ && !stops_ && moved) {
      stops_ = true;
      begun_ = now;
    }
  }

  /// Whether the arm is being brought to rest at a time [s].
  bool stops(double now) const noexcept {return stops_ && now - begun_ < kUnseenStopTimeS;}

  /// Compute the torque that brings the arm to rest; velocities are taken to decay exponentially.
  void stopping_torque(const TermModel & terms, double now, Vector & tau) const noexcept
  {
    const double left = std::exp(-std::max(0.0, now - begun_) / kUnseenStopTimeConstantS);
    Vector q, dq, slowing, part;
    for (std::size_t i = 0; i < kJoints; ++i) {
      q[i] = q_[i] + (1.0 - left) * kUnseenStopTimeConstantS * dq_[i];
      dq[i] = left * dq_[i];
      slowing[i] = -dq[i] / kUnseenStopTimeConstantS;
    }
    terms.gravity_to_command(q, tau);
    terms.coriolis(q, dq, part);
    add(tau, part);
    terms.inertia(q, slowing, part);
    add(tau, part);
  }

  /// Whether any state was believed, and the last position.
  bool known() const noexcept {return known_;}
  const Vector & q() const noexcept {return q_;}

private:
  Vector q_{}, dq_{};
  double begun_ = 0.0;  // [s]
  bool known_ = false, stops_ = false;
};

/// Settings and models that give a torque for a state and a motion.
class ControlLaw
{
public:
  void configure(const Settings & given) noexcept
  {
    settings = given;
    const auto any = [](const Vector & gains) {
        return std::any_of(gains.begin(), gains.end(), [](double gain) {return gain > 0.0;});
      };
    has_gains = any(given.kp) || any(given.kd);
    terms.configure(given);
    friction.restart();
  }

  /// Sum the gravity that the target does not add, `scale` times Coriolis, inertia and friction
  /// torque, and the PD torque. Without a `reference` inertia and friction torque are zero, and the
  /// PD torque only damps.
  void torque(
    const Vector & q, const Vector & dq, const Reference * reference, Vector & total) const noexcept
  {
    Vector part;
    total.fill(0.0);
    if (settings.friction && reference) {
      // Friction at the measured velocity would follow the sensor's noise.
      friction.feedforward(reference->dq, dq, settings.kp, total);
    }
    if (settings.coriolis) {
      terms.coriolis(q, dq, part);
      add(total, part);
    }
    if (settings.inertia && reference) {
      terms.inertia(q, reference->ddq, part);
      add(total, part);
    }
    terms.gravity_to_command(q, part);
    for (std::size_t i = 0; i < kJoints; ++i) {
      total[i] = settings.scale * total[i] + part[i];
      if (has_gains && reference) {
        total[i] += settings.kp[i] * (reference->q[i] - q[i]);
        total[i] += settings.kd[i] * (reference->dq[i] - dq[i]);
      } else if (has_gains) {
        total[i] -= settings.kd[i] * dq[i];
      }
    }
  }

  Settings settings{};
  TermModel terms{};
  Friction friction{};
  bool has_gains = false;
};

/// Computes each control cycle's torque. One object per arm. One thread calls it; any thread may
/// read state(), fault() and timeouts().
///
/// The states are those of the Python receiver (State in constants.hpp). Commands are followed as
/// soon as they come. If torques cease, the arm is braked; then it is held at rest, or let go if
/// the target compensates gravity. If motions cease, the last position stays the reference.
///
/// A fault is a needed joint state that is missing, not finite or impossible, or an arm that gets
/// faster in spite of braking: the torque goes to the resting torque (zero, or g(q) at the last
/// possible position if the target adds none), at once or, if a moving arm is not seen any more,
/// once the model has brought it to rest (not if commands are total torques). After missing states the arm is braked again, and
/// commands are followed, once kMinGoodStateCount possible ones have come in a row. Other faults
/// stay until restart() or, if commands are total torques, the next command.
class Feedforward
{
public:
  /// Use other settings from the next cycle on; a step of a motion's torque is faded out. Returns
  /// nullptr, or why the settings are refused; the present settings then stay in use.
  const char * configure(const Settings & settings) noexcept
  {
    if (const char * reason = refuse(settings)) {
      return reason;
    }
    const Settings & now = law_.settings;
    if (state_ != State::waiting && (settings.command != now.command ||
      settings.target.adds_gravity != now.target.adds_gravity))
    {
      return "target and command cannot change after the first torque; restart() before";
    }
    if (!changed_) {
      before_ = law_;
      changed_ = true;
    }
    law_.configure(settings);
    return nullptr;
  }

  const Settings & settings() const noexcept {return law_.settings;}
  const TermModel & terms() const noexcept {return law_.terms;}
  State state() const noexcept {return state_;}
  /// Why the state is State::fault; else nullptr.
  const char * fault() const noexcept {return state_ == State::fault ? why_.load() : nullptr;}
  /// How often torques ceased while they were followed.
  std::uint64_t timeouts() const noexcept {return timeouts_;}

  /// Forget everything but the settings: there is no torque until a command comes.
  void restart() noexcept
  {
    state_ = State::waiting;
    changed_ = keeps_ = follows_ = false;
    ending_ = Ending{};
    unseen_.reset();
    good_ = 0;
    last_.fill(0.0);
    law_.friction.restart();
  }

  /// Compute the torque `tau` [N m] of a cycle, `elapsed` seconds after the last cycle; a negative
  /// time or NaN counts as zero. Returns false while there is no torque to send.
  ///
  /// `q` and `dq` are nullptr if the joint states could not be read, `given` is nullptr if there is
  /// no command. An arm that awaits motions is held from the first cycle on.
  bool cycle(
    double elapsed, const Vector * q, const Vector * dq, const Reference * given,
    Vector & tau) noexcept
  {
    // After kMaxBrakingTimeS a braked arm counts as held, and a ramp is over.
    const double seconds = elapsed > 0.0 ? std::min(elapsed, kMaxBrakingTimeS) : 0.0;
    clock_ += seconds;
    const bool finite = q && dq && all_finite(*q) && all_finite(*dq);
    const bool usable = finite && possible(*q, *dq);
    good_ = usable ? std::min(good_ + 1, kMinGoodStateCount) : 0;
    if (usable) {
      q_ = *q;
      dq_ = *dq;
      unseen_.see(q_, dq_);
      law_.friction.follow(clock_, q_);
    }
    decide(given, finite, usable);
    if (state_ == State::waiting) {
      return false;
    }
    Vector desired = goal_;
    if (state_ == State::fault && unseen_.stops(clock_)) {
      unseen_.stopping_torque(law_.terms, clock_, desired);
    } else if (state_ == State::fault) {
      desired = goal_ = resting();
    } else if (state_ == State::following) {
      follow(given, desired);
    } else if (state_ == State::braking || state_ == State::holding) {
      slow(seconds, desired);
    }
    if (!all_finite(desired)) {
      fail(cause::kTorqueNotFinite);
      desired = goal_;
    }
    last_ = limited(desired, last_, seconds);
    brake_.limit(desired, last_);
    tau = last_;
    return true;
  }

  /// Brake the arm in the next cycles, until a command is given.
  void brake() noexcept
  {
    if (state_ == State::following || (state_ == State::fault && !ending_.latched())) {
      leave(State::braking);
      begin_braking();
    }
  }

  /// End at once, without further cycles: `tau` is the resting torque. Returns false if there was
  /// no torque.
  bool end(Vector & tau) noexcept
  {
    const bool sent = state_ != State::waiting;
    goal_ = last_ = tau = resting();
    leave(State::stopped);
    return sent;
  }

private:
  static bool possible(const Vector & q, const Vector & dq) noexcept
  {
    for (std::size_t i = 0; i < kJoints; ++i) {
      if (!within_range(i, q[i]) || std::abs(dq[i]) > kMaxPossibleSpeedRatio * kVelocity[i]) {
        return false;
      }
    }
    return true;
  }

  bool holds() const noexcept {return !law_.settings.target.adds_gravity;}

  /// Change the state as the command and the joint state ask.
  void decide(const Reference * given, bool finite, bool usable) noexcept
  {
    const bool moves = law_.settings.command == Command::motion;
    const bool blind = law_.settings.command == Command::total_torque;  // needs no state to follow
    const bool asked = given || (moves && state_ == State::waiting);
    const bool cleared = state_ != State::fault ||
      (!ending_.latched() && good_ >= kMinGoodStateCount);
    if (asked && ((usable && cleared) || blind)) {
      if (state_ != State::following) {
        begin();
      }
    } else if (state_ == State::following && !given && !moves) {
      ++timeouts_;
      brake();
    } else if (state_ == State::fault && cleared) {
      brake();
    }
    const bool needed = state_ == State::braking || state_ == State::holding ||
      (state_ == State::following && !blind);
    if (needed && !finite) {
      lose(cause::kStatesLost);
    } else if (needed && !usable) {
      lose(cause::kStateImpossible);
    } else if (state_ == State::fault && finite && !usable) {
      ending_ = ending_.joined(cause::kStateImpossible);
    }
  }

  void begin() noexcept
  {
    if (state_ == State::waiting) {
      last_ = resting();
    }
    from_ = last_;
    if (unseen_.known() && !holds() && (state_ == State::waiting || state_ == State::stopped)) {
      // The arm falls without the rest of g(q) once its brakes open, so that only the rate limits it.
      law_.terms.gravity_to_command(q_, from_);
    }
    state_ = State::following;
    begins_ = true;
    changed_ = false;
  }

  void begin_braking() noexcept
  {
    brake_ = BrakingController(law_.settings, law_.settings.command == Command::motion);
  }

  void leave(State state) noexcept
  {
    state_ = state;
    keeps_ = follows_ = false;
  }

  /// End torques because a joint state that is needed cannot be used.
  void lose(const Ending & ending) noexcept
  {
    fail(ending);
    if (law_.settings.command != Command::total_torque) {
      unseen_.lose(clock_);
    }
  }

  void fail(const Ending & ending) noexcept
  {
    ending_ = ending;
    why_ = ending.why;
    goal_ = resting();
    leave(State::fault);
  }

  /// The torque at which the arm stays if nothing is computed any more.
  Vector resting() const noexcept
  {
    if (!holds() || !unseen_.known()) {
      return holds() ? last_ : Vector{};
    }
    Vector torque;
    law_.terms.gravity_to_command(unseen_.q(), torque);
    for (std::size_t i = 0; i < kJoints; ++i) {
      torque[i] = std::min(std::max(torque[i], -kEffort[i]), kEffort[i]);
    }
    return torque;
  }

  /// Compute the torque that follows a command.
  void follow(const Reference * given, Vector & tau) noexcept
  {
    const Command command = law_.settings.command;
    if (command == Command::total_torque) {
      tau = given->torque;
      return;
    }
    if (command == Command::torque) {
      law_.torque(q_, dq_, nullptr, tau);
      add(tau, given->torque);
      return;
    }
    const Reference was = kept_;
    const bool kept = keeps_, turns = (given != nullptr) != follows_;
    const bool released = changed_ && keeps_ && !given && pulled();
    keeps_ = keeps_ && !released;  // a person may have guided the arm away
    if (given) {
      kept_ = *given;
      keeps_ = true;
    } else if (turns) {  // perhaps in mid-motion
      kept_.dq.fill(0.0);
      kept_.ddq.fill(0.0);
    }
    follows_ = given != nullptr;
    const Reference * const reference = keeps_ ? &kept_ : nullptr;
    law_.torque(q_, dq_, reference, tau);
    if (turns || changed_) {
      // What the former settings and reference would give now.
      Vector otherwise;
      (changed_ ? before_ : law_).torque(
        q_, dq_, turns || released ? (kept ? &was : nullptr) : reference, otherwise);
      glide(tau, &otherwise);
    } else {
      glide(tau, nullptr);
    }
    changed_ = false;
    if (law_.has_gains && !keeps_) {
      kept_ = Reference{};
      kept_.q = q_;
      keeps_ = true;
    }
  }

  /// Whether kp grows at a joint that had none, or is far from the position that is kept.
  bool pulled() const noexcept
  {
    for (std::size_t i = 0; i < kJoints; ++i) {
      const double before = before_.settings.kp[i];
      const bool far = std::abs(kept_.q[i] - q_[i]) > kMaxStartDistanceRad;
      if (law_.settings.kp[i] > before && (before == 0.0 || far)) {
        return true;
      }
    }
    return false;
  }

  /// Add an offset that prevents a step and fades out in kRampS: at a start the difference to
  /// the torque `from_`, at a change that to the torque `otherwise`.
  void glide(Vector & desired, const Vector * otherwise) noexcept
  {
    double left = std::max(0.0, 1.0 - (clock_ - since_) / kRampS);
    if (begins_ || otherwise) {
      for (std::size_t i = 0; i < kJoints; ++i) {
        offset_[i] = begins_ ?
          from_[i] - desired[i] : left * offset_[i] + ((*otherwise)[i] - desired[i]);
      }
      since_ = clock_;
      left = 1.0;
      begins_ = false;
    }
    for (std::size_t i = 0; i < kJoints; ++i) {
      desired[i] += left * offset_[i];
    }
  }

  /// Compute the torque that brakes the arm and then holds it, or ends at zero.
  void slow(double seconds, Vector & tau) noexcept
  {
    Vector slowing, coriolis;
    brake_.torque(q_, dq_, law_.terms, seconds, slowing);
    law_.terms.gravity_to_command(q_, tau);
    law_.terms.coriolis(q_, dq_, coriolis);
    add(tau, coriolis);
    add(tau, slowing);
    if (brake_.driven()) {
      fail(cause::kBrakingFailed);
      tau = goal_;
    } else if (brake_.at_rest() && holds()) {
      state_ = State::holding;
    } else if (brake_.at_rest()) {
      state_ = State::stopped;
      goal_ = tau = Vector{};
    }
  }

  ControlLaw law_{}, before_{};
  BrakingController brake_{};
  Reference kept_{};  // the last reference, or the position that is held
  Vector q_{}, dq_{};
  Vector last_{}, goal_{}, from_{}, offset_{};
  double clock_ = 0.0;  // [s] sum of the cycles' times, because system clocks can be set back
  double since_ = -std::numeric_limits<double>::infinity();
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  std::atomic<State> state_{State::waiting};
  std::atomic<const char *> why_{nullptr};  // of `ending_`, for other threads
  std::atomic<std::uint64_t> timeouts_{0};
  Ending ending_{};       // what ended torques, as far as a fault did
  UnseenArm unseen_{};
  int good_ = 0;          // number of possible states in a row
  bool keeps_ = false;    // whether `kept_` is valid
  bool follows_ = false;  // whether `kept_` was given in the last cycle
  bool begins_ = false, changed_ = false;  // start, and change of settings, since the last cycle
};

}  // namespace @NAME@

#endif  // @GUARD@_FEEDFORWARD_HPP
