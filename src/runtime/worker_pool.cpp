// SPDX-License-Identifier: MIT
#include "runtime/worker_pool.hpp"

#include <pthread.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/clock.hpp"

namespace healer::runtime {

struct WorkerPool::State {
  struct Job {
    Work work;
    Refused refused;
  };
  struct Worker {
    std::thread thread;
    std::optional<Duration> busy_since;
    bool ended = false;
  };

  explicit State(Options wanted) : options(std::move(wanted)) {}

  const Options options;
  mutable std::mutex mutex;  // guards all that follows
  std::condition_variable work_there;
  std::condition_variable worker_ended;
  std::deque<Job> queue;
  std::list<Worker> workers;
  Loop* loop = nullptr;  // null once the pool is gone

  bool is_stuck(const Worker& worker, Duration now) const {
    return worker.busy_since && now - *worker.busy_since >= options.patience;
  }
  unsigned living() const {
    return static_cast<unsigned>(
        std::count_if(workers.begin(), workers.end(), [](const Worker& worker) { return !worker.ended; }));
  }
  unsigned stuck(Duration now) const {
    return static_cast<unsigned>(
        std::count_if(workers.begin(), workers.end(), [&](const Worker& worker) { return is_stuck(worker, now); }));
  }
  /// Brings the number of workers up to what is wanted. False where the machine gives none.
  static bool replenish(const std::shared_ptr<State>& self);
  static void run(const std::shared_ptr<State>& self, Worker& worker);
  static void refuse(const std::shared_ptr<State>& self, std::deque<Job> jobs, std::string why);
};

bool WorkerPool::State::replenish(const std::shared_ptr<State>& self) {
  const unsigned wanted = self->options.workers + std::min(self->stuck(mono_now()), self->options.max_lost);
  while (self->living() < wanted) {
    Worker& worker = self->workers.emplace_back();
    try {
      worker.thread = std::thread([self, &worker] { run(self, worker); });
    } catch (const std::system_error&) {
      self->workers.pop_back();
      return self->living() > 0;
    }
  }
  return true;
}

void WorkerPool::State::run(const std::shared_ptr<State>& self, Worker& worker) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are the loop thread's
  pthread_setname_np(pthread_self(), self->options.name.substr(0, 15).c_str());

  std::unique_lock lock(self->mutex);
  while (true) {
    self->work_there.wait(lock, [&] { return !self->queue.empty() || self->loop == nullptr; });
    if (self->loop == nullptr) break;
    Job job = std::move(self->queue.front());
    self->queue.pop_front();
    worker.busy_since = mono_now();
    lock.unlock();
    Loop::Callback done;
    try {
      done = job.work();
    } catch (const std::exception& error) {
      done = [refused = std::move(job.refused), what = std::string(error.what())] { refused(Error{0, what}); };
    }
    job = {};
    lock.lock();
    worker.busy_since.reset();
    if (self->loop == nullptr) break;
    if (done) {
      self->loop->post([weak = std::weak_ptr<State>(self), done = std::move(done)] {
        if (const auto state = weak.lock(); state && state->loop != nullptr) done();
      });
    }
    if (self->living() > self->options.workers + self->stuck(mono_now())) break;  // replaced meanwhile
  }
  worker.ended = true;
  self->worker_ended.notify_all();
}

void WorkerPool::State::refuse(const std::shared_ptr<State>& self, std::deque<Job> jobs, std::string why) {
  if (jobs.empty()) return;
  self->loop->post([weak = std::weak_ptr<State>(self), jobs = std::move(jobs), why = std::move(why)] {
    for (const Job& job : jobs) {
      if (const auto state = weak.lock(); state && state->loop != nullptr) job.refused(Error{0, why});
    }
  });
}

WorkerPool::WorkerPool(Loop& loop, Options options)
    : state_(std::make_shared<State>(std::move(options))), timer_(loop.timer([this] { supervise(); })) {
  const std::lock_guard lock(state_->mutex);
  state_->loop = &loop;
  State::replenish(state_);
}

WorkerPool::~WorkerPool() {
  std::unique_lock lock(state_->mutex);
  state_->loop = nullptr;
  state_->queue.clear();
  state_->work_there.notify_all();
  state_->worker_ended.wait_for(lock, std::chrono::seconds(1), [this] { return state_->living() == 0; });
  for (auto& worker : state_->workers) {
    if (!worker.ended) worker.thread.detach();  // stuck: it holds on to State and touches nothing else
  }
  std::vector<std::thread> ended;
  for (auto& worker : state_->workers) {
    if (worker.ended && worker.thread.joinable()) ended.push_back(std::move(worker.thread));
  }
  lock.unlock();
  for (auto& thread : ended) thread.join();
}

void WorkerPool::submit(Work work, Refused refused) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->queue.push_back({std::move(work), std::move(refused)});
    state_->work_there.notify_one();
  }
  if (!std::exchange(supervised_, true)) timer_.set_deadline(mono_now() + state_->options.patience);
}

unsigned WorkerPool::stuck() const {
  const std::lock_guard lock(state_->mutex);
  return state_->stuck(mono_now());
}

void WorkerPool::supervise() {
  supervised_ = false;
  std::vector<std::thread> ended;
  {
    const std::lock_guard lock(state_->mutex);
    const bool any = State::replenish(state_);
    const unsigned stuck = state_->stuck(mono_now());
    if (!any || (stuck == state_->living() && stuck >= state_->options.workers + state_->options.max_lost)) {
      State::refuse(
          state_, std::exchange(state_->queue, {}),
          any ? fmt::format("all {} workers ({}) hang", stuck, state_->options.name) : "no thread can be started");
    }
    const bool busy = !state_->queue.empty() ||
                      std::any_of(state_->workers.begin(), state_->workers.end(),
                                  [](const State::Worker& worker) { return worker.busy_since.has_value(); });
    if (busy) supervised_ = true;
    state_->workers.remove_if([&](State::Worker& worker) {
      if (!worker.ended) return false;
      ended.push_back(std::move(worker.thread));
      return true;
    });
  }
  for (auto& thread : ended) thread.join();
  if (supervised_) timer_.set_deadline(mono_now() + state_->options.patience);
}

}  // namespace healer::runtime
