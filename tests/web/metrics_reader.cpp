// SPDX-License-Identifier: MIT
#include "web/metrics_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

namespace healer::test {
namespace {

using web::Format;

class Reader {
 public:
  explicit Reader(Format format) : format_(format) {}

  ReadMetrics read(const std::string& text) {
    if (!text.empty() && text.back() != '\n') fault("the last line has no end");
    std::istringstream lines(text);
    while (std::getline(lines, line_)) {
      if (ended_) fault("there is something behind the end");
      if (line_ == "# EOF")
        ended_ = true;
      else if (line_.starts_with("#"))
        comment();
      else
        sample();
    }
    line_ = "(end)";
    if (ended_ != (format_ == Format::OpenMetrics)) fault("'# EOF' is the end of OpenMetrics, and of nothing else");
    for (const MetricFamily& family : result_.families) judge(family);
    return std::move(result_);
  }

 private:
  void fault(const std::string& what) { result_.faults.push_back(what + ": " + line_); }

  void comment() {
    static const std::regex kComment(R"(# (HELP|TYPE|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*))");
    std::smatch parts;
    if (!std::regex_match(line_, parts, kComment)) return fault("not a line of a header");
    if (result_.families.empty() || result_.families.back().name != parts[2]) {
      if (result_.family(parts[2]) != nullptr) fault("the family is not whole");
      result_.families.push_back({.name = parts[2], .type = {}, .help = {}, .unit = {}, .samples = {}});
    }
    MetricFamily& family = result_.families.back();
    if (!family.samples.empty()) fault("a header behind samples");
    std::string& text = parts[1] == "HELP" ? family.help : parts[1] == "TYPE" ? family.type : family.unit;
    if (!text.empty()) fault("said twice");
    text = parts[3];
    if (text.empty()) fault("empty");
    if (parts[1] == "UNIT" && format_ == Format::Text) fault("units are only of OpenMetrics");
  }

  /// The value of a label up to its closing quotation mark, which is taken.
  std::string quoted(std::string_view& rest) {
    std::string value;
    while (!rest.empty() && rest.front() != '"') {
      if (rest.front() != '\\') {
        value += rest.front();
        rest.remove_prefix(1);
        continue;
      }
      const char c = rest.size() > 1 ? rest[1] : '?';
      if (c != 'n' && c != '"' && c != '\\') fault("an escape that there is not");
      value += c == 'n' ? '\n' : c;
      rest.remove_prefix(std::min<std::size_t>(rest.size(), 2));
    }
    if (rest.empty()) fault("a label without its end");
    rest.remove_prefix(std::min<std::size_t>(rest.size(), 1));
    return value;
  }

  void labels(std::string_view& rest, MetricSample& sample) {
    static const std::regex kName("[a-zA-Z_][a-zA-Z0-9_]*");
    rest.remove_prefix(1);
    while (!rest.empty() && rest.front() != '}') {
      const std::size_t equals = rest.find("=\"");
      if (equals == std::string_view::npos) return fault("no label");
      const std::string name(rest.substr(0, equals));
      if (!std::regex_match(name, kName) || name.starts_with("__")) fault("no name of a label");
      rest.remove_prefix(equals + 2);
      if (!sample.labels.emplace(name, quoted(rest)).second) fault("a label twice");
      if (rest.starts_with(","))
        rest.remove_prefix(1);
      else if (!rest.starts_with("}"))
        return fault("labels without their end");
    }
    rest.remove_prefix(std::min<std::size_t>(rest.size(), 1));
  }

  void sample() {
    MetricSample sample;
    std::string_view rest = line_;
    sample.name = rest.substr(0, rest.find_first_of("{ "));
    rest.remove_prefix(sample.name.size());
    if (rest.starts_with("{")) labels(rest, sample);
    if (!rest.starts_with(" ")) return fault("no value");
    sample.text = rest.substr(1);
    const char* const end = sample.text.data() + sample.text.size();
    if (sample.text == "+Inf" || sample.text == "-Inf")
      sample.value = std::numeric_limits<double>::infinity() * (sample.text.front() == '-' ? -1 : 1);
    else if (sample.text == "NaN")
      sample.value = std::nan("");
    else if (const auto read = std::from_chars(sample.text.data(), end, sample.value);
             read.ec != std::errc{} || read.ptr != end)
      fault("no number");
    if (result_.families.empty()) return fault("a sample without a header");
    MetricFamily& family = result_.families.back();
    if (!belongs(family, sample.name)) fault("not a sample of the family before");
    std::string key = sample.name;
    for (const auto& [name, value] : sample.labels) key += '\0' + name + '\0' + value;
    if (!seen_.insert(key).second) fault("the same series twice");
    family.samples.push_back(std::move(sample));
  }

  bool belongs(const MetricFamily& family, const std::string& name) const {
    if (!name.starts_with(family.name)) return false;
    const std::string suffix = name.substr(family.name.size());
    if (family.type == "histogram") return suffix == "_bucket" || suffix == "_sum" || suffix == "_count";
    if (format_ == Format::Text) return suffix.empty();
    return suffix == (family.type == "counter" ? "_total" : family.type == "info" ? "_info" : "");
  }

  void judge(const MetricFamily& family) {
    line_ = family.name;
    if (family.help.empty()) fault("no HELP");
    if (family.samples.empty()) fault("no samples");
    static const std::set<std::string> kTypes{"gauge", "counter", "histogram", "info"};
    if (!kTypes.contains(family.type)) fault("no TYPE that healer has");
    if (family.type == "info" && format_ == Format::Text) fault("info is only of OpenMetrics");
    const bool total = family.name.ends_with("_total");
    if (family.type == "counter" && total != (format_ == Format::Text)) fault("'_total' is a suffix of samples");
    if (family.type != "counter" && total) fault("only counters are totals");
    if (!family.unit.empty() && !family.name.ends_with("_" + family.unit)) fault("the name does not have the unit");
    for (const MetricSample& sample : family.samples)
      if (family.type == "counter" && !(sample.value >= 0)) fault("a counter below 0");
    if (family.type == "histogram") judge_histogram(family);
  }

  void judge_histogram(const MetricFamily& family) {
    double bound = -1;
    double count = -1;
    for (const MetricSample& sample : family.samples) {
      if (!sample.name.ends_with("_bucket")) continue;
      const std::string& text = sample.labels.at("le");
      const double next = text == "+Inf" ? std::numeric_limits<double>::infinity() : std::stod(text);
      if (next <= bound || sample.value < count) fault("buckets that do not grow");
      if (format_ == Format::OpenMetrics && text != "+Inf" && text.find('.') == std::string::npos)
        fault("a bound that is no float");
      bound = next;
      count = sample.value;
    }
    if (!std::isinf(bound)) fault("no last bucket");
    for (const MetricSample& sample : family.samples)
      if (sample.name.ends_with("_count") && sample.value != count) fault("not the count of the last bucket");
  }

  Format format_;
  ReadMetrics result_;
  std::string line_;
  bool ended_ = false;
  std::set<std::string> seen_;
};

}  // namespace

const MetricFamily* ReadMetrics::family(const std::string& name) const {
  const auto found = std::ranges::find(families, name, &MetricFamily::name);
  return found == families.end() ? nullptr : &*found;
}

std::string ReadMetrics::value(const std::string& name, const std::map<std::string, std::string>& labels) const {
  std::string text = "none";
  for (const MetricFamily& family : families)
    for (const MetricSample& sample : family.samples) {
      const bool fits = sample.name == name && std::ranges::all_of(labels, [&](const auto& label) {
                          const auto found = sample.labels.find(label.first);
                          return found != sample.labels.end() && found->second == label.second;
                        });
      if (fits) text = text == "none" ? sample.text : "many";
    }
  return text;
}

ReadMetrics read_metrics(const std::string& text, Format format) { return Reader(format).read(text); }

}  // namespace healer::test
