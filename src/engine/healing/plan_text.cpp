// SPDX-License-Identifier: MIT
#include "engine/healing/plan_text.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/request.hpp"
#include "engine/healing/variables.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr std::size_t kMostOfBody = 200;

// ---- the hash -------------------------------------------------------------------------------------------------------

/// Gathers all that a plan says, so that two plans that differ anywhere make different texts. Structs are taken apart
/// by name: one that gains a field does not compile until it is named here.
class Digest {
 public:
  void add(const std::string& text) { all_ += fmt::format("{}:{}", text.size(), text); }
  void add(Duration time) { number(time.count()); }
  template <typename Number>
  requires(std::is_integral_v<Number> || std::is_enum_v<Number>) void add(Number value) {
    number(static_cast<std::int64_t>(value));
  }
  template <typename T>
  void add(const std::vector<T>& all) {
    number(static_cast<std::int64_t>(all.size()));
    for (const T& one : all) add(one);
  }
  template <typename T>
  void add(const std::optional<T>& one) {
    number(one.has_value() ? 1 : 0);
    if (one) add(*one);
  }
  void add(const std::pair<std::string, std::string>& pair) { each(pair.first, pair.second); }
  void add(const Saving& saving) {
    const auto& [from, what, name, secret] = saving;
    each(from, what, name, secret);
  }
  void add(const JsonTest& test) {
    const auto& [filter, comparison, value, quoted] = test;
    each(filter, comparison, value, quoted);
  }
  void add(const HttpRequest& request) { fields(*this, request); }
  void add(const Command& command) {
    const auto& [arguments, identity, timeout] = command;
    const auto& [uid, gid, user, home, group] = *identity;
    each(arguments, uid, gid, user, home, timeout);
    if (!group.empty()) add(group);
  }
  void add(const step::Until& until) { fields(*this, until); }
  void add(const step::Kind auto& kind) { fields(*this, kind); }
  void add(const Step& one) {
    const auto& [name, what, timeout, retries, pause, repeatable] = one;
    each(name, what.index(), timeout, retries, pause, repeatable);
    std::visit([this](const auto& kind) { add(kind); }, what);
  }
  void add(const Guard& guard) {
    const auto& [program, timeout, once] = guard;
    each(program, timeout, once);
  }
  template <typename... All>
  void each(const All&... all) {
    (add(all), ...);
  }
  /// Names and values, in turn: of the values alone it is made.
  template <typename Value, typename... Rest>
  void operator()(const char* /*name*/, const Value& value, const Rest&... rest) {
    add(value);
    if constexpr (sizeof...(rest) > 0) (*this)(rest...);
  }
  [[nodiscard]] Hash128 hash() const { return hash128(all_); }

 private:
  void number(std::int64_t value) { all_ += fmt::format("{};", value); }

  std::string all_;
};

// ---- the lines ------------------------------------------------------------------------------------------------------

std::string words(const std::vector<std::string>& arguments) {
  std::vector<std::string> all;
  for (const std::string& one : arguments)
    all.push_back(one.empty() || one.find_first_of(" \t\"'") != std::string::npos ? fmt::format("'{}'", one) : one);
  return fmt::format("{}", fmt::join(all, " "));
}

std::string of_program(const step::Program& program) {
  std::string text = "program " + words(program.command.arguments);
  const Identity& identity = *program.command.identity;
  if (!identity.user.empty())
    text += " as " + identity.user;
  else if (identity.uid)
    text += fmt::format(" as uid {}", *identity.uid);
  const std::string_view joint = identity.user.empty() && !identity.uid ? " as" : " and";
  if (!identity.group.empty())
    text += fmt::format("{} group {}", joint, identity.group);
  else if (identity.gid)
    text += fmt::format("{} gid {}", joint, *identity.gid);
  for (const auto& [name, value] : program.environment) text += fmt::format(", {}={}", name, value);
  if (!program.directory.empty()) text += " in " + program.directory;
  return text;
}

std::string of_request(const HttpRequest& request) {
  std::string text = fmt::format("{} {}", request.method, without_user(request.url));
  if (!request.body_file.empty()) text += ", body from " + request.body_file;
  if (!request.body.empty())
    text +=
        fmt::format(", body {}{}", request.body.substr(0, kMostOfBody), request.body.size() > kMostOfBody ? "..." : "");
  if (request.insecure) text += ", insecure";
  return text;
}

void add_step(std::vector<std::string>& lines, const Step& one, const std::string& indent);

/// What it does, without its name and terms.
struct Does {
  std::string operator()(const step::Program& program) const { return of_program(program); }
  std::string operator()(const step::Http& http) const {
    std::string text = of_request(http.request);
    if (http.until)
      text += fmt::format(", until {} says that it is done, within {}", of_request(http.until->request),
                          format_duration(http.until->within));
    return text;
  }
  std::string operator()(const step::Parallel&) const { return "all of:"; }
  std::string operator()(const auto& kind) const { return in_plan(kind); }
};

void add_steps(std::vector<std::string>& lines, const std::vector<Step>& steps, const std::string& indent) {
  for (const Step& one : steps) add_step(lines, one, indent);
}

void add_step(std::vector<std::string>& lines, const Step& one, const std::string& indent) {
  // One that has no name of its own is called by what it does.
  const std::string does = std::visit(Does{}, one.what);
  std::string text = indent + (does.starts_with(one.name) ? does : fmt::format("step \"{}\": {}", one.name, does));
  if (one.timeout > Duration{0}) text += ", timeout " + format_duration(one.timeout);
  if (one.retries > 0) text += fmt::format(", retry {} time{}", one.retries, one.retries == 1 ? "" : "s");
  if (one.repeatable) text += ", repeatable";
  lines.push_back(std::move(text));
  if (const auto* const parallel = std::get_if<step::Parallel>(&one.what))
    add_steps(lines, parallel->steps, indent + "  ");
}

}  // namespace

std::string hash_of_plan(const Healing& healing) {
  Digest digest;
  digest.each(to_lower(healing.target), healing.plan->name, healing.plan->guard, healing.plan->steps,
              healing.plan->on_failure, healing.plan->on_cancel, healing.plan->tries, healing.in_probation);
  for (const auto& value : healing.row) digest.each(value.first, value.second);
  if (healing.cause != nullptr)
    for (const auto& value : healing.cause->fields) digest.each(value.first, value.second);
  return to_string(digest.hash());
}

std::string approval_line(const Healing& healing) {
  return fmt::format("healerctl approve {} --plan {}", healing.id.number(),
                     hash_of_plan(healing).substr(0, kHashShown));
}

std::vector<std::string> lines_of_plan(const Healing& healing, const std::string& host) {
  const Workflow& plan = *healing.plan;
  std::vector<std::string> lines;
  if (healing.in_probation) {
    lines.emplace_back("it has failed again in its probation:");
    add_steps(lines, plan.on_failure, "  ");
  } else {
    if (plan.guard)
      lines.push_back(fmt::format("guard {}, timeout {}{}", of_program(plan.guard->program),
                                  format_duration(plan.guard->timeout), plan.guard->once ? ", once" : ""));
    add_steps(lines, plan.steps, "");
    if (plan.tries > 1) lines.push_back(fmt::format("up to {} tries", plan.tries));
    if (!plan.on_failure.empty()) lines.emplace_back("on failure:");
    add_steps(lines, plan.on_failure, "  ");
  }
  if (!plan.on_cancel.empty()) lines.emplace_back("on cancel:");
  add_steps(lines, plan.on_cancel, "  ");
  Variables values = healing.row;
  for (const auto& [name, value] : healing.cause->fields) values.insert_or_assign(name, value);
  values.insert_or_assign("TARGET", healing.target);
  values.insert_or_assign("SERVICE", healing.service);
  values.insert_or_assign("HOST", host);
  for (std::string& line : lines) {
    line = fill(line, values).text;  // what a step saves has no value yet, and stays as written
    std::ranges::replace_if(
        line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  }
  return lines;
}

}  // namespace healer::engine
