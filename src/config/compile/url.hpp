// SPDX-License-Identifier: MIT
// URLs as tests and statements have them, split as Monit splits them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace healer::config {

/// `https://user:password@host:port/path?query#fragment` in its parts, as they are written.
struct UrlParts {
  bool secure = false;
  std::optional<std::string> user, password;
  std::string host;   ///< without the brackets of an address
  std::string port;   ///< digits; empty: none is written
  std::string path;   ///< with the query; "/" where there is none
  std::string wrong;  ///< why it is not an HTTP URL, without what may be a secret; empty: it is one
};

/// To Monit all between `//`, a ':' and the next '@' are credentials, be there a '/' among them.
[[nodiscard]] UrlParts split_url(std::string_view url);

/// Whether Monit takes the name of the host in a URL: letters, digits and '-', in parts with '.' between them.
[[nodiscard]] bool is_monit_host(std::string_view host);

/// Whether UrlParts::port can be: a number from 1 to 65535, or none.
[[nodiscard]] bool is_port(std::string_view port);

/// What is wrong with the port of a URL if that is a number; empty: nothing.
[[nodiscard]] std::string port_problem(std::string_view url);
inline constexpr std::string_view kPortRemedy = "ports go from 1 to 65535";

/// Where the password is in a URL, in bytes from its beginning: [first, second). Both 0: there is none.
[[nodiscard]] std::pair<std::size_t, std::size_t> password_in_url(std::string_view url);

/// The URL with "*****" for its password.
[[nodiscard]] std::string shown_url(std::string_view url);

/// Who asks with HTTP Basic. In both texts `${NAME}` stands for a value, and `$${` for `${`.
struct Login {
  std::string user, password;
};

/// The URL `http://HOST...` with a login in front of its host, which has none there. What `${NAME}` stands for is
/// encoded when it is put in.
[[nodiscard]] std::string url_with_login(std::string_view url, const Login& login);

/// A URL without the login in front of its host, and that.
[[nodiscard]] std::pair<std::string, std::optional<Login>> without_login(std::string_view url);

}  // namespace healer::config
