// SPDX-License-Identifier: MIT
// Mails on disk until a server has taken them, in a folder of their own (delivery/outbox/queue_folder), one file a
// mail:
//
//     00000000000000000042-000000-0000019c8d2f1a3b.mail    alert, recipient, time of the cause: sorts in sending order
//
// A mail that takes the place of others names them: it is put before they are finished, so that they never go unless it
// is lost. Everything is bounded.
//
// Not thread-safe; file operations may wait for a slow disk, so it lives on the mailer's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include "delivery/backlog.hpp"
#include "delivery/contacts/mail.hpp"
#include "delivery/outbox/queue_folder.hpp"
#include "util/result.hpp"

namespace healer::delivery {

class MailQueue {
 public:
  using Warn = std::function<void(std::string)>;
  using Keys = Backlog<MailKey, std::monostate>;

  /// Opens or makes `path` and takes up what an earlier daemon left. Errors: the directory cannot be made or read, or
  /// is not ours alone. `warn` is told about damaged files.
  [[nodiscard]] static Result<MailQueue> open(const std::string& path, const Limits& limits, Warn warn);

  /// Moves what waits, and what must not go again, from the directory of an earlier queue: QueueFolder::take_over.
  [[nodiscard]] static Result<bool> take_over(const std::string& former, const std::string& path);

  enum class Taken : std::uint8_t {
    Queued,  ///< now on disk
    Known,   ///< waiting or sent already: nothing was done
    Full     ///< no room
  };
  /// Puts one mail on disk; sync() makes it last. Error: it could not be written and is not in the queue. One that
  /// takes the place of others finds room in any case.
  [[nodiscard]] Result<Taken> put(const Mail& message);
  /// Whether there is no room for one more of that size.
  [[nodiscard]] bool full(std::size_t bytes) const { return backlog_.is_full(bytes); }
  void set_limits(const Limits& limits) { backlog_.set_limits(limits); }
  /// Makes what was put and finished so far durable.
  [[nodiscard]] Result<void> sync();

  /// The mails that wait, in sending order.
  [[nodiscard]] const Keys::Entries& waiting() const { return backlog_.waiting(); }
  [[nodiscard]] std::uint64_t bytes() const { return backlog_.bytes(); }
  [[nodiscard]] bool known(const MailKey& key) const { return backlog_.knows(key); }

  /// Reads a waiting mail. A damaged one is set aside: it waits no more, and the Error says why. A mail that merely
  /// cannot be read now (EIO, EMFILE...) stays; its Error has a code.
  [[nodiscard]] Result<Mail> read(const MailKey& key);

  /// The mail was sent or given up: it will not be sent again by this process, nor, where no Error is returned, by a
  /// later one.
  [[nodiscard]] Result<void> finish(const MailKey& key);

 private:
  MailQueue(QueueFolder folder, const Limits& limits, Warn warn)
      : folder_(std::move(folder)), warn_(std::move(warn)), backlog_(limits) {}

  [[nodiscard]] Result<void> load();
  void set_aside(const std::string& name, const std::string& why);
  void bury(const MailKey& key);

  QueueFolder folder_;
  Warn warn_;
  Keys backlog_;
};

}  // namespace healer::delivery
