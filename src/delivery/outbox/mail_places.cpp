// SPDX-License-Identifier: MIT
#include "delivery/outbox/mail_places.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "runtime/descriptor.hpp"
#include "runtime/files/open_regular.hpp"
#include "runtime/files/safe_path.hpp"

namespace healer::delivery {

using runtime::Descriptor;

namespace {

constexpr std::size_t kLongestFile = 1U << 20;

}  // namespace

Result<std::vector<std::string>> read_mail_places(const std::string& file) {
  struct stat facts {};
  if (::lstat(file.c_str(), &facts) != 0 && errno == ENOENT) return std::vector<std::string>{};
  const Result<Descriptor> source = runtime::open_regular(file, runtime::Links::Refused);
  if (!source) return source.error();
  // In a folder that others may write to, another could name a queue of his own making here.
  if (const auto own = runtime::stat_of_own(source->get(), file); !own) return own.error();
  std::string text;
  std::array<char, 4'096> piece{};
  while (const ssize_t size = ::read(source->get(), piece.data(), piece.size())) {
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return system_error(errno, "cannot read " + file);
    text.append(piece.data(), static_cast<std::size_t>(size));
    if (text.size() > kLongestFile) return Error{EFBIG, file + " is damaged"};
  }
  std::vector<std::string> places;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    if (end == std::string::npos || text.front() != '/') return Error{EINVAL, file + " is damaged"};
    places.push_back(text.substr(0, end));
    text.erase(0, end + 1);
  }
  return places;
}

Result<void> write_mail_places(const std::string& file, const std::vector<std::string>& places) {
  const std::string folder = std::filesystem::path(file).parent_path();
  const std::string fresh = file + ".new";
  ::unlink(fresh.c_str());
  bool good = true;
  if (places.empty()) {
    good = ::unlink(file.c_str()) == 0 || errno == ENOENT;
  } else {
    std::string text;
    const std::size_t kept = std::min(places.size(), kMostMailPlaces);
    for (std::size_t i = places.size() - kept; i < places.size(); ++i) text.append(places[i]).push_back('\0');
    const Descriptor target(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    good = target && ::write(target.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
           ::fsync(target.get()) == 0 && ::rename(fresh.c_str(), file.c_str()) == 0;
  }
  const Descriptor directory(good ? ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
  if (good && directory && ::fsync(directory.get()) == 0) return {};
  const int code = errno;
  ::unlink(fresh.c_str());
  return system_error(code, "cannot write " + file);
}

}  // namespace healer::delivery
