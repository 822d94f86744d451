// SPDX-License-Identifier: MIT
// The files of started actions, from which a later daemon learns what an earlier one did. All calls block on the disk,
// so they are made on worker threads, or before the loop runs.
//
//   ID.pid   lines from the daemon: "boot N", "deadline MS", "locked", "secret" if people must not see the output,
//            "given" if they must not see secrets in it, and, for a foreground process, "service NAME"; for other
//            programs of rules and healings, "for HEALING RULE RECOVERY SERVICE TARGET"; for the program of a start,
//            stop or restart, "step SERVICE PROGRAM"; then the child's own /proc/self/stat, which it writes before it
//            becomes the program; then "ended OUTCOME STATUS MS" once a daemon has seen its end, or if its waiter finds
//            no room for ID.end. The space of the later lines is reserved with blanks when the file is made, so that
//            they need no more disk space (except on file systems that never overwrite in place). The file is locked
//            until the child has become the program: a line that is missing when it is not locked was never written. If
//            a waiter runs the program (runtime/programs/waiter), its line "waiter PID TICKS" comes before that of the
//            child.
//   ID.end   how the program ended, written by its waiter, whether or not a daemon was running: one line, with
//            "ended OUTCOME STATUS MS WHEN" and why it could not be started. It is either complete or absent, and is
//            kept until the journal no longer needs it.
//   ID.out   the output of the program, mode 0600, owned by the user it runs as. It is made once (O_EXCL), after the
//            daemon's lines in ID.pid. Before the program is started it is flushed to the disk, so that it survives a
//            power failure. (Except for programs that may be started twice, such as the start program of a service
//            after a reboot: these do not wait for the disk.)
//
// So no program is started twice, and none is left out if a daemon ends before it has started it: if ID.pid says
// "locked" and is from this boot, but is not locked and has no line of a child, then the program was not started. After
// a reboot this cannot be known, because the lines of a child are not flushed to the disk.
//
// If the directory cannot be written (its disk is full or read-only), the files go into a spare one on a file system in
// memory: supervision continues even if nothing can be written. Both directories are read.
//
// A foreground process runs only if its ID.pid records it: if that cannot be written, it is not started, because a
// later daemon would not know that it runs. Any other program is started even if the disk is full, because it may be
// the one that makes room: its ID.pid is empty, and a later daemon that finds it still running assumes that it has
// ended.
//
// The program writes its output directly to the file, so it does not need the daemon. To limit its size, the middle of
// the file is removed: it becomes a hole while the program runs, and one line at the end; the first kHead and the last
// kTail bytes are kept. (A resource limit would kill the program, and a pipe would end it with the daemon.) Between two
// looks the file may be larger. The output of a program that writes for months would reach the largest file size, with
// the hole: before that, most of the hole is cut out of the file, if the file system can do so.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/events/outcome.hpp"
#include "engine/ids.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/process/process_watch.hpp"
#include "util/hash.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// Between looks at an output that may have grown too long, while a program writes much, and at most, while it does
/// not.
inline constexpr Duration kFastThinInterval{50};
inline constexpr Duration kQuietThinInterval{1000};

class ActionFiles {
 public:
  static constexpr std::size_t kHead = 32 * 1024;
  static constexpr std::size_t kTail = 32 * 1024;
  static constexpr std::size_t kLongest = std::size_t{1}
                                          << 40;  ///< of a file with its hole; then the hole is shortened
  static constexpr std::size_t kExcerpt = 4096;   ///< of the output that goes into an event, at most

  /// How an action ended, as written down by the daemon that saw it, or by its waiter.
  struct End {
    engine::Outcome outcome = engine::Outcome::Exited;
    std::int64_t status = 0;
    Duration elapsed{0};
    WallTime when{};       ///< in a record alone
    std::string reason{};  ///< why it could not be started; in a record alone
  };
  /// What people may see of what a program writes.
  enum class Shown : std::uint8_t {
    All,
    Struck,  ///< all but the secrets that it was given: nothing where a later daemon does not know them
    Nothing
  };
  /// What a program is started for, by which a later daemon that has lost its state knows it; not of a foreground
  /// process.
  struct Purpose {
    bool job = false;             ///< it starts or stops the service: neither a rule nor a healing is named then
    Hash128 program;              ///< of a job: name_of() its command; what runs may call itself otherwise
    engine::HealingId healing{};  ///< whose step it is; 0: it is a rule's
    Hash128 rule;
    bool recovery = false;  ///< of the rule's `else` branch
    std::string service;    ///< whose rule or job it was
    std::string target{};   ///< of the healing

    bool operator==(const Purpose&) const = default;
    /// Of a program and its arguments.
    [[nodiscard]] static Hash128 name_of(const std::vector<std::string>& command);
  };
  /// What is written down of an action before it is started.
  struct Start {
    std::uint64_t boot = 0;
    Duration deadline{0};   ///< mono; 0: none
    std::string service{};  ///< whose foreground process it is; empty: none
    Shown output = Shown::All;
    std::optional<Purpose> purpose{};
    bool locked = false;  ///< written down by create(), where the file could be locked: it tells of any child
  };
  /// What the files know of an action.
  struct Trace {
    Start start;
    bool starting = false;  ///< it is being started just now, and whether it runs is not known yet
    pid_t pid = -1;         ///< -1: it was never started, or nobody could write it down
    std::uint64_t start_ticks = 0;
    ProcessIdentity waiter;                ///< whose child it is; pid 0: none
    std::optional<std::uint32_t> owner{};  ///< as whom it was started, by its output; none: as healer
    std::optional<End> end;

    /// Whether it is certain that no program was started, nor is about to be, in this boot.
    [[nodiscard]] bool never_started(std::uint64_t boot) const {
      return start.boot == boot && start.locked && !starting && pid < 0 && !end;
    }
  };
  struct Size {
    std::size_t written = 0;  ///< by the program so far
    bool thinned = false;     ///< there was something to give back
  };
  struct Opened {
    Descriptor output;
    Descriptor proof;   ///< where the child writes its /proc/self/stat; holds the lock
    Descriptor folder;  ///< that they are in
  };

  /// `spare`: empty for none.
  explicit ActionFiles(std::string directory, std::string spare = {})
      : directory_(std::move(directory)), spare_(std::move(spare)) {}

  /// Makes the directory, mode 0700, where it is missing; what its disk does not let us make is done without. An Error
  /// with code EPERM where it is not ours alone.
  [[nodiscard]] Result<void> prepare_directory() const;
  /// The directory, whatever its name, as a word that no other one on this machine has, nor one that was there before
  /// it: whose the numbers of actions are. It lasts over restarts of the daemon, other than the lock of its state file,
  /// which each makes anew.
  [[nodiscard]] Result<std::string> identity() const;
  [[nodiscard]] std::string output_path(engine::ActionId action) const;
  [[nodiscard]] std::string pid_path(engine::ActionId action) const;

  /// Whether this action was started before, or was about to be.
  [[nodiscard]] bool was_begun(engine::ActionId action) const;
  /// Makes both files. An Error with code EEXIST where this action was started before, or was about to be. `durable`:
  /// the power may fail and it is still known; needless for what does not outlive that either.
  [[nodiscard]] Result<Opened> create(engine::ActionId action, const Start& start, std::optional<std::uint32_t> uid,
                                      bool durable = true) const;
  /// Takes the files of an action that has not been started away again.
  void forget(engine::ActionId action) const;
  /// An Error where there may be more to know than can be read now.
  [[nodiscard]] Result<Trace> read(engine::ActionId action) const;
  /// Writes the end into ID.pid, into the room that was reserved for it. False: it could not be written.
  bool write_end(engine::ActionId action, const End& end, bool durable = true) const;
  /// Writes ID.end, which is there, whole and for good, when this returns: what a waiter does with the `folder` of the
  /// files.
  [[nodiscard]] static Result<void> write_record(int folder, engine::ActionId action, const End& end);
  /// Removes ID.end.
  void remove_record(engine::ActionId action) const;
  /// Removes every ID.end, and what was begun of one, but those of the actions in `keep`. What they have written that
  /// is secret, or may be, goes before that.
  void remove_records(const std::unordered_set<std::uint64_t>& keep) const;
  /// For an action that could not be started: its output is the reason.
  void write_reason(engine::ActionId action, const std::string& reason) const;

  /// Gives the disk the middle of a large output back while its program runs: loses nothing of head and tail, even of
  /// what is written meanwhile. (Where the file system has no holes: cut().)
  Size thin(engine::ActionId action) const;
  /// Leaves head and tail of a large output, with a line between them. What is written meanwhile may be lost.
  void cut(engine::ActionId action) const;
  /// Head and tail of the output, at most kExcerpt bytes.
  [[nodiscard]] std::string excerpt(engine::ActionId action) const;
  /// The same of a text.
  [[nodiscard]] static std::string excerpt(const std::string& output);
  /// All of the output that cut() has left.
  [[nodiscard]] std::string kept(engine::ActionId action) const;
  /// Nothing of the output stays but a line that says why.
  void forget_output(engine::ActionId action) const;
  /// The secrets are struck out of what cut() has left of the output.
  void strike_output(engine::ActionId action, const std::vector<std::string>& secrets) const;
  /// The output file as the kernel names it, whatever links lead there; empty where it is not there.
  [[nodiscard]] std::string true_path(engine::ActionId action) const;
  /// The actions of which there are files, the newest first.
  [[nodiscard]] std::vector<engine::ActionId> actions() const;
  /// Removes the files of all but the newest `count` actions, those in `keep` and those newer than `newest`.
  void remove_old(std::size_t count, const std::unordered_set<std::uint64_t>& keep, engine::ActionId newest) const;

 private:
  [[nodiscard]] std::string path(engine::ActionId action, std::string_view suffix) const;
  [[nodiscard]] Result<void> prepare_spare() const;
  [[nodiscard]] Result<Opened> create_in(const std::string& directory, engine::ActionId action, const Start& start,
                                         std::optional<std::uint32_t> uid, bool durable) const;

  std::string directory_;
  std::string spare_;
};

}  // namespace healer::runtime
