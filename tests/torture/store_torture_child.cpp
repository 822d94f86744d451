// SPDX-License-Identifier: MIT
// store_torture_child PATH: goes on with numbered commits where the state at PATH ends, for ever. It writes one line
// per acknowledgement: how many commits are said to be on disk. It is made to be killed.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "store/sqlite_store.hpp"
#include "tests/torture/numbered.hpp"

using namespace healer::store;
using namespace healer::store::test;

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::mutex mutex;
  std::condition_variable changed;
  Sequence acknowledged = 0;
  Callbacks callbacks;
  callbacks.committed = [&](Sequence up_to) {
    char line[32];
    const int size = std::snprintf(line, sizeof line, "%llu\n", static_cast<unsigned long long>(up_to));
    if (::write(STDOUT_FILENO, line, static_cast<std::size_t>(size)) != size) ::_exit(3);
    const std::scoped_lock lock(mutex);
    acknowledged = up_to;
    changed.notify_one();
  };
  SqliteOptions options;
  options.retention.records = 500;
  auto store = SqliteStore::open(arguments[1], callbacks, options);
  if (!store) return 4;
  const auto state = (*store)->load();
  if (!state || !(*store)->notes().empty() || !(*store)->damages().empty()) return 5;
  acknowledged = state->last_sequence;
  for (Sequence number = state->last_sequence + 1;; ++number) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return number - acknowledged <= 1 + number % 40; });
    lock.unlock();
    (*store)->submit(numbered_commit(number));
  }
}
