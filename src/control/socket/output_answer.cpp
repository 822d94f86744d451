// SPDX-License-Identifier: MIT
// `output`: which program is meant, and what it wrote.
#include <algorithm>
#include <optional>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/socket/job_answers.hpp"
#include "control/views.hpp"
#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

using engine::ActionId;
using engine::RecordKind;

constexpr std::uint32_t kStarts = 100;  // that are looked through at once for the next one

/// A program: the number of its action, and what it is called.
struct Chosen {
  std::uint64_t action = 0;
  std::string service;
  std::string doing;
  bool own = false;  ///< the foreground process of the service
};

/// What the action does, in the words of `jobs`.
std::string words_for(const Supervisor& daemon, const engine::RunningAction& running) {
  const bool of_job = daemon.engine().jobs().contains(running.exec.job.number());
  const bool heals = daemon.engine().healings().all().contains(running.exec.healing);
  const std::uint64_t id = of_job  ? running.exec.job.number()
                           : heals ? running.exec.healing.number()
                                   : running.exec.action.number();
  const auto job = view_job(daemon.engine(), id, daemon.now());
  return job ? job->doing : fmt::format("{}", fmt::join(running.exec.command.arguments, " "));
}

class OutputAnswer : public Answer {
 public:
  OutputAnswer(const Supervisor& daemon, OutputReader& reader, HistoryReader& history, std::string service,
               std::uint64_t id, std::shared_ptr<Follower> follower, Wake wake)
      : daemon_(daemon),
        reader_(reader),
        history_(history),
        service_(std::move(service)),
        id_(id),
        follower_(std::move(follower)),
        wake_(std::move(wake)) {}

  Next pull(std::string& out, std::size_t budget) override {
    if (!std::exchange(begun_, true)) {
      out += answer_header(daemon_, Verb::Output);
      choose();
    }
    while (out.size() < budget) {
      if (query_) {
        const auto page = query_->take();
        if (!page) return Next::Waiting;
        query_.reset();
        if (last_read_ != 0 || waits_)
          take_next(*page);
        else if (!take_last(*page, out))
          return Next::Done;
      }
      if (page_) {
        const auto text = page_->take();
        if (!text) return Next::Waiting;
        place_ = std::move(page_->place());
        page_.reset();
        if (const Next next = tell(*text, out); next == Next::Done) return next;
      }
      if (follower_ && follower_->last) {
        out += end_line(Done{true, "healerd has ended"});
        return Next::Done;
      }
      if (chosen_ && hidden()) {
        report_hidden(out);
        if (!follower_ || service_.empty()) return Next::Done;
      } else if (chosen_) {
        ask();
      } else {
        // One may have begun and ended since: the history knows.
        waits_ = true;
        if (!std::exchange(follower_->grown, false)) return Next::Waiting;
        query_ = history_.ask(
            {.service = service_, .since = {}, .after = after_, .kinds = {RecordKind::ActionStarted}, .limit = kStarts},
            wake_);
      }
    }
    return Next::More;
  }
  [[nodiscard]] bool endless() const override { return follower_ && !service_.empty(); }

 private:
  /// Whose output comes first.
  void choose() {
    if (id_ != 0) {
      const auto job = view_job(daemon_.engine(), id_, daemon_.now());
      return read(job ? Chosen{.action = job->action, .service = job->service, .doing = job->doing}
                      : Chosen{.action = id_, .service = {}, .doing = {}});
    }
    if (auto running = foremost_running()) return read(std::move(*running));
    query_ = history_.ask({.service = service_,
                           .since = {},
                           .after = 0,
                           .kinds = {RecordKind::ActionStarted, RecordKind::ActionEnded, RecordKind::ActionFailed},
                           .limit = 1},
                          wake_);
  }

  /// Of the programs of the service that run, the one that is shown first: its own process, where it is a foreground
  /// one, else what was started last.
  [[nodiscard]] std::optional<Chosen> foremost_running() const {
    const engine::RunningAction* foremost = nullptr;
    const auto rank = [](const engine::RunningAction& running) {
      return std::pair(running.exec.foreground, running.exec.action.number());
    };
    for (const auto& [number, running] : daemon_.engine().programs().all())
      if (running.started && iequals(running.exec.cause->service, service_) &&
          (foremost == nullptr || rank(running) > rank(*foremost)))
        foremost = &running;
    if (foremost == nullptr) return std::nullopt;
    return Chosen{.action = foremost->exec.action.number(),
                  .service = service_,
                  .doing = words_for(daemon_, *foremost),
                  .own = foremost->exec.foreground};
  }

  void read(Chosen what) {
    chosen_ = std::move(what);
    last_read_ = std::max(last_read_, chosen_->action);
    place_ = {};
    place_.path = daemon_.output_path(ActionId{chosen_->action});
    place_.ask_secrets = daemon_.given_secrets(ActionId{chosen_->action});
  }

  /// Of a service whose programs have all ended, the one that the history knows last; of a check program without
  /// programs of its own the output of its last run, and of others that there is none. False where that is all.
  bool take_last(const HistoryReader::Page& page, std::string& out) {
    if (!page) {
      out += error_line({"history", fmt::format("the history cannot be read: {}", page.error().what), ""});
      return false;
    }
    if (!page->records.empty()) {
      const engine::Record& record = page->records.back();
      read(Chosen{.action = record.subject, .service = record.service, .doing = record.text});
      return true;
    }
    const auto id = daemon_.engine().graph()->find(service_);
    const auto last = id ? daemon_.engine().service(*id).last : nullptr;
    const bool checked = last && last->output && daemon_.engine().graph()->at(*id).is_run();
    const std::string none = fmt::format("no program of {} has run yet", service_);
    if (checked)
      out += item_line(
          OutputView{.action = 0,
                     .service = service_,
                     .doing = last->output->empty() ? "the last check, which wrote nothing" : "the last check",
                     .text = *last->output});
    else if (follower_)
      out += item_line(OutputView{.action = 0, .service = service_, .doing = none, .text = {}});
    else
      out +=
          error_line({"no-output", none, "this includes its start, stop and restart programs and those of its rules"});
    if (follower_) return true;  // one may come
    if (checked)
      out += end_line(
          Done{true, last->output->empty() ? fmt::format("the last check of {} wrote nothing", service_) : ""});
    return false;
  }

  /// The first that was started since, where there is one; its own process before all others.
  void take_next(const HistoryReader::Page& page) {
    if (auto running = foremost_running(); running && running->own && running->action > last_read_)
      return read(std::move(*running));
    if (!page) return;  // a disk that is sick now may be well at the next
    for (const engine::Record& record : page->records) {
      if (record.subject <= last_read_) continue;
      after_ = record.id;
      const auto running = daemon_.engine().programs().all().find(record.subject);
      const bool runs = running != daemon_.engine().programs().all().end();
      return read(Chosen{.action = record.subject,
                         .service = record.service,
                         .doing = runs ? words_for(daemon_, running->second) : record.text});
    }
  }

  /// Passes on a page. Done: that was all.
  Next tell(const std::string& text, std::string& out) {
    if (!text.empty()) {
      wrote_ = true;
      out += item_line(
          OutputView{.action = chosen_->action, .service = chosen_->service, .doing = chosen_->doing, .text = text});
      return Next::More;
    }
    if (!last_) return Next::More;
    if (!place_.there && !follower_) {
      out += error_line(id_ != 0 ? Failure{"unknown-job", fmt::format("there is no output of a number {}", id_),
                                           "`healerctl jobs` lists what is under way; `healerctl output NAME` shows "
                                           "that of the last program of a service"}
                                 : Failure{"no-output", fmt::format("the output of {} is no longer kept", service_),
                                           "`healerctl history` has the end of what explains a failure"});
      return Next::Done;
    }
    const std::string what = chosen_->doing.empty() ? fmt::format("program {}", chosen_->action) : chosen_->doing;
    const bool runs = daemon_.engine().programs().all().contains(chosen_->action);
    chosen_.reset();
    if (follower_ && !service_.empty()) return Next::More;
    out += end_line(Done{true, wrote_ ? "" : fmt::format("nothing was written{}: {}", runs ? " yet" : "", what)});
    return Next::Done;
  }

  [[nodiscard]] bool hidden() const { return daemon_.hides_output(ActionId{chosen_->action}); }
  void report_hidden(std::string& out) {
    const std::string what = chosen_->doing.empty() ? fmt::format("program {}", chosen_->action) : chosen_->doing;
    if (follower_ && !service_.empty())
      out += item_line(OutputView{.action = chosen_->action,
                                  .service = chosen_->service,
                                  .doing = chosen_->doing,
                                  .text = std::string(kHiddenOutput)});
    else
      out += error_line(
          {"secret-output", fmt::format("its output holds a secret: {}", what),
           "the step of its healing saves what it writes as a secret, or was given one by an earlier healerd"});
    chosen_.reset();
  }

  /// Asks for what comes next.
  void ask() {
    last_ = !follower_ || !daemon_.engine().programs().all().contains(chosen_->action);
    page_ = reader_.ask(std::move(place_), last_, wake_);
  }

  const Supervisor& daemon_;
  OutputReader& reader_;
  HistoryReader& history_;
  std::string service_;
  std::uint64_t id_;
  std::shared_ptr<Follower> follower_;  // null: it does not follow
  Wake wake_;
  std::shared_ptr<HistoryReader::Query> query_;
  std::optional<Chosen> chosen_;    // none: the next one is waited for
  std::uint64_t last_read_ = 0;     // the highest number that was read
  engine::RecordNumber after_ = 0;  // of the history, what was looked through for the next one
  bool waits_ = false;              // for the next one
  OutputReader::Place place_;
  std::shared_ptr<OutputReader::Page> page_;
  bool last_ = false;  // nothing more was to come when the page was asked for
  bool begun_ = false;
  bool wrote_ = false;  // something was told
};

}  // namespace

std::unique_ptr<Answer> answer_output(const Supervisor& daemon, OutputReader& reader, HistoryReader& history,
                                      std::string service, std::uint64_t id, std::shared_ptr<Follower> follower,
                                      Wake wake) {
  return std::make_unique<OutputAnswer>(daemon, reader, history, std::move(service), id, std::move(follower),
                                        std::move(wake));
}

}  // namespace healer::control
