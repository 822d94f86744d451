// SPDX-License-Identifier: MIT
#include "control/events/event_fields.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace healer::control {
namespace {

using Document = nlohmann::json;

constexpr std::size_t kMostFields = 500;
constexpr std::size_t kLongestValue = 60'000;
constexpr std::size_t kMostBytes = std::size_t{256} << 10;
constexpr std::size_t kLongestPath = 253;
constexpr int kDeepest = 20;

/// Whether a key may be a part of a name behind `${`.
bool is_name(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return c > ' ' && c < '\x7f' && std::string_view("\"'$\\{}").find(c) == std::string_view::npos;
  });
}

class Fields {
 public:
  void add(const std::string& path, const Document& object, int depth) {
    for (const auto& [key, value] : object.items()) {
      const std::string name = path + '.' + key;
      if (!is_name(key) || name.size() > kLongestPath) continue;
      if (value.is_object() && depth < kDeepest)
        add(name, value, depth + 1);
      else if (value.is_string())
        add(name, value.get_ref<const std::string&>());
      else if (value.is_number() || value.is_boolean())
        add(name, value.dump());
    }
  }

  engine::EventFields fields;

 private:
  void add(const std::string& name, const std::string& value) {
    bytes_ += name.size() + value.size();
    if (value.size() <= kLongestValue && bytes_ <= kMostBytes && fields.size() < kMostFields)
      fields.emplace_back(name, value);
  }

  std::size_t bytes_ = 0;
};

}  // namespace

engine::EventFields event_fields(std::string_view document) {
  const Document object = Document::parse(document, nullptr, false);
  Fields fields;
  if (object.is_object()) fields.add("EVENT", object, 0);
  return std::move(fields.fields);
}

}  // namespace healer::control
