// SPDX-License-Identifier: MIT
// What the rules are made of: an input that is a row of token kinds, and terminals that match one token by its kind or,
// for healer's own words, by what it says. Rules are pure structure: no actions, no values checked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <tao/pegtl.hpp>

#include "grammar/lexer.hpp"
#include "util/monit_version.hpp"
#include "util/text.hpp"

namespace healer::grammar {

namespace pegtl = tao::pegtl;

/// The kinds of tokens [first, end) of a stream; a byte's place is its token's index. The stream must outlive it.
class TokenInput : public pegtl::memory_input<pegtl::tracking_mode::lazy, pegtl::eol::lf, const char*> {
 public:
  using Base = pegtl::memory_input<pegtl::tracking_mode::lazy, pegtl::eol::lf, const char*>;

  /// `is_foreground`: the statements are of a foreground process, which Monit has not.
  /// `is_in_block`: they stand in a `for each`, which Monit has not either.
  TokenInput(const TokenStream& stream, std::size_t first, bool is_foreground = false, bool is_in_block = false)
      : Base(stream.kinds.data() + first, stream.kinds.data() + stream.kinds.size(), ""),
        stream_(&stream),
        is_foreground_(is_foreground),
        is_in_block_(is_in_block) {}

  [[nodiscard]] const TokenStream& stream() const { return *stream_; }
  /// The index of the token that is next.
  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(current() - stream_->kinds.data()); }
  [[nodiscard]] Kind kind() const { return empty() ? Kind::End : static_cast<Kind>(*current()); }
  [[nodiscard]] std::string_view text() const { return stream_->text_of(index()); }
  [[nodiscard]] bool is_foreground() const { return is_foreground_; }
  [[nodiscard]] bool is_in_block() const { return is_in_block_; }
  /// The token that comes so many after the next one.
  [[nodiscard]] Kind kind(std::size_t ahead) const { return token(ahead).kind; }
  [[nodiscard]] std::string_view text(std::size_t ahead) const { return stream_->text_of(place(ahead)); }
  [[nodiscard]] std::uint8_t flags() const { return token(0).flags; }

 private:
  [[nodiscard]] std::size_t place(std::size_t ahead) const {
    return std::min(index() + ahead, stream_->tokens.size() - 1);
  }
  [[nodiscard]] const Token& token(std::size_t ahead) const { return stream_->tokens[place(ahead)]; }

  const TokenStream* stream_;
  bool is_foreground_;
  bool is_in_block_;
};

/// A text as a template parameter.
template <std::size_t N>
struct Literal {
  char text[N]{};
  constexpr Literal(const char (&from)[N]) { std::copy_n(from, N, text); }  // NOLINT: implicit on purpose
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
};

/// One token of one of these kinds.
template <Kind... Kinds>
struct token : pegtl::one<static_cast<char>(Kinds)...> {
  static constexpr Kind kKinds[] = {Kinds...};
};

/// One bare word that says one of these texts: a word of healer's own.
template <Literal... Texts>
struct text {
  using rule_t = typename pegtl::one<static_cast<char>(Kind::String)>::rule_t;
  using subs_t = pegtl::empty_list;
  static constexpr std::string_view kTexts[] = {Texts.view()...};

  static bool match(TokenInput& in) {
    if (in.kind() != Kind::String) return false;
    const auto word = in.text();
    if (std::ranges::none_of(kTexts, [&](std::string_view one) { return iequals(one, word); })) return false;
    in.bump(1);
    return true;
  }
};

/// One token whose text is written without the blank that Monit wants: `status>0`, `3cycles`, `10MB`. `Test` says
/// whether a text is such a thing. Monit takes it for a bare word, so it can stand only where that is an error there.
template <bool (*Test)(std::string_view)>
struct tight {
  using rule_t = typename pegtl::one<static_cast<char>(Kind::String)>::rule_t;
  using subs_t = pegtl::empty_list;

  static bool match(TokenInput& in) {
    if (in.kind() != Kind::String || !Test(in.text())) return false;
    in.bump(1);
    return true;
  }
};

/// One text that begins with `${NAME}`, where Monit wants a path or a number: what it is is known when it is replaced.
struct named_text {
  using rule_t = typename pegtl::one<static_cast<char>(Kind::String), static_cast<char>(Kind::Quoted)>::rule_t;
  using subs_t = pegtl::empty_list;
  static constexpr std::string_view kExpected = "";

  static bool match(TokenInput& in) {
    if (in.kind() != Kind::String && in.kind() != Kind::Quoted) return false;
    const std::string_view word = in.text();
    if (reference_end(word, word.front() == '"' || word.front() == '\'' ? 1 : 0) == 0) return false;
    in.bump(1);
    return true;
  }
};

/// One token of one of these kinds with the noise word `program` before it, right after the name of a process.
template <Kind... Kinds>
struct after_program {
  using rule_t = typename pegtl::one<static_cast<char>(Kinds)...>::rule_t;
  using subs_t = pegtl::empty_list;
  static constexpr Kind kKinds[] = {Kinds...};

  static bool match(TokenInput& in) {
    if ((in.flags() & kAfterProgram) == 0 || ((in.kind() != Kinds) && ...)) return false;
    in.bump(1);
    return true;
  }
};

/// Looks ahead and takes nothing.
template <bool (*Test)(const TokenInput&)>
struct ahead {
  using rule_t = pegtl::success::rule_t;
  using subs_t = pegtl::empty_list;

  static bool match(const TokenInput& in) { return Test(in); }
};

/// What Monit refuses and healer understands: the rules, and what `--dialect monit` calls it.
template <Literal Name, typename... Rules>
struct extension : pegtl::seq<Rules...> {
  static constexpr std::string_view kName = Name.view();
};

/// What Monit understands from a version on: the rules, and what the dialects of older ones call it. Its words are
/// never reserved: they are texts.
template <MonitVersion Since, Literal Name, typename... Rules>
struct since : pegtl::seq<Rules...> {
  static constexpr std::string_view kName = Name.view();
  static constexpr MonitVersion kSince = Since;
};

}  // namespace healer::grammar
