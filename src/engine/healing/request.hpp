// SPDX-License-Identifier: MIT
// Requests of steps: how values come into them, and what an answer says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/act.hpp"
#include "engine/events/event.hpp"
#include "engine/healing/healing.hpp"
#include "engine/rules/workflow.hpp"

namespace healer::engine {

/// A value as it stands in a text of a request. Nothing: it holds control characters, which only JSON can write.
[[nodiscard]] std::optional<std::string> write_value(effect::Request::Writing writing, const std::string& value);

/// "https://*****@host/" of "https://user:password@host/".
[[nodiscard]] std::string without_user(std::string url);

/// A request whose values were filled in.
struct FilledRequest {
  effect::Request request;
  std::string missing;  ///< the first name that has no value; empty: all have
  std::string refused;  ///< the first name whose value cannot stand where it is written; empty: all can
};
/// `secrets`: values that nobody is to see. The rest of the request is for the step to say.
[[nodiscard]] FilledRequest fill(const HttpRequest& request, const Variables& variables, const Variables& secrets);

/// The test with values bound to the `$NAME`s of its filter.
[[nodiscard]] JsonTest bind(JsonTest test, const Variables& variables, const Variables& secrets);
[[nodiscard]] Saving bind(Saving saving, const Variables& variables, const Variables& secrets);

/// Whether a test of an answer is met. A value that is not known meets none.
[[nodiscard]] bool is_met(const JsonTest& test, const std::optional<std::string>& value);

/// A value of which the test says what it says of this one, and that tells nothing else of it.
[[nodiscard]] std::optional<std::string> stand_in(const JsonTest& test, const std::optional<std::string>& value);

/// "200 to 299", "200 or 202".
[[nodiscard]] std::string describe_expected(const std::vector<std::uint16_t>& expect);
[[nodiscard]] bool is_expected(const std::vector<std::uint16_t>& expect, std::uint16_t status);

/// A value that meets a test.
[[nodiscard]] std::optional<std::string> value_that_meets(const JsonTest& test);
/// The answer that a request hopes for; what it saves is called as the variables.
[[nodiscard]] event::Answered expected_answer(const effect::Request& request);

}  // namespace healer::engine
