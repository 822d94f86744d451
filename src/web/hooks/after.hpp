// SPDX-License-Identifier: MIT
// A reply that waits until something has been told.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "web/message.hpp"

namespace healer::web {

/// A response as soon as there is one, or what it is waited for by.
[[nodiscard]] inline Reply reply_of(std::unique_ptr<Deferred> deferred) {
  if (auto response = deferred->poll()) return std::move(*response);
  return deferred;
}

/// Waits for a T, of which `then` makes the reply; both on one thread.
template <typename T>
class After final : public Deferred {
 public:
  After(Wake wake, std::function<Reply(T)> then)
      : told_(std::make_shared<Told>(Told{std::nullopt, std::move(wake)})), then_(std::move(then)) {}

  /// Tells it, once. It may be called when nobody waits any more.
  [[nodiscard]] std::function<void(T)> teller() const {
    return [told = told_](T value) {
      told->value = std::move(value);
      told->wake();
    };
  }

  std::optional<Response> poll() override {
    if (inner_) return inner_->poll();
    if (!told_->value) return std::nullopt;
    Reply reply = std::exchange(then_, {})(std::move(*told_->value));
    if (auto* const response = std::get_if<Response>(&reply)) return std::move(*response);
    inner_ = std::move(std::get<std::unique_ptr<Deferred>>(reply));
    return inner_->poll();
  }

 private:
  struct Told {
    std::optional<T> value;
    Wake wake;
  };
  std::shared_ptr<Told> told_;
  std::function<Reply(T)> then_;
  std::unique_ptr<Deferred> inner_;
};

}  // namespace healer::web
