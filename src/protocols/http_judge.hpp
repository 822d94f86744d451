// SPDX-License-Identifier: MIT
// What is asked of the answer to a request, whichever HTTP brought it: its status (below 400 where nothing else is
// asked), its content, its checksum, its JSON. Keeps of the content no more than the limits say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/digest.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

class HttpJudge {
 public:
  explicit HttpJudge(const Order& order);

  /// A piece of the content.
  void take(std::string_view part);
  /// What there is to do now: Receive while more is to come that counts. `location`: where the answer sends to; empty:
  /// nowhere. Not after a verdict.
  [[nodiscard]] Want judge(int status, bool is_whole, std::string_view location);
  /// After a Search or a Query of judge(): a verdict, or nothing where judge() is to be asked again.
  [[nodiscard]] std::optional<Want> found(std::optional<std::size_t> end);
  [[nodiscard]] std::optional<Want> answered(const Result<std::string>& value);

 private:
  [[nodiscard]] std::optional<Want> redirect(int status, std::string_view location) const;

  std::size_t limit_;
  std::optional<Setting> status_;
  std::optional<Setting> content_;
  std::optional<Setting> redirects_;
  std::vector<Setting> json_;
  std::size_t json_judged_ = 0;
  bool content_judged_ = false;
  bool is_cut_ = false;  // there was more content than is kept
  std::string checksum_;
  std::optional<Digest> digest_;
  std::string body_;  // what is looked at of it; kept only where it is asked for
};

}  // namespace healer::protocols
