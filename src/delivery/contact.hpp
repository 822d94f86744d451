// SPDX-License-Identifier: MIT
// What there is to know of a kind of contact: one constant descriptor each, listed in registry.cpp. From it come what
// may be written in `set contact`, how that is checked, what is sent, what an answer means, how often it is tried and
// how much waits. Pure.
//
// Mail is one of them, the only one of which there is no `set contact`: alerts name its recipients by their addresses,
// `set mailserver` its servers. A mail is composed when its alert comes, as it tells of that moment's settings; what
// goes to any other contact when it is sent.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "delivery/backlog.hpp"
#include "delivery/contacts/mail.hpp"
#include "delivery/letter.hpp"
#include "delivery/rhythm.hpp"
#include "delivery/template.hpp"
#include "engine/rules/contact.hpp"

namespace healer::delivery {

/// One request, whose secrets are not read yet.
struct Parcel {
  std::string method = "POST";
  Text url;
  std::vector<Text> headers{};  ///< "Name: value"
  Text body{};
  Format body_format = Format::Json;
};

/// An option that a kind has beside `header` and `timeout`, as a name and a text: `key "..."`.
struct Setting {
  std::string_view name;
  bool is_secret = false;  ///< its text is not shown
  bool is_needed = false;
  Format place = Format::Json;  ///< where its text goes
};

/// A constant descriptor: all that healer knows of contacts of one kind. What only some kinds have is empty or null
/// for the others.
struct Kind {
  std::string_view name;
  std::string_view place;  ///< what the text behind the kind is: "a URL"; empty: there is none
  bool is_place_needed = false;
  bool is_template = false;  ///< `method` and `body` are the writer's
  std::span<const Setting> settings{};
  /// Why that text, an HTTP URL, is none that it can use; empty: it can. None: it can use any.
  std::string (*problem)(std::string_view place) = nullptr;
  /// The request that is made. `values`: what the names of templates stand for. Null: it is mailed.
  Parcel (*compose)(const engine::Contact& contact, const Letter& letter, const Values& values) = nullptr;
  /// The mails to all addresses among an alert's recipients. Null: requests are made.
  std::vector<Mail> (*compose_mails)(const engine::effect::Alert& alert, const engine::MailSettings& settings,
                                     const MailWriter& writer) = nullptr;
  /// What came of it.
  Verdict (*judge)(const Answer& answer, WallTime now) = by_status;
  Rhythm rhythm{};
  Limits limits{};
};

/// All kinds, by name, mail among them.
[[nodiscard]] std::span<const Kind* const> kinds();
/// The kind of that name of which there may be a `set contact`; null: there is none.
[[nodiscard]] const Kind* find_kind(std::string_view name);
/// The names of those kinds.
[[nodiscard]] std::vector<std::string_view> kind_names();
/// The kind by which addresses are reached.
[[nodiscard]] const Kind& mail_kind();

/// What a contact is sent for a letter, with the header `Idempotency-Key`. Requires: its kind is known.
[[nodiscard]] Parcel compose(const engine::Contact& contact, const Letter& letter, const std::string& host);

/// The text of the setting of that name; empty: it was not given.
[[nodiscard]] std::string_view setting_of(const engine::Contact& contact, std::string_view name);

}  // namespace healer::delivery
