// SPDX-License-Identifier: MIT
#include "replay/replay.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/granting.hpp"
#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "replay/action_numbers.hpp"
#include "replay/recorded_day.hpp"
#include "replay/recorded_rules.hpp"
#include "util/overloaded.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr Duration kSetFree = seconds{2};      // after it was decided, at the latest, a deed is done
constexpr Duration kStartsApart = minutes{5};  // between a start then and now that are the same
constexpr Duration kTakes = seconds{1};        // a program that did not run then
constexpr Duration kLastEnd = minutes{1};      // after it was told to end, a program has
constexpr std::int64_t kMadeUpPid = 1;

/// What is known of a recording only at its end. By slot.
struct Hindsight {
  Slots always;  ///< composites that were never there: they are judged by their members from the beginning
  Slots never;   ///< where it is not recorded which services there were: nothing was seen of them
};

class Player final : public EffectSink {
 public:
  Player(const PlayedRules& rules, const std::vector<DayRules>& texts, recorded::Source& recording, const Span& span,
         const CivilClock& civil, Hindsight hindsight)
      : rules_(rules),
        texts_(texts),
        graph_(rules_.all),
        recording_(recording),
        day_(recording, *graph_),
        span_(span),
        civil_(civil),
        hindsight_(std::move(hindsight)) {
    const std::size_t slots = graph_->slots.size();
    latest_.resize(slots);
    ever_.resize(slots);
    unanswered_.resize(slots);
    hindsight_.always.resize(slots);
    hindsight_.never.resize(slots);
  }

  /// What another play of the same should know from its beginning; none: nothing more. Requires: it was played.
  [[nodiscard]] std::optional<Hindsight> hindsight() const {
    Hindsight known = hindsight_;
    bool is_more = false;
    for (const ServiceId id : graph_->order) {
      const std::size_t slot = id.index();
      const bool composite = graph_->at(id).has_members();
      if (ever_[slot] || composite != tells_services_ || (!composite && is_named(id))) continue;
      auto& list = composite ? known.always : known.never;
      is_more = is_more || !list[slot];
      list[slot] = true;
    }
    return is_more ? std::optional(std::move(known)) : std::nullopt;
  }

  Replay play() {
    while (const RecordedDay::Entry* next = day_.front()) {
      const recorded::Item& item = next->item;
      if (!lives_ || std::holds_alternative<recorded::Begun>(item.what)) {
        take_next();
        continue;
      }
      const std::optional<Duration> woken = own_waking();
      const std::optional<Duration> own = own_.empty() ? std::nullopt : std::optional(own_.begin()->first);
      const Duration first = std::min(woken.value_or(item.mono), own.value_or(item.mono));
      if (first >= item.mono) {
        if (item.wall >= span_.until + kSetFree) break;
        take_next();
      } else if (own && *own == first) {
        move_to(first);
        own_.extract(own_.begin()).mapped()();
      } else {
        move_to(first);
        tell(event::Wake{});
      }
    }
    return report();
  }

  void emit(Effect effect) override { effects_.push_back(std::move(effect)); }

 private:
  // ---- time --------------------------------------------------------------------------------------------------------

  [[nodiscard]] WallTime wall_of(Duration mono) const { return now_.wall + (mono - now_.mono); }

  void move_to(Duration mono) {
    const Duration to = std::max(mono, now_.mono);
    now_.wall = wall_of(to);
    now_.mono = to;
  }

  /// When the engine wants to be woken, where that is no waking that is recorded: then that tells the very instant.
  [[nodiscard]] std::optional<Duration> own_waking() {
    if (!engine_) return std::nullopt;
    const std::optional<Duration> deadline = engine_->next_deadline();
    if (!deadline || deadline == day_.next_woke()) return std::nullopt;
    return std::max(*deadline, now_.mono);
  }

  /// Does something later in this life.
  void plan(Duration when, std::function<void()> what) {
    own_.emplace(std::max(when, now_.mono), [this, life = lives_, what = std::move(what)] {
      if (life == lives_ && engine_) what();
    });
  }

  void take_next() {
    const RecordedDay::Entry entry = day_.pop();
    if (!std::holds_alternative<recorded::Begun>(entry.item.what)) {
      now_.mono = std::max(now_.mono, entry.item.mono);
      now_.wall = entry.item.wall;
    }
    claimed_ = entry.claimed;
    if (entry.is_past) return;
    std::visit([&](const auto& what) { take(what, entry.item); }, entry.item.what);
    if (engine_ || lives_ > 0) last_ = entry.item.wall;
  }

  void tell(const Event& event) {
    if (!engine_) return;
    engine::handle(*engine_, event, now_, *this);
    while (engine_ && !effects_.empty())
      for (const Effect& effect : std::exchange(effects_, {})) {
        for (ActionRecord& action_record : action_records_of(effect))
          if (span_.holds(action_record.when)) now_done_.push_back(std::move(action_record));
        std::visit([this](const auto& known) { perform(known); }, effect);
      }
  }

  // ---- what is recorded --------------------------------------------------------------------------------------------

  // ---- which services there are -------------------------------------------------------------------------------------

  [[nodiscard]] bool is_named(ServiceId id) const {
    return id.index() < day_.named().size() && day_.named()[id.index()];
  }

  /// Whether the engine has the service now.
  [[nodiscard]] bool is_here(ServiceId id) const {
    return engine_ && id.index() < engine_->graph()->slots.size() && engine_->graph()->slots[id.index()] != nullptr;
  }
  [[nodiscard]] std::optional<ServiceId> here(recorded::Number number) {
    const std::optional<ServiceId> id = day_.service(number);
    return id && is_here(*id) ? id : std::nullopt;
  }

  void settle_services(const std::optional<std::vector<std::string>>& names) {
    tells_services_ = names.has_value();
    present_ = hindsight_.always;
    for (const ServiceId id : graph_->order)
      if (!names && !hindsight_.never[id.index()]) present_[id.index()] = true;
    if (!names) return;
    for (const std::string& name : *names) come(name);
  }

  /// The service, where the rules have it.
  std::optional<ServiceId> come(const std::string& name) {
    const std::optional<ServiceId> id = graph_->find(name);
    if (id) present_[id->index()] = ever_[id->index()] = true;
    return id;
  }

  /// The rules of this moment are taken over as a reload takes them over.
  void take_over(bool edited) {
    if (engine_) tell(event::Swap{plan_narrowed(*engine_->graph(), *loaded_now_, present_, edited)});
  }

  /// From here on the rules are those of this text; the command line of the daemon has the last word over them.
  void say(std::optional<recorded::TextNumber> number) {
    const auto& known = rules_.by_text;
    const auto& rules =
        !number || known.empty() ? rules_.asked : known[std::min<std::size_t>(*number, known.size() - 1)];
    auto graph = std::make_shared<Graph>(*rules);
    auto settings = std::make_shared<Settings>(*graph->settings);
    if (cycle_) settings->cycle = *cycle_;
    settings->shadow = settings->shadow || shadow_;
    graph->settings = std::move(settings);
    loaded_now_ = std::move(graph);
    loaded_ = number;
  }

  /// What a reload to the rules of this text edits.
  std::vector<std::string> remember_edits(std::optional<recorded::TextNumber> number) {
    if (!loaded_ || !number || *loaded_ == *number || std::max(*loaded_, *number) >= texts_.size()) return {};
    std::vector<std::string> names = edited_between(texts_[*loaded_].rules, texts_[*number].rules);
    edited_.insert(names.begin(), names.end());
    return names;
  }

  void take(const recorded::Begun& begun, const recorded::Item& item) {
    if (begun.goes_on && lives_ > 0) {
      taken_up_ = true;
      const Slots before = present_;
      settle_services(begun.services);
      const bool edited = begun.number != loaded_;
      if (edited) say(begun.number);
      if (edited || present_ != before) take_over(edited);  // a reload was not recorded
      return;
    }
    engine_.reset();
    own_.clear();
    effects_.clear();
    day_.begin_life();
    if (lives_++ == 0) {
      first_ = item.wall;
      saved_ = *begun.state;
    } else {
      if (!stopped_) note(last_, "healerd crashed: readings of its last second may be missing");
      go_on_from(*begun.state);
    }
    settle_services(begun.services);
    cycle_ = begun.cycle;
    shadow_ = begun.shadow;
    if (lives_ > 1) remember_edits(begun.number);
    say(begun.number);
    stopped_ = false;
    sick_.clear();
    doubted_.reset();
    promised_.clear();
    const Instant here{.boot = begun.made.boot, .mono = item.mono, .wall = item.wall};
    Instant made = begun.made;
    Instant start = here;
    if (begun.goes_on) {
      // Where its cycles were is where they are now.
      const Duration cycle = loaded_now_->settings->cycle_length();
      const Duration ahead = ((begun.first - loaded_now_->settings->start_delay - start.mono) % cycle + cycle) % cycle;
      start.mono += ahead;
      start.wall += ahead;
      made = start;
    }
    now_ = here;
    const auto begin = [this, made, start, version = begun.version, host = begun.host] {
      engine_ = std::make_unique<Engine>(narrowed(*loaded_now_, present_), civil_, saved_, made);
      now_ = start;
      tell(event::Started{version, host, saved_.word});
      if (doubted_) tell(*doubted_);
    };
    if (start.mono == item.mono) return begin();
    own_.emplace(start.mono, begin);
  }

  /// A new life goes on from what the old one has left; where that was as it was then, from what was found then, which
  /// is the same but for the moments that are not recorded.
  void go_on_from(const SavedState& found) {
    saved_.last_id = found.last_id;
    saved_.last_sequence = found.last_sequence;
    saved_.seen = found.seen;
    saved_.died = found.died;
    saved_.boot = found.boot;
    saved_.word = found.word;
    const std::set<std::string> differ = differing();
    for (const auto& [name, service] : found.services) {
      const auto own = saved_.services.find(name);
      const auto id = graph_->find(name);
      if (own == saved_.services.end() || !id) continue;
      const bool same_rules =
          std::ranges::equal(own->second.rules, service.rules, {}, &SavedRule::key, &SavedRule::key);
      if (same_rules && !differ.contains(to_lower(name))) own->second = service;
    }
  }

  /// The services, in lower case, of which what they do now is not what they did then.
  [[nodiscard]] std::set<std::string> differing() const {
    std::set<std::string> names;
    for (const ReplayLine& line : compare_actions(then_done_, now_done_))
      if (line.who != ReplayLine::Who::Both) names.insert(to_lower(line.action_record.service));
    return names;
  }

  void take(const recorded::Ran& ran, const recorded::Item&) {
    const std::optional<ServiceId> id = day_.service(ran.service);
    if (!id) return;
    const std::shared_ptr<const Evidence> seen = ran.seen ? asked(ran, *id) : nullptr;
    if (seen) latest_[id->index()] = {.seen = seen, .took = now_.mono - ran.begun};
    if (!is_here(*id)) return;
    if (seen && !claimed_ && graph_->at(*id).is_listed())  // nobody need have asked for it
      return tell(event::RowsRead{.began = ran.begun, .rows = {{*id, seen}}});
    const Rare<Flight>& flight = engine_->service(*id).flight;
    // One that nobody has claimed answers a run that nothing else answers.
    const bool waits =
        flight && !promised_.contains(flight->run) && (graph_->at(*id).is_measured() || graph_->at(*id).is_event());
    const std::optional<RunId> run = claimed_ ? claimed_ : waits ? std::optional(flight->run) : std::nullopt;
    if (!run) return;
    if (seen) return answer(*id, *run, *seen);
    // It was cancelled then; here it may go on, as the run that was begun in its stead.
    promised_.erase(*run);
    if (flight && flight->run == *run) promise(*id, *run);
  }

  /// What was seen, as the rules ask for it.
  std::shared_ptr<const Evidence> asked(const recorded::Ran& ran, ServiceId id) {
    const recorded::Service& then = recording_.service(ran.service);
    if (asked_.size() <= ran.service) asked_.resize(ran.service + 1);
    const ServiceBlock& block = is_here(id) ? engine_->graph()->at(id) : graph_->at(id);
    Asked& now = asked_[ran.service];
    if (now.by != &block) {
      now = {&block, recorded::service_of(block)};
      if (recorded::asks_more(then, now.what)) unasked_.insert(block.name);
    }
    return recorded::as_asked(ran.seen, then, now.what);
  }

  void answer(ServiceId id, RunId run, const Evidence& seen) {
    promised_.erase(run);
    if (span_.holds(now_.wall)) ++result_.runs;
    tell(event::measured(id, run, seen));
  }

  void take(const recorded::Woke&, const recorded::Item&) { tell(event::Wake{}); }
  void take(const recorded::Heard& heard, const recorded::Item&) {
    if (const auto id = here(heard.service)) tell(event::arrived(*id, heard.state, heard.status, heard.text));
  }
  void take(const recorded::Told& told, const recorded::Item&) {
    if (const auto id = here(told.service)) tell(recorded::as_event(told, *id));
  }
  void take(const recorded::Died& died, const recorded::Item&) {
    if (const auto id = here(died.service)) tell(event::ProcessDied{*id, died.pid, died.start_ticks, died.end});
  }
  void take(const recorded::Launched&, const recorded::Item&) { numbers_.note_launch(); }  // claimed when it is started

  template <typename ActionEvent>
  void tell_action(ActionEvent reported) {
    const auto now = numbers_.now_of(reported.action);
    const bool is_known = now && (*now != reported.action || (engine_ && engine_->programs().find(*now) != nullptr));
    if (!is_known) return;
    reported.action = *now;
    tell(reported);
  }
  void take(const event::ActionStarted& reported, const recorded::Item&) { tell_action(reported); }
  void take(const event::ActionReady& reported, const recorded::Item&) { tell_action(reported); }
  void take(const event::ActionEnded& reported, const recorded::Item&) { tell_action(reported); }
  void take(event::Answered reported, const recorded::Item&) {
    const auto now = numbers_.now_of(reported.request);
    if (!now) return;
    reported.request = *now;
    tell(reported);
  }
  void take(const event::NotSignalled& reported, const recorded::Item&) { tell(reported); }
  void take(const event::ListsDoubted& reported, const recorded::Item&) {
    const bool known = std::exchange(taken_up_, false) && doubted_ && doubted_->names == reported.names &&
                       doubted_->missing == reported.missing;
    doubted_ = reported;  // for an engine that is yet to begin
    if (!known) tell(reported);
  }
  void take(const recorded::Ordered& ordered, const recorded::Item&) {
    event::Command command = ordered.command;
    command.id = CommandId{++commands_};
    for (const recorded::Number number : ordered.services)
      if (const auto id = here(number)) command.services.push_back(*id);
    if (command.services.empty() && !ordered.services.empty()) return;
    tell(command);
  }
  void take(const recorded::Sick& sick, const recorded::Item&) {
    sick_ = sick.why;
    acknowledge();
  }

  void take(const recorded::Reloaded& reloaded, const recorded::Item& item) {
    std::vector<std::string> added;
    const std::vector<std::string> edited = remember_edits(reloaded.number);
    if (reloaded.edited && !reloaded.number) unknown_edit_ = item.wall;
    if (reloaded.number != loaded_) say(reloaded.number);
    if (reloaded.services) {
      for (const std::string& name : reloaded.services->gone)
        if (const auto id = graph_->find(name)) present_[id->index()] = hindsight_.always[id->index()];
      for (const std::string& name : reloaded.services->come)
        if (const auto id = come(name)) added.push_back(graph_->at(*id).name);
      take_over(reloaded.edited);
    }
    std::string text = "the rules were reloaded";
    if (!added.empty()) text += fmt::format(", with what was not there before: {}", some_of(added));
    if (!edited.empty()) text += fmt::format("{} edited: {}", added.empty() ? "," : ";", some_of(edited));
    if (reloaded.edited && !reloaded.number)
      text += "; the earlier rules are not recorded, and everything before the reload is marked";
    note(item.wall, std::move(text));
  }

  void take(const event::Stopping& reported, const recorded::Item&) {
    stopped_ = true;
    tell(reported);
  }
  void take(const recorded::Gap& gap, const recorded::Item& item) {
    note(item.wall, fmt::format("a gap in the recording: {}", gap.why));
  }
  void take(const ActionRecord& action_record, const recorded::Item&) {
    if (span_.holds(action_record.when) && lives_ > 0) then_done_.push_back(action_record);
  }

  void note(WallTime when, std::string text) {
    if (span_.holds(when)) result_.notes.push_back({when, std::move(text)});
  }

  // ---- what the engine asks ----------------------------------------------------------------------------------------

  /// Sees to it that a run is answered: with what was seen then, or else last.
  void promise(ServiceId id, RunId run) {
    const Duration begun = now_.mono;
    const Duration period = engine_->period(id).value_or(loaded_now_->settings->cycle_length());
    if (day_.claim_run(id, begun, period / 2, run)) {
      promised_.insert(run);
      return;
    }
    // Near the end of the recording nobody knows how it would have ended; and before its first run, what is to be seen.
    const auto& latest = latest_[id.index()];
    if (!latest.seen) unanswered_[id.index()] = true;
    if (!latest.seen || !day_.more_runs(id, begun)) return;
    promised_.insert(run);
    plan(now_.mono + std::max(latest.took, Duration{1}), [this, id, run] {
      const Rare<Flight>& flight = engine_->service(id).flight;
      if (flight && flight->run == run) answer(id, run, *latest_[id.index()].seen);
    });
  }

  void perform(const effect::Measure& measure) { promise(measure.service, measure.run); }
  void perform(const effect::CancelRun& cancel) { promised_.erase(cancel.run); }

  void perform(const effect::Exec& exec) {
    numbers_.begin(exec.action);
    // One that stays in the foreground has no end to be given.
    const Duration near = exec.foreground ? kStartsApart : kSetFree;
    const auto then = day_.claim_launch(recorded::what_of(exec), exec.action, now_.mono, near, kStartsApart);
    if (then && !then->end) return numbers_.match(then->action, exec.action);
    const auto* const end = then && !exec.foreground ? std::get_if<event::ActionEnded>(&then->end->what) : nullptr;
    plan(now_.mono, [this, action = exec.action, foreground = exec.foreground] {
      tell(event::ActionStarted{action, kMadeUpPid, 0});
      if (foreground) tell(event::ActionReady{action});
    });
    if (end) {  // it takes as long as then, and ends so
      event::ActionEnded ended = *end;
      ended.action = exec.action;
      plan(now_.mono + then->end->after, [this, ended] { tell(ended); });
    } else if (!exec.foreground)
      plan(now_.mono + kTakes, [this, action = exec.action] {
        event::ActionEnded ended{.action = action, .elapsed = kTakes, .output = {}};
        ended.saved.assign(engine_->healing().savings_of(action, now_).size(), std::string());
        tell(ended);
      });
  }

  void perform(const effect::Request& request) {
    numbers_.begin(request.request);
    if (const auto then =
            day_.claim_launch(recorded::what_of(request), request.request, now_.mono, kSetFree, kStartsApart)) {
      auto* const end = then->end ? std::get_if<event::Answered>(&then->end->what) : nullptr;
      if (!end) return numbers_.match(then->action, request.request);
      event::Answered reported = *end;
      reported.request = request.request;
      return plan(now_.mono + then->end->after, [this, reported] { tell(reported); });
    }
    event::Answered answer{.request = request.request, .status = request.expected, .elapsed = kTakes};
    answer.values.resize(request.wanted.size() + request.failing.size());
    answer.saved.assign(request.saves.size(), std::string());
    // Whether secrets could be read was asked by no earlier version.
    plan(now_.mono + (request.secrets.empty() ? kTakes : Duration{0}), [this, answer] { tell(answer); });
  }

  void perform(const effect::EndAction& end) {
    plan(now_.mono + kLastEnd, [this, action = end.action] {
      if (engine_->programs().all().contains(action.number()))
        tell(event::ActionEnded{
            .action = action, .outcome = Outcome::Signalled, .status = SIGTERM, .elapsed = kLastEnd, .output = {}});
    });
  }

  /// What is done to processes and told to people is not done again.
  template <typename Effect>
  requires(kIsOneOf<Effect, effect::EndRequest, effect::Claim, effect::Signal, effect::Adopt, effect::Watch,
                    effect::Note, effect::Reply>) void perform(const Effect&) {}
  void perform(const effect::Alert& alert) { tell(event::AlertTaken{alert.alert}); }

  void perform(const effect::Commit& commit) {
    keep(saved_, commit);
    submitted_ = commit.sequence;
    acknowledge();
  }

  /// All is on disk at once: when it was then is not recorded, and decides nothing.
  void acknowledge() { tell(event::Committed{.up_to = submitted_, .unjournalled = !sick_.empty(), .reason = sick_}); }

  Replay report() {
    Slots left_out(graph_->slots.size());
    for (const ServiceId id : graph_->order) {
      if (graph_->at(id).has_members() || is_named(id)) continue;
      // One that was there, and of which nothing was wanted then or now, is as it was.
      left_out[id.index()] = !ever_[id.index()] || unanswered_[id.index()];
      if (left_out[id.index()])
        result_.unseen.push_back(graph_->at(id).name);
      else if (is_here(id) && !engine_->service(id).monitored)
        result_.unmonitored.push_back(graph_->at(id).name);
    }
    const Touched touched = touched_by(*graph_, left_out);
    result_.unknown = day_.unknown();
    result_.unasked.assign(unasked_.begin(), unasked_.end());
    result_.from = std::max(span_.since, first_);
    result_.to = std::max(result_.from, std::min(span_.until, last_));
    result_.edited.assign(edited_.begin(), edited_.end());
    Doubts doubts{.wholly = touched.wholly, .healing = touched.healing, .before = unknown_edit_};
    for (const std::string& name : result_.unasked) doubts.wholly.insert(to_lower(name));
    result_.lines = compare_actions(std::move(then_done_), std::move(now_done_), doubts);
    // What was decided in the last moments of a recording that goes on was not done yet.
    std::erase_if(result_.lines, [&](const ReplayLine& line) {
      return !stopped_ && line.who == ReplayLine::Who::Now && line.action_record.when > last_ - kSetFree;
    });
    return std::move(result_);
  }

  struct Latest {
    std::shared_ptr<const Evidence> seen;  // null: nothing yet
    Duration took{0};
  };

  struct Asked {
    const ServiceBlock* by = nullptr;
    recorded::Service what{};
  };

  const PlayedRules& rules_;
  const std::vector<DayRules>& texts_;          // of that time
  const std::shared_ptr<const Graph> graph_;    // all services that there are at any time
  std::shared_ptr<const Graph> loaded_now_;     // the rules of this moment, in the slots of graph_
  std::optional<recorded::TextNumber> loaded_;  // their text
  std::optional<Duration> cycle_;               // of the daemon's command line
  bool shadow_ = false;                         // the same
  std::optional<event::ListsDoubted> doubted_;  // told last in this life
  bool taken_up_ = false;                       // a chunk has begun: what is doubted is told again
  std::set<std::string> edited_;
  WallTime unknown_edit_{};  // the last edit of which nobody knows what it has edited
  recorded::Source& recording_;
  RecordedDay day_;
  const Span span_;
  const CivilClock& civil_;
  Hindsight hindsight_;
  bool tells_services_ = false;  // the recording says which services there are
  Slots present_;                // by slot: that there are now
  Slots ever_;                   // that there were at any time, as far as it says
  Slots unanswered_;             // whose run has begun before anything was seen of them
  SavedState saved_;
  std::unique_ptr<Engine> engine_;  // null: healer is away
  Instant now_;
  WallTime first_{};
  WallTime last_{};
  std::uint64_t lives_ = 0;
  std::uint64_t commands_ = 0;
  Sequence submitted_ = 0;
  std::string sick_;
  bool stopped_ = false;
  std::optional<RunId> claimed_;                        // of the item that is taken
  std::multimap<Duration, std::function<void()>> own_;  // what is no item
  std::vector<Latest> latest_;                          // by slot
  std::set<RunId> promised_;                            // runs whose answer is known
  ActionNumbers numbers_;                               // of what was started then, and is now
  std::vector<Asked> asked_;                            // by number: what the rules ask for now
  std::set<std::string> unasked_;
  std::vector<Effect> effects_;
  std::vector<ActionRecord> then_done_;
  std::vector<ActionRecord> now_done_;
  Replay result_;
};

}  // namespace

Replay replay(const RuleSet& rules, recorded::Source& recording, const Span& span, const CivilClock& civil,
              std::vector<DayRules> day, bool throughout) {
  // What comes after the span is not what its day ended with.
  std::erase_if(day, [&](const DayRules& one) { return one.since >= span.until; });
  const PlayedRules played = played_rules(rules, day, throughout);
  Hindsight known;
  for (;;) {
    Player player(played, day, recording, span, civil, known);
    Replay done = player.play();
    std::optional<Hindsight> more = player.hindsight();
    if (!more) return done;
    known = std::move(*more);
    recording.rewind();
  }
}

}  // namespace healer::engine
