// SPDX-License-Identifier: MIT
#include "runtime/files/file_lines.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <list>
#include <optional>
#include <string_view>
#include <system_error>

#include <spdlog/fmt/fmt.h>

#include "runtime/files/open_regular.hpp"
#include "runtime/pattern.hpp"
#include "util/hash.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

constexpr std::string_view kMore = "...\n";
constexpr int kMostNames = 10'000;         // of folders, in the search for a file that was rotated
constexpr std::int64_t kBeginning = 1024;  // bytes of a file by which it is known again

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
  static void tell(std::string& text_found, std::string_view text, bool is_cut) {
    if (text_found.ends_with(kMore) && text_found.size() > kMostListed) return;
    text_found += text;
    text_found += is_cut ? kMore : "\n";
    if (text_found.size() > kMostListed) text_found += kMore;
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
  constexpr std::size_t kBlock = 64 * 1024;
  const std::size_t begin = text.size();
  std::size_t size = 0;  // of what was read
  bool is_end = false;
  while (!is_end && size < kMostBytes) {
    // A byte more than there seems to be tells that it is the end.
    const std::size_t wanted = std::min(kMostBytes - size, size == 0 ? std::max(likely, kLeast) + 1 : kBlock);
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

Result<Known> inspect(int folder, const char* path, int flags) {
  struct ::statx seen {};
  if (::statx(folder, path, flags, STATX_INO | STATX_BTIME | STATX_SIZE, &seen) != 0) return system_error(errno, path);
  const bool has_birth = (seen.stx_mask & STATX_BTIME) != 0;
  const auto born = has_birth
                        ? static_cast<std::uint64_t>(seen.stx_btime.tv_sec) * 1'000'000'000 + seen.stx_btime.tv_nsec
                        : std::uint64_t{0};
  constexpr std::uint64_t kPrime = 1'000'003;
  return Known{static_cast<std::int64_t>(seen.stx_ino + born * kPrime), static_cast<std::int64_t>(seen.stx_size)};
}

Result<Known> inspect(const Descriptor& file) { return inspect(file.get(), "", AT_EMPTY_PATH); }

std::int64_t identity_of(const Result<Known>& seen) { return seen ? seen->identity : 0; }

/// How much follows that place.
std::size_t left_of(std::int64_t size, std::int64_t offset) {
  return std::min(static_cast<std::size_t>(std::max<std::int64_t>(size - offset, 0)), kMostBytes);
}

/// By what a file that was read up to there begins with; 0: nobody knows.
std::int64_t beginning_of(const Descriptor& file, std::int64_t offset) {
  std::array<char, kBeginning> text;
  const auto wanted = static_cast<std::size_t>(std::clamp<std::int64_t>(offset, 0, kBeginning));
  std::size_t size = 0;
  while (size < wanted) {
    const ssize_t count = ::pread(file.get(), text.data() + size, wanted - size, static_cast<off_t>(size));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return 0;
    size += static_cast<std::size_t>(count);
  }
  if (size == 0) return 0;
  const auto sum = static_cast<std::int64_t>(hash128({text.data(), size}).low);
  return sum != 0 ? sum : 1;
}

/// Looks for a file by its identity.
class RotatedSearch {
 public:
  explicit RotatedSearch(std::int64_t identity) : identity_(identity) {}

  /// Beside `path`: among the names that begin alike, then among the others, then in the folders there.
  Descriptor beside(const std::string& path) {
    const std::filesystem::path whole(path);
    const std::string name = whole.filename().string();
    std::vector<std::filesystem::path> others, folders;
    for_each_in(whole.parent_path(), [&](const std::filesystem::directory_entry& entry) {
      std::error_code error;
      if (entry.is_symlink(error)) return;
      if (entry.is_directory(error))
        folders.push_back(entry.path());
      else if (!entry.path().filename().string().starts_with(name))
        others.push_back(entry.path());
      else
        check(entry.path());
    });
    for (const std::filesystem::path& other : others) check(other);
    for (const std::filesystem::path& folder : folders)
      for_each_in(folder, [&](const std::filesystem::directory_entry& entry) { check(entry.path()); });
    return std::move(found_);
  }

 private:
  template <typename Visit>
  void for_each_in(const std::filesystem::path& folder, const Visit& visit) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && !found_ && entry != end && left_ > 0;
         entry.increment(error), --left_)
      visit(*entry);
  }

  void check(const std::filesystem::path& path) {
    if (found_ || identity_of(inspect(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW)) != identity_) return;
    auto file = open_regular(path, Links::Refused);
    if (file && identity_of(inspect(*file)) == identity_) found_ = std::move(*file);
  }

  std::int64_t identity_;
  int left_ = kMostNames;
  Descriptor found_;
};

/// The rest of a file that another has taken the place of. True: the next reading goes on there.
Result<bool> read_rotated(const Descriptor& rotated, const engine::ReadPosition& from, bool goes_on, NewLines& read) {
  const Result<Known> old = inspect(rotated);
  const auto ended =
      read_from(rotated.get(), from.offset, left_of(old ? old->size : 0, from.offset), !goes_on, read.text);
  if (!ended) return ended.error();
  const Result<Known> now = inspect(rotated);
  if (goes_on || (now && *ended < now->size)) {
    read.position = {from.file, *ended, beginning_of(rotated, *ended)};
    return true;
  }
  if (!read.text.empty() && !read.text.ends_with('\n')) read.text += '\n';
  return false;
}

}  // namespace

Result<NewLines> read_lines(const std::string& path, const std::optional<engine::ReadPosition>& from) {
  const auto opened = open_regular(path);
  if (!opened) return opened.error();
  const Descriptor& file = *opened;
  const Result<Known> seen = inspect(file);
  if (!seen) return system_error(seen.error().code, "cannot read " + printable(path));
  NewLines read{.position = {seen->identity, from ? from->offset : seen->size}, .text = {}};
  if (from && from->file != read.position.file) {
    read.position.offset = 0;
    const Descriptor rotated = from->file != 0 ? RotatedSearch(from->file).beside(path) : Descriptor();
    if (rotated) {
      // Whoever writes has not gone over to the new one yet, where that is empty.
      const auto goes_on = read_rotated(rotated, *from, seen->size == 0, read);
      if (!goes_on) return goes_on.error();
      if (*goes_on) return read;
    } else if (from->file != 0) {
      read.missing = fmt::format(
          "{} is another file now, and the former one is not found beside it (compressed, "
          "deleted or moved away): lines written to it last may be missing",
          printable(path));
    }
  } else if (from &&
             (from->offset > seen->size || (from->begin != 0 && beginning_of(file, from->offset) != from->begin))) {
    read.position.offset = 0;
    read.missing = fmt::format(
        "{} was truncated and is read from its beginning: lines written before that may be "
        "missing",
        printable(path));
  }
  const auto ended =
      read_from(file.get(), read.position.offset, left_of(seen->size, read.position.offset), false, read.text);
  if (!ended) return ended.error();
  read.position.offset = *ended;
  read.position.begin = beginning_of(file, *ended);
  return read;
}

Result<std::vector<std::string>> sift(std::string_view text, const engine::LinesSpec& spec) {
  return Sieve(spec).sift(text);
}

}  // namespace healer::runtime
