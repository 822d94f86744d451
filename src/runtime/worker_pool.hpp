// SPDX-License-Identifier: MIT
// A few permanent threads for work that may hang: starting a program from a dead mount, a pattern that backtracks for
// ever. A worker that is busy with one job for longer than `patience` counts as stuck and is replaced, so that the
// others' work goes on; at most `max_lost` are replaced at a time. When all are stuck, work is refused at once with an
// error that says so. A stuck worker that comes back takes up work again, or ends if there are enough without it. Work
// that throws counts as refused, with what it threw: a disk that fails must not end the daemon.
//
// Handing one small thing over costs more than doing it. So what belongs together is submitted together: one worker is
// woken for all of it, and the loop is woken once when it is done. None of it is hostage of another: after `gather`
// what is done is told, and other workers come to help where the first makes no way. What is so small that a function
// of its own would cost more than the work is submitted as a Series.
//
// Owned and called by the loop thread; the work runs on the workers, completions on the loop. When the pool goes,
// completions that are not delivered yet never are, and workers that are stuck are left to themselves.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/loop.hpp"
#include "util/result.hpp"

namespace healer::runtime {

class WorkerPool {
 public:
  struct Options {
    std::string name;  ///< for people and `ps`, at most 15 bytes
    unsigned workers = 2;
    unsigned max_lost = 16;
    Duration patience{1000};
    Duration gather{2};  ///< of what was submitted together
  };
  /// Runs on a worker; what it gives back runs on the loop.
  using Work = std::function<Loop::Callback()>;
  using Refused = std::function<void(Error)>;
  struct Task {
    Work work;
    Refused refused;
  };
  /// Several things of one kind, each of which is done and told by its number.
  class Series {
   public:
    virtual ~Series() = default;
    /// How many there are: the same from its submission on.
    [[nodiscard]] virtual std::size_t size() const = 0;
    /// On a worker; several at a time on several.
    virtual void work(std::size_t one) = 0;
    /// On the loop: it is done. In the order in which they are.
    virtual void tell(std::size_t one) = 0;
    /// On the loop, never from within submit: it was not done or not to its end.
    virtual void refuse(std::size_t one, const Error& why) = 0;
  };

  WorkerPool(Loop& loop, Options options);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Has `work` done, in the order of submission; or calls `refused` on the loop (never from within submit), where it
  /// was not done or not to its end.
  void submit(Work work, Refused refused);
  /// The same of several.
  void submit(std::vector<Task> tasks);
  /// The same of a series.
  void submit(std::shared_ptr<Series> series);

  /// Number of workers that are stuck now.
  [[nodiscard]] unsigned stuck() const;

 private:
  struct State;
  void supervise();
  void help();

  std::shared_ptr<State> state_;
  Loop::Timer timer_;
  Loop::Timer helper_;
  bool supervised_ = false;
};

}  // namespace healer::runtime
