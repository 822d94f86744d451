// SPDX-License-Identifier: MIT
#include "ctl/ask.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/client.hpp"
#include "control/views.hpp"
#include "ctl/diagnostics.hpp"
#include "ctl/open.hpp"
#include "ctl/render/render.hpp"
#include "store/sqlite_store.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

using control::Client;
using control::DaemonView;
using control::Done;
using control::Failure;
using control::Json;
using control::RecordView;
using control::Request;
using control::Totals;
using control::Verb;

constexpr Duration kQuitPatience = minutes{2};
constexpr Duration kConnect = seconds{30};

std::string_view list_name(Verb verb) {
  switch (verb) {
    case Verb::History: return "records";
    case Verb::Jobs: return "jobs";
    case Verb::Events: return "events";
    case Verb::HealingStatus: return "healings";
    case Verb::HealingReport: return "workflows";
    default: return "services";
  }
}

/// Whether the answer goes on for as long as something else does: as a document it would be of no use before its end.
bool goes_on(const Request& request) {
  return request.follow || request.verb == Verb::Follow || request.verb == Verb::Output;
}

/// Prints what a reading command is answered, as it comes.
class Listing {
 public:
  Listing(const Request& request, const AskOptions& options, Output& output)
      : request_(request), options_(options), output_(output) {}

  void head(const Json& header) {
    header_ = header;
    const bool document = output_.json() && !goes_on(request_) && request_.verb != Verb::Report;
    if (document) output_.open_list(header, list_name(request_.verb));
    if (!output_.json() && request_.verb == Verb::Status && !options_.graph)
      output_.print(render_daemon(header.at("daemon").get<DaemonView>(), output_.style()));
  }

  void item(const Json& json) {
    if (output_.json()) return json_item(json);
    const control::Style style = output_.style();
    switch (request_.verb) {
      case Verb::Summary: rows_.push_back(json.get<control::ServiceSummary>()); break;
      case Verb::Status:
        if (options_.graph)
          graph_.push_back(json.get<control::ServiceStatus>());
        else
          output_.print("\n" + render_status(json.get<control::ServiceStatus>(), style));
        break;
      case Verb::Events: events_.push_back(json.get<control::EventView>()); break;
      case Verb::Jobs: jobs_.push_back(json.get<control::JobView>()); break;
      case Verb::HealingStatus: healings_.push_back(json.get<control::HealingView>()); break;
      case Verb::HealingReport: workflows_.push_back(json.get<control::WorkflowReport>()); break;
      case Verb::Names: name(json.get<control::ServiceName>()); break;
      case Verb::Follow:
      case Verb::Output: output(json.get<control::OutputView>()); break;
      case Verb::Explain:
        output_.print((std::exchange(first_, false) ? "" : "\n") +
                      render_explanation(json.get<control::ServiceExplanation>(), style, options_.all));
        break;
      default: json.contains("gap") ? gap(json.get<control::GapView>()) : record(json.get<RecordView>());
    }
    if (goes_on(request_)) output_.flush();
  }

  void end(const Json& end) {
    if (!output_.json()) print_mails();
    if (request_.verb == Verb::History && request_.follow) return followed(end.get<Done>());
    const bool counted = request_.verb == Verb::Status || request_.verb == Verb::Summary ||
                         request_.verb == Verb::Report || request_.verb == Verb::Names;
    if (counted) totals_ = end.get<Totals>();
    if (output_.json()) {
      const bool holds = request_.verb == Verb::HealingStatus;
      return json_end(counted ? Json{{"totals", end}} : holds ? end : Json::object());
    }
    const control::Style style = output_.style();
    if (request_.verb == Verb::Summary)
      output_.print(render_summary(header_.at("daemon").get<DaemonView>(), rows_, totals_, style));
    if (request_.verb == Verb::Report) output_.print(control::render_report(totals_, options_.report));
    if (request_.verb == Verb::Output) return silent(end.get<Done>());
    if (request_.verb == Verb::Follow)
      if (const auto done = end.get<Done>(); !done.text.empty())
        output_.print(fmt::format("==> {} <==\n", printable(done.text)));
    if (request_.verb == Verb::HealingStatus)
      output_.print(control::render_healings(healings_, end.get<control::HealingHolds>(), style));
    if (request_.verb == Verb::HealingReport) output_.print(control::render_healing_report(workflows_, style));
    if (request_.verb == Verb::Jobs) output_.print(control::render_jobs(jobs_, style));
    if (request_.verb == Verb::Events) output_.print(control::render_events(events_, style));
    if (request_.verb != Verb::Status) return;
    if (!options_.graph) return output_.print("\n" + render_totals(totals_, style));
    output_.print(control::render_dot(graph_));
  }

  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  void json_item(const Json& json) {
    if (!goes_on(request_)) return output_.item(json);
    output_.print(control::to_line(json) + "\n");
    output_.flush();
  }

  /// Mails that were sent one after the other are told in one line, unless each is awaited.
  void record(RecordView one) {
    const bool together = !request_.follow && !request_.after && !options_.ids;
    if (one.kind == engine::to_string(engine::RecordKind::MailSent) && together) {
      mails_.push_back(std::move(one));
      return;
    }
    print_mails();
    const bool numbered = options_.ids || request_.after;
    output_.print(render_record(one, output_.style(), numbered));
  }

  /// Records that there are no more: told beside what is.
  void gap(const control::GapView& gap) {
    print_mails();
    output_.flush();
    std::fputs(control::render_gap(gap).c_str(), stderr);
  }

  void print_mails() {
    output_.print(control::render_mails(mails_, output_.style()));
    mails_.clear();
  }

  /// The daemon has ended. A document a line needs no last word, nor does a file.
  void followed(const Done& done) {
    if (!output_.json() && output_.style().width != 0) output_.print(printable(done.text) + "\n");
  }

  void json_end(const Json& tail) {
    if (goes_on(request_)) return;
    if (request_.verb != Verb::Report) return output_.close_list(tail);
    Json document = header_;
    document.update(tail);
    output_.print(control::to_line(document) + "\n");
  }

  /// A name a line; each group once.
  void name(const control::ServiceName& service) {
    if (!options_.groups) return output_.print(printable(service.name) + "\n");
    for (const std::string& group : service.groups)
      if (groups_.insert(to_lower(group)).second) output_.print(printable(group) + "\n");
  }

  /// A program that wrote nothing: said, but not in what is taken for its output.
  static void silent(const Done& done) {
    if (!done.text.empty()) std::fputs(fmt::format("healerctl: {}\n", printable(done.text)).c_str(), stderr);
  }

  /// Of several programs each is announced: of a job all; of a service those that follow the first, which is announced
  /// to a person at a terminal only.
  void output(const control::OutputView& part) {
    const bool to_person = request_.verb == Verb::Output && output_.style().width != 0;
    const bool of_job = request_.verb == Verb::Follow && part.action != request_.id;
    if (!part.waits_for.empty()) {
      output_.print(control::render_stage(part));
      followed_ = part.action;
      return;
    }
    if (part.text.empty() && !to_person) return;  // only says that there is nothing yet
    if (!part.doing.empty() && (followed_ ? *followed_ != part.action : to_person || of_job))
      output_.print(fmt::format("==> {} <==\n", printable(part.doing)));
    followed_ = part.action;
    output_.print(control::render_output(part.text));
  }

  const Request& request_;
  const AskOptions& options_;
  Output& output_;
  Json header_;
  bool first_ = true;
  std::vector<control::ServiceSummary> rows_;
  std::vector<RecordView> mails_;
  std::vector<control::ServiceStatus> graph_;
  std::vector<control::EventView> events_;
  std::vector<control::JobView> jobs_;
  std::vector<control::HealingView> healings_;
  std::vector<control::WorkflowReport> workflows_;
  std::set<std::string> groups_;
  std::optional<std::uint64_t> followed_;
  Totals totals_;
};

int show_done(const Json& header, const Done& done, Output& output) {
  if (output.json()) {
    Json document = header;
    document.update(Json(done));
    output.print(control::to_line(document) + "\n");
  } else {
    if (!done.diagnostics.empty()) output.print(diagnostics_text(done.diagnostics, output.style().colour));
    std::string_view rest = trim(after_diagnostics(done.text, done.diagnostics.size()));
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      output.print(printable(rest.substr(0, end)) + "\n");
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return output.finish(done.ok ? kExitDone : kExitFailed);
}

/// The history that a state file holds, without a daemon.
int read_state(const std::string& path, const Request& request, const AskOptions& options, Output& output) {
  auto reader = store::open_read_only(path);
  if (!reader) return output.fail({"state", reader.error().what, ""});
  store::HistoryQuery query;
  if (!request.names.empty()) query.service = request.names.front();
  if (request.since) query.since = output.style().now - *request.since;
  query.limit = request.limit != 0 ? request.limit : request.since || request.after ? control::kMaxRecords : 100;
  query.oldest = request.after.has_value();
  query.after = request.after.value_or(0);
  auto page = (*reader)->page(query);
  if (page && page->records.empty() && iequals(query.service, "healer")) {
    query.service.clear();
    query.own = true;
    page = (*reader)->page(query);
  }
  if (!page) return output.fail({"state", fmt::format("cannot read the history: {}", page.error().what), ""});
  Listing listing(request, options, output);
  listing.head({{"version", control::kWireVersion}, {"command", "history"}});
  if (query.after != 0 && (page->missing != 0 || page->anew))
    listing.item(control::GapView{.after = query.after, .records = page->missing, .anew = page->anew});
  for (const engine::Record& record : page->records) listing.item(control::view_record(record));
  listing.end(Json::object());
  return output.finish(kExitDone);
}

int quit(Client& client, const Request& request, Duration patience, Output& output) {
  const control::Reply reply = client.call(request, [&](const Json& item) {
    if (!output.json()) output.print(fmt::format("healerd {}\n", printable(item.value("text", ""))));
  });
  if (!reply.ok()) return output.fail(*reply.failure);
  if (!client.wait_for_exit(patience))
    return output.fail({"timeout", fmt::format("healerd has not ended after {}", format_duration(patience)),
                        "it may wait for a program or a disk: see its log"});
  return show_done(reply.header, {true, "healerd has ended"}, output);
}

/// Shows the plan of the healing that is to be approved, and asks whether it is: what was shown is what is approved.
/// The request with its hash; nothing: it is not to be. Where there is none to show, healerd says why.
std::optional<Request> confirmed_plan(Door& door, Request request, Duration patience, Output& output) {
  auto connected = door.connect(patience);
  if (std::holds_alternative<Failure>(connected)) return request;
  std::vector<control::HealingView> waiting;
  (void)std::get<Client>(connected).call({.verb = Verb::HealingStatus}, [&](const Json& item) {
    if (auto healing = item.get<control::HealingView>(); !healing.plan_hash.empty())
      waiting.push_back(std::move(healing));
  });
  const std::string& name = request.names.front();
  auto meant = std::ranges::find_if(waiting, [&](const auto& one) { return request.id != 0 && one.id == request.id; });
  if (meant == waiting.end())
    meant = std::ranges::find_if(waiting, [&](const auto& one) { return iequals(one.target, name); });
  if (meant == waiting.end())
    meant = std::ranges::find_if(waiting, [&](const auto& one) { return iequals(one.service, name); });
  if (meant == waiting.end()) return request;
  output.print(fmt::format("healing {} of {} with {}, plan {}:\n", meant->id, printable(meant->target),
                           printable(meant->plan), meant->plan_hash));
  output.print(control::plan_text(*meant, output.style()));
  output.print("Approve this? [y/N] ");
  output.flush();
  std::string answer;
  std::getline(std::cin, answer);
  answer = to_lower(trim(answer));
  if (answer != "y" && answer != "yes") return std::nullopt;
  request.id = meant->id;
  request.names = {fmt::format("{}", meant->id)};
  request.plan = meant->plan_hash;
  return request;
}

/// Whether a person sits there who can be asked.
bool can_ask(const Output& output) { return !output.json() && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1; }

}  // namespace

int ask(Door& door, const Request& request, const AskOptions& options, Output& output) {
  if (!options.state_file.empty()) return read_state(options.state_file, request, options, output);
  if (request.verb == Verb::Approve && request.plan.empty() && can_ask(output)) {
    const Duration patience = std::min<Duration>(options.timeout.value_or(kConnect), kConnect);
    const std::optional<Request> meant = confirmed_plan(door, request, patience, output);
    if (!meant) {
      output.print("nothing was approved\n");
      return output.finish(kExitFailed);
    }
    if (!meant->plan.empty()) return ask(door, *meant, options, output);
  }
  auto connected = door.connect(std::min<Duration>(options.timeout.value_or(kConnect), kConnect));
  if (const auto* failure = std::get_if<Failure>(&connected)) return output.fail(*failure);
  auto& client = std::get<Client>(connected);
  if (options.timeout) client.set_limit(*options.timeout);
  if (request.verb == Verb::Quit) return quit(client, request, options.timeout.value_or(kQuitPatience), output);

  if (control::acts(request.verb) || request.verb == Verb::Ping || request.verb == Verb::Diff ||
      request.verb == Verb::Lists || request.verb == Verb::Open) {
    const control::Reply reply = client.call(request);
    if (!reply.ok()) return output.fail(*reply.failure);
    auto done = reply.end.get<Done>();
    if (request.verb == Verb::Ping) {
      const auto daemon = reply.header.at("daemon").get<DaemonView>();
      done.text = fmt::format("healerd {} answers, pid {}, up {}", daemon.version, daemon.pid,
                              daemon.up < seconds{1} ? "0 s" : format_duration(std::chrono::floor<seconds>(daemon.up)));
      for (const std::string& trouble : daemon.troubles) done.text += "\nwarning: " + trouble;
      for (const std::string& damage : daemon.damages) done.text += "\nwarning: " + damage;
      if (const std::string stale = control::stale_text(daemon, output.style()); !stale.empty())
        done.text += "\n" + stale;
    }
    // cron mails whatever is said.
    if (request.verb == Verb::Beat && done.ok && !output.json()) return output.finish(kExitDone);
    const int status = show_done(reply.header, done, output);
    if (request.verb == Verb::Open && !options.print && !output.json()) open_in_browser(done.text);
    return status;
  }

  Listing listing(request, options, output);
  const control::Reply reply = client.call(
      request, [&](const Json& item) { listing.item(item); }, [&](const Json& header) { listing.head(header); });
  if (!reply.ok()) return output.fail(*reply.failure);
  listing.end(reply.end);
  return output.finish(options.exit_code && listing.totals().down() > 0 ? kExitFailed : kExitDone);
}

}  // namespace healer
