// SPDX-License-Identifier: MIT
#include "control/server_world.hpp"

namespace healer::test {

TemporaryFolder::~TemporaryFolder() {
  if (std::system(("rm -rf " + path_).c_str()) != 0) std::abort();
}

LoopThread::~LoopThread() {
  run([this] { uv_close(reinterpret_cast<uv_handle_t*>(&async_), nullptr); });
  thread_.join();
  if (uv_loop_close(&loop_) != 0) std::abort();  // a handle was leaked
}

void LoopThread::run(std::function<void()> work) {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    work_.emplace_back([&] {
      work();
      done.set_value();
    });
    uv_async_send(&async_);
  }
  done.get_future().get();
}

void LoopThread::drain() {
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(work_);
  }
  for (const auto& one : work) one();
}

void ServerWorld::stop() {
  thread_.run([this] { server_.reset(); });
}

std::size_t ServerWorld::clients() {
  std::size_t count = 0;
  thread_.run([&] { count = clients_here(); });
  return count;
}

bool ServerWorld::wait_for_clients(std::size_t count) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (clients() != count) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds{5});
  }
  return true;
}

RawClient::~RawClient() {
  if (descriptor_ >= 0) close(descriptor_);
}

void RawClient::send(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t count = ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
    if (count <= 0) return;  // the server has closed
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string RawClient::lines(std::size_t count) {
  std::string text;
  while (count > 0) {
    char byte = 0;
    if (!readable()) return text + "TIMEOUT";
    if (recv(descriptor_, &byte, 1, 0) <= 0) return text;
    text += byte;
    if (byte == '\n') --count;
  }
  return text;
}

bool RawClient::readable() const {
  pollfd entry{descriptor_, POLLIN, 0};
  return poll(&entry, 1, static_cast<int>(milliseconds{kPatience}.count())) == 1;
}

}  // namespace healer::test
