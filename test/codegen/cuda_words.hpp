// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
// CUDA's words for a CPU: a block is 64 threads, and its blocks run one after another.
#include <pthread.h>

#include <cmath>
#include <thread>
#include <vector>

#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(threads)
struct Index { unsigned int x; };
static thread_local Index threadIdx, blockIdx;
static pthread_barrier_t barrier;
static void __syncthreads() { pthread_barrier_wait(&barrier); }

template <class... Arguments>
static void launch(void (* kernel)(Arguments...), unsigned int blocks, Arguments... arguments)
{
  pthread_barrier_init(&barrier, nullptr, 64);
  std::vector<std::thread> threads;
  for (unsigned int thread = 0; thread < 64; ++thread) {
    threads.emplace_back([=] {
      threadIdx.x = thread;
      for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        kernel(arguments...);
        __syncthreads();
      }
    });
  }
  for (auto & one : threads) {one.join();}
}
