// SPDX-License-Identifier: MIT
// Kinds of services as rows: which quantities and attributes they have, in which words, and what is measured for them.
// A kind is data, in a file of its own (src/checks); the language, the engine's words, the simulator and the control
// side walk the rows, and know no kind by name. `src/registries.cpp` lists them all.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/rules/attribute.hpp"
#include "engine/rules/event_kind.hpp"
#include "engine/rules/metric.hpp"
#include "engine/rules/plan.hpp"

namespace healer::engine {

struct ServiceBlock;

/// How Monit tells of a quantity: "MATCHED 9 matches resource limit [LIMIT > 5]", "SUCCEEDED succeeded [current
/// CURRENT = 5]". Its sentences are not built alike, and somebody's script may match on any of them. Where `limit` is
/// empty, `matched` and `succeeded` are whole, with {path}, {value}, {amount}
/// (the value with its unit; of what is per second without that), {time} (when that long ago was), {lasting} (a value
/// in seconds for people; {most} is the same of what it is compared with), {sign} and {limit} (what it is compared
/// with, and how) and {span} (the time of a total) in them.
struct Sentence {
  std::string_view matched;
  std::string_view limit;
  std::string_view succeeded;
  std::string_view current;
};

/// A quantity that tests of this kind compare. Several rows have the same words where they differ in their unit, or
/// where one test is of all of them.
struct Quantity {
  Metric metric{};
  /// What the language calls it, as canonical text and messages write it: "total memory", "loadavg(5min)".
  std::string_view words;
  Sentence sentence{};
  /// What people are shown it as where other rows of that unit have the same words; empty: those.
  std::string_view shown{};
  EventKind event = EventKind::Resource;
  bool is_part = false;  ///< a percentage of something that it is never more than
};

/// How the rules, and messages, write the value of an attribute.
enum class Form : std::uint8_t {
  Number,
  Text,
  User,  ///< a name; in messages its number, and so is a group
  Group,
  Mode,      ///< octal, as in 0640
  Time,      ///< seconds since the epoch
  Size,      ///< bytes
  Checksum,  ///< hexadecimal digits; without any it is what it was at first
};

/// How Monit tells of an attribute, with {name} and {path} of the service, {now} and {before} (what it was, or should
/// be) in it.
struct AttributeSentence {
  std::string_view failed{};
  std::string_view succeeded{};
  std::string_view changed{};
  std::string_view unchanged{};
};

/// What else a kind's tests ask for.
struct AttributeRow {
  Attribute attribute{};
  std::string_view words;  ///< "uid", "security attribute"
  std::string_view topic;  ///< what a kind without it has no test of: "a uid or gid"
  Form form = Form::Number;
  bool differs = false;  ///< `failed WORDS VALUE` is a test of it
  bool changes = false;  ///< `changed WORDS` is a test of it
  EventKind event{};
  AttributeSentence sentence{};   ///< empty: it has words of its own (engine/words/cause)
  bool recovers = false;          ///< a change of it is over in the next run: it may have an `else`
  bool alerts_on_change = false;  ///< a change of it alerts, as in Monit, where no rule tests it
};

/// What the header of a service names.
enum class Target : std::uint8_t {
  None,       ///< nothing: there is only one
  Program,    ///< `with path "PROGRAM"`: ServiceBlock::program
  Process,    ///< a pid file, a pattern, or a program in the foreground: ServiceBlock::process
  Path,       ///< `with path PATH`: ServiceBlock::path
  Interface,  ///< `with interface NAME` or `with address IP`: ServiceBlock::interface
  Host,       ///< `with address HOST`: ServiceBlock::host
  Members,    ///< `with members A, B, of group G`: ServiceBlock::composite
  Heartbeat,  ///< `every D within D`: ServiceBlock::heartbeat
  Events,     ///< `with hook PATH`: ServiceBlock::event
  Row,        ///< nothing: the row of the list around it, ServiceBlock::listed
  Unit        ///< `with name "nginx.service"`: OtherSubject::unit
};

/// Which connections tests of a kind ask for.
struct Connections {
  bool ports = false;         ///< `failed port 80`, `failed url http://...`
  bool unix_sockets = false;  ///< `failed unixsocket PATH`
  bool pings = false;         ///< `failed ping`

  [[nodiscard]] bool any() const { return ports || unix_sockets || pings; }
};

/// What the engine has to know of a kind beyond its rows.
struct Traits {
  bool has_process = false;  ///< its presence is that of a process: it can die, and is started and stopped
  bool is_run = false;       ///< a program answers, not a look
  bool is_machine = false;   ///< it is the machine itself
  bool has_link = false;     ///< it has a link, which is up or down; without a test of it, its going down alerts
  bool has_lines = false;    ///< its content is that of its new lines, which are read from where the last run ended
  bool has_members = false;  ///< it is made of other services: the engine looks at these, nothing is measured
  bool is_heard = false;     ///< others tell of it (event::Arrived), nothing is measured
  bool is_listed = false;    ///< it runs when its list is read (event::RowsRead), not by a timetable
  bool is_unit = false;      ///< it is a unit of systemd, which is started and stopped by systemd's own jobs

  /// Whether anything is looked at, or run, to know how it is.
  [[nodiscard]] bool is_measured() const { return !has_members && !is_heard; }
};

struct CheckKind {
  std::string_view word;  ///< of `check WORD NAME`
  Target target = Target::None;
  Traits traits{};
  std::span<const Quantity> quantities;
  std::span<const AttributeRow> attributes;
  std::span<const Metric> summary;  ///< what a service is summed up by on one line: "up 3 h, cpu 1.2%"
  bool presence = false;  ///< `exist` and `not exist` are tests of it; without any, a lasting absence restarts it
  bool content = false;   ///< `content = "..."` is
  Connections connections{};
  std::string_view tests;          ///< which it has, for who asks for another: "it has tests of ..., as in '...'"
  std::string_view needed_test{};  ///< one of these it must have; empty: it needs none
  /// What is said where it is there, with {path} in it: "fifo exists".
  std::string_view present{};
  std::string_view returned{};  ///< where it is there again; empty: the same
  std::string_view absent{};    ///< where it is not, and nothing else is known: "process is not running"
  Plan (*plan)(const ServiceBlock& block) = nullptr;  ///< never null

  /// The row of a quantity; null: the kind has none.
  [[nodiscard]] const Quantity* find(Metric metric) const;
  [[nodiscard]] const AttributeRow* find(Attribute attribute) const;
  /// Of that name, in any unit; null: the kind has none.
  [[nodiscard]] const Quantity* find_quantity(std::string_view words) const;
  [[nodiscard]] const AttributeRow* find_attribute(std::string_view words) const;
};

/// All kinds, in the order in which messages name them.
[[nodiscard]] std::span<const CheckKind* const> all_kinds();
/// The kind of `check WORD`; null: there is none.
[[nodiscard]] const CheckKind* kind_named(std::string_view word);

}  // namespace healer::engine
