// SPDX-License-Identifier: MIT
// The requests of healings, and whether their secrets can be read.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/http_calls.hpp"
#include "daemon/secrets.hpp"
#include "daemon/shells/acting.hpp"
#include "engine/healing/request.hpp"
#include "engine/rules/settings.hpp"
#include "runtime/files/secret_file.hpp"

namespace healer {

using namespace engine;

runtime::HttpCaller& Acting::caller() {
  if (!caller_) caller_ = std::make_unique<runtime::HttpCaller>(parts_.loop);
  return *caller_;
}

runtime::HttpCall http_call_of(effect::Request effect, const Settings& settings) {
  using Writing = effect::Request::Writing;
  runtime::HttpCall call{.method = std::move(effect.method),
                         .body_file = std::move(effect.body_file),
                         .follow = effect.follow,
                         .insecure = effect.insecure,
                         .safe = effect.safe,
                         .limit = effect.limit,
                         .timeout = effect.timeout,
                         .tls = settings.tls_options,
                         .saves = std::move(effect.saves),
                         .hidden = std::move(effect.hidden)};
  for (JsonTest& test : effect.wanted) call.filters.push_back(std::move(test.filter));
  for (JsonTest& test : effect.failing) call.filters.push_back(std::move(test.filter));
  const auto has_secret = [](const effect::Request::Text& text) {
    return std::ranges::any_of(text, &effect::Place::Part::secret);
  };
  const bool has_secrets =
      has_secret(effect.url) || has_secret(effect.body) || std::ranges::any_of(effect.headers, has_secret);
  auto say_rest = [url = std::move(effect.url), headers = std::move(effect.headers), body = std::move(effect.body),
                   body_as = effect.body_as, folder = settings.secrets](runtime::HttpCall& whole) -> Result<void> {
    std::optional<Error> trouble;
    const auto text_of = [&](const effect::Request::Text& parts, Writing first, Writing writing) {
      Result<std::string> text =
          with_secrets(parts, folder, whole.hidden, [first, writing](const std::string& secret, bool begins) {
            return write_value(begins ? first : writing, secret);
          });
      if (!text && !trouble) trouble = text.error();
      return text ? std::move(*text) : std::string();
    };
    whole.url = text_of(url, Writing::Plain, Writing::Percent);  // what it begins with is one already
    for (const auto& header : headers) whole.headers.push_back(text_of(header, Writing::Plain, Writing::Plain));
    whole.body = text_of(body, body_as, body_as);
    return trouble ? Result<void>(*trouble) : Result<void>();
  };
  // As for programs: secrets are not read here.
  if (has_secrets)
    call.complete = std::move(say_rest);
  else
    (void)say_rest(call);
  return call;
}

void Acting::request(effect::Request effect) {
  if (!effect.secrets.empty()) return inspect_secrets(effect);
  const ActionId id = effect.request;
  caller().call(id, http_call_of(std::move(effect), *parts_.engine.graph()->settings),
                [this](event::Answered answer) { handle_(answer); });
}

/// Their folder may be on a disk that does not answer.
void Acting::inspect_secrets(const effect::Request& request) {
  const auto why = std::make_shared<std::string>("its secrets could not be looked at in time");
  auto check = [why, names = request.secrets, folder = parts_.engine.graph()->settings->secrets] {
    why->clear();
    for (const std::string& name : names)
      if (const Result<void> readable = runtime::check_secret(name, folder); !readable && why->empty())
        *why = readable.error().what;
    return std::string();
  };
  caller().read(request.request, std::move(check), {}, [this, why](event::Answered answer) {
    answer.why = *why;
    answer.kind = why->empty() ? event::Answered::Kind::Whole : event::Answered::Kind::Failed;
    handle_(answer);
  });
}

void Acting::end(const effect::EndRequest& effect) { caller().end(effect.request); }

}  // namespace healer
