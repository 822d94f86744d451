// SPDX-License-Identifier: MIT
#include "runtime/inspection/own_figures.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <ctime>

#include "runtime/descriptor.hpp"

namespace healer::runtime {
namespace {

std::uint64_t open_descriptors() {
  // Linux tells how many there are since 6.2; before it, they are counted.
  struct stat info {};
  if (::stat("/proc/self/fd", &info) == 0 && info.st_size > 0) return static_cast<std::uint64_t>(info.st_size);
  const Directory folder(::opendir("/proc/self/fd"));
  std::uint64_t count = 0;
  while (folder != nullptr) {
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') ++count;
  }
  return count > 0 ? count - 1 : 0;  // without that of the folder itself
}

}  // namespace

OwnFigures own_figures() {
  OwnFigures figures{.descriptors = open_descriptors()};
  timespec used{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
    figures.processor = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::seconds{used.tv_sec} +
                                                                              std::chrono::nanoseconds{used.tv_nsec});
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.most_descriptors = limit.rlim_cur;
  const Descriptor file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (size <= 0) return figures;
  // Pages of the address space, and of these those in memory.
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const char* const end = text.data() + size;
  const auto first = std::from_chars(text.data(), end, figures.reserved);
  if (first.ptr != end) std::from_chars(first.ptr + 1, end, figures.resident);
  figures.reserved *= page;
  figures.resident *= page;
  return figures;
}

}  // namespace healer::runtime
