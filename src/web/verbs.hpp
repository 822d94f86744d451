// SPDX-License-Identifier: MIT
// A request of the control protocol whose answer becomes a response over HTTP: its lines are gathered and read, until
// it is complete.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "control/wire.hpp"
#include "web/backend.hpp"
#include "web/message.hpp"
#include "web/router.hpp"

namespace healer::web {

/// An answer of the control protocol, complete.
struct Gathered {
  control::Json header;
  std::vector<control::Json> items;
  control::Json end;
};

using Outcome = std::variant<Gathered, control::Failure>;

/// Makes a response of an answer when that is complete.
[[nodiscard]] Reply gather(std::unique_ptr<control::Answer> answer, std::function<Response(const Outcome&)> respond);

/// Asks `request` in the name of the caller, and makes a response of what comes of it.
[[nodiscard]] Reply ask(const Backend& backend, const Call& call, const control::Request& request,
                        std::function<Response(const Outcome&)> respond);

}  // namespace healer::web
