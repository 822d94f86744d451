// SPDX-License-Identifier: MIT
#include "daemon/http.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "web/api/api.hpp"
#include "web/basic.hpp"
#include "web/hooks/beats.hpp"
#include "web/hooks/hooks.hpp"
#include "web/metrics/metrics.hpp"
#include "web/monit/routes.hpp"

namespace healer {

Http::Http(runtime::Loop& loop, const web::Backend& backend, web::HttpSide::Machine machine, const std::string& answers)
    : loop_(loop),
      beat_(loop.timer([this] { pulse_.tick(); })),
      pulse_([] { return runtime::now(); }, [this](Duration when) { beat_.set_deadline(when); }),
      side_(loop, machine),
      collectors_(loop, backend.daemon, machine.report) {
  const auto saved = web::AnswerFile::read(answers);
  if (!saved) machine.report(true, fmt::format("{}; {}", saved.error().what, web::AnswerFile::kMeanwhile));
  if (saved)
    file_ = std::make_unique<web::AnswerFile>(
        answers, [&loop](std::function<void()> what) { loop.post(std::move(what)); },
        [report = machine.report](const std::string& why) { report(true, why); });
  kept_ = std::make_unique<web::KeptAnswers>(file_.get(), saved ? *saved : std::string(), runtime::now().wall);
  side_.add(web::basic_routes(backend));
  side_.add(web::monit::monit_routes(backend));
  side_.add(web::monit::monit_pages(backend));
  side_.add(web::metrics_routes(backend));
  side_.add(web::hook_routes(backend));
  side_.add(web::beat_routes(backend));
  side_.add(web::api_routes(backend, pulse_, *kept_));
}

void Http::use(const engine::Settings& settings) {
  side_.use(settings);
  collectors_.use(settings);
}

std::vector<std::string> Http::troubles() const {
  std::vector<std::string> texts = side_.troubles();
  std::ranges::move(collectors_.troubles(), std::back_inserter(texts));
  return texts;
}

void Http::when_quiet(runtime::Loop::Callback done) {
  constexpr Duration kLook = milliseconds{5};
  if (kept_->is_quiet() && side_.is_quiet()) return done();
  quiet_ = loop_.timer([this, done = std::move(done)] { loop_.post([this, done] { when_quiet(done); }); });
  quiet_.set_deadline(runtime::now().mono + kLook);
}

void Http::see(const Happening& what) {
  const auto* const notified = std::get_if<happening::Notified>(&what);
  if (notified != nullptr) collectors_.see(notified->event);
  const auto* const asked = std::get_if<happening::Asked>(&what);
  if (notified != nullptr && (std::holds_alternative<engine::event::Measured>(notified->event) ||
                              std::holds_alternative<engine::event::RowsRead>(notified->event)))
    pulse_.note_figures();
  if (asked == nullptr) return;
  if (std::holds_alternative<engine::effect::Commit>(asked->effect)) pulse_.note();
  collectors_.see(asked->effect);
}

}  // namespace healer
