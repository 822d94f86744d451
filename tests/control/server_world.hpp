// SPDX-License-Identifier: MIT
// A control server on a loop of its own thread, for tests that talk to it over its socket.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "control/server.hpp"

namespace healer::test {

using namespace healer::control;

/// How long a test waits for what must happen.
inline constexpr seconds kPatience{60};

/// Options under which nobody is dropped because the machine is busy with other things.
inline ServerOptions patient() { return {.idle = minutes{10}, .stalled = minutes{10}}; }

/// A folder that is gone with its content when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string form = "/tmp/healer-control-XXXXXX";
    if (mkdtemp(form.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = form;
    if (chmod(path_.c_str(), 0755) != 0) throw std::runtime_error("chmod");
  }
  ~TemporaryFolder() {
    if (std::system(("rm -rf " + path_).c_str()) != 0) std::abort();
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A uv loop on a thread of its own.
class LoopThread {
 public:
  LoopThread() {
    std::signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&loop_);
    uv_async_init(&loop_, &async_, [](uv_async_t* handle) { static_cast<LoopThread*>(handle->data)->drain(); });
    async_.data = this;
    thread_ = std::thread([this] { uv_run(&loop_, UV_RUN_DEFAULT); });
  }
  ~LoopThread() {
    run([this] { uv_close(reinterpret_cast<uv_handle_t*>(&async_), nullptr); });
    thread_.join();
    if (uv_loop_close(&loop_) != 0) std::abort();  // a handle was leaked
  }
  LoopThread(const LoopThread&) = delete;

  [[nodiscard]] uv_loop_t* loop() { return &loop_; }

  /// Runs `work` on the loop thread and waits for it.
  void run(std::function<void()> work) {
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

 private:
  void drain() {
    std::vector<std::function<void()>> work;
    {
      const std::lock_guard lock(mutex_);
      work.swap(work_);
    }
    for (const auto& one : work) one();
  }

  uv_loop_t loop_{};
  uv_async_t async_{};
  std::mutex mutex_;
  std::vector<std::function<void()>> work_;
  std::thread thread_;
};

/// A server over `handler` on PATH/healer.sock of a temporary folder.
class ServerWorld {
 public:
  explicit ServerWorld(Handler& handler, ServerOptions options = patient()) {
    options.path = path_;
    thread_.run([&] {
      auto opened = Server::open(thread_.loop(), handler, options);
      if (opened)
        server_ = std::move(*opened);
      else
        error_ = opened.error().what;
    });
    if (!server_) throw std::runtime_error(error_);
  }
  ~ServerWorld() { stop(); }

  void stop() {
    thread_.run([this] { server_.reset(); });
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] LoopThread& thread() { return thread_; }
  [[nodiscard]] std::size_t clients() {
    std::size_t count = 0;
    thread_.run([&] { count = clients_here(); });
    return count;
  }
  /// The same, asked on the loop thread.
  [[nodiscard]] std::size_t clients_here() const { return server_->clients(); }
  /// Waits until `count` clients are connected.
  [[nodiscard]] bool wait_for_clients(std::size_t count) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (clients() != count) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(milliseconds{5});
    }
    return true;
  }

 private:
  TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/healer.sock";
  std::string error_;
  LoopThread thread_;
  std::unique_ptr<Server> server_;
};

/// A raw connection, to say what no Client would.
class RawClient {
 public:
  explicit RawClient(const std::string& path) {
    descriptor_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    if (connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      error_ = errno;
      close(descriptor_);
      descriptor_ = -1;
    }
  }
  ~RawClient() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  RawClient(const RawClient&) = delete;
  RawClient(RawClient&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), error_(other.error_) {}

  [[nodiscard]] int error() const { return error_; }
  void send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return;  // the server has closed
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void half_close() const { shutdown(descriptor_, SHUT_WR); }

  /// The next `count` lines (fewer where the connection ends); "TIMEOUT" where nothing comes.
  [[nodiscard]] std::string lines(std::size_t count) {
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
  /// Everything up to the end of the connection.
  [[nodiscard]] std::string rest() { return lines(static_cast<std::size_t>(-1)); }

 private:
  [[nodiscard]] bool readable() const {
    pollfd entry{descriptor_, POLLIN, 0};
    return poll(&entry, 1, static_cast<int>(milliseconds{kPatience}.count())) == 1;
  }
  int descriptor_ = -1;
  int error_ = 0;
};

}  // namespace healer::test
