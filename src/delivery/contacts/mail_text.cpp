// SPDX-License-Identifier: MIT
#include "delivery/contacts/mail_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::delivery {
namespace {

constexpr std::size_t kMaxLine = 998;     // RFC 5322, without CRLF
constexpr std::size_t kEncodedLine = 76;  // RFC 2045
constexpr std::size_t kWordBytes = 45;    // of text in an encoded word: 60 of base64 and 12 around it, of 75 allowed
constexpr std::size_t kMaxAddress = 320;  // RFC 5321: 64 of the local part, 255 of the domain
constexpr std::size_t kHeaderLabelBytes = 9;  // "Subject: " on the first line

bool control(char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; }
bool continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
bool ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// At most `limit` bytes of `text`, not ending within a UTF-8 sequence.
std::string_view cut(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && continuation(text[limit])) --limit;
  return text.substr(0, limit);
}

/// One line of valid UTF-8: line ends and control characters become blanks, several of them one.
std::string one_line(std::string_view text) {
  std::string line;
  bool pending = false;
  for (const char c : text) {
    if (control(c)) {
      pending = true;
      continue;
    }
    if (pending && !line.empty()) line += ' ';
    pending = false;
    line += c;
  }
  return printable(line);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) result += i + k > bytes.size() ? '=' : digits[bits >> (18 - 6 * k) & 63U];
  }
  return result;
}

/// Encoded words of RFC 2047, each with whole characters, one a line.
std::string encoded_words(std::string_view text) {
  std::string result;
  std::size_t room = kWordBytes - kHeaderLabelBytes;
  while (!text.empty()) {
    const std::string_view part = cut(text, room);
    if (!result.empty()) result += "\r\n ";
    result += "=?UTF-8?B?" + base64(part) + "?=";
    text.remove_prefix(part.size());
    room = kWordBytes;
  }
  return result;
}

bool needs_encoding(std::string_view line) { return !ascii(line) || line.find("=?") != std::string_view::npos; }

std::string quoted_printable(std::string_view body) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result;
  std::size_t column = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (c == '\r' && body.substr(i, 2) == "\r\n") {
      result += "\r\n";
      column = 0;
      ++i;
      continue;
    }
    const bool ends_line = body.substr(i + 1, 2) == "\r\n";
    const bool plain = (c > ' ' && c < 0x7F && c != '=') || ((c == ' ' || c == '\t') && !ends_line);
    const std::size_t width = plain ? 1 : 3;
    if (column + width > kEncodedLine - 1) {
      result += "=\r\n";
      column = 0;
    }
    if (plain) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += '=';
      result += digits[byte >> 4];
      result += digits[byte & 15U];
    }
    column += width;
  }
  return result;
}

}  // namespace

Mailbox parse_mailbox(std::string_view text) {
  Mailbox result;
  std::string_view address = text;
  if (const std::size_t open = text.rfind('<'); open != std::string_view::npos) {
    address = text.substr(open + 1);
    address = address.substr(0, address.find('>'));
    std::string_view name = trim(text.substr(0, open));
    if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
    result.name = one_line(name);
  } else if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    // As in Monit, what stands beside it is the name.
    const std::size_t begin = text.find_last_of(" \t", at) + 1;
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    address = text.substr(begin, end - begin);
    result.name = one_line(trim(fmt::format("{} {}", trim(text.substr(0, begin)), trim(text.substr(end)))));
  }
  for (const char c : address)
    if (!control(c) && std::string_view(" <>,;\"").find(c) == std::string_view::npos) result.address += c;
  if (result.address.size() > kMaxAddress) result.address.clear();
  return result;
}

std::string header_mailbox(const Mailbox& mailbox) {
  if (mailbox.name.empty()) return mailbox.address;
  const std::string_view name = cut(mailbox.name, 200);
  std::string result;
  if (needs_encoding(name)) {
    result = encoded_words(name);
  } else {
    result = '"';
    for (const char c : name) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    result += '"';
  }
  return result + " <" + mailbox.address + ">";
}

std::string header_text(std::string_view text) {
  const std::string line = one_line(text.substr(0, 4 * kMaxHeader));
  const std::string_view bounded = cut(line, kMaxHeader);
  return needs_encoding(bounded) ? encoded_words(bounded) : std::string(bounded);
}

Body mail_body(std::string_view text) {
  std::string body;
  std::string piece;
  std::size_t line_start = 0;
  bool long_line = false;
  const bool whole = text.size() <= kMaxBody;
  text = cut(text, kMaxBody);
  const auto flush = [&] {
    body += printable(piece);
    piece.clear();
  };
  const auto end_line = [&] {
    flush();
    long_line = long_line || body.size() - line_start > kMaxLine;
    body += "\r\n";
    line_start = body.size();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '\r') {
      if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
      end_line();
    } else if (c == '\t') {
      flush();
      body += c;
    } else if (c != '\0') {
      piece += c;
    }
  }
  if (!piece.empty() || body.size() > line_start) end_line();
  if (!whole) body += "[cut]\r\n";
  if (long_line) return {quoted_printable(body), "quoted-printable"};
  return {std::move(body), "8bit"};
}

std::string header_date(const CivilTime& civil) {
  const std::int64_t offset = civil.offset.count() / 60;
  return fmt::format("{} {}{:02}{:02}", format_monit_date(civil), offset < 0 ? '-' : '+', std::abs(offset) / 60,
                     std::abs(offset) % 60);
}

std::string id_host(std::string_view host) {
  std::string result;
  for (const char c : host)
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-') result += c;
  return result.empty() ? "localhost" : result;
}

std::string mail_text(const MailHeaders& headers, const Body& body) {
  std::string text;
  if (!headers.reply_to.empty()) text += fmt::format("Reply-To: {}\r\n", headers.reply_to);
  text += fmt::format("From: {}\r\n", headers.from);
  text += fmt::format("To: {}\r\n", headers.to);
  text += fmt::format("Subject: {}\r\n", headers.subject);
  text += fmt::format("Date: {}\r\n", headers.date);
  text += fmt::format("X-Mailer: healer {}\r\n", headers.version);
  text += "MIME-Version: 1.0\r\n";
  text += "Content-Type: text/plain; charset=utf-8\r\n";
  text += fmt::format("Content-Transfer-Encoding: {}\r\n", body.encoding);
  text += fmt::format("Message-Id: <{}>\r\n", headers.id);
  text += "Auto-Submitted: auto-generated\r\n\r\n";
  text += body.text;
  return text;
}

std::string header_of(std::string_view mail, std::string_view name) {
  mail = mail.substr(0, mail.find("\r\n\r\n"));
  while (!mail.empty()) {
    std::size_t end = mail.find("\r\n");
    while (end != std::string_view::npos && mail.substr(end + 2, 1) == " ") end = mail.find("\r\n", end + 2);
    const std::string_view line = mail.substr(0, end);
    if (line.starts_with(name) && line.substr(name.size(), 2) == ": ") return std::string(line.substr(name.size() + 2));
    mail.remove_prefix(end == std::string_view::npos ? mail.size() : end + 2);
  }
  return {};
}

std::string body_of(std::string_view mail) {
  const bool encoded = header_of(mail, "Content-Transfer-Encoding") == "quoted-printable";
  const std::size_t start = mail.find("\r\n\r\n");
  std::string_view body = start == std::string_view::npos ? std::string_view() : mail.substr(start + 4);
  std::string result;
  while (!body.empty()) {
    unsigned char byte = 0;
    if (body.starts_with("\r\n")) {
      result += '\n';
      body.remove_prefix(2);
    } else if (encoded && body.starts_with("=\r\n")) {
      body.remove_prefix(3);
    } else if (encoded && body.size() > 2 && body[0] == '=' &&
               std::from_chars(body.data() + 1, body.data() + 3, byte, 16).ptr == body.data() + 3) {
      result += static_cast<char>(byte);
      body.remove_prefix(3);
    } else {
      result += body[0];
      body.remove_prefix(1);
    }
  }
  return result;
}

}  // namespace healer::delivery
