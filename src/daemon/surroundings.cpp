// SPDX-License-Identifier: MIT
#include "daemon/surroundings.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "daemon/identity.hpp"
#include "runtime/files/open_regular.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

std::string name_of_user(uid_t uid) {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, room.data(), room.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return std::to_string(uid);
}

}  // namespace

control::Surroundings look_around(const Paths& paths) {
  control::Surroundings around{.id = {},
                               .pid = ::getpid(),
                               .user = name_of_user(::geteuid()),
                               .pid_file = paths.pid_file,
                               .state_file = paths.state_file,
                               .system = {},
                               .release = {},
                               .build = {},
                               .machine = {}};
  if (auto id = instance_id(paths.id_file)) around.id = std::move(*id);
  utsname name{};
  if (::uname(&name) == 0) {
    around.system = name.sysname;
    around.release = name.release;
    around.build = name.version;
    around.machine = name.machine;
  }
  around.cores = static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  struct ::sysinfo info {};
  if (::sysinfo(&info) == 0) {
    around.memory = static_cast<std::uint64_t>(info.totalram) * info.mem_unit / 1024;
    around.swap = static_cast<std::uint64_t>(info.totalswap) * info.mem_unit / 1024;
  }
  return around;
}

Result<std::string> end_of_file(const std::string& path, std::size_t most) {
  const auto file = runtime::open_regular(path);
  if (!file) return file.error();
  struct ::stat seen {};
  if (::fstat(file->get(), &seen) != 0) return system_error(errno, "cannot look at " + printable(path));
  const auto size = static_cast<std::size_t>(std::max<off_t>(0, seen.st_size));
  const std::size_t begin = size > most ? size - most : 0;
  std::string text(size - begin, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::pread(file->get(), text.data() + have, text.size() - have, static_cast<off_t>(begin + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "cannot read " + printable(path));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  if (begin > 0) text.erase(0, text.find('\n') == std::string::npos ? text.size() : text.find('\n') + 1);
  return text;
}

FileEnds::FileEnds(runtime::Loop& loop) : pool_(loop, {.name = "log reader", .workers = 1, .max_lost = 2}) {}

void FileEnds::read(std::string path, std::size_t most, control::Supervisor::LogRead done) {
  auto told = std::make_shared<control::Supervisor::LogRead>(std::move(done));
  pool_.submit(
      [path = std::move(path), most, told]() -> runtime::Loop::Callback {
        auto text = std::make_shared<Result<std::string>>(end_of_file(path, most));
        return [told, text] { (*told)(std::move(*text)); };
      },
      [told](Error error) { (*told)(std::move(error)); });
}

}  // namespace healer
