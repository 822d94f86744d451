// SPDX-License-Identifier: MIT
#include "hooks/signature.hpp"

#include <catch2/catch.hpp>

#include "hooks/readings.hpp"
#include "util/base64.hpp"

namespace signature_test {

using namespace healer;
using namespace healer::test;

// The example of the specification's libraries.
const std::string kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const std::string kOther = "whsec_" + base64_encoded("another secret of 24 byt");
constexpr std::string_view kId = "msg_p5jXN8AQM9LWM0D4loKWxJek", kSent = "1614265330",
                           kBody = R"({"test": 2432232314})";
const std::string kSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
constexpr WallTime kNow{seconds{1614265330}};

std::string distrust(const std::string& signature, std::vector<std::string> secrets = {kSecret}, WallTime now = kNow,
                     std::string_view sent = kSent, std::string_view body = kBody) {
  const Headers headers{
      {"Webhook-Id", std::string(kId)}, {"webhook-timestamp", std::string(sent)}, {"webhook-signature", signature}};
  return hooks::distrust({.body = body, .headers = headers}, secrets, now);
}

TEST_CASE("a message is signed as Standard Webhooks has it", "[hooks]") {
  CHECK(hooks::sign(*hooks::signing_key(kSecret), kId, kSent, kBody) == kSignature);
  CHECK(distrust(kSignature).empty());
  CHECK(distrust("v1a,x v1,AAAA " + kSignature).empty());
  const std::string wrong = "its webhook-signature is not by a secret of the hook";
  CHECK(distrust(kSignature, {kSecret}, kNow, kSent, "{}") == wrong);
  CHECK(distrust(kSignature.substr(0, kSignature.size() - 1)) == wrong);
  CHECK(distrust("v1,") == wrong);
  CHECK(distrust("v2,x") == "its webhook-signature has none that begins with \"v1,\"");
}

TEST_CASE("while a secret changes both are taken", "[hooks]") {
  CHECK(distrust(kSignature, {kOther, kSecret}).empty());
  CHECK(distrust(kSignature, {kSecret, kOther}).empty());
  CHECK_FALSE(distrust(kSignature, {kOther}).empty());
  CHECK_FALSE(distrust(kSignature, {}).empty());
}

TEST_CASE("a message must have been sent less than five minutes ago", "[hooks]") {
  CHECK(distrust(kSignature, {kSecret}, kNow + minutes{5}).empty());
  CHECK(distrust(kSignature, {kSecret}, kNow - minutes{5}).empty());
  CHECK(distrust(kSignature, {kSecret}, kNow + minutes{6}) ==
        "its webhook-timestamp is 6 m behind the time here, more than 5 m");
  CHECK(distrust(kSignature, {kSecret}, kNow - minutes{6}) ==
        "its webhook-timestamp is 6 m ahead of the time here, more than 5 m");
  for (const std::string_view odd : {"now", "-1", "1614265330.5", "99999999999999999999", " 1614265330"})
    CHECK(distrust(kSignature, {kSecret}, kNow, odd) == "its webhook-timestamp is not a time in seconds");
}

TEST_CASE("a message without one of the headers is not signed", "[hooks]") {
  const Headers headers{{"webhook-id", "1"}, {"webhook-timestamp", ""}};
  CHECK(hooks::distrust({.body = "", .headers = headers}, {}, kNow) == "the header webhook-timestamp is missing");
  CHECK(hooks::distrust({.body = ""}, {}, kNow) == "the header webhook-id is missing");
}

TEST_CASE("a secret that is none signs nothing, and it is said so", "[hooks]") {
  CHECK(distrust(kSignature, {"whsec_?"}) ==
        "its webhook-signature is not by a secret of the hook; a secret of the hook is none: it is not \"whsec_\" and "
        "base64");
  CHECK(distrust(kSignature, {""}).ends_with("it must have 16 to 1024 bytes before they are written as base64"));
  CHECK(distrust(kSignature, {"whsec_?", kSecret}).empty());
  CHECK(distrust(kSignature, {kSecret.substr(6) + "\n"}).empty());
}

TEST_CASE("base64 is written and read", "[hooks]") {
  for (const std::string_view bytes : {"", "a", "ab", "abc", "abcd"})
    CHECK(base64_decoded(base64_encoded(bytes)) == bytes);
  CHECK(base64_encoded("\xff\xfe") == "//4=");
  CHECK(base64_decoded("//4") == "\xff\xfe");
  for (const std::string_view odd : {"a", "=", "====", "ab=c", "a b=", "//5=", "ab\n=", "_-4="})
    CHECK_FALSE(base64_decoded(odd));
}

}  // namespace signature_test
