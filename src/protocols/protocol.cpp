// SPDX-License-Identifier: MIT
#include "protocols/protocol.hpp"

#include <algorithm>

#include "util/text.hpp"

namespace healer::protocols {

bool holds(Operator op, std::int64_t left, std::int64_t right) {
  switch (op) {
    case Operator::Equal: return left == right;
    case Operator::NotEqual: return left != right;
    case Operator::Less: return left < right;
    case Operator::LessEqual: return left <= right;
    case Operator::Greater: return left > right;
    case Operator::GreaterEqual: return left >= right;
  }
  return false;
}

std::string_view to_string(Operator op) {
  switch (op) {
    case Operator::Equal: return "=";
    case Operator::NotEqual: return "!=";
    case Operator::Less: return "<";
    case Operator::LessEqual: return "<=";
    case Operator::Greater: return ">";
    case Operator::GreaterEqual: return ">=";
  }
  return "";
}

const Setting* Order::find(std::string_view word) const {
  const auto found = std::ranges::find(settings, word, &Setting::word);
  return found == settings.end() ? nullptr : &*found;
}

std::string_view Order::text(std::string_view word) const {
  const Setting* setting = find(word);
  return setting == nullptr ? std::string_view{} : std::string_view(setting->text);
}

const Option* Protocol::find(std::string_view word) const {
  const auto found = std::ranges::find_if(options, [&](const Option& option) { return iequals(option.word, word); });
  return found == options.end() ? nullptr : &*found;
}

}  // namespace healer::protocols
