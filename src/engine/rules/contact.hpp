// SPDX-License-Identifier: MIT
// `set contact NAME KIND ...`: whom alerts reach otherwise than by mail. What a kind makes of it, delivery/contact
// says.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "util/time.hpp"

namespace healer::engine {

/// How long a contact's server may take for one answer.
inline constexpr Duration kContactTimeout{10'000};

/// A contact, as it is written: values of templates are not filled in, secrets not read.
struct Contact {
  std::string name;
  std::string kind;                  ///< "url", ...: the name of a delivery::Kind
  std::string place;                 ///< the text behind the kind; empty: there is none
  std::string method;                ///< upper case; empty: that of the kind
  std::vector<std::string> headers;  ///< "Name: value"
  std::string body;
  Duration timeout = kContactTimeout;
  std::vector<std::pair<std::string, std::string>> settings{};  ///< options of the kind alone: name and text

  bool operator==(const Contact&) const = default;
};

}  // namespace healer::engine
