// SPDX-License-Identifier: MIT
#include "ctl/render/screen.hpp"

#define NCURSES_NOMACROS  // its words are common ones
#include <ncurses.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer {
namespace {

using control::TopAppearance;
using control::TopKey;

constexpr int kEscapeDelay = 25;  // ms after which an escape is a key of its own

enum Pair : short { kRed = 1, kYellow, kGreen, kCyan };

}  // namespace

Screen::Screen(bool colour) : colour_(colour) {
  cbreak();
  noecho();
  nonl();
  nodelay(stdscr, TRUE);
  keypad(stdscr, TRUE);
  set_escdelay(kEscapeDelay);
  curs_set(0);
  colour_ = colour_ && has_colors();
  if (!colour_) return;
  start_color();
  use_default_colors();
  init_pair(kRed, COLOR_RED, -1);
  init_pair(kYellow, COLOR_YELLOW, -1);
  init_pair(kGreen, COLOR_GREEN, -1);
  init_pair(kCyan, COLOR_CYAN, -1);
}

Screen::~Screen() { endwin(); }

Result<std::unique_ptr<Screen>> Screen::open(bool colour) {
  const char* type = std::getenv("TERM");
  const std::string named = fmt::format("(TERM is \"{}\")", printable(type == nullptr ? "" : type));
  SCREEN* const screen = newterm(nullptr, stdout, stdin);
  if (screen == nullptr) return Error{0, fmt::format("the type of this terminal is not known {}", named)};
  if (tigetstr("cup") == nullptr) {
    endwin();
    delscreen(screen);
    return Error{0, fmt::format("this terminal cannot place its cursor {}", named)};
  }
  return std::unique_ptr<Screen>(new Screen(colour));
}

control::TopSize Screen::size() const {
  int rows = 0, columns = 0;
  getmaxyx(stdscr, rows, columns);
  return {.rows = static_cast<std::size_t>(rows), .columns = static_cast<std::size_t>(columns)};
}

void Screen::measure() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return;
  resizeterm(size.ws_row, size.ws_col);
  spoilt();
}

void Screen::spoilt() { clearok(curscr, TRUE); }

int Screen::attributes(TopAppearance appearance) const {
  const auto painted = [this](Pair pair, chtype without) {
    return static_cast<int>(colour_ ? static_cast<chtype>(COLOR_PAIR(pair)) : without);
  };
  switch (appearance) {
    case TopAppearance::Plain: return A_NORMAL;
    case TopAppearance::Strong: return A_BOLD;
    case TopAppearance::Title:
    case TopAppearance::Chosen: return static_cast<int>(A_REVERSE);
    case TopAppearance::Failed: return painted(kRed, A_NORMAL) | static_cast<int>(A_BOLD);
    case TopAppearance::Failing: return painted(kYellow, A_BOLD);
    case TopAppearance::Running: return painted(kGreen, A_NORMAL);
    case TopAppearance::Waiting: return painted(kCyan, A_NORMAL);
    case TopAppearance::Faint: return static_cast<int>(A_DIM);
  }
  return A_NORMAL;
}

void Screen::draw(std::span<const control::TopLine> lines) {
  erase();
  int row = 0;
  for (const control::TopLine& line : lines) {
    if (move(row++, 0) == ERR) break;
    for (const control::TopPiece& piece : line) {
      attrset(attributes(piece.appearance));
      addnstr(piece.text.data(), static_cast<int>(piece.text.size()));
    }
  }
  attrset(A_NORMAL);
  refresh();
}

std::optional<TopKey> Screen::key() {
  using Kind = TopKey::Kind;
  const int typed = getch();
  switch (typed) {
    case ERR: return std::nullopt;
    case KEY_UP: return TopKey{Kind::Up};
    case KEY_DOWN: return TopKey{Kind::Down};
    case KEY_PPAGE: return TopKey{Kind::PageUp};
    case KEY_NPAGE: return TopKey{Kind::PageDown};
    case KEY_HOME: return TopKey{Kind::Home};
    case KEY_END: return TopKey{Kind::End};
    case KEY_ENTER:
    case '\r':
    case '\n': return TopKey{Kind::Enter};
    case '\x1b': return TopKey{Kind::Escape};
    case KEY_BACKSPACE:
    case '\b':
    case '\x7f': return TopKey{Kind::Erase};
    case '\x0c':  // Ctrl-L
      spoilt();
      return TopKey{Kind::Text};
    default: break;
  }
  if (typed > 0xff) return TopKey{Kind::Text};  // a key that nothing is bound to
  // A character of several bytes comes as several keys.
  std::string text(1, static_cast<char>(typed));
  while (text.size() < 4 && static_cast<unsigned char>(text.front()) >= 0xc0 && utf8_length(text) == 0) {
    const int more = getch();
    if (more == ERR || more > 0xff) break;
    text += static_cast<char>(more);
  }
  return TopKey{Kind::Text, std::move(text)};
}

}  // namespace healer
