// SPDX-License-Identifier: MIT
// Whether the process of a service is there, as far as anybody has told; and the child of a foreground service.
//
// Each is a state machine written as a table: next(state, event) is pure, and says besides what the engine has to do.
//
// PRESENCE. `Up` and `Gone` are what a look of this daemon has seen up.
//
//              Found      Missing        Stopped   Missed         Died   Started  Retargeted
//   Unseen     Up, wake   Absent         Absent    .              Lost   .        .
//   Believed   Up, wake   Absent         Absent    Lost, settle   Lost   .        .
//   Up         .          Absent, count  Absent    Gone, settle   Gone   .        Unseen
//   Absent     Up, wake   .              .         .              Lost   .        Unseen
//   Gone       Up         Absent, count  Absent    .              .      Up       Lost
//   Lost       Up, wake   Absent         Absent    .              .      Unseen   .
//
//   . it stays as it is, and nothing is to be done
//
// Two things are no states of it, for they hold beside each of them. Settling is a time: no look is begun until then,
// also where the look of a job has found the process meanwhile. And what nobody could look at is as it was: that a look
// had no answer is Trouble::unknown, of services of every kind.
//
// CHILD. There is one at most.
//
//              Begun     Adopted   PidReported Word       Lasted  Resumed   EndAsked Ended        Kept
//   None       Starting  Believed  .           .          .       .         .        .            Former
//   Starting   .         Believed  Living, go  Believed*  .       .         Ending   None, death  .
//   Believed   .         Believed  Ready, go   .          .       Starting  Ending   None, death  .
//   Living     .         Believed  ., go       Ready, go  Ready   .         Ending   None, death  .
//   Ready      .         Believed  ., go       .          .       Living    Ending   None, death  .
//   Ending     .         Believed  ., go       .          .       .         .        None, end    .
//   Former     .         Believed  .           .          .       .         .        None         .
//
//   * go
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/ids.hpp"
#include "util/slim.hpp"
#include "util/sparse.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// A table of a state machine: what it is in next, and what is to be done, by state and event.
template <typename State, typename Event, typename Doing, std::size_t kStates, std::size_t kEvents>
struct Machine {
  struct Step {
    State state{};
    Doing doing{};

    bool operator==(const Step&) const = default;
  };
  std::array<std::array<Step, kEvents>, kStates> steps{};

  [[nodiscard]] constexpr Step next(State state, Event event) const {
    return steps[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
  }
};

// ---- presence -----------------------------------------------------------------------------------------------------

enum class PresenceState : std::uint8_t {
  Unseen,    ///< no look has told of it; or its process is another since
  Believed,  ///< an earlier daemon of this boot has known the service, and no look has told of it since
  Up,        ///< the last look has found it
  Absent,    ///< the last look has found none
  Gone,      ///< it was Up, and is said to have died; no look has told of it since
  Lost       ///< it is said to have died, but no look has seen it up; nor told of it since
};
inline constexpr std::size_t kPresenceStates = 6;
/// "unseen", "believed".
[[nodiscard]] std::string_view to_string(PresenceState state);

enum class PresenceEvent : std::uint8_t {
  Found,      ///< by a look
  Missing,    ///< a look has found none
  Stopped,    ///< the same, while a job is at the service: what a job ends is no death
  Missed,     ///< the same, where it is to be waited for what becomes of that
  Died,       ///< by the word of the kernel, or of who has started it
  Started,    ///< another one, as a child
  Retargeted  ///< the rules mean another process from now on
};
inline constexpr std::size_t kPresenceEvents = 7;

enum class PresenceReaction : std::uint8_t {
  None,
  WakeDependents,  ///< it has come up: what waits for it is looked at again
  CountEnd,        ///< its life has ended: its length is held against its next start, or for it
  Settle           ///< an administrator may restart it: it is looked at again when the dust has settled
};

using PresenceMachine = Machine<PresenceState, PresenceEvent, PresenceReaction, kPresenceStates, kPresenceEvents>;

inline constexpr PresenceMachine kPresence = [] {
  using enum PresenceState;
  constexpr auto kWake = PresenceReaction::WakeDependents;
  constexpr auto kCount = PresenceReaction::CountEnd;
  constexpr auto kSettle = PresenceReaction::Settle;
  // clang-format off
  return PresenceMachine{{{
      // Found         Missing           Stopped   Missed             Died        Started     Retargeted
      {{{Up, kWake},   {Absent},         {Absent}, {Unseen},          {Lost},     {Unseen},   {Unseen}}},    // Unseen
      {{{Up, kWake},   {Absent},         {Absent}, {Lost, kSettle},   {Lost},     {Believed}, {Believed}}},  // Believed
      {{{Up},          {Absent, kCount}, {Absent}, {Gone, kSettle},   {Gone},     {Up},       {Unseen}}},    // Up
      {{{Up, kWake},   {Absent},         {Absent}, {Absent},          {Lost},     {Absent},   {Unseen}}},    // Absent
      {{{Up},          {Absent, kCount}, {Absent}, {Gone},            {Gone},     {Up},       {Lost}}},      // Gone
      {{{Up, kWake},   {Absent},         {Absent}, {Lost},            {Lost},     {Unseen},   {Lost}}},      // Lost
  }}};
  // clang-format on
}();

/// What comes of `event` where its process is `state`.
[[nodiscard]] constexpr PresenceMachine::Step next(PresenceState state, PresenceEvent event) {
  return kPresence.next(state, event);
}

/// Whether the process of a service is there.
class Presence {
 public:
  Presence() = default;
  /// Of a service that an earlier daemon of this boot has known.
  [[nodiscard]] static Presence believed();

  [[nodiscard]] PresenceState state() const { return state_; }
  [[nodiscard]] bool is_up() const { return state_ == PresenceState::Up; }
  /// It is said to have died, and no look has told of it since.
  [[nodiscard]] bool is_gone() const { return state_ == PresenceState::Gone || state_ == PresenceState::Lost; }
  /// Where it is: how it has died, or what the look said that misses it; for people.
  [[nodiscard]] const std::string& how() const { return gone_->how; }
  /// Whether what has become of its death is waited for.
  [[nodiscard]] bool is_settling(Duration mono) const { return gone_->settling && mono < *gone_->settling; }

  /// Moves on; what is to be done about it.
  PresenceReaction on(PresenceEvent event);
  /// The same of Died and Missed, with what how() says from now on.
  PresenceReaction on(PresenceEvent event, std::string how);
  /// What becomes of its death is waited for until then.
  void settle(Duration mono) { gone_.set(&Gone::settling, mono); }

 private:
  struct Gone {
    std::string how;
    Slim<Duration> settling;  // mono

    bool operator==(const Gone&) const = default;
  };
  PresenceState state_ = PresenceState::Unseen;
  Sparse<Gone> gone_;
};

// ---- child --------------------------------------------------------------------------------------------------------

enum class ChildState : std::uint8_t {
  None,
  Starting,  ///< it was asked for; its number is not told yet
  Believed,  ///< it is taken to be ready; its number is not told yet
  Living,    ///< and not ready
  Ready,     ///< it said so, or its time has come
  Ending,    ///< it was told to end
  Former     ///< of its former rules, found by a pid file or pattern: healer has not started it. Always ready
};
inline constexpr std::size_t kChildStates = 7;
/// "none", "starting".
[[nodiscard]] std::string_view to_string(ChildState state);

enum class ChildEvent : std::uint8_t {
  Begun,        ///< healer starts one
  Adopted,      ///< from an earlier daemon, or an earlier service of that name
  PidReported,  ///< its number
  Word,         ///< its own, that it is ready
  Lasted,       ///< as long as it takes to be ready; or its word may have gone unheard
  Resumed,      ///< its start was not done when an earlier daemon ended
  EndAsked,     ///< it was told to end
  Ended,        ///< or is not found any more, where it is Former
  Kept          ///< the process that its former rules have found
};
inline constexpr std::size_t kChildEvents = 9;

enum class ChildReaction : std::uint8_t {
  None,
  GoOn,   ///< what waits for it goes on
  Death,  ///< nobody told it to end
  End     ///< it was told to
};

using ChildMachine = Machine<ChildState, ChildEvent, ChildReaction, kChildStates, kChildEvents>;

inline constexpr ChildMachine kChild = [] {
  using enum ChildState;
  constexpr auto kGo = ChildReaction::GoOn;
  constexpr auto kDeath = ChildReaction::Death;
  constexpr auto kEnd = ChildReaction::End;
  // clang-format off
  return ChildMachine{{{
    // Begun      Adopted     PidReported    Word             Lasted      Resumed     EndAsked  Ended           Kept
    {{{Starting}, {Believed}, {None},        {None},          {None},     {None},     {None},   {None},         {Former}}},
    {{{Starting}, {Believed}, {Living, kGo}, {Believed, kGo}, {Starting}, {Starting}, {Ending}, {None, kDeath}, {Starting}}},
    {{{Believed}, {Believed}, {Ready, kGo},  {Believed},      {Believed}, {Starting}, {Ending}, {None, kDeath}, {Believed}}},
    {{{Living},   {Believed}, {Living, kGo}, {Ready, kGo},    {Ready},    {Living},   {Ending}, {None, kDeath}, {Living}}},
    {{{Ready},    {Believed}, {Ready, kGo},  {Ready},         {Ready},    {Living},   {Ending}, {None, kDeath}, {Ready}}},
    {{{Ending},   {Believed}, {Ending, kGo}, {Ending},        {Ending},   {Ending},   {Ending}, {None, kEnd},   {Ending}}},
    {{{Former},   {Believed}, {Former},      {Former},        {Former},   {Former},   {Former}, {None},         {Former}}},
  }}};
  // clang-format on
}();

/// What comes of `event` where the child is `state`.
[[nodiscard]] constexpr ChildMachine::Step next(ChildState state, ChildEvent event) {
  return kChild.next(state, event);
}

/// The process of a foreground service: started, and not ended.
class Child {
 public:
  /// Whether there is one.
  [[nodiscard]] bool exists() const { return state_ != ChildState::None; }
  [[nodiscard]] ChildState state() const { return state_; }
  /// Whether it serves, as far as is known.
  [[nodiscard]] bool is_ready() const {
    return state_ == ChildState::Ready || state_ == ChildState::Believed || state_ == ChildState::Former;
  }
  [[nodiscard]] bool is_ending() const { return state_ == ChildState::Ending; }
  /// Whether healer has not started it.
  [[nodiscard]] bool is_former() const { return state_ == ChildState::Former; }
  /// Whether it runs under a known number, and was not told to end.
  [[nodiscard]] bool is_living() const {
    return state_ == ChildState::Living || state_ == ChildState::Ready || state_ == ChildState::Former;
  }
  /// Whether `action` runs it.
  [[nodiscard]] bool is(ActionId action) const { return exists() && !is_former() && about_.action == action; }

  /// What is known of it besides.
  struct About {
    ActionId action;                ///< that runs it; 0: none, or it is Former
    std::int64_t pid = 0;           ///< 0: not told yet
    std::uint64_t start_ticks = 0;  ///< with the pid, which process it is
    Duration since{0};              ///< mono: when that was told
    bool adopted = false;           ///< its word may have gone unheard
    Duration watched{0};            ///< how often it must tell that it is well; 0: never
    bool held = false;              ///< that it does not was told of, but nothing is done about it
    bool silent = false;            ///< it did not, and is ended for that
  };
  [[nodiscard]] const About& about() const { return about_; }
  /// How the last one has ended: "exited with status 3 after 5 s"; or empty.
  [[nodiscard]] const std::string& last_end() const { return last_end_; }
  /// The exit status of that, where it has died by itself, and none was started since.
  [[nodiscard]] std::optional<std::int64_t> last_status() const { return last_status_; }
  /// It tells nothing of what is to come.
  void forget_status() { last_status_.reset(); }

  /// Healer starts one by `action`. Requires: there is none.
  void begin(ActionId action);
  /// One that runs by `action` already, in place of any other.
  void adopt(ActionId action);
  /// Its number is told.
  ChildReaction reported(std::int64_t pid, std::uint64_t ticks, Duration mono);
  /// The process that its former rules have found. Requires: there is none.
  void keep(std::int64_t pid, std::uint64_t ticks, Duration mono);
  /// It has ended, `how`, with that exit status; or is not found any more.
  ChildReaction ended(std::string how, std::optional<std::int64_t> status = {});
  /// It must tell so often that it is well.
  void watch(Duration every) { about_.watched = every; }
  /// It did not: that is known, or it is ended for it.
  void fall_silent(bool ended) { (ended ? about_.silent : about_.held) = true; }
  /// It is the service's no longer, whatever becomes of it.
  void let_go();
  /// Word, Lasted, Resumed, EndAsked: what carries nothing.
  ChildReaction on(ChildEvent event);

 private:
  ChildState state_ = ChildState::None;
  About about_;
  std::string last_end_;
  std::optional<std::int64_t> last_status_;
};

}  // namespace healer::engine
