// SPDX-License-Identifier: MIT
// Lists in scripts: what they say, and when they say something else.
#include <spdlog/fmt/fmt.h>

#include "engine/rules/rule_set.hpp"
#include "simulation/script_reader.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr std::string_view kForm = "list NODE: node1 node2, or list NODE from file \"nodes\"";
constexpr std::string_view kLater =
    "at 5 minutes list NODE: node1 node2; also list NODE gains, loses ROW, from file \"nodes\", is empty, fails";

}  // namespace

/// list NAME: ROW..., list NAME from file "PATH"; behind a time also gains ROW..., loses ROW..., is empty, fails
void ScriptReader::list(bool later) {
  using What = ScriptedList::What;
  const std::string_view form = later ? kLater : kForm;
  bool colon = false;
  const Word name = name_of("the name of the list", form, colon);
  if (failed_) return;
  ScriptedList read{
      .name = text_of(name), .later = later, .line = number_, .column = 1 + static_cast<std::uint32_t>(name.offset)};
  if (!colon && later && take("gains")) {
    read.what = What::Gains;
  } else if (!colon && later && take("loses")) {
    read.what = What::Loses;
  } else if (!colon && later && take("is")) {
    want("empty", form);
    read.what = What::Empty;
  } else if (!colon && later && take("fails")) {
    read.what = What::Fails;
  } else if (!colon) {
    want("from", form);
    want("file", form);
    const Word file = want_word("the file", form);
    if (!failed_) read.file = text_of(file);
  }
  if (colon || read.what == What::Gains || read.what == What::Loses) {
    if (!more()) return fail(here(), "the rows are missing", fmt::format("write {}", form));
    while (more()) read.rows.push_back(text_of(words_[next_++]));
  }
  want_end();
  if (!failed_) script_.lists.push_back(std::move(read));
}

/// at TIME list NAME ..., at TIME accept list NAME, at TIME forget ROW
bool ScriptReader::list_command(ScriptedCommand& command) {
  using Kind = ScriptedCommand::Kind;
  if (blocks_.contains("list") && see("list")) return false;
  if (take("list")) {
    command.kind = Kind::ListSays;
    command.statement = script_.lists.size();
    list(true);
  } else if (see("accept") && next_ + 1 < words_.size() && iequals(words_[next_ + 1].raw, "list") &&
             !blocks_.contains("list")) {
    next_ += 2;
    command.kind = Kind::AcceptList;
    command.target = list_name("at 5 minutes accept list NODE");
    want_end();
  } else if (see("forget") && !blocks_.contains("forget")) {
    ++next_;
    command.kind = Kind::ForgetRow;
    const Word row = want_word("the name of the row", "at 5 minutes forget node1");
    if (!failed_)
      command.target = one_of(row, row.raw, std::vector<std::string_view>(rows_.begin(), rows_.end()), "row of a list");
    want_end();
  } else {
    return false;
  }
  script_.commands.push_back(std::move(command));
  return true;
}

std::string ScriptReader::list_name(std::string_view form) {
  const Word name = want_word("the name of the list", form);
  if (failed_) return {};
  return one_of(name, name.raw, std::vector<std::string_view>(lists_.begin(), lists_.end()), "list from outside");
}

/// expect [not] list NAME tells "TEXT" [by TIME] [N times]
void ScriptReader::list_expectation(Expectation wanted) {
  constexpr std::string_view kTells = "expect list NODE tells \"the row 'node1' leaves\" by 20 minutes";
  wanted.what = Expectation::What::List;
  wanted.service = list_name(kTells);
  want("tells", kTells);
  const Word words = want_word("what it tells", kTells);
  if (failed_) return;
  wanted.why = text_of(words);
  when_and_how_often(wanted, false, kTells);
  want_end();
  script_.expectations.push_back(std::move(wanted));
}

std::vector<ScriptedList> read_lists(std::string_view text) {
  const RuleSet none;
  ScriptReading reading;
  ScriptReader reader(none, reading);
  for (std::uint32_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    reader.read_list(text.substr(0, end), line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return reading.script.lists;
}

}  // namespace healer::engine
