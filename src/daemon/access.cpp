// SPDX-License-Identifier: MIT
// What the commands of the control socket get from the daemon.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "control/supervisor.hpp"
#include "daemon/daemon_impl.hpp"
#include "daemon/secrets.hpp"
#include "daemon/surroundings.hpp"
#include "engine/healing/variables.hpp"
#include "runtime/clock.hpp"
#include "runtime/inspection/own_figures.hpp"
#include "runtime/programs/action_files.hpp"
#include "runtime/worker_pool.hpp"
#include "util/secrets/same_secret.hpp"

namespace healer {

class Daemon::Access final : public control::Supervisor {
 public:
  explicit Access(Daemon& daemon) : daemon_(daemon), files_(daemon.paths_.action_dir, daemon.paths_.spare_action_dir) {}

  [[nodiscard]] const engine::Engine& engine() const override { return *daemon_.engine_; }
  [[nodiscard]] const store::Store& store() const override { return *daemon_.store_; }
  [[nodiscard]] Instant now() const override { return runtime::now(); }
  [[nodiscard]] std::string version() const override { return HEALER_VERSION; }

  [[nodiscard]] control::Surroundings surroundings() const override {
    if (!around_) around_ = look_around(daemon_.paths_);
    return *around_;
  }

  [[nodiscard]] CivilTime civil(WallTime when) const override { return runtime::local_civil(when); }

  void read_log(std::size_t most, LogRead done) override {
    const runtime::LogOptions log = daemon_.log_options(*daemon_.engine_->graph()->settings);
    if (log.target != runtime::LogOptions::Target::File)
      return done(Error{.what = "healerd writes no log file: `set log` names one"});
    if (!ends_) ends_.emplace(daemon_.loop_);
    ends_->read(log.path, most, std::move(done));
  }

  [[nodiscard]] control::CountsView counts() const override {
    control::CountsView counts = statistics().counts();
    counts.mails_waiting = daemon_.outbox_->mail().waiting;
    return counts;
  }

  [[nodiscard]] const control::Statistics& statistics() const override { return daemon_.statistics_.statistics(); }

  [[nodiscard]] control::Vitals vitals() const override {
    const runtime::LoopLag lag = daemon_.loop_.lag();
    const runtime::OwnFigures own = runtime::own_figures();
    return {.lag = lag.recent,
            .longest_lag = lag.max,
            .journals = !daemon_.sick_,
            .processor = own.processor,
            .resident = own.resident,
            .reserved = own.reserved,
            .descriptors = own.descriptors,
            .most_descriptors = own.most_descriptors};
  }

  [[nodiscard]] std::optional<control::MailView> mail() const override {
    const delivery::MailFigures figures = daemon_.outbox_->mail();
    return control::MailView{.waiting = figures.waiting,
                             .since = figures.since,
                             .error = figures.error,
                             .error_since = figures.error_since,
                             .held = figures.held,
                             .held_until = figures.held_until,
                             .limit = figures.limit,
                             .gathered = figures.gathered,
                             .digest_until = figures.digest_until};
  }

  [[nodiscard]] std::vector<control::ContactView> contacts() const override { return daemon_.contact_views(); }
  [[nodiscard]] std::vector<std::string> troubles() const override { return daemon_.troubles(); }
  [[nodiscard]] std::vector<std::string> damages() const override { return daemon_.store_->damages(); }
  [[nodiscard]] std::optional<control::StaleView> stale() const override { return daemon_.stale_; }

  [[nodiscard]] std::string output_path(engine::ActionId action) const override { return files_.output_path(action); }

  [[nodiscard]] bool hides_output(engine::ActionId action) const override {
    return daemon_.engine_->healings().askers().saves_secret(action) || daemon_.actions_->hides_output(action);
  }

  [[nodiscard]] Secrets given_secrets(engine::ActionId action) const override {
    return daemon_.actions_->given_secrets(action);
  }

  [[nodiscard]] std::string lists() const override { return daemon_.lists_->text(); }
  [[nodiscard]] std::vector<std::string> refused_rows() const override { return daemon_.lists_->refused(); }

  std::optional<std::string> accept_list(const std::string& name, const std::string& by) override {
    return daemon_.lists_->accept(name, by);
  }

  bool forget_row(const std::string& row, const std::string& by) override { return daemon_.lists_->forget(row, by); }

  [[nodiscard]] std::variant<std::string, control::Failure> open_login(const control::Asker& who) override {
    if (daemon_.http_) return daemon_.http_->open_login(who);
    return control::Failure{"no-http", "healerd is not up yet, or ends", "try again"};
  }

  void submit(engine::event::Command command) override { daemon_.handle(std::move(command)); }
  void submit(engine::event::Arrived arrived) override { daemon_.handle(std::move(arrived)); }

  void check_token(const std::string& token, std::string given, std::function<void(bool)> done) override {
    reveal({token}, [given = std::move(given), done = std::move(done)](const std::vector<std::string>& now) {
      done(!now.front().empty() && is_same_secret(now.front(), given));
    });
  }

  void reveal(std::vector<std::string> texts, std::function<void(std::vector<std::string>)> done) override {
    if (!tokens_) tokens_.emplace(daemon_.loop_, runtime::WorkerPool::Options{.name = "tokens", .workers = 1});
    const std::size_t count = texts.size();
    tokens_->submit(
        [this, texts = std::move(texts), done,
         folder = daemon_.engine_->graph()->settings->secrets]() -> runtime::Loop::Callback {
          std::vector<std::string> now, read;
          std::string why;
          for (const std::string& text : texts) {
            const Result<std::string> one = with_secrets(engine::fill_parts(text, {}, {}).parts, folder, read);
            now.push_back(one ? *one : std::string());
            if (!one) why = one.error().what;
          }
          return [this, done, now = std::move(now), why = std::move(why)] {
            note_unreadable(why);
            done(now);
          };
        },
        [this, done, count](const Error& why) {
          note_unreadable(why.what);
          done(std::vector<std::string>(count));
        });
  }

  void query(std::string filter, std::string text, std::function<void(Result<std::string>)> done) override {
    daemon_.documents_->query(std::move(filter), std::move(text), "hooks", std::move(done));
  }

  void reload(bool confirmed, ReloadDone done) override {
    daemon_.log_.reopen();  // as SIGHUP: it may have been rotated
    daemon_.reload(confirmed, std::move(done));
  }

  void diff(ReloadDone done) override { daemon_.diff(std::move(done)); }

  std::vector<std::string> quit() override {
    daemon_.stop();
    return daemon_.waits_for_answers_ ? daemon_.awaited() : std::vector<std::string>();
  }

 private:
  /// Once each, whoever knocks how often.
  void note_unreadable(const std::string& why) {
    if (!why.empty() && why != unreadable_)
      daemon_.write_log(engine::Severity::Warning,
                        fmt::format("a secret by which a heartbeat or a hook is told cannot be read: {}", why));
    unreadable_ = why;
  }

  Daemon& daemon_;
  runtime::ActionFiles files_;
  std::optional<runtime::WorkerPool> tokens_;            // reads secrets; there where somebody has given one
  std::string unreadable_;                               // why one could not be read last
  mutable std::optional<control::Surroundings> around_;  ///< looked up when it is first asked for
  std::optional<FileEnds> ends_;                         ///< made when it is first asked
};

std::unique_ptr<control::Supervisor> Daemon::make_access() { return std::make_unique<Access>(*this); }

}  // namespace healer
