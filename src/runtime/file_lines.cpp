// SPDX-License-Identifier: MIT
#include "runtime/file_lines.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <list>
#include <string_view>
#include <system_error>

#include <spdlog/fmt/fmt.h>

#include "runtime/open_regular.hpp"
#include "runtime/pattern.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

constexpr std::string_view kMore = "...\n";
constexpr std::size_t kMostNames = 10'000;  // of a folder, in the search for a file that was rotated

/// The patterns of a service, compiled, and what fulfils them.
class Sieve {
 public:
  explicit Sieve(const engine::LinesSpec& spec) : spec_(spec), lines_(spec.patterns.size()) {
    for (const engine::LinePattern& pattern : spec.patterns) add(pattern, patterns_);
    for (const engine::LinePattern& pattern : spec.ignored) add(pattern, ignored_);
  }

  [[nodiscard]] const std::string& invalid() const { return invalid_; }
  std::vector<std::string> take() { return std::move(lines_); }

  /// One line, without its newline.
  void add(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string text(line.substr(0, spec_.limit));
    if (std::ranges::any_of(ignored_, [&](const Wanted& wanted) { return wanted.is_met(text); })) return;
    auto lines = lines_.begin();
    for (const Wanted& wanted : patterns_) {
      if (wanted.is_met(text)) tell(*lines, text, line.size() > text.size());
      ++lines;
    }
  }

 private:
  struct Wanted {
    Wanted(const std::string& text, bool is_negated) : pattern(text), negated(is_negated) {}
    [[nodiscard]] bool is_met(const std::string& text) const { return pattern.matches(text) != negated; }

    Pattern pattern;
    bool negated;
  };

  void add(const engine::LinePattern& pattern, std::list<Wanted>& to) {
    if (to.emplace_back(pattern.text, pattern.negated).pattern.error() != 0) invalid_ = pattern.text;
  }

  /// As Monit tells it: a line that is cut ends in dots.
  static void tell(std::string& told, const std::string& text, bool is_cut) {
    if (told.ends_with(kMore) && told.size() > kMostTold) return;
    told += text;
    told += is_cut ? kMore : "\n";
    if (told.size() > kMostTold) told += kMore;
  }

  const engine::LinesSpec& spec_;
  std::list<Wanted> patterns_;
  std::list<Wanted> ignored_;
  std::vector<std::string> lines_;
  std::string invalid_;
};

/// Adds the whole lines from `offset` on to `text`, of at most kMostBytes; a last one without a newline only where
/// `all` says that none will come any more, and in parts where it is longer than what is read at once. Where it ended.
Result<std::int64_t> read_from(int file, std::int64_t offset, bool all, std::string& text) {
  std::string lines;
  std::string buffer(64 * 1024, '\0');
  bool is_end = false;
  while (!is_end && lines.size() < kMostBytes) {
    const ssize_t count = ::pread(file, buffer.data(), std::min(buffer.size(), kMostBytes - lines.size()),
                                  offset + static_cast<off_t>(lines.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno, "cannot read the file");
    is_end = count == 0;
    lines.append(buffer.data(), static_cast<std::size_t>(count));
  }
  const std::size_t last = lines.rfind('\n');
  const std::size_t whole = last == std::string::npos ? 0 : last + 1;
  const bool is_part = whole == 0 && !is_end;
  const bool is_last = all && is_end;
  if (!is_part && !is_last) lines.resize(whole);
  text += lines;
  return offset + static_cast<std::int64_t>(lines.size());
}

/// Which file it is: its inode with its birth, for the number of a file that was removed is soon used again. 0: nobody
/// knows.
std::int64_t identity_of(int folder, const char* path, int flags) {
  struct ::statx seen {};
  if (::statx(folder, path, flags, STATX_INO | STATX_BTIME, &seen) != 0) return 0;
  const bool has_birth = (seen.stx_mask & STATX_BTIME) != 0;
  const auto born = has_birth
                        ? static_cast<std::uint64_t>(seen.stx_btime.tv_sec) * 1'000'000'000 + seen.stx_btime.tv_nsec
                        : std::uint64_t{0};
  constexpr std::uint64_t kPrime = 1'000'003;
  return static_cast<std::int64_t>(seen.stx_ino + born * kPrime);
}

std::int64_t identity_of(const Descriptor& file) { return identity_of(file.get(), "", AT_EMPTY_PATH); }

/// The file of that identity beside `path` whose name begins alike; none: it is not there.
Descriptor find_rotated(const std::string& path, std::int64_t identity) {
  const std::filesystem::path whole(path);
  const std::string name = whole.filename().string();
  std::error_code error;
  std::size_t seen = 0;
  for (std::filesystem::directory_iterator entry(whole.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    if (++seen > kMostNames) break;
    if (!entry->path().filename().string().starts_with(name)) continue;
    if (identity_of(AT_FDCWD, entry->path().c_str(), AT_SYMLINK_NOFOLLOW) != identity) continue;
    auto file = open_regular(entry->path(), Links::Refused);
    if (file && identity_of(*file) == identity) return std::move(*file);
  }
  return {};
}

}  // namespace

Result<NewLines> read_lines(const std::string& path, const std::optional<engine::ReadPosition>& from) {
  const auto opened = open_regular(path);
  if (!opened) return opened.error();
  const Descriptor& file = *opened;
  struct ::stat seen {};
  if (::fstat(file.get(), &seen) != 0) return system_error(errno, "cannot read " + printable(path));
  NewLines read{.position = {identity_of(file), from ? from->offset : seen.st_size}, .text = {}};
  if (from && from->file != read.position.file) {
    read.position.offset = 0;
    const Descriptor rotated = from->file != 0 ? find_rotated(path, from->file) : Descriptor();
    if (rotated) {
      const auto ended = read_from(rotated.get(), from->offset, true, read.text);
      if (!ended) return ended.error();
      struct ::stat old {};
      if (::fstat(rotated.get(), &old) == 0 && *ended < old.st_size) {  // the next run reads the rest
        read.position = {from->file, *ended};
        return read;
      }
      if (!read.text.empty() && !read.text.ends_with('\n')) read.text += '\n';
    }
  }
  if (read.position.offset > seen.st_size) read.position.offset = 0;  // it was truncated
  const auto ended = read_from(file.get(), read.position.offset, false, read.text);
  if (!ended) return ended.error();
  read.position.offset = *ended;
  return read;
}

Result<std::vector<std::string>> sift(std::string_view text, const engine::LinesSpec& spec) {
  Sieve sieve(spec);
  if (!sieve.invalid().empty())
    return Error{EINVAL, fmt::format("the pattern \"{}\" is invalid", printable(sieve.invalid()))};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    sieve.add(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return sieve.take();
}

}  // namespace healer::runtime
