// SPDX-License-Identifier: MIT
#include "web/metrics/daemon_metrics.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "engine/engine.hpp"
#include "engine/healing/brake.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/words/explain.hpp"
#include "util/text.hpp"

namespace healer::web {
namespace {

using engine::Condition;
using engine::Engine;
using engine::Healing;
using engine::WorkflowMemory;

constexpr auto kCounter = FamilyType::Counter;

template <typename Time>
double in_seconds(Time time) {
  return std::chrono::duration<double>(time).count();
}
double in_seconds(WallTime when) { return in_seconds(when.time_since_epoch()); }

class DaemonMetrics {
 public:
  DaemonMetrics(const control::Supervisor& daemon, const StateCount::Counts& services, Format format)
      : daemon_(daemon),
        services_(services),
        engine_(daemon.engine()),
        now_(daemon.now()),
        vitals_(daemon.vitals()),
        out_(format) {
    text_.reserve(std::size_t{16} * 1024);
    out_.write_to(text_);
  }

  std::string write() {
    out_.begin({"healer_build", FamilyType::Info, "The version of healer that runs."});
    out_.sample().label("version", daemon_.version()).value(std::uint64_t{1});
    services();
    healings();
    holds();
    unhealthy();
    configuration();
    alerts();
    work();
    process();
    out_.end();
    return std::move(text_);
  }

 private:
  void services() {
    out_.begin({"healer_services", kGauge, "Services by their state."});
    for (std::size_t i = 0; i < services_.size(); ++i)
      out_.sample().label("state", to_string(static_cast<Condition>(i))).value(services_[i]);
  }

  /// Tells something of each workflow: of those of the rules, in their order, and of others that are remembered.
  template <typename Tell>
  void each_workflow(const Tell& tell) {
    static const WorkflowMemory kNothing{};
    const auto& memories = engine_.healings().memory().workflows;
    for (const auto& workflow : engine_.graph()->workflows) {
      const auto found = std::ranges::find_if(
          memories, [&](const WorkflowMemory& memory) { return iequals(memory.workflow, workflow->name); });
      tell(workflow->name, found == memories.end() ? kNothing : *found);
    }
    for (const WorkflowMemory& memory : memories)
      if (engine_.graph()->workflow(memory.workflow) == nullptr) tell(memory.workflow, memory);
  }

  void healings() {
    using Counts = WorkflowMemory::Counts;
    out_.begin({"healer_healings", kCounter, "Healings that have ended, by workflow and by what came of them."});
    constexpr std::array<std::pair<std::string_view, std::uint64_t Counts::*>, 5> kResults{
        {{"recovered", &Counts::recovered},
         {"failed", &Counts::failed},
         {"abandoned", &Counts::abandoned},
         {"rejected", &Counts::rejected},
         {"would_run", &Counts::would_run}}};
    each_workflow([&](const std::string& name, const WorkflowMemory& memory) {
      for (const auto& [result, count] : kResults)
        out_.sample().label("workflow", name).label("result", result).value(memory.counts.*count);
    });
    const auto count = [&](std::string_view name, std::string_view help, std::uint64_t Counts::*which) {
      out_.begin({name, kCounter, help});
      each_workflow([&](const std::string& workflow, const WorkflowMemory& memory) {
        out_.sample().label("workflow", workflow).value(memory.counts.*which);
      });
    };
    count("healer_healings_proposed", "Healings that a rule or a person has asked for.", &Counts::proposed);
    count("healer_healings_approved", "Healings that a person has approved.", &Counts::approved);
    count("healer_healings_started", "Healings that have begun to act.", &Counts::ran);
    out_.begin({"healer_brake_open", kGauge, "Whether the breaker of the workflow is open: nothing of it starts."});
    each_workflow([&](const std::string& name, const WorkflowMemory& memory) {
      out_.sample().label("workflow", name).value(memory.open);
    });
  }

  /// What holds a healing back, in a word.
  static std::string_view reason_of(const Healing& healing) {
    if (healing.held_by()) return to_string(*healing.held_by());
    if (healing.stage() == Healing::Stage::Approval) return "approval";
    return healing.stage() == Healing::Stage::Confirming ? "look" : "other";
  }

  /// What waits, what runs, and what keeps all of it back.
  void holds() {
    std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> held;
    std::map<std::string_view, std::uint64_t> running;
    for (const auto& workflow : engine_.graph()->workflows) running[workflow->name] = 0;
    for (const auto& [id, healing] : engine_.healings().all()) {
      if (healing.waits())
        ++held[{healing.plan->name, reason_of(healing)}];
      else
        ++running[healing.plan->name];
    }
    out_.begin({"healer_healings_held", kGauge, "Healings that wait, by workflow and by what they wait for."});
    for (const auto& [key, count] : held)
      out_.sample().label("workflow", key.first).label("reason", key.second).value(count);
    out_.begin({"healer_healings_running", kGauge, "Healings under way, by workflow."});
    for (const auto& [workflow, count] : running) out_.sample().label("workflow", workflow).value(count);
    std::map<std::string_view, std::uint64_t> closed;
    for (const auto& workflow : engine_.graph()->workflows) closed[workflow->name] = 0;
    for (const engine::ClosedBrake& brake : engine_.healings().memory().closed) {
      const auto workflow = engine_.graph()->workflow(brake.workflow);
      ++closed[workflow != nullptr ? std::string_view(workflow->name) : std::string_view(brake.workflow)];
    }
    out_.begin({"healer_pause_while_in_force", kGauge,
                "Groups of which too much is not well, so that the workflow does not start."});
    for (const auto& [workflow, count] : closed) out_.sample().label("workflow", workflow).value(count);
    out_.only({"healer_in_doubt", kGauge, "Whether healer heals nothing now, as it doubts what it sees."},
              !engine_.healing().doubt(now_).empty());
    out_.only({"healer_paused", kGauge, "Whether a person has paused everything."},
              engine_.pauses().of_everything(now_) != nullptr);
  }

  void unhealthy() {
    using control::UnhealthyTimes;
    const UnhealthyTimes& times = daemon_.statistics().unhealthy();
    out_.begin({"healer_unhealthy_duration_seconds", FamilyType::Histogram,
                "How long services stood failed until they recovered.", "seconds"});
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < times.counts.size(); ++i) {
      count += times.counts[i];
      const bool last = i == UnhealthyTimes::kBounds.size();
      out_.sample("_bucket").label("le", last ? "+Inf" : out_.bound(UnhealthyTimes::kBounds.at(i))).value(count);
    }
    out_.sample("_sum").value(in_seconds(times.sum));
    out_.sample("_count").value(count);
  }

  void configuration() {
    out_.only({"healer_config_last_reload_successful", kGauge, "Whether the rules in force are those on disk."},
              !daemon_.stale().has_value());
    if (const auto loaded = daemon_.statistics().loaded())
      out_.only({"healer_config_last_reload_success_timestamp_seconds", kGauge, "When the rules in force were loaded.",
                 "seconds"},
                in_seconds(*loaded));
    out_.only({"healer_lists_unread", kGauge, "Lists that cannot be read now."},
              std::uint64_t{daemon_.unread_lists().size()});
    out_.only({"healer_list_rows_refused", kGauge, "Rows of lists that are refused now."},
              std::uint64_t{daemon_.refused_rows().size()});
    out_.only({"healer_cycle_seconds", kGauge, "The length of a cycle.", "seconds"},
              in_seconds(engine_.graph()->settings->cycle_length()));
  }

  void alerts() {
    // Also those for whom nothing waits.
    std::map<std::string_view, const control::ContactView*> contacts;
    for (const engine::Contact& contact : engine_.graph()->settings->contacts) contacts[contact.name] = nullptr;
    const std::vector<control::ContactView> waiting = daemon_.contacts();
    for (const control::ContactView& contact : waiting) contacts[contact.name] = &contact;
    out_.begin({"healer_alert_queue_length", kGauge, "Alerts that wait for a contact."});
    for (const auto& [name, view] : contacts)
      out_.sample().label("contact", name).value(view == nullptr ? std::uint64_t{0} : view->waiting);
    out_.begin({"healer_alert_delivery_failing", kGauge, "Whether the last try to reach a contact has failed."});
    for (const auto& [name, view] : contacts)
      out_.sample().label("contact", name).value(view != nullptr && !view->error.empty());
    const auto mail = daemon_.mail();
    if (!mail) return;
    out_.only({"healer_mail_queue_length", kGauge, "Mails that wait for a mail server."}, mail->waiting);
    out_.only({"healer_mail_delivery_failing", kGauge, "Whether a mail server took no mail when it was last tried."},
              !mail->error.empty());
  }

  /// What the daemon does, and has done since it was started.
  void work() {
    const control::CountsView counts = daemon_.counts();
    out_.only({"healer_cycles", kCounter, "Cycles begun."}, engine_.cycle(now_));
    out_.only({"healer_runs", kCounter, "Checks of services that have ended."}, counts.runs);
    out_.only({"healer_rule_changes", kCounter, "Rules that have failed, recovered, matched or seen a change."},
              counts.changes);
    out_.only({"healer_process_deaths", kCounter, "Supervised processes that have died."}, counts.deaths);
    out_.only({"healer_programs_started", kCounter, "Programs of actions, starts, stops and healings."},
              counts.programs);
    out_.only({"healer_mails_sent", kCounter, "Mails that a server has taken."}, counts.mails);
    out_.begin({"healer_records", kCounter, "Entries of the history, by kind."});
    const auto& records = daemon_.statistics().records();
    for (std::size_t i = 0; i < records.size(); ++i)
      out_.sample().label("kind", to_string(static_cast<engine::RecordKind>(i))).value(records[i]);
    jobs();
    out_.only({"healer_loop_lag_seconds", kGauge, "The longest turn of the main loop in the last 10 to 20 seconds.",
               "seconds"},
              in_seconds(vitals_.lag));
    out_.only(
        {"healer_loop_longest_lag_seconds", kGauge, "The longest turn of the main loop since the start.", "seconds"},
        in_seconds(vitals_.longest_lag));
    out_.only({"healer_store_writable", kGauge, "Whether the state can be written; else nothing is healed."},
              vitals_.journals);
    out_.only({"healer_troubles", kGauge, "What the daemon lacks now, as healerctl status tells it."},
              std::uint64_t{daemon_.troubles().size()});
  }

  void jobs() {
    std::map<std::string_view, std::uint64_t> under_way{{"start", 0}, {"stop", 0}, {"restart", 0}, {"exec", 0}};
    for (const auto& [id, job] : engine_.jobs()) ++under_way[to_string(job.kind)];
    for (const auto& [id, action] : engine_.programs().all())
      if (action.exec.job == engine::JobId{} && action.exec.healing == engine::HealingId{}) ++under_way["exec"];
    out_.begin({"healer_jobs", kGauge, "Starts, stops, restarts and programs of rules under way."});
    for (const auto& [kind, count] : under_way) out_.sample().label("kind", kind).value(count);
  }

  /// As Prometheus' own libraries tell it of a process.
  void process() {
    out_.only(
        {"process_start_time_seconds", kGauge, "Start time of the process since unix epoch in seconds.", "seconds"},
        in_seconds(engine_.started_at().wall));
    out_.only({"process_cpu_seconds", kCounter, "Total user and system CPU time spent in seconds.", "seconds"},
              in_seconds(vitals_.processor));
    const auto known = [&](std::string_view name, std::string_view help, std::uint64_t value,
                           std::string_view unit = {}) {
      if (value != 0) out_.only({name, kGauge, help, unit}, value);
    };
    known("process_resident_memory_bytes", "Resident memory size in bytes.", vitals_.resident, "bytes");
    known("process_virtual_memory_bytes", "Virtual memory size in bytes.", vitals_.reserved, "bytes");
    known("process_open_fds", "Number of open file descriptors.", vitals_.descriptors);
    known("process_max_fds", "Maximum number of open file descriptors.", vitals_.most_descriptors);
  }

  const control::Supervisor& daemon_;
  const StateCount::Counts& services_;
  const Engine& engine_;
  Instant now_;
  control::Vitals vitals_;
  std::string text_;
  Exposition out_;
};

}  // namespace

bool StateCount::go_on(const engine::Engine& engine) {
  constexpr std::size_t kAtOnce = 10'000;
  if (graph_ != engine.graph()) {
    graph_ = engine.graph();
    next_ = 0;
    counts_ = {};
  }
  const std::size_t end = std::min(next_ + kAtOnce, graph_->order.size());
  for (; next_ < end; ++next_)
    ++counts_.at(static_cast<std::size_t>(engine::condition_of(engine, graph_->order[next_])));
  return next_ == graph_->order.size();
}

std::string daemon_metrics(const control::Supervisor& daemon, const StateCount::Counts& services, Format format) {
  return DaemonMetrics(daemon, services, format).write();
}

}  // namespace healer::web
