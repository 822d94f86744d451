// SPDX-License-Identifier: MIT
// Ownership of a file descriptor, and the two ways in which runtime makes some. Every descriptor is close-on-exec.
#pragma once

#include <dirent.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "util/result.hpp"

namespace healer::runtime {

/// Owns one descriptor and closes it. Not thread-safe.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  /// Gives the descriptor away; the caller closes it.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  /// Closes it now.
  void reset();

 private:
  int number_ = -1;
};

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
/// A folder that is being read.
using Directory = std::unique_ptr<DIR, CloseDirectory>;

struct Pipe {
  Descriptor read;  ///< non-blocking
  Descriptor write;
};

/// What errno says, within a sentence: "cannot assign requested address".
[[nodiscard]] std::string words_of_errno(int code);
/// Whether it is the machine that has nothing to give now: descriptors, memory, processes.
[[nodiscard]] bool lacks_resources(const Error& error);
/// Whether it is the disk that is full, or the share of it that may be used.
[[nodiscard]] bool lacks_room(const Error& error);

/// A pipe. Errors: no descriptors left (EMFILE, ENFILE).
[[nodiscard]] Result<Pipe> make_pipe();

/// False, with errno, where not all of it could be written.
bool write_whole(int file, std::string_view text);

}  // namespace healer::runtime
