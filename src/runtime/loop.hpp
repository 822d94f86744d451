// SPDX-License-Identifier: MIT
// The loop: the one thread on which engine, graph and every shell meet. RAII over one uv loop.
//
// Threads hand results over with post(); everything else here belongs to the thread that calls run(). Descriptors that
// are watched, and timers, live in an epoll of the loop's own that is one descriptor of the uv loop: adding a watch is
// one system call, a removed one can never fire again, and a turn hands out no more than fits in kTurnBudget, so that a
// flood of readable pipes or of posted work delays nobody. What did not fit is carried on in the next turn, in order.
//
// Handles (Timer, Watch, SignalWatch) are owned by the caller and must go before the Loop does.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "util/result.hpp"
#include "util/time.hpp"

struct uv_loop_s;

namespace healer::runtime {

/// How long the loop was away from its descriptors in one go.
struct LoopLag {
  std::chrono::microseconds max{0};     ///< since the start
  std::chrono::microseconds recent{0};  ///< worst of the last 10 to 20 s
};

class Loop {
  struct Impl;
  struct TimerNode;
  struct WatchNode;
  struct SignalNode;

 public:
  using Callback = std::function<void()>;
  static constexpr std::chrono::milliseconds kTurnBudget{3};

  /// What a watch waits for, and what it is told. Errors and hang-ups count as both.
  enum Ready : std::uint8_t { kReadable = 1, kWritable = 2 };
  using ReadyCallback = std::function<void(unsigned ready)>;

  /// A one-shot timer on the time since boot. Inert when default-constructed or moved from.
  class Timer {
   public:
    Timer() = default;
    Timer(Timer&&) noexcept = default;
    Timer& operator=(Timer&& other) noexcept;
    ~Timer();
    /// Fires once at `mono` (CLOCK_BOOTTIME, as Instant::mono), at once where that is past; nothing: not at all.
    /// Replaces what was set before.
    void set_deadline(std::optional<Duration> mono);

   private:
    friend class Loop;
    explicit Timer(std::shared_ptr<TimerNode> node) : node_(std::move(node)) {}
    std::shared_ptr<TimerNode> node_;
  };

  /// A watched descriptor. Must go before the descriptor is closed.
  class Watch {
   public:
    Watch() = default;
    Watch(Watch&&) noexcept = default;
    Watch& operator=(Watch&& other) noexcept;
    ~Watch();
    /// Waits for something else from now on (a sum of Ready; 0: only errors).
    void change(unsigned interest);
    explicit operator bool() const { return node_ != nullptr; }

   private:
    friend class Loop;
    explicit Watch(std::shared_ptr<WatchNode> node) : node_(std::move(node)) {}
    std::shared_ptr<WatchNode> node_;
  };

  /// A signal that the loop takes instead of the default action.
  class SignalWatch {
   public:
    SignalWatch() = default;
    SignalWatch(SignalWatch&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    SignalWatch& operator=(SignalWatch&& other) noexcept;
    ~SignalWatch();

   private:
    friend class Loop;
    explicit SignalWatch(SignalNode* node) : node_(node) {}
    SignalNode* node_ = nullptr;
  };

  /// Throws std::system_error where the kernel gives no descriptors (start-up).
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs `callback` on the loop thread, in the order of posting. From any thread.
  void post(Callback callback);
  /// Runs `callback` before the loop waits again, in the order of asking: for what is gathered in a turn. Only from the
  /// loop thread.
  void at_end_of_turn(Callback callback);
  /// Runs until stop(). May be called again.
  void run();
  /// Makes run() return after the present turn. From any thread.
  void stop();

  [[nodiscard]] Timer timer(Callback callback);
  /// Watches `descriptor` (a pipe, socket, pidfd...; level-triggered; a wake-up may be needless). Errors: EPERM for
  /// plain files, EEXIST where it is watched already.
  [[nodiscard]] Result<Watch> watch(int descriptor, unsigned interest, ReadyCallback callback);
  [[nodiscard]] Result<SignalWatch> on_signal(int number, Callback callback);
  /// Called when the wall clock was set (not when it is slewed).
  void on_clock_step(Callback callback);

  [[nodiscard]] LoopLag lag() const;
  /// For the few that drive uv handles of their own (the control server); they close them before the Loop goes.
  [[nodiscard]] uv_loop_s* uv();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace healer::runtime
