// SPDX-License-Identifier: MIT
// alert, noalert and mail formats: as statements of a service and after `set`.
#pragma once

#include "grammar/common.hpp"
#include "util/text.hpp"

namespace healer::grammar {

/// Whether `to` stands before what comes: to Monit it is a noise word.
[[nodiscard]] inline bool follows_to(const TokenInput& in) {
  const TokenStream& stream = in.stream();
  const Token& before = stream.tokens[in.index() - 1];
  const std::size_t end = before.offset + before.length;
  return iequals(trim(stream.text.substr(end, stream.tokens[in.index()].offset - end)), "to");
}

// clang-format off
struct mail_address   : token<Kind::Mail> { static constexpr std::string_view kExpected = "a mail address with '@'"; };

// { nonexist, timeout }: names of events; most of them are words of tests as well.
struct event_name     : token<Kind::EventName, Kind::Checksum, Kind::Content, Kind::Exec, Kind::Exist, Kind::FsFlags, Kind::Gid,
                              Kind::Icmp, Kind::Link, Kind::Permission, Kind::Pid, Kind::Ppid, Kind::Saturation, Kind::Size,
                              Kind::Status, Kind::Timeout, Kind::Time, Kind::Uid, Kind::Uptime>
                        { static constexpr std::string_view kExpected = "a name of an event"; };
struct filter_not     : token<Kind::Not> {};
struct event_filter   : seq<opt<filter_not>, token<Kind::LeftBrace>, plus<event_name>, token<Kind::RightBrace>> {};

// mail-format { from: A <a@b> subject: TEXT message: TEXT }
struct raw_line       : token<Kind::RawLine> {};
struct raw_text       : token<Kind::RawText> {};
struct format_from    : seq<token<Kind::From>, raw_line> {};
struct format_reply_to: seq<token<Kind::ReplyTo>, raw_line> {};
struct format_subject : seq<token<Kind::Subject>, raw_line> {};
struct format_message : seq<token<Kind::Message>, raw_text> {};
struct format_item    : sor<format_from, format_reply_to, format_subject, format_message> {};
struct format_block   : seq<token<Kind::LeftBrace>, plus<format_item>, token<Kind::RightBrace>> {};
struct mail_format    : seq<token<Kind::MailFormat>, format_block> {};

struct reminder_count : number {};
struct reminder       : seq<token<Kind::Reminder>, reminder_count, opt<cycle_word>> {};

// Monit wants filter, format and reminder in this order, and has no digest.
struct digest         : extension<"'digest'", text<"digest">> {};
struct alert_option   : sor<event_filter, mail_format, reminder, digest> {};
// alert to team: a contact of `set contact`.
struct alert_contact_name : token<Kind::String, Kind::Quoted, Kind::Address> { static constexpr std::string_view kExpected = ""; };
struct alert_contact  : extension<"'alert to' a contact", ahead<follows_to>, alert_contact_name> {};
struct alert          : seq<token<Kind::Alert>, sor<mail_address, alert_contact>, star<alert_option>> {};
struct no_alert       : seq<token<Kind::NoAlert>, mail_address> {};
// clang-format on

}  // namespace healer::grammar
