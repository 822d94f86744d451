// SPDX-License-Identifier: MIT
// How servers are reached, in statements and in tests: TLS and credentials.
#pragma once

#include "grammar/common.hpp"

namespace healer::grammar {

// clang-format off

// using tls with options { verify: enable, version: tlsv12 }
struct tls_version    : token<Kind::SslVersion, Kind::Auto> {};
struct tls_flag_name  : token<Kind::Verify> {};
struct tls_flag       : token<Kind::Enable, Kind::Disable> {};
struct tls_self_name  : token<Kind::SelfSigned> {};
struct tls_self       : token<Kind::Allow, Kind::Reject> {};
struct tls_text_name  : token<Kind::Ciphers> {};
struct tls_text       : string_word {};
struct tls_path_name  : token<Kind::PemPath, Kind::CaPath> {};
struct tls_path       : path_word {};
struct tls_version_name : token<Kind::Version> {};
struct tls_option     : sor<seq<tls_flag_name, token<Kind::Colon>, tls_flag>,
                            seq<tls_self_name, token<Kind::Colon>, tls_self>,
                            seq<tls_text_name, token<Kind::Colon>, tls_text>,
                            seq<tls_path_name, token<Kind::Colon>, tls_path>,
                            seq<tls_version_name, token<Kind::Colon>, star<tls_version>>> {};
struct tls_options    : seq<token<Kind::LeftBrace>, star<tls_option>, token<Kind::RightBrace>> {};
struct tls_word       : token<Kind::Ssl> {};
struct tls_only_version : token<Kind::SslVersion, Kind::Auto> {};
struct tls            : sor<seq<tls_word, opt<tls_options>>,
                            seq<tls_only_version, opt<extension<"options after a version", tls_options>>>> {};

// Any word or text at all.
struct any_word       : pegtl::not_one<static_cast<char>(Kind::Broken), static_cast<char>(Kind::Colon), static_cast<char>(Kind::LeftBrace),
                                       static_cast<char>(Kind::RightBrace), static_cast<char>(Kind::Percent), static_cast<char>(Kind::Equal),
                                       static_cast<char>(Kind::Operator), static_cast<char>(Kind::At)> { static constexpr std::string_view kExpected = "a text"; };

// certificate checksum md5 = "...", certmd5 "..."
struct sum_type       : token<Kind::ChecksumType> {};
struct sum_equal      : token<Kind::Equal, Kind::Operator> { static constexpr std::string_view kExpected = ""; };
struct sum_value      : token<Kind::String, Kind::Quoted> { static constexpr std::string_view kExpected = "a checksum"; };
struct certmd5_word   : token<Kind::CertMd5> {};
struct own_sum_word   : text<"sha256"> {};
struct certificate_sum: seq<token<Kind::Certificate>, token<Kind::Checksum>, opt<sor<sum_type, extension<"'sha256' before the checksum of a certificate", own_sum_word>>>, opt<sum_equal>, sum_value> {};
struct certificate_md5: seq<certmd5_word, sum_value> {};

// username "..." password "..."
struct credential_text: token<Kind::String, Kind::Quoted, Kind::Mail, Kind::Address> { static constexpr std::string_view kExpected = "a text"; };
struct credential_word: pegtl::seq<pegtl::not_at<pegtl::one<static_cast<char>(Kind::Username), static_cast<char>(Kind::Password), static_cast<char>(Kind::Port),
                                                            static_cast<char>(Kind::Timeout), static_cast<char>(Kind::Set), static_cast<char>(Kind::Include)>>, any_word> {};
struct credential     : sor<credential_text, extension<"a word of the language as a credential", credential_word>> {};
// clang-format on

}  // namespace healer::grammar
