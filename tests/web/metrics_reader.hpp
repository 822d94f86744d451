// SPDX-License-Identifier: MIT
// Reads metrics as strictly as the specifications of Prometheus' text format and of OpenMetrics say, and says what is
// wrong with them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "web/metrics/exposition.hpp"

namespace healer::test {

struct MetricSample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
  std::string text;  ///< of the value, as written
};

struct MetricFamily {
  std::string name;  ///< as after "# TYPE"
  std::string type;
  std::string help;
  std::string unit;
  std::vector<MetricSample> samples;
};

struct ReadMetrics {
  std::vector<MetricFamily> families;
  std::vector<std::string> faults;  ///< a line each: what is wrong, and where

  [[nodiscard]] const MetricFamily* family(const std::string& name) const;
  /// The value, as written, of the sample with that name and at least these labels; "none", or "many".
  [[nodiscard]] std::string value(const std::string& name, const std::map<std::string, std::string>& labels = {}) const;
};

[[nodiscard]] ReadMetrics read_metrics(const std::string& text, web::Format format);

}  // namespace healer::test
