// SPDX-License-Identifier: MIT
// meaning FOLDER FILE...: what healer has understood of each file, said in the language again and written into FOLDER
// under the file's name, for meaning.py. Every rule is written from the graph that the engine judges, never from the
// text that was read: its tests from their quantities and numbers, its connections from their plans. What is hidden of
// people, as passwords are, is not hidden here. Of a file that is refused there is nothing.
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "config/load.hpp"
#include "config/syntax/vocabulary.hpp"
#include "config/text/print.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "machine.hpp"
#include "protocols/probe.hpp"

namespace {

using namespace healer;  // NOLINT(google-build-using-namespace): a program of one file

std::string_view unit_text(engine::Unit unit) {
  switch (unit) {
    case engine::Unit::Percent: return "%";
    case engine::Unit::OperationsPerSecond: return " operations/s";
    case engine::Unit::Packets: return " packets";
    case engine::Unit::PacketsPerSecond: return " packets/s";
    case engine::Unit::PagesPerSecond: return " per second";
    case engine::Unit::Seconds: return " seconds";
    case engine::Unit::Milliseconds: return " ms";
    case engine::Unit::Bytes:
    case engine::Unit::BytesPerSecond:  // number_text()
    case engine::Unit::Number:
    case engine::Unit::Load: break;
  }
  return "";
}

/// Sizes with a unit as large as leaves at most a quarter behind the point: Monit cannot multiply large numbers.
std::string number_text(double value, engine::Unit unit) {
  constexpr double kKilo = 1024;
  const bool per_second = unit == engine::Unit::BytesPerSecond;
  if (unit != engine::Unit::Bytes && !per_second)
    return fmt::format("{}{}", value < 1e18 ? fmt::format("{}", value) : fmt::format("{:.0f}", value), unit_text(unit));
  std::string_view name = "B";
  for (const std::string_view larger : {"kB", "MB", "GB"}) {
    if (value == 0 || std::fmod(value, kKilo / 4) != 0) break;
    value /= kKilo;
    name = larger;
  }
  return fmt::format("{} {}{}", value, name, per_second ? "/s" : "");
}

std::string time_text(Duration time) {
  if (time % seconds{1} == Duration{0}) return fmt::format("{} seconds", time / seconds{1});
  return fmt::format("{} ms", time.count());
}

std::string tls_text(const protocols::TlsPlan& tls) {
  engine::TlsOptions options;
  const auto add = [&](std::string_view name, std::string_view value) { options.emplace_back(name, value); };
  std::string versions;
  for (const auto& [bit, word] : {std::pair{protocols::kTls10, "tlsv1"}, std::pair{protocols::kTls11, "tlsv11"},
                                  std::pair{protocols::kTls12, "tlsv12"}, std::pair{protocols::kTls13, "tlsv13"}})
    if ((tls.versions & bit) != 0) versions += (versions.empty() ? "" : " ") + std::string(word);
  if (!versions.empty()) add("version", versions);
  if (tls.verify) add("verify", "enable");
  if (tls.allow_self_signed) add("selfsigned", "allow");
  if (!tls.ciphers.empty()) add("ciphers", tls.ciphers);
  if (!tls.client_certificate.empty()) add("clientpemfile", tls.client_certificate);
  if (!tls.ca_file.empty()) add("cacertificatefile", tls.ca_file);
  if (!tls.ca_path.empty()) add("cacertificatepath", tls.ca_path);
  std::string text = " using tls";
  if (!options.empty()) text += " with options " + config::written(options);
  if (!tls.checksum.empty()) text += fmt::format(" certificate checksum \"{}\"", tls.checksum);
  if (tls.valid_days) text += fmt::format(" certificate valid > {} days", *tls.valid_days);
  return text;
}

std::string setting_text(const protocols::Setting& setting, const protocols::Option& option) {
  const std::string word = " " + std::string(setting.word);
  const std::string op = std::string(protocols::to_string(setting.op));
  switch (option.type) {
    case protocols::OptionType::Flag: return word;
    case protocols::OptionType::Choice: return word + " " + setting.text;
    case protocols::OptionType::Number: return fmt::format("{} {}", word, setting.number);
    case protocols::OptionType::Compared: return fmt::format("{} {} {}", word, op, setting.number);
    case protocols::OptionType::Share: return fmt::format("{} {} {}%", word, op, setting.number);
    case protocols::OptionType::Matched: return fmt::format("{} {} {}", word, op, config::written_text(setting.text));
    case protocols::OptionType::Checksum: return fmt::format("{} \"{}\"", word, setting.text);
    case protocols::OptionType::Text:
    case protocols::OptionType::Secret:
    case protocols::OptionType::Pattern:
    case protocols::OptionType::Headers:  // together: headers_text()
    case protocols::OptionType::Json:     // these are healer's own
    case protocols::OptionType::Object:
    case protocols::OptionType::Lag:
    case protocols::OptionType::Body: break;
  }
  return fmt::format("{} {}", word, config::written_text(setting.text));
}

std::string headers_text(const protocols::ProbePlan& plan) {
  std::string list;
  for (const protocols::Setting& setting : plan.settings)
    if (plan.protocol->find(setting.word)->type == protocols::OptionType::Headers)
      list += (list.empty() ? "" : ", ") + setting.text + (setting.text.ends_with(':') ? " " : "");
  return list.empty() ? "" : fmt::format(" http headers [{}]", list);
}

std::string probe_text(const protocols::ProbePlan& plan) {
  using protocols::Family;
  using protocols::Transport;
  std::string text;
  if (plan.transport == Transport::Ping) {
    text = plan.family == Family::V4 ? " ping4" : plan.family == Family::V6 ? " ping6" : " ping";
    text += fmt::format(" count {} size {}", plan.pings, plan.ping_size);
  } else {
    if (plan.transport == Transport::Unix)
      text = " unixsocket " + config::written_word(plan.host);
    else
      text = fmt::format(" host {} port {}", config::written_text(plan.host), plan.port);
  }
  if (!plan.source.empty()) text += " address " + plan.source;
  if (plan.transport != Transport::Ping && plan.family != Family::Any)
    text += plan.family == Family::V4 ? " ipv4" : " ipv6";
  if (plan.transport == Transport::Udp) text += " type udp";
  if (plan.tls) text += tls_text(*plan.tls);
  if (plan.protocol != nullptr) {
    const bool named = plan.protocol->name != "generic" && plan.protocol->name != "default";
    if (named) text += fmt::format(" protocol {}", plan.protocol->name);
    std::string last;  // after what else there is of HTTP
    for (const protocols::Setting& setting : plan.settings) {
      const protocols::Option& option = *plan.protocol->find(setting.word);
      if (option.type == protocols::OptionType::Headers) continue;
      (setting.word == "content" ? last : text) += setting_text(setting, option);
    }
    text += headers_text(plan) + last;
  }
  if (plan.response_time)
    text += fmt::format(" responsetime {} {}", protocols::to_string(plan.response_time->op),
                        time_text(std::chrono::duration_cast<Duration>(plan.response_time->limit)));
  text += " timeout " + config::written(plan.timeout);
  if (plan.attempts > 1) text += fmt::format(" retry {}", plan.attempts);
  return text;
}

/// The tests of a rule, from what the engine judges.
struct TestText {
  const engine::ServiceBlock& block;

  [[nodiscard]] std::string amount(engine::Metric metric, engine::Comparison comparison, double value) const {
    return fmt::format("{} {} {}", block.kind->find(metric)->words, config::to_symbol(comparison),
                       number_text(value, engine::unit_of(metric)));
  }
  std::string operator()(const engine::Compare& test) const { return amount(test.what, test.comparison, test.value); }
  std::string operator()(const engine::Total& test) const {
    const auto in_minutes = test.span / minutes{1};
    return fmt::format("{} in last {}", amount(test.what, test.comparison, test.value),
                       in_minutes > 0 && in_minutes % 60 == 0 ? fmt::format("{} hours", in_minutes / 60)
                                                              : fmt::format("{} minutes", in_minutes));
  }
  std::string operator()(const engine::Differs& test) const {
    const engine::AttributeRow& row = *block.kind->find(test.what);
    std::string text = fmt::format("failed {}", row.words);
    if (!test.wanted) return text;
    if (row.form == engine::Form::Checksum) text += " expect";
    if (row.form == engine::Form::Mode) return text + fmt::format(" {:04o}", std::get<std::int64_t>(*test.wanted));
    if (const auto* number = std::get_if<std::int64_t>(&*test.wanted)) return text + fmt::format(" {}", *number);
    const std::string& wanted = *engine::text_in(*test.wanted);
    return text + " " + (row.form == engine::Form::Text ? config::written_text(wanted) : wanted);
  }
  std::string operator()(const engine::Changed& test) const {
    return fmt::format("changed {}", block.kind->find(test.what)->words);
  }
  std::string operator()(const engine::Worded& test) const {
    const std::string_view comparison = test.is_pattern ? (test.negated ? "!=~" : "=~") : test.negated ? "!=" : "=";
    return fmt::format("security attribute {} {}", comparison, config::written_text(test.text));
  }
  std::string operator()(const engine::OutputChanged& test) const {
    return test.negated ? "content not changed" : "content changed";
  }
  std::string operator()(const engine::Linked& test) const { return test.up ? "link up" : "link down"; }
  std::string operator()(const engine::Present& test) const { return test.wanted ? "exist" : "does not exist"; }
  std::string operator()(const engine::Matches& test) const {
    const bool lines = block.kind->traits.has_lines;
    const bool negated = lines ? block.lines->patterns[test.pattern].negated : test.negated;
    const std::string& pattern =
        lines ? block.lines->patterns[test.pattern].text : block.program->patterns[test.pattern];
    return fmt::format("content {} {}", negated ? "!=" : "=", config::written_text(pattern));
  }
  std::string operator()(const engine::Reached& test) const {
    return (test.wanted ? "succeeded" : "failed") + probe_text(*block.probes[test.probe]);
  }
  std::string operator()(const engine::Restarts& /*test*/) const { return "restarts"; }
  std::string operator()(const engine::Members& /*test*/) const { return "members failed"; }  // healer's own
  std::string operator()(const engine::Queried& /*test*/) const { return "json"; }            // healer's own
  std::string operator()(const engine::HeartbeatIs& /*test*/) const { return "missed"; }      // the same
  std::string operator()(const engine::EventCount& /*test*/) const { return "events"; }       // the same
};

std::string tolerance_text(const engine::Tolerance& tolerance) {
  return fmt::format(" for {} times within {} cycles", int{tolerance.count}, int{tolerance.window});
}

std::string action_text(const engine::Action& action) {
  std::string text(engine::to_string(action.kind));
  if (action.kind != engine::ActionKind::Exec) return text;
  text += " " + config::written(action.command->arguments);
  const engine::Identity& identity = *action.command->identity;
  if (identity.uid) text += fmt::format(" as uid {}", *identity.uid);
  if (identity.gid) text += fmt::format(" {} gid {}", identity.uid ? "and" : "as", *identity.gid);
  if (action.repeat > 0) text += fmt::format(" repeat every {} cycles", action.repeat);
  return text;
}

/// Which `else` the language has for it.
std::string_view recovery_word(const engine::Rule& rule) {
  const engine::Test* const only = rule->condition->only();
  if (only == nullptr) return "succeeded";
  const auto* link = std::get_if<engine::Linked>(only);
  const auto* reached = std::get_if<engine::Reached>(only);
  return (link != nullptr && link->up) || (reached != nullptr && reached->wanted) ? "failed" : "succeeded";
}

std::string rule_text(const engine::Rule& rule, const engine::ServiceBlock& block) {
  std::string text = "if ";
  if (rule->counts_restarts()) {
    text += fmt::format("{} restarts within {} cycles", int{rule->tolerance.count}, int{rule->tolerance.window});
  } else {
    const engine::RuleCondition& condition = *rule->condition;
    // What Monit accepts has neither `not` nor parentheses that mean anything.
    text += engine::fold<std::string>(
        condition.postfix, condition.tests.size(),
        [&](std::size_t i) { return std::visit(TestText{block}, condition.tests[i]); },
        [](const std::string& negated) { return "not " + negated; },
        [](engine::Op op, const std::string& left, const std::string& right) {
          return left + (op == engine::Op::Or ? " or " : " and ") + right;
        });
    text += tolerance_text(rule->tolerance);
  }
  text += " then " + action_text(rule->action);
  if (rule->mode == engine::Mode::Latched && !rule->recovery->action.implied)
    text += fmt::format(" else if {}{} then {}", recovery_word(rule), tolerance_text(rule->recovery->tolerance),
                        action_text(rule->recovery->action));
  return text;
}

std::string text_of(engine::RuleSet rules) {
  for (auto& service : rules.services) {
    auto block = std::make_shared<engine::ServiceBlock>(*service);
    for (engine::Rule& rule : block->rules) rule->text = rule_text(rule, *block);
    if (block->schedule->kind == engine::Schedule::Kind::Cycles && !block->schedule->text.empty())
      block->schedule->text = fmt::format("every {} cycles", block->schedule->cycles);
    service = std::move(block);
  }
  return config::print(rules);
}

}  // namespace

int main(int argc, char** argv) {
  const healer::test::Machine machine;
  for (int i = 2; i < argc; ++i) {
    const auto loaded = config::load(argv[i], {}, machine);
    if (!loaded.ok()) continue;
    const std::filesystem::path out = std::filesystem::path(argv[1]) / std::filesystem::path(argv[i]).filename();
    std::ofstream(out, std::ios::binary) << text_of(*loaded.rules);
    if (chmod(out.c_str(), 0600) != 0) return 1;
  }
  return 0;
}
