// SPDX-License-Identifier: MIT
#include "engine/granting.hpp"

#include <utility>
#include <variant>
#include <vector>

#include "engine/engine.hpp"

namespace healer::engine {
namespace {

/// Keeps the claims, and passes on all else.
class Granting final : public EffectSink {
 public:
  explicit Granting(EffectSink& sink) : sink_(sink) {}

  void emit(Effect effect) override {
    if (auto* const claim = std::get_if<effect::Claim>(&effect))
      claims_.push_back({.healing = claim->healing, .claim = claim->claim});
    else
      sink_.emit(std::move(effect));
  }
  /// The answers to what was claimed since.
  [[nodiscard]] std::vector<event::Claimed> take() { return std::exchange(claims_, {}); }

 private:
  EffectSink& sink_;
  std::vector<event::Claimed> claims_;
};

}  // namespace

void handle(Engine& engine, const Event& event, Instant now, EffectSink& sink) {
  Granting granting(sink);
  engine.handle(event, now, granting);
  for (std::vector<event::Claimed> answers = granting.take(); !answers.empty(); answers = granting.take())
    for (const event::Claimed& answer : answers) engine.handle(answer, now, granting);
}

}  // namespace healer::engine
