// SPDX-License-Identifier: MIT
#include "config/compile/connection.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "config/compile/url.hpp"
#include "config/diagnostic.hpp"
#include "config/syntax/vocabulary.hpp"
#include "config/text/rule_text.hpp"
#include "config/text/secret.hpp"
#include "protocols/digest.hpp"
#include "protocols/tls_versions.hpp"
#include "util/jq.hpp"
#include "util/regex.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

using protocols::Option;
using protocols::OptionType;
using protocols::ProbePlan;
using protocols::Protocol;
using protocols::Setting;
using protocols::Transport;
using Target = ConnectionSyntax::Target;

constexpr std::uint64_t kMaxPort = 65535;
constexpr std::uint64_t kLeastPing = 8;
constexpr std::uint64_t kMostPing = 1492;
constexpr std::uint64_t kMostPings = 1000;
constexpr std::uint64_t kMostAttempts = 1000;
constexpr std::uint64_t kMostDays = 36500;
constexpr std::int64_t kMostRedirects = 20;

/// What is sent and expected is said in no protocol of its own.
bool is_talk(std::string_view word) { return word == "send" || word == "expect"; }

protocols::Operator operator_of(ComparisonWord word) {
  using protocols::Operator;
  switch (word) {
    case ComparisonWord::Equal: return Operator::Equal;
    case ComparisonWord::NotEqual: return Operator::NotEqual;
    case ComparisonWord::Less: return Operator::Less;
    case ComparisonWord::LessEqual: return Operator::LessEqual;
    case ComparisonWord::Greater: return Operator::Greater;
    case ComparisonWord::GreaterEqual: return Operator::GreaterEqual;
  }
  return Operator::Equal;
}

/// `1E:D9:48...`, as OpenSSL prints it, in plain digits.
std::string checksum_digits(std::string_view written) {
  std::string digits = to_lower(written);
  std::erase_if(digits, [](char c) { return c == ':' || c == '-'; });
  return digits;
}

/// `Host: a, User-Agent: b`: each in its place in `text`.
std::vector<std::string_view> split_headers(std::string_view text) {
  std::vector<std::string_view> headers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(",\n", at), text.size());
    if (const std::string_view header = trim(text.substr(at, end - at)); !header.empty()) headers.push_back(header);
    at = end + 1;
  }
  return headers;
}

class ConnectionReader {
 public:
  ConnectionReader(const ConnectionSyntax& test, const SourceRange& range) : test_(test), range_(range) {}

  ConnectionReading read(const std::string& host, const engine::Limits& limits) {
    ProbePlan& plan = out_.plan;
    plan.host = host;
    plan.timeout = limits.network_timeout;
    plan.limits = {.send_expect = limits.send_expect_buffer, .http_content = limits.http_content_buffer};
    switch (test_.target) {
      case Target::Port: port(); break;
      case Target::UnixSocket:
        plan.transport = Transport::Unix;
        plan.host = test_.place.value;
        break;
      case Target::Ping: ping(); break;
      case Target::Url: url(); break;
    }
    if (test_.source) source(*test_.source);
    if (test_.family) plan.family = family();
    if (test_.timeout && test_.timeout->value == Duration{0})
      warn(test_.timeout->range, "a timeout of 0 would end every test at once: the default is used");
    else if (test_.timeout)
      plan.timeout = std::min<Duration>(test_.timeout->value, kMaxDuration);
    too_many(test_.retry, kMostAttempts);
    too_many(test_.count, kMostPings);
    if (test_.retry)
      plan.attempts = static_cast<unsigned>(std::clamp<std::uint64_t>(test_.retry->value, 1, kMostAttempts));
    if (test_.response_time)
      plan.response_time =
          protocols::ResponseTime{operator_of(test_.response_comparison.value_or(ComparisonWord::Less)),
                                  std::chrono::duration_cast<protocols::microseconds>(
                                      std::clamp(test_.response_time->value, Duration{0}, kMaxDuration))};
    if (plan.transport != Transport::Ping) talk();
    never();
    return std::move(out_);
  }

 private:
  void error(const SourceRange& place, std::string message, std::string remedy = {}) {
    out_.errors.push_back({place, std::move(message), std::move(remedy)});
  }
  void warn(const SourceRange& place, std::string message, std::string remedy = {}) {
    out_.warnings.push_back({place, std::move(message), std::move(remedy)});
  }

  void too_many(const Rare<Number>& number, std::uint64_t most) {
    if (number && number->value > most) warn(number->range, fmt::format("this is read as {}", most));
  }

  // ---- what is connected to

  void port() {
    ProbePlan& plan = out_.plan;
    if (!test_.place.value.empty()) plan.host = test_.place.value;
    if (test_.port->value < 1 || test_.port->value > kMaxPort)
      warn(test_.port->range, fmt::format("there is no port {}: nothing will ever answer there", test_.port->value),
           fmt::format("ports are numbered from 1 to {}", kMaxPort));
    else
      plan.port = static_cast<std::uint16_t>(test_.port->value);
    if (!test_.transport) return;
    if (test_.transport->value == "udp") plan.transport = Transport::Udp;
    if (test_.transport->value == "tcpssl") tls();
  }

  static std::string as_port(const Protocol& protocol) {
    return fmt::format("test a port of the server, as in 'failed port {} type udp protocol {}'", protocol.port,
                       protocol.name);
  }

  /// What Monit takes, too, though it can only fail.
  void never() {
    const ProbePlan& plan = out_.plan;
    if (!out_.errors.empty()) return;
    if (plan.host.empty() && plan.transport != Transport::Unix)
      return warn(range_, "no host is given: this test always fails", "write the name or the address of one");
    if (plan.transport == Transport::Unix && plan.protocol != nullptr && plan.protocol->only_datagrams)
      return warn(test_.protocol->range, fmt::format("this test always fails: {}", protocols::fault(plan)),
                  as_port(*plan.protocol));
    if (plan.transport != Transport::Udp || plan.protocol == nullptr || plan.port == 0) return;
    if (const std::string fault = protocols::fault(plan); !fault.empty())
      warn(range_, fmt::format("this test always fails: {}", fault));
  }

  void ping() {
    ProbePlan& plan = out_.plan;
    if (test_.count && test_.count->value == 0) warn(test_.count->range, "at least one ping is sent");
    plan.transport = Transport::Ping;
    if (test_.place.value == "ping4") plan.family = protocols::Family::V4;
    if (test_.place.value == "ping6") plan.family = protocols::Family::V6;
    if (test_.count) plan.pings = static_cast<unsigned>(std::clamp<std::uint64_t>(test_.count->value, 1, kMostPings));
    if (!test_.size) return;
    if (test_.size->value < kLeastPing || test_.size->value > kMostPing)
      return error(test_.size->range, fmt::format("a ping cannot have {} bytes", test_.size->value),
                   fmt::format("it has from {} to {}", kLeastPing, kMostPing));
    plan.ping_size = static_cast<unsigned>(test_.size->value);
  }

  void url() {
    ProbePlan& plan = out_.plan;
    UrlParts parts = split_url(test_.place.value);
    if (!parts.wrong.empty())
      return error(test_.place.range, parts.wrong, "a URL is written http://HOST/PATH or https://HOST/PATH");
    plan.protocol = protocols::find_protocol(parts.secure ? "https" : "http");
    plan.host = std::move(parts.host);
    plan.port = plan.protocol->port;
    if (!parts.port.empty()) {
      std::uint16_t number = 0;
      const auto [rest, wrong] = std::from_chars(parts.port.data(), parts.port.data() + parts.port.size(), number);
      plan.port = wrong == std::errc{} && rest == parts.port.data() + parts.port.size() ? number : std::uint16_t{0};
      if (plan.port == 0)
        warn(test_.place.range,
             "the port of this URL is not a number between 1 and 65535: nothing will ever answer there");
    }
    if (parts.user) add("username", std::move(*parts.user));
    if (parts.password) add("password", std::move(*parts.password));
    add("request", std::move(parts.path));
  }

  void source(const Word& address) {
    const std::string& text = address.value;
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1 && inet_pton(AF_INET, text.c_str(), bytes.data()) != 1)
      return error(address.range, fmt::format("{} is not an address to send from", in_quotes(text)),
                   "write an IP address of this machine, as in 'address 192.0.2.1'");
    out_.plan.source = text;
  }

  [[nodiscard]] protocols::Family family() const {
    return test_.family->value == "ipv4" ? protocols::Family::V4 : protocols::Family::V6;
  }

  // ---- TLS

  protocols::TlsPlan& tls() {
    if (!out_.plan.tls) out_.plan.tls.emplace();
    return *out_.plan.tls;
  }

  void access() {
    if (test_.tls) {
      tls();
      if (test_.tls->version) tls_version(*test_.tls->version);
      for (const auto& [name, value] : test_.tls->options) tls_option(name.value, value);
    }
    if (test_.valid_days) tls().valid_days = static_cast<int>(std::min(test_.valid_days->value, kMostDays));
    if (!test_.checksum) return;
    const std::string digits = checksum_digits(test_.checksum->value);
    const protocols::ChecksumType* type = protocols::find_checksum(digits.size());
    const bool fits = type != nullptr && (!test_.checksum_type || iequals(type->name, test_.checksum_type->value));
    if (!fits || !protocols::is_hex(digits))
      return error(test_.checksum->range,
                   fmt::format("{} is not a valid {}checksum", in_quotes(test_.checksum->value),
                               test_.checksum_type ? test_.checksum_type->value + " " : ""),
                   "MD5 has 32 hexadecimal digits, SHA1 40, SHA256 64, SHA512 128");
    tls().checksum = digits;
  }

  void tls_option(std::string_view name, const Word& value) {
    protocols::TlsPlan& plan = tls();
    if (name == "version") tls_version(value);
    if (name == "verify") plan.verify = iequals(value.value, "enable");
    if (name == "selfsigned") plan.allow_self_signed = iequals(value.value, "allow");
    if (name == "ciphers") plan.ciphers = value.value;
    if (name == "cacertificatefile") plan.ca_file = value.value;
    if (name == "cacertificatepath") plan.ca_path = value.value;
    if (name == "pemkey" || name == "pemchain")
      warn(value.range, fmt::format("'{}' is not used: the key and the certificates are read from one file", name),
           "write both into one file, and 'clientpemfile: PATH'");
    if (name == "clientpemfile" || (name == "pemfile" && plan.client_certificate.empty()))
      plan.client_certificate = value.value;
  }

  void tls_version(const Word& word) { tls().versions = protocols::with_tls_version(tls().versions, word.value); }

  // ---- what is said

  void talk() {
    ProbePlan& plan = out_.plan;
    access();
    if (test_.protocol) plan.protocol = protocols::find_protocol(test_.protocol->value);
    const auto unknown = std::ranges::find_if(test_.settings, [&](const SettingSyntax& one) {
      return is_talk(one.name.value) && (plan.protocol == nullptr || plan.protocol->find(one.name.value) == nullptr);
    });
    const bool talks = unknown != test_.settings.end();
    if (talks && plan.protocol != nullptr && plan.protocol->name != "default")
      return error(unknown->name.range,
                   fmt::format("'{}' is not an option of protocol {}", unknown->name.value, plan.protocol->name),
                   "'send' and 'expect' are only used without a protocol");
    if (talks) plan.protocol = protocols::find_protocol("generic");
    if (plan.protocol == nullptr) plan.protocol = protocols::find_protocol("default");
    for (const SettingSyntax& setting : test_.settings) this->setting(setting);
    if (!out_.errors.empty()) return;
    const bool upgrades = plan.protocol->upgrades != nullptr && plan.protocol->upgrades(plan.settings);
    if (plan.protocol->tls == protocols::TlsStart::Always || upgrades) tls();
    const auto key =
        std::ranges::find(test_.settings, "rsakey checksum", [](const SettingSyntax& one) { return one.name.value; });
    if (plan.tls && key != test_.settings.end())
      error(key->name.range, "with TLS the server is checked by its certificate, not its key",
            "write certificate checksum \"...\"");
    const auto is_name = [](const SettingSyntax& one) { return one.name.value == "username"; };
    if (key != test_.settings.end() && std::ranges::none_of(test_.settings, is_name))
      error(key->name.range, "the key of a server is only seen by one who logs in",
            "write username \"...\" password \"...\" before it");
    // Monit wants limits of an Apache, and something to ask a WebSocket.
    if (plan.settings.empty() && (plan.protocol->name == "apache-status" || plan.protocol->name == "websocket"))
      error(test_.protocol->range, fmt::format("protocol {} needs an option", plan.protocol->name),
            fmt::format("it has {}", options_of(*plan.protocol)));
    // Over a unix socket, which Monit takes with `type udp`, it fails (never()).
    const bool is_udp = plan.transport == Transport::Udp || (test_.transport && test_.transport->value == "udp");
    if (plan.protocol->name == "radius" && !is_udp)
      error(test_.protocol->range, "RADIUS is spoken over UDP alone",
            plan.transport == Transport::Unix ? as_port(*plan.protocol) : "write 'type udp' before the protocol");
    if (plan.protocol->only_datagrams && plan.transport == Transport::Tcp) plan.transport = Transport::Udp;
    if (plan.protocol->fault != nullptr)
      if (const std::string wrong = plan.protocol->fault(plan.settings); !wrong.empty()) error(range_, wrong);
    if (plan.protocol->warning != nullptr)
      if (const std::string odd = plan.protocol->warning(plan.settings); !odd.empty()) warn(range_, odd);
  }

  void setting(const SettingSyntax& written) {
    const Protocol& protocol = *out_.plan.protocol;
    const std::string& name = written.name.value;
    const Option* option = protocol.find(name);
    // Monit takes a content anywhere, and looks for it in what HTTP brings.
    if (option == nullptr && name == "content")
      return warn(written.name.range, fmt::format("protocol {} has no content: it is not searched", protocol.name),
                  "write 'protocol http' before it");
    const Protocol* http = protocols::find_protocol("http");
    if (option == nullptr && !test_.protocol && test_.target == Target::Port && http->find(name) != nullptr)
      return error(written.name.range, fmt::format("'{}' is an option of a protocol, and none is named", name),
                   "write 'protocol http' before it");
    if (option == nullptr)
      return error(written.name.range, fmt::format("protocol {} has no option '{}'", protocol.name, name),
                   options_of(protocol).empty() ? "" : fmt::format("it has {}", options_of(protocol)));
    Setting setting{.word = option->word, .op = operator_of(written.comparison.value_or(ComparisonWord::Equal))};
    const std::string& text = written.value.value;
    switch (option->type) {
      case OptionType::Flag: break;
      case OptionType::Text:
      case OptionType::Secret: setting.text = text; break;
      case OptionType::Choice: setting.text = to_lower(text); break;
      case OptionType::Pattern:
      case OptionType::Matched:
        if (const std::string problem = pattern_problem(text); !problem.empty())
          return error(written.value.range,
                       fmt::format("{} is not a valid regular expression: {}", in_quotes(text), problem));
        if (const PatternSlip slip = pattern_slip(text); !slip.written.empty())
          warn(written.value.range, fmt::format("'{}' is {} in a POSIX regular expression", slip.written, slip.meaning),
               fmt::format("write {}", slip.meant));
        setting.text = text;
        break;
      case OptionType::Number:
      case OptionType::Compared:
      case OptionType::Lag:
      case OptionType::Share:
        setting.number = number(text);
        if (name == "redirects" && setting.number > kMostRedirects) {
          warn(written.value.range, fmt::format("at most {} redirects are followed", kMostRedirects));
          setting.number = kMostRedirects;
        }
        break;
      case OptionType::Checksum:
        setting.text = checksum_digits(text);
        if (!protocols::is_checksum(setting.text))
          return error(written.value.range, fmt::format("{} is not a checksum", in_quotes(text)),
                       "MD5 has 32 hexadecimal digits, SHA1 40, SHA256 64");
        if (const std::string& type = written.of.value;
            !type.empty() && !iequals(protocols::find_checksum(setting.text.size())->name, type))
          return error(written.value.range, fmt::format("{} is not a valid {} checksum", in_quotes(text), type),
                       fmt::format("it has {} hexadecimal digits", protocols::find_checksum(type)->digits));
        break;
      case OptionType::Headers: return headers(*option, written);
      case OptionType::Json:
        if (const std::string problem = jq_problem(written.of.value); !problem.empty())
          return error(written.of.range,
                       fmt::format("{} is not a valid jq filter: {}", in_quotes(written.of.value), problem));
        if (!written.is_text && !is_json_literal(text))
          return error(written.value.range, fmt::format("{} is not a JSON value", in_quotes(text)),
                       "put a text in quotes; others are numbers, true, false and null");
        setting.text = written.of.value;
        setting.value = written.is_text ? json_string(text) : text;
        break;
      case OptionType::Object:
        setting.text = written.of.value;
        if (!written.comparison) break;
        if (!written.is_text && !is_number(text))
          return error(written.value.range, fmt::format("{} is not a number", in_quotes(text)), "put a text in quotes");
        setting.value = written.is_text ? json_string(text) : text;
        break;
      case OptionType::Body:
        setting.text = text;
        if (written.is_file) setting.value = "file";
        break;
    }
    if (!option->repeats)
      std::erase_if(out_.plan.settings, [&](const Setting& one) { return one.word == option->word; });
    out_.plan.settings.push_back(std::move(setting));
  }

  void headers(const Option& option, const SettingSyntax& written) {
    for (const std::string_view header : split_headers(written.value.value)) {
      const std::size_t colon = header.find(':');
      // A blank behind the colon is a value of its own, as in Monit; nothing is none.
      const std::string_view all = written.value.value;
      const std::size_t value = static_cast<std::size_t>(header.data() - all.data()) + colon + 1;
      if (colon == std::string_view::npos || value >= all.size() || all[value] == ',')
        return error(written.value.range, "this is not a list of headers",
                     "a header is written NAME: VALUE, with ',' between two of them");
      if (colon == 0) {
        warn(written.value.range, "a header without a name is not sent", "a header is written NAME: VALUE");
        continue;
      }
      out_.plan.settings.push_back({.word = option.word, .text = std::string(header)});
    }
  }

  void add(std::string_view word, std::string text) {
    out_.plan.settings.push_back({.word = out_.plan.protocol->find(word)->word, .text = std::move(text)});
  }

  static bool is_number(std::string_view text) {
    return is_json_literal(text) && text.find_first_of("0123456789") != std::string_view::npos;
  }

  static std::int64_t number(std::string_view digits) {
    std::int64_t value = 0;
    const auto [rest, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return wrong == std::errc{} ? value : std::numeric_limits<std::int64_t>::max();
  }

  static std::string options_of(const Protocol& protocol) {
    std::string words;
    for (const Option& option : protocol.options)
      words += fmt::format("{}'{}'", words.empty() ? "" : ", ", option.word);
    return words;
  }

  const ConnectionSyntax& test_;
  SourceRange range_;
  ConnectionReading out_;
};

// ---- canonical text

std::string comparison_text(ComparisonWord word) { return std::string(to_symbol(comparison(word))); }

std::string tls_text(const TlsSyntax& tls) {
  const engine::TlsOptions options = tls_options(tls);
  return options.empty() ? " using tls" : " using tls with options " + written(options);
}

/// Nobody may read a secret in a rule's text, which stands in the log and in the status.
std::string setting_text(const SettingSyntax& setting, const Protocol* protocol) {
  const std::string& name = setting.name.value;
  if (name == "headers") {
    std::string list;
    for (const std::string_view header : split_headers(setting.value.value)) {
      const std::string_view field = trim(header.substr(0, header.find(':')));
      list += list.empty() ? "" : ", ";
      list += is_open_header(field) ? fmt::format("{}{}", header, header.ends_with(':') ? " " : "")
                                    : fmt::format("{}: {}", field, kHidden);
    }
    return fmt::format(" http headers [{}]", list);
  }
  const Option* option = protocol != nullptr ? protocol->find(name) : nullptr;
  const OptionType type = option != nullptr ? option->type : OptionType::Text;
  std::string text = " " + name;
  if (!setting.of.value.empty())  // of a checksum its kind, a word
    text += " " + (type == OptionType::Checksum ? setting.of.value : written_text(setting.of.value));
  if (setting.comparison || type == OptionType::Compared || type == OptionType::Lag || type == OptionType::Share)
    text += " " + comparison_text(setting.comparison.value_or(ComparisonWord::Equal));
  switch (type) {
    case OptionType::Flag: return text;
    case OptionType::Object:
      if (!setting.comparison) return text;
      [[fallthrough]];
    case OptionType::Json:
      return text + " " + (setting.is_text ? written_text(setting.value.value) : setting.value.value);
    case OptionType::Body:  // it may hold a login
      return text + (setting.is_file ? " file " + written_word(setting.value.value) : fmt::format(" \"{}\"", kHidden));
    case OptionType::Secret: return text + fmt::format(" \"{}\"", kHidden);
    case OptionType::Choice: return text + " " + to_lower(setting.value.value);
    case OptionType::Number:
    case OptionType::Compared: return text + " " + setting.value.value;
    case OptionType::Lag: return text + " " + setting.value.value + " ms";
    case OptionType::Share: return text + " " + setting.value.value + "%";
    case OptionType::Checksum: return text + fmt::format(" \"{}\"", checksum_digits(setting.value.value));
    default: return text + " " + written_text(setting.value.value);
  }
}

std::string target_text(const ConnectionSyntax& test) {
  switch (test.target) {
    case Target::Port:
      return fmt::format("{}port {}", test.place.value.empty() ? "" : "host " + written_text(test.place.value) + " ",
                         test.port->value);
    case Target::UnixSocket: return "unixsocket " + written_word(test.place.value);
    case Target::Ping: return test.place.value;
    case Target::Url: return "url " + shown_url(test.place.value);
  }
  return {};
}

}  // namespace

ConnectionReading read_connection(const ConnectionSyntax& test, const SourceRange& range, const std::string& host,
                                  const engine::Limits& limits) {
  return ConnectionReader(test, range).read(host, limits);
}

std::string connection_text(const ConnectionSyntax& test) {
  const Protocol* protocol = test.protocol ? protocols::find_protocol(test.protocol->value) : nullptr;
  std::string text = fmt::format("{} {}", test.succeeded ? "succeeded" : "failed", target_text(test));
  if (test.count) text += fmt::format(" count {}", test.count->value);
  if (test.size) text += fmt::format(" size {}", test.size->value);
  if (test.source) text += " address " + written_text(test.source->value);
  if (test.family) text += " " + test.family->value;
  if (test.transport) text += " type " + test.transport->value;
  if (test.tls) text += tls_text(*test.tls);
  if (test.checksum) text += fmt::format(" certificate checksum \"{}\"", checksum_digits(test.checksum->value));
  if (test.valid_days) text += fmt::format(" certificate valid > {} days", test.valid_days->value);
  if (protocol != nullptr) text += fmt::format(" protocol {}", protocol->name);
  const auto is_own = [](const SettingSyntax& one) { return !is_talk(one.name.value) && one.name.value != "content"; };
  for (const SettingSyntax& setting : test.settings)
    if (is_own(setting)) text += setting_text(setting, protocol);
  for (const SettingSyntax& setting : test.settings)
    if (!is_own(setting)) text += setting_text(setting, protocol);
  if (test.response_time) {
    // Without an operator Monit wants the time to be met exactly, which no answer does.
    text += fmt::format(" responsetime {} ", comparison_text(test.response_comparison.value_or(ComparisonWord::Less)));
    const Duration time = test.response_time->value;
    text += time % seconds{1} == Duration{0} ? fmt::format("{} s", std::chrono::duration_cast<seconds>(time).count())
                                             : fmt::format("{} ms", time.count());
  }
  if (test.timeout) text += " timeout " + written(test.timeout->value);
  if (test.retry) text += fmt::format(" retry {}", test.retry->value);
  return text;
}

}  // namespace healer::config
