// SPDX-License-Identifier: MIT
#include "control/events/event_desk.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/events/event_fields.hpp"
#include "control/queries.hpp"
#include "control/selection.hpp"
#include "control/socket/server.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/occurrence.hpp"
#include "hooks/read.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

using engine::ServiceId;

constexpr std::size_t kMostAtOnce = 50;  // events of one body in a turn of the loop
constexpr std::uint16_t kTaken = 202;

/// Items, and the end; or a failure alone.
class ReadyLines : public Answer {
 public:
  explicit ReadyLines(std::string lines) : lines_(std::move(lines)) {}
  Next pull(std::string& out, std::size_t) override {
    out += std::exchange(lines_, {});
    return Next::Done;
  }

 private:
  std::string lines_;
};

std::unique_ptr<Answer> refused(const Failure& failure) { return std::make_unique<ReadyLines>(error_line(failure)); }

}  // namespace

/// A request under way.
struct EventDesk::Sending {
  Wake wake;
  std::string header;
  ServiceId service;
  std::string name;  // of the service
  EventSent sent;
  std::string sender;
  std::vector<EventAnswer> answers{};
  std::size_t left = 0;          // that have no answer yet
  std::size_t next = 0;          // the first that was not submitted yet
  std::size_t under_way = 0;     // that were, and have no answer
  std::function<void()> more{};  // submits some of the others
  bool is_submitted = false;     // `left` tells whether it is over
  bool is_over() const { return is_submitted && left == 0; }

  void end() {
    is_submitted = true;
    wake();
  }
  void answer_all(std::uint16_t status, const std::string& text) {
    answers = {EventAnswer{.status = status, .text = text}};
    left = 0;
    end();
  }
};

namespace {

template <typename Sending>
class SendingAnswer : public Answer {
 public:
  explicit SendingAnswer(std::shared_ptr<Sending> sending) : sending_(std::move(sending)) {}
  Next pull(std::string& out, std::size_t) override {
    out += std::exchange(sending_->header, {});
    if (sending_->is_submitted && sending_->left > 0 && sending_->under_way == 0) sending_->more();
    if (!sending_->is_over()) return Next::Waiting;
    bool is_good = true;
    std::string text;
    for (const EventAnswer& answer : sending_->answers) {
      is_good = is_good && answer.status == kTaken;
      text += (text.empty() ? "" : "\n") + answer.text;
      out += item_line(answer);
    }
    if (sending_->answers.empty()) text = "there was no event in it";
    out += end_line(Done{is_good, std::move(text)});
    return Next::Done;
  }

 private:
  std::shared_ptr<Sending> sending_;
};

engine::event::Arrived arrived_of(ServiceId service, const OccurrenceSent& one, const EventSent& sent,
                                  const std::string& sender) {
  engine::event::Arrived arrived =
      engine::event::occurred(service, one.id, one.state, one.document, event_fields(one.document));
  arrived.remark = one.remark;
  arrived.sender = sender;
  arrived.again = sent.again;
  arrived.refused = sent.refused;
  if (sent.refused != 0) {
    engine::Evidence why;
    why.output = std::make_shared<const std::string>(sent.why);
    arrived.evidence = std::make_shared<const engine::Evidence>(std::move(why));
  }
  return arrived;
}

}  // namespace

EventDesk::EventDesk(Supervisor& daemon, Numbers numbers) : daemon_(daemon), numbers_(std::move(numbers)) {}
EventDesk::~EventDesk() = default;

std::unique_ptr<Answer> EventDesk::send(const Request& request, const Peer& peer, Wake wake) {
  const engine::Graph& graph = *daemon_.engine().graph();
  EventSent sent = request.event.value_or(EventSent{});
  std::string name = request.names.size() == 1 ? request.names.front() : "";
  if (sent.again != 0) {
    const engine::Occurrence* const event = daemon_.engine().arrivals().events().find(sent.again);
    if (event == nullptr)
      return refused({"no-event", fmt::format("there is no event {} (any more)", sent.again), "see healerctl events"});
    if (event->document == nullptr || event->document->empty())
      return refused({"no-document", fmt::format("the document of event {} is no longer kept", sent.again), ""});
    name = event->service;
    sent.occurrences = {{.id = event->key,
                         .state = event->state,
                         .document = *event->document,
                         .remark = fmt::format("event {} once more", sent.again)}};
  } else if (request.names.size() != 1 || !request.groups.empty()) {
    return refused({"bad-request", "an event for which check?", "name one"});
  }
  const std::optional<ServiceId> service = graph.find(name);
  if (!service) return refused(unknown_service(graph, name));
  if (!graph.at(*service).is_event())
    return refused({"no-check-of-events", fmt::format("{} is no check of events", printable(name)),
                    "one is written: check event NAME with hook \"/hooks/NAME\""});
  if (sent.body.size() > kMaxEventBody)
    return refused({"too-large", fmt::format("an event has at most {} bytes", kMaxEventBody), ""});
  auto sending = std::make_shared<Sending>();
  sending->wake = std::move(wake);
  sending->header = header_line(request.verb, Queries(daemon_).daemon_for_strangers());
  sending->service = *service;
  sending->name = graph.at(*service).name;
  sending->sender = sent.sender.empty() ? peer.who.name : sent.sender;
  sending->sent = std::move(sent);
  const std::string body = std::exchange(sending->sent.body, {});
  if (sending->sent.occurrences.empty() && sending->sent.refused == 0)
    read_body(sending, body);
  else
    submit(sending);
  return std::make_unique<SendingAnswer<Sending>>(std::move(sending));
}

/// As the format of the hook says.
void EventDesk::read_body(const std::shared_ptr<Sending>& sending, const std::string& body) {
  const engine::EventSpec& spec = daemon_.engine().graph()->at(sending->service).other->event;
  const hooks::Format format = hooks::format_of(engine::to_string(spec.format)).value_or(hooks::Format::Json);
  hooks::Reading reading = hooks::read(format, {.body = body});
  if (const auto* const notice = std::get_if<hooks::Notice>(&reading)) return sending->answer_all(kTaken, notice->text);
  if (const auto* const refusal = std::get_if<hooks::Refusal>(&reading))
    return sending->answer_all(refusal->status, refusal->why);
  for (hooks::Occurrence& one : std::get<std::vector<hooks::Occurrence>>(reading))
    sending->sent.occurrences.push_back(
        {std::move(one.id), std::move(one.state), std::move(one.document), std::move(one.remark)});
  if (format == hooks::Format::Json && !spec.key.empty() && sending->sent.occurrences.size() == 1)
    find_key(sending, body);
  else
    submit(sending);
}

void EventDesk::find_key(const std::shared_ptr<Sending>& sending, const std::string& body) {
  const engine::EventSpec& spec = daemon_.engine().graph()->at(sending->service).other->event;
  daemon_.query(sending->name, spec.key, body,
                [this, sending, body, alive = std::weak_ptr(alive_)](const Result<std::string>& key) {
                  if (!alive.expired()) find_state(sending, body, key);
                });
}

void EventDesk::find_state(const std::shared_ptr<Sending>& sending, const std::string& body,
                           const Result<std::string>& key) {
  const engine::ServiceBlock* const block = daemon_.engine().graph()->block(sending->service);
  if (block == nullptr || !block->is_event()) return sending->answer_all(404, "there is no such check event any more");
  const auto done = [this, sending, key](const std::optional<Result<std::string>>& state) {
    OccurrenceSent& one = sending->sent.occurrences.front();
    auto found = hooks::with_key({one.id, one.state, one.document, one.remark}, key, state);
    if (const auto* const refusal = std::get_if<hooks::Refusal>(&found))
      return sending->answer_all(refusal->status, refusal->why);
    auto& known = std::get<hooks::Occurrence>(found);
    one = {std::move(known.id), std::move(known.state), std::move(known.document), std::move(known.remark)};
    submit(sending);
  };
  const std::string filter = block->other->event.state;
  if (filter.empty()) return done(std::nullopt);
  daemon_.query(sending->name, filter, body, [done, alive = std::weak_ptr(alive_)](const Result<std::string>& state) {
    if (!alive.expired()) done(state);
  });
}

void EventDesk::submit(const std::shared_ptr<Sending>& sending) {
  std::vector<OccurrenceSent>& all = sending->sent.occurrences;
  if (all.empty() && sending->sent.refused != 0)  // of a body that could not be read
    all.push_back({.id = to_string(hash128(sending->sent.why)), .state = {}, .document = "{}", .remark = {}});
  sending->answers.clear();
  for (const OccurrenceSent& one : all) sending->answers.push_back({.id = one.id, .state = one.state});
  sending->left = all.size();
  if (sending->sent.dry_run && !all.empty()) return preview(sending, 0);
  sending->is_submitted = true;
  if (all.empty()) return sending->end();
  sending->more = [this, weak = std::weak_ptr(sending), alive = std::weak_ptr(alive_)] {
    const auto its = weak.lock();
    if (its && !alive.expired()) submit_some(*its, weak);
  };
  submit_some(*sending, sending);
}

/// A body of thousands is no turn of its own: the loop has others to serve, too.
void EventDesk::submit_some(Sending& sending, const std::weak_ptr<Sending>& weak) {
  const std::vector<OccurrenceSent>& all = sending.sent.occurrences;
  const std::size_t begin = sending.next;
  sending.next = std::min(begin + kMostAtOnce, all.size());
  sending.under_way = sending.next - begin;
  for (std::size_t i = begin; i < sending.next; ++i) {
    engine::event::Arrived arrived = arrived_of(sending.service, all[i], sending.sent, sending.sender);
    arrived.command = numbers_();
    pending_.emplace(arrived.command, std::pair(weak, i));
    daemon_.submit(std::move(arrived));
  }
}

bool EventDesk::reply(const engine::effect::Reply& reply) {
  const auto found = pending_.extract(reply.command);
  if (found.empty()) return false;
  const auto sending = found.mapped().first.lock();
  if (!sending) return true;  // its client has gone
  EventAnswer& answer = sending->answers.at(found.mapped().second);
  answer.event = reply.subject;
  answer.status = reply.status == 0 ? std::uint16_t{404} : reply.status;
  answer.text = reply.text;
  if (daemon_.engine().releases().is_sick() && answer.status == kTaken) {
    answer.status = 503;
    answer.text = "the state cannot be written: if healerd ends before it can, this event is forgotten";
  }
  --sending->left;
  if (--sending->under_way == 0) sending->wake();
  return true;
}

// ---- what would become of one ---------------------------------------------------------------------------------------

/// One after the other, from `at` on: each asks the filters of its rules first.
void EventDesk::preview(const std::shared_ptr<Sending>& sending, std::size_t at) {
  const engine::ServiceBlock* const block = daemon_.engine().graph()->block(sending->service);
  if (block == nullptr || !block->is_event()) return sending->answer_all(404, "there is no such check event any more");
  for (; at < sending->answers.size(); ++at) {
    const engine::event::Arrived arrived =
        arrived_of(sending->service, sending->sent.occurrences[at], sending->sent, sending->sender);
    const engine::EventVerdict verdict = daemon_.engine().arrivals().events().preview(arrived, daemon_.now());
    EventAnswer& answer = sending->answers[at];
    answer.event = verdict.known;
    answer.status = verdict.status;
    answer.text = verdict.text;
    --sending->left;
    if (verdict.status != kTaken || verdict.known != 0) continue;
    if (!block->other->event.filters.empty())  // it goes on when they have answered
      return preview_rules(sending, at, std::make_shared<std::vector<engine::ValueSeen>>());
    answer.text = preview_text(sending->sent.occurrences[at], sending->service, {});
  }
  sending->end();
}

void EventDesk::preview_rules(const std::shared_ptr<Sending>& sending, std::size_t at,
                              std::shared_ptr<std::vector<engine::ValueSeen>> values) {
  const engine::ServiceBlock* const block = daemon_.engine().graph()->block(sending->service);
  if (block == nullptr || !block->is_event()) return sending->answer_all(404, "there is no such check event any more");
  const OccurrenceSent& one = sending->sent.occurrences[at];
  const std::vector<std::string>& filters = block->other->event.filters;
  if (values->size() < filters.size()) {
    const std::string filter = filters[values->size()];
    return daemon_.query(
        sending->name, filter, one.document,
        [this, sending, at, values, filter, alive = std::weak_ptr(alive_)](const Result<std::string>& value) {
          if (alive.expired()) return;
          engine::ValueSeen seen{.filter = filter, .value = std::nullopt};
          if (value)
            seen.value = *value;
          else
            seen.why = printable(value.error().what);
          values->push_back(std::move(seen));
          preview_rules(sending, at, values);
        });
  }
  sending->answers[at].text = preview_text(one, sending->service, *values);
  preview(sending, at + 1);
}

/// What would become of one that would be taken. Requires: the service is a check of events.
std::string EventDesk::preview_text(const OccurrenceSent& one, ServiceId service,
                                    const std::vector<engine::ValueSeen>& values) const {
  const engine::ServiceBlock& block = daemon_.engine().graph()->at(service);
  auto facts = std::make_shared<engine::Facts>();
  facts->further.edit().values = values;
  engine::EventSeen event = daemon_.engine().arrivals().events().see(service, daemon_.now());
  event.ages.insert(event.ages.begin(), Duration{0});
  facts->further.edit().event = std::move(event);
  engine::Evidence evidence;
  evidence.output = std::make_shared<const std::string>();
  evidence.facts = std::move(facts);
  const engine::Memory memory;
  const engine::Seen seen{evidence, memory, false};
  const engine::EventFields fields = event_fields(one.document);
  std::string text = fmt::format("{}: {} would take it", engine::describe_event(one.id, one.state), block.name);
  if (const std::string held = daemon_.engine().arrivals().events().held(service, daemon_.now()); !held.empty())
    text += fmt::format(", and hold it: {}", held);
  for (const engine::Rule& rule : block.rules) {
    const std::optional<bool> is_met = engine::holds(*rule->condition, seen);
    text += fmt::format("\n  {}: {}", rule->text,
                        is_met == true ? "it holds"
                        : is_met       ? "it does not hold"
                                       : "not known");
    if (is_met == true && rule->action.heal != nullptr)
      text += fmt::format(", and would heal {} with {}",
                          daemon_.engine().arrivals().events().target_of(block, *rule->action.heal, fields),
                          rule->action.heal->workflow);
  }
  for (const engine::ValueSeen& value : values)
    if (!value.value) text += fmt::format("\n  json {} has no value: {}", printable(value.filter), value.why);
  return text;
}

// ---- those that came ------------------------------------------------------------------------------------------------

EventView view_event(const engine::Occurrence& event) {
  EventView view{.event = event.number,
                 .service = event.service,
                 .id = event.key,
                 .state = event.state,
                 .sender = event.sender,
                 .remark = event.remark,
                 .first = event.first,
                 .last = event.last,
                 .count = event.count,
                 .status = event.status,
                 .answer = event.answer,
                 .stage = std::string(engine::to_string(event.stage)),
                 .outcome = event.outcome,
                 .targets = {},
                 .again = event.again,
                 .has_document = event.document != nullptr && !event.document->empty()};
  for (const engine::Standing& standing : event.standing) view.targets.push_back(standing.target);
  return view;
}

std::unique_ptr<Answer> EventDesk::list(const Request& request) const {
  const engine::Graph& graph = *daemon_.engine().graph();
  for (const std::string& name : request.names)
    if (const auto id = graph.find(name); !id || !graph.at(*id).is_event()) {
      const auto& all = daemon_.engine().arrivals().events().all();
      const auto is_its = [&](const auto& entry) { return iequals(entry.second.service, name); };
      if (std::ranges::any_of(all, is_its)) continue;  // of a check that is gone
      if (!id) return refused(unknown_service(graph, name));
      return refused({"no-check-of-events", fmt::format("{} is no check of events", printable(name)), ""});
    }
  const std::size_t most = request.limit == 0 ? engine::kShownOccurrences : request.limit;
  std::vector<const engine::Occurrence*> shown;
  const auto& all = daemon_.engine().arrivals().events().all();
  for (auto event = all.rbegin(); event != all.rend() && shown.size() < most; ++event) {
    const auto is_its = [&](const std::string& name) { return iequals(event->second.service, name); };
    if (request.names.empty() || std::ranges::any_of(request.names, is_its)) shown.push_back(&event->second);
  }
  std::string lines = header_line(request.verb, Queries(daemon_).daemon());
  for (auto event = shown.rbegin(); event != shown.rend(); ++event) lines += item_line(view_event(**event));
  return std::make_unique<ReadyLines>(lines + end_line(Done{true, ""}));
}

}  // namespace healer::control
