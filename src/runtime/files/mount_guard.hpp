// SPDX-License-Identifier: MIT
// Keeps one mount that hangs from using up the threads of a pool: says which files are being waited for now, and
// whether several of one mount have been for long. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::runtime {

class MountGuard {
 public:
  /// So many waits on one mount make it one that hangs.
  static constexpr unsigned kMostPerMount = 2;

  /// What a thread is about to do.
  struct Attempt {
    std::uint64_t key;         ///< of its own
    const std::string& path;   ///< which it may have to wait for
    Duration patience;         ///< after which others have waited for too long
    std::string_view purpose;  ///< what it cannot do then: "read the pid file"
  };
  /// As long as it lives, something on a thread waits for `path`, which stays where it is meanwhile.
  class Wait {
   public:
    Wait(MountGuard& guard, std::uint64_t key, const std::string& path) : guard_(guard), key_(key) {
      guard_.enter(key, path);
    }
    ~Wait() { guard_.leave(key_); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    MountGuard& guard_;
    std::uint64_t key_;
  };
  /// Makes an attempt: `read` gives a Result. Where what it would wait for is hanging(), it is an Error at once.
  template <typename Read>
  std::invoke_result_t<Read> guarded(const Attempt& attempt, Read&& read) {
    if (const std::string mount = hanging(attempt.path, attempt.patience); !mount.empty())
      return refusal(attempt, mount);
    const Wait wait(*this, attempt.key, attempt.path);
    return read();
  }

  /// The mount of `path` where at least kMostPerMount waits have lasted for `patience`, or `path` itself where so many
  /// have for it; else nothing. The root file system as a whole is exempt: where it hangs, refusing helps nobody.
  [[nodiscard]] std::string hanging(const std::string& path, Duration patience) const;
  /// How many waits have lasted for `patience`, whatever they wait for.
  [[nodiscard]] std::size_t long_waits(Duration patience) const;

 private:
  [[nodiscard]] static Error refusal(const Attempt& attempt, const std::string& mount);

  void enter(std::uint64_t key, const std::string& path);
  void leave(std::uint64_t key);

  struct Entry {
    std::uint64_t key;
    std::string_view path;
    Duration since;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // as many as threads wait
};

/// The mount point that `path` lies on, or is, by the kernel's table (the path itself is not touched); "/" where
/// unknown.
[[nodiscard]] std::string mount_of(const std::string& path);

}  // namespace healer::runtime
