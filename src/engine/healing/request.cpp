// SPDX-License-Identifier: MIT
#include "engine/healing/request.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/variables.hpp"
#include "util/jq.hpp"
#include "util/percent.hpp"
#include "util/secrets/strike_out.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using Writing = effect::Request::Writing;

/// How values are written into the body: as the request says what it is, and JSON where it says nothing.
Writing body_as(const std::vector<std::string>& headers) {
  for (const std::string& header : headers) {
    const std::size_t colon = header.find(':');
    if (!iequals(trim(std::string_view(header).substr(0, colon)), "content-type") || colon == std::string::npos)
      continue;
    const std::string type = to_lower(header.substr(colon + 1));
    if (type.find("json") != std::string::npos) return Writing::Json;
    return type.find("x-www-form-urlencoded") != std::string::npos ? Writing::Percent : Writing::Plain;
  }
  return Writing::Json;
}

/// What the `$NAME`s of a filter are bound to.
std::string bound(const std::string& filter, const Variables& variables, const Variables& secrets) {
  std::string text;
  for (const std::string& name : jq_variables(filter)) {
    const auto secret = secrets.find(name);
    const auto value = secret == secrets.end() ? variables.find(name) : secret;
    if (value != secrets.end() && value != variables.end())
      text += fmt::format("{} as ${} | ", json_string(value->second), name);
  }
  return text.empty() ? filter : text + filter;
}

}  // namespace

std::string without_user(std::string url) {
  const std::size_t begin = url.find("://");
  if (begin == std::string::npos) return url;
  const std::size_t host = begin + 3;
  const std::size_t at = url.substr(0, url.find_first_of("/?#", host)).rfind('@');
  if (at != std::string::npos && at > host) url.replace(host, at - host, kStruckOut);
  return url;
}

std::optional<std::string> write_value(Writing writing, const std::string& value) {
  if (writing == Writing::Json) {
    const std::string quoted = json_string(value);
    return quoted.substr(1, quoted.size() - 2);
  }
  if (has_controls(value)) return std::nullopt;
  if (writing == Writing::Plain) return value;
  return percent_encoded(value);
}

FilledRequest fill(const HttpRequest& request, const Variables& variables, const Variables& secrets) {
  FilledRequest filled;
  Variables all = variables;
  all.insert(secrets.begin(), secrets.end());
  const auto as = [](Writing writing) {
    return [writing](std::string_view, const std::string& value) { return write_value(writing, value); };
  };
  const auto taken = [&filled](FilledParts parts) {
    if (filled.missing.empty()) filled.missing = std::move(parts.missing);
    if (filled.refused.empty()) filled.refused = std::move(parts.refused);
    return std::move(parts.parts);
  };
  const auto text = [&](const std::string& written, const WriteValue& write) {
    return taken(fill_parts(written, all, write));
  };
  effect::Request& made = filled.request;
  made.method = request.method;
  // What a URL begins with is one already, as "${ENDPOINT}/stacks". A secret there is written so when it is read.
  const bool begins = request.url.starts_with("${") && !request.url.starts_with("${secret:");
  bool first = begins;
  made.url = text(request.url, [&first](std::string_view, const std::string& value) {
    return write_value(std::exchange(first, false) ? Writing::Plain : Writing::Percent, value);
  });
  first = begins;
  const FilledParts shown = fill_parts(request.url, all, [&](std::string_view name, const std::string& value) {
    const Writing writing = std::exchange(first, false) ? Writing::Plain : Writing::Percent;
    return secrets.contains(name) ? std::string(kStruckOut) : write_value(writing, value);
  });
  for (const auto& [part, secret] : shown.parts) made.shown += secret ? kStruckOut : part;
  made.shown = printable(without_user(std::move(made.shown)));
  for (const std::string& header : request.headers) made.headers.push_back(text(header, as(Writing::Plain)));
  made.body_as = body_as(request.headers);
  made.body = text(request.body, as(made.body_as));
  for (const auto& [part, secret] : taken(fill_parts(request.body_file, variables, as(Writing::Plain))))
    made.body_file += part;
  made.follow = request.follow;
  made.insecure = request.insecure;
  made.limit = request.limit;
  made.safe = request.only_asks();
  made.hidden = values_of(secrets);
  return filled;
}

JsonTest bind(JsonTest test, const Variables& variables, const Variables& secrets) {
  test.filter = bound(test.filter, variables, secrets);
  return test;
}

Saving bind(Saving saving, const Variables& variables, const Variables& secrets) {
  if (saving.from == Saving::From::Json) saving.what = bound(saving.what, variables, secrets);
  return saving;
}

bool is_met(const JsonTest& test, const std::optional<std::string>& value) {
  return value && compare(test, *value).value_or(false);
}

std::optional<std::string> value_that_meets(const JsonTest& test) {
  for (const std::string& value : {wanted_value(test), std::string("[]"), std::string("-1e308"), std::string("1e308"),
                                   json_string(""), json_string(test.value + "\x7F")})
    if (is_met(test, value)) return value;
  return std::nullopt;
}

std::optional<std::string> stand_in(const JsonTest& test, const std::optional<std::string>& value) {
  return is_met(test, value) ? value_that_meets(test) : std::nullopt;
}

std::string describe_expected(const std::vector<std::uint16_t>& expect) {
  if (expect.empty()) return "200 to 299";
  std::vector<std::string> words;
  for (const std::uint16_t status : expect) words.push_back(std::to_string(status));
  return join_words(words, "or");
}

bool is_expected(const std::vector<std::uint16_t>& expect, std::uint16_t status) {
  return expect.empty() ? status >= 200 && status <= 299 : std::ranges::find(expect, status) != expect.end();
}

event::Answered expected_answer(const effect::Request& request) {
  event::Answered answer{.request = request.request, .status = request.expected};
  for (const JsonTest& test : request.wanted) answer.values.push_back(value_that_meets(test));
  for (const JsonTest& test : request.failing) {
    const auto same = std::ranges::find(request.wanted, test.filter, &JsonTest::filter);
    answer.values.push_back(same == request.wanted.end() ? std::nullopt : value_that_meets(*same));
  }
  for (const Saving& saving : request.saves) answer.saved.emplace_back(saving.name);
  return answer;
}

}  // namespace healer::engine
