// SPDX-License-Identifier: MIT
// What a list is read from.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/healing/saving.hpp"
#include "engine/steps/http.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::config {

/// `for each NODE from http "URL" ... rows 'F' name 'F'`. Texts are as written: secrets, and the token, are put in when
/// they are sent.
struct HttpList {
  static constexpr std::uint64_t kMost = std::uint64_t{64} << 20;  ///< bytes, of all pages together
  static constexpr std::size_t kMostPages = 1'000;

  /// `with token http post "URL" ... save header "X-Subject-Token" as TOKEN`: taken before the first request, and anew
  /// after a 401.
  struct Token {
    engine::HttpRequest request;
    std::vector<std::uint16_t> expect;  ///< status codes; empty: 200 to 299
    engine::Saving saving;
  };

  engine::HttpRequest request;  ///< its limit is that of all pages together
  Duration timeout{30'000};     ///< of each request
  std::optional<Token> token{};
  std::string next{};      ///< a filter that says where the next page is; empty: there is one page, or:
  bool next_link = false;  ///< the header Link does
  // The rest is not of the call: lists that differ by nothing else share it.
  std::string rows = ".[]";    ///< a filter: the rows of a page
  std::string name = ".name";  ///< a filter: the name of a row

  /// Names the call, which all lists with the same share: a hash, since there may be credentials in it.
  [[nodiscard]] std::string call_key() const;
  /// Names the list: ListSource::file. No path of a file begins so.
  [[nodiscard]] std::string key() const;
};

/// What a list is read from: a command, a file, or over HTTP.
struct ListSource {
  std::string name;                        ///< of `for each`: "NODE"
  std::vector<std::string> command;        ///< program and arguments; empty: it is a file, or:
  std::string file;                        ///< its path; of a list over HTTP its HttpList::key()
  std::shared_ptr<const HttpList> http{};  ///< null also where only the key is known, as of what was saved

  bool operator==(const ListSource& other) const {
    return std::tie(name, command, file) == std::tie(other.name, other.command, other.file);
  }
  auto operator<=>(const ListSource& other) const {
    return std::tie(name, command, file) <=> std::tie(other.name, other.command, other.file);
  }
};

/// Names a list over all reloads: engine::ListedSpec::list.
[[nodiscard]] Hash128 key_of(const ListSource& source);
/// For people: "command /usr/bin/list -a", "file /etc/nodes", "http get https://10.0.0.1:6443/api/v1/nodes".
[[nodiscard]] std::string describe(const ListSource& source);

}  // namespace healer::config
