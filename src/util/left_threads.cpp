// SPDX-License-Identifier: MIT
#include "util/left_threads.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace healer {

namespace {

std::atomic<bool> left{false};

}  // namespace

void end_thread(std::thread& thread, bool over) {
  if (!thread.joinable()) return;
  if (over) return thread.join();
  left = true;
  thread.detach();
}

bool threads_left() { return left; }

int end_process(int status) {
  if (!left) return status;
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(status);
}

}  // namespace healer
