// SPDX-License-Identifier: MIT
#include "ctl/compare.hpp"

#include <algorithm>
#include <map>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/client.hpp"
#include "control/views.hpp"
#include "ctl/render/decisions.hpp"
#include "ctl/render/render.hpp"
#include "ctl/render/render_text.hpp"
#include "runtime/files/read_input.hpp"
#include "store/sqlite_store.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

using control::Failure;
using control::Json;
using control::Match;
using control::MatchedDecision;
using control::RecordView;

constexpr Duration kCompareConnect = seconds{30};

std::variant<std::vector<RecordView>, Failure> of_state(const std::string& path) {
  auto reader = store::open_read_only(path);
  if (!reader) return Failure{"state", reader.error().what, ""};
  store::HistoryQuery query;
  query.limit = control::kMaxRecords;
  auto records = (*reader)->history(query);
  if (!records) return Failure{"state", fmt::format("cannot read the history: {}", records.error().what), ""};
  std::vector<RecordView> views;
  for (const engine::Record& record : *records) views.push_back(control::view_record(record));
  return views;
}

std::variant<std::vector<RecordView>, Failure> of_daemon(Door& door, std::optional<Duration> timeout) {
  auto connected = door.connect(std::min<Duration>(timeout.value_or(kCompareConnect), kCompareConnect));
  if (const auto* failure = std::get_if<Failure>(&connected)) return *failure;
  auto& client = std::get<control::Client>(connected);
  if (timeout) client.set_limit(*timeout);
  control::Request request;
  request.verb = control::Verb::History;
  request.limit = control::kMaxRecords;
  std::vector<RecordView> views;
  const control::Reply reply = client.call(request, [&](const Json& item) { views.push_back(item.get<RecordView>()); });
  if (!reply.ok()) return *reply.failure;
  return views;
}

Json side(const std::optional<control::Decision>& decision) {
  if (!decision) return nullptr;
  return {{"time", format_iso(decision->when)}, {"text", decision->text}};
}

Json to_json(const MatchedDecision& one) {
  Json json{{"service", one.any().service}, {"what", one.any().what},     {"match", control::to_string(one.match)},
            {"monit", side(one.monit)},     {"healer", side(one.healer)}, {"later_ms", nullptr}};
  if (one.monit && one.healer) json["later_ms"] = (one.healer->when - one.monit->when).count();
  return json;
}

std::string_view sentence(Match match) {
  switch (match) {
    case Match::Both: return "";
    case Match::OnlyMonit: return "only Monit";
    case Match::OnlyHealer: return "only healer";
    case Match::Again: return "Monit again";
  }
  return "";
}

std::string row(const MatchedDecision& one, const control::Style& style) {
  const auto time = [&](const std::optional<control::Decision>& decision) {
    return decision ? format_civil(style.civil(decision->when)) : std::string("-");
  };
  std::string last(sentence(one.match));
  if (one.match == Match::Both) {
    const Duration later = one.healer->when - one.monit->when;
    last = later == Duration{0}  ? "at once"
           : later < Duration{0} ? fmt::format("healer {} before", format_duration(-later))
                                 : fmt::format("healer {} after", format_duration(later));
  }
  return fmt::format("{}  {}  {}  {}  {}\n", control::pad(time(one.monit), 19), control::pad(time(one.healer), 19),
                     control::pad(one.any().what, 9), control::pad(printable(one.any().service), 20), last);
}

}  // namespace

int compare_logs(Door& door, const CompareOptions& options, Output& output) {
  const auto log = read_input(options.monit);
  if (!log) return output.fail({"log", log.error().what, ""});
  const control::Decisions monit = control::decisions_of_monit(*log);
  if (!monit.from)
    return output.fail({"log", fmt::format("{}: no line with a time such as [2026-11-22T13:49:41+0000]", options.monit),
                        "it is the file that Monit's 'set log' names"});
  auto records = options.state_file.empty() ? of_daemon(door, options.timeout) : of_state(options.state_file);
  if (const auto* failure = std::get_if<Failure>(&records)) return output.fail(*failure);
  const control::Decisions healer = control::decisions_of_healer(std::get<std::vector<RecordView>>(records));
  const control::SideBySide result = control::compare(monit, healer, options.apart);
  if (!result.overlaps)
    return output.fail(
        {"log", "Monit's log and the history of healer have no time in common", "let both run for a while"});

  std::map<Match, std::size_t> counts;
  for (const MatchedDecision& one : result.list) ++counts[one.match];
  const bool same = counts[Match::OnlyMonit] + counts[Match::OnlyHealer] == 0;
  const int status = same ? kExitDone : kExitFailed;
  if (output.json()) {
    output.open_list({{"version", control::kWireVersion}, {"command", "compare"}}, "decisions");
    for (const MatchedDecision& one : result.list) output.item(to_json(one));
    output.close_list({{"from", format_iso(result.from)},
                       {"to", format_iso(result.to)},
                       {"both", counts[Match::Both]},
                       {"only_monit", counts[Match::OnlyMonit]},
                       {"only_healer", counts[Match::OnlyHealer]},
                       {"again", counts[Match::Again]},
                       {"unread_lines", monit.unread}});
    return output.finish(status);
  }
  const control::Style style = output.style();
  if (!result.list.empty())
    output.print(fmt::format("{}  {}  {}  {}\n", control::pad("MONIT", 19), control::pad("HEALER", 19),
                             control::pad("WHAT", 9), "SERVICE"));
  for (const MatchedDecision& one : result.list) output.print(row(one, style));
  output.print(fmt::format("{}{} by both, {} only by Monit, {} only by healer, {} by Monit again\n",
                           result.list.empty() ? "" : "\n", counts[Match::Both], counts[Match::OnlyMonit],
                           counts[Match::OnlyHealer], counts[Match::Again]));
  if (monit.unread > 0) output.print(fmt::format("{} lines of Monit's log have an unreadable time\n", monit.unread));
  return output.finish(status);
}

}  // namespace healer
