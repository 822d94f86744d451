// SPDX-License-Identifier: MIT
#include "control/socket/job_answers.hpp"

#include <optional>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "control/queries.hpp"

namespace healer::control {
namespace {

class JobsAnswer : public Answer {
 public:
  explicit JobsAnswer(const Supervisor& daemon)
      : header_(answer_header(daemon, Verb::Jobs)), jobs_(Queries(daemon).jobs()) {}

  Next pull(std::string& out, std::size_t budget) override {
    out += std::exchange(header_, {});
    for (; next_ < jobs_.size(); ++next_) {
      if (out.size() >= budget) return Next::More;
      out += item_line(jobs_[next_]);
    }
    out += end_line(Done{true, ""});
    return Next::Done;
  }

 private:
  std::string header_;
  std::vector<JobView> jobs_;
  std::size_t next_ = 0;
};

/// Reads page after page; between two of them it looks at the engine whether the program still runs.
class FollowAnswer : public Answer {
 public:
  FollowAnswer(const Supervisor& daemon, OutputReader& reader, std::uint64_t id, std::shared_ptr<Follower> follower,
               Wake wake)
      : daemon_(daemon), reader_(reader), id_(id), follower_(std::move(follower)), wake_(std::move(wake)) {}

  Next pull(std::string& out, std::size_t budget) override {
    if (!std::exchange(begun_, true)) out += answer_header(daemon_, Verb::Follow);
    while (out.size() < budget) {
      if (page_) {
        const auto text = page_->take();
        if (!text) return Next::Waiting;
        place_ = std::move(page_->place());
        page_.reset();
        if (!text->empty()) {
          current_.text = *text;
          out += item_line(current_);
        } else if (last_) {
          current_.action = 0;
        }
      }
      if (follower_->last || !ask(out)) {
        out += end_line(Done{true, follower_->last ? "healerd has ended" : outcome()});
        return Next::Done;
      }
    }
    return Next::More;
  }

 private:
  /// Asks for what comes next; false where nothing will come any more.
  bool ask(std::string& out) {
    const auto job = Queries(daemon_).job(id_);
    // Of a program what it has written is told before what comes next.
    if (job && (current_.action == 0 || current_.action == job->action)) report_stage(*job, out);
    if (current_.action == 0) {
      if (!job) return false;
      // Between two programs there is nothing to read: an empty page is time that passes.
      place_ = {};
      const engine::ActionId action{job->action};
      const bool hidden = job->action != 0 && daemon_.hides_output(action);
      if (job->action != 0 && !hidden) {
        place_.path = daemon_.output_path(action);
        place_.ask_secrets = daemon_.given_secrets(action);
      }
      current_ = {.action = job->action, .service = job->service, .doing = job->doing, .text = {}};
      if (hidden) {
        current_.text = kHiddenOutput;
        out += item_line(current_);
      }
    }
    last_ = current_.action != 0 && (!job || job->action != current_.action);
    page_ = reader_.ask(std::move(place_), last_, wake_);
    return true;
  }

  /// What is done now, where that has changed; of a program that is followed by itself there is nothing to tell.
  void report_stage(const JobView& job, std::string& out) {
    if (job.action == id_) return;
    // How long it waits changes all the time, and is told once.
    std::string stage = fmt::format("{}\n{}", job.doing, job.waits_for.substr(0, job.waits_for.find(": ")));
    if (stage == stage_) return;
    stage_ = std::move(stage);
    out += item_line(OutputView{.action = job.action,
                                .service = job.service,
                                .doing = job.doing,
                                .text = {},
                                .waits_for = job.waits_for,
                                .left = job.left});
  }

  /// How a healing has ended; empty: it is none, or nothing was done.
  [[nodiscard]] std::string outcome() const {
    for (const engine::TargetMemory& memory : daemon_.engine().healings().memory().targets)
      if (memory.healing.number() == id_)
        return fmt::format("healing {} of {} has ended: {}", id_, memory.target, to_string(memory.end));
    return {};
  }

  const Supervisor& daemon_;
  OutputReader& reader_;
  std::uint64_t id_;
  std::shared_ptr<Follower> follower_;
  Wake wake_;
  std::string stage_;   ///< that was told last
  OutputView current_;  ///< whose program is read; action 0: none
  OutputReader::Place place_;
  std::shared_ptr<OutputReader::Page> page_;
  bool last_ = false;  ///< the program had ended when the page was asked for
  bool begun_ = false;
};

}  // namespace

std::string answer_header(const Supervisor& daemon, Verb verb) { return header_line(verb, Queries(daemon).daemon()); }

std::unique_ptr<Answer> answer_jobs(const Supervisor& daemon) { return std::make_unique<JobsAnswer>(daemon); }

std::unique_ptr<Answer> answer_follow(const Supervisor& daemon, OutputReader& reader, std::uint64_t id,
                                      std::shared_ptr<Follower> follower, Wake wake) {
  return std::make_unique<FollowAnswer>(daemon, reader, id, std::move(follower), std::move(wake));
}

}  // namespace healer::control
