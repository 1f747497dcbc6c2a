// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Equations of motion of a serial chain of revolute and prismatic joints:
// tau = M(q) ddq + C(q, dq) dq + g(q). SI units; nothing allocates or throws.
#pragma once

#ifdef __FAST_MATH__
#error "Compile without -ffast-math (or -Ofast): it removes the comparisons that find NaN."
#endif

#include <array>
#include <cmath>
#include <cstddef>

namespace franka_dynamics_controllers
{

struct Three
{
  double x = 0.0, y = 0.0, z = 0.0;
};

/// A matrix of three rows.
using Rows = std::array<Three, 3>;

constexpr Rows kIdentity{Three{1.0, 0.0, 0.0}, Three{0.0, 1.0, 0.0}, Three{0.0, 0.0, 1.0}};

constexpr bool operator==(const Three & a, const Three & b) noexcept
{
  return a.x == b.x && a.y == b.y && a.z == b.z;
}
constexpr Three operator+(const Three & a, const Three & b) noexcept
{
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
constexpr Three operator*(double factor, const Three & a) noexcept
{
  return {factor * a.x, factor * a.y, factor * a.z};
}
constexpr double dot(const Three & a, const Three & b) noexcept
{
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
constexpr Three cross(const Three & a, const Three & b) noexcept
{
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
constexpr Three operator*(const Rows & R, const Three & a) noexcept
{
  return {dot(R[0], a), dot(R[1], a), dot(R[2], a)};
}
constexpr Rows transposed(const Rows & R) noexcept
{
  const auto & [a, b, c] = R;
  return {Three{a.x, b.x, c.x}, Three{a.y, b.y, c.y}, Three{a.z, b.z, c.z}};
}
constexpr Rows operator*(const Rows & A, const Rows & B) noexcept
{
  const Rows columns = transposed(B);
  return {columns * A[0], columns * A[1], columns * A[2]};
}

/// Pose of a frame in another one: rotation, and position of the origin.
struct Pose
{
  Rows rotation = kIdentity;
  Three position{};
};

constexpr Pose operator*(const Pose & a, const Pose & b) noexcept
{
  return {a.rotation * b.rotation, a.rotation * b.position + a.position};
}

/// Mass, first moment, and inertia about a frame's origin in the frame's axes.
struct Body
{
  double mass = 0.0;
  Three moment{};
  Rows inertia{};
};

constexpr Body operator+(const Body & a, const Body & b) noexcept
{
  return {a.mass + b.mass, a.moment + b.moment,
    {a.inertia[0] + b.inertia[0], a.inertia[1] + b.inertia[1], a.inertia[2] + b.inertia[2]}};
}

constexpr Body operator*(double factor, const Body & a) noexcept
{
  return {factor * a.mass, factor * a.moment,
    {factor * a.inertia[0], factor * a.inertia[1], factor * a.inertia[2]}};
}

/// The inertia xx, xy, xz, yy, yz, zz as a matrix.
constexpr Rows symmetric(const std::array<double, 6> & I) noexcept
{
  return {Three{I[0], I[1], I[2]}, Three{I[1], I[3], I[4]}, Three{I[2], I[4], I[5]}};
}

/// The body of a frame with the given pose in another frame, expressed in that other frame.
constexpr Body operator*(const Pose & pose, const Body & body) noexcept
{
  const Three & p = pose.position;
  const Three h = pose.rotation * body.moment;
  const Three lever = h + body.mass * p;
  Rows I = pose.rotation * body.inertia * transposed(pose.rotation);
  // Steiner's theorem for a shift by p, with the first moment h in the new axes:
  // R I R^T + (2 h.p + m p.p) 1 - h p^T - p h^T - m p p^T.
  const double along = 2.0 * dot(h, p) + body.mass * dot(p, p);
  I[0] = I[0] + Three{along, 0.0, 0.0} + -h.x * p + -p.x * lever;
  I[1] = I[1] + Three{0.0, along, 0.0} + -h.y * p + -p.y * lever;
  I[2] = I[2] + Three{0.0, 0.0, along} + -h.z * p + -p.z * lever;
  return {body.mass, lever, I};
}

constexpr std::size_t kMaxJoints = 12;

/// A number for each joint, from base to tip; those beyond the arm's joints are not used.
using Vector = std::array<double, kMaxJoints>;
using Matrix = std::array<Vector, kMaxJoints>;

struct JointState
{
  Vector q{}, dq{};
};

struct Motion
{
  Vector q{}, dq{}, ddq{};
};

/// A joint and the link that it moves.
struct Link
{
  bool prismatic = false;
  Pose placement{};            ///< at q = 0 in the frame of the joint before; z is the axis
  Body body{};                 ///< in the frame of the joint
  double rotor_inertia = 0.0;  ///< of the motor, reflected to the joint [kg m^2 or kg]

  /// Pose of the link in the frame of the link before.
  Pose at(double q) const noexcept
  {
    const auto & [R, p] = placement;
    if (prismatic) {
      return {R, p + q * Three{R[0].z, R[1].z, R[2].z}};
    }
    const double c = std::cos(q);
    const double s = std::sin(q);
    const auto turned = [c, s](const Three & row) {
        return Three{row.x * c + row.y * s, row.y * c - row.x * s, row.z};
      };
    return {{turned(R[0]), turned(R[1]), turned(R[2])}, p};
  }

  /// The share of a force and of a moment that acts along the joint.
  double along(const Three & force, const Three & moment) const noexcept
  {
    return prismatic ? force.z : moment.z;
  }
};

struct Chain
{
  std::size_t n = 0;
  std::array<Link, kMaxJoints> links{};
};

/// Compute M ddq + C dq + g under gravity [m/s^2] in the axes of the chain's base, by Newton's and
/// Euler's equations (Luh, Walker, Paul 1980).
inline void inverse_dynamics(
  const Chain & chain, const Motion & motion, const Three & gravity, Vector & tau) noexcept
{
  std::array<Pose, kMaxJoints> pose;
  std::array<Three, kMaxJoints> force, moment;
  Three w, dw, a = -1.0 * gravity;  // of the link's frame, in its axes
  for (std::size_t i = 0; i < chain.n; ++i) {
    const Link & link = chain.links[i];
    const Three speed{0.0, 0.0, motion.dq[i]}, change{0.0, 0.0, motion.ddq[i]};
    pose[i] = link.at(motion.q[i]);
    const Rows back = transposed(pose[i].rotation);
    const Three & p = pose[i].position;
    a = back * (a + cross(dw, p) + cross(w, cross(w, p)));
    w = back * w;
    dw = back * dw;
    if (link.prismatic) {
      a = a + 2.0 * cross(w, speed) + change;
    } else {
      dw = dw + cross(w, speed) + change;
      w = w + speed;
    }
    const auto & [m, h, I] = link.body;
    force[i] = m * a + cross(dw, h) + cross(w, cross(w, h));
    moment[i] = I * dw + cross(w, I * w) + cross(h, a);
  }
  Three f, t;
  for (std::size_t i = chain.n; i-- > 0; ) {
    f = f + force[i];
    t = t + moment[i];
    tau[i] = chain.links[i].along(f, t) + chain.links[i].rotor_inertia * motion.ddq[i];
    f = pose[i].rotation * f;
    t = pose[i].rotation * t + cross(pose[i].position, f);
  }
}

/// Compute M(q): the columns are the torques of unit accelerations.
inline void mass_matrix(const Chain & chain, const Vector & q, Matrix & M) noexcept
{
  for (std::size_t j = 0; j < chain.n; ++j) {
    Motion unit{q, {}, {}};
    unit.ddq[j] = 1.0;
    inverse_dynamics(chain, unit, {}, M[j]);  // M is symmetric
  }
}

}  // namespace franka_dynamics_controllers
