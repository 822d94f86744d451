// SPDX-License-Identifier: MIT
#include "control/commands.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/events/event_desk.hpp"
#include "control/permissions.hpp"
#include "control/queries.hpp"
#include "control/readers/history_reader.hpp"
#include "control/readers/output_reader.hpp"
#include "control/readers/record_tail.hpp"
#include "control/selection.hpp"
#include "control/socket/healing_answers.hpp"
#include "control/socket/history_answer.hpp"
#include "control/socket/job_answers.hpp"
#include "control/views.hpp"
#include "engine/judging/rows.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

using engine::Graph;
using engine::ServiceId;

/// Followers hold a place at the server for as long as they like: they may not take all of them.
constexpr std::size_t kMaxFollowers = 1'500;
/// Of programs, whose files are looked at again and again.
constexpr std::size_t kMaxOfPrograms = 64;

engine::event::Command::Kind kind_of(Verb verb) {
  using Kind = engine::event::Command::Kind;
  switch (verb) {
    case Verb::Monitor: return Kind::Monitor;
    case Verb::Unmonitor: return Kind::Unmonitor;
    case Verb::Accept: return Kind::Accept;
    case Verb::Start: return Kind::Start;
    case Verb::Stop: return Kind::Stop;
    case Verb::Restart: return Kind::Restart;
    case Verb::Pause: return Kind::Pause;
    case Verb::Resume: return Kind::Resume;
    case Verb::Cancel: return Kind::Cancel;
    case Verb::Heal: return Kind::Heal;
    case Verb::Approve: return Kind::Approve;
    case Verb::Reject: return Kind::Reject;
    case Verb::HealingReset: return Kind::ResetHealing;
    case Verb::Ack: return Kind::Acknowledge;
    default: return Kind::Validate;
  }
}

/// The number that `text` is, as a whole; 0: it is none.
std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && rest == text.data() + text.size() ? number : 0;
}

/// A text that is ready.
class ReadyAnswer : public Answer {
 public:
  explicit ReadyAnswer(std::string text) : text_(std::move(text)) {}
  Next pull(std::string& out, std::size_t) override {
    out += text_;
    return Next::Done;
  }

 private:
  std::string text_;
};

std::unique_ptr<Answer> refuse(const Failure& failure) { return std::make_unique<ReadyAnswer>(error_line(failure)); }

/// `status`, `summary`, `report` and `names`: services page by page, each as it is when its page is asked for.
class ServicesAnswer : public Answer {
 public:
  ServicesAnswer(const Supervisor& daemon, const Request& request, std::vector<ServiceId> services)
      : daemon_(daemon),
        queries_(daemon),
        verb_(request.verb),
        only_failed_(request.failed),
        services_(std::move(services)) {}

  Next pull(std::string& out, std::size_t budget) override {
    if (!begun_) out += answer_header(daemon_, verb_);
    begun_ = true;
    // Services that are not shown cost time too.
    std::size_t left = std::clamp(budget / 100, std::size_t{1}, kServicesPerTurn);
    std::vector<ServiceId> whole;  // of which everything is told
    const auto room = [&] { return out.size() + whole.size() * kStatusBytes < budget; };
    for (; next_ < services_.size() && room() && left > 0; ++next_, --left) {
      const ServiceId id = services_[next_];
      if (!queries_.exists(id)) continue;  // a reload took it away meanwhile
      const std::string_view state = queries_.state(id);
      totals_.add(state);
      if (only_failed_ && !is_down(state)) continue;
      if (verb_ == Verb::Status) whole.push_back(id);
      if (verb_ == Verb::Summary) out += item_line(queries_.summary(id));
      if (verb_ == Verb::Names) out += item_line(queries_.name(id));
    }
    for (const ServiceStatus& status : queries_.statuses(whole)) out += item_line(status);
    if (next_ < services_.size()) return Next::More;
    out += end_line(totals_);
    return Next::Done;
  }

 private:
  static constexpr std::size_t kServicesPerTurn = 500;
  static constexpr std::size_t kStatusBytes = 1'000;  // or more

  const Supervisor& daemon_;
  Queries queries_;
  Verb verb_;
  bool only_failed_;
  std::vector<ServiceId> services_;
  std::size_t next_ = 0;
  Totals totals_;
  bool begun_ = false;
};

/// `explain`: services one by one, each with the last firings of its rules from the history.
class ExplainAnswer : public Answer {
 public:
  ExplainAnswer(const Supervisor& daemon, HistoryReader& reader, std::vector<ServiceId> services, Wake wake)
      : daemon_(daemon), queries_(daemon), reader_(reader), services_(std::move(services)), wake_(std::move(wake)) {}

  Next pull(std::string& out, std::size_t budget) override {
    if (!begun_) out += answer_header(daemon_, Verb::Explain);
    begun_ = true;
    while (next_ < services_.size()) {
      if (out.size() >= budget) return Next::More;
      const ServiceId id = services_[next_];
      if (!queries_.exists(id)) {
        query_.reset();
        ++next_;
        continue;
      }
      if (!query_) {
        query_ = reader_.ask(queries_.firings(id), wake_);
        return Next::Waiting;
      }
      const auto page = query_->take();
      if (!page) return Next::Waiting;
      query_.reset();
      ++next_;
      ServiceExplanation view = queries_.explanation(
          id, *page ? std::span<const engine::Record>((*page)->records) : std::span<const engine::Record>());
      if (!*page) view.notes.push_back(fmt::format("The history cannot be read: {}.", page->error().what));
      out += item_line(view);
    }
    out += end_line(Done{true, ""});
    return Next::Done;
  }

 private:
  const Supervisor& daemon_;
  Queries queries_;
  HistoryReader& reader_;
  std::vector<ServiceId> services_;
  Wake wake_;
  std::size_t next_ = 0;
  std::shared_ptr<HistoryReader::Query> query_;
  bool begun_ = false;
};

/// What a command that acts waits for.
struct Pending {
  Wake wake;
  std::variant<std::monostate, Done, Failure> outcome;
  bool lasts = false;    ///< what is done is to outlive healerd
  bool is_beat = false;  ///< it is not done unless it does
};

class PendingAnswer : public Answer {
 public:
  PendingAnswer(std::string header, std::shared_ptr<Pending> pending)
      : header_(std::move(header)), pending_(std::move(pending)) {}
  Next pull(std::string& out, std::size_t) override {
    out += std::exchange(header_, {});
    if (const auto* done = std::get_if<Done>(&pending_->outcome)) {
      out += end_line(*done);
    } else if (const auto* failure = std::get_if<Failure>(&pending_->outcome)) {
      out += error_line(*failure);
    } else {
      return Next::Waiting;
    }
    return Next::Done;
  }

 private:
  std::string header_;
  std::shared_ptr<Pending> pending_;
};

}  // namespace

struct Commands::Impl {
  Impl(Supervisor& supervisor, TailBounds bounds)
      : daemon(supervisor),
        reader(daemon.store()),
        tail(bounds),
        events(daemon, [this] { return engine::CommandId{next_command++}; }) {}

  [[nodiscard]] std::string header(Verb verb) const { return answer_header(daemon, verb); }
  using Followers = std::vector<std::weak_ptr<Follower>>;
  /// Another of these; null where there are too many.
  [[nodiscard]] std::shared_ptr<Follower> add_follower(Followers& all, std::size_t most, const Wake& wake) const;
  std::unique_ptr<Answer> output_of(const Request& request, Wake wake);
  std::unique_ptr<Answer> history(const Request& request, Wake wake);
  std::unique_ptr<Answer> follow(const Request& request, Wake wake);
  [[nodiscard]] std::optional<Failure> cannot_cancel(std::uint64_t id) const;
  std::unique_ptr<Answer> submit(const Request& request, const Peer& peer, std::vector<ServiceId> services, Wake wake);
  std::unique_ptr<Answer> beat(const Request& request, const Peer& peer, Wake wake);
  std::unique_ptr<Answer> load(const Request& request, Wake wake);
  std::unique_ptr<Answer> open(const Peer& peer);
  std::unique_ptr<Answer> quit(Wake wake);
  [[nodiscard]] bool names_list(const Request& request) const;
  std::unique_ptr<Answer> accept_list(const Request& request, const Peer& peer);
  std::unique_ptr<Answer> forget(const Request& request, const Peer& peer);

  Supervisor& daemon;
  HistoryReader reader;
  OutputReader output;
  std::uint64_t next_command = 1;
  std::map<std::uint64_t, std::weak_ptr<Pending>> pending;  // by CommandId
  RecordTail tail;
  EventDesk events;
  Followers of_history, of_programs;
  bool ending = false;
};

Failure too_many_followers(std::size_t most) {
  return {"busy", fmt::format("{} clients follow the history or a program already", most), "end one of them"};
}

Failure nothing_under_way(std::uint64_t id) {
  return {"unknown-job", fmt::format("nothing with the number {} is under way", id), "`healerctl jobs` lists them"};
}

std::shared_ptr<Follower> Commands::Impl::add_follower(Followers& all, std::size_t most, const Wake& wake) const {
  if (all.size() >= most) std::erase_if(all, [](const auto& one) { return one.expired(); });
  if (all.size() >= most) return nullptr;
  auto follower = std::make_shared<Follower>(Follower{.wake = wake, .last = ending});
  all.push_back(follower);
  return follower;
}

std::unique_ptr<Answer> Commands::Impl::follow(const Request& request, Wake wake) {
  if (!view_job(daemon.engine(), request.id, daemon.now())) return refuse(nothing_under_way(request.id));
  auto follower = add_follower(of_programs, kMaxOfPrograms, wake);
  if (!follower) return refuse(too_many_followers(kMaxOfPrograms));
  return answer_follow(daemon, output, request.id, std::move(follower), std::move(wake));
}

std::unique_ptr<Answer> Commands::Impl::output_of(const Request& request, Wake wake) {
  if (request.names.size() > 1 || !request.groups.empty() || request.names.empty() == (request.id == 0))
    return refuse({"bad-request", "the output is that of one service, or of one number", ""});
  std::string service;
  std::uint64_t id = request.id;
  if (!request.names.empty()) {
    const Graph& graph = *daemon.engine().graph();
    const std::string& name = request.names.front();
    if (const auto found = graph.find(name))
      service = graph.at(*found).name;
    else if ((id = number_in(name)) == 0)
      return refuse(unknown_service(graph, name));
  }
  if (request.follow && id != 0 && view_job(daemon.engine(), id, daemon.now()))
    return follow({.verb = Verb::Follow, .id = id}, std::move(wake));
  std::shared_ptr<Follower> follower;
  if (request.follow && !(follower = add_follower(of_programs, kMaxOfPrograms, wake)))
    return refuse(too_many_followers(kMaxOfPrograms));
  return answer_output(daemon, output, reader, std::move(service), id, std::move(follower), std::move(wake));
}

std::optional<Failure> Commands::Impl::cannot_cancel(std::uint64_t id) const {
  const auto& healings = daemon.engine().healings().all();
  if (daemon.engine().jobs().contains(id) || healings.contains(engine::HealingId{id})) return std::nullopt;
  const auto found = daemon.engine().programs().all().find(id);
  if (found == daemon.engine().programs().all().end()) {
    if (view_job(daemon.engine(), id, daemon.now())) return std::nullopt;  // a firing that waits for its turn
    return nothing_under_way(id);
  }
  const engine::effect::Exec& exec = found->second.exec;
  const std::string_view service = exec.cause->service;
  if (const std::uint64_t job = exec.job.number(); daemon.engine().jobs().contains(job))
    return Failure{"no-job", fmt::format("{} is a program of job {}", id, job),
                   fmt::format("`healerctl jobs cancel {}` ends both", job)};
  if (exec.foreground)
    return Failure{"no-job", fmt::format("{} is the process of {} itself", id, printable(service)),
                   "`healerctl stop` ends it"};
  if (exec.healing != engine::HealingId{} && !healings.contains(exec.healing))
    return Failure{"no-job", fmt::format("{} is a program of a healing that has ended", id),
                   "end its process, if it must end"};
  if (exec.job != engine::JobId{})
    return Failure{"no-job",
                   fmt::format("{} has started or stopped {}, and that job has ended", id, printable(service)),
                   "end its process, if it must end"};
  return std::nullopt;
}

std::unique_ptr<Answer> Commands::Impl::history(const Request& request, Wake wake) {
  if (request.names.size() + request.groups.size() > 1)
    return refuse({"bad-request", "the history is that of one service, of one group, or of all", ""});
  const Selection of_groups = select(*daemon.engine().graph(), {.groups = request.groups});
  if (const auto* const failure = std::get_if<Failure>(&of_groups)) return refuse(*failure);
  const std::vector<std::string>& named = request.groups.empty() ? request.names : request.groups;
  const bool goes_on = request.after.has_value();
  store::HistoryQuery query = Queries(daemon).history({.name = named.empty() ? std::string{} : named.front(),
                                                       .is_group = !request.groups.empty(),
                                                       .since = request.since,
                                                       .after = request.after.value_or(0),
                                                       .oldest_first = goes_on,
                                                       .limit = request.limit});
  // All of it, in pages.
  if (goes_on && (request.limit == 0 || request.follow)) query.limit = std::numeric_limits<std::uint32_t>::max();
  std::shared_ptr<Follower> follower;
  if (request.follow) {
    follower = add_follower(of_history, kMaxFollowers, wake);
    if (!follower) return refuse(too_many_followers(kMaxFollowers));
  }
  return answer_history(daemon, reader, tail, std::move(query), std::move(follower), std::move(wake));
}

std::unique_ptr<Answer> Commands::Impl::submit(const Request& request, const Peer& peer,
                                               std::vector<ServiceId> services, Wake wake) {
  auto waiting = std::make_shared<Pending>(
      Pending{.wake = std::move(wake), .outcome = {}, .lasts = request.verb != Verb::Validate});
  const std::uint64_t id = next_command++;
  pending.emplace(id, waiting);
  auto answer = std::make_unique<PendingAnswer>(header(request.verb), waiting);
  engine::event::Command command{
      .id = engine::CommandId{id},
      .kind = kind_of(request.verb),
      .services = std::move(services),
      .by = engine::ByPerson{.name = peer.name(), .role = peer.who.role.value_or(engine::Role::ReadOnly)},
      .reason = request.reason,
      .job = engine::JobId{request.id},
      .workflow = request.workflow,
      .plan = request.plan,
      .overrides = overrides_of(request),
      .everything = request.all,
      .groups = request.groups};
  if (request.span) command.until = daemon.now().wall + std::clamp(*request.span, Duration{0}, kLongestAsked);
  daemon.submit(std::move(command));
  return answer;
}

namespace {

/// What is wrong with a beat as it was sent.
std::optional<Failure> wrong_beat(const Request& request, const BeatSent& sent) {
  constexpr std::int64_t kMostStatus = 255;
  const engine::BeatWord word = engine::beat_word_of(sent.word);
  if (request.names.size() != 1 || !request.groups.empty())
    return Failure{"bad-request", "beat which heartbeat?", "name one"};
  if (word == engine::BeatWord::None)
    return Failure{"bad-request", fmt::format("a beat is good, start, fail or exit, not \"{}\"", printable(sent.word)),
                   ""};
  if (sent.status < 0 || sent.status > kMostStatus)
    return Failure{"bad-request", fmt::format("an exit status is between 0 and {}", kMostStatus), ""};
  if (sent.text.size() > kMaxBeatText)
    return Failure{"bad-request", fmt::format("the text of a beat has at most {} bytes", kMaxBeatText), ""};
  return std::nullopt;
}

}  // namespace

/// Of an operator, or of whoever gives the token: who does not is not told either which heartbeats there are.
std::unique_ptr<Answer> Commands::Impl::beat(const Request& request, const Peer& peer, Wake wake) {
  const BeatSent sent = request.beat.value_or(BeatSent{});
  if (const auto wrong = wrong_beat(request, sent)) return refuse(*wrong);
  const std::string& name = request.names.front();
  const bool is_known = is_at_least(peer.who, least_for(Verb::Beat));
  const auto heartbeat_of = [this](const std::string& its) -> std::optional<ServiceId> {
    const Graph& graph = *daemon.engine().graph();
    const std::optional<ServiceId> id = graph.find(its);
    return id && graph.at(*id).is_heartbeat() ? id : std::nullopt;
  };
  const std::optional<ServiceId> heartbeat = heartbeat_of(name);
  if (is_known && !heartbeat) {
    const Graph& graph = *daemon.engine().graph();
    if (!graph.find(name)) return refuse(unknown_service(graph, name));
    return refuse({"no-heartbeat", fmt::format("{} is not a heartbeat", printable(name)),
                   "a heartbeat is written: check heartbeat NAME every 1 day within 30 minutes"});
  }
  auto waiting =
      std::make_shared<Pending>(Pending{.wake = std::move(wake), .outcome = {}, .lasts = true, .is_beat = true});
  const auto submit = [this, sent](ServiceId to, const std::shared_ptr<Pending>& asked) {
    const std::uint64_t id = next_command++;
    pending.emplace(id, asked);
    daemon.submit(engine::event::arrived(to, sent.word, sent.status, sent.text, engine::CommandId{id}));
  };
  if (is_known) {
    submit(*heartbeat, waiting);
  } else {
    const std::string token = heartbeat ? daemon.engine().graph()->at(*heartbeat).other->heartbeat.token : "";
    const auto done = [=, asked = std::weak_ptr(waiting)](bool is_right) {
      const auto still = asked.lock();
      if (!still) return;
      const std::optional<ServiceId> to = is_right ? heartbeat_of(name) : std::nullopt;
      if (to) return submit(*to, still);
      still->outcome = Failure{"denied", fmt::format("this is not the token of a heartbeat named {}", printable(name)),
                               "HEALER_TOKEN must be the text after 'token' in its rules"};
      still->wake();
    };
    daemon.check_token(token, sent.token, done);
  }
  // As short as for strangers: it is sent thousands of times a second.
  return std::make_unique<PendingAnswer>(header_line(request.verb, Queries(daemon).daemon_for_strangers()),
                                         std::move(waiting));
}

/// `reload` and `diff`.
std::unique_ptr<Answer> Commands::Impl::load(const Request& request, Wake wake) {
  const bool reloads = request.verb == Verb::Reload;
  auto waiting = std::make_shared<Pending>(Pending{.wake = std::move(wake), .outcome = {}});
  auto answer = std::make_unique<PendingAnswer>(header(request.verb), waiting);
  const auto done = [known = std::weak_ptr(waiting), reloads](ReloadOutcome outcome) {
    const auto asked = known.lock();
    if (!asked) return;  // its client has gone
    if (outcome.ok)
      asked->outcome = Done{.ok = true,
                            .text = std::move(outcome.text),
                            .diagnostics = std::move(outcome.diagnostics),
                            .changes = std::move(outcome.changes)};
    else
      asked->outcome = Failure{
          .code = "reload-failed",
          .message = std::move(outcome.text),
          .remedy = reloads ? "still using the previous rules" : "a reload would change nothing: it would be refused",
          .diagnostics = std::move(outcome.diagnostics)};
    asked->wake();
  };
  if (reloads)
    daemon.reload(request.confirmed, done);
  else
    daemon.diff(done);
  return answer;
}

/// `accept list NODE`, unless there is a service of the name `list`.
bool Commands::Impl::names_list(const Request& request) const {
  return request.names.size() == 2 && request.groups.empty() && iequals(request.names.front(), "list") &&
         !daemon.engine().graph()->find(request.names.front());
}

std::unique_ptr<Answer> Commands::Impl::accept_list(const Request& request, const Peer& peer) {
  if (const auto wrong = daemon.accept_list(request.names.back(), peer.name()))
    return refuse({"unknown-list", *wrong, "`healerctl lists` shows them"});
  return std::make_unique<ReadyAnswer>(
      header(request.verb) +
      end_line(Done{true, fmt::format("the list {} is accepted", printable(request.names.back()))}));
}

std::unique_ptr<Answer> Commands::Impl::forget(const Request& request, const Peer& peer) {
  if (request.names.size() != 1)
    return refuse({"bad-request", "forget which row?", "name one that is missing from its list"});
  const std::string& row = request.names.front();
  if (const engine::KeptRow kept = engine::why_row_is_kept(daemon.engine(), row); !kept.why.empty())
    return refuse({"being-healed", printable(kept.why), kept.remedy});
  std::string text = fmt::format("{} is forgotten", printable(row));
  for (const engine::Healing* const healing : engine::healings_of_row(daemon.engine(), row))
    text += fmt::format("\nhealing {} of {} with {} is dropped: it had not begun", healing->id.number(),
                        printable(healing->target), healing->plan->name);
  if (!daemon.forget_row(row, peer.name()))
    return refuse({"unknown-row", fmt::format("no list has a row \"{}\" that is being removed", printable(row)),
                   "`healerctl lists` shows which are missing"});
  return std::make_unique<ReadyAnswer>(header(request.verb) + end_line(Done{true, std::move(text)}));
}

std::unique_ptr<Answer> Commands::Impl::open(const Peer& peer) {
  const auto opened = daemon.open_login(peer.who);
  if (const auto* const failure = std::get_if<Failure>(&opened)) return refuse(*failure);
  return std::make_unique<ReadyAnswer>(header(Verb::Open) + end_line(Done{true, std::get<std::string>(opened)}));
}

std::unique_ptr<Answer> Commands::Impl::quit(Wake wake) {
  std::string begun = header(Verb::Quit);
  for (const std::string& what : daemon.quit()) begun += item_line({{"text", what}});
  return std::make_unique<PendingAnswer>(std::move(begun),
                                         std::make_shared<Pending>(Pending{.wake = std::move(wake), .outcome = {}}));
}

Commands::Commands(Supervisor& daemon, TailBounds tail) : impl_(std::make_unique<Impl>(daemon, tail)) {}
Commands::~Commands() = default;

std::unique_ptr<Answer> Commands::handle(const Request& request, const Peer& peer, Wake wake) {
  const Verb verb = request.verb;
  if (const auto failure = forbidden(request, peer.who)) return refuse(*failure);
  if (request.reason.size() > kMaxReason)
    return refuse({"bad-request", fmt::format("a reason has at most {} bytes", kMaxReason), ""});
  if (verb == Verb::Ping) {
    const Queries queries(impl_->daemon);
    return std::make_unique<ReadyAnswer>(
        header_line(verb, peer.who.role ? queries.daemon() : queries.daemon_for_strangers()) +
        end_line(Done{true, impl_->daemon.version()}));
  }
  if (verb == Verb::History) return impl_->history(request, std::move(wake));
  if (verb == Verb::Reload || verb == Verb::Diff) return impl_->load(request, std::move(wake));
  if (verb == Verb::Lists)
    return std::make_unique<ReadyAnswer>(impl_->header(verb) + end_line(Done{true, impl_->daemon.lists()}));
  if (verb == Verb::Open) return impl_->open(peer);
  if (verb == Verb::Beat) return impl_->beat(request, peer, std::move(wake));
  if (verb == Verb::Event) return impl_->events.send(request, peer, std::move(wake));
  if (verb == Verb::Events) return impl_->events.list(request);
  if (verb == Verb::Forget) return impl_->forget(request, peer);
  if (verb == Verb::Accept && impl_->names_list(request)) return impl_->accept_list(request, peer);
  if (verb == Verb::Quit) return impl_->quit(std::move(wake));
  if (verb == Verb::Jobs) return answer_jobs(impl_->daemon);
  if (verb == Verb::HealingStatus || verb == Verb::HealingReport) return answer_healing(impl_->daemon, verb);
  if (verb == Verb::Follow) return impl_->follow(request, std::move(wake));
  if (verb == Verb::Output) return impl_->output_of(request, std::move(wake));
  if (verb == Verb::Cancel || verb == Verb::Approve || verb == Verb::Reject) {
    Request meant = request;
    if (const auto failure = find_healing(impl_->daemon.engine(), meant)) return refuse(*failure);
    const auto failure =
        verb == Verb::Cancel ? impl_->cannot_cancel(meant.id) : cannot_heal(impl_->daemon.engine(), meant);
    return failure ? refuse(*failure) : impl_->submit(meant, peer, {}, std::move(wake));
  }
  if (verb == Verb::Heal || verb == Verb::HealingReset) {
    if (const auto failure = cannot_heal(impl_->daemon.engine(), request)) return refuse(*failure);
    if (verb != Verb::Heal) return impl_->submit(request, peer, {}, std::move(wake));
  }

  const Graph& graph = *impl_->daemon.engine().graph();
  const bool nothing_named = !request.all && request.names.empty() && request.groups.empty();
  if (nothing_named && acts(verb))
    return refuse({"nothing-selected", fmt::format("{} which services?", to_string(verb)),
                   "name services or groups, or say \"all\""});
  std::vector<std::string> paused_groups;  // whether they have services or not
  if (verb == Verb::Resume)
    for (const engine::WidePause& wide : impl_->daemon.engine().pauses().wide(impl_->daemon.now()))
      if (!wide.group.empty()) paused_groups.push_back(wide.group);
  Selection selection = nothing_named ? Selection(graph.order) : select(graph, request, paused_groups);
  if (const auto* failure = std::get_if<Failure>(&selection)) return refuse(*failure);
  auto services = std::get<std::vector<ServiceId>>(std::move(selection));
  if (acts(verb)) return impl_->submit(request, peer, std::move(services), std::move(wake));
  if (verb == Verb::Explain)
    return std::make_unique<ExplainAnswer>(impl_->daemon, impl_->reader, std::move(services), std::move(wake));
  return std::make_unique<ServicesAnswer>(impl_->daemon, request, std::move(services));
}

void Commands::reply(const engine::effect::Reply& reply) {
  if (impl_->events.reply(reply)) return;
  const auto found = impl_->pending.extract(reply.command.number());
  if (found.empty()) return;
  const auto asked = found.mapped().lock();
  if (!asked) return;  // its client has gone
  std::string text = reply.text;
  const bool is_lost = asked->lasts && impl_->daemon.engine().releases().is_sick();
  if (is_lost) text += "; the state cannot be written: if healerd ends before it can, this is forgotten";
  asked->outcome = Done{reply.ok && !(is_lost && asked->is_beat), std::move(text)};
  asked->wake();
}

void Commands::add(std::span<const engine::Record> records) { impl_->tail.add(records); }

void Commands::recorded(engine::Sequence up_to) {
  impl_->tail.release(up_to);
  for (Impl::Followers* const all : {&impl_->of_history, &impl_->of_programs}) {
    std::erase_if(*all, [](const auto& one) { return one.expired(); });
    for (const auto& one : *all) {
      const auto follower = one.lock();
      follower->grown = true;
      follower->wake();
    }
  }
}

void Commands::end_followers(std::function<void()> done) {
  impl_->ending = true;
  const std::shared_ptr<void> ending(nullptr, [done = std::move(done)](void*) { done(); });
  for (const Impl::Followers* const all : {&impl_->of_history, &impl_->of_programs}) {
    for (const auto& one : *all) {
      const auto follower = one.lock();
      if (!follower) continue;
      follower->grown = follower->last = true;
      follower->ending = ending;
      follower->wake();
    }
  }
}

}  // namespace healer::control
