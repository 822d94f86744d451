// SPDX-License-Identifier: MIT
#include "control/readers/output_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <string_view>
#include <utility>

#include "util/secrets/strike_out.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

constexpr std::string_view kLeftOut = "\n[... output left out ...]\n";
constexpr std::size_t kShown = 256;  // of what was told: enough to know the place again
// The daemon leaves no more of a file than this. What is longer is as its program wants it, whose file it is.
constexpr std::size_t kSearchedThrough = 256 * 1024;
constexpr std::size_t kMostHeld = 256 * 1024;  // of a line
constexpr int kReads = 64;                     // for the end of a hole, or of zeros, in one page

class File {
 public:
  explicit File(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Bytes of a regular file; nothing where it is none, or not there.
  [[nodiscard]] std::optional<std::uint64_t> size() const {
    struct stat facts {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
    return static_cast<std::uint64_t>(facts.st_size);
  }
  /// Where the first bytes from `offset` on are that are no hole; `size` where there are none.
  [[nodiscard]] std::uint64_t data_from(std::uint64_t offset, std::uint64_t size) const {
    const off_t found = ::lseek(descriptor_, static_cast<off_t>(offset), SEEK_DATA);
    if (found < 0) return errno == ENXIO ? size : offset;
    return static_cast<std::uint64_t>(found);
  }
  [[nodiscard]] std::string read(std::uint64_t offset, std::size_t most) const {
    std::string text(most, '\0');
    const ssize_t count = ::pread(descriptor_, text.data(), text.size(), static_cast<off_t>(offset));
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
  }

 private:
  int descriptor_;
};

/// How many bytes at the end of `text` may be the beginning of a character.
std::size_t unfinished(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;  // in the middle of one
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

void note_secrets(OutputReader::Place& place) {
  if (!place.ask_secrets) return;
  if (auto known = place.ask_secrets(); !known.empty()) place.secrets = std::move(known);
}

/// What was read last as it is in a file whose secrets were struck out: whole lines of it.
std::string struck_out(const OutputReader::Place& place) {
  const std::size_t begin = place.shown.size() < kShown ? 0 : place.shown.find('\n') + 1;
  return place.secrets.empty() ? std::string() : strike_out(std::string_view(place.shown).substr(begin), place.secrets);
}

/// The file has become smaller than it was: its middle was taken out at the program's end, or its secrets. Goes on
/// behind what was told last, or, where that was taken out too, behind the gap. Returns what is said in place of that.
std::string_view find_again(OutputReader::Place& place, const File& file, std::uint64_t size) {
  const std::string text = file.read(0, static_cast<std::size_t>(std::min<std::uint64_t>(size, kSearchedThrough)));
  const std::size_t gap = text.find(kLeftOut);
  place.size = size;
  if (gap != std::string::npos && place.offset <= gap) return {};  // what comes before it is as it was
  for (const std::string& shown : {place.shown, struck_out(place)})
    if (const std::size_t at_shown = text.rfind(shown); at_shown != std::string::npos && !shown.empty()) {
      place.offset = at_shown + shown.size();
      return {};
    }
  place.offset = gap == std::string::npos ? size : gap + kLeftOut.size();
  return kLeftOut;
}

}  // namespace

std::string OutputReader::read(Place& place, bool last) {
  for (;;) {
    const std::uint64_t before = place.offset;
    std::string text = read_some(place, last);
    // A line may be longer than a page.
    if (!text.empty() || !last || place.offset == before) return text;
  }
}

std::string OutputReader::read_some(Place& place, bool last) {
  note_secrets(place);
  const File file(place.path);
  const std::optional<std::uint64_t> size = file.size();
  place.there = size.has_value();
  std::string text;
  if (size && *size < place.size) text += find_again(place, file, *size);
  if (size && *size > place.offset) {
    place.size = *size;
    std::string bytes;
    bool hole = false;
    for (int reads = 0; reads < kReads && bytes.empty() && place.offset < *size; ++reads) {
      const std::uint64_t data = file.data_from(place.offset, *size);
      bytes = file.read(data, kPage);
      hole = hole || data > place.offset || bytes.starts_with('\0');
      place.offset = data + bytes.size();
      // Of its last block the first part was only wiped.
      if (hole) bytes.erase(0, std::min(bytes.find_first_not_of('\0'), bytes.size()));
    }
    if (hole) text += kLeftOut;
    place.shown += bytes;
    place.shown.erase(0, place.shown.size() - std::min(place.shown.size(), kShown));
    place.rest += bytes;
  }
  note_secrets(place);
  std::size_t held = last ? 0 : unfinished(place.rest);
  const bool over = last && (!size || place.offset >= *size);
  // The rest of a line may be the rest of a secret.
  if (!place.secrets.empty() && !over && place.rest.size() < kMostHeld)
    held = place.rest.size() - (place.rest.rfind('\n') + 1);
  text += strike_out(std::string_view(place.rest).substr(0, place.rest.size() - held), place.secrets);
  place.rest.erase(0, place.rest.size() - held);
  return text;
}

std::optional<std::string> OutputReader::Page::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(text_, std::nullopt);
}

OutputReader::~OutputReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<OutputReader::Page> OutputReader::ask(Place place, bool last, Wake wake) {
  auto page = std::make_shared<Page>();
  page->place_ = std::move(place);
  page->last_ = last;
  page->until_ = std::chrono::steady_clock::now() + kPatience;
  page->wake_ = std::move(wake);
  {
    const std::lock_guard lock(mutex_);
    pages_.push_back(page);
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
  return page;
}

void OutputReader::run() {
  for (;;) {
    std::list<std::weak_ptr<Page>> round;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !pages_.empty(); });
      if (stopping_) return;
      round.swap(pages_);
    }
    std::list<std::weak_ptr<Page>> waiting;
    for (const auto& asked : round) {
      const std::shared_ptr<Page> page = asked.lock();
      if (!page) continue;
      std::string text;
      try {
        text = read(page->place_, page->last_);
      } catch (const std::exception&) {  // for want of memory: it is read when it is asked for again
      }
      if (text.empty() && !page->last_ && std::chrono::steady_clock::now() < page->until_) {
        waiting.push_back(asked);
        continue;
      }
      {
        const std::lock_guard lock(page->mutex_);
        page->text_ = std::move(text);
      }
      page->wake_();
    }
    if (waiting.empty()) continue;
    std::unique_lock lock(mutex_);
    // A page that is asked for meanwhile is looked at now; the others are a little early then.
    if (pages_.empty()) changed_.wait_for(lock, kReadInterval, [this] { return stopping_ || !pages_.empty(); });
    pages_.splice(pages_.end(), waiting);
  }
}

}  // namespace healer::control
