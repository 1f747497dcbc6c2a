// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Gravity, Coriolis and inertia torque of the arm with its payload, and the part of the gravity
// torque that the target does not add.
#ifndef @GUARD@_TERMS_HPP
#define @GUARD@_TERMS_HPP

#include <algorithm>
#include <array>
#include <cstddef>

#include "@NAME@/settings.hpp"

namespace @NAME@
{

/// Ten inertial parameters: mass, first moment (3), inertia about the frame's origin (6).
using Body = std::array<double, 10>;

/// A body's parameters about its frame's origin, from those about its centre of mass.
inline Body about_origin(const std::array<double, 10> & given) noexcept
{
  const double m = given[0], x = given[1], y = given[2], z = given[3];
  return {m, m * x, m * y, m * z,
    given[4] + m * (y * y + z * z), given[5] - m * (x * y), given[6] - m * (x * z),
    given[7] + m * (x * x + z * z), given[8] - m * (y * z), given[9] + m * (x * x + y * y)};
}

/// A body's parameters in the last joint's frame, from those in the flange frame.
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
  // Steiner's theorem for a shift by p, with k = R h the first moment in the new axes:
  // R I R^T + (2 k.p + m p.p) 1 - k p^T - p k^T - m p p^T.
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

/// Gravity, Coriolis and inertia torque with the settings' payload and gravity, by equations.h.
class TermModel
{
public:
  TermModel() noexcept {configure(Settings{});}

  void configure(const Settings & settings) noexcept
  {
    const Body payload = in_last_frame(about_origin(settings.payload));
    const bool loaded = payload[0] != 0.0;
    adds_gravity_ = settings.target.adds_gravity;
    prepare(loaded ? &payload : nullptr, settings.gravity_vector, true_);
    prepare(loaded && settings.payload_known_to_robot ? &payload : nullptr, kGravity, receiver_);
    same_ = settings.gravity_vector == kGravity && (!loaded || settings.payload_known_to_robot);
  }

  void gravity(const Vector & q, Vector & tau) const noexcept
  {
    @PREFIX@_gravity(q.data(), &true_.gravity, tau.data());
  }

  /// The part of g(q) that the target does not add by itself.
  void gravity_to_command(const Vector & q, Vector & tau) const noexcept
  {
    if (adds_gravity_ && same_) {
      tau.fill(0.0);
      return;
    }
    gravity(q, tau);
    if (adds_gravity_) {
      Vector added;
      @PREFIX@_gravity(q.data(), &receiver_.gravity, added.data());
      for (std::size_t i = 0; i < kJoints; ++i) {
        tau[i] -= added[i];
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

  /// g, C dq and M of the model that a robot which compensates gravity has: with the payload that it
  /// knows, under kGravity.
  void known_to_robot(
    const Vector & q, const Vector & dq, Vector & gravity, Vector & coriolis,
    Matrix & M) const noexcept
  {
    @PREFIX@_gravity(q.data(), &receiver_.gravity, gravity.data());
    @PREFIX@_coriolis(q.data(), dq.data(), &receiver_.coriolis, coriolis.data());
    @PREFIX@_mass_matrix(
      q.data(), &receiver_.mass_matrix, reinterpret_cast<double (*)[kJoints]>(M.data()));
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
    // A Body holds m, h, I in this order; kParameters holds I, h, m of a link.
    constexpr std::size_t place[10] = {9, 6, 7, 8, 0, 1, 2, 3, 4, 5};
    for (std::size_t i = 0; payload && i < payload->size(); ++i) {
      X[11 * (kJoints - 1) + place[i]] += (*payload)[i];
    }
    std::copy(gravity.begin(), gravity.end(), X.begin() + 11 * kJoints);
    @PREFIX@_prepare_gravity(X.data(), &prepared.gravity);
    @PREFIX@_prepare_coriolis(X.data(), &prepared.coriolis);
    @PREFIX@_prepare_mass_matrix(X.data(), &prepared.mass_matrix);
  }

  Prepared true_{}, receiver_{};
  bool adds_gravity_ = true, same_ = true;
};

}  // namespace @NAME@

#endif  // @GUARD@_TERMS_HPP
