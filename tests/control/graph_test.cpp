// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <cctype>
#include <map>
#include <stdexcept>

#include "ctl/render/render.hpp"
#include "engine/rules/service.hpp"

namespace graph_test {

using namespace healer;
using namespace healer::control;

namespace {

/// A reader of the part of the language of graphviz that is written: statements of nodes and edges with attributes.
/// Throws where the text is something else.
class Dot {
 public:
  std::map<std::string, std::map<std::string, std::string>> nodes;
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::string>> edges;

  explicit Dot(std::string_view text) : text_(text) {
    expect("digraph");
    word();
    expect("{");
    while (!at("}")) statement();
    expect("}");
    blanks();
    if (!text_.empty()) fail("text after the end");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " at: " + std::string(text_.substr(0, 40)));
  }
  void blanks() {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front())) != 0) text_.remove_prefix(1);
  }
  bool at(std::string_view token) {
    blanks();
    return text_.starts_with(token);
  }
  void expect(std::string_view token) {
    if (!at(token)) fail("expected " + std::string(token));
    text_.remove_prefix(token.size());
  }
  /// A bare word (letters, digits, underscores, not beginning with a digit), a number, or a quoted string.
  std::string word() {
    blanks();
    std::string result;
    if (text_.starts_with("\"")) {
      text_.remove_prefix(1);
      for (;;) {
        if (text_.empty()) fail("a string without end");
        const char c = text_.front();
        text_.remove_prefix(1);
        if (c == '"') return result;
        if (c == '\n' || static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
        if (c != '\\') {
          result += c;
          continue;
        }
        const char escaped = text_.empty() ? '\0' : text_.front();
        if (escaped != '"' && escaped != '\\' && escaped != 'n') fail("an unknown escape");
        result += escaped == 'n' ? '\n' : escaped;
        text_.remove_prefix(1);
      }
    }
    const bool number = !text_.empty() && std::isdigit(static_cast<unsigned char>(text_.front())) != 0;
    while (!text_.empty() && (std::isalnum(static_cast<unsigned char>(text_.front())) != 0 || text_.front() == '_')) {
      if (number && std::isdigit(static_cast<unsigned char>(text_.front())) == 0)
        fail("a word that begins with a digit");
      result += text_.front();
      text_.remove_prefix(1);
    }
    if (result.empty()) fail("expected a word");
    return result;
  }
  std::map<std::string, std::string> attributes() {
    std::map<std::string, std::string> found;
    if (!at("[")) return found;
    expect("[");
    while (!at("]")) {
      const std::string name = word();
      expect("=");
      if (!found.emplace(name, word()).second) fail("an attribute twice");
      if (!at("]")) expect(",");
    }
    expect("]");
    return found;
  }
  void statement() {
    const std::string name = word();
    if (at("=")) {
      expect("=");
      word();
    } else if (at("->")) {
      expect("->");
      const std::string other = word();
      if (!nodes.contains(name) || !nodes.contains(other)) fail("an edge to what is not there");
      if (!edges.emplace(std::pair(name, other), attributes()).second) fail("an edge twice");
    } else if (name == "node" || name == "edge") {
      attributes();
    } else if (!nodes.emplace(name, attributes()).second) {
      fail("a node twice");
    }
    expect(";");
  }

  std::string_view text_;
};

ServiceStatus service(std::string name, std::string state, std::vector<std::string> depends = {}) {
  ServiceStatus status;
  status.name = std::move(name);
  status.kind = "process";
  status.state = std::move(state);
  status.depends = std::move(depends);
  return status;
}

}  // namespace

TEST_CASE("services, dependencies and rules are a graph", "[control][graph]") {
  std::vector<ServiceStatus> services{service("web", "failed", {"DB", "nfs"}), service("db", "running")};
  RuleView rule;
  rule.text = "if content = \"no\\d\" for 3 cycles then exec \"/usr/local/bin/restore --all\"";
  rule.state = "failing";
  services[0].rules = {rule};
  services[1].pause = PauseView{{}, "root", "person", ""};
  services[1].job = JobView{.kind = "restart", .doing = "start db"};
  const Dot graph(render_dot(services));
  REQUIRE(graph.nodes.size() == 4);
  CHECK(graph.nodes.at("s1").at("label") == "web\nprocess, failed");
  CHECK(graph.nodes.at("s1").at("fillcolor") == "#f4a6a0");
  CHECK(graph.nodes.at("s1r1").at("label") ==
        "if content = \"no\\d\" for 3 cycles then exec\n\"/usr/local/bin/restore --all\"");
  CHECK(graph.nodes.at("s1r1").at("fillcolor") == "#f7dc8b");
  CHECK(graph.nodes.at("s2").at("label") == "db\nprocess, running\nrestart: start db\npaused");
  CHECK(graph.nodes.at("s2").at("fillcolor") == "#b7e1b0");
  CHECK(graph.nodes.at("s3").at("label") == "nfs");  // needed, but not asked for
  CHECK(graph.edges.size() == 3);
  CHECK(graph.edges.at({"s1", "s2"}).at("label") == "needs");
  CHECK(graph.edges.at({"s1", "s3"}).at("label") == "needs");
  CHECK(graph.edges.at({"s1", "s1r1"}).at("style") == "dotted");
}

TEST_CASE("a graph of nothing, and of hostile names, is one", "[control][graph]") {
  CHECK(Dot(render_dot({})).nodes.empty());
  const std::vector<ServiceStatus> services{service("a\"];}\n\x1b[2J\\", "running", {"\\\"b"})};
  const Dot graph(render_dot(services));
  CHECK(graph.nodes.size() == 2);
  CHECK(graph.nodes.at("s1").at("label") == "a\"];}\\n\\x1b[2J\\\nprocess, running");
  CHECK(graph.nodes.at("s2").at("label") == "\\\"b");
}

}  // namespace graph_test
