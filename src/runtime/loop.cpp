// SPDX-License-Identifier: MIT
#include "runtime/loop.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <mutex>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/descriptor.hpp"

namespace healer::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kTimerId = 1;
constexpr std::uint64_t kStepId = 2;
constexpr std::uint64_t kFirstWatchId = 16;
constexpr std::size_t kTimersATurn = 256;
constexpr std::chrono::seconds kLagWindow{10};

[[noreturn]] void fail(int code, const char* what) { throw std::system_error(code, std::generic_category(), what); }

void check_uv(int result, const char* what) {
  if (result < 0) fail(-result, what);
}

std::uint32_t epoll_events(unsigned interest) {
  std::uint32_t events = 0;
  if ((interest & Loop::kReadable) != 0) events |= EPOLLIN | EPOLLRDHUP;
  if ((interest & Loop::kWritable) != 0) events |= EPOLLOUT;
  return events;
}

unsigned ready_of(std::uint32_t events) {
  unsigned ready = 0;
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0) ready |= Loop::kReadable;
  if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) ready |= Loop::kWritable;
  return ready;
}

}  // namespace

struct Loop::TimerNode : std::enable_shared_from_this<TimerNode> {
  Impl* impl = nullptr;
  Callback callback;
  std::optional<Duration> deadline;
  bool due = false;  // taken from the set of timers, about to be called
};

struct Loop::WatchNode {
  Impl* impl = nullptr;
  std::uint64_t id = 0;
  int descriptor = -1;
  ReadyCallback callback;
};

struct Loop::SignalNode {
  uv_signal_t handle{};
  Callback callback;
};

struct Loop::Impl {
  uv_loop_t uv{};
  uv_async_t async{};
  uv_poll_t poll{};
  uv_prepare_t prepare{};
  std::atomic<bool> stopping{false};

  std::mutex mutex;
  std::deque<Callback> posted;   // guarded by mutex
  bool woken = false;            // guarded by mutex
  std::deque<Callback> taken;    // what of `posted` is being worked off
  std::vector<Callback> ending;  // of this turn

  Descriptor epoll;
  Descriptor timer_fd;
  Descriptor step_fd;
  std::uint64_t next_id = kFirstWatchId;
  std::unordered_map<std::uint64_t, std::shared_ptr<WatchNode>> watches;
  std::array<epoll_event, 64> batch{};
  int batch_size = 0;
  int batch_next = 0;

  std::set<std::pair<Duration, TimerNode*>> timers;
  std::deque<std::shared_ptr<TimerNode>> due;  // timers that have run out and are told one after another
  std::optional<Duration> armed;
  Callback clock_step;

  LoopLag lag;
  std::chrono::microseconds window_max{0};
  std::chrono::microseconds last_window_max{0};
  Clock::time_point window_start = Clock::now();
  std::uint64_t last_prepare = 0;
  std::uint64_t last_idle = 0;

  Impl();
  ~Impl();
  void wake();
  void drain_posted(Clock::time_point until);
  void dispatch(Clock::time_point until);
  void handle(const epoll_event& event, Clock::time_point until);
  void run_timers(Clock::time_point until);
  void arm_timer();
  void arm_step();
  void end_turn();
  void measure();
};

Loop::Impl::Impl() {
  check_uv(uv_loop_init(&uv), "uv_loop_init");
  uv_loop_configure(&uv, UV_METRICS_IDLE_TIME);
  epoll = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  timer_fd = Descriptor(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  step_fd = Descriptor(::timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!epoll || !timer_fd || !step_fd) fail(errno, "cannot make the loop's descriptors");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kTimerId;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, timer_fd.get(), &event) != 0) fail(errno, "epoll_ctl");
  event.data.u64 = kStepId;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, step_fd.get(), &event) != 0) fail(errno, "epoll_ctl");
  arm_step();

  check_uv(uv_async_init(&uv, &async,
                         [](uv_async_t* handle) {
                           auto* impl = static_cast<Impl*>(handle->data);
                           const auto until = Clock::now() + kTurnBudget;
                           impl->drain_posted(until);
                           if (impl->batch_next < impl->batch_size || !impl->due.empty()) impl->dispatch(until);
                         }),
           "uv_async_init");
  async.data = this;
  check_uv(uv_poll_init(&uv, &poll, epoll.get()), "uv_poll_init");
  poll.data = this;
  check_uv(uv_poll_start(&poll, UV_READABLE,
                         [](uv_poll_t* handle, int, int) {
                           static_cast<Impl*>(handle->data)->dispatch(Clock::now() + kTurnBudget);
                         }),
           "uv_poll_start");
  uv_prepare_init(&uv, &prepare);
  prepare.data = this;
  uv_prepare_start(&prepare, [](uv_prepare_t* handle) {
    auto* impl = static_cast<Impl*>(handle->data);
    impl->end_turn();
    impl->measure();
  });
}

Loop::Impl::~Impl() {
  uv_close(reinterpret_cast<uv_handle_t*>(&async), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&poll), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&prepare), nullptr);
  uv_run(&uv, UV_RUN_DEFAULT);
  uv_loop_close(&uv);
}

void Loop::Impl::wake() {
  {
    const std::lock_guard lock(mutex);
    if (std::exchange(woken, true)) return;
  }
  uv_async_send(&async);
}

void Loop::Impl::drain_posted(Clock::time_point until) {
  {
    const std::lock_guard lock(mutex);
    woken = false;
    if (taken.empty()) taken.swap(posted);
  }
  while (!taken.empty()) {
    const Callback callback = std::move(taken.front());
    taken.pop_front();
    callback();
    if (Clock::now() >= until) break;
  }
  bool more = !taken.empty();
  if (!more) {
    const std::lock_guard lock(mutex);
    more = !posted.empty();
  }
  if (more) wake();
}

void Loop::Impl::dispatch(Clock::time_point until) {
  run_timers(until);
  if (batch_next >= batch_size) {
    batch_next = 0;
    batch_size = std::max(0, ::epoll_wait(epoll.get(), batch.data(), static_cast<int>(batch.size()), 0));
  }
  while (batch_next < batch_size) {
    const epoll_event event = batch[static_cast<std::size_t>(batch_next++)];
    handle(event, until);
    if (Clock::now() >= until) break;
  }
  // Carried on next turn even where nothing else becomes ready meanwhile.
  if (batch_next < batch_size) wake();
}

void Loop::Impl::handle(const epoll_event& event, Clock::time_point until) {
  std::uint64_t count = 0;
  const std::uint64_t id = event.data.u64;  // the kernel's structure is packed: no reference to its members
  if (id == kTimerId) {
    [[maybe_unused]] const auto got = ::read(timer_fd.get(), &count, sizeof count);
    armed.reset();
    run_timers(until);
    arm_timer();
  } else if (id == kStepId) {
    const bool stepped = ::read(step_fd.get(), &count, sizeof count) < 0 && errno == ECANCELED;
    arm_step();
    if (stepped && clock_step) clock_step();
  } else if (const auto found = watches.find(id); found != watches.end()) {
    const std::shared_ptr<WatchNode> node = found->second;  // the callback may end its own watch
    node->callback(ready_of(event.events));
  }
}

void Loop::Impl::run_timers(Clock::time_point until) {
  const Duration now = mono_now();
  // Those beyond have the next turn: the timer's descriptor is set for them.
  while (due.size() < kTimersATurn && !timers.empty() && timers.begin()->first <= now) {
    TimerNode* node = timers.begin()->second;
    timers.erase(timers.begin());
    node->deadline.reset();
    node->due = true;
    due.push_back(node->shared_from_this());
  }
  while (!due.empty()) {
    const std::shared_ptr<TimerNode> node = std::move(due.front());
    due.pop_front();
    if (std::exchange(node->due, false)) node->callback();
    if (Clock::now() >= until) break;
  }
  if (!due.empty()) wake();
}

void Loop::Impl::arm_timer() {
  if (timers.empty()) return;  // an early wake-up does no harm
  const Duration first = timers.begin()->first;
  if (armed && *armed <= first) return;
  armed = first;
  itimerspec spec{};
  // Zero would disarm the timer.
  const Duration at = std::max(first, Duration{1});
  spec.it_value.tv_sec = at.count() / 1000;
  spec.it_value.tv_nsec = at.count() % 1000 * 1'000'000;
  ::timerfd_settime(timer_fd.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void Loop::Impl::arm_step() {
  itimerspec spec{};
  spec.it_value.tv_sec = std::time(nullptr) + 100L * 365 * 24 * 3600;  // far off: only the cancelling matters
  ::timerfd_settime(step_fd.get(), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &spec, nullptr);
}

void Loop::Impl::end_turn() {
  while (!ending.empty())
    for (const Callback& callback : std::exchange(ending, {})) callback();
}

void Loop::Impl::measure() {
  // Everything between two visits of the kernel, minus the time asleep there.
  const std::uint64_t now = uv_hrtime();
  const std::uint64_t idle = uv_metrics_idle_time(&uv);
  if (last_prepare != 0) {
    const auto passed = static_cast<std::int64_t>(now - last_prepare) - static_cast<std::int64_t>(idle - last_idle);
    const std::chrono::microseconds busy{std::max<std::int64_t>(0, passed) / 1000};
    lag.max = std::max(lag.max, busy);
    const auto moment = Clock::now();
    if (moment - window_start >= kLagWindow) {
      last_window_max = moment - window_start >= 2 * kLagWindow ? std::chrono::microseconds{0} : window_max;
      window_max = std::chrono::microseconds{0};
      window_start = moment;
    }
    window_max = std::max(window_max, busy);
    lag.recent = std::max(window_max, last_window_max);
  }
  last_prepare = now;
  last_idle = idle;
}

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;

void Loop::post(Callback callback) {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->posted.push_back(std::move(callback));
  }
  impl_->wake();
}

void Loop::at_end_of_turn(Callback callback) { impl_->ending.push_back(std::move(callback)); }

void Loop::run() {
  impl_->last_prepare = 0;
  uv_run(&impl_->uv, UV_RUN_DEFAULT);
}

void Loop::stop() {
  post([impl = impl_.get()] { uv_stop(&impl->uv); });
}

LoopLag Loop::lag() const { return impl_->lag; }

uv_loop_s* Loop::uv() { return &impl_->uv; }

void Loop::on_clock_step(Callback callback) { impl_->clock_step = std::move(callback); }

// ---- timers

Loop::Timer Loop::timer(Callback callback) {
  auto node = std::make_shared<TimerNode>();
  node->impl = impl_.get();
  node->callback = std::move(callback);
  return Timer(std::move(node));
}

void Loop::Timer::set_deadline(std::optional<Duration> mono) {
  if (!node_) return;
  if (mono && node_->deadline == mono) return;
  Impl& impl = *node_->impl;
  if (node_->deadline) impl.timers.erase({*node_->deadline, node_.get()});
  node_->due = false;
  node_->deadline = mono;
  if (!mono) return;
  impl.timers.emplace(*mono, node_.get());
  impl.arm_timer();
}

Loop::Timer& Loop::Timer::operator=(Timer&& other) noexcept {
  Timer old(std::move(other));
  std::swap(node_, old.node_);
  return *this;
}

Loop::Timer::~Timer() { set_deadline(std::nullopt); }

// ---- descriptors

Result<Loop::Watch> Loop::watch(int descriptor, unsigned interest, ReadyCallback callback) {
  auto node = std::make_shared<WatchNode>();
  node->impl = impl_.get();
  node->id = impl_->next_id++;
  node->descriptor = descriptor;
  node->callback = std::move(callback);
  epoll_event event{};
  event.events = epoll_events(interest);
  event.data.u64 = node->id;
  if (::epoll_ctl(impl_->epoll.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    return system_error(errno, "cannot watch a descriptor");
  }
  impl_->watches.emplace(node->id, node);
  return Watch(std::move(node));
}

void Loop::Watch::change(unsigned interest) {
  epoll_event event{};
  event.events = epoll_events(interest);
  event.data.u64 = node_->id;
  ::epoll_ctl(node_->impl->epoll.get(), EPOLL_CTL_MOD, node_->descriptor, &event);
}

Loop::Watch& Loop::Watch::operator=(Watch&& other) noexcept {
  Watch old(std::move(other));
  std::swap(node_, old.node_);
  return *this;
}

Loop::Watch::~Watch() {
  if (!node_) return;
  ::epoll_ctl(node_->impl->epoll.get(), EPOLL_CTL_DEL, node_->descriptor, nullptr);
  node_->impl->watches.erase(node_->id);
}

// ---- signals

Result<Loop::SignalWatch> Loop::on_signal(int number, Callback callback) {
  auto node = std::make_unique<SignalNode>();
  node->callback = std::move(callback);
  if (const int result = uv_signal_init(&impl_->uv, &node->handle); result < 0) {
    return system_error(-result, "cannot watch a signal");
  }
  node->handle.data = node.get();
  SignalWatch watch(node.release());
  const int result = uv_signal_start(
      &watch.node_->handle, [](uv_signal_t* handle, int) { static_cast<SignalNode*>(handle->data)->callback(); },
      number);
  if (result < 0) return system_error(-result, "cannot watch a signal");
  return watch;
}

Loop::SignalWatch& Loop::SignalWatch::operator=(SignalWatch&& other) noexcept {
  SignalWatch old(std::move(other));
  std::swap(node_, old.node_);
  return *this;
}

Loop::SignalWatch::~SignalWatch() {
  if (node_ == nullptr) return;
  uv_close(reinterpret_cast<uv_handle_t*>(&node_->handle),
           [](uv_handle_t* handle) { delete static_cast<SignalNode*>(handle->data); });
}

}  // namespace healer::runtime
