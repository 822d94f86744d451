// SPDX-License-Identifier: MIT
#include "ctl/top.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "control/client.hpp"
#include "ctl/render/screen.hpp"
#include "ctl/render/top_view.hpp"
#include "runtime/clock.hpp"
#include "runtime/descriptor.hpp"

namespace healer {
namespace {

using control::Client;
using control::Failure;
using control::Json;
using control::Reply;
using control::Request;
using control::TopIntent;
using control::Verb;

/// A daemon whose queue of clients is full is asked again at the next turn: the keys do not wait for it.
constexpr Duration kConnectPatience{20};
constexpr Duration kConnectOnce = seconds{30};
/// A daemon that is silent for so long counts as one that does not answer.
constexpr Duration kSilence = seconds{10};
/// No more than this part of the time goes into answers: with very many services they come less often.
constexpr int kShare = 5;
constexpr std::uint32_t kRecords = 50;

/// The questions of one look, in this order.
constexpr std::array kRefreshed{Verb::Jobs, Verb::History, Verb::Summary};

Request refresh_request(Verb verb) {
  Request request{.verb = verb};
  if (verb == Verb::History) request.limit = kRecords;
  return request;
}

/// Takes one line of an answer to kRefreshed.
void take_item(control::TopData& data, Verb verb, const Json& item) {
  if (verb == Verb::Jobs) data.jobs.push_back(item.get<control::JobView>());
  if (verb == Verb::History) data.records.push_back(item.get<control::RecordView>());
  if (verb == Verb::Summary) data.services.push_back(item.get<control::ServiceSummary>());
}

void take_end(control::TopData& data, Verb verb, const Reply& reply) {
  if (verb != Verb::Summary) return;
  data.daemon = reply.header.at("daemon").get<control::DaemonView>();
  data.totals = reply.end.get<control::Totals>();
}

/// A request under way.
class Question {
 public:
  using Item = std::function<void(const Json&)>;

  Question(Client client, Request request) : client_(std::move(client)), request_(std::move(request)) {}

  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] const Reply& reply() const { return reply_; }
  [[nodiscard]] int descriptor() const { return client_.descriptor(); }
  [[nodiscard]] bool begin() { return !(reply_.failure = client_.begin(request_)); }
  /// Takes what has come; whether that was all.
  [[nodiscard]] bool advance(const Item& item) { return client_.advance(reply_, item); }
  /// Sends the next request on the same connection. Requires: this one is answered.
  [[nodiscard]] bool follow_up(Request request) {
    request_ = std::move(request);
    reply_ = {};
    return begin();
  }

 private:
  Client client_;
  Request request_;
  Reply reply_;
};

/// The live view: one thread, which waits for keys, signals and answers at once.
class View {
 public:
  View(Door& door, const TopOptions& options, const control::Style& style, Screen& screen)
      : door_(door),
        interval_(options.every),
        silence_(options.timeout.value_or(kSilence)),
        style_(style),
        screen_(screen),
        top_(options.every, style.unicode, style.civil) {}

  /// Until somebody leaves. Returns the signal that has ended it; 0: it was a key.
  int run(int signals) {
    top_.resize(screen_.size());
    while (!left_) {
      if (!refresh_ && now() >= next_refresh_) begin_refresh();
      draw();
      wait(signals);
    }
    return signal_;
  }

 private:
  static Duration now() { return runtime::now().mono; }

  void draw() { screen_.draw(top_.frame(runtime::now().wall)); }

  void wait(int signals) {
    std::vector<pollfd> entries{{STDIN_FILENO, POLLIN, 0}, {signals, POLLIN, 0}};
    if (refresh_) entries.push_back({refresh_->descriptor(), POLLIN, 0});
    if (shown_) entries.push_back({shown_->descriptor(), POLLIN, 0});
    for (const auto& act : acts_) entries.push_back({act->descriptor(), POLLIN, 0});
    // Times that are shown grow, whether or not somebody answers.
    Duration until = now() + seconds{1};
    if (!refresh_) until = std::min(until, next_refresh_);
    poll(entries.data(), entries.size(), static_cast<int>(std::max<std::int64_t>((until - now()).count(), 0)));
    const auto ready = [&](int descriptor) {
      return std::ranges::any_of(entries, [&](const pollfd& one) { return one.fd == descriptor && one.revents != 0; });
    };
    if (ready(signals)) take_signal(signals);
    if (entries.front().revents != 0) take_keys((entries.front().revents & (POLLHUP | POLLERR)) != 0);
    if (refresh_ && ready(refresh_->descriptor())) take_refresh();
    if (refresh_ && now() - received_ > silence_) {
      refresh_.reset();
      failed_refresh({"timeout", "healerd does not answer", ""});
    }
    if (shown_ && ready(shown_->descriptor())) take_shown();
    for (auto act = acts_.begin(); act != acts_.end();) {
      const auto here = act++;
      if (ready((*here)->descriptor())) take_act(here);
    }
  }

  void take_signal(int signals) {
    signalfd_siginfo received{};
    if (read(signals, &received, sizeof received) != sizeof received) return;
    if (received.ssi_signo == SIGWINCH) {
      screen_.measure();
      top_.resize(screen_.size());
      return;
    }
    if (received.ssi_signo == SIGCONT) {
      screen_.spoilt();
      return;
    }
    signal_ = static_cast<int>(received.ssi_signo);
    left_ = true;
  }

  void take_keys(bool gone) {
    bool any = false;
    while (const auto key = screen_.key()) {
      any = true;
      if (key->kind == control::TopKey::Kind::Text && key->text.empty()) continue;
      if (const auto intent = top_.press(*key)) grant(*intent);
    }
    if (gone && !any) left_ = true;  // the terminal has gone
  }

  void grant(const TopIntent& intent) {
    switch (intent.kind) {
      case TopIntent::Kind::Quit: left_ = true; break;
      case TopIntent::Kind::Refresh: next_refresh_ = {}; break;
      case TopIntent::Kind::Close: shown_.reset(); break;
      case TopIntent::Kind::Act:
        if (auto question = ask(intent.request)) {
          acts_.push_back(std::move(question));
        } else {
          top_.tell(why_, false);
        }
        break;
      case TopIntent::Kind::Show:
        shown_ = ask(intent.request);
        if (!shown_) top_.ended(why_);
        break;
    }
  }

  /// A request on a connection of its own; null where that is not possible, and why_ says why.
  std::unique_ptr<Question> ask(const Request& request) {
    auto connected = door_.connect(kConnectPatience);
    if (const auto* failure = std::get_if<Failure>(&connected)) {
      why_ = failure->message;
      failure_ = *failure;
      return nullptr;
    }
    auto question = std::make_unique<Question>(std::get<Client>(std::move(connected)), request);
    if (question->begin()) return question;
    failure_ = *question->reply().failure;
    why_ = failure_.message;
    return nullptr;
  }

  void begin_refresh() {
    began_ = received_ = now();
    step_ = 0;
    data_ = {};
    refresh_ = ask(refresh_request(kRefreshed.front()));
    if (!refresh_) failed_refresh(failure_);
  }

  void failed_refresh(const Failure& failure) {
    top_.lost(failure);
    next_refresh_ = now() + std::max(interval_, milliseconds{500});
  }

  void take_refresh() {
    received_ = now();
    const Verb verb = kRefreshed[step_];
    const bool whole = refresh_->advance([&](const Json& item) { take_item(data_, verb, item); });
    if (!whole) return;
    // Without its history a daemon whose disk is sick is still worth looking at.
    if (refresh_->reply().failure && verb != Verb::History) {
      const Failure failure = *refresh_->reply().failure;
      refresh_.reset();
      return failed_refresh(failure);
    }
    take_end(data_, verb, refresh_->reply());
    if (++step_ < kRefreshed.size()) {
      if (refresh_->follow_up(refresh_request(kRefreshed[step_]))) return;
      const Failure failure = *refresh_->reply().failure;
      refresh_.reset();
      return failed_refresh(failure);
    }
    refresh_.reset();
    next_refresh_ = now() + std::max(interval_ - (now() - began_), kShare * (now() - began_));
    top_.take(std::move(data_), runtime::now().wall);
  }

  void take_shown() {
    const bool explains = shown_->request().verb == Verb::Explain;
    const bool whole = shown_->advance([&](const Json& item) {
      if (explains)
        top_.explained(item.get<control::ServiceExplanation>(), style_.civil, runtime::now().wall);
      else
        top_.written(item.get<control::OutputView>());
    });
    if (!whole) return;
    const auto& failure = shown_->reply().failure;
    top_.ended(failure ? failure->message : explains ? "" : "end of output");
    shown_.reset();
  }

  void take_act(std::list<std::unique_ptr<Question>>::iterator act) {
    if (!(*act)->advance({})) return;
    const Reply& reply = (*act)->reply();
    if (reply.failure) {
      top_.tell(reply.failure->message, false);
    } else {
      const auto done = reply.end.get<control::Done>();
      top_.tell(done.text, done.ok);
    }
    acts_.erase(act);
    next_refresh_ = {};
  }

  Door& door_;
  const Duration interval_;
  const Duration silence_;
  const control::Style style_;
  Screen& screen_;
  control::Top top_;
  std::unique_ptr<Question> refresh_;
  std::size_t step_ = 0;  // of kRefreshed
  control::TopData data_;
  Duration began_{0};
  Duration received_{0};
  Duration next_refresh_{0};
  std::unique_ptr<Question> shown_;
  std::list<std::unique_ptr<Question>> acts_;
  std::string why_;
  Failure failure_;
  bool left_ = false;
  int signal_ = 0;
};

int print_once(Door& door, const TopOptions& options, Output& output) {
  auto connected = door.connect(std::min<Duration>(options.timeout.value_or(kConnectOnce), kConnectOnce));
  if (const auto* failure = std::get_if<Failure>(&connected)) return output.fail(*failure);
  auto& client = std::get<Client>(connected);
  if (options.timeout) client.set_limit(*options.timeout);
  control::TopData data;
  for (const Verb verb : kRefreshed) {
    Request request = refresh_request(verb);
    if (verb == Verb::History) request.limit = 10;
    const Reply reply = client.call(request, [&](const Json& item) { take_item(data, verb, item); });
    if (!reply.ok() && verb != Verb::History) return output.fail(*reply.failure);
    take_end(data, verb, reply);
  }
  output.print(render_top(data, output.style()));
  return output.finish(kExitDone);
}

}  // namespace

int top(Door& door, const TopOptions& options, Output& output) {
  if (options.batch || isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
    return print_once(door, options, output);
  // One that was never there is no daemon to wait for.
  {
    auto first = door.connect(kConnectOnce);
    if (const auto* const failure = std::get_if<Failure>(&first)) return output.fail(*failure);
    if (const Reply reply = std::get<Client>(first).call({}); !reply.ok()) return output.fail(*reply.failure);
  }
  // Taken before ncurses takes them: a signal ends the loop, and the terminal is given back in good order.
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT}) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const runtime::Descriptor signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return output.fail({"terminal", "there are no descriptors left", ""});
  int ended_by = 0;
  {
    auto screen = Screen::open(output.style().colour);
    if (!screen)
      return output.fail({"terminal", screen.error().what, "set TERM, or print one frame: `healerctl top --batch`"});
    ended_by = View(door, options, output.style(), **screen).run(signals.get());
  }
  if (ended_by != 0) {  // as it would have ended without us
    std::signal(ended_by, SIG_DFL);
    raise(ended_by);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
  }
  return kExitDone;
}

}  // namespace healer
