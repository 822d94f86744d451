// SPDX-License-Identifier: MIT
// A queue on disk: a folder of healer's own (0700), in it one file for each alert or mail (0600).
//
//     NAME.letter    it waits: the suffix is the queue's own, and names sort in sending order
//     NAME.sent      empty: it was sent or given up, never to be sent again
//     NAME.bad       damaged: set aside for a person to look at
//
// A file gets its name only when it is on disk whole, and becomes its own tombstone by one rename, so a crash at any
// point leaves what it holds waiting or sent. It may be sent twice where the crash comes between the server's answer
// and that rename. Tombstones make the same alert, handed over again by a daemon that was killed before it could note
// the handing over, one. Who uses this bounds it.
//
// Nothing is kept here but the folder. Disks may not answer: every call belongs on a thread that may be lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/descriptor.hpp"
#include "util/result.hpp"

namespace healer::delivery {

/// How the files of a queue are called, and what people are told that they are.
struct QueueForm {
  std::string_view suffix;                 ///< of what waits
  std::string_view place;                  ///< "the mail queue"
  std::string_view what;                   ///< "mail"
  bool (*is_name)(std::string_view name);  ///< whether one of them is called so, without a suffix
  std::uint64_t most_of_file;
};

/// What there is in a folder, all without suffixes.
struct FoundFiles {
  struct Waiting {
    std::string name;
    std::uint64_t bytes = 0;
  };
  std::vector<Waiting> waiting;      ///< in sending order
  std::vector<std::string> sent;     ///< in the order in which they were over
  std::vector<std::string> foreign;  ///< end as those that wait, and are not called like one
};

class QueueFolder {
 public:
  /// Opens the folder, made where it is missing, and closes it to others. Error: it cannot be had, or is not ours
  /// alone.
  [[nodiscard]] static Result<QueueFolder> open(const std::string& path, const QueueForm& form);
  /// The same for one that is in another of ours, which is open.
  [[nodiscard]] static Result<QueueFolder> open_in(const QueueFolder& above, const std::string& name,
                                                   const QueueForm& form);

  /// Moves what waits, and what must not go again, from a former folder, which goes when it is empty, to that one,
  /// which may lie on another file system; what else the queue kept there, called `beside`, is forgotten. False: there
  /// is none. Requires: nothing of `path` was read yet. Error: something stays there.
  [[nodiscard]] static Result<bool> take_over(const std::string& former, const std::string& path, const QueueForm& form,
                                              const std::string& beside);

  [[nodiscard]] const std::string& path() const { return path_; }

  /// What there is; what was half written goes.
  [[nodiscard]] Result<FoundFiles> list() const;
  /// The names of all that is in it, in their order.
  [[nodiscard]] Result<std::vector<std::string>> names() const;

  /// Writes one, whole, or not at all; sync() makes it last.
  [[nodiscard]] Result<void> put(const std::string& name, std::string_view text) const;
  /// Makes what was put and buried so far durable.
  [[nodiscard]] Result<void> sync() const;
  /// Reads one that waits. Error: its code is ENOENT where it is not there, and 0 where it is no file of ours; else it
  /// merely cannot be read now.
  [[nodiscard]] Result<std::string> read(const std::string& name) const;
  /// It is over, also where it never was here; sync() makes that last.
  [[nodiscard]] Result<void> bury(const std::string& name) const;
  /// That it was here need not be known any more.
  void forget(const std::string& name) const;
  /// Sets a damaged one aside, as one of so many at most, of which the first go. Returns how its file is called then.
  std::string set_aside(const std::string& name, std::size_t most) const;

 private:
  QueueFolder(runtime::Descriptor folder, std::string path, const QueueForm& form)
      : folder_(std::move(folder)), path_(std::move(path)), form_(&form) {}
  [[nodiscard]] static Result<QueueFolder> open_at(int at, const std::string& name, const std::string& path,
                                                   const QueueForm& form);
  [[nodiscard]] Result<void> move_file(const QueueFolder& to, const std::string& stem, const std::string& name,
                                       std::vector<std::string>& copied) const;
  [[nodiscard]] std::string waiting_name(const std::string& name) const { return name + std::string(form_->suffix); }

  runtime::Descriptor folder_;
  std::string path_;
  const QueueForm* form_;
};

}  // namespace healer::delivery
