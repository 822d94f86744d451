// SPDX-License-Identifier: MIT
// Mail text as RFC 5322, 2045 and 2047 want it. Pure. Whatever is handed in, nothing here lets it begin a header line
// of its own, hide a control character or make a line longer than a server takes.
#pragma once

#include <string>
#include <string_view>

#include "util/time.hpp"

namespace healer::delivery {

/// A person's name (may be empty) and address.
struct Mailbox {
  std::string name;
  std::string address;  ///< without angle brackets, white space and control characters

  bool operator==(const Mailbox&) const = default;
};

/// Takes `a@b`, `<a@b>`, `A B <a@b>` and `"A B" <a@b>` apart; what cannot stand in an address is left out of it. One
/// that is longer than an address may be is empty.
[[nodiscard]] Mailbox parse_mailbox(std::string_view text);

/// The mailbox as a header's value: `a@b` or `"A B" <a@b>`, the name encoded where it is not ASCII.
[[nodiscard]] std::string header_mailbox(const Mailbox& mailbox);

/// Text as a header's value: on one line (runs of line ends and control characters become one blank), at most
/// kMaxHeader bytes, as encoded words where it is not plain ASCII.
[[nodiscard]] std::string header_text(std::string_view text);
inline constexpr std::size_t kMaxHeader = 900;

/// The body as it is sent, and how it is encoded.
struct Body {
  std::string text;           ///< lines end with CRLF
  std::string_view encoding;  ///< "8bit", or "quoted-printable" where a line is too long
};

/// Text as a body: line ends become CRLF; NUL is left out, other control characters and bytes that are not UTF-8
/// become visible (\x1b); at most kMaxBody bytes of it, after which it says that it was cut.
[[nodiscard]] Body mail_body(std::string_view text);
inline constexpr std::size_t kMaxBody = 256 * 1024;

/// Values of headers, as header_mailbox() and header_text() make them.
struct MailHeaders {
  std::string reply_to;  ///< empty: none
  std::string from;
  std::string to;
  std::string subject;
  std::string date;
  std::string version;  ///< of healer
  std::string id;       ///< of the message, without angle brackets
};

/// The whole mail.
[[nodiscard]] std::string mail_text(const MailHeaders& headers, const Body& body);

/// "Sat, 21 Nov 2026 04:19:24 +0100".
[[nodiscard]] std::string header_date(const CivilTime& civil);

/// A host name as it may stand in a Message-Id.
[[nodiscard]] std::string id_host(std::string_view host);

/// The value of a header of such a mail, over several lines where it was so; empty: it has none.
[[nodiscard]] std::string header_of(std::string_view mail, std::string_view name);

/// The body of such a mail as it was before mail_body(), but for what that made visible; lines end with a newline.
[[nodiscard]] std::string body_of(std::string_view mail);

}  // namespace healer::delivery
