// SPDX-License-Identifier: MIT
// The families of /metrics/services. A quantity of the language has the name that the language gives it, in base units:
// bytes, seconds, parts of one; what has a time of its own is told as the time, not as how long ago that was.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/attribute.hpp"
#include "engine/rules/metric.hpp"
#include "engine/words/explain.hpp"
#include "web/metrics/service_series.hpp"

namespace healer::web {
namespace {

using engine::Attribute;
using engine::CheckKind;
using engine::Condition;
using engine::Metric;
using engine::Unit;

/// A quantity; of two the second is that of a kind that has not the first.
struct Figure {
  Family family;
  Metric metric;
  std::optional<Metric> or_else{};
};

constexpr std::array kFigures{
    Figure{{"healer_service_uptime_seconds", kGauge, "How long the process or the machine is up.", "seconds"},
           Metric::Uptime},
    Figure{{"healer_service_cpu_ratio", kGauge, "Processor time of the cores that can be used.", "ratio"},
           Metric::Cpu,
           Metric::SystemCpu},
    Figure{{"healer_service_total_cpu_ratio", kGauge, "The same with all descendants.", "ratio"}, Metric::TotalCpu},
    Figure{{"healer_service_children_cpu_ratio", kGauge, "The same of the descendants alone.", "ratio"},
           Metric::ChildrenCpu},
    Figure{{"healer_service_cpu_user_ratio", kGauge, "Processor time of programs.", "ratio"}, Metric::CpuUser},
    Figure{{"healer_service_cpu_system_ratio", kGauge, "Processor time of the kernel.", "ratio"}, Metric::CpuSystem},
    Figure{{"healer_service_cpu_nice_ratio", kGauge, "Processor time of programs with low priority.", "ratio"},
           Metric::CpuNice},
    Figure{{"healer_service_cpu_wait_ratio", kGauge, "Processor time waiting for disks.", "ratio"}, Metric::CpuWait},
    Figure{{"healer_service_cpu_hardirq_ratio", kGauge, "Processor time of interrupts.", "ratio"}, Metric::CpuHardIrq},
    Figure{{"healer_service_cpu_softirq_ratio", kGauge, "Processor time of soft interrupts.", "ratio"},
           Metric::CpuSoftIrq},
    Figure{{"healer_service_cpu_steal_ratio", kGauge, "Processor time that the host took.", "ratio"}, Metric::CpuSteal},
    Figure{{"healer_service_cpu_guest_ratio", kGauge, "Processor time of guests.", "ratio"}, Metric::CpuGuest},
    Figure{{"healer_service_cpu_guestnice_ratio", kGauge, "Processor time of guests with low priority.", "ratio"},
           Metric::CpuGuestNice},
    Figure{{"healer_service_load1", kGauge, "Load average of one minute."}, Metric::Load1},
    Figure{{"healer_service_load5", kGauge, "Load average of 5 minutes."}, Metric::Load5},
    Figure{{"healer_service_load15", kGauge, "Load average of 15 minutes."}, Metric::Load15},
    Figure{{"healer_service_load1_per_core", kGauge, "Load average of one minute per core."}, Metric::Load1PerCore},
    Figure{{"healer_service_load5_per_core", kGauge, "Load average of 5 minutes per core."}, Metric::Load5PerCore},
    Figure{{"healer_service_load15_per_core", kGauge, "Load average of 15 minutes per core."}, Metric::Load15PerCore},
    Figure{{"healer_service_memory_bytes", kGauge, "Memory in use.", "bytes"},
           Metric::MemoryBytes,
           Metric::SystemMemoryBytes},
    Figure{{"healer_service_memory_ratio", kGauge, "Memory in use, of all there is.", "ratio"},
           Metric::MemoryPercent,
           Metric::SystemMemory},
    Figure{{"healer_service_total_memory_bytes", kGauge, "Memory in use with all descendants.", "bytes"},
           Metric::TotalMemoryBytes},
    Figure{{"healer_service_total_memory_ratio", kGauge, "The same, of all there is.", "ratio"}, Metric::TotalMemory},
    Figure{{"healer_service_children_memory_bytes", kGauge, "Memory in use of the descendants alone.", "bytes"},
           Metric::ChildrenMemoryBytes},
    Figure{{"healer_service_children_memory_ratio", kGauge, "The same, of all there is.", "ratio"},
           Metric::ChildrenMemory},
    Figure{{"healer_service_swap_bytes", kGauge, "Swap in use.", "bytes"}, Metric::SwapBytes},
    Figure{{"healer_service_swap_ratio", kGauge, "Swap in use, of all there is.", "ratio"}, Metric::Swap},
    Figure{{"healer_service_page_ins_per_second", kGauge, "Pages that came back from swap."}, Metric::PageIns},
    Figure{{"healer_service_page_outs_per_second", kGauge, "Pages that went to swap."}, Metric::PageOuts},
    Figure{{"healer_service_children", kGauge, "Descendants of the process."}, Metric::Children},
    Figure{{"healer_service_threads", kGauge, "Threads of the process."}, Metric::Threads},
    Figure{{"healer_service_filedescriptors", kGauge, "Open file descriptors."},
           Metric::FileDescriptors,
           Metric::SystemFileDescriptors},
    Figure{{"healer_service_filedescriptors_ratio", kGauge, "The same, of as many as may be open.", "ratio"},
           Metric::FileDescriptorsPercent,
           Metric::SystemFileDescriptorsPercent},
    Figure{{"healer_service_total_filedescriptors", kGauge, "Open file descriptors with all descendants."},
           Metric::TotalFileDescriptors},
    Figure{{"healer_service_read_bytes_per_second", kGauge, "What is read."}, Metric::ReadRate},
    Figure{{"healer_service_write_bytes_per_second", kGauge, "What is written."}, Metric::WriteRate},
    Figure{{"healer_service_disk_read_bytes_per_second", kGauge, "What is read from disks."}, Metric::DiskReadRate},
    Figure{{"healer_service_disk_write_bytes_per_second", kGauge, "What is written to disks."}, Metric::DiskWriteRate},
    Figure{{"healer_service_read_operations_per_second", kGauge, "How often something is read."},
           Metric::ReadOperations},
    Figure{{"healer_service_write_operations_per_second", kGauge, "How often something is written."},
           Metric::WriteOperations},
    Figure{
        {"healer_service_operation_duration_seconds", kGauge, "How long the device takes for an operation.", "seconds"},
        Metric::ServiceTime},
    Figure{{"healer_service_run_duration_seconds", kGauge, "How long the last run took, or takes.", "seconds"},
           Metric::RunTime},
    Figure{{"healer_service_tasks", kGauge, "Processes and threads of the unit."}, Metric::Tasks},
    Figure{{"healer_service_unit_restarts", kGauge, "How often systemd has restarted the unit since its last start."},
           Metric::UnitRestarts},
    Figure{{"healer_service_size_bytes", kGauge, "Size of the file.", "bytes"}, Metric::Size},
    Figure{{"healer_service_hardlinks", kGauge, "Names that the path has."}, Metric::HardLinks},
    Figure{{"healer_service_space_used_bytes", kGauge, "Space in use.", "bytes"}, Metric::SpaceUsageBytes},
    Figure{{"healer_service_space_used_ratio", kGauge, "Space in use, of all there is.", "ratio"}, Metric::SpaceUsage},
    Figure{{"healer_service_space_free_bytes", kGauge, "Space that is free.", "bytes"}, Metric::SpaceFreeBytes},
    Figure{{"healer_service_space_free_ratio", kGauge, "Space that is free, of all there is.", "ratio"},
           Metric::SpaceFree},
    Figure{{"healer_service_inodes_used", kGauge, "Inodes in use."}, Metric::InodeUsageNumber},
    Figure{{"healer_service_inodes_used_ratio", kGauge, "Inodes in use, of all there are.", "ratio"},
           Metric::InodeUsage},
    Figure{{"healer_service_inodes_free", kGauge, "Inodes that are free."}, Metric::InodeFreeNumber},
    Figure{{"healer_service_inodes_free_ratio", kGauge, "Inodes that are free, of all there are.", "ratio"},
           Metric::InodeFree},
    Figure{{"healer_service_upload_bytes_per_second", kGauge, "What is sent."}, Metric::UploadRate},
    Figure{{"healer_service_download_bytes_per_second", kGauge, "What is received."}, Metric::DownloadRate},
    Figure{{"healer_service_upload_packets_per_second", kGauge, "Packets that are sent."}, Metric::UploadPackets},
    Figure{{"healer_service_download_packets_per_second", kGauge, "Packets that are received."},
           Metric::DownloadPackets},
    Figure{{"healer_service_saturation_ratio", kGauge, "How much of what it can carry a link does.", "ratio"},
           Metric::Saturation},
    Figure{{"healer_service_upload_saturation_ratio", kGauge, "The same of what is sent.", "ratio"},
           Metric::UploadSaturation},
    Figure{{"healer_service_download_saturation_ratio", kGauge, "The same of what is received.", "ratio"},
           Metric::DownloadSaturation},
};

/// What has come together in a time that rules name.
struct TotalFigure {
  Family family;
  Metric metric;
};
constexpr std::array kTotals{
    TotalFigure{{"healer_service_uploaded_bytes", kGauge, "What was sent in that time.", "bytes"}, Metric::TotalUpload},
    TotalFigure{{"healer_service_downloaded_bytes", kGauge, "What was received in that time.", "bytes"},
                Metric::TotalDownload},
    TotalFigure{{"healer_service_uploaded_packets", kGauge, "Packets that were sent in that time."},
                Metric::TotalUploadPackets},
    TotalFigure{{"healer_service_downloaded_packets", kGauge, "Packets that were received in that time."},
                Metric::TotalDownloadPackets},
};

/// What a value of that unit is in base units.
double in_base_unit(Unit unit, double value) {
  if (unit == Unit::Percent) return value / 100;
  return unit == Unit::Milliseconds ? value / 1000 : value;
}

double seconds_of(WallTime when) { return std::chrono::duration<double>(when.time_since_epoch()).count(); }

/// Begins its sample.
Exposition& of_service(const ServiceSeen& seen, Exposition& out) {
  return out.sample().label("service", seen.block.name).label("kind", seen.block.kind->word);
}

bool has_connections(const CheckKind& kind) { return kind.connections.any(); }

bool is_down(const ServiceSeen& seen) {
  const Condition condition = engine::condition_of(seen.engine, seen.id);
  return condition == Condition::Failed || condition == Condition::GivenUp;
}

void tell_failed_since(const ServiceSeen& seen, Exposition& out) {
  std::optional<WallTime> since;
  for (const engine::RuleState& rule : seen.engine.rules(seen.id))
    if (rule.status == engine::RuleStatus::Failed && rule.past->changed)
      since = since ? std::min(*since, *rule.past->changed) : *rule.past->changed;
  if (since && seen.state.monitored) of_service(seen, out).value(seconds_of(*since));
}

void tell_exit_status(const ServiceSeen& seen, Exposition& out) {
  if (!seen.block.is_run()) {
    // A foreground process that is not there: how it has ended.
    const engine::Facts* facts = seen.state.last ? seen.state.last->facts.get() : nullptr;
    const auto status = facts != nullptr ? facts->metrics.get(Metric::ExitStatus) : std::nullopt;
    if (status && seen.state.monitored) of_service(seen, out).value(*status);
  } else if (seen.state.last && seen.state.monitored && seen.state.last->outcome == engine::Outcome::Exited) {
    of_service(seen, out).value(static_cast<double>(seen.state.last->status));
  }
}

/// Tells something of each connection that was tried, each name once: rules may ask for the same twice.
template <typename Tell>
void each_connection(const ServiceSeen& seen, Exposition& out, const Tell& tell) {
  if (seen.facts == nullptr) return;
  const auto& all = seen.facts->further->connections;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto same = std::ranges::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), all[i].name,
                                         &engine::ConnectionSeen::name);
    tell(all[i], [&]() -> Exposition& {
      return of_service(seen, out).label("connection",
                                         same == 0 ? all[i].name : all[i].name + " #" + std::to_string(same + 1));
    });
  }
}

void tell_values(const ServiceSeen& seen, Exposition& out) {
  if (seen.facts == nullptr) return;
  const auto& all = seen.facts->further->values;
  for (auto one = all.begin(); one != all.end(); ++one) {
    if (!one->value || std::ranges::count(all.begin(), one, one->filter, &engine::ValueSeen::filter) > 0) continue;
    double number = 0;
    const char* const end = one->value->data() + one->value->size();
    if (*one->value == "true" || *one->value == "false")
      of_service(seen, out).label("filter", one->filter).value(*one->value == "true");
    else if (const auto read = std::from_chars(one->value->data(), end, number);
             read.ec == std::errc{} && read.ptr == end)
      of_service(seen, out).label("filter", one->filter).value(number);
  }
}

/// How each service stands.
void add_states(std::vector<ServiceFamily>& all) {
  all.push_back({{"healer_service_failed", kGauge, "Whether a rule of the service stands failed, or has given it up."},
                 [](const ServiceSeen& seen, Exposition& out) { of_service(seen, out).value(is_down(seen)); }});
  all.push_back({{"healer_service_failed_since_timestamp_seconds", kGauge,
                  "Since when a rule of the service stands failed.", "seconds"},
                 tell_failed_since});
  all.push_back({{"healer_service_paused", kGauge, "Whether a person's pause holds for the service."},
                 [](const ServiceSeen& seen, Exposition& out) {
                   of_service(seen, out).value(seen.engine.pauses().in_force(seen.id, seen.now));
                 }});
  all.push_back({{"healer_service_monitored", kGauge, "Whether the service is checked."},
                 [](const ServiceSeen& seen, Exposition& out) { of_service(seen, out).value(seen.state.monitored); }});
  all.push_back({{"healer_service_unknown", kGauge, "Whether the last check had no answer."},
                 [](const ServiceSeen& seen, Exposition& out) {
                   of_service(seen, out).value(seen.state.monitored && seen.state.trouble->unknown.has_value());
                 }});
  all.push_back({{"healer_service_acknowledged", kGauge, "Whether a person knows that the service has failed."},
                 [](const ServiceSeen& seen, Exposition& out) {
                   of_service(seen, out).value(seen.engine.alerts().acknowledged(seen.id) != nullptr);
                 }});
  all.push_back({{"healer_service_runs", FamilyType::Counter, "Checks of the service that were judged."},
                 [](const ServiceSeen& seen, Exposition& out) { of_service(seen, out).value(seen.state.runs); }});
  all.push_back(
      {{"healer_service_last_check_timestamp_seconds", kGauge, "When the service was checked last.", "seconds"},
       [](const ServiceSeen& seen, Exposition& out) {
         if (seen.state.last_when) of_service(seen, out).value(seconds_of(*seen.state.last_when));
       }});
  all.push_back({{"healer_service_last_check_duration_seconds", kGauge, "How long the last check took.", "seconds"},
                 [](const ServiceSeen& seen, Exposition& out) {
                   if (seen.state.last)
                     of_service(seen, out).value(std::chrono::duration<double>(seen.state.last->elapsed).count());
                 },
                 [](const CheckKind& kind) { return kind.traits.is_run; }});
  all.push_back({{"healer_service_exit_status", kGauge, "What the program exited with, or the process that has ended."},
                 tell_exit_status,
                 [](const CheckKind& kind) { return kind.traits.is_run || kind.traits.has_process; }});
}

void add_times(std::vector<ServiceFamily>& all) {
  using engine::PathFacts;
  const auto add = [&](std::string_view name, std::string_view help, std::int64_t PathFacts::*time) {
    all.push_back({{name, kGauge, help, "seconds"},
                   [time](const ServiceSeen& seen, Exposition& out) {
                     if (seen.facts == nullptr || !seen.facts->path) return;
                     of_service(seen, out).value(static_cast<double>((*seen.facts->path).*time));
                   },
                   [](const CheckKind& kind) { return kind.find(Metric::ModificationAge) != nullptr; }});
  };
  add("healer_service_accessed_timestamp_seconds", "When the path was read last.", &PathFacts::accessed);
  add("healer_service_modified_timestamp_seconds", "When the path was written last.", &PathFacts::modified);
  add("healer_service_changed_timestamp_seconds", "When the path was changed last.", &PathFacts::changed);
}

void add_figures(std::vector<ServiceFamily>& all) {
  for (const Figure& row : kFigures)
    all.push_back({row.family,
                   [row, unit = unit_of(row.metric)](const ServiceSeen& seen, Exposition& out) {
                     if (seen.facts == nullptr) return;
                     std::optional<double> value = engine::figure_of(*seen.facts, row.metric);
                     if (!value && row.or_else) value = engine::figure_of(*seen.facts, *row.or_else);
                     if (value) of_service(seen, out).value(in_base_unit(unit, *value));
                   },
                   [row](const CheckKind& kind) {
                     return kind.find(row.metric) != nullptr || (row.or_else && kind.find(*row.or_else) != nullptr);
                   }});
  for (const TotalFigure& row : kTotals)
    all.push_back({row.family,
                   [row](const ServiceSeen& seen, Exposition& out) {
                     if (seen.facts == nullptr) return;
                     for (const engine::TotalSeen& total : seen.facts->further->totals)
                       if (total.what == row.metric)
                         of_service(seen, out).label("window", format_duration(total.span)).value(total.value);
                   },
                   [row](const CheckKind& kind) { return kind.find(row.metric) != nullptr; }});
}

void add_link(std::vector<ServiceFamily>& all) {
  constexpr double kBytesOfMegabit = 125'000;
  const auto has_link = [](const CheckKind& kind) { return kind.traits.has_link; };
  all.push_back({{"healer_service_link_up", kGauge, "Whether the link is up."},
                 [](const ServiceSeen& seen, Exposition& out) {
                   if (seen.facts == nullptr) return;
                   const auto link = engine::attribute_of(*seen.state.last, Attribute::Link);
                   const std::string* text = link ? engine::text_in(*link) : nullptr;
                   if (text != nullptr) of_service(seen, out).value(*text == "up");
                 },
                 has_link});
  all.push_back({{"healer_service_link_speed_bytes_per_second", kGauge, "What the link can carry."},
                 [](const ServiceSeen& seen, Exposition& out) {
                   if (seen.facts == nullptr) return;
                   const auto speed = engine::attribute_of(*seen.state.last, Attribute::LinkSpeed);
                   const std::int64_t* number = speed ? std::get_if<std::int64_t>(&*speed) : nullptr;
                   if (number != nullptr && *number > 0)
                     of_service(seen, out).value(static_cast<double>(*number) * kBytesOfMegabit);
                 },
                 has_link});
}

void add_units(std::vector<ServiceFamily>& all) {
  all.push_back({{"healer_service_unit_active", kGauge, "Whether the unit is active, with its state and substate."},
                 [](const ServiceSeen& seen, Exposition& out) {
                   if (seen.facts == nullptr) return;
                   const auto text = [&](Attribute what) {
                     const auto value = engine::attribute_of(*seen.state.last, what);
                     return value ? engine::format_value(*value) : std::string();
                   };
                   if (!engine::attribute_of(*seen.state.last, Attribute::UnitState)) return;
                   of_service(seen, out)
                       .label("state", text(Attribute::UnitState))
                       .label("substate", text(Attribute::UnitSubstate))
                       .value(text(Attribute::UnitStanding).starts_with("active"));
                 },
                 [](const CheckKind& kind) { return kind.traits.is_unit; }});
}

void add_connections(std::vector<ServiceFamily>& all) {
  using engine::ConnectionSeen;
  using engine::Reach;
  all.push_back({{"healer_service_connection_up", kGauge, "Whether the connection test or ping has passed."},
                 [](const ServiceSeen& seen, Exposition& out) {
                   each_connection(seen, out, [](const ConnectionSeen& one, const auto& sample) {
                     if (one.reach == Reach::Passed || one.reach == Reach::Failed)
                       sample().value(one.reach == Reach::Passed);
                   });
                 },
                 has_connections});
  all.push_back({{"healer_service_connection_response_seconds", kGauge, "How long the answer took.", "seconds"},
                 [](const ServiceSeen& seen, Exposition& out) {
                   each_connection(seen, out, [](const ConnectionSeen& one, const auto& sample) {
                     if (one.response) sample().value(std::chrono::duration<double>(*one.response).count());
                   });
                 },
                 has_connections});
  all.push_back(
      {{"healer_service_certificate_expiry_timestamp_seconds", kGauge, "When the certificate expires.", "seconds"},
       [](const ServiceSeen& seen, Exposition& out) {
         each_connection(seen, out, [](const ConnectionSeen& one, const auto& sample) {
           if (one.expires) sample().value(seconds_of(*one.expires));
         });
       },
       has_connections});
}

void add_members(std::vector<ServiceFamily>& all) {
  using engine::MembersSeen;
  const auto add = [&](std::string_view name, std::string_view help, std::size_t MembersSeen::*count) {
    all.push_back({{name, kGauge, help},
                   [count](const ServiceSeen& seen, Exposition& out) {
                     if (seen.facts == nullptr || !seen.facts->further->members) return;
                     of_service(seen, out).value(std::uint64_t{(*seen.facts->further->members).*count});
                   },
                   [](const CheckKind& kind) { return kind.traits.has_members; }});
  };
  add("healer_service_members", "Members of the composite that are judged.", &MembersSeen::whole);
  add("healer_service_members_failed", "Members of the composite that stand failed.", &MembersSeen::failed);
}

}  // namespace

std::vector<ServiceFamily> service_families() {
  std::vector<ServiceFamily> all;
  add_states(all);
  add_figures(all);
  add_times(all);
  add_link(all);
  add_units(all);
  add_connections(all);
  add_members(all);
  all.push_back({{"healer_service_value", kGauge, "A number that a filter has found in what the program wrote."},
                 tell_values,
                 [](const CheckKind& kind) { return kind.traits.is_run; }});
  return all;
}

}  // namespace healer::web
