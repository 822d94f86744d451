// SPDX-License-Identifier: MIT
#include "protocols/digest.hpp"

#include <catch2/catch.hpp>

namespace digest_test {

using namespace healer::protocols;

TEST_CASE("checksums go by the length of what is wanted", "[protocols][digest]") {
  const auto sum = [](std::size_t digits) {
    Digest digest(digits);
    digest.add("hel");
    digest.add("lo");
    return digest.finish();
  };
  CHECK(sum(32) == "5d41402abc4b2a76b9719d911017c592");
  CHECK(sum(40) == "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d");
  CHECK(sum(64) == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
  CHECK(is_checksum("5D41402abc4b2a76b9719d911017c592"));
  CHECK_FALSE(is_checksum("5d41402abc4b2a76b9719d911017c59"));
  CHECK_FALSE(is_checksum("5d41402abc4b2a76b9719d911017c59z"));
}

TEST_CASE("Base64 is on one line", "[protocols][digest]") {
  CHECK(base64("") == "");
  CHECK(base64("u:p") == "dTpw");
  CHECK(base64("\xff\xfe") == "//4=");
  CHECK(base64(std::string(100, 'x')).find('\n') == std::string::npos);
}

}  // namespace digest_test
