// SPDX-License-Identifier: MIT
#include "simulation/script_line.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::engine {
namespace {

/// The characters (UTF-8 code points) before byte `offset`, plus 1.
std::uint32_t column_of(std::string_view line, std::size_t offset) {
  return 1 + static_cast<std::uint32_t>(std::ranges::count_if(
                 line.substr(0, offset), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

bool ScriptLine::begin(std::string_view line, std::uint32_t number) {
  line_ = line;
  number_ = number;
  failed_ = false;
  next_ = 0;
  split();
  if (failed_ || words_.empty()) return false;
  end_ = words_.back().offset + words_.back().raw.size();
  return true;
}

void ScriptLine::fail(std::size_t offset, std::string message, std::string remedy) {
  if (!failed_) errors_.push_back({number_, column_of(line_, offset), std::move(message), std::move(remedy)});
  failed_ = true;
  next_ = words_.size();
}

void ScriptLine::split() {
  words_.clear();
  const auto blank = [&](std::size_t at) { return line_[at] == ' ' || line_[at] == '\t' || line_[at] == '\r'; };
  for (std::size_t i = 0; i < line_.size();) {
    if (blank(i)) {
      ++i;
      continue;
    }
    if (line_[i] == '#') return;
    const std::size_t begin = i;
    std::optional<std::size_t> quote;
    // An apostrophe within a word is one of its letters.
    const auto opens = [&] { return line_[i] == '"' || (line_[i] == '\'' && (i == begin || line_[i - 1] == ':')); };
    for (; i < line_.size() && (quote || !blank(i)); ++i) {
      if (quote ? line_[i] == line_[*quote] : opens()) quote = quote ? std::nullopt : std::optional{i};
      if (quote && line_[*quote] == '"' && line_[i] == '\\' && i + 1 < line_.size()) ++i;
    }
    if (quote)
      return fail(*quote, "the text that begins here is not closed",
                  fmt::format("put a {} where it ends", line_[*quote]));
    words_.push_back({line_.substr(begin, i - begin), begin});
  }
}

std::string ScriptLine::unquote(std::string_view raw, std::size_t& at, std::size_t offset) {
  std::string text;
  const char mark = raw[at];
  for (++at; raw[at] != mark; ++at) {
    if (raw[at] != '\\' || mark == '\'') {
      text += raw[at];
      continue;
    }
    switch (raw[++at]) {
      case 'n': text += '\n'; break;
      case 't': text += '\t'; break;
      case '"':
      case '\\': text += raw[at]; break;
      default:
        fail(offset + at - 1, fmt::format("\\{} means nothing here", raw[at]), "known are \\\" \\\\ \\n and \\t");
    }
  }
  ++at;
  return text;
}

std::string ScriptLine::text_of(const Word& word) {
  if (!word.quoted()) return std::string{word.raw};
  std::size_t at = 0;
  std::string text = unquote(word.raw, at, word.offset);
  if (at != word.raw.size()) fail(word.offset + at, "something follows the closing quote", "put a blank there");
  return text;
}

std::int64_t ScriptLine::read_number(std::string_view raw, std::size_t& at, std::size_t offset, std::string_view what,
                                     std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(raw.data() + at, raw.data() + raw.size(), number);
  if (end == raw.data() + at) {
    fail(offset + at, fmt::format("{} is missing", what));
  } else if (failure != std::errc{} || number < least || number > most) {
    fail(offset + at, fmt::format("{} must be between {} and {}", what, least, most));
  }
  at = static_cast<std::size_t>(end - raw.data());
  return failed_ ? least : number;
}

bool ScriptLine::see(std::string_view word) const { return more() && iequals(words_[next_].raw, word); }
bool ScriptLine::take_one(std::string_view word) { return take(word) || take(fmt::format("{},", word)); }
void ScriptLine::want(std::string_view word, std::string_view form) {
  if (!take(word)) fail(here(), fmt::format("expected '{}'", word), fmt::format("write {}", form));
}
ScriptLine::Word ScriptLine::want_word(std::string_view what, std::string_view form) {
  if (more()) return words_[next_++];
  fail(here(), fmt::format("{} is missing", what), fmt::format("write {}", form));
  return {};
}
void ScriptLine::want_end() {
  if (more()) fail(here(), fmt::format("unexpected '{}'", printable(words_[next_].raw)));
}

Duration ScriptLine::duration(std::string_view form) {
  std::string text;
  std::optional<Duration> best;
  std::size_t after = next_;
  for (std::size_t i = next_; i < words_.size() && i < next_ + 8; ++i) {
    text += ' ';
    text += words_[i].raw.substr(0, words_[i].raw.find(','));
    if (const auto read = parse_duration(text)) best = read, after = i + 1;
    if (words_[i].raw.ends_with(',')) break;
  }
  if (best)
    next_ = after;
  else
    fail(here(), "a duration was expected", fmt::format("write {}", form));
  return best.value_or(Duration{0});
}

WallTime ScriptLine::wall_time(std::string_view form) {
  const std::size_t begin = here();
  const std::string_view date = want_word("the date", form).raw;
  const std::string_view time = want_word("the time", form).raw;
  const auto read = parse_iso(fmt::format("{}T{}.000Z", date, time));
  if (!read) fail(begin, "this is not a date and time", fmt::format("write {}", form));
  return read.value_or(WallTime{});
}

std::int64_t ScriptLine::number(std::string_view what, std::int64_t least, std::int64_t most, std::string_view form) {
  const Word& word = want_word(what, form);
  std::string_view raw = word.raw;
  if (raw.ends_with(',')) raw.remove_suffix(1);
  std::size_t at = 0;
  const std::int64_t read = read_number(raw, at, word.offset, what, least, most);
  if (at != raw.size()) fail(word.offset + at, "a whole number was expected");
  return read;
}

Duration ScriptLine::offset(std::string_view form) {
  if (!more() || words_[next_].raw.find(':') == std::string_view::npos) return duration(form);
  const Word word = words_[next_++];
  Duration total{0};
  std::size_t at = 0;
  std::size_t parts = 0;
  for (; parts < 3 && !failed_; ++parts) {
    const std::int64_t most = parts == 0 ? 99'999 : 59;
    total = total * 60 + seconds{read_number(word.raw, at, word.offset, "a part of the time", 0, most)};
    if (at < word.raw.size() && word.raw[at] == ':' && parts < 2) ++at;
  }
  if (at != word.raw.size()) fail(word.offset, "this is not a time", "write hours:minutes:seconds");
  return total;
}

}  // namespace healer::engine
