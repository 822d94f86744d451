// SPDX-License-Identifier: MIT
// `set contact`, and the alerts that go to contacts: names, templates, and options that the kind of a contact has.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "config/compile/url.hpp"
#include "config/passes/passes.hpp"
#include "config/passes/workflow_variables.hpp"
#include "delivery/contact.hpp"
#include "engine/healing/variables.hpp"
#include "util/jq.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

constexpr std::size_t kLongestContactName = 64;
constexpr Duration kLongestContactTimeout = minutes{10};

bool is_json(const std::string& text) {
  auto filter = JqFilter::compile(".");
  return !filter || filter->first(text);
}

/// Whether a header says how the request is framed, or which it is: with another one it would arrive as something else.
bool is_own_header(std::string_view name) {
  constexpr std::string_view kOwn[] = {
      "content-length", "transfer-encoding", "host",           "connection", "expect", "te",
      "trailer",        "upgrade",           "idempotency-key"};
  return std::ranges::find(kOwn, name) != std::end(kOwn);
}

/// The words that a message lists: "EVENT, SERVICE, ..., INCIDENT".
std::string known_names() {
  std::string text;
  for (const std::string_view name : delivery::template_names())
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  return text;
}

class ContactChecker {
 public:
  ContactChecker(const Document& document, const Sources& sources, Diagnostics& reported)
      : document_(document), sources_(sources), diagnostics_(reported) {}

  void run() {
    for_each_set<SetContact>(document_, [this](const SetContact& set, const SourceRange&) {
      const auto [known, is_new] = names_.try_emplace(to_lower(set.name.value), &set);
      if (is_new) return;
      const SourceRange& first = known->second->name.range;
      error(Code::DuplicateName, set.name.range,
            fmt::format("there is a contact {} already", in_quotes(set.name.value)),
            fmt::format("the first one is at {}:{}; case makes no difference", printable(sources_.at(first.file).path),
                        sources_.position(first.file, first.begin).line));
    });
    for_each_set<SetContact>(document_, [this](const SetContact& set, const SourceRange&) { contact(set); });
    for_each_set<SetAlert>(document_, [this](const SetAlert& set, const SourceRange&) { alert(set.alert); });
    for_each_check(document_, [this](const CheckSyntax& check) {
      for (const ServiceStatement& statement : check.statements)
        if (const auto* its = std::get_if<AlertSyntax>(&statement)) alert(*its);
    });
    for (const auto& [name, set] : names_)
      if (!used_.contains(name) && document_.is_whole)
        report(diagnostics_, DiagnosticSeverity::Warning, Code::NoEffect, set->name.range,
               fmt::format("no alert goes to the contact {}", in_quotes(set->name.value)),
               fmt::format("add 'set alert to {0}', or 'alert to {0}' to a service", printable(set->name.value)));
  }

 private:
  void error(Code code, const SourceRange& range, std::string message, std::string remedy = {}) {
    report(diagnostics_, DiagnosticSeverity::Error, code, range, std::move(message), std::move(remedy));
  }

  // ---- alerts

  void alert(const AlertSyntax& alert) {
    if (!alert.to_contact) return;
    const std::string name = to_lower(alert.address.value);
    used_.insert(name);
    if (!names_.contains(name) && document_.is_whole && !holds_variable(name)) {
      std::vector<std::string_view> known;
      for (const auto& [low, set] : names_) known.push_back(low);
      const std::string_view near = nearest_word(name, known);
      error(Code::UnknownName, alert.address.range,
            fmt::format("there is no contact {}", in_quotes(alert.address.value)),
            near.empty() ? "declare it, as in: set contact NAME url \"https://...\" body '{\"text\": \"${EVENT}\"}'"
                         : fmt::format("did you mean {}?", in_quotes(names_.at(std::string(near))->name.value)));
    }
    if (alert.digest)
      error(Code::WrongPlace, alert.digest_range, "'digest' is for mails, not for contacts", "remove it");
    if (alert.format_range.end > alert.format_range.begin)
      error(Code::WrongPlace, alert.format_range, "'mail-format' is for mails, not for contacts",
            "write what it is sent into 'set contact'");
  }

  // ---- contacts

  void contact(const SetContact& set) {
    const std::string& name = set.name.value;
    const auto is_letter = [](char c) { return lower(c) >= 'a' && lower(c) <= 'z'; };
    const auto is_plain_character = [&](char c) {
      return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
    };
    if (name.empty() || name.size() > kLongestContactName || !is_letter(name.front()) ||
        !std::ranges::all_of(name, is_plain_character))
      error(Code::InvalidValue, set.name.range, fmt::format("{} cannot be the name of a contact", in_quotes(name)),
            fmt::format("letters, digits, '-', '_' and '.', the first a letter, at most {}", kLongestContactName));
    if (set.timeout && (set.timeout->value <= Duration{0} || set.timeout->value > kLongestContactTimeout))
      error(Code::OutOfRange, set.timeout->range,
            fmt::format("the timeout of a contact is between 1 ms and {}", format_duration(kLongestContactTimeout)));
    const delivery::Kind* const kind = delivery::find_kind(set.kind.value);
    if (kind == nullptr) return unknown_kind(set.kind);
    place(set, *kind);
    for (const Word& header : set.headers) {
      if (const std::size_t colon = header.value.find(':'); colon == 0 || colon == std::string::npos)
        error(Code::InvalidValue, header.range, "this is not a header", "as in: header \"Accept: application/json\"");
      else if (const std::string field = to_lower(trim(header.value.substr(0, colon))); is_own_header(field))
        error(Code::WrongPlace, header.range, fmt::format("healer sets the header '{}' itself", field), "remove it");
      one_line(header);
      values(header);
    }
    if (set.method && !kind->is_template) not_of(*kind, set.method->range, "method");
    if (set.body && !kind->is_template) not_of(*kind, set.body->range, "body");
    if (set.body && kind->is_template) body(set, *set.body);
    settings(set, *kind);
  }

  /// What goes into a header or a URL: nothing with such a text would ever be sent.
  void one_line(const Word& text) {
    if (engine::has_controls(text.value))
      error(Code::InvalidValue, text.range, "this goes into a header or a URL, and contains control characters",
            "write it on one line, without tabs");
  }

  void not_of(const delivery::Kind& kind, const SourceRange& range, std::string_view option) {
    error(Code::WrongPlace, range, fmt::format("a contact of the kind '{}' has no '{}'", kind.name, option),
          "remove it");
  }

  void unknown_kind(const Word& kind) {
    const std::vector<std::string_view> known = delivery::kind_names();
    const std::string_view near = nearest_word(kind.value, known);
    error(Code::UnknownName, kind.range, fmt::format("there is no kind of contact {}", in_quotes(kind.value)),
          near.empty() ? fmt::format("the kinds are: {}", fmt::join(known, ", "))
                       : fmt::format("did you mean {}?", in_quotes(near)));
  }

  void place(const SetContact& set, const delivery::Kind& kind) {
    if (!set.place) {
      if (kind.is_place_needed)
        error(Code::MissingOption, set.kind.range,
              fmt::format("a contact of the kind '{}' needs {}", kind.name, kind.place),
              fmt::format("as in: set contact {} {} \"https://...\"", printable(set.name.value), kind.name));
      return;
    }
    const Word& url = *set.place;
    if (kind.place.empty()) {
      error(Code::WrongPlace, url.range, fmt::format("a contact of the kind '{}' has no text here", kind.name),
            "remove it");
      return;
    }
    values(url);
    one_line(url);
    const bool is_secret = url.value.starts_with("${secret:");
    if (holds_secret(
            std::string_view(url.value).substr(is_secret ? std::min(url.value.find('}'), url.value.size()) : 0)))
      report(diagnostics_, DiagnosticSeverity::Warning, Code::ExposedSecret, url.range,
             "a secret in a URL appears in the logs of the server",
             "put it into a header or the body, if the server accepts it there; or make the whole URL a secret");
    if (!is_secret && !url.value.starts_with("http://") && !url.value.starts_with("https://"))
      error(Code::InvalidUrl, url.range, fmt::format("{} is not an HTTP URL", in_quotes(shown_url(url.value))),
            "a URL is written http://HOST/PATH or https://HOST/PATH");
    else if (const std::string why = kind.problem == nullptr ? "" : kind.problem(url.value); !why.empty())
      error(Code::InvalidUrl, url.range, why);
    else if (const std::string wrong = port_problem(url.value); !wrong.empty())
      error(Code::InvalidUrl, url.range, wrong, std::string(kPortRemedy));
  }

  /// `$EVENT`, as mail-formats have it.
  void names_without_braces(const Word& text) {
    const std::string_view whole = text.value;
    for (std::size_t at = whole.find('$'); at != std::string_view::npos; at = whole.find('$', at + 1)) {
      const std::size_t end =
          std::min(whole.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", at + 1), whole.size());
      const std::string_view name = whole.substr(at + 1, end - at - 1);
      if (std::ranges::find(delivery::template_names(), name) == delivery::template_names().end()) continue;
      report(diagnostics_, DiagnosticSeverity::Warning, Code::UnknownVariable, text.range,
             fmt::format("'${}' has no braces, and is sent as it stands", name),
             fmt::format("write ${{{}}} for the alert's value", name));
      return;
    }
  }

  /// The names of what is filled into a text. Returns whether all are well.
  bool values(const Word& text) {
    bool good = true;
    names_without_braces(text);
    for (const VariableUse& use : variables_in(text.value)) {
      if (!use.closed) {
        error(Code::InvalidValue, text.range, "'${' has no '}'", "write $${ for a literal ${");
        good = false;
      } else if (!use.is_secret() &&
                 std::ranges::find(delivery::template_names(), use.name) == delivery::template_names().end()) {
        const std::string_view near = nearest_word(use.name, delivery::template_names());
        error(Code::UnknownVariable, text.range, fmt::format("an alert has no ${{{}}}", printable(use.name)),
              near.empty() ? fmt::format("it has: {}", known_names())
                           : fmt::format("did you mean ${{{}}}? It has: {}", near, known_names()));
        good = false;
      }
    }
    return good;
  }

  void body(const SetContact& set, const Word& body) {
    std::vector<std::string> headers;
    for (const Word& header : set.headers) headers.push_back(header.value);
    const delivery::Format format = delivery::body_format(headers);
    if (!values(body) || format != delivery::Format::Json || body.value.empty()) return;
    if (!is_json(delivery::with_samples(body.value, format)))
      error(Code::InvalidValue, body.range, "with its values filled in, this is not JSON",
            "put values in double quotes, as in '{\"text\": \"${EVENT}\"}'; for another format, add header "
            "\"Content-Type: text/plain\"");
  }

  void settings(const SetContact& set, const delivery::Kind& kind) {
    std::set<std::string> given;
    for (const auto& [name, value] : set.settings) {
      if (!given.insert(name.value).second)
        error(Code::DuplicateStatement, name.range, fmt::format("'{}' is given twice", printable(name.value)),
              "keep one of them");
      if (const auto its = std::ranges::find(kind.settings, name.value, &delivery::Setting::name);
          its != kind.settings.end()) {
        values(value);
        if (its->place == delivery::Format::Header || its->place == delivery::Format::Url) one_line(value);
        continue;
      }
      std::vector<std::string_view> known{"header", "timeout"};
      if (kind.is_template) known.insert(known.end(), {"method", "body"});
      for (const delivery::Setting& setting : kind.settings) known.push_back(setting.name);
      const std::string_view near = nearest_word(name.value, known);
      error(Code::UnknownName, name.range,
            fmt::format("a contact of the kind '{}' has no option {}", kind.name, in_quotes(name.value)),
            near.empty() ? fmt::format("it has: {}", fmt::join(known, ", ")) : fmt::format("did you mean '{}'?", near));
    }
    for (const delivery::Setting& setting : kind.settings)
      if (setting.is_needed && !given.contains(std::string(setting.name)))
        error(Code::MissingOption, set.kind.range,
              fmt::format("a contact of the kind '{}' needs '{}'", kind.name, setting.name));
  }

  const Document& document_;
  const Sources& sources_;
  Diagnostics& diagnostics_;
  std::map<std::string, const SetContact*> names_;  ///< in lower case
  std::set<std::string> used_;
};

}  // namespace

void check_contacts(const Document& document, const Sources& sources, Diagnostics& reported) {
  ContactChecker(document, sources, reported).run();
}

}  // namespace healer::config
