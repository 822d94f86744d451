// SPDX-License-Identifier: MIT
#include "doctor/judge.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::doctor {
namespace {

constexpr std::uint64_t kScarceBytes = 64'000'000;
constexpr std::uint64_t kNoBytes = 1'000'000;
constexpr std::uint64_t kManyRestarts = 5;
/// No clock that is right is earlier: 2026-01-01.
constexpr WallTime kFirstDay{milliseconds{1'767'225'600'000}};
constexpr Duration kAhead = minutes{1};

class Judge {
 public:
  explicit Judge(const Facts& facts) : facts_(facts) {}

  std::vector<Finding> all() {
    unit();
    socket();
    group();
    rules();
    lists();
    state();
    monit();
    patterns();
    mail();
    contacts();
    descriptors();
    cgroup();
    clock();
    std::ranges::stable_sort(findings_, {}, &Finding::verdict);
    return std::move(findings_);
  }

 private:
  void add(Verdict verdict, std::string_view subject, std::string text, std::string remedy = {}) {
    findings_.push_back({verdict, subject, std::move(text), std::move(remedy)});
  }

  [[nodiscard]] bool answers() const { return facts_.daemon.answer == Daemon::Answer::Answers; }

  void unit() {
    constexpr std::string_view kSubject = "unit";
    if (!facts_.systemd) return add(Verdict::Good, kSubject, "this machine does not run systemd: there is no unit");
    if (!facts_.unit)
      return add(Verdict::Warning, kSubject, "systemd does not answer",
                 "see what says: systemctl status healer.service");
    const Unit& unit = *facts_.unit;
    if (unit.loaded == "not-found")
      return add(Verdict::Warning, kSubject, "there is no healer.service: nothing starts healer after a reboot",
                 "install the package, or packaging/systemd/healer.service of the source");
    if (unit.loaded == "masked")
      return add(Verdict::Fault, kSubject, "healer.service is masked: it cannot be started",
                 "systemctl unmask healer.service");
    if (unit.loaded != "loaded")
      return add(Verdict::Fault, kSubject, fmt::format("healer.service is in error ({})", unit.loaded),
                 "systemd-analyze verify healer.service");
    if (unit.active != "active" && unit.active != "reloading")
      return add(Verdict::Fault, kSubject, fmt::format("healer.service is {}: nothing is supervised", unit.active),
                 unit.active == "failed" ? "journalctl -u healer.service -n 50 says why; then: systemctl start healer"
                                         : "systemctl start healer");
    if (!unit.enabled.starts_with("enabled") && unit.enabled != "static")
      return add(Verdict::Warning, kSubject, "healer.service runs, but is not started at the next boot",
                 "systemctl enable healer");
    if (unit.restarts >= kManyRestarts)
      return add(Verdict::Warning, kSubject,
                 fmt::format("healerd has ended and was started again {} times", unit.restarts),
                 "journalctl -u healer.service says why");
    add(Verdict::Good, kSubject, "healer.service is active, and is started at boot");
  }

  void socket() {
    constexpr std::string_view kSubject = "daemon";
    const Daemon& daemon = facts_.daemon;
    if (!answers()) {
      std::string remedy = daemon.remedy;
      if (daemon.answer == Daemon::Answer::Forbidden)
        remedy = fmt::format("run this as root, or join the group healer: usermod -aG healer {}; then log in again",
                             facts_.user.empty() ? "NAME" : facts_.user);
      if (remedy.empty()) remedy = "systemctl start healer; if it uses another socket: --socket PATH";
      return add(Verdict::Fault, kSubject, daemon.error, std::move(remedy));
    }
    bool good = true;
    const auto lacks = [&](Verdict verdict, std::string text, std::string remedy) {
      good = false;
      add(verdict, kSubject, std::move(text), std::move(remedy));
    };
    for (const std::string& trouble : daemon.troubles)
      lacks(Verdict::Fault, trouble, "mend what it names: healer tries again by itself");
    if (!daemon.stale.empty())
      lacks(Verdict::Fault, fmt::format("the rules on disk are not loaded: {}", daemon.stale),
            "fix what healerd -t reports, then: systemctl reload healer");
    if (daemon.version != facts_.own_version)
      lacks(Verdict::Warning,
            fmt::format("healerd {} runs, healerctl is of version {}", daemon.version, facts_.own_version),
            "systemctl restart healer; what is under way continues");
    if (good) add(Verdict::Good, kSubject, fmt::format("healerd {} answers on {}", daemon.version, facts_.socket));
  }

  void group() {
    constexpr std::string_view kSubject = "group";
    if (!facts_.group_exists)
      return add(Verdict::Warning, kSubject, "there is no group healer: only root can use healerctl",
                 "groupadd --system healer; then: systemctl restart healer");
    add(Verdict::Good, kSubject,
        facts_.root       ? "root and the members of the group healer may use healerctl"
        : facts_.in_group ? fmt::format("{} is in the group healer", facts_.user)
                          : fmt::format("{} is not in the group healer", facts_.user));
  }

  void rules() {
    constexpr std::string_view kSubject = "rules";
    const Rules& rules = facts_.rules;
    if (rules.unreadable)
      return add(Verdict::Good, kSubject, fmt::format("not checked: {} is root's alone", rules.path));
    for (const RulesProblem& problem : rules.problems)
      add(problem.error ? Verdict::Fault : Verdict::Warning, kSubject,
          problem.place.empty() ? problem.message : fmt::format("{}: {}", problem.place, problem.message),
          problem.remedy.empty() ? "healerd -t shows the line" : problem.remedy);
    if (!rules.problems.empty()) return;
    if (rules.services == 0)
      return add(Verdict::Warning, kSubject, fmt::format("{} names no service: nothing is supervised", rules.path),
                 "put rules there; /usr/share/doc/healer/examples has some");
    add(Verdict::Good, kSubject,
        fmt::format("{} is accepted: {} service{}", rules.path, rules.services, rules.services == 1 ? "" : "s"));
  }

  /// Nothing is said of lists that are as they should be: most machines have none.
  void lists() {
    for (const std::string& row : facts_.daemon.refused_rows)
      add(Verdict::Warning, "lists", row, "mend the row, or the rules that it does not fit; healerctl lists shows all");
  }

  void state() {
    constexpr std::string_view kSubject = "state";
    const StateFile& state = facts_.state;
    if (state.unreadable)
      return add(Verdict::Good, kSubject, fmt::format("not checked: {} is root's alone", state.path));
    for (const std::string& file : state.set_aside)
      add(Verdict::Warning, kSubject, fmt::format("a damaged state file was moved to {}", file),
          fmt::format("healerctl history tells what was recovered; look for a failing disk, then: rm '{}'*", file));
    if (state.read_only)
      return add(Verdict::Fault, kSubject, fmt::format("the file system of {} is read-only", state.path),
                 "repair the disk (dmesg says what is wrong with it), then mount it again");
    if (state.exists && !state.error.empty())
      return add(Verdict::Fault, kSubject, fmt::format("{}: {}", state.path, state.error),
                 "systemctl restart healer moves a damaged file aside and continues with what can be read of it");
    if (!state.exists && answers())
      return add(Verdict::Warning, kSubject, fmt::format("there is no {}, though healerd runs", state.path),
                 "if the running healerd uses other rules, name them: doctor --rules PATH");
    if (state.free_bytes < kScarceBytes)
      return add(state.free_bytes < kNoBytes ? Verdict::Fault : Verdict::Warning, kSubject,
                 fmt::format("only {:.1f} MB are free for {}", static_cast<double>(state.free_bytes) / 1e6, state.path),
                 "make room on that file system");
    add(Verdict::Good, kSubject,
        state.exists ? fmt::format("{} can be read", state.path)
                     : fmt::format("there is no {} yet: healerd makes it", state.path));
  }

  void monit() {
    constexpr std::string_view kSubject = "monit";
    for (const Monit& monit : facts_.monits) {
      if (!monit.shared.empty())
        add(Verdict::Fault, kSubject,
            fmt::format("monit (pid {}, {}) and healer both supervise {}", monit.pid, monit.file,
                        join_words(monit.shared, "and")),
            "take them out of one of the two; healer-migration(7) has the steps");
      else if (!monit.read)
        add(Verdict::Warning, kSubject,
            fmt::format("monit runs (pid {}); {} cannot be read, so what it supervises is not known", monit.pid,
                        monit.file),
            "run this as root");
      else
        add(Verdict::Good, kSubject, fmt::format("monit runs (pid {}), and supervises nothing of healer's", monit.pid));
    }
    if (facts_.monits.empty()) add(Verdict::Good, kSubject, "no monit runs");
  }

  void patterns() {
    for (const LoosePattern& loose : facts_.loose_patterns)
      add(Verdict::Warning, "patterns",
          fmt::format(
              "the pattern \"{}\" of {} matches a program that healer runs for something else, too (pid {}: {})",
              printable(loose.pattern), loose.service, loose.own, printable(loose.command)),
          "healer never takes that one for the service, but Monit would: begin the pattern with the path of the "
          "program, as in matching \"^/usr/sbin/shopd\"");
  }

  void contacts() {
    for (const Daemon::Contact& one : facts_.daemon.contacts)
      if (one.waiting == 0)
        add(Verdict::Fault, "contacts",
            fmt::format("the contact {} has not taken its last alert: {}", printable(one.name), printable(one.error)),
            "that alert is not sent again; mend the contact in the rules, or its server");
      else if (!one.error.empty())
        add(Verdict::Warning, "contacts",
            fmt::format("{} alert{} wait{} for the contact {}: {}", one.waiting, one.waiting == 1 ? "" : "s",
                        one.waiting == 1 ? "s" : "", printable(one.name), printable(one.error)),
            one.is_gone
                ? "nothing is tried, and after 24 hours they are dropped: declare the contact again, as in: set "
                  "contact NAME url \"https://...\""
                : "healer tries again by itself for 24 hours; mend the contact in the rules, or its server");
  }

  void mail() {
    constexpr std::string_view kSubject = "mail";
    if (!facts_.daemon.mail_error.empty())
      add(Verdict::Warning, kSubject,
          fmt::format("{} mail{} wait{}; the server said last: {}", facts_.daemon.mails_waiting,
                      facts_.daemon.mails_waiting == 1 ? "" : "s", facts_.daemon.mails_waiting == 1 ? "s" : "",
                      facts_.daemon.mail_error),
          "healer tries again by itself, and loses none");
    if (facts_.rules.unreadable) return add(Verdict::Good, kSubject, "not checked: only root may read the rules");
    if (facts_.rules.broken) return add(Verdict::Good, kSubject, "not checked: the rules have errors");
    const auto& servers = facts_.mail_servers;
    if (!facts_.alerts_mailed && facts_.alerts_to_contacts)
      return add(Verdict::Good, kSubject, "nobody is mailed: alerts go to contacts");
    if (servers.empty() || !facts_.alerts_mailed)
      return add(Verdict::Warning, kSubject,
                 fmt::format("no {} set: alerts are in the log and the history alone",
                             servers.empty() ? "mail server is" : "recipient of alerts is"),
                 fmt::format("write `set mailserver localhost` and `set alert NAME@HOST` into {}", facts_.rules.path));
    const auto dead = std::ranges::count_if(servers, [](const MailServer& one) { return !one.error.empty(); });
    for (const MailServer& server : servers)
      if (!server.error.empty())
        add(dead == std::ssize(servers) ? Verdict::Fault : Verdict::Warning, kSubject,
            fmt::format("the mail server {} cannot be reached: {}", server.name, server.error),
            "is it running, and does a firewall let this machine through? Otherwise name another: set mailserver");
    if (dead == 0)
      add(Verdict::Good, kSubject,
          servers.size() == 1 ? fmt::format("the mail server {} takes connections", servers.front().name)
                              : fmt::format("all {} mail servers take connections", servers.size()));
  }

  void descriptors() {
    constexpr std::string_view kSubject = "descriptors";
    if (!facts_.limits || facts_.limits->descriptors == 0)
      return add(Verdict::Good, kSubject,
                 facts_.daemon.answer == Daemon::Answer::NotRunning ? "not checked: no healerd runs"
                                                                    : "not checked: needs root");
    const auto [most, open] = *facts_.limits;
    // Each program that runs has two, each process that is watched has one.
    const std::uint64_t needed = facts_.daemon.services * 3 + 128;
    const std::string remedy =
        "systemctl edit healer, and there: [Service], LimitNOFILE=65536; then: systemctl restart healer";
    if (open * 10 > most * 9)
      return add(Verdict::Fault, kSubject, fmt::format("healerd has {} of {} descriptors open", open, most), remedy);
    if (most < needed)
      return add(
          Verdict::Warning, kSubject,
          fmt::format("healerd may open {} descriptors; {} services may need {}", most, facts_.daemon.services, needed),
          remedy);
    add(Verdict::Good, kSubject, fmt::format("healerd has {} of {} descriptors open", open, most));
  }

  void cgroup() {
    constexpr std::string_view kSubject = "cgroup";
    if (!facts_.cgroup2)
      return add(Verdict::Warning, kSubject,
                 "there is no cgroup v2: what a start program leaves without a pid file is known by its environment "
                 "alone",
                 "boot with systemd.unified_cgroup_hierarchy=1");
    if (facts_.unit && facts_.unit->loaded == "loaded" && !facts_.unit->delegates)
      return add(Verdict::Warning, kSubject, "healer.service may not divide its control group",
                 "a drop-in has removed Delegate=yes: restore it");
    add(Verdict::Good, kSubject, "cgroup v2 is there");
  }

  void clock() {
    constexpr std::string_view kSubject = "clock";
    if (facts_.now < kFirstDay)
      return add(Verdict::Fault, kSubject, fmt::format("the clock is wrong: it says {}", format_iso(facts_.now)),
                 "set it: timedatectl set-ntp true");
    if (facts_.state.newest && *facts_.state.newest > facts_.now + kAhead)
      return add(Verdict::Warning, kSubject,
                 fmt::format("the clock was set back: the history ends at {}, now it is {}",
                             format_iso(*facts_.state.newest), format_iso(facts_.now)),
                 "timedatectl says whether it is right now");
    if (facts_.clock_synchronised == false)
      return add(Verdict::Warning, kSubject, "nothing keeps the clock right: times in mails and history may be wrong",
                 "install chrony, or: timedatectl set-ntp true");
    add(Verdict::Good, kSubject, facts_.clock_synchronised ? "the clock is synchronised" : "the clock is plausible");
  }

  const Facts& facts_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::Fault: return "fault";
    case Verdict::Warning: return "warning";
    case Verdict::Good: return "ok";
  }
  return "";
}

std::vector<Finding> judge(const Facts& facts) { return Judge(facts).all(); }

}  // namespace healer::doctor
