// SPDX-License-Identifier: MIT
#include "config/probe_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "grammar/lexer.hpp"
#include "protocols/digest.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

using protocols::Operator;
using protocols::Option;
using protocols::OptionType;
using protocols::ProbePlan;
using protocols::Setting;
using protocols::Transport;

struct Piece {
  std::string_view raw;  // as written
  std::string text;      // what it says
  bool quoted = false;
};

constexpr std::array<std::string_view, 16> kNoise{"of",   "for",  "with",    "within", "the", "is",
                                                  "to",   "in",   "and",     "using",  "use", "on",
                                                  "only", "than", "options", "option"};

constexpr std::string_view kSigns = "{}[],;";

/// The words of a text. `,` and `;` are words only within `[ ]`.
std::vector<Piece> split(std::string_view text, std::optional<ProbeTextFault>& fault) {
  std::vector<Piece> words;
  bool brackets = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (std::string_view(" \t\r\n").find(c) != std::string_view::npos || (!brackets && (c == ',' || c == ';'))) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    bool quoted = false;
    if (c == '"' || c == '\'') {
      const std::size_t close = text.find(c, i + 1);
      if (close == std::string_view::npos) {
        fault = ProbeTextFault{i, text.size() - i, fmt::format("this {} is never closed", c), ""};
        return {};
      }
      end = close + 1;
      quoted = true;
    } else if (kSigns.find(c) != std::string_view::npos) {
      brackets = c == '[' || (brackets && c != ']');
    } else if (std::string_view("<>=!").find(c) != std::string_view::npos) {
      while (end < text.size() && text[end] == '=') ++end;
    } else {
      const bool url = text.substr(i, 7) == "http://" || text.substr(i, 8) == "https://";
      const std::string_view stops = brackets ? "],\n" : url ? " \t\r\n\"'" : " \t\r\n{}[],;\"'=<>";
      while (end < text.size() && stops.find(text[end]) == std::string_view::npos) ++end;
    }
    const std::string_view raw = text.substr(i, end - i);
    words.push_back({raw, quoted ? grammar::unquote(raw) : std::string(trim(raw)), quoted});
    i = end;
  }
  return words;
}

std::optional<Operator> operator_of(std::string_view word) {
  struct Spelling {
    std::string_view word;
    Operator op;
  };
  constexpr std::array<Spelling, 21> kSpellings{
      {{"=", Operator::Equal},           {"==", Operator::Equal},        {"eq", Operator::Equal},
       {"equal", Operator::Equal},       {"!=", Operator::NotEqual},     {"ne", Operator::NotEqual},
       {"notequal", Operator::NotEqual}, {"<", Operator::Less},          {"lt", Operator::Less},
       {"less", Operator::Less},         {"<=", Operator::LessEqual},    {"le", Operator::LessEqual},
       {">", Operator::Greater},         {"gt", Operator::Greater},      {"greater", Operator::Greater},
       {"more", Operator::Greater},      {">=", Operator::GreaterEqual}, {"ge", Operator::GreaterEqual},
       {"older", Operator::Greater},     {"newer", Operator::Less},      {"is", Operator::Equal}}};
  for (const Spelling& one : kSpellings)
    if (iequals(one.word, word)) return one.op;
  return std::nullopt;
}

/// Reads one plan. The first fault ends the reading: it is thrown within this file only.
class ProbeReader {
 public:
  ProbeReader(std::string_view text, std::vector<Piece> words) : text_(text), words_(std::move(words)) {}

  ProbePlan read(std::string_view host);

 private:
  using Clause = void (ProbeReader::*)();
  struct Entry {
    std::string_view word;
    Clause clause;
  };
  static std::span<const Entry> table();

  [[nodiscard]] const Piece* peek() const { return next_ < words_.size() ? &words_[next_] : nullptr; }
  [[noreturn]] void fail(std::string message, std::string remedy = {}) const;
  [[noreturn]] void fail_here(std::string message, std::string remedy = {});
  const Piece& take(std::string_view what);
  bool skip(std::initializer_list<std::string_view> words);
  void skip_noise();
  std::uint64_t number(std::string_view what, std::uint64_t least, std::uint64_t most);
  Operator comparison(Operator usual);
  Duration time(std::string_view what, Duration unit);
  std::string text(std::string_view what) { return take(what).text; }
  std::string checksum();
  protocols::TlsPlan& tls();

  void port() { plan_.port = static_cast<std::uint16_t>(number("a port", 1, 65535)); }
  void host() { plan_.host = text("a host"); }
  void source() { plan_.source = text("an address"); }
  void v4() { plan_.family = protocols::Family::V4; }
  void v6() { plan_.family = protocols::Family::V6; }
  void type();
  void start_tls();
  void tls_options();
  void tls_option(const Piece& word);
  void certificate();
  void protocol();
  void option(const Option& option);
  void headers(const Option& option);
  void send() { step("send"); }
  void expect() { step("expect"); }
  void step(std::string_view word);
  void response_time();
  void timeout();
  void retry() { plan_.attempts = static_cast<unsigned>(number("a number of attempts", 1, 1000)); }
  void unix_socket();
  void ping() { ping_of(protocols::Family::Any); }
  void ping4() { ping_of(protocols::Family::V4); }
  void ping6() { ping_of(protocols::Family::V6); }
  void ping_of(protocols::Family family);
  void count() { plan_.pings = static_cast<unsigned>(number("a number of pings", 1, 20)); }
  void size() { plan_.ping_size = static_cast<unsigned>(number("a size in bytes", 8, 1492)); }
  void url();
  void take_content();
  void finish();

  std::string_view text_;
  std::vector<Piece> words_;
  std::size_t next_ = 0;
  ProbePlan plan_;
  bool is_url_ = false;
};

std::span<const ProbeReader::Entry> ProbeReader::table() {
  static constexpr Entry kTable[] = {{"port", &ProbeReader::port},
                                     {"portnumber", &ProbeReader::port},
                                     {"host", &ProbeReader::host},
                                     {"address", &ProbeReader::source},
                                     {"ipv4", &ProbeReader::v4},
                                     {"ipv6", &ProbeReader::v6},
                                     {"type", &ProbeReader::type},
                                     {"ssl", &ProbeReader::start_tls},
                                     {"tls", &ProbeReader::start_tls},
                                     {"certificate", &ProbeReader::certificate},
                                     {"protocol", &ProbeReader::protocol},
                                     {"proto", &ProbeReader::protocol},
                                     {"send", &ProbeReader::send},
                                     {"expect", &ProbeReader::expect},
                                     {"responsetime", &ProbeReader::response_time},
                                     {"timeout", &ProbeReader::timeout},
                                     {"retry", &ProbeReader::retry},
                                     {"unixsocket", &ProbeReader::unix_socket},
                                     {"unix", &ProbeReader::unix_socket},
                                     {"ping", &ProbeReader::ping},
                                     {"ping4", &ProbeReader::ping4},
                                     {"ping6", &ProbeReader::ping6},
                                     {"count", &ProbeReader::count},
                                     {"size", &ProbeReader::size},
                                     {"url", &ProbeReader::url}};
  return kTable;
}

// ---- words --------------------------------------------------------------------------------------------------------

void ProbeReader::fail(std::string message, std::string remedy) const {
  // At the word that was read last.
  const std::string_view raw = next_ == 0 ? std::string_view{} : words_[next_ - 1].raw;
  throw ProbeTextFault{raw.empty() ? text_.size() : static_cast<std::size_t>(raw.data() - text_.data()),
                       std::max<std::size_t>(raw.size(), 1), std::move(message), std::move(remedy)};
}

void ProbeReader::fail_here(std::string message, std::string remedy) {
  if (next_ < words_.size()) {
    ++next_;
    fail(std::move(message), std::move(remedy));
  }
  throw ProbeTextFault{text_.size(), 1, std::move(message), std::move(remedy)};
}

const Piece& ProbeReader::take(std::string_view what) {
  if (next_ >= words_.size()) fail_here(fmt::format("{} is missing", what));
  return words_[next_++];
}

bool ProbeReader::skip(std::initializer_list<std::string_view> words) {
  if (peek() == nullptr || peek()->quoted ||
      std::ranges::none_of(words, [&](auto one) { return iequals(one, peek()->text); }))
    return false;
  ++next_;
  return true;
}

void ProbeReader::skip_noise() {
  while (peek() != nullptr && !peek()->quoted &&
         std::ranges::any_of(kNoise, [&](auto one) { return iequals(one, peek()->text); }))
    ++next_;
}

std::uint64_t ProbeReader::number(std::string_view what, std::uint64_t least, std::uint64_t most) {
  const std::string& word = take(what).text;
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || rest != word.data() + word.size() || value < least || value > most)
    fail(fmt::format("expected {} between {} and {}", what, least, most));
  return value;
}

Operator ProbeReader::comparison(Operator usual) {
  if (peek() == nullptr || peek()->quoted) return usual;
  const auto op = operator_of(peek()->text);
  if (!op) return usual;
  ++next_;
  (void)skip({"than"});
  return *op;
}

Duration ProbeReader::time(std::string_view what, Duration unit) {
  const std::uint64_t value = number(what, 1, 86'400'000);
  if (skip({"ms", "millisecond", "milliseconds"})) return Duration{value};
  if (skip({"s", "second", "seconds"})) return seconds{value};
  if (skip({"m", "minute", "minutes"})) return minutes{value};
  return value * unit;
}

std::string ProbeReader::checksum() {
  (void)skip({"=", "=="});
  (void)skip({"md5", "sha1", "sha256", "sha512"});
  (void)skip({"=", "=="});
  std::string digits;
  for (const char c : to_lower(text("a checksum")))
    if (c != ':') digits += c;
  if (!protocols::is_checksum(digits)) {
    std::vector<std::string> known;
    for (const protocols::ChecksumType& type : protocols::kChecksumTypes)
      known.push_back(fmt::format("{} ({})", type.digits, type.name));
    fail(fmt::format("a checksum has {} hexadecimal digits", join_words(known, "or")));
  }
  return digits;
}

// ---- clauses ------------------------------------------------------------------------------------------------------

protocols::TlsPlan& ProbeReader::tls() {
  if (!plan_.tls) plan_.tls.emplace();
  return *plan_.tls;
}

void ProbeReader::type() {
  const std::string word = to_lower(text("tcp, udp or tcpssl"));
  if (word == "udp") {
    plan_.transport = Transport::Udp;
  } else if (word == "tcpssl") {
    tls();
    if (peek() != nullptr && !peek()->quoted &&
        (to_lower(peek()->text).starts_with("ssl") || to_lower(peek()->text).starts_with("tlsv") ||
         iequals(peek()->text, "auto")))
      tls_option({"version", "version", false});
  } else if (word != "tcp") {
    fail("expected tcp, udp or tcpssl");
  }
}

void ProbeReader::start_tls() {
  tls();
  skip_noise();
  if (skip({"{"})) tls_options();
}

void ProbeReader::tls_options() {
  while (!skip({"}"})) {
    Piece word = take("'}'");
    if (word.text.ends_with(':')) {
      word.text.pop_back();
    } else {
      (void)skip({":"});
    }
    tls_option(word);
  }
}

void ProbeReader::tls_option(const Piece& word) {
  const std::string name = to_lower(word.text);
  protocols::TlsPlan& plan = tls();
  const auto yes = [&](std::string_view on, std::string_view off) {
    const std::string value = to_lower(text(fmt::format("{} or {}", on, off)));
    if (value != on && value != off) fail(fmt::format("expected {} or {}", on, off));
    return value == on;
  };
  if (name == "verify") {
    plan.verify = yes("enable", "disable");
  } else if (name == "selfsigned") {
    plan.allow_self_signed = yes("allow", "reject");
  } else if (name == "ciphers") {
    plan.ciphers = text("a list of ciphers");
  } else if (name == "pemfile" || name == "clientpemfile") {
    plan.client_certificate = text("a file");
  } else if (name == "cacertificatefile") {
    plan.ca_file = text("a file");
  } else if (name == "cacertificatepath") {
    plan.ca_path = text("a folder");
  } else if (name == "version") {
    struct Version {
      std::string_view word;
      unsigned bits;
    };
    constexpr unsigned kAuto = protocols::kTls12 | protocols::kTls13;
    constexpr std::array<Version, 8> kVersions{{{"auto", kAuto},
                                                {"sslauto", kAuto},
                                                {"ssl", kAuto},
                                                {"tls", kAuto},
                                                {"tlsv1", protocols::kTls10},
                                                {"tlsv11", protocols::kTls11},
                                                {"tlsv12", protocols::kTls12},
                                                {"tlsv13", protocols::kTls13}}};
    const std::string value = to_lower(text("a version"));
    const auto found = std::ranges::find(kVersions, std::string_view(value), &Version::word);
    if (found == kVersions.end())
      fail("expected auto, tlsv1, tlsv11, tlsv12 or tlsv13", "OpenSSL speaks no older ones any more");
    plan.versions = static_cast<std::uint8_t>(plan.versions | found->bits);
  } else {
    fail(fmt::format("there is no option '{}' of TLS", word.text));
  }
}

void ProbeReader::certificate() {
  if (skip({"checksum"})) {
    tls().checksum = checksum();
    return;
  }
  if (!skip({"valid"})) fail_here("expected 'checksum' or 'valid' after 'certificate'");
  skip_noise();
  (void)comparison(Operator::Greater);
  tls().valid_days = static_cast<int>(number("a number of days", 0, 100'000));
  (void)skip({"day", "days"});
}

void ProbeReader::protocol() {
  const std::string name = text("a protocol");
  plan_.protocol = protocols::find_protocol(name);
  if (plan_.protocol == nullptr) {
    std::vector<std::string_view> names;
    for (const auto* one : protocols::registry()) names.push_back(one->name);
    const std::string_view near = nearest_word(name, names);
    fail(fmt::format("protocol '{}' is not spoken", printable(name)),
         near.empty() ? fmt::format("these are: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near));
  }
  while (peek() != nullptr) {
    const std::size_t before = next_;
    skip_noise();
    const Option* found = peek() == nullptr || peek()->quoted ? nullptr : plan_.protocol->find(peek()->text);
    if (found == nullptr && peek() != nullptr && iequals(peek()->text, plan_.protocol->name) &&
        next_ + 1 < words_.size() &&
        plan_.protocol->find(words_[next_ + 1].text) != nullptr) {  // Monit's `http headers [...]`
      ++next_;
      continue;
    }
    if (found == nullptr) {
      next_ = before;
      return;
    }
    ++next_;
    option(*found);
  }
}

void ProbeReader::option(const Option& option) {
  if (!option.repeats && std::ranges::find(plan_.settings, option.word, &Setting::word) != plan_.settings.end())
    fail(fmt::format("'{}' is given twice", option.word));
  Setting setting{.word = option.word};
  switch (option.type) {
    case OptionType::Flag: break;
    case OptionType::Text:
    case OptionType::Secret:
    case OptionType::Pattern: setting.text = text("a text"); break;
    case OptionType::Choice: {
      setting.text = to_lower(text(option.choices));
      if (("|" + std::string(option.choices) + "|").find("|" + setting.text + "|") == std::string::npos)
        fail(fmt::format("expected {}", option.choices));
      break;
    }
    case OptionType::Number: setting.number = static_cast<std::int64_t>(number("a number", 0, 1'000'000'000)); break;
    case OptionType::Compared:
    case OptionType::Share:
      setting.op = comparison(Operator::Equal);
      setting.number = static_cast<std::int64_t>(number("a number", 0, 1'000'000'000));
      break;
    case OptionType::Matched:
      setting.op = comparison(Operator::Equal);
      if (setting.op != Operator::Equal && setting.op != Operator::NotEqual) fail("expected = or !=");
      setting.text = text("an expression");
      break;
    case OptionType::Checksum: setting.text = checksum(); break;
    case OptionType::Headers: return headers(option);
  }
  plan_.settings.push_back(std::move(setting));
}

void ProbeReader::headers(const Option& option) {
  if (!skip({"["})) fail_here("expected '[' before the headers");
  while (!skip({"]"})) {
    if (skip({","})) continue;
    const std::string header = text("']'");
    if (header.find(':') == std::string::npos) fail("a header is written NAME: VALUE");
    plan_.settings.push_back({.word = option.word, .text = header});
  }
}

void ProbeReader::step(std::string_view word) {
  static const protocols::Protocol* const generic = protocols::find_protocol("generic");
  if (plan_.protocol != nullptr && plan_.protocol != generic) fail("'send' and 'expect' are a protocol of their own");
  plan_.protocol = generic;
  plan_.settings.push_back({.word = generic->find(word)->word, .text = text("a text")});
}

void ProbeReader::response_time() {
  // Monit compares for equality where no operator stands: that never holds.
  const Operator op = comparison(Operator::Less);
  plan_.response_time = protocols::ResponseTime{op, time("a time", milliseconds{1})};
}

void ProbeReader::timeout() { plan_.timeout = time("a time", seconds{1}); }

void ProbeReader::unix_socket() {
  plan_.transport = Transport::Unix;
  plan_.host = text("a path");
}

void ProbeReader::ping_of(protocols::Family family) {
  plan_.transport = Transport::Ping;
  plan_.family = family;
}

void ProbeReader::url() {
  std::string rest = text("a URL");
  const bool secure = to_lower(rest.substr(0, 8)) == "https://";
  if (!secure && to_lower(rest.substr(0, 7)) != "http://") fail("a URL begins with http:// or https://");
  rest.erase(0, secure ? 8 : 7);
  plan_.protocol = protocols::find_protocol(secure ? "https" : "http");
  const std::size_t slash = std::min(rest.find_first_of("/?#"), rest.size());
  std::string place = rest.substr(0, slash);
  std::string path = rest.substr(slash);
  path.erase(std::min(path.find('#'), path.size()));
  if (const std::size_t at = place.rfind('@'); at != std::string::npos) {
    const std::string user = place.substr(0, at);
    const std::size_t colon = user.find(':');
    plan_.settings.push_back({.word = "username", .text = user.substr(0, colon)});
    plan_.settings.push_back({.word = "password", .text = colon == std::string::npos ? "" : user.substr(colon + 1)});
    place.erase(0, at + 1);
  }
  const bool v6 = place.starts_with('[');
  const std::size_t close = v6 ? place.find(']') : std::string::npos;
  if (v6 && close == std::string::npos) fail("the ']' of its address is missing");
  const std::size_t colon = place.find(':', v6 ? close : 0);
  plan_.host = v6 ? place.substr(1, close - 1) : place.substr(0, colon);
  plan_.port = plan_.protocol->port;
  if (colon != std::string::npos) {
    const std::string digits = place.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), plan_.port);
    if (error != std::errc{} || end != digits.data() + digits.size() || plan_.port == 0)
      fail("the port of this URL is no number between 1 and 65535");
  }
  if (plan_.host.empty()) fail("this URL has no host");
  if (path.empty() || path[0] != '/') path.insert(0, "/");
  plan_.settings.push_back({.word = "request", .text = path});
  is_url_ = true;
  skip_noise();
  if (peek() != nullptr && !peek()->quoted && iequals(peek()->text, "content")) {
    ++next_;
    option(*plan_.protocol->find("content"));
  }
}

void ProbeReader::finish() {
  if (plan_.transport == Transport::Ping) return;
  if (plan_.protocol == nullptr) plan_.protocol = protocols::find_protocol("default");
  if (plan_.port == 0) plan_.port = plan_.protocol->port;
  const bool upgrades = plan_.protocol->upgrades != nullptr && plan_.protocol->upgrades(plan_.settings);
  if (plan_.protocol->tls == protocols::TlsStart::Always || upgrades) tls();
}

ProbePlan ProbeReader::read(std::string_view host) {
  plan_.host = host;
  (void)skip({"if"});
  if (!skip({"failed"})) (void)skip({"succeeded"});
  if (words_.empty() && !host.starts_with('/')) plan_.transport = Transport::Ping;
  if (words_.empty() && host.starts_with('/')) plan_.transport = Transport::Unix;
  while (peek() != nullptr) {
    skip_noise();
    if (peek() == nullptr || skip({"then"})) break;
    const Piece& word = words_[next_];
    const auto entry =
        std::ranges::find_if(table(), [&](const Entry& one) { return !word.quoted && iequals(one.word, word.text); });
    if (entry == table().end()) {
      std::vector<std::string_view> names;
      for (const Entry& one : table()) names.push_back(one.word);
      if (plan_.protocol != nullptr)
        for (const Option& one : plan_.protocol->options) names.push_back(one.word);
      const std::string_view near = word.quoted ? std::string_view{} : nearest_word(word.text, names);
      fail_here(fmt::format("unexpected {}", printable(word.raw)),
                near.empty() ? "" : fmt::format("did you mean '{}'?", near));
    }
    ++next_;
    (this->*entry->clause)();
  }
  finish();
  if (std::string wrong = protocols::fault(plan_); !wrong.empty())
    throw ProbeTextFault{text_.size(), 1, std::move(wrong), ""};
  return std::move(plan_);
}

}  // namespace

std::variant<ProbePlan, ProbeTextFault> read_probe(std::string_view host, std::string_view text) {
  const bool is_url = host.find("://") != std::string_view::npos;
  const std::string whole = is_url ? fmt::format("url {} {}", host, text) : std::string(text);
  std::optional<ProbeTextFault> fault;
  std::vector<Piece> words = split(whole, fault);
  if (!fault) {
    try {
      return ProbeReader(whole, std::move(words)).read(is_url ? std::string_view{} : host);
    } catch (const ProbeTextFault& thrown) {
      fault = thrown;
    }
  }
  if (is_url) fault->begin -= std::min(fault->begin, host.size() + 5);  // as it was written
  return *fault;
}

std::string show_fault(std::string_view text, const ProbeTextFault& fault) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  std::string shown = fmt::format("    {}\n    {:{}}^{:~<{}}\n", line, "", std::min(fault.begin, line.size()), "",
                                  fault.length > 0 ? fault.length - 1 : 0);
  if (!fault.remedy.empty()) shown += fmt::format("  note: {}\n", fault.remedy);
  return shown;
}

}  // namespace healer::config
