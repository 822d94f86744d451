// SPDX-License-Identifier: MIT
// A daemon without a machine: the engine in virtual time, a store in memory, and the commands on a real control socket.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "control/commands.hpp"
#include "control/server_world.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "store/memory_store.hpp"
#include "support/engine_world.hpp"

namespace healer::test {

/// How much of the history is kept.
struct KeptHistory {
  std::size_t records = 100'000;
  TailBounds tail{};
};

class DaemonWorld {
 public:
  using ReloadDone = Supervisor::ReloadDone;

  explicit DaemonWorld(RuleSet rules, ServerOptions options = patient(), KeptHistory kept = {})
      : world_(std::move(rules)),
        store_({}, kept.records),
        commands_(access_, kept.tail),
        server_(commands_, std::move(options)) {
    act([](World& world) { world.start(); });
  }

  /// Does something with the engine, on the thread that owns it.
  void act(const std::function<void(World&)>& work);
  /// The next run of each service exits with `status`.
  void cycle(std::int64_t status, const std::string& output = {});
  [[nodiscard]] const std::string& path() const { return server_.path(); }
  [[nodiscard]] ServerWorld& server() { return server_; }
  /// What the commands are given. On the server's thread.
  [[nodiscard]] Supervisor& supervisor() { return access_; }
  /// On the server's thread.
  [[nodiscard]] Commands& commands() { return commands_; }
  [[nodiscard]] store::MemoryStore& stored() { return store_; }

  Vitals vitals{};
  bool reload_confirmed = false;  ///< of the last reload
  std::function<void(ReloadDone)> on_reload = [](const ReloadDone& done) { done({.text = "rules reloaded"}); };
  std::function<void(ReloadDone)> on_diff = [](const ReloadDone& done) { done({.text = "nothing would change"}); };
  std::function<void()> on_quit = [] {};
  std::function<std::variant<std::string, Failure>(const Asker&)> on_open = [](const Asker& who) {
    return "http://127.0.0.1:2812/login?once=" + who.name;
  };
  control::Surroundings around{.id = "0123456789abcdef",
                               .pid = 42,
                               .user = "root",
                               .pid_file = "/run/healer.pid",
                               .state_file = "/var/lib/healer/state",
                               .system = "Linux",
                               .release = "6.1.0",
                               .build = "#1 SMP",
                               .machine = "x86_64",
                               .cores = 2,
                               .memory = 2'000'000,
                               .swap = 1'000};
  std::function<void(std::size_t, Supervisor::LogRead)> on_read_log = [](std::size_t, const Supervisor::LogRead& done) {
    done(Error{.what = "there is no log file"});
  };
  std::vector<std::string> awaited{};  ///< what `quit` says that the end waits for
  /// Takes a command in place of the engine, where it returns true.
  std::function<bool(const event::Command&)> on_submit = [](const event::Command&) { return false; };
  /// The engine's answer to a command.
  void reply(const effect::Reply& reply) { commands_.reply(reply); }
  /// What waits for a mail server from now on; before the first word of it: none, as with an older healer.
  void set_mail(const MailView& mail);
  void set_contacts(const std::vector<ContactView>& contacts);
  /// From now on the rules in force are not those on disk.
  void set_stale(const std::optional<StaleView>& stale);
  /// What programs write that is a secret; the server's thread asks.
  std::atomic<std::uint64_t> hidden{0};  ///< the number of an action
  /// Answers all who have given a token, as a worker would.
  void check_tokens();
  /// Where programs write their output.
  [[nodiscard]] std::string output_path(ActionId action) const;

 private:
  /// What the commands ask on the server's thread: apart from the world, whose end it outlives.
  class Access final : public Supervisor {
   public:
    explicit Access(DaemonWorld& world) : world_(world) {}

    [[nodiscard]] const Engine& engine() const override { return *world_.world_.engine; }
    [[nodiscard]] const store::Store& store() const override { return world_.store_; }
    [[nodiscard]] Instant now() const override { return world_.world_.now; }
    [[nodiscard]] std::string version() const override { return "1.2.3"; }
    [[nodiscard]] Surroundings surroundings() const override { return world_.around; }
    [[nodiscard]] CivilTime civil(WallTime when) const override { return utc_civil(when); }
    void read_log(std::size_t most, LogRead done) override { world_.on_read_log(most, std::move(done)); }
    [[nodiscard]] CountsView counts() const override { return {}; }
    [[nodiscard]] const Statistics& statistics() const override { return world_.statistics_; }
    [[nodiscard]] Vitals vitals() const override { return world_.vitals; }
    [[nodiscard]] std::optional<MailView> mail() const override { return world_.mail_; }
    [[nodiscard]] std::vector<ContactView> contacts() const override { return world_.contacts_; }
    [[nodiscard]] std::vector<std::string> troubles() const override { return {}; }
    [[nodiscard]] std::vector<std::string> damages() const override { return {}; }
    [[nodiscard]] std::optional<StaleView> stale() const override { return world_.stale_; }
    [[nodiscard]] std::string output_path(ActionId action) const override { return world_.output_path(action); }
    [[nodiscard]] bool hides_output(ActionId action) const override { return action.number() == world_.hidden; }
    [[nodiscard]] Secrets given_secrets(ActionId) const override { return {}; }
    [[nodiscard]] std::string lists() const override { return {}; }
    [[nodiscard]] std::vector<std::string> unread_lists() const override { return {}; }
    [[nodiscard]] std::vector<std::string> refused_rows() const override { return {}; }
    std::optional<std::string> accept_list(const std::string&, const std::string&) override { return std::nullopt; }
    bool forget_row(const std::string&, const std::string&) override { return false; }
    [[nodiscard]] std::variant<std::string, Failure> open_login(const Asker& who) override {
      return world_.on_open(who);
    }
    void submit(event::Command command) override { world_.submit(command); }
    void submit(event::Arrived beat) override {
      world_.world_.handle(beat);
      world_.settle();
    }
    void query(std::string, std::string filter, std::string text,
               std::function<void(Result<std::string>)> done) override {
      world_.checks_.push_back([filter = std::move(filter), text = std::move(text), done = std::move(done)] {
        const std::optional<std::string> value = value_in(text, filter);
        done(value ? Result<std::string>(*value) : Error{0, "there is no such value"});
      });
    }
    void check_token(const std::string& token, std::string given, std::function<void(bool)> done) override {
      world_.checks_.push_back([done, is_right = !token.empty() && token == given] { done(is_right); });
    }
    void reveal(std::vector<std::string> texts, std::function<void(std::vector<std::string>)> done) override {
      world_.checks_.push_back([done, texts = std::move(texts)] { done(texts); });
    }
    void reload(bool confirmed, ReloadDone done) override {
      world_.reload_confirmed = confirmed;
      world_.on_reload(std::move(done));
    }
    void diff(ReloadDone done) override { world_.on_diff(std::move(done)); }
    std::vector<std::string> quit() override {
      world_.on_quit();
      return world_.awaited;
    }

   private:
    DaemonWorld& world_;
  };

  void submit(const event::Command& command);
  /// Commits go to the store, replies to the commands, as in the daemon.
  void settle();

  TemporaryFolder folder_;
  World world_;
  store::MemoryStore store_;
  Access access_{*this};
  Commands commands_;
  Statistics statistics_;
  std::size_t settled_ = 0;
  bool begun_ = false;
  std::optional<MailView> mail_;
  std::vector<ContactView> contacts_;
  std::vector<std::function<void()>> checks_;  ///< of tokens
  std::optional<StaleView> stale_;
  ServerWorld server_;
};

/// Puts a service of the world into a state that many events would lead to.
ServiceState& state_of(World& world, std::string_view name);

/// A person pauses a service until then.
void pause(World& world, std::string_view name, std::optional<WallTime> until, std::string reason = {});

/// The program of the rule of "db" runs as pid 4242.
ActionId running_action(DaemonWorld& world);

/// A restart of "web", requested by root: "db" is being started, by a program.
Job& add_restart(World& world);

/// "web" fails at the third failed run, "db" at once; "db" is in the group "databases".
RuleSet two_services();

}  // namespace healer::test
