// SPDX-License-Identifier: MIT
#include "config/passes/http_list.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/compile/workflow.hpp"
#include "config/passes/passes.hpp"
#include "config/passes/workflow_variables.hpp"
#include "util/jq.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

class HttpListCheck {
 public:
  HttpListCheck(const HttpListSyntax& list, Diagnostics& diagnostics) : list_(list), diagnostics_(diagnostics) {}

  void run() {
    const Word& method = list_.request.method;
    if (method.value != "GET" && method.value != "POST")
      error(Code::InvalidValue, method.range, fmt::format("a list is not asked for by {}", method.value),
            "write 'get' or 'post'");
    check_request(list_.request, diagnostics_);
    for (const Rare<Word>* one : {&list_.rows, &list_.name, &list_.next})
      if (*one) filter(**one);
    if (list_.next && list_.next_link)
      error(Code::InvalidValue, list_.next->range, "'next' is given twice", "keep one of them");
    if (list_.timeout && list_.timeout->value <= Duration{0})
      error(Code::OutOfRange, list_.timeout->range, "the duration must be longer than 0");
    if (list_.token) token(*list_.token);
    known(list_.request, list_.token ? list_.token->saves.front().name.value : std::string());
  }

 private:
  void error(Code code, const SourceRange& range, std::string message, std::string remedy = {}) {
    report(diagnostics_, DiagnosticSeverity::Error, code, range, std::move(message), std::move(remedy));
  }

  void filter(const Word& filter) {
    if (const std::string problem = jq_problem(filter.value); !problem.empty())
      error(Code::InvalidPattern, filter.range,
            fmt::format("{} is not a valid jq filter: {}", in_quotes(filter.value), problem));
  }

  void token(const HttpStepSyntax& token) {
    check_request(token.request, diagnostics_);
    known(token.request, {});
    for (const Number& code : token.expect)
      if (code.value < 100 || code.value > 599)
        error(Code::OutOfRange, code.range, fmt::format("{} is not an HTTP status", code.value),
              "it has three digits, as 200");
    const SavingSyntax& saving = token.saves.front();
    const Word& name = saving.name;
    if (saving.from == engine::Saving::From::Json) filter(saving.what);
    if (saving.from == engine::Saving::From::Regex)
      error(Code::InvalidValue, saving.what.range, "a token is taken from a header or by a filter of jq",
            "as in: save header \"X-Subject-Token\" as TOKEN, or save json '.access_token' as TOKEN");
    if (!is_variable_name(name.value))
      return error(Code::InvalidValue, name.range,
                   fmt::format("{} cannot be the name of a variable", in_quotes(name.value)),
                   "letters, digits and '_', the first no digit");
    if (is_built_in(name.value))
      return error(Code::InvalidValue, name.range, fmt::format("{} is reserved for healer", in_quotes(name.value)),
                   "choose another name");
    const std::string reference = fmt::format("${{{}}}", name.value);
    const auto uses = [&](const std::string& text) { return text.find(reference) != std::string::npos; };
    const HttpRequestSyntax& request = list_.request;
    const bool is_used = uses(request.url.value) || (request.body && uses(request.body->value)) ||
                         std::ranges::any_of(request.headers, uses, &Word::value);
    if (!is_used)
      error(Code::NoEffect, name.range, fmt::format("the list is asked for without {}", reference),
            fmt::format("as in: header \"X-Auth-Token: {}\"", reference));
  }

  /// Only secrets, and the token, are known when it is sent.
  void known(const HttpRequestSyntax& request, const std::string& token) {
    known(request.url, token);
    for (const Word& header : request.headers) known(header, token);
    if (request.body) known(*request.body, token);
    if (request.body_file) known(*request.body_file, {});
  }
  void known(const Word& text, const std::string& token) {
    for (const VariableUse& use : variables_in(text.value)) {
      if (!use.closed) {
        error(Code::InvalidValue, text.range, "'${' has no '}'", "write $${ for a literal ${");
      } else if (!use.is_secret() && (token.empty() || use.name != token)) {
        error(Code::UnknownVariable, text.range, fmt::format("${{{}}} has no value here", printable(use.name)),
              "a list knows what is defined before it, secrets, and its token");
      }
    }
  }

  const HttpListSyntax& list_;
  Diagnostics& diagnostics_;
};

/// Puts in what names stand for.
class HttpListFiller {
 public:
  HttpListFiller(std::uint32_t row, const FillText& fill) : row_(row), fill_(fill) {}

  void request(HttpRequestSyntax& request) const {
    request.method.range.row = row_;
    text(request.url, Into::Url);
    for (Word& header : request.headers) text(header);
    if (request.body) text(*request.body);
    if (request.body_file) text(*request.body_file);
  }

 private:
  void text(Word& word, Into into = Into::Text) const {
    word.range.row = row_;
    word.value = fill_(word.value, word.range, into);
  }

  std::uint32_t row_;
  const FillText& fill_;
};

std::shared_ptr<const HttpList> http_list_of(const HttpListSyntax& list) {
  auto made = std::make_shared<HttpList>();
  made->request = request_of(list.request);
  if (!list.request.limit) made->request.limit = HttpList::kMost;
  if (list.timeout) made->timeout = list.timeout->value;
  if (list.rows) made->rows = list.rows->value;
  if (list.name) made->name = list.name->value;
  if (list.next) made->next = list.next->value;
  made->next_link = list.next_link;
  if (!list.token) return made;
  const SavingSyntax& saving = list.token->saves.front();
  made->token = HttpList::Token{
      .request = request_of(list.token->request),
      .expect = {},
      .saving = {.from = saving.from, .what = saving.what.value, .name = saving.name.value, .secret = true}};
  for (const Number& code : list.token->expect)
    made->token->expect.push_back(static_cast<std::uint16_t>(std::min<std::uint64_t>(code.value, 999)));
  return made;
}

}  // namespace

std::shared_ptr<const HttpList> read_http_list(HttpListSyntax& list, std::uint32_t row, const FillText& fill,
                                               const std::function<void(Word&)>& filter, Diagnostics& diagnostics) {
  const HttpListFiller filler(row, fill);
  filler.request(list.request);
  if (list.token) {
    filler.request(list.token->request);
    SavingSyntax& saving = list.token->saves.front();
    saving.what.range.row = saving.name.range.row = row;
    if (saving.from == engine::Saving::From::Json) filter(saving.what);
  }
  for (Rare<Word>* word : {&list.rows, &list.name, &list.next}) {
    if (!*word) continue;
    (*word)->range.row = row;
    filter(**word);
  }
  HttpListCheck(list, diagnostics).run();
  return http_list_of(list);
}

}  // namespace healer::config
