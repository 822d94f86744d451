// SPDX-License-Identifier: MIT
// The sequencer of a step by itself: every state with every event against a plain model, and every history of them.
#include "engine/steps/step_run.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/steps/step.hpp"

namespace step_run_test {

using namespace healer;
using namespace healer::engine;
using State = StepRun::State;

namespace {

constexpr std::array kStates{State::Fresh,    State::Running, State::Requesting, State::Polling,
                             State::Bringing, State::Waiting, State::Verifying,  State::Pausing,
                             State::Ending,   State::Done,    State::Failed};
/// What begin() is told by those who use it.
constexpr std::array kBegun{State::Running, State::Requesting, State::Bringing, State::Waiting, State::Verifying};

enum class Event : std::uint8_t { Done, Failed, InDoubt, Deadline, Lost };
constexpr std::array kEvents{Event::Done, Event::Failed, Event::InDoubt, Event::Deadline, Event::Lost};

std::vector<StepTerms> all_terms() {
  std::vector<StepTerms> all;
  for (const std::uint32_t retries : {0U, 1U, 2U})
    for (const bool repeatable : {false, true}) all.push_back({.retries = retries, .repeatable = repeatable});
  return all;
}

/// What has become of a step, as told to whoever owns it.
struct Observed {
  State state = State::Fresh;
  std::uint32_t attempt = 1;
  bool operator==(const Observed&) const = default;
};

/// As healings tell a step what happens: an end that a deadline or a restart is, is told as one.
Observed after(StepRun run, Event event, StepTerms terms) {
  std::optional<StepEnd> end;
  switch (event) {
    case Event::Done: end = StepEnd::Done; break;
    case Event::Failed: end = StepEnd::Failed; break;
    case Event::InDoubt: end = StepEnd::InDoubt; break;
    case Event::Deadline: end = run.deadline(); break;
    case Event::Lost: end = run.restore(terms); break;
  }
  if (end) run.event(*end, terms);
  return {run.state, run.attempt};
}

/// The manual, in other words than the code.
Observed expected(State state, std::uint32_t attempt, Event event, StepTerms terms) {
  const bool is_outside = state == State::Running || state == State::Requesting || state == State::Bringing;
  const bool is_timed = state == State::Waiting || state == State::Verifying || state == State::Pausing;
  if (state == State::Ending) return {event == Event::Deadline ? State::Ending : State::Failed, attempt};
  if (event == Event::Deadline && !is_timed) return {state, attempt};
  if (event == Event::Lost && !is_outside) return {state, attempt};
  if (event == Event::Done) return {State::Done, attempt};
  if (event == Event::Deadline && state == State::Waiting) return {State::Done, attempt};
  if (event == Event::Deadline && state == State::Pausing) return {State::Fresh, attempt + 1};
  if (event == Event::Lost && terms.repeatable) return {State::Fresh, attempt};
  const bool is_in_doubt = event == Event::Lost || event == Event::InDoubt;
  if (is_in_doubt && !terms.repeatable) return {State::Failed, attempt};
  std::uint32_t attempts = 1 + terms.retries;
  if (is_in_doubt && attempts < 2) attempts = 2;
  return {attempt < attempts ? State::Pausing : State::Failed, attempt};
}

/// Every history of a step, up to where nothing new follows. What was begun, and in doubt, is kept beside it.
class Histories {
 public:
  explicit Histories(StepTerms terms) : terms_(terms) { walk({}); }

  [[nodiscard]] std::size_t size() const { return known_.size(); }

 private:
  struct At {
    StepRun run{};
    bool was_in_doubt = false;  ///< since it was last known not to be done
    auto operator<=>(const At& other) const {
      return std::tuple(run.state, run.attempt, was_in_doubt) <=>
             std::tuple(other.run.state, other.run.attempt, other.was_in_doubt);
    }
  };

  void walk(const At& first) {
    std::vector<At> open{first};
    while (!open.empty()) {
      const At at = open.back();
      open.pop_back();
      if (!known_.insert(at).second) continue;
      REQUIRE(known_.size() < 1000);
      CHECK(at.run.attempt <= 2 + terms_.retries);
      // In doubt, and not repeatable: it has failed, and is never to be begun.
      if (at.was_in_doubt && !terms_.repeatable) CHECK(at.run.state == State::Failed);
      if (at.run.over()) continue;
      if (at.run.state == State::Fresh) {
        for (const State begun : kBegun) open.push_back(then(at, [&](StepRun& run) { run.begin(begun); }));
        continue;
      }
      if (at.run.state == State::Requesting)  // it was answered
        open.push_back(then(at, [](StepRun& run) { run.begin(State::Polling); }));
      if (at.run.state == State::Running || at.run.state == State::Bringing)
        open.push_back(then(at, [](StepRun& run) { run.begin(State::Ending); }));
      for (const Event event : kEvents) {
        // While it pauses nothing ends, unless it is ended itself.
        if (at.run.state == State::Pausing && (event == Event::Done || event == Event::InDoubt)) continue;
        open.push_back(happens(at, event));
      }
    }
  }

  template <typename Does>
  static At then(At at, const Does& does) {
    does(at.run);
    return at;
  }

  At happens(At at, Event event) const {
    const State before = at.run.state;
    const Observed observed = after(at.run, event, terms_);
    const bool is_outside =
        before == State::Running || before == State::Requesting || before == State::Bringing || before == State::Ending;
    if (event == Event::Failed || event == Event::Done) at.was_in_doubt = false;
    if (event == Event::InDoubt || (event == Event::Lost && is_outside)) at.was_in_doubt = true;
    at.run.state = observed.state;
    at.run.attempt = observed.attempt;
    return at;
  }

  StepTerms terms_;
  std::set<At> known_;
};

Step program(std::uint32_t retries = 0, bool repeatable = false) {
  return {.name = "program", .what = step::Program{}, .retries = retries, .repeatable = repeatable};
}

Step http(std::string method, bool repeatable = false) {
  return {.name = "http", .what = step::Http{.request = {.method = std::move(method)}}, .repeatable = repeatable};
}

TEST_CASE("every state of a step, with every event, is as the model says", "[steps]") {
  for (const StepTerms terms : all_terms())
    for (const State state : kStates)
      for (std::uint32_t attempt = 1; attempt <= 4; ++attempt)
        for (const Event event : kEvents) {
          const StepRun run{.state = state, .attempt = attempt};
          if (run.over()) continue;
          INFO("state " << int(state) << ", attempt " << attempt << ", event " << int(event) << ", retries "
                        << terms.retries << ", repeatable " << terms.repeatable);
          const Observed observed = after(run, event, terms);
          const Observed model = expected(state, attempt, event, terms);
          CHECK(int(observed.state) == int(model.state));
          CHECK(observed.attempt == model.attempt);
        }
}

TEST_CASE("in no history of a step is one begun again that is in doubt and not repeatable", "[steps]") {
  for (const StepTerms terms : all_terms()) {
    INFO("retries " << terms.retries << ", repeatable " << terms.repeatable);
    CHECK(Histories(terms).size() >= kStates.size());
  }
}

TEST_CASE("an attempt of which nobody sees the end is begun anew so often, and then has failed", "[steps]") {
  const std::uint32_t retries = GENERATE(0U, 1U, 2U);
  const StepTerms terms{.retries = retries, .repeatable = true};
  StepRun run;
  for (std::uint32_t attempt = 1; attempt <= 1 + retries; ++attempt) {
    for (std::uint32_t i = 0; i < StepRun::kMostDoubts; ++i) {
      run.begin(State::Running);
      CHECK_FALSE(run.restore(terms));
      CHECK(run.state == State::Fresh);
    }
    run.begin(State::Running);
    CHECK(run.restore(terms) == StepEnd::Failed);
    CHECK(run.attempt == attempt);
    run.event(StepEnd::Failed, terms);
    (void)run.deadline();
  }
  CHECK(run.state == State::Failed);
  // What looks first may do so for ever.
  StepRun bring;
  for (std::uint32_t i = 0; i < 10 * StepRun::kMostDoubts; ++i) {
    bring.begin(State::Bringing);
    CHECK_FALSE(bring.restore(terms));
  }
}

TEST_CASE("what a step is known by while it waits is forgotten when it has ended, or is begun again", "[steps]") {
  const StepRun run{.state = State::Requesting,
                    .action = ActionId{7},
                    .due = Deadline{},
                    .failure = "before",
                    .request = "POST https://heat.example/v1"};
  SECTION("done") {
    StepRun done = run;
    done.event(StepEnd::Done, {});
    CHECK(done == StepRun{.state = State::Done, .failure = "before"});
  }
  SECTION("lost, and repeatable") {
    StepRun anew = run;
    CHECK_FALSE(anew.restore({.repeatable = true}));
    CHECK(anew.state == State::Fresh);
    CHECK(anew.action == ActionId{});
    CHECK(anew.request.empty());
  }
  SECTION("lost, and not repeatable: it is the same until that end is told") {
    StepRun lost = run;
    CHECK(lost.restore({.retries = 3}) == StepEnd::InDoubt);
    CHECK(lost == run);
  }
}

TEST_CASE("what is safe to repeat", "[steps]") {
  CHECK(terms_of({.name = "bring", .what = step::Bring{}}).repeatable);  // it looks first
  CHECK_FALSE(terms_of(program()).repeatable);
  CHECK(terms_of(program(1, true)) == StepTerms{.retries = 1, .repeatable = true});
  CHECK(terms_of(http("GET")).repeatable);
  CHECK(terms_of(http("HEAD")).repeatable);
  CHECK_FALSE(terms_of(http("POST")).repeatable);
  CHECK(terms_of(http("POST", true)).repeatable);
}

}  // namespace

}  // namespace step_run_test
