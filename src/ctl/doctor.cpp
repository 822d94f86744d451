// SPDX-License-Identifier: MIT
#include "ctl/doctor.hpp"

#include <algorithm>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "ctl/render/render_parts.hpp"
#include "ctl/render/render_text.hpp"
#include "doctor/gather.hpp"
#include "doctor/judge.hpp"
#include "runtime/home.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

using control::Json;
using doctor::Finding;
using doctor::Verdict;

std::string_view colour_of(Verdict verdict) {
  return verdict == Verdict::Fault     ? control::colour_of("failed")
         : verdict == Verdict::Warning ? control::colour_of("failing")
                                       : control::colour_of("running");
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

int examine(const std::string& socket, const DoctorOptions& options, Output& output) {
  const std::vector<Finding> findings =
      doctor::judge(doctor::gather({.socket = socket,
                                    .rules = options.rules.empty() ? usual_rules() : options.rules,
                                    .patience = options.timeout.value_or(seconds{5})}));
  const auto count = [&](Verdict verdict) {
    return static_cast<std::size_t>(std::ranges::count(findings, verdict, &Finding::verdict));
  };
  const std::size_t faults = count(Verdict::Fault);
  const std::size_t warnings = count(Verdict::Warning);
  const int status = faults > 0 ? kExitFailed : kExitDone;
  if (output.json()) {
    output.open_list({{"version", control::kWireVersion}, {"command", "doctor"}}, "findings");
    for (const Finding& one : findings)
      output.item({{"verdict", doctor::to_string(one.verdict)},
                   {"subject", one.subject},
                   {"text", one.text},
                   {"remedy", one.remedy}});
    output.close_list({{"faults", faults}, {"warnings", warnings}});
    return output.finish(status);
  }
  const control::Style style = output.style();
  for (const Finding& one : findings) {
    const std::string verdict = control::pad(std::string(doctor::to_string(one.verdict)), 9);
    const std::string text = fmt::format("{}: {}", one.subject, printable(one.text));
    output.print(control::paint(verdict, colour_of(one.verdict), style) + text + "\n");
    if (!one.remedy.empty()) output.print(fmt::format("{:9}{}\n", "", printable(one.remedy)));
  }
  output.print(faults + warnings == 0
                   ? "\nno problems found\n"
                   : fmt::format("\n{}, {}\n", counted(faults, "fault"), counted(warnings, "warning")));
  return output.finish(status);
}

}  // namespace healer
