// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Feedforward torques of one arm, without ROS: terms, payload, the gravity rule of the target,
// torque and torque-rate limits, and a stop sequence that needs no state.
//
// Real-time safe: no allocation, no lock, no exception and no system call after configure().
// SI units; arrays in joint order. tau = M(q) ddq + C(q, dq) dq + g(q).
#ifndef @GUARD@_FEEDFORWARD_HPP
#define @GUARD@_FEEDFORWARD_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "@NAME@/arm.hpp"

namespace @NAME@
{

using Vector = std::array<double, kJoints>;
using Matrix = std::array<std::array<double, kJoints>, kJoints>;

/// A torque may change by no more than this per second [N m/s], whatever the arm file says, and at
/// most one control cycle of time counts [s]: what FCI stops the robot for.
constexpr double kMostRate = 1000.0;
constexpr double kLongestStep = 1e-3;

inline bool all_finite(const Vector & values) noexcept
{
  return std::all_of(values.begin(), values.end(), [](double x) {return std::isfinite(x);});
}

/// What a commanded torque means to whoever receives it.
struct Target
{
  bool receiver_adds_gravity;  ///< then only the difference to the true gravity is commanded
  bool start_at_gravity;       ///< the first command; otherwise zero
  bool stop_at_gravity;        ///< where the stop sequence ends; otherwise zero
};

constexpr Target kFci{true, false, false};            // the real arm compensates gravity itself
constexpr Target kFrankaGazebo{true, false, false};   // franka_ros2's Gazebo plugin does
constexpr Target kGzRos2Control{false, true, true};   // nobody else does
constexpr Target kMujoco{false, true, true};

struct Settings
{
  Target target = kFci;
  bool gravity = true, coriolis = true, inertia = true;
  /// Gravity in the base frame [m/s^2]; targets that compensate gravity assume (0, 0, -9.81).
  std::array<double, 3> gravity_vector{0.0, 0.0, -9.81};
  /// As libfranka's setLoad: mass, centre of mass (3) in the flange frame, inertia about it in the
  /// order xx, xy, xz, yy, yz, zz.
  std::array<double, 10> payload{};
  bool payload_known_to_robot = true;
  double scale = 1.0;       ///< of Coriolis and inertia torque, 0 to 1
  double ramp_time = 0.2;   ///< in which a step of the command is faded out [s]
  Vector kp{}, kd{};        ///< optional joint PD [N m/rad, N m s/rad]
};

struct Reference
{
  Vector q{}, dq{}, ddq{};
};

/// Ten inertial parameters: mass, first moment (3), inertia about the frame's origin (6).
using Body = std::array<double, 10>;

/// A body given about its centre of mass -> about the frame's origin.
inline Body about_origin(const std::array<double, 10> & given) noexcept
{
  const double m = given[0], x = given[1], y = given[2], z = given[3];
  return {m, m * x, m * y, m * z,
    given[4] + m * (y * y + z * z), given[5] - m * (x * y), given[6] - m * (x * z),
    given[7] + m * (x * x + z * z), given[8] - m * (y * z), given[9] + m * (x * x + y * y)};
}

/// A body in the flange frame -> in the frame of the last joint.
inline Body in_last_frame(const Body & body) noexcept
{
  const auto & T = kFlange;  // rows of (R | p)
  const double m = body[0];
  double h[3], turned[3];
  for (int i = 0; i < 3; ++i) {
    turned[i] = T[i][0] * body[1] + T[i][1] * body[2] + T[i][2] * body[3];
    h[i] = turned[i] + m * T[i][3];
  }
  const double I[3][3] = {{body[4], body[5], body[6]}, {body[5], body[7], body[8]},
    {body[6], body[8], body[9]}};
  double R[3][3] = {};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 3; ++k) {
        for (int l = 0; l < 3; ++l) {
          R[i][j] += T[i][k] * I[k][l] * T[j][l];
        }
      }
    }
  }
  // Steiner for a shift by p with first moment h' = R h: I + (2 h'.p + m p.p) 1 - ...
  const double p[3] = {T[0][3], T[1][3], T[2][3]};
  double dot = 0.0;
  for (int i = 0; i < 3; ++i) {
    dot += 2.0 * turned[i] * p[i] + m * p[i] * p[i];
  }
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      R[i][j] += (i == j ? dot : 0.0) - turned[i] * p[j] - p[i] * turned[j] - m * p[i] * p[j];
    }
  }
  return {m, h[0], h[1], h[2], R[0][0], R[0][1], R[0][2], R[1][1], R[1][2], R[2][2]};
}

/// The torque terms under given settings, by the customised equations of equations.h.
class TermModel
{
public:
  TermModel() noexcept {configure(Settings{});}

  void configure(const Settings & settings) noexcept
  {
    constexpr std::array<double, 3> assumed{0.0, 0.0, -9.81};
    const Body payload = in_last_frame(about_origin(settings.payload));
    const bool loaded = payload[0] != 0.0;
    settings_gravity_left_ = settings.target.receiver_adds_gravity;
    prepare(loaded ? &payload : nullptr, settings.gravity_vector, true_);
    prepare(loaded && settings.payload_known_to_robot ? &payload : nullptr, assumed, receiver_);
    same_ = settings.gravity_vector == assumed && (!loaded || settings.payload_known_to_robot);
  }

  void gravity(const Vector & q, Vector & tau) const noexcept
  {
    @PREFIX@_gravity(q.data(), &true_.gravity, tau.data());
  }

  /// The part of gravity = g(q) that the target does not add itself.
  void gravity_left_to_us(const Vector & q, const Vector & gravity, Vector & tau) const noexcept
  {
    if (!settings_gravity_left_) {
      tau = gravity;
    } else if (same_) {
      tau.fill(0.0);
    } else {
      @PREFIX@_gravity(q.data(), &receiver_.gravity, tau.data());
      for (std::size_t i = 0; i < kJoints; ++i) {
        tau[i] = gravity[i] - tau[i];
      }
    }
  }

  /// C(q, dq) dq.
  void coriolis(const Vector & q, const Vector & dq, Vector & tau) const noexcept
  {
    @PREFIX@_coriolis(q.data(), dq.data(), &true_.coriolis, tau.data());
  }

  void mass_matrix(const Vector & q, Matrix & M) const noexcept
  {
    @PREFIX@_mass_matrix(
      q.data(), &true_.mass_matrix, reinterpret_cast<double (*)[kJoints]>(M.data()));
  }

  /// M(q) ddq.
  void inertia(const Vector & q, const Vector & ddq, Vector & tau) const noexcept
  {
    Matrix M;
    mass_matrix(q, M);
    for (std::size_t i = 0; i < kJoints; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < kJoints; ++j) {
        sum += M[i][j] * ddq[j];
      }
      tau[i] = sum;
    }
  }

private:
  struct Prepared
  {
    @PREFIX@_gravity_parameters gravity;
    @PREFIX@_coriolis_parameters coriolis;
    @PREFIX@_mass_matrix_parameters mass_matrix;
  };

  static void prepare(
    const Body * payload, const std::array<double, 3> & gravity, Prepared & prepared) noexcept
  {
    auto X = kParameters;
    for (std::size_t i = 0; payload && i < payload->size(); ++i) {
      X[11 * (kJoints - 1) + i] += (*payload)[i];
    }
    std::copy(gravity.begin(), gravity.end(), X.begin() + 11 * kJoints);
    @PREFIX@_prepare_gravity(X.data(), &prepared.gravity);
    @PREFIX@_prepare_coriolis(X.data(), &prepared.coriolis);
    @PREFIX@_prepare_mass_matrix(X.data(), &prepared.mass_matrix);
  }

  Prepared true_{}, receiver_{};
  bool settings_gravity_left_ = true, same_ = true;
};

/// Keeps commands within a torque and a torque rate.
class TorqueLimiter
{
public:
  /// The nearest torque that may follow `previous` after `elapsed` seconds, of which at most
  /// kLongestStep counts, and none if it is not positive.
  static Vector limit(const Vector & desired, const Vector & previous, double elapsed) noexcept
  {
    const double seconds = std::min(std::max(elapsed, 0.0), kLongestStep);
    Vector torque;
    for (std::size_t i = 0; i < kJoints; ++i) {
      const double within = std::min(std::max(desired[i], -kEffort[i]), kEffort[i]);
      const double step = std::min(kEffortRate[i], kMostRate) * seconds;
      torque[i] = std::min(std::max(within, previous[i] - step), previous[i] + step);
    }
    return torque;
  }
};

/// Why an update gave no torque, or that it did.
enum class Outcome {command, silent, not_finite, out_of_range};

/// State and reference -> torque. One object per arm; not thread safe.
class Feedforward
{
public:
  /// Use other settings from the next update on; the command glides to what it becomes.
  /// Returns nullptr, or why they cannot be used; the present ones then stay.
  const char * configure(const Settings & settings) noexcept
  {
    if (const char * fault = refuse(settings)) {
      return fault;
    }
    settings_ = settings;
    terms_.configure(settings);
    blend_asked_ = started_;
    return nullptr;
  }

  const TermModel & terms() const noexcept {return terms_;}
  const Vector & last() const noexcept {return last_;}
  bool stopping() const noexcept {return stopping_;}

  /// Begin anew: the next update gives the first command.
  void restart() noexcept
  {
    started_ = stopping_ = blending_ = blend_asked_ = false;
    last_.fill(0.0);
    last_gravity_.fill(0.0);
  }

  /// The torque for one trusted joint state, which is also what was published last.
  ///
  /// `reference` may be null: then nothing is fed forward for acceleration, and gains only damp.
  /// `torque`, where given, is somebody else's and is added before the limits.
  /// A state or a result that is not finite, or a joint beyond its range by more than kSlack, gives
  /// no command and begins the stop sequence.
  Outcome update(
    double stamp, const Vector & q, const Vector & dq, const Reference * reference,
    Vector & tau, const Vector * torque = nullptr) noexcept
  {
    if (stopping_) {
      return Outcome::silent;
    }
    if (!all_finite(q) || !all_finite(dq) || !std::isfinite(stamp)) {
      stop();
      return Outcome::not_finite;
    }
    if (!within_range(q)) {
      stop();
      return Outcome::out_of_range;
    }
    Vector gravity, ours{}, desired{}, part;
    terms_.gravity(q, gravity);
    if (settings_.gravity) {
      terms_.gravity_left_to_us(q, gravity, ours);
    }
    if (settings_.coriolis) {
      terms_.coriolis(q, dq, part);
      add(desired, part, settings_.scale);
    }
    if (settings_.inertia && reference) {
      terms_.inertia(q, reference->ddq, part);
      add(desired, part, settings_.scale);
    }
    add(desired, ours, 1.0);
    if (torque) {
      add(desired, *torque, 1.0);
    }
    for (std::size_t i = 0; i < kJoints; ++i) {
      if (reference) {
        desired[i] += settings_.kp[i] * (reference->q[i] - q[i]) +
          settings_.kd[i] * (reference->dq[i] - dq[i]);
      } else {
        desired[i] -= settings_.kd[i] * dq[i];
      }
    }
    if (!all_finite(desired)) {
      stop();
      return Outcome::not_finite;
    }
    if (!started_) {
      for (std::size_t i = 0; i < kJoints; ++i) {
        const double begin = settings_.target.start_at_gravity ? ours[i] : 0.0;
        last_[i] = std::min(std::max(begin, -kEffort[i]), kEffort[i]);
      }
      started_ = blend_asked_ = true;
      command_stamp_ = stamp;
    }
    glide(stamp, desired);
    last_ = TorqueLimiter::limit(desired, last_, stamp - command_stamp_);
    command_stamp_ = stamp;
    last_gravity_ = ours;
    tau = last_;
    return Outcome::command;
  }

  /// Begin the stop sequence; it needs no state.
  void stop(bool to_zero = false) noexcept
  {
    if (stopping_ || !started_) {
      return;
    }
    const bool hold = settings_.target.stop_at_gravity && !to_zero;
    for (std::size_t i = 0; i < kJoints; ++i) {
      const double goal = hold ? last_gravity_[i] : 0.0;
      stop_goal_[i] = std::min(std::max(goal, -kEffort[i]), kEffort[i]);
    }
    stopping_ = true;
  }

  /// The next torque of the stop sequence, `elapsed` seconds after the last one; false when it has
  /// ended: then `tau` is where it ended.
  bool stop_step(double elapsed, Vector & tau) noexcept
  {
    tau = last_;
    if (!stopping_ || last_ == stop_goal_) {
      blend_asked_ = stopping_ || blend_asked_;
      stopping_ = false;
      return false;
    }
    last_ = TorqueLimiter::limit(stop_goal_, last_, elapsed);
    tau = last_;
    return true;
  }

private:
  static constexpr double kSlack = 0.2;  // how far past a limit an encoder may read [rad]

  static const char * refuse(const Settings & s) noexcept
  {
    for (std::size_t i = 0; i < kJoints; ++i) {
      if (!(s.kp[i] >= 0.0 && s.kp[i] <= 1e5 && s.kd[i] >= 0.0 && s.kd[i] <= 1e5)) {
        return "kp and kd must be within 0 and 1e5";
      }
    }
    if (!(s.scale >= 0.0 && s.scale <= 1.0)) {
      return "scale must be within 0 and 1";
    }
    if (!(s.ramp_time >= 0.0 && s.ramp_time <= 10.0)) {
      return "ramp_time must be within 0 and 10 s";
    }
    double length = 0.0;
    for (double g : s.gravity_vector) {
      length += g * g;
      if (!(std::abs(g) <= 30.0)) {
        return "gravity_vector must be three numbers of at most 30 m/s^2";
      }
    }
    length = std::sqrt(length);
    if (s.target.receiver_adds_gravity && !(length >= 9.7 && length <= 9.9)) {
      return "the target compensates gravity itself: only the direction of gravity_vector can "
             "differ (9.7 to 9.9 m/s^2 in all)";
    }
    for (double x : s.payload) {
      if (!(std::abs(x) <= 100.0)) {
        return "payload must be ten finite numbers in kg, m and kg m^2";
      }
    }
    if (s.payload[0] < 0.0) {
      return "payload: a mass cannot be negative";
    }
    const double A = s.payload[4], D = s.payload[7], F = s.payload[9];
    const double B = s.payload[5], C = s.payload[6], E = s.payload[8];
    if (s.payload[0] == 0.0) {
      const bool empty = std::all_of(
        s.payload.begin(), s.payload.end(), [](double x) {return x == 0.0;});
      return empty ? nullptr : "payload has no mass but a centre of mass or an inertia";
    }
    // A real body: half the trace times 1, less the inertia, is positive semidefinite.
    const double half = 0.5 * (A + D + F), eps = 1e-12 * std::max(1.0, half);
    const double a = half - A, d = half - D, f = half - F;
    const double minors[] = {a, d, f, a * d - B * B, a * f - C * C, d * f - E * E,
      a * (d * f - E * E) - B * (B * f + C * E) - C * (B * E + C * d)};
    for (double minor : minors) {
      if (!(minor >= -eps)) {
        return "payload: this inertia belongs to no real body (A + B >= C is violated)";
      }
    }
    return nullptr;
  }

  static bool within_range(const Vector & q) noexcept
  {
    for (std::size_t i = 0; i < kJoints; ++i) {
      if (!(q[i] >= kLower[i] - kSlack && q[i] <= kUpper[i] + kSlack)) {
        return false;
      }
    }
    return true;
  }

  static void add(Vector & total, const Vector & part, double factor) noexcept
  {
    for (std::size_t i = 0; i < kJoints; ++i) {
      total[i] += factor * part[i];
    }
  }

  /// Fade out the difference that a start or a change of settings would be as a step.
  void glide(double stamp, Vector & desired) noexcept
  {
    if (blend_asked_) {
      for (std::size_t i = 0; i < kJoints; ++i) {
        difference_[i] = last_[i] - desired[i];
      }
      since_ = stamp;
      blending_ = true;
      blend_asked_ = false;
    }
    if (!blending_) {
      return;
    }
    const double passed =
      settings_.ramp_time > 0.0 ? (stamp - since_) / settings_.ramp_time : 1.0;
    if (passed >= 1.0) {
      blending_ = false;
      return;
    }
    for (std::size_t i = 0; i < kJoints; ++i) {
      desired[i] += (1.0 - passed) * difference_[i];
    }
  }

  Settings settings_{};
  TermModel terms_{};
  Vector last_{}, last_gravity_{}, stop_goal_{}, difference_{};
  double command_stamp_ = 0.0, since_ = 0.0;
  bool started_ = false, stopping_ = false, blending_ = false, blend_asked_ = false;
};

}  // namespace @NAME@

#endif  // @GUARD@_FEEDFORWARD_HPP
