// SPDX-License-Identifier: MIT
// The one connection to systemd, over the system bus, on the loop: nothing here waits. Calls are answered by a
// callback; what systemd says by itself is told to the listener.
//
// A connection that is lost, or cannot be had, is tried again after pauses; each call that was under way is answered
// with kNotAnswered, and the listener is told once until it is there again. A call that is made meanwhile is answered
// with kNotSent, but for those before the first attempt has ended, which wait for that. It counts as being there when
// systemd has answered: a bus without it is none.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/rules/unit.hpp"
#include "runtime/loop.hpp"
#include "util/result.hpp"

struct sd_bus;
struct sd_bus_message;
struct sd_bus_slot;

namespace healer::runtime {

/// What systemd says of a unit.
struct UnitReading {
  engine::UnitFacts facts;
  std::string id;   ///< its own name, where it was asked for by another
  std::string job;  ///< the path of its job under way; empty: there is none
  // Where it is accounted for, and the unit has such a thing.
  std::optional<std::uint64_t> restarts;     ///< NRestarts
  std::optional<std::uint64_t> memory;       ///< bytes
  std::optional<std::uint64_t> tasks;        ///< processes and threads
  std::optional<std::uint64_t> nanoseconds;  ///< of processor time
};

class SystemBus {
 public:
  /// Error::code where there is no connection: nothing was sent.
  static constexpr int kNotSent = 107;  // ENOTCONN
  /// Error::code where no answer has come, most often since the connection was lost: whether it was done is not known.
  static constexpr int kNotAnswered = 104;  // ECONNRESET

  struct Options {
    std::string address{};          ///< empty: that of the system bus
    Duration call_timeout{10'000};  ///< without an answer, which may take while systemd reloads
    Duration first_pause{1'000};    ///< before it is tried again; doubles
    Duration longest_pause{30'000};
  };

  /// What systemd says by itself. Never from within a call.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void connected() = 0;
    /// Once, until connected() again.
    virtual void lost(const std::string& why) = 0;
    /// A unit, named by the path of its object, has changed. Empty: that is not told.
    virtual void changed(std::string_view path, std::string_view active, std::string_view sub) = 0;
    /// A unit was loaded, or is not any more.
    virtual void listed(std::string_view path) = 0;
    /// systemd has read its files again.
    virtual void reloaded() = 0;
    /// A job has ended: "done", "failed", "canceled", ...
    virtual void job_ended(std::string_view path, std::string_view result) = 0;
  };

  /// Requires: `loop` and `listener` outlive it.
  SystemBus(Loop& loop, Options options, Listener& listener);
  ~SystemBus();
  SystemBus(const SystemBus&) = delete;
  SystemBus& operator=(const SystemBus&) = delete;

  using Read = std::function<void(Result<UnitReading>)>;
  /// Reads all that is known of a unit, in one call. One that does not exist is "not-found".
  void read(const std::string& unit, Read done);
  using Ordered = std::function<void(Result<std::string>)>;
  /// Begins a job; answered with its path, or with the words in which systemd refuses it.
  void order(const engine::UnitOrder& order, Ordered done);
  /// Cancels a job: job_ended() tells of it. One that is over is left alone.
  void cancel(const std::string& job);
  /// Nobody needs it any more, until the next call.
  void close();

  [[nodiscard]] bool is_connected() const { return state_ == State::Connected; }

 private:
  enum class State : std::uint8_t { Closed, Connecting, Connected, Pausing };
  struct Call;
  struct Handlers;  // what libsystemd calls
  using Reply = std::function<void(sd_bus_message*, const Error*)>;

  bool open();
  void subscribe();
  void lose(const std::string& why);
  void drop();
  void fail_calls(const std::string& why);
  void ready();
  void watch();
  void call(sd_bus_message* message, Reply done);
  void answer_later(Reply done, Error error);
  Result<void> add_matches();
  void heard(sd_bus_message* message);

  Loop& loop_;
  Options options_;
  Listener& listener_;
  State state_ = State::Closed;
  sd_bus* bus_ = nullptr;
  std::vector<sd_bus_slot*> matches_;
  std::list<std::unique_ptr<Call>> calls_;  // under way
  Loop::Watch watch_;
  Loop::Timer timer_;  // of the connection's own times
  Loop::Timer retry_;
  Duration pause_;
  std::string why_;          // it was lost
  bool told_ = false;        // that it is lost
  bool processing_ = false;  // within sd_bus_process
  bool goes_on_ = false;     // what is left of a flood is read in the next turn
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace healer::runtime
