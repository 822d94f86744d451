// SPDX-License-Identifier: MIT
// The tests of all services that are supported. Which service has which the validator says.
#pragma once

#include "grammar/common.hpp"

namespace healer::grammar {

/// A token that a test begins with.
template <Kind... Kinds>
struct test_word : token<Kinds...> {
  static constexpr std::string_view kExpected = "a test such as 'status != 0' or 'cpu > 80%'";
};

/// Whether `more` comes, which is an operator to Monit.
[[nodiscard]] inline bool is_more(const TokenInput& in) { return iequals(in.text(), "more"); }

/// Whether `children memory` or `children cpu` comes, which is what they use, and not their number.
[[nodiscard]] inline bool is_of_children(const TokenInput& in) {
  return in.kind() == Kind::Children && is_children_part(in.kind(1), in.text(1));
}

/// Whether `failed` comes, and nothing that has failed: of a heartbeat or a unit. What comes next may be its next test.
[[nodiscard]] inline bool is_failed_alone(const TokenInput& in) {
  static constexpr std::string_view kTests[] = {"missed", "duration", "state", "substate", "tasks"};
  const Kind next = in.kind(1);
  return next == Kind::Then || next == Kind::Number || next == Kind::If || next == Kind::Not || next == Kind::Active ||
         next == Kind::Restart || next == Kind::Memory || next == Kind::Cpu ||
         std::ranges::any_of(kTests, [&](std::string_view word) { return iequals(in.text(1), word); });
}

/// Whether `within` stands right before the number that comes: a time in which something is counted. Any other noise
/// word there makes a tolerance of it.
[[nodiscard]] inline bool is_within(const TokenInput& in) {
  if (in.empty() || in.index() == 0) return false;
  const Token& before = in.stream().tokens[in.index() - 1];
  const std::size_t end = before.offset + before.length;
  return iequals(trim(in.stream().text.substr(end, in.stream().tokens[in.index()].offset - end)), "within");
}

/// Whether `restarts` comes with a comparison, and is no action.
[[nodiscard]] inline bool is_restarts_test(const TokenInput& in) {
  return in.kind() == Kind::Restart && iequals(in.text(), "restarts");
}

/// Whether `!=~` comes, written as one.
[[nodiscard]] inline bool is_regex_not(const TokenInput& in) {
  const std::string_view sign = in.text(), next = in.text(1);
  return in.kind() == Kind::Operator && sign == "!=" && next == "~" && sign.data() + sign.size() == next.data();
}

/// Whether `not` comes and is no part of `not exist` or `not match`, which are Monit's: there no parenthesis holds more
/// than the one test.
[[nodiscard]] inline bool is_negation(const TokenInput& in) {
  if (in.kind() != Kind::Not) return false;
  const Kind next = in.kind(1);
  if (next != Kind::Exist && next != Kind::Match) return true;
  const std::size_t begin = in.index() + 1, end = begin + (next == Kind::Exist ? 1 : 2);
  std::size_t open = 0, closed = 0;
  for (auto one = parentheses_before(in.stream(), begin); one != in.stream().parentheses.end() && one->token <= end;
       ++one) {
    if (one->token == begin && one->opens) ++open;
    if (one->token == end && !one->opens) ++closed;
  }
  return open > closed;
}

// clang-format off

// status != 0
// Monit takes `changed` for an operator, and the number after it for nothing: status changed 1.
struct any_operator   : token<Kind::Operator, Kind::Equal, Kind::Changed> { static constexpr std::string_view kExpected = "an operator such as '!='"; };
struct comparison     : token<Kind::Operator, Kind::Equal> { static constexpr std::string_view kExpected = "an operator such as '!='"; };
struct status_word    : test_word<Kind::Status> {};
struct status_value   : number {};
struct tight_status   : tight<is_tight_status> {};
struct tight_status_operator : tight<is_tight_status_operator> {};
struct tight_operand  : tight<is_tight_operand> {};
struct status_test    : sor<seq<status_word, sor<status_value, seq<any_operator, status_value>,
                                extension<"an operator without blanks around it", tight_operand>>>,
                            extension<"an operator without blanks around it", sor<tight_status, seq<tight_status_operator, status_value>>>> {};

// changed status
struct changed_word   : test_word<Kind::Changed> {};
struct changed_status : seq<changed_word, token<Kind::Status>> {};

// content = "regular expression"
// To the lines of a file one that begins with '/' is the path of a file of patterns; elsewhere Monit has none such.
struct pattern        : token<Kind::String, Kind::Quoted, Kind::Address, Kind::Path> { static constexpr std::string_view kExpected = "a text"; };
struct content_word   : test_word<Kind::Content> {};
struct content_test   : seq<content_word, comparison, pattern> {};

// content changed, content not changed
struct content_change : seq<content_word, since<MonitVersion::V5_34, "a test of a changed content", opt<token<Kind::Not>>, token<Kind::Changed>>> {};

// match "regular expression", not match "regular expression"
struct match_word     : test_word<Kind::Match> {};
struct match_test     : sor<seq<match_word, pattern>, seq<test_word<Kind::Not>, token<Kind::Match>, pattern>> {};

struct tight_count    : tight<is_tight_count> {};
struct tight_count_operator : tight<is_tight_count_operator> {};

// A quantity, an operator and a number: cpu > 80%, disk read 10 MB/s
struct tight_measured : tight<is_tight_measured> {};
struct tight_measured_operator : tight<is_tight_measured_operator> {};
struct tight_measured_operand : tight<is_tight_measured_operand> {};
template <typename Subject, typename... Before>
struct measured       : sor<seq<Subject, sor<quantity, seq<any_operator, quantity>,
                                extension<"an operator without blanks around it", tight_measured_operand, opt<unit_of_quantity>>>>,
                            seq<Before..., extension<"an operator without blanks around it",
                                sor<seq<tight_measured, opt<unit_of_quantity>>, seq<tight_measured_operator, quantity>>>>> {};

// A whole number without a unit of something that newer versions of Monit have: hardlink > 1
template <typename Subject>
struct measured_count : sor<seq<Subject, sor<number, seq<any_operator, number>, extension<"an operator without blanks around it", tight_operand>>>,
                            extension<"an operator without blanks around it", sor<tight_count, seq<tight_count_operator, number>>>> {};

// These stand side by side in Monit, though only the last of them counts there.
struct resource_word  : test_word<Kind::Cpu, Kind::CpuPart, Kind::TotalCpu, Kind::Memory, Kind::TotalMemory, Kind::Swap, Kind::Children, Kind::Threads> {};
struct load_word      : test_word<Kind::LoadAverage> {};
struct disk_word      : test_word<Kind::Disk> {};
struct access_word    : test_word<Kind::Read, Kind::Write> {};
struct access_after_disk : token<Kind::Read, Kind::Write> {};
struct resource       : sor<resource_word, seq<load_word, opt<token<Kind::Core>>>, seq<disk_word, access_after_disk>, access_word> {};
struct children_part  : test_word<Kind::Cpu, Kind::Memory> {};
struct children_test  : extension<"what children use", ahead<is_of_children>, token<Kind::Children>, measured<children_part>> {};
struct resource_test  : measured<resource, opt<disk_word>> {};

// pagein > 50 per second, pageout rate > 3 per second: they stand among these.
struct page_word      : text<"pagein", "pageins", "pageout", "pageouts"> { static constexpr std::string_view kExpected = "a test such as 'status != 0' or 'cpu > 80%'"; };
struct page_subject   : since<MonitVersion::V6, "a test of paging", page_word> {};
struct page_second    : token<Kind::Second> { static constexpr std::string_view kExpected = "'per second'"; };
struct page_test      : seq<measured_count<page_subject>, page_second> {};
struct row_test       : sor<resource_test, page_test> {};

// hardlink > 1
struct link_count_word : text<"hardlink", "hardlinks"> { static constexpr std::string_view kExpected = "a test such as 'status != 0' or 'cpu > 80%'"; };
struct link_count     : since<MonitVersion::V5_34, "a test of hard links", link_count_word> {};
struct link_count_test : measured_count<link_count> {};

// These stand alone.
struct descriptors_word : test_word<Kind::FileDescriptors> {};
struct total_word     : test_word<Kind::Total> {};
struct uptime_word    : test_word<Kind::Uptime> {};
struct time_word      : test_word<Kind::Time, Kind::AccessTime, Kind::ModificationTime, Kind::ChangeTime> {};
struct size_word      : test_word<Kind::Size> {};
struct share_word     : test_word<Kind::Space, Kind::Inode> {};
struct service_time   : test_word<Kind::ServiceTime> {};
struct saturation_word: test_word<Kind::Saturation> {};
struct lone_quantity  : sor<descriptors_word, seq<total_word, token<Kind::FileDescriptors>>, uptime_word, time_word, size_word,
                            seq<share_word, opt<token<Kind::Free>>>, service_time, saturation_word> {};
struct lone_test      : measured<lone_quantity, opt<total_word>> {};

// exist, not exist
struct exist_test     : sor<test_word<Kind::Exist>, seq<test_word<Kind::Not>, token<Kind::Exist>>> {};

// failed uid root, failed security attribute "S"
struct failed_word    : test_word<Kind::Failed> {};
struct owner_test     : seq<failed_word, token<Kind::Uid, Kind::Euid, Kind::Gid>, owner_name> {};
struct attribute_value: sor<string_word, path_word> {};
struct attribute_test : seq<failed_word, token<Kind::Security>, token<Kind::Attribute>, attribute_value> {};

// security attribute =~ "S"
struct security_word  : test_word<Kind::Security> {};
struct regex_operator : text<"=~"> { static constexpr std::string_view kExpected = "an operator such as '!='"; };
struct regex_not_end  : tight<is_tilde> {};
struct regex_not      : seq<ahead<is_regex_not>, token<Kind::Operator>, regex_not_end> {};
struct security_operator : sor<regex_operator, regex_not, comparison> {};
struct security_test  : seq<security_word, token<Kind::Attribute>, since<MonitVersion::V6, "an operator after 'security attribute'", security_operator>, attribute_value> {};

// failed permission 0640
struct permission_mode: number {};
struct permission_test: seq<failed_word, token<Kind::Permission>, permission_mode> {};

// changed pid, changed ppid, changed permission, changed timestamp
struct changed_attribute : seq<changed_word, token<Kind::Pid, Kind::Ppid, Kind::Permission, Kind::Time, Kind::AccessTime, Kind::ModificationTime, Kind::ChangeTime, Kind::FsFlags, Kind::Size>> {};

// changed hardlink
struct changed_link_count : seq<changed_word, link_count> {};

// changed checksum, failed sha1 checksum expect the sum HEX
struct newer_sum_type : text<"sha256"> {};
struct own_sum_type   : text<"sha512"> {};
struct file_sum_type  : sor<token<Kind::ChecksumType>, since<MonitVersion::V6, "sha256", newer_sum_type>, extension<"sha512", own_sum_type>> {};
struct written_sum   : token<Kind::String, Kind::Quoted> { static constexpr std::string_view kExpected = "a checksum in hexadecimal digits"; };
struct bare_sum      : token<Kind::Number, Kind::Real> { static constexpr std::string_view kExpected = "a checksum in hexadecimal digits"; };
struct file_sum      : sor<written_sum, extension<"a checksum of digits alone without quotes", bare_sum>> {};
struct checksum_test  : seq<failed_word, opt<file_sum_type>, token<Kind::Checksum>, opt<seq<token<Kind::Expect>, file_sum>>> {};
struct changed_checksum : seq<changed_word, opt<file_sum_type>, token<Kind::Checksum>> {};

// link up, link down, failed link, changed link
struct link_word      : test_word<Kind::Link> {};
struct link_test      : sor<seq<link_word, token<Kind::Up, Kind::Down>>, seq<failed_word, token<Kind::Link>>> {};
struct changed_link   : seq<changed_word, token<Kind::Link>> {};

// upload > 500 kB/s, download > 1000 packets per second. Monit takes `upload` and `uploaded` for the same, and any of
// these units with and without what it is per.
struct traffic_word   : test_word<Kind::Upload, Kind::Uploaded, Kind::Download, Kind::Downloaded> {};
struct traffic_unit   : token<Kind::SizeUnit, Kind::Rate, Kind::Packet, Kind::PacketRate> { static constexpr std::string_view kExpected = "a unit such as 'MB/s' or 'packets/s'"; };
struct unit_of_traffic : sor<traffic_unit, own_size_unit> {};
struct traffic_amount : sor<seq<quantity_number, opt<unit_of_traffic>>, extension<"a number without a blank before its unit", tight_quantity>> {};
template <typename Subject>
struct traffic        : seq<Subject, sor<traffic_amount, seq<any_operator, traffic_amount>,
                                extension<"an operator without blanks around it", tight_measured_operand, opt<unit_of_traffic>>>> {};
struct tight_traffic  : extension<"an operator without blanks around it",
                            sor<seq<tight_measured, opt<unit_of_traffic>>, seq<tight_measured_operator, traffic_amount>>> {};
struct per_second     : token<Kind::Second> { static constexpr std::string_view kExpected = ""; };
struct rate_test      : seq<traffic<traffic_word>, opt<per_second>> {};

// total uploaded > 1 GB in last hour, total downloaded > 5000 packets in last 30 minutes
struct span_count     : number {};
struct span_unit      : token<Kind::Minute, Kind::Hour, Kind::Day> { static constexpr std::string_view kExpected = "a time such as 'in last hour'"; };
struct total_amount   : sor<traffic<seq<total_word, token<Kind::Upload, Kind::Uploaded, Kind::Download, Kind::Downloaded>>>,
                            seq<total_word, tight_traffic>> {};
struct total_test     : seq<total_amount, opt<span_count>, span_unit> {};

// 3 restarts within 5 cycles
struct restart_count  : test_word<Kind::Number> {};
struct restart_window : seq<number, cycle_word> {};
struct tight_window   : tight<is_tight_cycles> {};
struct restarts_test  : seq<restart_count, token<Kind::Restart>, sor<restart_window,
                            extension<"a count of cycles without a blank before 'cycles'", tight_window>>> {};

// any member failed, all members failed, 2 members failed, more than 40% members failed
struct members_some   : text<"any", "all"> { static constexpr std::string_view kExpected = "a test such as 'status != 0' or 'cpu > 80%'"; };
struct members_number : test_word<Kind::Number> {};
struct members_percent : token<Kind::Number, Kind::Real> { static constexpr std::string_view kExpected = "a percentage"; };
struct members_share  : seq<ahead<is_more>, token<Kind::Operator>, members_percent, token<Kind::Percent>> {};
struct members_word   : text<"member", "members"> {};
struct counted_members: text<"member", "members"> { static constexpr std::string_view kExpected = ""; };
struct members_test   : extension<"a test of members", sor<seq<sor<members_some, members_share>, members_word>, seq<members_number, counted_members>>,
                                  token<Kind::Failed>> {};

// more than 5 events within 1 minute, of a check event
struct counted_events : text<"event", "events"> { static constexpr std::string_view kExpected = "'events'"; };
struct event_count    : extension<"a test of events", ahead<is_more>, token<Kind::Operator>, number, counted_events, duration> {};

// missed, failed, duration > 2 hours, of a heartbeat
struct missed_word    : text<"missed"> { static constexpr std::string_view kExpected = "a test such as 'status != 0' or 'cpu > 80%'"; };
struct missed_test    : extension<"a test of a heartbeat", missed_word> {};
struct failed_alone   : extension<"'failed' alone", ahead<is_failed_alone>, failed_word> {};
struct run_time_word  : text<"duration"> { static constexpr std::string_view kExpected = "a test such as 'status != 0' or 'cpu > 80%'"; };
struct run_time_test  : extension<"a test of a heartbeat", run_time_word, sor<quantity, seq<comparison, quantity>, seq<tight_measured_operand, opt<unit_of_quantity>>>> {};

// active, state = "activating", substate =~ "auto-restart", restarts > 3 within 10 minutes, tasks > 100, of a unit
struct active_test    : extension<"a test of a unit", test_word<Kind::Active>> {};
struct state_word     : text<"state", "substate"> { static constexpr std::string_view kExpected = "a test such as 'status != 0' or 'cpu > 80%'"; };
struct state_operator : sor<regex_operator, regex_not, comparison> {};
struct state_test     : extension<"a test of a unit", state_word, state_operator, attribute_value> {};
struct tasks_word     : text<"tasks"> { static constexpr std::string_view kExpected = "a test such as 'status != 0' or 'cpu > 80%'"; };
struct tasks_test     : extension<"a test of a unit", tasks_word, sor<number, seq<comparison, number>, tight_operand>> {};
struct restarts_word  : seq<ahead<is_restarts_test>, test_word<Kind::Restart>> {};
struct restarts_span  : seq<ahead<is_within>, duration> {};
struct restarts_count : seq<restarts_word, sor<number, seq<comparison, number>, tight_operand>> {};
struct unit_restarts_test : extension<"a test of a unit", restarts_count, opt<restarts_span>> {};

// not cpu > 80%, not (cpu > 80% or memory > 90%)
struct negation       : test_word<Kind::Not> {};
struct negated        : extension<"'not' before a test", ahead<is_negation>, negation> {};
// clang-format on

}  // namespace healer::grammar
