// SPDX-License-Identifier: MIT
#include "daemon/access.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "daemon/secrets.hpp"
#include "daemon/surroundings.hpp"
#include "engine/healing/variables.hpp"
#include "engine/rules/settings.hpp"
#include "runtime/clock.hpp"
#include "runtime/inspection/own_figures.hpp"
#include "runtime/programs/action_files.hpp"
#include "runtime/worker_pool.hpp"
#include "util/secrets/same_secret.hpp"

namespace healer {

namespace {

class Access final : public control::Supervisor {
 public:
  Access(AccessParts parts, AccessCalls calls)
      : parts_(parts), calls_(std::move(calls)), files_(parts_.paths.action_dir, parts_.paths.spare_action_dir) {}

  [[nodiscard]] const engine::Engine& engine() const override { return parts_.engine; }
  [[nodiscard]] const store::Store& store() const override { return parts_.journal.store(); }
  [[nodiscard]] Instant now() const override { return runtime::now(); }
  [[nodiscard]] std::string version() const override { return HEALER_VERSION; }

  [[nodiscard]] control::Surroundings surroundings() const override {
    if (!around_) around_ = look_around(parts_.paths);
    return *around_;
  }

  [[nodiscard]] CivilTime civil(WallTime when) const override { return runtime::local_civil(when); }

  void read_log(std::size_t most, LogRead done) override {
    const runtime::LogOptions log = calls_.log_options();
    if (log.target != runtime::LogOptions::Target::File)
      return done(Error{.what = "healerd writes no log file: `set log` names one"});
    if (!ends_) ends_.emplace(parts_.loop);
    ends_->read(log.path, most, std::move(done));
  }

  [[nodiscard]] control::CountsView counts() const override {
    control::CountsView counts = statistics().counts();
    counts.mails_waiting = parts_.outbox.mail().waiting;
    return counts;
  }

  [[nodiscard]] const control::Statistics& statistics() const override { return parts_.statistics.statistics(); }

  [[nodiscard]] control::Vitals vitals() const override {
    const runtime::LoopLag lag = parts_.loop.lag();
    const runtime::OwnFigures own = runtime::own_figures();
    return {.lag = lag.recent,
            .longest_lag = lag.max,
            .journals = !parts_.journal.sick(),
            .processor = own.processor,
            .resident = own.resident,
            .reserved = own.reserved,
            .descriptors = own.descriptors,
            .most_descriptors = own.most_descriptors};
  }

  [[nodiscard]] std::optional<control::MailView> mail() const override {
    const delivery::MailFigures figures = parts_.outbox.mail();
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

  [[nodiscard]] std::vector<control::ContactView> contacts() const override {
    std::vector<control::ContactView> views;
    for (const delivery::ContactFigures& one : parts_.outbox.contacts())
      views.push_back({.name = one.contact,
                       .waiting = one.waiting,
                       .since = one.since,
                       .error = one.error,
                       .error_since = one.error_since,
                       .next = one.next});
    return views;
  }

  [[nodiscard]] std::vector<std::string> troubles() const override {
    std::vector<std::string> texts = parts_.places.complaints();
    if (const auto& sick = parts_.journal.sick())
      texts.insert(texts.begin(),
                   fmt::format("the state cannot be written, supervision continues without a journal: {}", *sick));
    if (const Http* const http = calls_.http()) std::ranges::move(http->troubles(), std::back_inserter(texts));
    std::ranges::move(parts_.lists.unread(), std::back_inserter(texts));
    return texts;
  }

  [[nodiscard]] std::vector<std::string> damages() const override { return parts_.journal.store().damages(); }
  [[nodiscard]] std::optional<control::StaleView> stale() const override { return calls_.reload().stale(); }

  [[nodiscard]] std::string output_path(engine::ActionId action) const override { return files_.output_path(action); }

  [[nodiscard]] bool hides_output(engine::ActionId action) const override { return parts_.acting.hides_output(action); }

  [[nodiscard]] Secrets given_secrets(engine::ActionId action) const override {
    return parts_.acting.given_secrets(action);
  }

  [[nodiscard]] std::string lists() const override { return parts_.lists.text(); }
  [[nodiscard]] std::vector<std::string> unread_lists() const override { return parts_.lists.unread(); }
  [[nodiscard]] std::vector<std::string> refused_rows() const override { return parts_.lists.refused(); }

  std::optional<std::string> accept_list(const std::string& name, const std::string& by) override {
    return parts_.lists.accept(name, by);
  }

  bool forget_row(const std::string& row, const std::string& by) override { return parts_.lists.forget(row, by); }

  [[nodiscard]] std::variant<std::string, control::Failure> open_login(const control::Asker& who) override {
    if (Http* const http = calls_.http()) return http->open_login(who);
    return control::Failure{"no-http", "healerd is not up yet, or ends", "try again"};
  }

  void submit(engine::event::Command command) override { calls_.handle(std::move(command)); }
  void submit(engine::event::Arrived arrived) override { calls_.handle(std::move(arrived)); }

  void check_token(const std::string& token, std::string given, std::function<void(bool)> done) override {
    reveal({token}, [given = std::move(given), done = std::move(done)](const std::vector<std::string>& now) {
      done(!now.front().empty() && is_same_secret(now.front(), given));
    });
  }

  void reveal(std::vector<std::string> texts, std::function<void(std::vector<std::string>)> done) override {
    if (!tokens_) tokens_.emplace(parts_.loop, runtime::WorkerPool::Options{.name = "tokens", .workers = 1});
    const std::size_t count = texts.size();
    tokens_->submit(
        [this, texts = std::move(texts), done,
         folder = parts_.engine.graph()->settings->secrets]() -> runtime::Loop::Callback {
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

  void query(std::string whose, std::string filter, std::string text,
             std::function<void(Result<std::string>)> done) override {
    parts_.measuring.query(std::move(whose), std::move(filter), std::move(text), std::move(done));
  }

  void reload(bool confirmed, ReloadDone done) override {
    parts_.log.reopen();  // as SIGHUP: it may have been rotated
    calls_.reload().reload(confirmed, std::move(done));
  }

  void diff(ReloadDone done) override { calls_.reload().diff(std::move(done)); }

  std::vector<std::string> quit() override {
    parts_.ending.stop();
    return parts_.ending.awaited_now();
  }

 private:
  /// Once each, whoever knocks how often.
  void note_unreadable(const std::string& why) {
    if (!why.empty() && why != unreadable_)
      parts_.log.write(engine::Severity::Warning, runtime::now().wall, {},
                       fmt::format("a secret by which a heartbeat or a hook is told cannot be read: {}", why));
    unreadable_ = why;
  }

  AccessParts parts_;
  AccessCalls calls_;
  runtime::ActionFiles files_;
  std::optional<runtime::WorkerPool> tokens_;            // reads secrets; there where somebody has given one
  std::string unreadable_;                               // why one could not be read last
  mutable std::optional<control::Surroundings> around_;  ///< looked up when it is first asked for
  std::optional<FileEnds> ends_;                         ///< made when it is first asked
};

}  // namespace

std::unique_ptr<control::Supervisor> make_access(AccessParts parts, AccessCalls calls) {
  return std::make_unique<Access>(parts, std::move(calls));
}

}  // namespace healer
