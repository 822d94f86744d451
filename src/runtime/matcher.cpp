// SPDX-License-Identifier: MIT
#include "runtime/matcher.hpp"

#include <spdlog/fmt/fmt.h>

#include <cerrno>
#include <list>
#include <utility>

#include "runtime/clock.hpp"
#include "runtime/pattern.hpp"
#include "util/hash.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

constexpr std::size_t kMostSets = 512;  // compiled sets that a thread keeps

using PatternSet = std::list<Pattern>;

const PatternSet& compiled(const std::vector<std::string>& patterns) {
  thread_local std::unordered_map<Hash128, PatternSet> sets;
  std::string key;
  for (const auto& pattern : patterns) key.append(pattern).push_back('\0');
  const Hash128 hash = hash128(key);
  if (const auto found = sets.find(hash); found != sets.end()) return found->second;
  if (sets.size() >= kMostSets) sets.clear();  // reload after reload: start over
  PatternSet set;
  for (const auto& pattern : patterns) set.emplace_back(pattern);
  return sets.emplace(hash, std::move(set)).first->second;
}

Result<std::uint64_t> match_all(const std::vector<std::string>& patterns, const std::string& text) {
  const std::string matched{trim(text)};
  std::uint64_t bits = 0;
  unsigned index = 0;
  for (const Pattern& pattern : compiled(patterns)) {
    if (pattern.error() != 0) return Error{EINVAL, fmt::format("the pattern \"{}\" is invalid", patterns[index])};
    if (pattern.matches(matched)) bits |= std::uint64_t{1} << index;
    ++index;
  }
  return bits;
}

}  // namespace

Matcher::Matcher(Loop& loop, Options options)
    : loop_(loop),
      options_(options),
      pool_(loop, {"healer-match", options.workers, options.max_lost, options.patience / 8}) {}

void Matcher::match(Patterns patterns, Text text, Done done) {
  const std::uint64_t id = next_id_++;
  Loop::Timer patience = loop_.timer([this, id] {
    answer(id, Error{ETIMEDOUT,
                     fmt::format("the output could not be matched within {}", format_duration(options_.patience))});
  });
  patience.set_deadline(mono_now() + options_.patience);
  waiting_.emplace(id, Waiting{std::move(done), std::move(patience)});
  pool_.submit(
      [this, id, patterns = std::move(patterns), text = std::move(text)]() -> Loop::Callback {
        auto result = match_all(*patterns, *text);
        return [this, id, result = std::move(result)] { answer(id, result); };
      },
      [this, id](Error error) { answer(id, std::move(error)); });
}

void Matcher::answer(std::uint64_t id, Result<std::uint64_t> result) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;  // it came too late
  const Waiting waiting = std::move(found->second);
  waiting_.erase(found);
  waiting.done(std::move(result));
}

}  // namespace healer::runtime
