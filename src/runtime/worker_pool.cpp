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
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/clock.hpp"
#include "util/left_threads.hpp"
#include "util/rare.hpp"

namespace healer::runtime {
namespace {

constexpr unsigned kGoodWay = 16;                // so many begun in the time of gathering: no help is needed
constexpr std::size_t kClockEvery = 8;           // completions between two looks at the clock
constexpr auto kAtOnce = Loop::kTurnBudget / 2;  // for completions, before the loop may do other things

/// Tasks that were submitted together.
class Tasks final : public WorkerPool::Series {
 public:
  explicit Tasks(std::vector<WorkerPool::Task> tasks) : tasks_(std::move(tasks)), done_(tasks_.size()) {}

  [[nodiscard]] std::size_t size() const override { return tasks_.size(); }
  void work(std::size_t one) override {
    const WorkerPool::Work work = std::exchange(tasks_[one].work, {});  // what it holds ends with it
    done_[one] = work();
  }
  void tell(std::size_t one) override {
    if (const Loop::Callback callback = std::exchange(done_[one], {})) callback();
  }
  void refuse(std::size_t one, const Error& why) override { tasks_[one].refused(why); }

 private:
  std::vector<WorkerPool::Task> tasks_;
  std::vector<Loop::Callback> done_;
};

}  // namespace

struct WorkerPool::State {
  struct Worker {
    std::thread thread;
    std::optional<Duration> busy_since;
    bool ended = false;
  };

  /// What is to be done of a series: from `next` on.
  struct Waiting {
    std::shared_ptr<Series> series;
    std::size_t next = 0;
  };
  /// What is done of a series.
  struct Done {
    std::shared_ptr<Series> series;
    struct One {
      std::size_t number;
      Rare<Error> thrown;
    };
    std::vector<One> ended{};
    std::size_t next = 0;  // to be told
  };

  explicit State(Options wanted) : options(std::move(wanted)) {}

  const Options options;
  mutable std::mutex mutex;  // guards all that follows
  std::condition_variable work_there;
  std::condition_variable worker_ended;
  std::deque<Waiting> queue;
  std::list<Worker> workers;
  Loop* loop = nullptr;    // null once the pool is gone
  std::deque<Done> done;   // what is not told yet
  Duration first_done{0};  // when the first of that came
  bool posted = false;     // the loop will tell it
  bool gathering = false;  // help() will come: only then completions may wait for others
  unsigned begun = 0;      // since help() came last

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
  [[nodiscard]] std::size_t take(std::shared_ptr<Series>& series);
  static void refuse(const std::shared_ptr<State>& self, std::deque<Waiting> queue, std::string why);
  /// Has what is done told by the loop. The lock is held.
  static void post(const std::shared_ptr<State>& self);
  /// Tells what is done. On the loop; the pool may go meanwhile.
  static void deliver(const std::shared_ptr<State>& self);
  [[nodiscard]] bool any_idle() const {
    return std::any_of(workers.begin(), workers.end(),
                       [](const Worker& worker) { return !worker.ended && !worker.busy_since; });
  }
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

  std::shared_ptr<Series> series;  // that it is at
  std::unique_lock lock(self->mutex);
  Duration now{0};
  while (true) {
    if (self->queue.empty() || !series) {
      lock.unlock();
      series.reset();  // what it holds may take a while to end
      lock.lock();
      self->work_there.wait(lock, [&] { return !self->queue.empty() || self->loop == nullptr; });
      now = mono_now();
    }
    if (self->loop == nullptr) break;
    const std::size_t one = self->take(series);
    ++self->begun;
    worker.busy_since = now;
    lock.unlock();
    Rare<Error> thrown;
    try {
      series->work(one);
    } catch (const std::exception& error) {
      thrown = Error{0, error.what()};
    }
    lock.lock();
    now = mono_now();
    worker.busy_since.reset();
    if (self->loop == nullptr) break;
    if (self->done.empty()) self->first_done = now;
    if (self->done.empty() || self->done.back().series != series) self->done.push_back({series});
    Done& done = self->done.back();
    done.ended.push_back({one, std::move(thrown)});
    const bool others_come = self->gathering && !self->queue.empty() && now - self->first_done < self->options.gather;
    if (!others_come) post(self);
    const unsigned living = self->living();
    const bool is_replaced = living > self->options.workers && living > self->options.workers + self->stuck(now);
    if (is_replaced) break;
  }
  worker.ended = true;
  if (!self->queue.empty()) self->work_there.notify_one();  // it may have been woken for that
  self->worker_ended.notify_all();
}

/// The next that is to be done, and of which series. The lock is held.
std::size_t WorkerPool::State::take(std::shared_ptr<Series>& series) {
  Waiting& first = queue.front();
  if (series != first.series) series = first.series;
  const std::size_t one = first.next++;
  if (first.next == first.series->size()) queue.pop_front();
  return one;
}

void WorkerPool::State::refuse(const std::shared_ptr<State>& self, std::deque<Waiting> queue, std::string why) {
  if (queue.empty()) return;
  self->loop->post([weak = std::weak_ptr<State>(self), queue = std::move(queue), why = std::move(why)] {
    for (const Waiting& waiting : queue)
      for (std::size_t one = waiting.next; one < waiting.series->size(); ++one)
        if (const auto state = weak.lock(); state && state->loop != nullptr) waiting.series->refuse(one, Error{0, why});
  });
}

void WorkerPool::State::post(const std::shared_ptr<State>& self) {
  if (std::exchange(self->posted, true)) return;
  self->loop->post([weak = std::weak_ptr<State>(self)] {
    if (const auto state = weak.lock()) deliver(state);
  });
}

void WorkerPool::State::deliver(const std::shared_ptr<State>& self) {
  std::deque<Done> all;
  {
    const std::lock_guard lock(self->mutex);
    self->posted = false;
    all.swap(self->done);
  }
  const auto until = std::chrono::steady_clock::now() + kAtOnce;
  std::size_t count = 0;  // over all series: most are of one
  for (; !all.empty() && self->loop != nullptr; all.pop_front()) {
    Done& done = all.front();
    while (done.next < done.ended.size() && self->loop != nullptr) {
      const auto& [number, thrown] = done.ended[done.next++];
      thrown ? done.series->refuse(number, *thrown) : done.series->tell(number);
      if (++count % kClockEvery != 0 || std::chrono::steady_clock::now() < until) continue;
      const std::lock_guard lock(self->mutex);
      if (self->loop == nullptr) return;
      self->done.insert(self->done.begin(), std::move_iterator(all.begin()), std::move_iterator(all.end()));
      return post(self);
    }
  }
}

WorkerPool::WorkerPool(Loop& loop, Options options)
    : state_(std::make_shared<State>(std::move(options))),
      timer_(loop.timer([this] { supervise(); })),
      helper_(loop.timer([this] { help(); })) {
  const std::lock_guard lock(state_->mutex);
  state_->loop = &loop;
  State::replenish(state_);
}

WorkerPool::~WorkerPool() {
  std::unique_lock lock(state_->mutex);
  state_->loop = nullptr;
  const auto undone = std::exchange(state_->queue, {});  // they end here, on this thread
  const auto undelivered = std::exchange(state_->done, {});
  state_->work_there.notify_all();
  state_->worker_ended.wait_for(lock, std::chrono::seconds(1), [this] { return state_->living() == 0; });
  for (auto& worker : state_->workers) {
    if (!worker.ended) end_thread(worker.thread, false);  // stuck: it holds on to State and touches nothing else
  }
  std::vector<std::thread> ended;
  for (auto& worker : state_->workers) {
    if (worker.ended && worker.thread.joinable()) ended.push_back(std::move(worker.thread));
  }
  lock.unlock();
  for (auto& thread : ended) thread.join();
}

void WorkerPool::submit(Work work, Refused refused) {
  std::vector<Task> tasks;
  tasks.push_back({std::move(work), std::move(refused)});
  submit(std::move(tasks));
}

void WorkerPool::submit(std::vector<Task> tasks) { submit(std::make_shared<Tasks>(std::move(tasks))); }

void WorkerPool::submit(std::shared_ptr<Series> series) {
  if (series->size() == 0) return;
  bool gathers = false;
  {
    const std::lock_guard lock(state_->mutex);
    gathers = series->size() > 1 && !state_->gathering;
    state_->queue.push_back({std::move(series)});
    if (gathers) {
      state_->gathering = true;
      state_->begun = 0;
    }
    state_->work_there.notify_one();
  }
  if (gathers) helper_.set_deadline(mono_now() + state_->options.gather);
  if (!std::exchange(supervised_, true)) timer_.set_deadline(mono_now() + state_->options.patience);
}

/// Looks after what was submitted together, as long as there is something that it can do.
void WorkerPool::help() {
  bool goes_on = false;
  bool undelivered = false;  // its worker goes on to the next, and may hang there
  {
    const std::lock_guard lock(state_->mutex);
    const bool slow = std::exchange(state_->begun, 0) < kGoodWay;
    const bool idle = state_->any_idle();
    if (!state_->queue.empty() && slow && idle) state_->work_there.notify_one();
    goes_on = state_->gathering = !state_->queue.empty() && (idle || !slow);
    undelivered = !state_->done.empty() && !state_->posted;
  }
  if (goes_on) helper_.set_deadline(mono_now() + state_->options.gather);
  if (undelivered) State::deliver(std::shared_ptr(state_));  // last: the pool may go
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
