// SPDX-License-Identifier: MIT
#include "daemon/api_parts.hpp"

#include <utility>
#include <variant>

#include "runtime/clock.hpp"

namespace healer {
namespace {

using Report = std::function<void(const std::string&)>;

std::string saved_answers(const std::string& path, const Report& report) {
  auto text = web::AnswerFile::read(path);
  if (text) return std::move(*text);
  report(text.error().what + ": answers that the API has given before are forgotten");
  return {};
}

}  // namespace

ApiParts::ApiParts(runtime::Loop& loop, const std::string& file, Report report)
    : saved_(saved_answers(file, report)),
      file_(file,
            [&loop, report](const std::string& why) {
              loop.post([report, why] { report(why + ": answers of the API are forgotten when healerd ends"); });
            }),
      kept_(&file_, std::exchange(saved_, {}), runtime::now().wall),
      timer_(loop.timer([this] { pulse_.tick(); })),
      pulse_([] { return runtime::now(); }, [this](Duration when) { timer_.set_deadline(when); }) {}

void ApiParts::see(const Happening& what) {
  const auto* const asked = std::get_if<happening::Asked>(&what);
  if (asked != nullptr && std::holds_alternative<engine::effect::Commit>(asked->effect)) pulse_.note();
  const auto* const notified = std::get_if<happening::Notified>(&what);
  if (notified != nullptr && std::holds_alternative<engine::event::Measured>(notified->event)) pulse_.note_figures();
}

}  // namespace healer
