// SPDX-License-Identifier: MIT
// Conversations of one question and one answer, over UDP: each datagram is whole.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "protocols/conversation.hpp"

namespace healer::protocols {

class DatagramTalk : public Conversation {
 public:
  Want begin() override { return Want::receive(question()); }
  Want receive(std::string_view bytes) final {
    return datagrams_left_-- > 0 ? answer(bytes) : Want::fail("it sends what was not asked for, without end");
  }
  Want closed() final { return Want::fail("the server sends no more"); }

 protected:
  [[nodiscard]] virtual std::string question() = 0;
  /// What a datagram means. Receive: that is no answer to the question, or not yet; the next one is waited for.
  [[nodiscard]] virtual Want answer(std::string_view datagram) = 0;

 private:
  int datagrams_left_ = 100;
};

}  // namespace healer::protocols
