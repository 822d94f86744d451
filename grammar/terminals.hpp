// SPDX-License-Identifier: MIT
// What the rules are made of: an input that is a row of token kinds, and terminals that match one token by its kind or,
// for healer's own words, by what it says. Rules are pure structure: no actions, no values checked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <tao/pegtl.hpp>

#include "grammar/lexer.hpp"
#include "util/text.hpp"

namespace healer::grammar {

namespace pegtl = tao::pegtl;

/// The kinds of tokens [first, end) of a stream; a byte's place is its token's index. The stream must outlive it.
class TokenInput : public pegtl::memory_input<pegtl::tracking_mode::lazy, pegtl::eol::lf, const char*> {
 public:
  using Base = pegtl::memory_input<pegtl::tracking_mode::lazy, pegtl::eol::lf, const char*>;

  TokenInput(const TokenStream& stream, std::size_t first)
      : Base(stream.kinds.data() + first, stream.kinds.data() + stream.kinds.size(), ""), stream_(&stream) {}

  [[nodiscard]] const TokenStream& stream() const { return *stream_; }
  /// The index of the token that is next.
  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(current() - stream_->kinds.data()); }
  [[nodiscard]] Kind kind() const { return empty() ? Kind::End : static_cast<Kind>(*current()); }
  [[nodiscard]] std::string_view text() const { return stream_->text_of(index()); }

 private:
  const TokenStream* stream_;
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
    const auto said = in.text();
    if (std::ranges::none_of(kTexts, [&](std::string_view one) { return iequals(one, said); })) return false;
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

/// What Monit refuses and healer understands: the rules, and what `--dialect monit` calls it.
template <Literal Name, typename... Rules>
struct extension : pegtl::seq<Rules...> {
  static constexpr std::string_view kName = Name.view();
};

}  // namespace healer::grammar
