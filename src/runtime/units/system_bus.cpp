// SPDX-License-Identifier: MIT
#include "runtime/units/system_bus.hpp"

#include <poll.h>
#include <systemd/sd-bus.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/clock.hpp"
#include "runtime/units/unit_message.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

constexpr auto kService = "org.freedesktop.systemd1";
constexpr auto kObject = "/org/freedesktop/systemd1";
constexpr auto kManager = "org.freedesktop.systemd1.Manager";
constexpr auto kProperties = "org.freedesktop.DBus.Properties";
constexpr auto kAlreadySubscribed = "org.freedesktop.systemd1.AlreadySubscribed";
constexpr auto kNoSuchUnit = "org.freedesktop.systemd1.NoSuchUnit";
constexpr int kMostInTurn = 200;  // messages; the others come in the next turn

/// Of what is heard.
constexpr const char* kMatches[] = {
    "type='signal',sender='org.freedesktop.systemd1',interface='org.freedesktop.DBus.Properties',"
    "member='PropertiesChanged',path_namespace='/org/freedesktop/systemd1/unit',arg0='org.freedesktop.systemd1.Unit'",
    "type='signal',sender='org.freedesktop.systemd1',path='/org/freedesktop/systemd1',"
    "interface='org.freedesktop.systemd1.Manager'",
    "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',interface='org.freedesktop.DBus',"
    "member='NameOwnerChanged',arg0='org.freedesktop.systemd1'"};

/// A message that is being made.
class NewMessage {
 public:
  NewMessage(sd_bus* bus, const char* path, const char* interface, const char* member) {
    if (::sd_bus_message_new_method_call(bus, &message_, kService, path, interface, member) < 0) message_ = nullptr;
  }
  ~NewMessage() { ::sd_bus_message_unref(message_); }
  NewMessage(const NewMessage&) = delete;
  NewMessage& operator=(const NewMessage&) = delete;
  NewMessage& add(const char* text) {
    if (message_ != nullptr) ::sd_bus_message_append_basic(message_, 's', text);
    return *this;
  }
  [[nodiscard]] sd_bus_message* get() const { return message_; }

 private:
  sd_bus_message* message_ = nullptr;
};

}  // namespace

/// One that is under way.
struct SystemBus::Call {
  SystemBus* bus = nullptr;
  sd_bus_slot* slot = nullptr;
  Reply done;
  std::list<std::unique_ptr<Call>>::iterator place;
};

struct SystemBus::Handlers {
  static int answered(sd_bus_message* message, void* user, sd_bus_error* /*error*/) {
    auto* const call = static_cast<Call*>(user);
    SystemBus& bus = *call->bus;
    const std::unique_ptr<Call> taken = std::move(*call->place);
    bus.calls_.erase(call->place);
    ::sd_bus_slot_unref(taken->slot);
    const sd_bus_error* const wrong = ::sd_bus_message_get_error(message);
    if (wrong == nullptr) {
      taken->done(message, nullptr);
      return 0;
    }
    // Nobody of that name is there: systemd has not come to a bus that was started again.
    const bool is_gone = ::sd_bus_error_has_name(wrong, SD_BUS_ERROR_SERVICE_UNKNOWN) != 0 ||
                         ::sd_bus_error_has_name(wrong, SD_BUS_ERROR_NAME_HAS_NO_OWNER) != 0 ||
                         ::sd_bus_error_has_name(wrong, SD_BUS_ERROR_DISCONNECTED) != 0;
    const bool is_late = ::sd_bus_error_has_name(wrong, SD_BUS_ERROR_NO_REPLY) != 0 ||
                         ::sd_bus_error_has_name(wrong, SD_BUS_ERROR_TIMEOUT) != 0;
    const std::string words = is_late                     ? std::string("systemd does not answer")
                              : wrong->message != nullptr ? printable(wrong->message)
                                                          : std::string(wrong->name);
    const Error error{is_gone || is_late ? kNotAnswered : ::sd_bus_error_get_errno(wrong), words};
    taken->done(message, &error);
    return 0;
  }
  static int heard(sd_bus_message* message, void* user, sd_bus_error* /*error*/) {
    static_cast<SystemBus*>(user)->heard(message);
    return 0;
  }
  static int matched(sd_bus_message* /*message*/, void* /*user*/, sd_bus_error* /*error*/) { return 0; }
};

SystemBus::SystemBus(Loop& loop, Options options, Listener& listener)
    : loop_(loop), options_(std::move(options)), listener_(listener), pause_(options_.first_pause) {
  timer_ = loop_.timer([this] { ready(); });
  retry_ = loop_.timer([this] {
    if (state_ == State::Pausing) open();
  });
}

SystemBus::~SystemBus() { drop(); }

// ---- life ---------------------------------------------------------------------------------------------------------

/// Begins to connect; false: that has failed already.
bool SystemBus::open() {
  state_ = State::Connecting;
  int done = 0;
  if (options_.address.empty()) {
    done = ::sd_bus_open_system(&bus_);
  } else {
    done = ::sd_bus_new(&bus_);
    if (done >= 0) done = ::sd_bus_set_address(bus_, options_.address.c_str());
    if (done >= 0) done = ::sd_bus_set_bus_client(bus_, 1);
    if (done >= 0) done = ::sd_bus_start(bus_);
  }
  const int descriptor = done >= 0 ? ::sd_bus_get_fd(bus_) : done;
  if (descriptor < 0) {
    lose(system_error(-descriptor, "no connection to the system bus").what);
    return false;
  }
  auto watched = loop_.watch(descriptor, Loop::kReadable, [this](unsigned) { ready(); });
  if (!watched) {
    lose(watched.error().what);
    return false;
  }
  watch_ = std::move(*watched);
  for (const char* match : kMatches) {
    sd_bus_slot* slot = nullptr;
    done = ::sd_bus_add_match_async(bus_, &slot, match, &Handlers::heard, &Handlers::matched, this);
    if (done < 0) {
      lose(system_error(-done, "systemd cannot be listened to").what);
      return false;
    }
    matches_.push_back(slot);
  }
  subscribe();
  return true;
}

/// Asks systemd for its signals: who is answered is connected.
void SystemBus::subscribe() {
  const NewMessage message(bus_, kObject, kManager, "Subscribe");
  call(message.get(), [this](sd_bus_message* answer, const Error* error) {
    const sd_bus_error* const wrong = answer != nullptr ? ::sd_bus_message_get_error(answer) : nullptr;
    const bool is_known = wrong != nullptr && ::sd_bus_error_has_name(wrong, kAlreadySubscribed) != 0;
    if (error != nullptr && !is_known) {
      // From within libsystemd the connection cannot be given up.
      return loop_.post([this, alive = std::weak_ptr<char>(alive_), why = error->what] {
        if (!alive.expired() && (state_ == State::Connecting || state_ == State::Connected)) lose(why);
      });
    }
    if (state_ != State::Connecting) return;
    state_ = State::Connected;
    pause_ = options_.first_pause;
    told_ = false;
    listener_.connected();
  });
}

/// It is gone, or could not be had: it is tried again later.
void SystemBus::lose(const std::string& why) {
  drop();
  state_ = State::Pausing;
  why_ = why;
  retry_.set_deadline(mono_now() + pause_);
  pause_ = std::min(pause_ * 2, options_.longest_pause);
  const bool is_news = !std::exchange(told_, true);
  fail_calls(why);
  if (is_news)
    loop_.post([this, why, alive = std::weak_ptr<char>(alive_)] {
      if (!alive.expired()) listener_.lost(why);
    });
}

/// Those that libsystemd has let go of.
void SystemBus::fail_calls(const std::string& why) {
  const Error error{kNotAnswered, why};
  for (auto calls = std::exchange(calls_, {}); const auto& call : calls) call->done(nullptr, &error);
}

void SystemBus::close() {
  retry_.set_deadline(std::nullopt);
  drop();
  calls_.clear();
  state_ = State::Closed;
  pause_ = options_.first_pause;
  told_ = false;
}

/// Lets go of all that libsystemd has; nobody is told.
void SystemBus::drop() {
  watch_ = {};
  timer_.set_deadline(std::nullopt);
  for (const auto& call : calls_) ::sd_bus_slot_unref(std::exchange(call->slot, nullptr));
  for (sd_bus_slot* slot : std::exchange(matches_, {})) ::sd_bus_slot_unref(slot);
  if (bus_ == nullptr) return;
  ::sd_bus_close(bus_);
  ::sd_bus_unref(std::exchange(bus_, nullptr));
}

// ---- on the loop --------------------------------------------------------------------------------------------------

/// Reads and writes what can be, and tells what has come.
void SystemBus::ready() {
  if (bus_ == nullptr || processing_) return;
  int done = 1;
  processing_ = true;
  for (int i = 0; i < kMostInTurn && done > 0 && bus_ != nullptr; ++i) done = ::sd_bus_process(bus_, nullptr);
  processing_ = false;
  if (bus_ == nullptr) return;
  if (done < 0) return lose(system_error(-done, "the connection to systemd is lost").what);
  watch();
  if (done == 0 || std::exchange(goes_on_, true)) return;
  loop_.post([this, alive = std::weak_ptr<char>(alive_)] {
    if (alive.expired()) return;
    goes_on_ = false;
    ready();
  });
}

/// Waits for what libsystemd waits for.
void SystemBus::watch() {
  if (bus_ == nullptr || processing_) return;
  const int events = ::sd_bus_get_events(bus_);
  if (events < 0) return;
  unsigned interest = 0;
  if ((events & POLLIN) != 0) interest |= Loop::kReadable;
  if ((events & POLLOUT) != 0) interest |= Loop::kWritable;
  watch_.change(interest);
  std::uint64_t due = 0;  // microseconds of CLOCK_MONOTONIC
  if (::sd_bus_get_timeout(bus_, &due) < 0 || due == std::numeric_limits<std::uint64_t>::max())
    return timer_.set_deadline(std::nullopt);
  const auto now =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch());
  const auto left = std::chrono::microseconds(static_cast<std::int64_t>(due)) - now;
  timer_.set_deadline(mono_now() + std::max(std::chrono::ceil<Duration>(left), Duration{0}));
}

// ---- calls --------------------------------------------------------------------------------------------------------

/// Answers in a later turn that there is no connection.
void SystemBus::answer_later(Reply done, Error error) {
  loop_.post([done = std::move(done), error = std::move(error), alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) done(nullptr, &error);
  });
}

void SystemBus::call(sd_bus_message* message, Reply done) {
  auto made = std::make_unique<Call>();
  Call& call = *made;
  call.bus = this;
  call.done = std::move(done);
  calls_.push_back(std::move(made));
  call.place = std::prev(calls_.end());
  const auto timeout = std::chrono::duration_cast<std::chrono::microseconds>(options_.call_timeout).count();
  const int sent = message == nullptr ? -ENOMEM
                                      : ::sd_bus_call_async(bus_, &call.slot, message, &Handlers::answered, &call,
                                                            static_cast<std::uint64_t>(timeout));
  if (sent < 0) {
    answer_later(std::move(call.done), Error{kNotSent, system_error(-sent, "systemd cannot be asked").what});
    calls_.erase(call.place);
    return;
  }
  watch();
}

void SystemBus::read(const std::string& unit, Read done) {
  const Reply reply = [unit, done = std::move(done)](sd_bus_message* answer, const Error* error) {
    if (error == nullptr) return done(read_properties(answer));
    const sd_bus_error* const wrong = answer != nullptr ? ::sd_bus_message_get_error(answer) : nullptr;
    if (wrong == nullptr || ::sd_bus_error_has_name(wrong, kNoSuchUnit) == 0) return done(*error);
    UnitReading none;
    none.facts = {.load = "not-found", .active = "inactive", .sub = "dead"};
    none.id = unit;
    done(std::move(none));
  };
  if (state_ == State::Closed) (void)open();
  if (bus_ == nullptr) return answer_later(reply, Error{kNotSent, why_});
  NewMessage message(bus_, path_of_unit(unit).c_str(), kProperties, "GetAll");
  call(message.add("").get(), reply);  // of all its interfaces
}

void SystemBus::order(const engine::UnitOrder& order, Ordered done) {
  const Reply reply = [done = std::move(done)](sd_bus_message* answer, const Error* error) {
    if (error != nullptr) return done(*error);
    const char* path = nullptr;
    if (const int read = ::sd_bus_message_read_basic(answer, 'o', &path); read < 0)
      return done(system_error(-read, "systemd's answer cannot be read"));
    done(std::string(path));
  };
  if (state_ == State::Closed) (void)open();
  if (bus_ == nullptr) return answer_later(reply, Error{kNotSent, why_});
  const char* const member = order.verb == engine::UnitVerb::Start  ? "StartUnit"
                             : order.verb == engine::UnitVerb::Stop ? "StopUnit"
                                                                    : "RestartUnit";
  NewMessage message(bus_, kObject, kManager, member);
  call(message.add(order.unit.c_str()).add("replace").get(), reply);
}

void SystemBus::cancel(const std::string& job) {
  if (bus_ == nullptr) return;
  const NewMessage message(bus_, job.c_str(), "org.freedesktop.systemd1.Job", "Cancel");
  call(message.get(), [](sd_bus_message*, const Error*) {});
}

// ---- signals ------------------------------------------------------------------------------------------------------

void SystemBus::heard(sd_bus_message* message) {
  const auto is = [message](const char* interface, const char* member) {
    return ::sd_bus_message_is_signal(message, interface, member) > 0;
  };
  const char* const path = ::sd_bus_message_get_path(message);
  if (path == nullptr) return;
  if (is(kProperties, "PropertiesChanged")) {
    const StateChange change = read_change(message);
    return listener_.changed(path, change.active, change.sub);
  }
  if (is(kManager, "JobRemoved")) {
    std::uint32_t id = 0;
    const char* job = nullptr;
    const char* unit = nullptr;
    const char* result = nullptr;
    if (::sd_bus_message_read(message, "uoss", &id, &job, &unit, &result) < 0) return;
    return listener_.job_ended(job, result);
  }
  if (is(kManager, "UnitNew") || is(kManager, "UnitRemoved")) {
    const char* unit = nullptr;
    const char* object = nullptr;
    if (::sd_bus_message_read(message, "so", &unit, &object) < 0) return;
    return listener_.listed(object);
  }
  if (is(kManager, "Reloading")) {
    int begins = 0;
    if (::sd_bus_message_read(message, "b", &begins) >= 0 && begins == 0) listener_.reloaded();
    return;
  }
  if (is("org.freedesktop.DBus", "NameOwnerChanged")) {
    const char* name = nullptr;
    const char* before = nullptr;
    const char* now = nullptr;
    if (::sd_bus_message_read(message, "sss", &name, &before, &now) < 0) return;
    // Executed anew, systemd knows nothing of who listens, nor of what it was asked.
    if (*now == '\0' || state_ != State::Connected) return;
    loop_.post([this, alive = std::weak_ptr<char>(alive_)] {
      if (alive.expired() || state_ != State::Connected) return;
      for (const auto& call : calls_) ::sd_bus_slot_unref(std::exchange(call->slot, nullptr));
      fail_calls("systemd was executed anew");
      subscribe();
    });
  }
}

}  // namespace healer::runtime
