// SPDX-License-Identifier: MIT
#include "config/syntax/parse_test.hpp"

#include <algorithm>
#include <string>

#include <spdlog/fmt/fmt.h>

#include "grammar/tight.hpp"
#include "util/text.hpp"

namespace healer::config::parsing {

using grammar::Kind;

ComparisonWord comparison_of(std::string_view word) {
  struct Entry {
    std::string_view word;
    ComparisonWord comparison;
  };
  static constexpr Entry kEntries[] = {
      {"=", ComparisonWord::Equal},           {"==", ComparisonWord::Equal},       {"eq", ComparisonWord::Equal},
      {"equal", ComparisonWord::Equal},       {"!=", ComparisonWord::NotEqual},    {"ne", ComparisonWord::NotEqual},
      {"notequal", ComparisonWord::NotEqual}, {"<", ComparisonWord::Less},         {"lt", ComparisonWord::Less},
      {"less", ComparisonWord::Less},         {"newer", ComparisonWord::Less},     {"<=", ComparisonWord::LessEqual},
      {"le", ComparisonWord::LessEqual},      {">", ComparisonWord::Greater},      {"gt", ComparisonWord::Greater},
      {"greater", ComparisonWord::Greater},   {"more", ComparisonWord::Greater},   {"older", ComparisonWord::Greater},
      {">=", ComparisonWord::GreaterEqual},   {"ge", ComparisonWord::GreaterEqual}};
  const auto* found = std::ranges::find_if(kEntries, [&](const Entry& e) { return iequals(e.word, word); });
  return found == std::end(kEntries) ? ComparisonWord::Equal : found->comparison;
}

bool negates_content(Build& build, std::size_t token) {
  const ComparisonWord comparison = comparison_of(build.text(token));
  if (comparison != ComparisonWord::Equal && comparison != ComparisonWord::NotEqual)
    build.complain({token, token + 1}, fmt::format("a content cannot be compared with '{}'", build.text(token)),
                   "write content = \"...\" or content != \"...\"");
  return comparison == ComparisonWord::NotEqual;
}

CompareSyntax status_of(const Build& build, TokenRange at) {
  std::string written;
  for (std::size_t token = at.begin; token < at.end; ++token) written += build.text(token);
  constexpr std::size_t kWord = std::string_view("status").size();
  const auto digits = std::min(written.find_first_of("0123456789", kWord), written.size());
  CompareSyntax status{.name = {"status", build.range({at.begin, at.begin + 1})}, .number = {}, .unit = {}};
  if (digits > kWord) status.comparison = comparison_of(std::string_view(written).substr(kWord, digits - kWord));
  Number number = build.number(at.end - 1);
  if (const auto value = grammar::tight_number(std::string_view(written).substr(digits))) number.value = value->number;
  status.number = {std::to_string(number.value), number.range};
  return status;
}

std::string attribute_name(Kind kind) {
  switch (kind) {
    case Kind::Pid: return "pid";
    case Kind::Ppid: return "ppid";
    case Kind::Permission: return "permission";
    case Kind::AccessTime: return "access time";
    case Kind::ModificationTime: return "modification time";
    case Kind::ChangeTime: return "change time";
    case Kind::FsFlags: return "fsflags";
    case Kind::Size: return "size";
    default: return "timestamp";
  }
}

namespace {

/// What stands between the parentheses of `cpu(user)` and `loadavg(5min)`; empty where there are none.
std::string in_parentheses(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) return {};
  return to_lower(trim(text.substr(open + 1, text.find(')', open) - open - 1)));
}

/// A quantity in one token, as canonical text writes it.
std::string quantity_name(Kind kind, std::string_view text) {
  switch (kind) {
    case Kind::String:
      if (iequals(text, "duration") || iequals(text, "tasks")) return to_lower(text);
      return std::string(grammar::newer_quantity(text).value_or("cpu"));
    case Kind::TotalCpu: return "total cpu";
    case Kind::CpuPart: return "cpu(" + in_parentheses(text) + ")";
    case Kind::Memory: return "memory";
    case Kind::TotalMemory: return "total memory";
    case Kind::Swap: return "swap";
    case Kind::Children: return "children";
    case Kind::Threads: return "threads";
    case Kind::Restart: return "restarts";
    case Kind::LoadAverage: {
      const std::string minutes = in_parentheses(text);
      return "loadavg(" + (minutes.empty() ? "1min" : minutes) + ")";
    }
    case Kind::FileDescriptors: return "filedescriptors";
    case Kind::Uptime: return "uptime";
    case Kind::Time:
    case Kind::AccessTime:
    case Kind::ModificationTime:
    case Kind::ChangeTime: return attribute_name(kind);
    case Kind::Read: return "read";
    case Kind::Write: return "write";
    case Kind::Size: return "size";
    case Kind::Space: return "space usage";
    case Kind::Inode: return "inode usage";
    case Kind::ServiceTime: return "service time";
    case Kind::Saturation: return "saturation";
    case Kind::Upload:
    case Kind::Uploaded: return "upload";
    case Kind::Download:
    case Kind::Downloaded: return "download";
    default: return "cpu";
  }
}

/// Of these Monit reads whole numbers only.
bool is_whole_to_monit(Kind kind) {
  return kind == Kind::Size || kind == Kind::Saturation || kind == Kind::Upload || kind == Kind::Uploaded ||
         kind == Kind::Download || kind == Kind::Downloaded;
}

}  // namespace

CompareSyntax resource_of(Build& build, TokenRange at) {
  CompareSyntax out;
  std::size_t token = at.begin;
  const bool has_disk = build.kind(token) == Kind::Disk;
  const bool is_total = build.kind(token) == Kind::Total;
  const bool of_children =
      build.kind(token) == Kind::Children && grammar::is_children_part(build.kind(token + 1), build.text(token + 1));
  if (has_disk || is_total || of_children) ++token;

  // One token may hold the quantity, the operator and the number, or two of them.
  std::string_view number;
  const auto take_operator = [&](const grammar::TightComparison& parts) {
    out.comparison = comparison_of(parts.operator_text);
    number = parts.right;
  };
  Kind kind = build.kind(token);
  std::string_view written = build.text(token);
  const auto tight = kind == Kind::String ? grammar::tight_comparison(written) : std::nullopt;
  if (tight) {
    kind = grammar::kind_of_word(tight->left);
    written = tight->left;
    take_operator(*tight);
  }
  out.name.value = quantity_name(kind, written);
  if (is_total) out.name.value = "total " + out.name.value;
  if (has_disk) out.name.value = "disk " + out.name.value;
  if (of_children) out.name.value = "children " + out.name.value;
  ++token;
  if (build.kind(token) == Kind::Core) {
    out.name.value += " per core";
    ++token;
  }
  if (build.kind(token) == Kind::Free) {
    out.name.value = kind == Kind::Space ? "space free" : "inode free";
    ++token;
  }
  out.name.range = build.range({at.begin, token});

  if (!tight) {
    written = build.text(token);
    const auto operand = build.kind(token) == Kind::String ? grammar::tight_comparison(written) : std::nullopt;
    if (operand) {
      take_operator(*operand);
      ++token;
    } else if (build.kind(token) == Kind::Changed) {
      out.comparison = ComparisonWord::NotEqual;  // of the number, says Monit
      ++token;
    } else if (build.kind(token) == Kind::Operator || build.kind(token) == Kind::Equal) {
      out.comparison = comparison_of(written);
      ++token;
    }
  }
  if (number.empty()) number = build.text(token++);
  const auto value = grammar::decimal_number(number);
  out.number = {std::string(value->digits), build.range({token - 1, token})};
  if (!value->rest.empty()) {
    out.unit = Word{std::string(value->rest), out.number.range};
  } else if (token < at.end) {
    out.unit = build.raw(token);
  }

  const Kind unit = out.unit ? grammar::kind_of_word(out.unit->value) : Kind::End;
  if (is_whole_to_monit(kind) && out.number.value.find('.') != std::string::npos)
    build.extend(kind == Kind::Size ? "a size with a fraction" : "a fraction of this", at);
  // What a filesystem reads is not the disk's in particular.
  const engine::Quantity* row =
      build.service == nullptr ? nullptr : build.service->find(engine::Metric::ReadOperations);
  const bool is_bare = row != nullptr && row->words == "read";
  if (!is_bare && (kind == Kind::Read || kind == Kind::Write) && !has_disk &&
      (unit == Kind::Operation || unit == Kind::OperationRate)) {
    build.extend("operations without the word 'disk'", at);
    out.name.value = "disk " + out.name.value;
  }
  return out;
}

}  // namespace healer::config::parsing
