// SPDX-License-Identifier: MIT
#include "readings/evidence_code.hpp"

#include <algorithm>
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

#include "readings/evidence_fields.hpp"

namespace healer::readings {

using namespace engine;

namespace {

constexpr double kMostWhole = 9007199254740992;  // up to here every whole number is a double

// What has changed. In this order it is told.
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

const Facts& no_facts() {
  static const Facts facts;
  return facts;
}

// ---- figures and attributes, by hand: what each is stands in the lowest bits of its number --------------------------

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

void figures(ByteWriter& out, const Metrics& before, const Metrics& now) {
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

void figures(ByteReader& in, const Metrics& before, Metrics& now) {
  now = before;
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
}

void attributes(ByteWriter& out, const Few<std::pair<Attribute, Value>>& all) {
  out.number(all.size());
  for (const auto& [what, value] : all) {
    const auto* number = std::get_if<std::int64_t>(&value);
    out.number(static_cast<std::uint64_t>(what) << 1 | (number != nullptr ? 1U : 0U));
    if (number != nullptr)
      out.difference(*number);
    else
      out.text(*engine::text_in(value));
  }
}

void attributes(ByteReader& in, Few<std::pair<Attribute, Value>>& all) {
  all.clear();
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    const std::uint64_t tag = in.number();
    if ((tag >> 1) >= static_cast<std::uint64_t>(Attribute::Count_)) return in.fail();
    const auto what = static_cast<Attribute>(tag >> 1);
    if ((tag & 1) != 0)
      all.push_back({what, in.difference()});
    else
      all.push_back({what, in.text()});
  }
}

// ---- what filters have found ----------------------------------------------------------------------------------------

// Whole, and not as a difference: the filters are few, and their texts short.
// Since when the name of a row is known stands with them, as the value of a filter that is none: it changes seldom,
// too.
constexpr std::string_view kKnownSince = "\n";

void values(PlainWriter& walk, const FurtherFacts& facts) {
  walk.bytes().number(facts.values.size() + (facts.row ? 1 : 0));
  if (facts.row) {
    const auto known = std::chrono::duration_cast<milliseconds>(facts.row->known.time_since_epoch());
    walk(ValueSeen{.filter = std::string(kKnownSince), .value = fmt::format("{}", known.count())});
  }
  for (const ValueSeen& seen : facts.values) walk(seen);
}

void values(PlainReader& walk, FurtherFacts& facts) {
  std::vector<ValueSeen> all;
  walk(all);
  facts.row.reset();
  std::erase_if(all, [&facts](const ValueSeen& seen) {
    if (seen.filter != kKnownSince) return false;
    std::int64_t known = 0;
    if (seen.value) std::from_chars(seen.value->data(), seen.value->data() + seen.value->size(), known);
    facts.row = RowSeen{WallTime{milliseconds{known}}};
    return true;
  });
  facts.values = std::move(all);
}

// ---- the parts ------------------------------------------------------------------------------------------------------

enum class Checked : std::uint8_t { Other, Process, Path };
constexpr Checked last_of(For<Checked>) { return Checked::Path; }

/// What was looked at.
void subject(auto& walk, const Facts& was, Is<Facts> auto& is) {
  Checked checked = is.process ? Checked::Process : is.path ? Checked::Path : Checked::Other;
  walk(checked);
  walk.where(checked == Checked::Process, is.process);
  walk.where(checked == Checked::Path, is.path, was.path);
}

/// `is` is as it was where it is read.
void further_parts(auto& walk, unsigned parts, const FurtherFacts& was, Is<FurtherFacts> auto& is) {
  if ((parts & Connections) != 0)
    walk.each(is.connections, [&was, place = std::size_t{0}](auto& one, auto& connection) mutable {
      fields(one, connection, place < was.connections.size() ? &was.connections[place] : nullptr);
      ++place;
    });
  if ((parts & Rest) != 0) walk(is);
  if ((parts & Values) != 0) values(walk, is);
}
void further_parts(auto& walk, unsigned parts, const FurtherFacts& was, const Sparse<FurtherFacts>& is) {
  further_parts(walk, parts, was, *is);
}
void further_parts(auto& walk, unsigned parts, const FurtherFacts& was, Sparse<FurtherFacts>& is) {
  FurtherFacts all = was;
  further_parts(walk, parts, was, all);
  is = std::move(all);
}

/// The same.
void parts_of_facts(auto& walk, unsigned parts, const Facts& was, Is<Facts> auto& is) {
  if ((parts & Subject) != 0) subject(walk, was, is);
  if ((parts & Figures) != 0) figures(walk.bytes(), was.metrics, is.metrics);
  if ((parts & Attributes) != 0) attributes(walk.bytes(), is.attributes);
  if ((parts & (Connections | Rest | Values)) != 0) further_parts(walk, parts, *was.further, is.further);
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
  if (!same_answer(before, now)) parts |= Head;
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
  PlainWriter walk(bytes);
  walk.bytes().byte(static_cast<std::uint8_t>(parts));
  if ((parts & Head) != 0) walk(now);
  parts_of_facts(walk, parts, was, is);
  return true;
}

Evidence read_difference(const Evidence& before, ByteReader& in) {
  PlainReader walk(in);
  const std::uint8_t parts = in.byte();
  Evidence now = before;
  if ((parts & Head) != 0) walk(now);
  if ((parts & NoFacts) != 0) {
    now.facts.reset();
    return now;
  }
  const Facts& was = before.facts ? *before.facts : no_facts();
  auto facts = std::make_shared<Facts>(was);
  parts_of_facts(walk, parts, was, *facts);
  now.facts = std::move(facts);
  return now;
}

}  // namespace healer::readings
