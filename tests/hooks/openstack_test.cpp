// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "hooks/readings.hpp"

namespace openstack_test {

using namespace healer;
using namespace healer::test;
using hooks::Format;

// As aodh-notifier sends it.
constexpr std::string_view kAlarm =
    R"({"alarm_name":"vm-down","alarm_id":"44fe","severity":"critical","previous":"insufficient data","current":"alarm",)"
    R"("reason":"Event <id=1> hits the query.","reason_data":{"type":"event","event":{"event_type":"compute.instance.update",)"
    R"("message_id":"m","message_signature":"x","generated":"2026-11-21T04:47:14.915354",)"
    R"("traits":[["state",1,"stopped"],["instance_id",1,"i-1"],["memory_mb",2,512],["severity",1,"low"],["state",1,"second"]],"raw":{}}}})";

TEST_CASE("an alarm of Aodh is named by its id, and has the traits of its event as fields", "[hooks]") {
  const std::string read = reading(Format::Aodh, kAlarm);
  CHECK(read.starts_with("44fe|alarm|{"));
  CHECK(read.find(R"("instance_id":"i-1")") != std::string::npos);
  CHECK(read.find(R"("memory_mb":512)") != std::string::npos);
  // The alarm's own win, and of two traits the first.
  CHECK(read.find(R"("severity":"critical")") != std::string::npos);
  CHECK(read.find(R"("state":"stopped")") != std::string::npos);
}

TEST_CASE("an alarm of another kind has no traits, and odd ones are no fields", "[hooks]") {
  const std::string threshold =
      R"({"alarm_id":"a","current":"ok","reason_data":{"count":1,"disposition":"inside","type":"threshold"}})";
  CHECK(reading(Format::Aodh, threshold) == "a|ok|" + threshold + "\n");
  for (const std::string_view traits : {R"({"a":1})", R"([1,["x"],[1,2,3],["",1,"v"],["current",1,"odd"]])", "null"}) {
    const std::string odd =
        R"({"alarm_id":"a","current":"ok","reason_data":{"event":{"traits":)" + std::string(traits) + "}}}";
    CHECK(reading(Format::Aodh, odd) == "a|ok|" + odd + "\n");
  }
}

TEST_CASE("what is no alarm is refused", "[hooks]") {
  CHECK(reading(Format::Aodh, R"({"alarm_id":"a"})") ==
        "400: an alarm of Aodh has no \"current\" that is a text of at most 1024 bytes");
  CHECK(reading(Format::Aodh, R"({"alarm_id":7,"current":"ok"})")
            .starts_with("400: an alarm of Aodh has no \"alarm_id\""));
  CHECK(reading(Format::Aodh, "[]").starts_with("400: "));
  CHECK(reading(Format::Aodh, "null").starts_with("400: "));
  CHECK(reading(Format::Aodh, "alarm").starts_with("400: "));
}

TEST_CASE("of a message of Zaqar the body is the event", "[hooks]") {
  const std::string around = R"({"ttl":300,"Message_Type":"Notification","queue_name":"heal","body":)";
  CHECK(reading(Format::Zaqar, around + std::string(kAlarm) + "}") == reading(Format::Aodh, kAlarm));
  const std::string other = reading(Format::Zaqar, around + R"({"unit": 3}})");
  CHECK(other.substr(32) == "||{\"unit\":3}\n");
  // The same body is the same event, whatever is around it.
  CHECK(reading(Format::Zaqar, R"({"ttl":1,"body":{"unit":3}})") == other);
  CHECK(reading(Format::Zaqar, R"({"body":"text"})").substr(32) == "||\"text\"\n");
  CHECK(reading(Format::Zaqar, R"({"ttl":1})") == "400: a message of Zaqar has no \"body\"");
  CHECK(reading(Format::Zaqar, R"([{"body":1}])") == "400: a message of Zaqar has no \"body\"");
}

// As zaqar.notification.notifier sends it.
std::string confirmation(const std::string& url, const std::string& signature = "6a63d63242ebd18c3518871dda6fdcb6") {
  return R"({"Message_Type":"SubscriptionConfirmation","Message":"You have chosen to subscribe to the queue: heal",)"
         R"("URL-Signature":")" +
         signature +
         R"(","URL-Methods":"PUT",)"
         R"("URL-Paths":"/v2/queues/heal/subscriptions/s1/confirm","X-Project-ID":"p1","URL-Expires":"2030-01-01T00:00:00",)" +
         url + R"("SubscribeBody":{"confirmed":true},"UnsubscribeBody":{"confirmed":false}})";
}

TEST_CASE("a subscription of Zaqar is confirmed by a person, who is told how", "[hooks]") {
  CHECK(
      reading(Format::Zaqar,
              confirmation(R"("WSGISubscribeURL":"http://10.0.0.5:8888/v2/queues/heal/subscriptions/s1/confirm",)")) ==
      "notice: Zaqar asks whether this subscription is wanted; who wants it confirms it: curl -X PUT -H 'Content-Type: "
      "application/json' -H \"Client-ID: $(uuidgen)\" -H 'URL-Signature: 6a63d63242ebd18c3518871dda6fdcb6' -H "
      "'URL-Methods: PUT' -H 'URL-Paths: /v2/queues/heal/subscriptions/s1/confirm' -H 'URL-Expires: "
      "2030-01-01T00:00:00' -H 'X-Project-ID: p1' -d '{\"confirmed\": true}' "
      "'http://10.0.0.5:8888/v2/queues/heal/subscriptions/s1/confirm'");
  CHECK(reading(Format::Zaqar, confirmation(""))
            .ends_with("'http://ZAQAR:8888/v2/queues/heal/subscriptions/s1/confirm'"));
  CHECK(reading(Format::Zaqar, R"({"Message_Type":"UnsubscribeConfirmation"})") ==
        "notice: Zaqar says that this subscription has ended");
}

TEST_CASE("nothing that a body says becomes part of a command", "[hooks]") {
  CHECK(reading(Format::Zaqar, confirmation("", "x' ; rm -rf / '")) ==
        "400: the \"URL-Signature\" of a confirmation of Zaqar is odd");
  CHECK(reading(Format::Zaqar, confirmation(R"_("WSGISubscribeURL":"http://h/$(id)",)_")) ==
        "400: the \"WSGISubscribeURL\" of a confirmation of Zaqar is odd");
  CHECK(reading(Format::Zaqar, R"({"Message_Type":"SubscriptionConfirmation"})")
            .starts_with("400: a confirmation of Zaqar has no"));
}

}  // namespace openstack_test
