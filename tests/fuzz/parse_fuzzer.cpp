// SPDX-License-Identifier: MIT
// Any bytes as a rules file: the parser neither crashes nor hangs, and all it says is about places within the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "config/diagnostic.hpp"
#include "config/source.hpp"
#include "config/syntax/parser.hpp"
#include "grammar/lexer.hpp"

namespace {

using namespace healer;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_tokens(std::string_view text) {
  const auto stream = grammar::lex(text);
  require(stream.tokens.size() == stream.kinds.size() + 1);
  std::size_t end = 0;
  for (const auto& token : stream.tokens) {
    require(token.offset >= end);  // in order, none over another
    end = std::size_t{token.offset} + token.length;
    require(end <= text.size());
  }
  for (const auto& fault : stream.faults) require(stream.tokens.at(fault.token).kind == grammar::Kind::Broken);
}

void check_range(const config::SourceRange& range, std::string_view text) {
  require(range.begin <= range.end && range.end <= text.size());
}

void check_tree(const config::FileSyntax& file, std::string_view text) {
  const auto check = [&]<typename Syntax>(const Syntax& one) {
    // Of a service that is not known only the names are kept.
    if constexpr (!std::is_same_v<Syntax, config::UnknownCheckSyntax>) check_range(one.range, text);
  };
  for (const auto& statement : file.statements) std::visit(check, statement);
  for (const auto& extension : file.extensions) check_range(extension.range, text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_tokens(text);

  config::Sources sources;
  const auto index = sources.add("fuzz", text);
  std::vector<config::Diagnostic> diagnostics;
  const auto file = config::parse(index, sources.at(index).text, diagnostics);
  check_tree(file, text);
  std::string messages;
  for (const auto& one : diagnostics) {
    require(one.range.has_value() && !one.message.empty());
    check_range(*one.range, text);
    messages += config::format(one, sources, false);
  }
  require(diagnostics.empty() == messages.empty());
  return 0;
}
