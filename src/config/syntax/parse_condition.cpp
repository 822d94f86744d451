// SPDX-License-Identifier: MIT
#include "config/syntax/parse_condition.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include <spdlog/fmt/fmt.h>

namespace healer::config::parsing {
namespace {

using engine::Op;

/// A part of a condition. In the order of `place` they read as written.
struct Part {
  enum class Kind : std::uint8_t { Open, Close, Not, Test } kind = Kind::Test;
  std::size_t place = 0;  ///< twice the token; of a parenthesis that of the token which it stands before, one less
  std::size_t token = 0;  ///< whose `or` counts, where the part follows an operand
};

/// A pair of parentheses. What stands within a test holds it, too.
struct Pair {
  Part open, close;
};

class Joiner {
 public:
  Joiner(Build& build, const WrittenCondition& written) : build_(build), written_(written) {}

  std::vector<Op> run() {
    std::vector<Part> parts;
    for (const TokenRange& term : written_.terms) parts.push_back({Part::Kind::Test, term.begin * 2, term.begin});
    for (const std::size_t token : written_.negations) parts.push_back({Part::Kind::Not, token * 2, token});
    std::ranges::sort(parts, {}, &Part::place);
    std::vector<Part> all = parts;
    for (const Pair& pair : pairs())
      if (holds_tests(parts, pair)) all.insert(all.end(), {pair.open, pair.close});
    std::ranges::stable_sort(all, {}, &Part::place);
    parts = std::move(all);
    for (const Part& part : parts) take(part);
    while (!waiting_.empty()) apply();
    std::vector<Op> postfix = operands_.back().whole();
    if (std::ranges::all_of(postfix, [](Op op) { return op == Op::Leaf || op == Op::And; })) return {};
    if (engine::is_sound(postfix, written_.terms.size())) return postfix;
    complain(build_.range({written_.begin, written_.terms.back().end}),
             fmt::format("the parentheses are nested more than {} deep", engine::kDeepestCondition),
             "write it as several rules, or let a program judge");
    return {};
  }

 private:
  /// What is made so far: operands that one operator joins, for it does not matter how `a or (b or c)` is grouped.
  struct Operand {
    Op by = Op::Leaf;
    std::vector<std::vector<Op>> of;

    [[nodiscard]] std::vector<Op> whole() const {
      std::vector<Op> all;
      for (std::size_t i = 0; i < of.size(); ++i) {
        all.insert(all.end(), of[i].begin(), of[i].end());
        if (i > 0) all.push_back(by);
      }
      return all;
    }
    /// The operands that the operator may join with others.
    [[nodiscard]] std::vector<std::vector<Op>> as(Op op) && {
      if (by == op) return std::move(of);
      return {whole()};
    }
  };

  /// What waits for its operand, or for the other parenthesis.
  enum class Waiting : std::uint8_t { Open, Or, And, Not };

  void complain(const SourceRange& range, std::string message, std::string remedy, bool is_error = true) {
    build_.complaints.push_back({.severity = is_error ? DiagnosticSeverity::Error : DiagnosticSeverity::Warning,
                                 .range = range,
                                 .message = std::move(message),
                                 .remedy = std::move(remedy),
                                 .code = Code::Grouping});
  }

  /// The pairs in the order of their ends; none where one has no other half.
  std::vector<Pair> pairs() {
    std::size_t then = written_.terms.back().end;
    while (then + 1 < build_.tokens.tokens.size() && build_.kind(then) != grammar::Kind::Then) ++then;
    std::vector<Pair> pairs;
    std::vector<std::pair<Part, std::uint32_t>> open;
    bool is_broken = false;
    for (auto one = grammar::parentheses_before(build_.tokens, written_.begin);
         one != build_.tokens.parentheses.end() && one->token <= then; ++one) {
      if (one->opens) {
        open.emplace_back(part(*one), one->offset);
      } else if (!open.empty()) {
        pairs.push_back({open.back().first, part(*one)});
        open.pop_back();
      } else {
        half(one->offset, "this ')' closes nothing", "remove it, or write '(' where it should begin");
        is_broken = true;
      }
    }
    for (const auto& [where, offset] : open) half(offset, "this '(' is not closed", "write ')' where it should end");
    if (is_broken || !open.empty()) pairs.clear();
    return pairs;
  }

  /// Whether there is something between the parentheses. The last of that must be a test.
  bool holds_tests(const std::vector<Part>& parts, const Pair& pair) {
    const auto behind = std::ranges::lower_bound(parts, pair.close.place, {}, &Part::place);
    if (behind == parts.begin() || std::prev(behind)->place < pair.open.place) return false;
    const Part& last = *std::prev(behind);
    if (last.kind == Part::Kind::Test) return true;
    complain(build_.range({last.token, last.token + 1}), "this 'not' has no test within its parentheses",
             "write ')' behind the test");
    return false;
  }

  void half(std::uint32_t offset, std::string message, std::string remedy) {
    const bool is_monits = std::ranges::all_of(
        build_.extensions, [](const Extension& one) { return one.since.has_value() || one.is_refused; });
    if (is_monits) message += ": no parenthesis of this condition counts";
    complain(build_.place(offset, offset + 1), std::move(message), std::move(remedy), !is_monits);
  }

  /// A parenthesis. One within a test stands before it, or behind it.
  [[nodiscard]] Part part(const grammar::Parenthesis& one) const {
    std::size_t token = one.token;
    for (const TokenRange& term : written_.terms)
      if (term.begin < token && token < term.end) token = one.opens ? term.begin : term.end;
    return {one.opens ? Part::Kind::Open : Part::Kind::Close, token * 2 - 1, token};
  }

  void take(const Part& part) {
    if (part.kind == Part::Kind::Close) {
      while (waiting_.back() != Waiting::Open) apply();
      waiting_.pop_back();
      apply_negations();
      return;
    }
    if (is_complete_) {
      const bool is_or = (build_.tokens.tokens[part.token].flags & grammar::kOrBefore) != 0;
      const Waiting next = is_or ? Waiting::Or : Waiting::And;
      while (!waiting_.empty() && waiting_.back() >= next) apply();
      waiting_.push_back(next);
      is_complete_ = false;
    }
    switch (part.kind) {
      case Part::Kind::Open: waiting_.push_back(Waiting::Open); return;
      case Part::Kind::Not: waiting_.push_back(Waiting::Not); return;
      case Part::Kind::Test:
        operands_.push_back({.by = Op::Leaf, .of = {{Op::Leaf}}});
        is_complete_ = true;
        return apply_negations();
      case Part::Kind::Close: return;
    }
  }

  void apply_negations() {
    while (!waiting_.empty() && waiting_.back() == Waiting::Not) apply();
  }

  /// Makes one operand of what the last operator that waits has.
  void apply() {
    const Waiting what = waiting_.back();
    waiting_.pop_back();
    Operand last = std::move(operands_.back());
    operands_.pop_back();
    if (what == Waiting::Not) {
      std::vector<Op> whole = last.whole();
      whole.push_back(Op::Not);
      operands_.push_back({.by = Op::Not, .of = {std::move(whole)}});
      return;
    }
    const Op op = what == Waiting::Or ? Op::Or : Op::And;
    Operand both{.by = op, .of = std::move(operands_.back()).as(op)};
    std::ranges::move(std::move(last).as(op), std::back_inserter(both.of));
    operands_.back() = std::move(both);
  }

  Build& build_;
  const WrittenCondition& written_;
  std::vector<Operand> operands_;
  std::vector<Waiting> waiting_;
  bool is_complete_ = false;  ///< the last part was an operand, or the end of one
};

}  // namespace

std::vector<Op> joined(Build& build, const WrittenCondition& written) {
  const bool is_lone = written.terms.size() == 1 && written.negations.empty();
  if (is_lone && grammar::parentheses_before(build.tokens, written.begin) == build.tokens.parentheses.end()) return {};
  return Joiner(build, written).run();
}

}  // namespace healer::config::parsing
