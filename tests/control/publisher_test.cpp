// SPDX-License-Identifier: MIT
#include "daemon/publisher.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace publisher_test {

using namespace healer;

namespace {

class Listening : public Observer {
 public:
  Listening(std::string name, std::vector<std::string>& received) : name_(std::move(name)), received_(received) {}
  void see(const Happening& what) override {
    if (fails) throw std::runtime_error("no room");
    received_.push_back(name_ + std::to_string(what.index()));
  }
  bool fails = false;

 private:
  std::string name_;
  std::vector<std::string>& received_;
};

}  // namespace

TEST_CASE("everybody is told, in order, and one who fails is told nothing any more", "[control][publisher]") {
  std::vector<std::string> received, dropped;
  Publisher publisher([&](const std::string& text) { dropped.push_back(text); });
  publisher.publish(happening::Settled{.up_to = 1});
  Listening first("a", received), second("b", received), third("c", received);
  publisher.add("the first", first);
  publisher.add("the second", second);
  publisher.add("the third", third);
  publisher.publish(happening::Settled{.up_to = 2});
  CHECK(received == std::vector<std::string>{"a2", "b2", "c2"});
  received.clear();
  second.fails = true;
  publisher.publish(happening::Settled{.up_to = 3});
  second.fails = false;
  publisher.publish(happening::Settled{.up_to = 4});
  CHECK(received == std::vector<std::string>{"a2", "c2", "a2", "c2"});
  CHECK(dropped ==
        std::vector<std::string>{"the second is told nothing any more, until healerd is restarted: no room"});
}

}  // namespace publisher_test
