// SPDX-License-Identifier: MIT
// Reads the output of programs while they write it, off the loop: a disk may hang. One thread, started with the first
// page that is asked for. What the daemon takes out of the middle of a long output (see runtime/programs/action_files)
// is a line in its place; nothing is told twice.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "control/socket/server.hpp"

namespace healer::control {

class OutputReader {
 public:
  /// Most bytes of a page.
  static constexpr std::size_t kPage = 16 * 1024;
  /// How often a file that has not grown is looked at, and for how long a page waits for something to come.
  static constexpr Duration kReadInterval{100};
  static constexpr Duration kPatience{400};

  /// How far a file has been read. Handed from page to page.
  struct Place {
    std::string path;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;  ///< the largest seen: one that is smaller now was cut
    std::string shown;       ///< the end of what was read, to find the place again in a file that was cut
    bool there = false;      ///< whether there was a file when it was read last
    std::string rest;        ///< the beginning of a character, or a line with secrets, whose end has not come yet
    /// The secrets that may be in it, to be struck out: known from before it is written until they are no longer in the
    /// file. May be empty.
    std::function<std::vector<std::string>()> ask_secrets{};
    std::vector<std::string> secrets{};  ///< that were known when it was read
  };

  /// A page under way. Whoever asked holds it; where nobody does any more, it is not read.
  class Page {
   public:
    /// What has come, once; empty where nothing came in time. Nothing while it is being read. Then `place()` may be
    /// taken for the next page.
    [[nodiscard]] std::optional<std::string> take();
    [[nodiscard]] Place& place() { return place_; }

   private:
    friend class OutputReader;
    Place place_;
    bool last_ = false;
    std::chrono::steady_clock::time_point until_;
    Wake wake_;
    std::mutex mutex_;
    std::optional<std::string> text_;
  };

  OutputReader() = default;
  /// Waits for the read under way.
  ~OutputReader();
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;

  /// Asks for what comes after `place`; `wake` is called (on the reader's thread) when the page is there. `last`: the
  /// program has ended, so nothing is waited for, and an unfinished character is told as it is.
  [[nodiscard]] std::shared_ptr<Page> ask(Place place, bool last, Wake wake);

  /// Reads one page now. For the thread, and for tests.
  [[nodiscard]] static std::string read(Place& place, bool last);

 private:
  static std::string read_some(Place& place, bool last);
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::weak_ptr<Page>> pages_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace healer::control
