// SPDX-License-Identifier: MIT
// grammar/alert.hpp to AlertSyntax and MailFormatSyntax: actions that parse_alert.cpp and parse_set.cpp share.
#pragma once

#include <utility>

#include "config/syntax/parse_build.hpp"
#include "grammar/alert.hpp"

namespace healer::config::parsing {

/// What an alert is built in; the scratch of a group that has alerts derives from it.
struct AlertScratch {
  AlertSyntax alert;
  MailFormatSyntax format;
  int last_option = 0;  ///< Monit's order: filter 1, format 2, reminder 3

  /// Notes that option `rank` comes; one that is given twice is an error, another order healer's own.
  void option(Build& build, TokenRange at, int rank, const char* name);
};

/// `from:` and `reply-to:` must hold an address.
void check_sender(Build& build, TokenRange at, const Word& sender);

template <>
struct action<grammar::mail_address> {
  static void apply(const auto& in, Build& build, AlertScratch& scratch) {
    scratch.alert = {};
    scratch.alert.address = build.word(matched(in, build).begin);
  }
};

template <>
struct action<grammar::alert_contact> {
  static void apply(const auto& in, Build& build, AlertScratch& scratch) {
    note_extension<grammar::alert_contact>(in, build);
    scratch.alert = {};
    scratch.alert.address = build.word(matched(in, build).begin);
    scratch.alert.to_contact = true;
  }
};

template <>
struct action<grammar::event_name> {
  static void apply(const auto& in, Build& build, AlertScratch& scratch) {
    scratch.alert.events.push_back(build.word(matched(in, build).begin));
  }
};

template <>
struct action<grammar::event_filter> {
  static void apply(const auto& in, Build& build, AlertScratch& scratch) {
    const auto at = matched(in, build);
    scratch.alert.negated = build.kind(at.begin) == grammar::Kind::Not;
    scratch.option(build, at, 1, "a list of events");
  }
};

template <>
struct action<grammar::reminder> {
  static void apply(const auto& in, Build& build, AlertScratch& scratch) {
    const auto at = matched(in, build);
    scratch.alert.reminder = build.number(at.begin + 1);
    scratch.option(build, at, 3, "'reminder'");
  }
};

template <>
struct action<grammar::digest> {
  static void apply(const auto& in, Build& build, AlertScratch& scratch) {
    if (std::exchange(scratch.alert.digest, true))
      return build.complain(matched(in, build), "'digest' is given twice", "keep one of them");
    scratch.alert.digest_range = build.range(matched(in, build));
    note_extension<grammar::digest>(in, build);
  }
};

template <>
struct action<grammar::mail_format> {
  static void apply(const auto& in, Build& build, AlertScratch& scratch) {
    scratch.alert.format = std::exchange(scratch.format, {});
    scratch.alert.format_range = build.range(matched(in, build));
    scratch.option(build, matched(in, build), 2, "'mail-format'");
  }
};

template <>
struct action<grammar::format_from> {
  static void apply(const auto& in, Build& build, AlertScratch& scratch) {
    const auto at = matched(in, build);
    scratch.format.from = build.raw(at.begin + 1);
    check_sender(build, at, *scratch.format.from);
  }
};

template <>
struct action<grammar::format_reply_to> {
  static void apply(const auto& in, Build& build, AlertScratch& scratch) {
    const auto at = matched(in, build);
    scratch.format.reply_to = build.raw(at.begin + 1);
    check_sender(build, at, *scratch.format.reply_to);
  }
};

template <>
struct action<grammar::format_subject> {
  static void apply(const auto& in, Build& build, AlertScratch& scratch) {
    scratch.format.subject = build.raw(matched(in, build).begin + 1);
  }
};

template <>
struct action<grammar::format_message> {
  static void apply(const auto& in, Build& build, AlertScratch& scratch) {
    scratch.format.message = build.raw(matched(in, build).begin + 1);
  }
};

}  // namespace healer::config::parsing
