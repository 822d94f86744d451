// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <cctype>
#include <map>
#include <regex>
#include <stdexcept>

#include "control/render.hpp"
#include "engine/service.hpp"

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

/// The elements of a picture in order, each as its name and attributes, or its text. Throws where it is not
/// well-formed.
struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;
};
std::vector<Element> elements(std::string_view xml) {
  std::vector<Element> found;
  std::vector<std::string> open;
  const std::regex tag(R"(<(/?)([a-z]+)((?: [A-Za-z-]+="[^"<&]*")*) ?(/?)>)");
  const std::regex attribute(R"re(([A-Za-z-]+)="([^"]*)")re");
  std::string rest(xml);
  while (!rest.empty()) {
    const std::size_t next = std::min(rest.find('<'), rest.size());
    const std::string text = rest.substr(0, next);
    if (std::regex_search(text, std::regex("&(?!lt;|amp;)"))) throw std::runtime_error("not escaped: " + text);
    if (!found.empty()) found.back().text += text;
    rest.erase(0, next);
    if (rest.empty()) break;
    std::smatch match;
    if (!std::regex_search(rest, match, tag, std::regex_constants::match_continuous))
      throw std::runtime_error("no tag: " + rest.substr(0, 60));
    if (match[1].length() != 0) {
      if (open.empty() || open.back() != match[2]) throw std::runtime_error("closes what is not open: " + match.str());
      open.pop_back();
    } else {
      Element element{.name = match[2], .attributes = {}, .text = {}};
      const std::string all = match[3];
      for (std::sregex_iterator one(all.begin(), all.end(), attribute), end; one != end; ++one)
        if (!element.attributes.emplace((*one)[1], (*one)[2]).second) throw std::runtime_error("an attribute twice");
      found.push_back(element);
      if (match[4].length() == 0) open.push_back(match[2]);
    }
    rest.erase(0, static_cast<std::size_t>(match.length()));
  }
  if (!open.empty()) throw std::runtime_error("not closed: " + open.back());
  return found;
}

struct Rectangle {
  int x, y, width, height;
};
/// The boxes of services: the rectangles that have a stroke.
std::vector<Rectangle> boxes(const std::vector<Element>& picture) {
  std::vector<Rectangle> found;
  for (const Element& element : picture) {
    if (element.name != "rect" || !element.attributes.contains("stroke")) continue;
    const auto number = [&](const char* name) { return std::stoi(element.attributes.at(name)); };
    found.push_back({number("x"), number("y"), number("width"), number("height")});
  }
  return found;
}

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

TEST_CASE("a picture has a box a service, which do not overlap, and what is needed is right of what needs it",
          "[control][graph]") {
  std::vector<ServiceStatus> services{service("web", "failed", {"DB", "nfs"}), service("db", "running", {"disk"}),
                                      service("disk", "running"), service("other", "unmonitored")};
  RuleView rule;
  rule.text = "if content < \"a & b\" then exec \"/usr/local/bin/restore --all --of --it\"";
  rule.state = "failing";
  services[0].rules = {rule, rule, rule};
  services[1].pause = PauseView{{}, "root", "person", ""};
  const std::vector<Element> picture = elements(render_svg(services));
  CHECK(picture.front().name == "svg");
  const std::vector<Rectangle> drawn = boxes(picture);
  REQUIRE(drawn.size() == 5);  // and nfs
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const Rectangle& a = drawn[i];
    CHECK(a.x + a.width <= std::stoi(picture.front().attributes.at("width")));
    CHECK(a.y + a.height <= std::stoi(picture.front().attributes.at("height")));
    for (std::size_t j = 0; j < i; ++j) {
      const Rectangle& b = drawn[j];
      CHECK((a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y));
    }
  }
  CHECK(drawn[0].x < drawn[1].x);
  CHECK(drawn[1].x < drawn[2].x);
  CHECK(drawn[0].height > drawn[1].height);
  std::size_t arrows = 0;
  std::string texts;
  for (const Element& element : picture) {
    arrows += element.attributes.contains("marker-end") ? 1U : 0U;
    if (element.name == "text") texts += element.text;
  }
  CHECK(arrows == 3);
  CHECK(texts.find("process, running, paused") != std::string::npos);
  CHECK(texts.find("if content &lt; \"a &amp; b\" then exec \"/usr/loca…") != std::string::npos);
}

TEST_CASE("a line of a picture is cut to what fits into its box", "[control][graph]") {
  std::vector<ServiceStatus> services{service(std::string(60, 'n'), "running")};
  RuleView rule;
  rule.text = std::string(60, 'r');
  services[0].rules = {rule};
  std::vector<std::string> texts;
  for (const Element& element : elements(render_svg(services)))
    if (element.name == "text") texts.push_back(element.text.substr(0, element.text.find('\n')));
  // In large bold letters fewer than in small ones.
  CHECK(texts == std::vector<std::string>{std::string(27, 'n') + "…", "process, running", std::string(41, 'r') + "…"});
}

TEST_CASE("a picture of nothing, of hostile names and of a circle is one", "[control][graph]") {
  CHECK(boxes(elements(render_svg({}))).empty());
  const std::vector<ServiceStatus> services{service("</text><script>\x1b[2J&", "running", {"b\"'"}),
                                            service("b\"'", "running", {"</text><script>\x1b[2J&"})};
  CHECK(boxes(elements(render_svg(services))).size() == 2);
}

}  // namespace graph_test
