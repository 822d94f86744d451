// SPDX-License-Identifier: MIT
// The state machines of presence and child: every state with every event, and the real engine in any mix.
#include <algorithm>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "engine/judging/evaluate.hpp"
#include "engine/parts/presence.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/process_world.hpp"
#include "support/rounds.hpp"

namespace presence_test {

using namespace healer;
using namespace healer::test;
using Kind = event::Command::Kind;

namespace {

template <typename Enum>
std::vector<Enum> all(std::size_t count) {
  std::vector<Enum> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<Enum>(i));
  return values;
}

const std::vector<PresenceState> kPresences = all<PresenceState>(kPresenceStates);
const std::vector<PresenceEvent> kAllPresenceEvents = all<PresenceEvent>(kPresenceEvents);
const std::vector<ChildState> kChildren = all<ChildState>(kChildStates);
const std::vector<ChildEvent> kAllChildEvents = all<ChildEvent>(kChildEvents);

/// What can be reached from where a machine begins.
template <typename State, typename Event>
std::set<State> reached(State from, const std::vector<Event>& events) {
  std::set<State> seen{from};
  std::vector<State> left{from};
  while (!left.empty()) {
    const State state = left.back();
    left.pop_back();
    for (const Event event : events)
      if (const State to = next(state, event).state; seen.insert(to).second) left.push_back(to);
  }
  return seen;
}

bool was_seen_up(PresenceState state) { return state == PresenceState::Up || state == PresenceState::Gone; }
bool is_gone(PresenceState state) { return state == PresenceState::Gone || state == PresenceState::Lost; }
bool is_own(ChildState state) { return state != ChildState::None && state != ChildState::Former; }

}  // namespace

TEST_CASE("presence: every state is reached, and every event is defined in it") {
  auto states = reached(PresenceState::Unseen, kAllPresenceEvents);
  CHECK_FALSE(states.contains(PresenceState::Believed));  // only what an earlier daemon has known begins so
  states.insert(PresenceState::Believed);
  CHECK(states == std::set(kPresences.begin(), kPresences.end()));
}

TEST_CASE("presence: what each event makes of each state") {
  using enum PresenceEvent;
  for (const PresenceState state : kPresences) {
    for (const PresenceEvent event : kAllPresenceEvents) {
      const auto [to, doing] = next(state, event);
      INFO(to_string(state) << ", event " << static_cast<int>(event) << ": " << to_string(to));
      // A look has the last word, and the word of a death the last but that.
      if (event == Found) CHECK(to == PresenceState::Up);
      if (event == Missing || event == Stopped) CHECK(to == PresenceState::Absent);
      if (event == Died) CHECK(is_gone(to));
      if (event == Started) CHECK_FALSE(is_gone(to));
      if (event == Retargeted) CHECK_FALSE(was_seen_up(to));
      // Nothing but a look sees it up.
      if (was_seen_up(to) && event != Found) CHECK(was_seen_up(state));
      if (is_gone(to) && !is_gone(state)) CHECK((event == Died || event == Missed));
      if (to == PresenceState::Believed) CHECK(state == PresenceState::Believed);
      // What is to be done.
      CHECK((doing == PresenceReaction::WakeDependents) == (event == Found && !was_seen_up(state)));
      CHECK((doing == PresenceReaction::CountEnd) == (event == Missing && was_seen_up(state)));
      CHECK((doing == PresenceReaction::Settle) == (event == Missed && to != state));
      // What is told twice is news once.
      CHECK(next(to, event).state == to);
      CHECK(next(to, event).doing == PresenceReaction::None);
    }
  }
}

TEST_CASE("child: every state is reached, and what each event makes of it") {
  using enum ChildEvent;
  const auto states = reached(ChildState::None, kAllChildEvents);
  CHECK(states == std::set(kChildren.begin(), kChildren.end()));
  for (const ChildState state : kChildren) {
    for (const ChildEvent event : kAllChildEvents) {
      const auto [to, doing] = next(state, event);
      INFO(to_string(state) << ", event " << static_cast<int>(event) << ": " << to_string(to));
      // There is one at most, and nothing but its end makes room for another.
      if (state == ChildState::None && to != state) CHECK((event == Begun || event == Adopted || event == Kept));
      if (state != ChildState::None && (event == Begun || event == Kept)) CHECK(to == state);
      if (event == Ended) CHECK(to == ChildState::None);
      if (to == ChildState::None && state != to) CHECK(event == Ended);
      if (event == Adopted) CHECK(to == ChildState::Believed);
      // What was told to end does nothing else; what healer has not started is told nothing.
      if (state == ChildState::Ending) CHECK((to == state || event == Ended || event == Adopted));
      if (is_own(state) && event == EndAsked) CHECK(to == ChildState::Ending);
      if (state == ChildState::Former) CHECK((to == state || event == Ended || event == Adopted));
      if (to == ChildState::Former && state != to) CHECK(event == Kept);
      // It is known to be ready by its word or its time alone, once its number is told.
      if (to == ChildState::Ready && state != to)
        CHECK((event == Word || event == Lasted || (event == PidReported && state == ChildState::Believed)));
      if (event == PidReported && is_own(state)) CHECK((to != ChildState::Starting && to != ChildState::Believed));
      CHECK((doing == ChildReaction::Death) == (event == Ended && is_own(state) && state != ChildState::Ending));
      CHECK((doing == ChildReaction::End) == (event == Ended && state == ChildState::Ending));
      if (doing == ChildReaction::GoOn) CHECK((event == PidReported || (event == Word && to != state)));
      if (event != PidReported) CHECK(next(to, event).doing == ChildReaction::None);
      CHECK(next(to, event).state == to);
    }
  }
}

TEST_CASE("child: what is known of it goes with it") {
  Child child;
  child.begin(ActionId{7});
  CHECK(child.is(ActionId{7}));
  CHECK_FALSE(child.is_living());
  CHECK(child.reported(100, 5, Duration{3}) == ChildReaction::GoOn);
  CHECK(child.is_living());
  CHECK_FALSE(child.is_ready());
  CHECK(child.on(ChildEvent::Word) == ChildReaction::GoOn);
  CHECK(child.is_ready());
  CHECK(child.ended("exited with status 3") == ChildReaction::Death);
  CHECK_FALSE(child.exists());
  CHECK(child.about().pid == 0);
  CHECK(child.about().action == ActionId{});
  CHECK(child.last_end() == "exited with status 3");
  child.keep(200, 6, Duration{4});
  CHECK(child.is_former());
  child.let_go();
  CHECK_FALSE(child.exists());
  CHECK(child.last_end() == "exited with status 3");
}

namespace {

constexpr unsigned kServices = 4;

std::string name_of(unsigned i) { return "s" + std::to_string(i); }

/// What this daemon has been told, and what its machines must be by that.
class Account {
 public:
  explicit Account(ProcessWorld& world) : world_(world) {
    world.received = [this](const Event& event) { std::visit([this](const auto& one) { receive(one); }, event); };
  }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;
  ~Account() { world_.received = nullptr; }

  /// A daemon begins: it was told nothing yet.
  void forget() {
    numbered_.clear();
    spoken_.clear();
  }

  void check() const {
    for (const ServiceId id : world_.engine->graph()->order) {
      const ServiceState& state = world_.engine->service(id);
      INFO(world_.engine->graph()->at(id).name << " is " << to_string(state.presence.state()) << ", its child "
                                               << to_string(state.child->state()));
      check_presence(id, state);
      check_child(id, state);
    }
  }

 private:
  template <typename Any>
  void receive(const Any&) {}
  void receive(const event::Started&) { forget(); }
  void receive(const event::ActionStarted& event) { numbered_.insert(event.action); }
  void receive(const event::ActionReady& event) { spoken_.insert(event.action); }
  void receive(const event::Measured& event) {
    const ServiceState& state = world_.engine->service(event.service);
    if (state.last_run != event.run || !state.last || event.evidence->answer == Answer::Unknown) return;
    // The look was taken; it may have told the job of its service to do more.
    const bool up = process_of(*event.evidence) != nullptr;
    INFO(world_.engine->graph()->at(event.service).name << " is " << to_string(state.presence.state()));
    if (state.checked == world_.now.mono && !state.job && up) CHECK(state.presence.is_up());
    if (state.checked == world_.now.mono && !state.job && !up) CHECK_FALSE(state.presence.is_up());
  }
  void receive(const event::ProcessDied& event) {
    const ServiceState& state = world_.engine->service(event.service);
    const ProcessFacts* last = state.last ? process_of(*state.last) : nullptr;
    if (world_.engine->graph()->at(event.service).foreground() || last == nullptr) return;
    if (last->pid == event.pid && last->start_ticks == event.start_ticks) CHECK(state.presence.is_gone());
  }
  void receive(const event::ActionEnded& event) {
    for (const ServiceId id : world_.engine->graph()->order)
      CHECK_FALSE(world_.engine->service(id).child->is(event.action));
  }

  void check_presence(ServiceId id, const ServiceState& state) const {
    const PresenceState presence = state.presence.state();
    CHECK(was_seen_up(presence) == (state.last && process_of(*state.last) != nullptr));
    if (presence == PresenceState::Absent) CHECK(state.last);
    const bool by_checks = !world_.engine->graph()->at(id).foreground();  // a child may be started after its look
    if (by_checks && !was_seen_up(presence) && presence != PresenceState::Absent) CHECK_FALSE(state.last);
    if (is_gone(presence)) CHECK_FALSE(state.presence.how().empty());
    if (state.presence.is_settling(world_.now.mono)) CHECK(world_.engine->graph()->settings->settle > Duration{0});
  }

  void check_child(ServiceId id, const ServiceState& state) const {
    const Child& child = *state.child;
    const Child::About& about = child.about();
    if (child.exists()) CHECK(world_.engine->graph()->at(id).foreground());
    if (child.is_living()) CHECK(about.pid != 0);
    CHECK((about.action != ActionId{}) == is_own(child.state()));
    if (!is_own(child.state())) return;
    const auto running = world_.engine->programs().all().find(about.action.number());
    REQUIRE(running != world_.engine->programs().all().end());
    CHECK(running->second.exec.foreground);
    CHECK(running->second.pid == about.pid);
    CHECK(running->second.start_ticks == about.start_ticks);
    const bool waits = child.state() == ChildState::Starting || child.state() == ChildState::Believed;
    if (!child.is_ending()) CHECK(waits == !numbered_.contains(about.action));
    if (spoken_.contains(about.action) && !child.is_ending()) CHECK(child.is_ready());
  }

  ProcessWorld& world_;
  std::set<ActionId> numbered_, spoken_;
};

std::shared_ptr<ServiceBlock> some_block(unsigned i, unsigned version, std::mt19937& random) {
  const auto roll = [&](unsigned sides) { return static_cast<unsigned>(random() % sides); };
  std::vector<std::string> depends;
  if (i > 0 && roll(3) == 0) depends.push_back(name_of(i - 1));
  auto block =
      roll(2) == 0 ? foreground(name_of(i), {missing_rule()}, depends) : process(name_of(i), {missing_rule()}, depends);
  if (block->foreground() && roll(2) == 0) {
    block->process->foreground->by_notice = true;
    block->process->foreground->ready_after = seconds{4};
  }
  block->key = hash128(block->name + std::to_string(version));
  return block;
}

}  // namespace

TEST_CASE("in any mix, presence and child are what the engine was told") {
  for (int seed = 1; seed <= rounds(100); ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto roll = [&](unsigned sides) { return static_cast<unsigned>(random() % sides); };
    unsigned made = 0;
    std::vector<std::shared_ptr<ServiceBlock>> blocks;
    for (unsigned i = 0; i < kServices; ++i) blocks.push_back(some_block(i, ++made, random));
    const auto rules = [&, settles = roll(2) == 0] {
      RuleSet set = rule_set({blocks.begin(), blocks.end()}, seconds{5});
      if (!settles) set.settings.settle = Duration{0};
      return set;
    };
    ProcessWorld world(rules());
    Account account(world);
    world.start();
    world.settle();
    for (unsigned step = 0; step < 60; ++step) {
      INFO("seed " << seed << ", step " << step);
      const std::string one = name_of(roll(kServices));
      world.deaf = roll(3) == 0;
      switch (roll(10)) {
        case 0:
        case 1:
          if (world.is_up(one)) roll(2) == 0 ? world.die(one) : world.hidden_death(one);
          break;
        case 2:
          for (const char* verb : {"start ", "stop ", "run "})
            world.doings[verb + one] = {.takes = milliseconds{roll(3000)},
                                        .status = roll(3) == 0 ? 1 : 0,
                                        .works = roll(3) != 0,
                                        .hangs = roll(4) == 0};
          break;
        case 3:
          world.doings.clear();
          world.deathless = roll(4) == 0;
          break;
        case 4:
          if (const unsigned i = roll(kServices); true) blocks[i] = some_block(i, ++made, random);
          world.handle(event::Swap{plan_swap(*world.engine->graph(), rules())});
          world.settle();
          break;
        case 5:
          account.forget();
          world.crash(milliseconds{roll(3000)}, roll(2) == 0 ? nullptr : make_graph(rules()));
          break;
        case 6: roll(2) == 0 ? (void)world.blind.insert(one) : world.blind.clear(); break;
        case 7:
          if (world.is_up(one) && is_own(world.engine->service(world.id(one)).child->state())) world.signal_ready(one);
          break;
        default: {
          constexpr Kind kKinds[] = {Kind::Start,  Kind::Stop,    Kind::Restart,   Kind::Pause,
                                     Kind::Resume, Kind::Monitor, Kind::Unmonitor, Kind::Validate};
          world.command(kKinds[roll(std::size(kKinds))], {one});
        }
      }
      world.run(milliseconds{roll(4000)});
      account.check();
    }
  }
}

}  // namespace presence_test
