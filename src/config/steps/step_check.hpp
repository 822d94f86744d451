// SPDX-License-Identifier: MIT
// What checks of a step ask of the document that it stands in, and how they say what is wrong.
#pragma once

#include <string>

#include "config/diagnostic.hpp"
#include "config/syntax/syntax_words.hpp"
#include "util/time.hpp"

namespace healer::config {

struct HttpRequestSyntax;

/// Where a step stands.
struct StepPlace {
  SourceRange range;
  bool in_parallel = false;
  bool in_on_failure = false;  ///< not in a `parallel` there
  bool is_last = false;        ///< of `on failure`
};

class StepChecker {
 public:
  virtual ~StepChecker() = default;
  virtual void error(Code code, const SourceRange& range, std::string message, std::string remedy = {}) = 0;
  /// It must be longer than nothing.
  virtual void positive(const Located<Duration>& duration) = 0;
  /// There must be a service of that name.
  virtual void service(const Word& name) = 0;
  /// There must be a workflow of that name.
  virtual void workflow(const Word& name) = 0;
  /// It can be made.
  virtual void request(const HttpRequestSyntax& request) = 0;
};

}  // namespace healer::config
