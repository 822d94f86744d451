// SPDX-License-Identifier: MIT
#include "control/socket/history_answer.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/selection.hpp"
#include "control/views.hpp"

namespace healer::control {
namespace {

constexpr std::uint32_t kPage = 500;  // records that are read at once by who goes on after a number

class HistoryAnswer : public Answer {
 public:
  HistoryAnswer(const Supervisor& daemon, HistoryReader& reader, RecordTail& tail, store::HistoryQuery what,
                std::shared_ptr<Follower> follower, Wake wake)
      : daemon_(daemon),
        reader_(reader),
        tail_(tail),
        what_(std::move(what)),
        follower_(std::move(follower)),
        wake_(std::move(wake)),
        position_(what_.after),
        left_(what_.limit),
        wanted_{.service = what_.service, .since = {}, .kinds = {}, .own = what_.own, .others = what_.others} {
    // What may be told by now is found by the first page, asked for or not.
    if (!what_.oldest || only_to_come()) position_ = tail_.newest();
    if (only_to_come()) {
      whole_ = true;
      return;
    }
    ask(what_.oldest ? std::min(left_, kPage) : left_);
  }

  Next pull(std::string& out, std::size_t budget) override {
    if (!std::exchange(begun_, true)) {
      out += answer_header(daemon_, Verb::History);
      if (out.size() >= budget) return Next::More;
    }
    // Nothing had been recorded yet.
    if (only_to_come() && position_ == 0) position_ = tail_.before();
    for (;;) {
      for (; next_ < page_.records.size(); ++next_) {
        if (out.size() >= budget) return Next::More;
        out += item_line(view_record(page_.records[next_]));
      }
      page_.records = {};  // one who follows may stay for days
      next_ = 0;
      if (query_) {
        const Next taken = take(out);
        if (taken != Next::More) return taken;
      } else if (whole_ && !follower_) {
        return end(out, "");
      } else if (!whole_) {
        ask(follower_ ? kPage : std::min(left_, kPage));
      } else if (!tail_.reaches(position_)) {
        if (stuck_) skip(out);
        whole_ = stuck_;
      } else if (tell_tail(out, budget)) {
        return Next::More;
      } else {
        return follower_->last ? end(out, "healerd has ended") : Next::Waiting;
      }
    }
  }
  [[nodiscard]] bool endless() const override { return follower_ != nullptr; }

 private:
  [[nodiscard]] bool only_to_come() const { return follower_ != nullptr && what_.after == kOnlyToCome; }

  void ask(std::uint32_t limit) {
    store::HistoryQuery query = what_;
    query.limit = limit;
    if (first_) {
      first_ = false;
    } else {
      query.oldest = true;
      query.after = position_;
      query.since.reset();
    }
    asked_ = query.limit;
    query_ = reader_.ask(std::move(query), wake_);
  }

  /// Goes on where the tail begins: of what was before, the store knows nothing any more.
  void skip(std::string& out) {
    out += item_line(GapView{.after = position_, .records = tail_.before() - position_});
    position_ = tail_.before();
  }

  /// Takes the page that was asked for. More: it is there, or the answer goes on without.
  Next take(std::string& out) {
    auto page = query_->take();
    if (!page) return Next::Waiting;
    query_.reset();
    if (!*page) {
      out += error_line({"history", fmt::format("the history cannot be read: {}", page->error().what), ""});
      return Next::Done;
    }
    page_ = std::move(**page);
    next_ = 0;
    // Who asks from the beginning asks for what there is.
    if (page_.anew || (page_.missing != 0 && position_ != 0))
      out += item_line(GapView{.after = position_, .records = page_.missing, .anew = page_.anew});
    const std::size_t got = page_.records.size();
    const engine::RecordNumber from = position_;
    position_ = page_.anew ? page_.up_to : std::max(position_, page_.up_to);
    stuck_ = got == 0 && (position_ == from || page_.anew);
    const bool in_pages = paged_ || what_.oldest;
    paged_ = true;
    left_ -= static_cast<std::uint32_t>(std::min<std::size_t>(got, left_));
    whole_ = !in_pages || got < asked_ || (!follower_ && left_ == 0);
    // The history knows services that are gone, so only one that neither knows is a slip of the fingers.
    const engine::Graph& graph = *daemon_.engine().graph();
    if (got == 0 && !follower_ && what_.after == 0 && !what_.service.empty() && !graph.find(what_.service)) {
      out += error_line(unknown_service(graph, what_.service));
      return Next::Done;
    }
    return Next::More;
  }

  /// What has come since. True: there is more of it than fits.
  bool tell_tail(std::string& out, std::size_t budget) {
    while (const RecordTail::Entry* const entry = tail_.next(position_)) {
      if (out.size() >= budget) return true;
      position_ = entry->record.id;
      if (matches(wanted_, entry->record)) out += entry->line;
    }
    return false;
  }

  [[nodiscard]] static Next end(std::string& out, std::string_view text) {
    out += end_line(Done{true, std::string(text)});
    return Next::Done;
  }

  const Supervisor& daemon_;
  HistoryReader& reader_;
  RecordTail& tail_;
  store::HistoryQuery what_;
  std::shared_ptr<Follower> follower_;  // null: it does not follow
  Wake wake_;
  engine::RecordNumber position_;  // up to there it has been told, or looked through
  std::uint32_t left_;             // of the limit
  store::HistoryQuery wanted_;     // of what comes
  std::uint32_t asked_ = 0;        // the limit of the page under way
  std::shared_ptr<HistoryReader::Query> query_;
  store::HistoryPage page_;
  std::size_t next_ = 0;
  bool first_ = true;   // no page was asked for
  bool paged_ = false;  // the first page has come
  bool whole_ = false;  // the store has no more of it
  bool stuck_ = false;  // the last page has brought nothing at all
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<Answer> answer_history(const Supervisor& daemon, HistoryReader& reader, RecordTail& tail,
                                       store::HistoryQuery what, std::shared_ptr<Follower> follower, Wake wake) {
  return std::make_unique<HistoryAnswer>(daemon, reader, tail, std::move(what), std::move(follower), std::move(wake));
}

}  // namespace healer::control
