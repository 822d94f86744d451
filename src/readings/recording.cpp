// SPDX-License-Identifier: MIT
#include "readings/recording.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "engine/events/commit.hpp"
#include "store/state_image.hpp"

namespace healer::readings {

using namespace engine;

namespace {

constexpr Duration kLeadIn = hours{1};     // after which what was under way is played as it was
constexpr Duration kFarStart = hours{24};  // not further back a start of the daemon is sought

/// The chunk to begin with.
std::size_t first_chunk(const std::vector<Chunk>& chunks, WallTime since) {
  std::optional<std::size_t> start;
  std::size_t place = 0;
  for (std::size_t i = 0; i < chunks.size() && chunks[i].begun <= since; ++i) {
    if (chunks[i].starts_life) start = i;
    if (chunks[i].begun <= since - kLeadIn) place = i;
  }
  return start && chunks[*start].begun >= since - kFarStart ? *start : place;
}

}  // namespace

Result<std::unique_ptr<Recording>> Recording::open(const std::string& path, WallTime since, WallTime until) {
  auto reader = ReadingsReader::open(path);
  if (!reader) return reader.error();
  auto chunks = (*reader)->chunks();
  if (!chunks) return chunks.error();
  const std::optional<WallTime> last = (*reader)->last();
  if (chunks->empty() || !last) return Error{0, fmt::format("nothing is recorded yet in {}", path)};
  if (until <= chunks->front().begun)
    return Error{0, fmt::format("nothing is recorded of that time: the readings in {} begin at {}", path,
                                format_iso(chunks->front().begun))};
  if (since > *last)
    return Error{
        0, fmt::format("nothing is recorded of that time: the readings in {} end at {}", path, format_iso(*last))};
  std::unique_ptr<Recording> recording(new Recording(std::move(*reader)));
  recording->chunks_ = std::move(*chunks);
  recording->chunk_ = recording->first_ = first_chunk(recording->chunks_, since);
  recording->until_ = until;
  if (auto read = recording->read_texts(); !read) return read.error();
  if (!recording->begin_chunk()) return Error{0, fmt::format("{}: {}", path, recording->trouble_)};
  return recording;
}

/// Of all chunks that are to be read. One that is damaged counts as not recorded.
Result<void> Recording::read_texts() {
  for (std::size_t i = first_; i < chunks_.size() && (i == first_ || chunks_[i].begun < until_); ++i) {
    auto texts = reader_->texts(chunks_[i].id);
    if (!texts) return texts.error();
    for (ReadingsReader::Text& one : *texts) {
      if (!one.text) continue;
      // As each chunk begins with the rules in force, it may be the one that is known.
      if (texts_.empty() || *texts_.back().text != *one.text)
        texts_.push_back({one.since, std::make_shared<const recorded::RulesText>(std::move(*one.text))});
      numbers_[{chunks_[i].id, one.number}] = static_cast<recorded::TextNumber>(texts_.size() - 1);
    }
  }
  return {};
}

std::optional<recorded::TextNumber> Recording::text(std::optional<recorded::TextNumber> in_chunk) const {
  if (!in_chunk) return std::nullopt;
  const auto found = numbers_.find({chunks_[chunk_].id, *in_chunk});
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

/// Makes ready to read the chunk; one whose state cannot be read is passed over where it is not the first.
bool Recording::begin_chunk() {
  part_ = 0;
  const auto image = reader_->state(chunks_[chunk_].id);
  auto state = image ? store::state_of(*image) : Result<SavedState>(image.error());
  if (!state) {
    trouble_ = fmt::format("the state of {} is damaged: {}", format_iso(chunks_[chunk_].begun), state.error().what);
    return false;
  }
  state_ = std::make_shared<const SavedState>(std::move(*state));
  in_.emplace(services_);
  return true;
}

void Recording::rewind() {
  chunk_ = first_;
  trouble_.clear();
  items_.clear();
  given_ = 0;
  if (!begin_chunk()) give_up(trouble_);
}

void Recording::give_up(std::string what) {
  trouble_ = std::move(what);
  chunk_ = chunks_.size();
}

void Recording::read_on() {
  items_.clear();
  given_ = 0;
  while (items_.empty() && chunk_ < chunks_.size()) {
    const auto parts = reader_->parts(chunks_[chunk_].id, part_);
    if (!parts) return give_up(parts.error().what);
    if (parts->empty()) {
      ++chunk_;
      if (chunk_ < chunks_.size() && chunks_[chunk_].begun >= until_) chunk_ = chunks_.size();
      if (chunk_ < chunks_.size() && !begin_chunk()) return give_up(trouble_);
      continue;
    }
    for (const ReadingsReader::Part& part : *parts) {
      part_ = part.id;
      const std::size_t before = items_.size();
      const bool good = part.sound && in_->read(part.bytes, items_);
      if (!good) items_.resize(before);
      for (std::size_t i = before; i < items_.size(); ++i)
        if (auto* begun = std::get_if<recorded::Begun>(&items_[i].what)) {
          begun->state = state_;
          begun->number = text(begun->number);
        } else if (auto* reloaded = std::get_if<recorded::Reloaded>(&items_[i].what)) {
          reloaded->number = text(reloaded->number);
        }
      if (!good)
        return give_up(fmt::format("the readings are damaged after {}",
                                   format_iso(items_.empty() ? chunks_[chunk_].begun : items_.back().wall)));
    }
  }
}

std::optional<recorded::Item> Recording::next() {
  if (given_ == items_.size()) read_on();
  if (given_ == items_.size()) return std::nullopt;
  return std::move(items_[given_++]);
}

}  // namespace healer::readings
