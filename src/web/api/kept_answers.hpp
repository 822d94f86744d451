// SPDX-License-Identifier: MIT
// Idempotency-Key: what was answered to a request with a key is kept for a day, and given again to one with the same
// key of the same user, of which nothing is done. On the loop thread; what outlives the daemon is written by whoever
// implements AnswerLog.
//
// Nothing is done before it is on disk that it is under way, and no answer is given before that is on disk: whenever
// the daemon ends, the next one knows the answer, or that there may be one. What cannot be written is done all the
// same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "util/hash.hpp"
#include "util/time.hpp"
#include "web/message.hpp"

namespace healer::web {

/// Where answers outlive the daemon: a text of lines. Neither function may wait for a disk.
class AnswerLog {
 public:
  /// Told on the loop thread, once: whether a line is on disk. When the log is destroyed before, it is not told.
  using Written = std::function<void(bool written)>;

  virtual ~AnswerLog() = default;
  /// Adds a line, with its newline. `done` may be called at once.
  virtual void append(std::string line, Written done) = 0;
  /// Puts a text in place of all there is, and of what was added but is not on disk: of that is told as soon as the
  /// text is. If it is too long, everything stays as it is.
  virtual void replace(std::string lines) = 0;
};

/// A request that acts, and may be sent again.
struct Keyed {
  std::string user;  ///< two who are known by different things are different users, whatever their names
  std::string key;
  Hash128 asked{};  ///< of all that it asks for
};

class KeptAnswers {
 public:
  static constexpr Duration kKept = hours{24};
  static constexpr std::size_t kMostOfUser = 1'000;
  static constexpr std::size_t kMost = 10'000;
  static constexpr std::size_t kMostBytes = 32U << 20;  ///< of all answers
  static constexpr std::size_t kLongestKey = 255;

  /// `saved`: what was written to the log before; lines of it that are not understood are passed over. `log`: null:
  /// nothing outlives the daemon; else it outlives this.
  explicit KeptAnswers(AnswerLog* log = nullptr, std::string_view saved = {}, WallTime now = {});

  /// The answer to `request`: that which is kept, else that which `act` makes, which is called, once, when the log has
  /// it that the request is under way: by then whoever asked may have gone. `wake` has a Deferred asked again. While
  /// the answer is made, the same key is refused; what was not done is not kept.
  [[nodiscard]] Reply once(const Keyed& request, WallTime now, std::function<Reply()> act, Wake wake);

  /// Whether no answer is on its way to the log, nor a request that is to be done when the log has it.
  [[nodiscard]] bool is_quiet() const { return unwritten_ == 0; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  enum class Stage : std::uint8_t {
    Noting,    ///< the log does not have it yet: nothing was done
    UnderWay,  ///< it is being done
    Keeping,   ///< there is an answer, which the log does not have yet
    Answered,
    InDoubt  ///< a daemon before us ended while it was under way
  };
  /// What a key stands for.
  struct Entry {
    Hash128 asked{};
    WallTime since{};
    Stage stage = Stage::Noting;
    std::function<Reply()> act{};           ///< until it is called
    std::unique_ptr<Deferred> under_way{};  ///< also when its client has gone
    Wake wake{};                            ///< of the client; none: it does not wait yet, or no more
    unsigned status = 0;                    ///< 0: there is no answer
    std::string type{};
    std::string body{};
  };
  using Name = std::pair<std::string, std::string>;  ///< user and key
  using Entries = std::map<Name, std::shared_ptr<Entry>>;
  class Waiting;

  static std::string line_of(const Name& name, const Entry& entry);
  static Response answer_of(const Entry& entry, bool again);
  void read_line(std::string_view line, WallTime now);
  void add(const Name& name, std::shared_ptr<Entry> entry);
  void drop(const Name& name);
  /// Does it.
  void begin(const Name& name, const std::shared_ptr<Entry>& entry);
  /// Asks for an answer that is being made, and keeps it.
  void look_at(const Name& name, const std::shared_ptr<Entry>& entry);
  void settle(const Name& name, const std::shared_ptr<Entry>& entry, const Response& response);
  void look_after_all(WallTime now);
  /// Adds a line to the log; `then` is called when it is there, or cannot be.
  void write(std::string line, std::function<void()> then);
  [[nodiscard]] bool is_full(const std::string& user) const;

  AnswerLog* log_;
  Entries entries_;
  std::deque<std::pair<WallTime, Name>> by_age_;  // also of those that are gone
  std::set<Name> under_way_;
  std::size_t bytes_ = 0;
  std::size_t unwritten_ = 0;                                          // lines that are on their way to the log
  std::size_t logged_ = 0;                                             // lines since the log was written anew
  std::shared_ptr<const int> alive_ = std::make_shared<const int>(0);  // the log may tell later than that
};

}  // namespace healer::web
