// SPDX-License-Identifier: MIT
// The terminal of `healerctl top`, by ncurses: draws frames, reads keys, and gives the terminal back as it was. One a
// process.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ctl/render/top_view.hpp"
#include "util/result.hpp"

namespace healer {

class Screen {
 public:
  /// Takes the terminal over. Error: it is of a type that is not known, or that cannot draw.
  [[nodiscard]] static Result<std::unique_ptr<Screen>> open(bool colour);
  /// Gives it back.
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  [[nodiscard]] control::TopSize size() const;
  /// Looks how large the terminal is now.
  void measure();
  void draw(std::span<const control::TopLine> lines);
  /// The next key that was typed; nothing where there is none (yet).
  [[nodiscard]] std::optional<control::TopKey> key();
  /// What the terminal shows may be something else: the next draw() draws all of it.
  void spoilt();

 private:
  explicit Screen(bool colour);
  [[nodiscard]] int attributes(control::TopAppearance appearance) const;

  bool colour_;
};

}  // namespace healer
