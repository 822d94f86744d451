// SPDX-License-Identifier: MIT
#include "control/decisions.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "util/text.hpp"

namespace healer::control {
namespace {

/// "[2026-11-22T13:49:41+0000]".
std::optional<WallTime> time_of(std::string_view line) {
  const std::size_t end = line.find(']');
  if (!line.starts_with('[') || end == std::string_view::npos) return std::nullopt;
  std::string text(line.substr(1, end - 1));
  if (text.size() != 24) return std::nullopt;
  const char sign = text[19];
  if (sign != '+' && sign != '-') return std::nullopt;
  int offset[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    const char tens = text[static_cast<std::size_t>(20 + 2 * i)], ones = text[static_cast<std::size_t>(21 + 2 * i)];
    if (tens < '0' || tens > '9' || ones < '0' || ones > '9') return std::nullopt;
    offset[i] = (tens - '0') * 10 + (ones - '0');
  }
  const std::optional<WallTime> local = parse_iso(text.substr(0, 19) + ".000Z");
  if (!local) return std::nullopt;
  const Duration off = hours{offset[0]} + minutes{offset[1]};
  return sign == '+' ? *local - off : *local + off;
}

/// What a text is about, whether it tells of a failure or of its end: "status", "cpu usage", "process".
std::string matter_of(std::string_view text) {
  static constexpr std::array<std::string_view, 10> kEnds{" failed", " succeeded", " of ",   " matches", " check",
                                                          " is ",    " does",      " exist", " match",   " changed"};
  if (text.find("zombie") != std::string_view::npos) return "zombie";
  if (text.starts_with("failed protocol test") || text.starts_with("connection")) return "connection";
  std::size_t end = text.find_first_of("0123456789[(");
  for (const std::string_view one : kEnds) end = std::min(end, text.find(one));
  return to_lower(trim(text.substr(0, end)));
}

/// Texts of a change or a match: they fail again each time, and never recover.
bool is_news(std::string_view text) {
  return text.find("changed") != std::string_view::npos || text.starts_with("content match");
}

/// Which tests of which services stand failed.
class Standing {
 public:
  /// Whether this is news.
  bool failed(const std::string& service, std::string_view text) {
    return is_news(text) || failed_.insert({to_lower(service), matter_of(text)}).second;
  }
  bool recovered(const std::string& service, std::string_view text) {
    return failed_.erase({to_lower(service), matter_of(text)}) > 0;
  }

 private:
  std::set<std::pair<std::string, std::string>> failed_;
};

/// A line of Monit's log behind its time: "error    : 'web' status failed (1)".
struct MonitLine {
  std::string_view priority;
  std::string service;
  std::string_view text;
};
std::optional<MonitLine> read_line(std::string_view line) {
  const std::size_t colon = line.find(':', line.find(']'));
  const std::size_t open = line.find('\'', colon);
  if (colon == std::string_view::npos || open == std::string_view::npos || open > colon + 2) return std::nullopt;
  const std::size_t close = line.find("' ", open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  return MonitLine{.priority = trim(line.substr(line.find(']') + 1, colon - line.find(']') - 1)),
                   .service = std::string(line.substr(open + 1, close - open - 1)),
                   .text = trim(line.substr(close + 2))};
}

}  // namespace

Decisions decisions_of_monit(std::string_view log) {
  Decisions result;
  Standing standing;
  std::set<std::string> restarting;  // whose stop and start belong to a restart
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    const std::optional<WallTime> when = time_of(line);
    if (!when) {
      // What a message says on further lines begins with a blank, or goes on in the middle.
      result.unread += line.starts_with('[') ? 1 : 0;
      continue;
    }
    if (!result.from) result.from = when;
    result.to = when;
    const std::optional<MonitLine> said = read_line(line);
    if (!said) continue;
    const std::string& service = said->service;
    const auto add = [&](std::string what) {
      result.list.push_back(
          {.when = *when, .service = service, .what = std::move(what), .text = std::string(said->text)});
    };
    const std::string_view text = said->text;
    const bool is_program = text.starts_with("start: ") || text.starts_with("stop: ") || text.starts_with("restart: ");
    if (text.starts_with("trying to restart")) {
      restarting.insert(service);
      add("restart");
    } else if (text.starts_with("exec: ")) {
      add("exec");
    } else if (is_program) {
      if (!restarting.contains(service)) add(std::string(text.substr(0, text.find(':'))));
    } else {
      restarting.erase(service);
      if (said->priority == "error") {
        if (standing.failed(service, text)) add("failed");
      } else if (said->priority == "info" && standing.recovered(service, text)) {
        add("recovered");
      }
    }
  }
  return result;
}

Decisions decisions_of_healer(const std::vector<RecordView>& records) {
  static constexpr std::array<std::string_view, 4> kActs{"restart", "start", "stop", "exec"};
  Decisions result;
  Standing standing;
  for (const RecordView& record : records) {
    if (!result.from) result.from = record.when;
    result.to = record.when;
    if (record.service.empty()) continue;
    const auto add = [&](std::string what) {
      result.list.push_back(
          {.when = record.when, .service = record.service, .what = std::move(what), .text = record.text});
    };
    if (record.kind == "rule-failed" || record.kind == "rule-matched" || record.kind == "rule-changed") {
      if (standing.failed(record.service, record.text)) add("failed");
    } else if (record.kind == "rule-recovered") {
      if (standing.recovered(record.service, record.text)) add("recovered");
    } else if (record.kind == "action-held" || record.kind == "job-started" || record.kind == "action-started") {
      const std::string_view first = std::string_view(record.text).substr(0, record.text.find_first_of(" :"));
      if (std::ranges::find(kActs, first) != kActs.end()) add(std::string(first));
    }
  }
  return result;
}

std::string_view to_string(Match match) {
  switch (match) {
    case Match::Both: return "both";
    case Match::OnlyMonit: return "only-monit";
    case Match::OnlyHealer: return "only-healer";
    case Match::Again: return "again";
  }
  return "";
}

SideBySide compare(const Decisions& monit, const Decisions& healer, Duration within) {
  SideBySide result;
  if (!monit.from || !healer.from) return result;
  result.from = std::max(*monit.from, *healer.from);
  result.to = std::max(*monit.to, *healer.to);
  result.overlaps = std::min(*monit.to, *healer.to) + within >= result.from;
  if (!result.overlaps) return result;

  using Group = std::pair<std::vector<const Decision*>, std::vector<const Decision*>>;
  std::map<std::pair<std::string, std::string>, Group> groups;
  std::map<std::string, std::vector<WallTime>> recoveries;  // of Monit, by service
  for (const Decision& one : monit.list) {
    groups[{to_lower(one.service), one.what}].first.push_back(&one);
    if (one.what == "recovered") recoveries[to_lower(one.service)].push_back(one.when);
  }
  for (const Decision& one : healer.list) groups[{to_lower(one.service), one.what}].second.push_back(&one);

  for (const auto& [key, group] : groups) {
    const auto& [of_monit, of_healer] = group;
    const auto recovered_between = [&](WallTime first, WallTime last) {
      const auto& times = recoveries[key.first];
      return std::ranges::any_of(times, [&](WallTime time) { return time >= first && time < last; });
    };
    const bool is_act = key.second != "failed" && key.second != "recovered";
    const Decision* before = nullptr;  // of Monit
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < of_monit.size() || j < of_healer.size()) {
      const Decision* one = i < of_monit.size() ? of_monit[i] : nullptr;
      const Decision* other = j < of_healer.size() ? of_healer[j] : nullptr;
      const bool near = one != nullptr && other != nullptr && std::chrono::abs(one->when - other->when) <= within;
      if (near || (one != nullptr && (other == nullptr || one->when < other->when))) {
        ++i;
        j += near ? 1 : 0;
        const bool again = !near && is_act && before != nullptr && !recovered_between(before->when, one->when);
        if (one->when >= result.from || (near && other->when >= result.from))
          result.list.push_back({.match = near    ? Match::Both
                                          : again ? Match::Again
                                                  : Match::OnlyMonit,
                                 .monit = *one,
                                 .healer = near ? std::optional(*other) : std::nullopt});
        before = one;
      } else {
        ++j;
        if (other->when >= result.from)
          result.list.push_back({.match = Match::OnlyHealer, .monit = std::nullopt, .healer = *other});
      }
    }
  }
  // Of one moment: first why, then what was done about it.
  const auto rank = [](const MatchedDecision& one) {
    const std::string& what = one.any().what;
    return std::pair(one.when(), what == "failed" ? 0 : what == "recovered" ? 2 : 1);
  };
  std::ranges::stable_sort(result.list, {}, rank);
  return result;
}

}  // namespace healer::control
