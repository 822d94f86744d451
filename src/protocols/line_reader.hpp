// SPDX-License-Identifier: MIT
// Lines out of bytes that come in any pieces, for protocols that speak in lines. Keeps one line at most, cut to a
// limit; what is beyond the limit is skipped.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace healer::protocols {

class LineReader {
 public:
  /// At most so many bytes of a line are kept.
  explicit LineReader(std::size_t limit) : limit_(limit) {}

  /// Takes bytes from the front of `bytes` to the end of the next line. The line without its end ("\n", "\r\n"), or
  /// nothing where it is not whole yet; all of `bytes` is taken then. The view holds until the next call.
  [[nodiscard]] std::optional<std::string_view> next(std::string_view& bytes) {
    if (whole_) line_.clear();
    whole_ = false;
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    // One byte more than the limit, so that a '\r' before the end is seen.
    line_ += part.substr(0, limit_ + 1 - std::min(limit_ + 1, line_.size()));
    skipped_ += part.size();
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (end == std::string_view::npos) return std::nullopt;
    whole_ = true;
    skipped_ = 0;
    return trimmed();
  }
  /// What there is of a line that is not whole.
  [[nodiscard]] std::string_view rest() const { return whole_ ? std::string_view{} : trimmed(); }
  /// Bytes of the line that is not whole yet, those included that were skipped.
  [[nodiscard]] std::size_t length() const { return whole_ ? 0 : skipped_; }

 private:
  [[nodiscard]] std::string_view trimmed() const {
    std::string_view line = line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line.substr(0, limit_);
  }

  std::size_t limit_;
  std::string line_;
  std::size_t skipped_ = 0;
  bool whole_ = false;
};

}  // namespace healer::protocols
