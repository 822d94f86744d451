// SPDX-License-Identifier: MIT
// Idempotency-Key: what was answered to a request with a key is kept for a day, and given again to one with the same
// key of the same user, of which nothing is done. On the loop thread; what outlives the daemon is written by whoever
// implements AnswerLog.
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
  virtual ~AnswerLog() = default;
  /// Adds a line, with its newline.
  virtual void append(std::string line) = 0;
  /// Puts a text in place of all there is.
  virtual void replace(std::string lines) = 0;
};

/// A request that acts, and may be sent again.
struct Keyed {
  std::string user;
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

  /// The answer to `request`: that which is kept, else that which `act` makes. While it is made, the same key is
  /// refused; what was not done is not kept.
  [[nodiscard]] Reply once(const Keyed& request, WallTime now, const std::function<Reply()>& act);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  /// What a key stands for.
  struct Entry {
    Hash128 asked{};
    WallTime since{};
    std::unique_ptr<Deferred> under_way{};  ///< also when its client has gone
    unsigned status = 0;                    ///< 0: there is no answer, nor will there be where nothing is under way
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
  /// Asks for an answer that is being made, and keeps it.
  void look_at(const Name& name, const std::shared_ptr<Entry>& entry);
  void settle(const Name& name, const std::shared_ptr<Entry>& entry, const Response& response);
  void look_after_all(WallTime now);
  void write(std::string line);
  [[nodiscard]] bool is_full(const std::string& user) const;

  AnswerLog* log_;
  Entries entries_;
  std::deque<std::pair<WallTime, Name>> by_age_;  // also of those that are gone
  std::set<Name> under_way_;
  std::size_t bytes_ = 0;
  std::size_t logged_ = 0;  // lines since the log was written anew
};

}  // namespace healer::web
