// SPDX-License-Identifier: MIT
// The pid files of services: which process one names, and who can have written that there. Other files of the same
// kind, healer's own, are in runtime/pid_file.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "util/result.hpp"

namespace healer::runtime {

struct PidFile {
  pid_t pid = 0;
  std::int64_t written = 0;  ///< nanoseconds since the epoch
  std::int64_t named_by =
      0;  ///< as engine::ProcessFacts::named_by: the owner of the file, of a folder or link on the way
};
/// The number in a pid file, as Monit takes it: digits after any blanks; what follows them is not looked at. An Error
/// says what is wrong with the file; its code is ESRCH where it is certain that the file names no process, and another
/// where the file could not be read. Waits for its disk: not for the
/// loop thread.
[[nodiscard]] Result<PidFile> read_pid_file(const std::string& path);

}  // namespace healer::runtime
