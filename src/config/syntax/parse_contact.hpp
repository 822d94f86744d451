// SPDX-License-Identifier: MIT
// grammar/contact.hpp to SetContact: actions of parse_set.cpp.
#pragma once

#include <utility>

#include "config/syntax/parse_step.hpp"
#include "grammar/contact.hpp"

namespace healer::config::parsing {

/// What a contact is built in.
struct ContactScratch {
  SetContact contact;
  Word contact_method;  ///< under way
};

template <>
struct action<grammar::contact_name> {
  static void apply(const auto& in, Build& build, ContactScratch& scratch) {
    scratch.contact.name = word_of(in, build);
  }
};

template <>
struct action<grammar::contact_kind> {
  static void apply(const auto& in, Build& build, ContactScratch& scratch) {
    scratch.contact.kind = lower_word(build, matched(in, build).begin);
  }
};

template <>
struct action<grammar::contact_place> {
  static void apply(const auto& in, Build& build, ContactScratch& scratch) {
    scratch.contact.place = word_of(in, build);
  }
};

template <>
struct action<grammar::contact_method> {
  static void apply(const auto& in, Build& build, ContactScratch& scratch) {
    const auto at = matched(in, build);
    Word method = build.word(at.end - 1);
    for (char& c : method.value) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    set_once(build, at, scratch.contact.method, std::move(method));
  }
};

template <>
struct action<grammar::contact_header> {
  static void apply(const auto& in, Build& build, ContactScratch& scratch) {
    scratch.contact.headers.push_back(build.word(matched(in, build).end - 1));
  }
};

template <>
struct action<grammar::contact_body> {
  static void apply(const auto& in, Build& build, ContactScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.contact.body, build.word(at.end - 1));
  }
};

template <>
struct action<grammar::contact_timeout> {
  static void apply(const auto& in, Build& build, ContactScratch& scratch) {
    const auto at = matched(in, build);
    set_once(build, at, scratch.contact.timeout, last_duration(build, at));
  }
};

template <>
struct action<grammar::contact_setting> {
  static void apply(const auto& in, Build& build, ContactScratch& scratch) {
    const auto at = matched(in, build);
    scratch.contact.settings.emplace_back(lower_word(build, at.begin), build.word(at.end - 1));
  }
};

}  // namespace healer::config::parsing
