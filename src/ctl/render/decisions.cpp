// SPDX-License-Identifier: MIT
#include "ctl/render/decisions.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <set>
#include <tuple>
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
  // To healer that is one test: whether there is a process.
  if (text.find("zombie") != std::string_view::npos) return "process";
  if (text.starts_with("failed protocol test") || text.starts_with("connection")) return "connection";
  std::size_t end = text.find_first_of("0123456789[(");
  for (const std::string_view one : kEnds) end = std::min(end, text.find(one));
  return to_lower(trim(text.substr(0, end)));
}

/// Texts of a change or a match: they fail again each time, and never recover.
bool is_new_entry(std::string_view text) {
  return text.find("changed") != std::string_view::npos || text.starts_with("content match");
}

/// Which tests of which services stand failed.
class Standing {
 public:
  /// Whether this is news.
  bool failed(const std::string& service, std::string_view text) {
    return is_new_entry(text) || failed_.insert({to_lower(service), matter_of(text)}).second;
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

using List = std::vector<const Decision*>;

bool are_near(const Decision& one, const Decision& other, Duration within) {
  return std::chrono::abs(one.when - other.when) <= within;
}

struct Pairs {
  List of_monit;                  ///< for each of Monit's that of healer, or nothing
  std::vector<bool> has_healers;  ///< whether each of healer's has one
};

/// The pairs whose distances are the least in sum, where two that stay alone cost a little more than the farthest pair.
/// They keep the order of time. Both lists are in it.
Pairs pair_up(const List& of_monit, const List& of_healer, Duration within) {
  const List* lists[2] = {&of_monit, &of_healer};
  std::vector<bool> paired[2] = {std::vector<bool>(of_monit.size()), std::vector<bool>(of_healer.size())};

  // In the order of time each takes the best of what the other side offers, if that is better than to stay alone: one
  // that is alone, or one that has a partner, which is alone again then. `changes` is the one that gets a partner or
  // loses its own; what is gained at `time` is `until` - `time`.
  struct Offer {
    WallTime until;
    int side;
    std::size_t changes;
    bool operator<(const Offer& other) const { return std::tie(until, other.changes) < std::tie(other.until, changes); }
  };
  std::priority_queue<Offer> offers[2];
  const Duration most = within + Duration{1};
  std::size_t at[2] = {0, 0};
  while (at[0] < of_monit.size() || at[1] < of_healer.size()) {
    const bool is_monits =
        at[0] < of_monit.size() && (at[1] == of_healer.size() || of_monit[at[0]]->when <= of_healer[at[1]]->when);
    const int side = is_monits ? 0 : 1;
    const std::size_t index = at[side]++;
    const WallTime now = (*lists[side])[index]->when;
    auto& offered = offers[1 - side];
    if (offered.empty() || offered.top().until <= now) {
      offers[side].push({.until = now + most, .side = side, .changes = index});
      continue;
    }
    const Offer best = offered.top();
    offered.pop();
    paired[side][index] = true;
    paired[best.side][best.changes].flip();
    offers[side].push({.until = now + most - (best.until - now), .side = best.side, .changes = best.changes});
  }

  Pairs result{.of_monit = List(of_monit.size()), .has_healers = std::move(paired[1])};
  std::size_t j = 0;
  for (std::size_t i = 0; i < of_monit.size(); ++i) {
    if (!paired[0][i]) continue;
    while (!result.has_healers[j]) ++j;
    result.of_monit[i] = of_healer[j++];
  }
  return result;
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
    const std::optional<MonitLine> entry = read_line(line);
    if (!entry) continue;
    const std::string& service = entry->service;
    const auto add = [&](std::string what) {
      result.list.push_back(
          {.when = *when, .service = service, .what = std::move(what), .text = std::string(entry->text)});
    };
    const std::string_view text = entry->text;
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
      if (entry->priority == "error") {
        if (standing.failed(service, text)) add("failed");
      } else if (entry->priority == "info" && standing.recovered(service, text)) {
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

  using Group = std::pair<List, List>;
  std::map<std::pair<std::string, std::string>, Group> groups;
  std::map<std::string, std::vector<WallTime>> recoveries;  // of Monit, by service
  for (const Decision& one : monit.list) {
    groups[{to_lower(one.service), one.what}].first.push_back(&one);
    if (one.what == "recovered") recoveries[to_lower(one.service)].push_back(one.when);
  }
  for (const Decision& one : healer.list) groups[{to_lower(one.service), one.what}].second.push_back(&one);

  for (auto& [service, times] : recoveries) std::ranges::sort(times);
  for (auto& [key, group] : groups) {
    auto& [of_monit, of_healer] = group;
    for (auto* list : {&of_monit, &of_healer})  // a clock may have been set back
      std::ranges::stable_sort(*list, {}, &Decision::when);
    const auto recovered_between = [&](const Decision& first, const Decision& last) {
      const auto& times = recoveries[key.first];
      const auto found = std::ranges::lower_bound(times, first.when);
      return found != times.end() && *found < last.when;
    };
    const bool is_act = key.second != "failed" && key.second != "recovered";
    const Pairs pairs = pair_up(of_monit, of_healer, within);
    std::size_t next = 0;  // of Monit, paired
    for (std::size_t i = 0; i < of_monit.size(); ++i) {
      const Decision& one = *of_monit[i];
      if (const Decision* other = pairs.of_monit[i]) {
        if (one.when >= result.from || other->when >= result.from)
          result.list.push_back({.match = Match::Both, .monit = one, .healer = *other});
        continue;
      }
      if (one.when < result.from) continue;
      while (next < of_monit.size() && (next < i || pairs.of_monit[next] == nullptr)) ++next;
      const bool follows = i > 0 && !recovered_between(*of_monit[i - 1], one);
      const bool precedes = next < of_monit.size() && are_near(one, *pairs.of_monit[next], within) &&
                            !recovered_between(one, *of_monit[next]);
      result.list.push_back({.match = is_act && (follows || precedes) ? Match::Again : Match::OnlyMonit,
                             .monit = one,
                             .healer = std::nullopt});
    }
    for (std::size_t j = 0; j < of_healer.size(); ++j)
      if (!pairs.has_healers[j] && of_healer[j]->when >= result.from)
        result.list.push_back({.match = Match::OnlyHealer, .monit = std::nullopt, .healer = *of_healer[j]});
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
