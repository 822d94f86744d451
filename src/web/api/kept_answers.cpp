// SPDX-License-Identifier: MIT
#include "web/api/kept_answers.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/wire.hpp"
#include "web/api/problem.hpp"

namespace healer::web {
namespace {

using control::Json;

constexpr std::size_t kLinesBeside = 1'000;  // that the log may have more than twice those that are needed

/// Whether something may have been done: an answer that only refuses is not kept, so that the request may be sent again
/// when it is right, or there is room.
bool was_done(unsigned status) { return status < 400 || status == 500; }

bool is_key(std::string_view key) {
  return !key.empty() && key.size() <= KeptAnswers::kLongestKey &&
         std::ranges::all_of(key, [](char c) { return c > ' ' && c <= '~'; });
}

Response refused_key(unsigned status, std::string code, std::string message, std::string remedy) {
  return problem({.code = std::move(code), .message = std::move(message), .remedy = std::move(remedy)}, status);
}

}  // namespace

/// A client that waits for an answer that is kept, and made whether it waits or not.
class KeptAnswers::Waiting final : public Deferred {
 public:
  Waiting(KeptAnswers& kept, Name name, std::shared_ptr<Entry> entry)
      : kept_(kept), name_(std::move(name)), entry_(std::move(entry)) {}

  std::optional<Response> poll() override {
    kept_.look_at(name_, entry_);
    if (entry_->stage != Stage::Answered) return std::nullopt;
    return answer_of(*entry_, false);
  }

 private:
  KeptAnswers& kept_;
  Name name_;
  std::shared_ptr<Entry> entry_;
};

KeptAnswers::KeptAnswers(AnswerLog* log, std::string_view saved, WallTime now) : log_(log) {
  for (std::size_t end = 0; (end = saved.find('\n')) != std::string_view::npos; saved.remove_prefix(end + 1))
    read_line(saved.substr(0, end), now);
  std::ranges::sort(by_age_);
  for (auto& [name, entry] : entries_) bytes_ += entry->body.size();
}

void KeptAnswers::read_line(std::string_view line, WallTime now) {
  ++logged_;
  try {
    const Json json = Json::parse(line);
    const Name name{json.at("user").get<std::string>(), json.at("key").get<std::string>()};
    entries_.erase(name);
    const auto asked = parse_hash128(json.value("asked", ""));
    const auto since = parse_iso(json.value("since", ""));
    if (!asked || !since || *since + kKept <= now) return;
    by_age_.emplace_back(*since, name);
    const auto status = json.at("status").get<unsigned>();
    entries_[name] = std::make_shared<Entry>(Entry{.asked = *asked,
                                                   .since = *since,
                                                   .stage = status == 0 ? Stage::InDoubt : Stage::Answered,
                                                   .status = status,
                                                   .type = json.value("type", ""),
                                                   .body = json.value("body", "")});
  } catch (const std::exception&) {  // the end of a line that was being written
    return;
  }
}

std::string KeptAnswers::line_of(const Name& name, const Entry& entry) {
  Json json{{"user", name.first},
            {"key", name.second},
            {"asked", to_string(entry.asked)},
            {"since", format_iso(entry.since)},
            {"status", entry.status}};
  if (entry.status != 0) json.update({{"type", entry.type}, {"body", entry.body}});
  return control::to_line(json) + "\n";
}

Response KeptAnswers::answer_of(const Entry& entry, bool again) {
  Response response{.status = entry.status, .type = entry.type, .body = entry.body};
  response.headers.emplace_back("Cache-Control", "no-store");
  if (entry.status == 503) response.headers.emplace_back("Retry-After", "1");
  if (again) response.headers.emplace_back("Idempotency-Replayed", "true");
  return response;
}

void KeptAnswers::write(std::string line, std::function<void()> then) {
  if (log_ == nullptr) return then();
  ++logged_;
  ++unwritten_;
  log_->append(std::move(line), [this, alive = std::weak_ptr(alive_), then = std::move(then)](bool) {
    if (alive.expired()) return;
    --unwritten_;
    then();
  });
  if (logged_ <= 2 * entries_.size() + kLinesBeside) return;
  std::string all;
  for (const auto& [name, entry] : entries_) all += line_of(name, *entry);
  logged_ = entries_.size();
  log_->replace(std::move(all));
}

void KeptAnswers::add(const Name& name, std::shared_ptr<Entry> entry) {
  by_age_.emplace_back(entry->since, name);
  entries_[name] = std::move(entry);
}

void KeptAnswers::drop(const Name& name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  bytes_ -= found->second->body.size();
  under_way_.erase(name);
  entries_.erase(found);
}

void KeptAnswers::begin(const Name& name, const std::shared_ptr<Entry>& entry) {
  const auto act = std::exchange(entry->act, {});
  entry->stage = Stage::UnderWay;
  Reply reply;
  try {
    reply = act();
  } catch (const std::exception&) {  // nobody is above us who could answer
    reply = problem({.code = "fault", .message = "something went wrong here", .remedy = "see the log of healerd"}, 500);
  }
  if (const auto* const response = std::get_if<Response>(&reply)) return settle(name, entry, *response);
  entry->under_way = std::move(std::get<std::unique_ptr<Deferred>>(reply));
  under_way_.insert(name);
}

void KeptAnswers::settle(const Name& name, const std::shared_ptr<Entry>& entry, const Response& response) {
  entry->under_way.reset();
  entry->stage = Stage::Keeping;
  under_way_.erase(name);
  if (!was_done(response.status)) drop(name);
  entry->status = response.status;
  entry->type = response.type;
  entry->body = response.body;
  if (was_done(response.status)) bytes_ += entry->body.size();
  write(was_done(response.status) ? line_of(name, *entry)
                                  : control::to_line({{"user", name.first}, {"key", name.second}}) + "\n",
        [entry] {
          entry->stage = Stage::Answered;
          if (const Wake wake = std::exchange(entry->wake, {})) wake();
        });
}

void KeptAnswers::look_at(const Name& name, const std::shared_ptr<Entry>& entry) {
  if (!entry->under_way) return;
  if (const auto response = entry->under_way->poll()) settle(name, entry, *response);
}

void KeptAnswers::look_after_all(WallTime now) {
  const std::set<Name> under_way = under_way_;
  for (const Name& name : under_way)
    if (const auto found = entries_.find(name); found != entries_.end()) look_at(name, found->second);
  for (; !by_age_.empty() && by_age_.front().first + kKept <= now; by_age_.pop_front()) {
    const auto found = entries_.find(by_age_.front().second);
    if (found != entries_.end() && found->second->since == by_age_.front().first &&
        (found->second->stage == Stage::Answered || found->second->stage == Stage::InDoubt))
      drop(found->first);
  }
}

bool KeptAnswers::is_full(const std::string& user) const {
  if (entries_.size() >= kMost || bytes_ >= kMostBytes) return true;
  std::size_t own = 0;
  for (auto one = entries_.lower_bound(Name{user, ""}); one != entries_.end() && one->first.first == user; ++one) ++own;
  return own >= kMostOfUser;
}

Reply KeptAnswers::once(const Keyed& request, WallTime now, std::function<Reply()> act, Wake wake) {
  if (!is_key(request.key))
    return refused_key(400, "bad-request", "the Idempotency-Key is none",
                       fmt::format("it has at most {} characters, without blanks: a UUID, for instance", kLongestKey));
  look_after_all(now);
  const Name name{request.user, request.key};
  if (const auto found = entries_.find(name); found != entries_.end()) {
    const Entry& entry = *found->second;
    if (entry.asked != request.asked)
      return refused_key(422, "key-used", "this Idempotency-Key was used for another request",
                         "use a new key for each request, and the same only to send it again");
    if (entry.stage == Stage::Answered) return answer_of(entry, true);
    if (entry.stage != Stage::InDoubt)
      return refused_key(409, "under-way", "the request with this Idempotency-Key is still under way",
                         "send it again later");
    return refused_key(409, "in-doubt", "healerd ended while the request with this Idempotency-Key was under way",
                       "see in the history what became of it, and use a new key to ask again");
  }
  if (is_full(request.user))
    return refused_key(429, "busy", "too many answers are kept already",
                       "use keys only for what may not be done twice; each is kept for a day");
  auto entry = std::make_shared<Entry>(Entry{.asked = request.asked, .since = now, .act = std::move(act)});
  add(name, entry);
  write(line_of(name, *entry), [this, name, entry] {
    begin(name, entry);
    // What was begun has to be asked once for its answer; nobody waits yet when the log is as quick as that.
    if (entry->wake) entry->wake();
  });
  auto waiting = std::make_unique<Waiting>(*this, name, entry);
  if (auto response = waiting->poll()) return std::move(*response);
  entry->wake = std::move(wake);
  return waiting;
}

}  // namespace healer::web
