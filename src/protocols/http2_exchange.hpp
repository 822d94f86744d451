// SPDX-License-Identifier: MIT
// One request in HTTP/2 and its answer, by nghttp2 on memory: over TLS where the server agrees to it (ALPN), else with
// prior knowledge. What is asked and how the answer is judged is said by the conversations that have one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/http_talk.hpp"

struct nghttp2_session;

namespace healer::protocols {

class Http2Exchange {
 public:
  using Content = std::function<void(std::string_view part)>;

  /// `content` gets what the answer holds, in pieces. Of its headers those of the names `kept` (in lower case) are
  /// kept.
  Http2Exchange(HttpRequest request, bool tls, std::vector<std::string_view> kept, Content content);
  Http2Exchange(const Http2Exchange&) = delete;
  Http2Exchange& operator=(const Http2Exchange&) = delete;
  ~Http2Exchange();

  /// Asks; false where this machine cannot. Then there is output().
  [[nodiscard]] bool begin();
  /// Takes what came; false where the verdict can only be fault().
  [[nodiscard]] bool receive(std::string_view bytes);
  /// Whether nothing more can come after the last output(): it said that it is over. Then there is a fault().
  [[nodiscard]] bool is_over();
  /// What there is to send now.
  [[nodiscard]] std::string output();
  /// That, and the frame that says good-bye.
  [[nodiscard]] std::string farewell();

  /// Why there will be no answer, for people; empty: there may be.
  [[nodiscard]] const std::string& fault() const { return fault_; }
  /// The headers of the answer are known, and its status is final.
  [[nodiscard]] bool has_headers() const { return has_headers_; }
  /// Nothing more of it is to come.
  [[nodiscard]] bool is_whole() const { return is_whole_; }
  [[nodiscard]] int status() const { return status_; }
  /// A header that is kept, one before the content or one behind it; empty: the answer has none.
  [[nodiscard]] std::string_view header(std::string_view name) const { return text_of(headers_, name); }
  [[nodiscard]] std::string_view trailer(std::string_view name) const { return text_of(trailers_, name); }

 private:
  struct Callbacks;
  using Fields = std::map<std::string, std::string, std::less<>>;

  static std::string_view text_of(const Fields& fields, std::string_view name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string_view{} : std::string_view(found->second);
  }

  bool make_session();
  bool submit();

  HttpRequest request_;
  std::string scheme_;
  std::vector<std::string_view> kept_;
  Content content_;
  nghttp2_session* session_ = nullptr;
  std::string first_;  // bytes, as far as they tell what the server speaks
  std::string held_;
  std::string last_;  // what came last, of it the beginning
  std::string fault_;
  Fields headers_;
  Fields trailers_;
  int status_ = 0;
  std::size_t header_bytes_ = 0;
  std::size_t body_sent_ = 0;
  bool is_greeted_ = false;
  bool is_refused_ = false;
  bool has_headers_ = false;
  bool is_whole_ = false;
};

}  // namespace healer::protocols
