// SPDX-License-Identifier: MIT
// What is asked and answered over HTTP, as plain values: who reads sockets makes a Request of them, and who answers
// knows no sockets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "control/socket/server.hpp"

namespace healer::web {

enum class Method : std::uint8_t { Get, Head, Post, Put, Patch, Delete, Options, Other };

[[nodiscard]] Method method_of(std::string_view name);
[[nodiscard]] std::string_view to_string(Method method);
/// Whether a request of this method changes nothing (RFC 9110, 9.2.1).
[[nodiscard]] constexpr bool is_safe(Method method) {
  return method == Method::Get || method == Method::Head || method == Method::Options;
}

/// Names and values in the order in which they came; a name may come several times.
using Fields = std::vector<std::pair<std::string, std::string>>;

/// The first value of that name, in exactly this case; none: it did not come.
[[nodiscard]] std::optional<std::string_view> find(const Fields& fields, std::string_view name);
/// All values of that name.
[[nodiscard]] std::vector<std::string_view> find_all(const Fields& fields, std::string_view name);

/// What a client has shown when hands were shaken by TLS.
struct ClientCertificate {
  std::string name;    ///< its common name; empty: it has none, several, or nobody vouches for it
  std::string sha256;  ///< of the certificate itself: 64 hexadecimal digits, in lower case

  bool operator==(const ClientCertificate&) const = default;
};

/// What stands in a path for a slash that was sent percent-encoded: it is part of a name, and parts nothing. No path
/// has such a byte otherwise.
inline constexpr char kEncodedSlash = '\0';
/// A path as a Request has it, of one as it was sent.
[[nodiscard]] std::string decoded_path(std::string_view sent);

/// Why a request cannot be taken as it was sent.
struct Unfit {
  unsigned status = 400;
  std::string why;
};

struct Request {
  Method method = Method::Get;
  std::string path = "/";  ///< decoded, begins with a slash; see kEncodedSlash
  Fields query{};          ///< decoded
  Fields headers{};        ///< see header()
  Fields cookies{};
  Fields form{};  ///< of a body of the type application/x-www-form-urlencoded, decoded
  std::string body{};
  std::string
      peer{};  ///< the address it comes from, behind a trusted proxy the one that this names; empty: a unix socket
  bool secure = false;                                     ///< it came by TLS
  std::optional<Unfit> unfit{};                            ///< parts of it may be missing then
  std::shared_ptr<const ClientCertificate> certificate{};  ///< null: its client has shown none

  /// The first header of that name, in any case.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

/// A body that is made while it is read: see control::Answer.
using Stream = control::Answer;
using control::Wake;

struct Response {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
  Fields headers{};                  ///< others than Content-Type and those that each response has
  std::unique_ptr<Stream> stream{};  ///< in place of `body`
};

/// A response that is not there yet: asked for again after a Wake. Destroyed when its client has gone.
class Deferred {
 public:
  virtual ~Deferred() = default;
  virtual std::optional<Response> poll() = 0;
};

using Reply = std::variant<Response, std::unique_ptr<Deferred>>;

/// The words that go with a status: "Not Found".
[[nodiscard]] std::string_view reason_of(unsigned status);

/// Whether a browser has sent it, as its headers say: for a page of anybody's, perhaps.
[[nodiscard]] bool is_from_browser(const Request& request);

/// The host of "host:port" or "[address]:port", without brackets.
[[nodiscard]] std::string_view host_of(std::string_view authority);

/// What stands in a URL between the two slashes and the next one; empty: it has none.
[[nodiscard]] std::string_view authority_of(std::string_view url);

/// Whether it was sent to an address, to this machine's name `host`, or to the host of `url` (`set url`, or empty), as
/// the header Host says. Where no password is needed, a page of anybody's could have its own name lead here (DNS
/// rebinding), and ask in the name of whoever sees it.
[[nodiscard]] bool names_machine(const Request& request, std::string_view host, std::string_view url);

}  // namespace healer::web
