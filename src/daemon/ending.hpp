// SPDX-License-Identifier: MIT
// The orderly end of a daemon, from the word to end until the loop stops: what is waited for, and how long. Owns how
// far the end has come and the timer of the last moment; calls the rest of the daemon by Calls. On the loop thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/events/event.hpp"
#include "engine/events/record.hpp"
#include "runtime/loop.hpp"
#include "runtime/notify.hpp"
#include "util/time.hpp"

namespace healer {

class Ending {
 public:
  using Callback = runtime::Loop::Callback;
  struct Calls {
    /// Tells the engine.
    std::function<void(const engine::Event&)> handle;
    std::function<void(engine::Severity, std::string_view)> log;
    /// Systemd is told nothing more of the services.
    std::function<void()> stop_status;
    /// Ends the checks, and calls back when they have ended.
    std::function<void(Callback)> stop_runs;
    /// The requests of healings without an answer.
    std::function<std::vector<std::string>()> unanswered;
    /// Whether all that was decided is settled in the journal.
    std::function<bool()> is_settled;
    /// Calls back when those who follow the history have seen its end.
    std::function<void(Callback)> end_followers;
    /// Calls back when what is answered over HTTP has been sent.
    std::function<void(Callback)> when_quiet;
  };

  /// Waits for answers for `grace` at most. Requires: `loop` and `notify` outlive it.
  Ending(runtime::Loop& loop, runtime::Notifier& notify, Duration grace, Calls calls)
      : loop_(loop), notify_(notify), grace_(grace), calls_(std::move(calls)) {}

  /// Checks are ended in good order, actions run on without us, requests of healings are answered or in doubt, what was
  /// decided is on disk. A second call ends the waiting for answers. Where nobody waits for any, it, or a disk that
  /// does not answer, ends the daemon at once: the state is that of a crash, which loses nothing that was committed.
  void stop();
  /// Something may have happened that the end waits for: ends where it was the last.
  void end_if_done();
  /// Whether the end has begun.
  [[nodiscard]] bool has_begun() const { return begun_; }
  /// What the end waits for, a sentence each; nothing where it does not wait for answers.
  [[nodiscard]] std::vector<std::string> awaited_now() const;

 private:
  [[nodiscard]] std::vector<std::string> awaited() const;
  void end_waiting(const std::string& why);

  runtime::Loop& loop_;
  runtime::Notifier& notify_;
  Duration grace_;
  Calls calls_;
  runtime::Loop::Timer last_moment_;
  bool begun_ = false;
  bool waits_for_answers_ = false;
  bool runs_ended_ = false;
  bool ending_ = false;
};

}  // namespace healer
