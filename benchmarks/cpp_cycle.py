# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Measure how long one cycle of the generated C++ core takes."""

import argparse
from pathlib import Path
import platform
import shutil
import subprocess
import tempfile

from franka_dynamics.arm import load
from franka_dynamics.cpp_package.package import cpp_package_files

PROGRAM = """
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>
#include "timed/feedforward.hpp"
using namespace timed;
int main() {
  Feedforward feedforward; Settings settings; settings.gravity_vector = {2.0, -3.0, -9.12};
  settings.target = kMujoco; settings.friction = kFriction != FrictionKind::none;
  settings.payload = {1.0, 0.0, 0.0, 0.05, 0.001, 0.0, 0.0, 0.001, 0.0, 0.001};
  if (feedforward.configure(settings)) {return 1;}
  Vector q, dq, tau; Reference reference; double sum = 0.0;
  std::vector<double> ns;
  for (int k = 0; k < 1000000; ++k) {
    const double t = 1e-3 * k;
    for (std::size_t i = 0; i < kJoints; ++i) {
      q[i] = kHome[i] + 0.1 * std::sin(t + static_cast<double>(i));
      dq[i] = 0.1 * std::cos(t + static_cast<double>(i));
      reference.q[i] = q[i]; reference.dq[i] = dq[i]; reference.ddq[i] = -0.1;
    }
    q[2] += 1e-4 * static_cast<double>(k % 7);  // so that Maxwell-slip elements reverse
    const auto begin = std::chrono::steady_clock::now();
    feedforward.cycle(1e-3, &q, &dq, &reference, tau);
    const std::chrono::duration<double, std::nano> passed =
      std::chrono::steady_clock::now() - begin;
    ns.push_back(passed.count()); sum += tau[1];
  }
  std::sort(ns.begin(), ns.end());
  double whole = 0.0;
  for (const double one : ns) {whole += one;}
  std::printf("%.3f %.3f %.3f %.3f %g\\n", whole / 1e3 / static_cast<double>(ns.size()),
              ns[ns.size() / 2] / 1e3, ns[ns.size() * 99 / 100] / 1e3,
              ns[ns.size() * 999 / 1000] / 1e3, sum);
}
"""


def main() -> None:
    """Compile, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--arm', default='fer', help='a shipped arm or an arm file')
    arguments = parser.parse_args()
    compiler = shutil.which('g++') or shutil.which('c++')
    if compiler is None:
        raise SystemExit('No C++ compiler (g++ or c++) is on the path.')
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in cpp_package_files(load(arguments.arm), 'timed').items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        (folder / 'main.cpp').write_text(PROGRAM)
        include, program = folder / 'include', folder / 'timed'
        options = ['-std=c++17', '-O2', '-I', include, '-o', program, folder / 'main.cpp']
        subprocess.run([compiler, *options], check=True)
        done = subprocess.run([program], check=True, text=True, capture_output=True)
        mean, p50, p99, p999, _ = done.stdout.split()
    print(
        f'{platform.processor() or platform.machine()}, {compiler} -O2, one million cycles of '
        f'{arguments.arm} with payload, inclined base and the friction of its file: '
        f'mean {mean} us, p50 {p50} us, p99 {p99} us, p99.9 {p999} us'
    )


if __name__ == '__main__':
    main()
