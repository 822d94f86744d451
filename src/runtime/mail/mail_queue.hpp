// SPDX-License-Identifier: MIT
// Mails on disk until a server has taken them: one file a mail, in a directory of their own (0700, files 0600).
//
//     00000000000000000042-000000-0000019c8d2f1a3b.mail    alert, recipient, time of the cause: sorts in sending order
//     ....sent                                              empty: it was sent (or given up), never to be sent again
//     ....bad                                               damaged: set aside for a person to look at
//
// A mail is put under its final name only when it is on disk whole, and becomes its own tombstone by one rename, so a
// crash at any point leaves it either waiting or sent. Tombstones make the same alert, handed over again by a daemon
// that was killed before it could note the handing over, one mail. A mail that takes the place of others names them: it
// is put before they are finished, so that they never go unless it is lost. Everything is bounded.
//
// Not thread-safe; file operations may wait for a slow disk, so it lives on the mailer's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "actions/mail.hpp"
#include "runtime/descriptor.hpp"
#include "util/result.hpp"

namespace healer::runtime {

using actions::key_of;
using actions::MailKey;

struct MailQueueLimits {
  std::size_t messages = 1000;
  std::uint64_t bytes = 32U << 20;
  std::size_t tombstones = 2000;  ///< the newest that many
  std::size_t damaged = 100;
};

class MailQueue {
 public:
  using Warn = std::function<void(std::string)>;

  /// Opens or makes `path` and takes up what an earlier daemon left. Errors: the directory cannot be made or read, or
  /// is not ours alone. `warn` is told about damaged files.
  [[nodiscard]] static Result<MailQueue> open(const std::string& path, MailQueueLimits limits, Warn warn);

  /// Moves what waits, and what must not go again, from the directory of an earlier queue, which goes when it is empty.
  /// It may lie on another file system. False: there is none. Requires: `path` was not opened yet. Error: something
  /// stays there.
  [[nodiscard]] static Result<bool> take_over(const std::string& former, const std::string& path);

  enum class Taken : std::uint8_t {
    Queued,  ///< now on disk
    Known,   ///< waiting or sent already: nothing was done
    Full     ///< no room
  };
  /// Puts one mail on disk; sync() makes it last. Error: it could not be written and is not in the queue. One that
  /// takes the place of others finds room in any case.
  [[nodiscard]] Result<Taken> put(const actions::Message& message);
  /// Whether there is no room for one more of that size.
  [[nodiscard]] bool full(std::size_t bytes) const;
  void set_most(std::size_t messages) { limits_.messages = messages; }
  /// Makes what was put and finished so far durable.
  [[nodiscard]] Result<void> sync();

  /// The mails that wait, in sending order.
  [[nodiscard]] const std::map<MailKey, std::uint64_t>& waiting() const { return waiting_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] bool known(const MailKey& key) const { return waiting_.contains(key) || sent_.contains(key); }

  /// Reads a waiting mail. A damaged one is set aside: it waits no more, and the Error says why. A mail that merely
  /// cannot be read now (EIO, EMFILE...) stays; its Error has a code.
  [[nodiscard]] Result<actions::Message> read(const MailKey& key);

  /// The mail was sent or given up: it will not be sent again by this process, nor, where no Error is returned, by a
  /// later one.
  [[nodiscard]] Result<void> finish(const MailKey& key);

 private:
  MailQueue(Descriptor directory, MailQueueLimits limits, Warn warn);

  [[nodiscard]] Result<void> load();
  void set_aside(const std::string& name, const std::string& why);
  void bury(const MailKey& key);

  Descriptor directory_;
  MailQueueLimits limits_;
  Warn warn_;
  std::map<MailKey, std::uint64_t> waiting_;  ///< and their sizes
  std::uint64_t bytes_ = 0;
  std::set<MailKey> sent_;
  std::deque<MailKey> sent_order_;  ///< the oldest first
  std::deque<std::string> damaged_;
};

}  // namespace healer::runtime
