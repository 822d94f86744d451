// SPDX-License-Identifier: MIT
// `${NAME}` in the texts of a workflow.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/healing/healing.hpp"
#include "util/hash.hpp"

namespace healer::engine {

/// Whether some of it is not a text that a person would write on one line: a value with such is taken nowhere but in
/// JSON.
[[nodiscard]] bool has_controls(std::string_view text);

/// A text whose `${NAME}`s were replaced.
struct Filled {
  std::string text;
  std::string missing;  ///< the first name that has no value; empty: all have
};

/// Replaces each `${NAME}` by its value; `$${` stands for `${`. `${secret:NAME}` stays, for whoever needs it reads it
/// anew. Values are not looked into again.
[[nodiscard]] Filled fill(std::string_view text, const Variables& variables);

/// A text whose `${NAME}`s were replaced, beside the secrets that are to be read for it.
struct FilledParts {
  std::vector<effect::Place::Part> parts;
  std::string missing;  ///< as Filled
  std::string refused;  ///< the first name whose value cannot stand there; empty: all can
};
/// How the value of a name is written; nothing: it cannot be.
using WriteValue = std::function<std::optional<std::string>(std::string_view name, const std::string& value)>;
[[nodiscard]] FilledParts fill_parts(std::string_view text, const Variables& variables, const WriteValue& write);

/// A program whose values were filled in.
struct FilledProgram {
  step::Program program;
  std::string missing;  ///< as Filled
  std::string refused;  ///< the first name whose value holds control characters
};
/// Fills each argument of a program, and its directory. Its environment, which place_of() fills and which may have
/// `secrets`, is only looked at.
[[nodiscard]] FilledProgram fill(step::Program program, const Variables& variables, const Variables& secrets);

/// "has no value for ${NAME}"; empty: both names are.
[[nodiscard]] std::string why_not_filled(const std::string& missing, const std::string& refused);

/// What a program gets of them: HEALER_NAME, and what its step says, filled. `secrets`: those that are known to its
/// healing, to be hidden.
[[nodiscard]] std::shared_ptr<const effect::Place> place_of(const step::Program& program, const Variables& variables,
                                                            const Variables& secrets);

/// The names of the secrets that a workflow may read.
[[nodiscard]] std::vector<std::string> secrets_of(const Workflow& plan);

[[nodiscard]] std::vector<std::string> values_of(const Variables& variables);

/// The identity of a healing, made at its birth of its number, when it was decided on, and its target. `word`:
/// event::Started::state_word; zero: as healers made it that had no such word.
[[nodiscard]] Hash128 identity_of(const Healing& healing, const Hash128& word);

/// "6ba7b810-9dad-81d1-80b4-00c04fd430c8" of a hash: RFC 9562, version 8.
[[nodiscard]] std::string uuid_of(Hash128 hash);

}  // namespace healer::engine
