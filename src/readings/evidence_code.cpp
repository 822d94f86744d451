// SPDX-License-Identifier: MIT
#include "readings/evidence_code.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

namespace healer::readings {

using namespace engine;

namespace {

constexpr std::size_t kMostText = 256;           // bytes of what only people read
constexpr double kMostWhole = 9007199254740992;  // up to here every whole number is a double

// What has changed. In this order it is written.
enum Part : std::uint8_t {
  Head = 1,
  NoFacts = 2,
  Subject = 4,
  Figures = 8,
  Attributes = 16,
  Connections = 32,
  Rest = 64,
  Values = 128
};

std::string_view clip(std::string_view text) { return text.substr(0, kMostText); }

const Facts& no_facts() {
  static const Facts facts;
  return facts;
}

template <typename Enum>
Enum read_enum(ByteReader& in, Enum last) {
  const std::uint8_t value = in.byte();
  if (value > static_cast<std::uint8_t>(last)) in.fail();
  return in.ok() ? static_cast<Enum>(value) : Enum{};
}

// ---- the answer ---------------------------------------------------------------------------------------------------

bool same_head(const Evidence& a, const Evidence& b) {
  return a.answer == b.answer && a.outcome == b.outcome && a.status == b.status && a.matches == b.matches;
}

void write_head(const Evidence& seen, ByteWriter& out) {
  out.byte(static_cast<std::uint8_t>(seen.answer));
  out.byte(static_cast<std::uint8_t>(seen.outcome));
  out.difference(seen.status);
  out.number(seen.matches);
  out.text(clip(*seen.output));
}

void read_head(Evidence& seen, ByteReader& in) {
  seen.answer = read_enum(in, Answer::Unknown);
  seen.outcome = read_enum(in, Outcome::Unmatched);
  seen.status = in.difference();
  seen.matches = in.number();
  seen.output = std::make_shared<const std::string>(in.text());
}

// ---- a process ----------------------------------------------------------------------------------------------------

void write_process(const ProcessFacts& process, ByteWriter& out) {
  out.difference(process.pid);
  out.difference(process.parent);
  for (const std::uint32_t id : {process.uid, process.euid, process.gid}) out.number(id);
  out.number(process.start_ticks);
  out.byte(static_cast<std::uint8_t>((process.zombie ? 1 : 0) | (process.younger ? 2 : 0) | (process.spared ? 4 : 0)));
  out.text(process.attribute);
  out.difference(process.file);
  out.difference(process.named_by);
}

ProcessFacts read_process(ByteReader& in) {
  ProcessFacts process;
  process.pid = in.difference();
  process.parent = in.difference();
  for (std::uint32_t* id : {&process.uid, &process.euid, &process.gid}) *id = static_cast<std::uint32_t>(in.number());
  process.start_ticks = in.number();
  const std::uint8_t flags = in.byte();
  process.zombie = (flags & 1) != 0;
  process.younger = (flags & 2) != 0;
  process.spared = (flags & 4) != 0;
  process.attribute = in.text();
  process.file = in.difference();
  process.named_by = in.difference();
  return process;
}

// ---- a path -------------------------------------------------------------------------------------------------------

using PathNumbers = std::array<std::int64_t, 10>;

/// What changes most often first: a bit for each tells which have changed.
PathNumbers numbers_of(const PathFacts& path) {
  return {path.seen,
          path.accessed,
          path.modified,
          path.changed,
          path.size,
          std::int64_t{path.uid},
          std::int64_t{path.gid},
          path.permission,
          path.has_size ? 1 : 0,
          path.links};
}

void write_path(const PathNumbers& was, const PathNumbers& is, ByteWriter& out) {
  std::uint64_t changed = 0;
  for (std::size_t i = 0; i < is.size(); ++i) changed |= std::uint64_t{was[i] != is[i]} << i;
  out.number(changed);
  for (std::size_t i = 0; i < is.size(); ++i)
    if (was[i] != is[i]) out.difference(difference(is[i], was[i]));
}

PathFacts read_path(PathNumbers numbers, ByteReader& in) {
  const std::uint64_t changed = in.number();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if ((changed >> i & 1) != 0) numbers[i] = sum(numbers[i], in.difference());
  const auto& [seen, accessed, modified, changed_at, size, uid, gid, permission, has_size, links] = numbers;
  return {.uid = static_cast<std::uint32_t>(uid),
          .gid = static_cast<std::uint32_t>(gid),
          .permission = static_cast<std::uint32_t>(permission),
          .has_size = has_size != 0,
          .size = size,
          .accessed = accessed,
          .modified = modified,
          .changed = changed_at,
          .seen = seen,
          .links = links};
}

// ---- what was looked at -------------------------------------------------------------------------------------------

enum Checked : std::uint8_t { Other = 0, AtProcess = 1, AtPath = 2 };

PathNumbers path_numbers(const Facts& facts) { return facts.path ? numbers_of(*facts.path) : PathNumbers{}; }

void write_subject(const Facts& before, const Facts& now, ByteWriter& out) {
  out.byte(now.process ? AtProcess : now.path ? AtPath : Other);
  if (now.process)
    write_process(*now.process, out);
  else if (now.path)
    write_path(path_numbers(before), numbers_of(*now.path), out);
}

void read_subject(const Facts& before, Facts& now, ByteReader& in) {
  now.process.reset();
  now.path.reset();
  switch (in.byte()) {
    case Other: break;
    case AtPath: now.path = read_path(path_numbers(before), in); break;
    default: now.process = read_process(in);
  }
}

// ---- figures ------------------------------------------------------------------------------------------------------

// Of a figure that has changed: its number, three ways to say it in the two lowest bits, and then that.
enum How : std::uint8_t { Gone = 0, Whole = 1, Real = 2 };

bool is_whole(double value) {
  return std::trunc(value) == value && std::abs(value) < kMostWhole && !std::signbit(value);
}

/// The bits: what is not a number is equal to itself.
bool same_value(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

bool same_figure(const Metrics::Figure& a, const Metrics::Figure& b) {
  return a.metric == b.metric && same_value(a.value, b.value);
}

bool same_figures(const Metrics& a, const Metrics& b) { return std::ranges::equal(a.all(), b.all(), same_figure); }

void write_figures(const Metrics& before, const Metrics& now, ByteWriter& out) {
  const auto tag = [&out](Metric metric, How how) { out.number((static_cast<std::uint64_t>(metric) + 1) << 2 | how); };
  const auto write = [&](const Metrics::Figure& is, const double* was) {
    if (is_whole(is.value) && (was == nullptr || is_whole(*was))) {
      tag(is.metric, Whole);
      out.difference(static_cast<std::int64_t>(is.value) - (was != nullptr ? static_cast<std::int64_t>(*was) : 0));
    } else {
      tag(is.metric, Real);
      out.real(is.value);
    }
  };
  auto was = before.all().begin();
  const auto was_end = before.all().end();
  const auto gone_before = [&](std::size_t metric) {
    for (; was != was_end && static_cast<std::size_t>(was->metric) < metric; ++was) tag(was->metric, Gone);
  };
  for (const Metrics::Figure& is : now.all()) {
    gone_before(static_cast<std::size_t>(is.metric));
    if (was == was_end || was->metric != is.metric) {
      write(is, nullptr);
    } else {
      if (!same_value(is.value, was->value)) write(is, &was->value);
      ++was;
    }
  }
  gone_before(kMetrics);
  out.byte(0);
}

Metrics read_figures(const Metrics& before, ByteReader& in) {
  Metrics now = before;
  while (const std::uint64_t tag = in.number()) {
    const std::uint64_t index = (tag >> 2) - 1;
    if ((tag >> 2) == 0 || index >= kMetrics) {
      in.fail();
      break;
    }
    const auto metric = static_cast<Metric>(index);
    switch (tag & 3) {
      case Gone: now.reset(metric); break;
      case Whole: {
        const double was = now.get(metric).value_or(0);
        if (!is_whole(was)) in.fail();
        const std::int64_t difference = in.difference();
        // What could not be read may be of any size, and is no whole number to go on from.
        const std::int64_t is = in.ok() ? static_cast<std::int64_t>(was) + difference % (std::int64_t{1} << 54) : 0;
        now.set(metric, static_cast<double>(is));
        break;
      }
      case Real: now.set(metric, in.real()); break;
      default: in.fail();
    }
  }
  return now;
}

// ---- connections --------------------------------------------------------------------------------------------------

// Their sentences tell the time of the answer: they are kept when something else changes.
bool same_course(const ConnectionSeen& a, const ConnectionSeen& b) {
  return a.reach == b.reach && a.name == b.name && a.event == b.event && a.nameless == b.nameless &&
         a.in_time.empty() == b.in_time.empty();
}

bool same_connection(const ConnectionSeen& a, const ConnectionSeen& b) {
  return same_course(a, b) && a.response == b.response && a.expires == b.expires;
}

void write_connection(const ConnectionSeen* before, const ConnectionSeen& now, ByteWriter& out) {
  const bool course = before != nullptr && same_course(*before, now);
  out.byte(static_cast<std::uint8_t>((course ? 1 : 0) | (now.response ? 2 : 0) | (now.expires ? 4 : 0) |
                                     (now.event ? 8 : 0) | (now.nameless ? 16 : 0)));
  if (!course) {
    out.byte(static_cast<std::uint8_t>(now.reach));
    for (const std::string* text : {&now.name, &now.text, &now.sentence, &now.in_time, &now.address})
      out.text(clip(*text));
    if (now.event) out.byte(static_cast<std::uint8_t>(*now.event));
  }
  const auto was = [&](auto part) { return before == nullptr ? decltype(part(now)){} : part(*before); };
  const auto response = [](const ConnectionSeen& one) { return one.response ? one.response->count() : 0; };
  const auto expires = [](const ConnectionSeen& one) {
    return one.expires ? one.expires->time_since_epoch().count() : Duration::rep{0};
  };
  if (now.response) out.difference(response(now) - was(response));
  if (now.expires) out.difference(expires(now) - was(expires));
}

ConnectionSeen read_connection(const ConnectionSeen* before, ByteReader& in) {
  const std::uint8_t flags = in.byte();
  if ((flags & 1) != 0 && before == nullptr) in.fail();
  ConnectionSeen now = (flags & 1) != 0 && before != nullptr ? *before : ConnectionSeen{};
  if ((flags & 1) == 0) {
    now.nameless = (flags & 16) != 0;
    now.reach = read_enum(in, Reach::Passed);
    for (std::string* text : {&now.name, &now.text, &now.sentence, &now.in_time, &now.address}) *text = in.text();
    if ((flags & 8) != 0) now.event = static_cast<EventKind>(in.byte());
    if (now.event && static_cast<std::size_t>(*now.event) >= kEventKinds) in.fail();
  }
  const std::int64_t response = before != nullptr && before->response ? before->response->count() : 0;
  const std::int64_t expires = before != nullptr && before->expires ? before->expires->time_since_epoch().count() : 0;
  now.response.reset();
  now.expires.reset();
  if ((flags & 2) != 0) now.response = std::chrono::microseconds{sum(response, in.difference())};
  if ((flags & 4) != 0) now.expires = WallTime{Duration{sum(expires, in.difference())}};
  return now;
}

void write_connections(const FurtherFacts& before, const FurtherFacts& now, ByteWriter& out) {
  out.number(now.connections.size());
  for (std::size_t i = 0; i < now.connections.size(); ++i)
    write_connection(i < before.connections.size() ? &before.connections[i] : nullptr, now.connections[i], out);
}

void read_connections(const FurtherFacts& before, FurtherFacts& now, ByteReader& in) {
  const std::size_t count = in.count();
  now.connections.clear();
  for (std::size_t i = 0; i < count && in.ok(); ++i)
    now.connections.push_back(read_connection(i < before.connections.size() ? &before.connections[i] : nullptr, in));
}

// ---- what seldom changes ------------------------------------------------------------------------------------------

void write_attributes(const Facts& facts, ByteWriter& out) {
  out.number(facts.attributes.size());
  for (const auto& [what, value] : facts.attributes) {
    const auto* number = std::get_if<std::int64_t>(&value);
    out.number(static_cast<std::uint64_t>(what) << 1 | (number != nullptr ? 1U : 0U));
    if (number != nullptr)
      out.difference(*number);
    else
      out.text(*engine::text_in(value));
  }
}

void read_attributes(Facts& facts, ByteReader& in) {
  facts.attributes.clear();
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    const std::uint64_t tag = in.number();
    if ((tag >> 1) >= static_cast<std::uint64_t>(Attribute::Count_)) return in.fail();
    const auto what = static_cast<Attribute>(tag >> 1);
    if ((tag & 1) != 0)
      facts.attributes.push_back({what, in.difference()});
    else
      facts.attributes.push_back({what, in.text()});
  }
}

bool same_rest(const FurtherFacts& a, const FurtherFacts& b) {
  return a.totals == b.totals && a.lines == b.lines && a.left == b.left && a.left_by == b.left_by;
}

void write_rest(const FurtherFacts& facts, ByteWriter& out) {
  out.number(facts.totals.size());
  for (const TotalSeen& total : facts.totals) {
    out.byte(static_cast<std::uint8_t>(total.what));
    out.difference(total.span.count());
    out.real(total.value);
  }
  out.number(facts.lines.size());
  for (const std::string& line : facts.lines) out.text(clip(line));
  out.number(facts.left.size());
  for (const LeftProcess& left : facts.left) {
    out.difference(left.pid);
    out.number(left.start_ticks);
    out.text(clip(left.command));
  }
  out.number(facts.left_by.number());
}

void read_rest(FurtherFacts& facts, ByteReader& in) {
  facts.totals.clear();
  facts.lines.clear();
  facts.left.clear();
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    TotalSeen total;
    total.what = read_enum(in, static_cast<Metric>(kMetrics - 1));
    total.span = Duration{in.difference()};
    total.value = in.real();
    facts.totals.push_back(total);
  }
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) facts.lines.push_back(in.text());
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    LeftProcess one;
    one.pid = in.difference();
    one.start_ticks = in.number();
    one.command = in.text();
    facts.left.push_back(std::move(one));
  }
  facts.left_by = ActionId{in.number()};
}

// ---- what filters have found --------------------------------------------------------------------------------------

// Whole, and not as a difference: the filters are few, and their texts short.
// Since when the name of a row is known stands with them, as the value of a filter that is none: it changes seldom,
// too.
constexpr std::string_view kKnownSince = "\n";

std::string known_since(const engine::RowSeen& row) {
  return fmt::format("{}", std::chrono::duration_cast<milliseconds>(row.known.time_since_epoch()).count());
}

void write_values(const FurtherFacts& facts, ByteWriter& out) {
  out.number(facts.values.size() + (facts.row ? 1 : 0));
  if (facts.row) {
    out.text(kKnownSince);
    out.byte(1);
    out.text(known_since(*facts.row));
  }
  for (const ValueSeen& seen : facts.values) {
    out.text(seen.filter);
    out.byte(seen.value ? 1 : 0);
    out.text(seen.value ? std::string_view(*seen.value) : clip(seen.why));
  }
}

void read_values(FurtherFacts& facts, ByteReader& in) {
  facts.values.clear();
  facts.row = std::nullopt;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    ValueSeen seen{.filter = in.text(), .value = std::nullopt};
    if (in.byte() != 0)
      seen.value = in.text();
    else
      seen.why = in.text();
    if (seen.filter != kKnownSince) {
      facts.values.push_back(std::move(seen));
      continue;
    }
    std::int64_t known = 0;
    if (seen.value) std::from_chars(seen.value->data(), seen.value->data() + seen.value->size(), known);
    facts.row = engine::RowSeen{WallTime{milliseconds{known}}};
  }
}

}  // namespace

const Evidence& nothing_seen() {
  static const Evidence nothing{.output = std::make_shared<const std::string>()};
  return nothing;
}

bool write_difference(const Evidence& before, const Evidence& now, std::string& bytes) {
  const Facts& was = before.facts ? *before.facts : no_facts();
  const Facts& is = now.facts ? *now.facts : no_facts();
  unsigned parts = 0;
  if (!same_head(before, now)) parts |= Head;
  if ((now.facts == nullptr) != (before.facts == nullptr) || now.facts == nullptr)
    parts |= now.facts == nullptr ? NoFacts : Subject;
  if (now.facts != nullptr) {
    if (was.process != is.process || was.path != is.path) parts |= Subject;
    if (!same_figures(was.metrics, is.metrics)) parts |= Figures;
    if (was.attributes != is.attributes) parts |= Attributes;
    if (!std::ranges::equal(was.further->connections, is.further->connections, same_connection)) parts |= Connections;
    if (!same_rest(*was.further, *is.further)) parts |= Rest;
    if (was.further->values != is.further->values || was.further->row != is.further->row) parts |= Values;
  }
  if (parts == 0 || (parts == NoFacts && before.facts == nullptr)) return false;
  ByteWriter out(bytes);
  out.byte(static_cast<std::uint8_t>(parts));
  if ((parts & Head) != 0) write_head(now, out);
  if ((parts & Subject) != 0) write_subject(was, is, out);
  if ((parts & Figures) != 0) write_figures(was.metrics, is.metrics, out);
  if ((parts & Attributes) != 0) write_attributes(is, out);
  if ((parts & Connections) != 0) write_connections(*was.further, *is.further, out);
  if ((parts & Rest) != 0) write_rest(*is.further, out);
  if ((parts & Values) != 0) write_values(*is.further, out);
  return true;
}

Evidence read_difference(const Evidence& before, ByteReader& in) {
  const std::uint8_t parts = in.byte();
  Evidence now = before;
  if ((parts & Head) != 0) read_head(now, in);
  if ((parts & NoFacts) != 0) {
    now.facts.reset();
    return now;
  }
  const Facts& was = before.facts ? *before.facts : no_facts();
  auto facts = std::make_shared<Facts>(was);
  if ((parts & Subject) != 0) read_subject(was, *facts, in);
  if ((parts & Figures) != 0) facts->metrics = read_figures(was.metrics, in);
  if ((parts & Attributes) != 0) read_attributes(*facts, in);
  if ((parts & (Connections | Rest | Values)) != 0) {
    FurtherFacts further = *was.further;
    if ((parts & Connections) != 0) read_connections(*was.further, further, in);
    if ((parts & Rest) != 0) read_rest(further, in);
    if ((parts & Values) != 0) read_values(further, in);
    facts->further = std::move(further);
  }
  now.facts = std::move(facts);
  return now;
}

}  // namespace healer::readings
