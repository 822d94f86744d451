// SPDX-License-Identifier: MIT
// What passes ask of a step, whatever its kind is.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

#include "config/steps/step_syntax.hpp"
#include "engine/steps/step.hpp"

namespace healer::config {

template <typename What, typename... Kinds>
consteval std::size_t place_of_kind(std::type_identity<std::variant<Kinds...>> /*all*/) {
  std::size_t place = 0;
  (void)((std::is_same_v<What, Kinds> || (++place, false)) || ...);
  return place;
}

static_assert(std::variant_size_v<StepKindSyntax> == std::variant_size_v<engine::StepWhat>,
              "each kind of step of the engine is one of the language");
/// The syntax of a kind of step of the engine.
template <typename What>
using SyntaxOf =
    std::variant_alternative_t<place_of_kind<What>(std::type_identity<engine::StepWhat>{}), StepKindSyntax>;

/// Whether the step may change something. Of requests their method says that.
[[nodiscard]] inline bool may_change(const StepSyntax& step) {
  return std::visit(
      []<typename Kind>([[maybe_unused]] const Kind& kind) {
        if constexpr (std::is_same_v<Kind, HttpStepSyntax>)
          return kind.request.method.value != "GET" && kind.request.method.value != "HEAD";
        else
          return requires { Kind::kChanges; };
      },
      step.what);
}

/// Whether its end says that the target has recovered.
[[nodiscard]] inline bool verifies(const StepSyntax& step) {
  return std::visit(
      []<typename Kind>(const Kind&) {
        return requires { Kind::kVerifies; };
      },
      step.what);
}

/// What it tells people, where that is all that it does; null: it does something else.
[[nodiscard]] inline const Word* told_by(const StepSyntax& step) {
  return std::visit(
      []<typename Kind>([[maybe_unused]] const Kind& kind) -> const Word* {
        if constexpr (requires { Kind::kTellsPeople; })
          return &(kind.*Kind::kTexts.front().text);
        else
          return nullptr;
      },
      step.what);
}

}  // namespace healer::config
