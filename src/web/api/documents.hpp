// SPDX-License-Identifier: MIT
// The documents that the API answers with: those of `healerctl --json`, with `next` where a page has one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "control/queries.hpp"
#include "control/wire.hpp"
#include "web/backend.hpp"
#include "web/message.hpp"
#include "web/verbs.hpp"

namespace healer::web {

[[nodiscard]] Response document(const control::Json& json);

/// `version`, `command` and `daemon`: how each document begins.
[[nodiscard]] control::Json head_of(const Backend& backend, control::Verb verb);

/// Those of its fields that are asked for; of an empty list all.
[[nodiscard]] control::Json pick(const control::Json& item, const std::vector<std::string>& fields);

/// A list with what follows it in the document.
[[nodiscard]] Response list_document(control::Json head, std::string_view list, control::Json items,
                                     const control::Json& tail);

/// What answers a request of the control protocol that lists something: `tail` makes what follows the list of its end.
[[nodiscard]] std::function<Response(const Outcome&)> listing(
    std::string list, std::vector<std::string> fields, std::function<control::Json(const control::Json& end)> tail);

/// What answers one that acts, or says one thing: a document with the fields of its end.
[[nodiscard]] Response told(const Outcome& outcome);

/// A page of services, made while it is read.
[[nodiscard]] Response services_document(const Backend& backend, control::Verb verb, const control::ServicesPage& page,
                                         std::vector<std::string> fields);

/// "null", or the cursor.
[[nodiscard]] control::Json next_of(const std::string& cursor);

}  // namespace healer::web
