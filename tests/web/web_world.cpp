// SPDX-License-Identifier: MIT
#include "web/web_world.hpp"

#include <memory>
#include <semaphore>
#include <utility>
#include <variant>

#include <catch2/catch.hpp>

namespace healer::test {

std::string body_of(web::Response& response) {
  std::string text = response.body;
  if (response.stream)
    for (int waits = 0; waits < 10'000;) {
      const web::Stream::Next next = response.stream->pull(text, 4096);
      if (next == web::Stream::Next::Done) break;
      if (next == web::Stream::Next::Waiting) ++waits;
    }
  return text;
}

web::Response WebWorld::get(const std::string& target, const control::Asker& who) {
  const std::size_t mark = target.find('?');
  web::Request request{.path = target.substr(0, mark)};
  for (std::string rest = mark == std::string::npos ? "" : target.substr(mark + 1); !rest.empty();) {
    const std::string one = rest.substr(0, rest.find('&'));
    rest.erase(0, one.size() + 1);
    const std::size_t equals = one.find('=');
    request.query.emplace_back(one.substr(0, equals), equals == std::string::npos ? "" : one.substr(equals + 1));
  }
  return send(request, who);
}

web::Response WebWorld::post(const std::string& path, web::Fields form, const control::Asker& who) {
  return send({.method = web::Method::Post, .path = path, .form = std::move(form)}, who);
}

web::Reply WebWorld::ask(const web::Request& request, web::Wake wake, const control::Asker& who) {
  const auto match = router_.find(request.method, request.path);
  const auto* found = std::get_if<web::Router::Found>(&match);
  if (found == nullptr)
    return web::Response{.status = std::holds_alternative<web::Router::Unknown>(match) ? 404U : 405U};
  return found->route->handle(
      {.request = request, .who = who, .token = "token", .captured = found->captured, .wake = std::move(wake)});
}

web::Response WebWorld::send(const web::Request& request, const control::Asker& who) {
  web::Response response;
  const auto woken = std::make_shared<std::counting_semaphore<>>(0);
  daemon_.act([&](World&) {
    web::Reply reply = ask(
        request, [woken] { woken->release(); }, who);
    if (auto* deferred = std::get_if<std::unique_ptr<web::Deferred>>(&reply)) {
      auto ready = (*deferred)->poll();
      // A thread of its own may be reading.
      while (!ready && woken->try_acquire_for(kPatience)) ready = (*deferred)->poll();
      if (ready) response = std::move(*ready);
    } else {
      response = std::move(std::get<web::Response>(reply));
    }
    response.body = body_of(response);
    response.stream.reset();
  });
  return response;
}

}  // namespace healer::test
