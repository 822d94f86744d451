// SPDX-License-Identifier: MIT
// Lists over HTTP: what is asked, what is kept of rows, and where pages are.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "config/lists/list_memory.hpp"
#include "config/lists/list_pages.hpp"
#include "config/lists/list_rows.hpp"
#include "config/lists/list_source.hpp"
#include "config/load.hpp"
#include "config/passes/expand.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/fake_environment.hpp"

namespace http_lists_test {

using namespace healer;
using namespace healer::config;
using healer::test::FakeEnvironment;

namespace {

const std::string kMain = "/etc/healer/main.rules";

LoadResult loaded(const std::string& text, const ListsEnvironment::Lists& lists = {}) {
  FakeEnvironment machine;
  machine.files = {{kMain, text}};
  for (const auto& [source, rows] : lists) machine.lists.emplace(source, rows);
  LoadResult result = load(kMain, {}, machine);
  for (const Diagnostic& one : result.diagnostics) INFO(one.message);
  return result;
}

const std::string kNodes =
    "for each NODE from http \"https://a.example/nodes\" header \"X: ${secret:x}\" rows '.items[]' "
    "name '.metadata.name' every 15 seconds {\n";
const std::string kRow = "  check row node_${NODE}\n    if json '.ready' != true then alert\n}\n";

}  // namespace

TEST_CASE("what is asked for a list over HTTP", "[lists][http]") {
  const LoadResult result = loaded(
      "set daemon 10\ndefine PROJECT \"demo\"\n"
      "for each NODE from http post \"https://a.example/${PROJECT}\" header \"X: ${TOKEN}\" "
      "body '{}' next link limit 2 MB timeout 5 seconds rows '.rows[]' every 1 minute "
      "with token http post \"https://b.example\" expect 201 save json '.t' as TOKEN {\n" +
      kRow);
  REQUIRE(result.ok());
  REQUIRE(result.lists.size() == 1);
  const ListDeclaration& list = result.lists.front();
  CHECK(list.every == minutes{1});
  CHECK(list.judges_rows);
  REQUIRE(list.source.http);
  const HttpList& http = *list.source.http;
  CHECK(http.request.method == "POST");
  CHECK(http.request.url == "https://a.example/demo");
  CHECK(http.request.headers == std::vector<std::string>{"X: ${TOKEN}"});
  CHECK(http.request.limit == 2'000'000 + 97'152);
  CHECK(http.timeout == seconds{5});
  CHECK(http.next_link);
  CHECK(http.rows == ".rows[]");
  CHECK(http.name == ".name");
  REQUIRE(http.token);
  CHECK(http.token->expect == std::vector<std::uint16_t>{201});
  CHECK(http.token->saving.name == "TOKEN");
  CHECK(list.source.file == http.key());
}

TEST_CASE("lists that ask the same are one call", "[lists][http]") {
  const LoadResult result = loaded(
      "set daemon 10\n" + kNodes + kRow +
      "for each MASTER from http \"https://a.example/nodes\" header \"X: ${secret:x}\" rows '.items[] | select(.m)' "
      "every 5 seconds {\n  check row master_${MASTER}\n    if json '.ready' != true then alert\n}\n"
      "for each OTHER from http \"https://a.example/nodes\" {\n  check row other_${OTHER}\n    if json '.a' = 1 then "
      "alert\n}\n");
  REQUIRE(result.lists.size() == 3);
  const auto call = [&](std::size_t at) { return result.lists[at].source.http->call_key(); };
  CHECK(call(0) == call(1));
  CHECK(call(0) != call(2));
  CHECK(result.lists[0].source.http->key() != result.lists[1].source.http->key());
}

TEST_CASE("the fields that rules name are known without a row", "[lists][http]") {
  const std::string text = "set daemon 10\nworkflow heal { step \"a\" program \"/bin/true ${NODE.spec.id}\" }\n" +
                           kNodes +
                           "  define WHERE \"${NODE.zone}\"\n"
                           "  check row node_${NODE}\n    group ${NODE.group}\n"
                           "    if json '.ready' != true then heal with heal\n"
                           "  check host h_${NODE} with address \"${NODE.ip}\"\n    if failed ping then alert\n}\n";
  const std::set<std::string> wanted{"group", "ip", "spec.id", "zone"};
  const LoadResult unread = loaded(text);
  CHECK(unread.lists.front().fields == wanted);
  CHECK(unread.lists.front().judges_rows);
  CHECK_FALSE(unread.lists.front().keeps_all_fields());
  const LoadResult empty = loaded(text, {{unread.lists.front().source, {}}});
  CHECK(empty.lists.front().fields == wanted);
}

TEST_CASE("a row is judged by the list around it", "[lists][http]") {
  const std::string text =
      "set daemon 10\n" + kNodes +
      "  for each PART in \"x\", \"y\" {\n"
      "    check row ${NODE}_${PART} delay 5 minutes\n      if json '.ready' != true then alert\n  }\n}\n";
  const ListSource source = loaded(text).lists.front().source;
  const LoadResult result = loaded(text, {{source, {{.name = "n1", .fields = {}}}}});
  REQUIRE(result.ok());
  REQUIRE(result.rules->services.size() == 2);
  for (const auto& service : result.rules->services) {
    CHECK(service->is_listed());
    CHECK(service->other->listed.list == key_of(source));
    CHECK(service->other->listed.row == "n1");
    CHECK(service->other->listed.delay == minutes{5});
    CHECK(service->program->filters == std::vector<std::string>{".ready"});
  }
}

TEST_CASE("only a value that a rule puts in makes another service of a row", "[lists][http]") {
  const std::string text = "set daemon 10\n" + kNodes +
                           "  check row node_${NODE}\n    group ${NODE.zone}\n"
                           "    if json '.ready' != true then alert\n}\n";
  const ListSource source = loaded(text).lists.front().source;
  const auto key = [&](const std::string& zone) {
    return loaded(text, {{source, {{.name = "n1", .fields = {{"zone", zone}}}}}}).rules->services.front()->key;
  };
  CHECK(key("a") == key("a"));
  CHECK(key("a") != key("b"));
}

TEST_CASE("what is kept of the rows of a file", "[lists]") {
  const std::string text =
      "{\"name\": \"a\", \"ip\": \"10.0.0.1\", \"spec\": {\"zone\": \"z\", \"n\": 1}, \"load\": 3}\nb\n";
  const auto all = read_rows(text, {.all = true, .fields = {"spec.zone"}, .documents = false});
  REQUIRE(all);
  CHECK(all->rows[0].fields.size() == 4);
  CHECK(all->rows[0].fields.back() == std::pair<std::string, std::string>("spec.zone", "z"));
  const auto some = read_rows(text, {.all = false, .fields = {"ip", "spec.n", "spec.none.x"}, .documents = true});
  REQUIRE(some);
  CHECK(some->rows[0].fields == std::vector<std::pair<std::string, std::string>>{{"ip", "10.0.0.1"}, {"spec.n", "1"}});
  REQUIRE(some->documents.size() == 2);
  CHECK(some->documents[0] == text.substr(0, text.find('\n')));
  CHECK(some->documents[1].empty());
}

TEST_CASE("where the next page is", "[lists][http]") {
  const std::string here = "https://a.example:8443/v1/nodes?limit=2";
  const auto at = [&](const std::string& place) {
    const Result<std::string> next = next_page(here, place);
    return next ? *next : "error: " + next.error().what;
  };
  CHECK(at("https://a.example:8443/v1/nodes?page=2") == "https://a.example:8443/v1/nodes?page=2");
  CHECK(at("/v1/nodes?page=2") == "https://a.example:8443/v1/nodes?page=2");
  CHECK(at("?page=2") == "https://a.example:8443/v1/nodes?page=2");
  CHECK(at("more?x=http://b.example/") == "https://a.example:8443/v1/more?x=http://b.example/");
  // The headers would be sent there, too.
  CHECK(at("https://b.example/nodes") == "error: its next page is at another server, https://b.example");
  CHECK(at("http://a.example:8443/v1/nodes").starts_with("error: "));
  CHECK(at("https://a.example:8443@b.example/") == "error: its next page is at another server, https://b.example");
  CHECK(at("//b.example/nodes") == "error: its next page is at another server");
  CHECK(at("/a b") == "error: the place of its next page is no URL");
  // A login stays with its server, whose port may be written or not.
  CHECK(*next_page("https://u:p@a.example/x", "https://a.example:443/x?page=2") == "https://u:p@a.example/x?page=2");
  CHECK(*next_page("http://u:p@[::1]/x", "http://[::1]:80/x?page=2") == "http://u:p@[::1]/x?page=2");
  CHECK(*next_page("https://a.example", "?x=1") == "https://a.example/?x=1");
}

TEST_CASE("the header that names the next page", "[lists][http]") {
  CHECK(next_link({"HTTP/1.1 200 OK", "link: <https://a/2>; rel=\"next\", <https://a/9>; rel=\"last\""}) ==
        "https://a/2");
  CHECK(next_link({"Link: <https://a/1>; rel=\"prev\", <https://a/3>; title=x; rel=next"}) == "https://a/3");
  CHECK(next_link({"Link: <https://a/1>; rel=\"prev\"", "Link: </3>; rel=\"NEXT\""}) == "/3");
  CHECK(next_link({"Link: <https://a/1>; rel=\"nextish\""}).empty());
  CHECK(next_link({"Link: <https://a/1"}).empty());
  CHECK(next_link({"X-Link: <https://a/1>; rel=next"}).empty());
}

TEST_CASE("since when a name is known", "[lists]") {
  const WallTime first{seconds{1'000}};
  const auto reading = [](std::vector<std::string> names) {
    ListReading made;
    for (std::string& name : names) made.rows.push_back({.name = std::move(name), .fields = {}});
    return made;
  };
  ListMemory memory;
  static_cast<void>(memory.read(reading({"a", "b", "c"}), {}, {}, first));
  static_cast<void>(memory.read(reading({"a", "b", "c", "d"}), {}, {}, first + minutes{1}));
  CHECK(memory.known_since("a") == first);
  CHECK(memory.known_since("d") == first + minutes{1});
  static_cast<void>(memory.read(reading({"a", "b", "D"}), {}, {}, first + minutes{2}));
  CHECK(memory.known_since("d") == first + minutes{1});
  memory = ListMemory(memory.saved());
  CHECK(memory.known_since("d") == first + minutes{1});
  memory.accept();
  static_cast<void>(memory.read(reading({"a", "b", "d"}), {}, {}, first + minutes{3}));  // c leaves
  static_cast<void>(memory.read(reading({"a", "b", "c", "d"}), {}, {}, first + minutes{4}));
  CHECK(memory.known_since("c") == first + minutes{4});
}

}  // namespace http_lists_test
