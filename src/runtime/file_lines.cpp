// SPDX-License-Identifier: MIT
#include "runtime/file_lines.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <list>
#include <optional>
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

/// The patterns of a service, and what fulfils them.
class Sieve {
 public:
  explicit Sieve(const engine::LinesSpec& spec) : spec_(spec), lines_(spec.patterns.size()) {
    for (const engine::LinePattern& pattern : spec.patterns) patterns_.emplace_back(pattern);
    for (const engine::LinePattern& pattern : spec.ignored) ignored_.emplace_back(pattern);
  }

  /// All lines of a text. An Error where a pattern that is needed for that is invalid.
  Result<std::vector<std::string>> sift(std::string_view text) {
    for (Wanted& wanted : patterns_) wanted.is_idle = !wanted.negated && !wanted.pattern.may_match(text);
    if (std::ranges::all_of(patterns_, &Wanted::is_idle)) return std::move(lines_);
    for (const std::list<Wanted>* list : {&patterns_, &ignored_})
      for (const Wanted& wanted : *list)
        if (!wanted.is_idle && wanted.pattern.error() != 0)
          return Error{EINVAL, fmt::format("the pattern \"{}\" is invalid", printable(wanted.pattern.text()))};
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      add(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(lines_);
  }

 private:
  struct Wanted {
    explicit Wanted(const engine::LinePattern& wanted) : pattern(wanted.text), negated(wanted.negated) {}
    [[nodiscard]] bool is_met(std::string_view line) const { return !is_idle && pattern.matches(line) != negated; }

    Pattern pattern;
    bool negated;
    bool is_idle = false;  // no line can meet it
  };

  /// One line, without its newline.
  void add(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view text = line.substr(0, spec_.limit);
    const auto is_met = [text](const Wanted& wanted) { return wanted.is_met(text); };
    std::optional<bool> ignored;  // asked for only where it matters
    auto lines = lines_.begin();
    for (const Wanted& wanted : patterns_) {
      if (is_met(wanted)) {
        if (!ignored) ignored = std::ranges::any_of(ignored_, is_met);
        if (*ignored) return;
        tell(*lines, text, line.size() > text.size());
      }
      ++lines;
    }
  }

  /// As Monit tells it: a line that is cut ends in dots.
  static void tell(std::string& told, std::string_view text, bool is_cut) {
    if (told.ends_with(kMore) && told.size() > kMostTold) return;
    told += text;
    told += is_cut ? kMore : "\n";
    if (told.size() > kMostTold) told += kMore;
  }

  const engine::LinesSpec& spec_;
  std::list<Wanted> patterns_;
  std::list<Wanted> ignored_;
  std::vector<std::string> lines_;
};

/// Adds the whole lines from `offset` on to `text`, of at most kMostBytes; a last one without a newline only where
/// `all` says that none will come any more, and in parts where it is longer than what is read at once. Where it ended.
/// `likely`: so much there is to be read, as far as is known.
Result<std::int64_t> read_from(int file, std::int64_t offset, std::size_t likely, bool all, std::string& text) {
  constexpr std::size_t kLeast = 1023;
  constexpr std::size_t kAtOnce = 64 * 1024;
  const std::size_t begin = text.size();
  std::size_t size = 0;  // of what was read
  bool is_end = false;
  while (!is_end && size < kMostBytes) {
    // A byte more than there seems to be tells that it is the end.
    const std::size_t wanted = std::min(kMostBytes - size, size == 0 ? std::max(likely, kLeast) + 1 : kAtOnce);
    text.resize(begin + size + wanted);
    const ssize_t count = ::pread(file, text.data() + begin + size, wanted, offset + static_cast<off_t>(size));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      text.resize(begin);
      return system_error(error, "cannot read the file");
    }
    size += static_cast<std::size_t>(count);
    // The kernel's own files, which say no size, give less than was wanted before their end.
    is_end = count == 0 || (likely != 0 && static_cast<std::size_t>(count) < wanted);
  }
  text.resize(begin + size);
  const std::size_t last = std::string_view(text).substr(begin).rfind('\n');
  const std::size_t whole = last == std::string_view::npos ? 0 : last + 1;
  const bool is_part = whole == 0 && !is_end;
  const bool is_last = all && is_end;
  if (!is_part && !is_last) size = whole;
  text.resize(begin + size);
  return offset + static_cast<std::int64_t>(size);
}

/// Which file it is: its inode with its birth, for the number of a file that was removed is soon used again. 0: nobody
/// knows.
struct Known {
  std::int64_t identity = 0;
  std::int64_t size = 0;
};

Result<Known> look_at(int folder, const char* path, int flags) {
  struct ::statx seen {};
  if (::statx(folder, path, flags, STATX_INO | STATX_BTIME | STATX_SIZE, &seen) != 0) return system_error(errno, path);
  const bool has_birth = (seen.stx_mask & STATX_BTIME) != 0;
  const auto born = has_birth
                        ? static_cast<std::uint64_t>(seen.stx_btime.tv_sec) * 1'000'000'000 + seen.stx_btime.tv_nsec
                        : std::uint64_t{0};
  constexpr std::uint64_t kPrime = 1'000'003;
  return Known{static_cast<std::int64_t>(seen.stx_ino + born * kPrime), static_cast<std::int64_t>(seen.stx_size)};
}

Result<Known> look_at(const Descriptor& file) { return look_at(file.get(), "", AT_EMPTY_PATH); }

std::int64_t identity_of(const Result<Known>& seen) { return seen ? seen->identity : 0; }

/// How much follows that place.
std::size_t left_of(std::int64_t size, std::int64_t offset) {
  return std::min(static_cast<std::size_t>(std::max<std::int64_t>(size - offset, 0)), kMostBytes);
}

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
    if (identity_of(look_at(AT_FDCWD, entry->path().c_str(), AT_SYMLINK_NOFOLLOW)) != identity) continue;
    auto file = open_regular(entry->path(), Links::Refused);
    if (file && identity_of(look_at(*file)) == identity) return std::move(*file);
  }
  return {};
}

}  // namespace

Result<NewLines> read_lines(const std::string& path, const std::optional<engine::ReadPosition>& from) {
  const auto opened = open_regular(path);
  if (!opened) return opened.error();
  const Descriptor& file = *opened;
  const Result<Known> seen = look_at(file);
  if (!seen) return system_error(seen.error().code, "cannot read " + printable(path));
  NewLines read{.position = {seen->identity, from ? from->offset : seen->size}, .text = {}};
  if (from && from->file != read.position.file) {
    read.position.offset = 0;
    const Descriptor rotated = from->file != 0 ? find_rotated(path, from->file) : Descriptor();
    if (rotated) {
      const Result<Known> old = look_at(rotated);
      const auto ended =
          read_from(rotated.get(), from->offset, left_of(old ? old->size : 0, from->offset), true, read.text);
      if (!ended) return ended.error();
      if (const Result<Known> now = look_at(rotated); now && *ended < now->size) {  // the next run reads the rest
        read.position = {from->file, *ended};
        return read;
      }
      if (!read.text.empty() && !read.text.ends_with('\n')) read.text += '\n';
    }
  }
  if (read.position.offset > seen->size) read.position.offset = 0;  // it was truncated
  const auto ended =
      read_from(file.get(), read.position.offset, left_of(seen->size, read.position.offset), false, read.text);
  if (!ended) return ended.error();
  read.position.offset = *ended;
  return read;
}

Result<std::vector<std::string>> sift(std::string_view text, const engine::LinesSpec& spec) {
  return Sieve(spec).sift(text);
}

}  // namespace healer::runtime
