// SPDX-License-Identifier: MIT
// A systemd of tests: it owns org.freedesktop.systemd1 on the bus of DBUS_SYSTEM_BUS_ADDRESS, and has the units that it
// is told of. What is asked of it is a line on its standard output; what it is to do, on its standard input:
//
//   unit NAME KEY=VALUE...    makes it, or changes it, which a signal tells: load, active, sub, result, restarts,
//   memory,
//                             tasks, cpu (a number of nanoseconds), id (another name of it, by which its signals go)
//   quiet NAME KEY=VALUE...   the same without a signal
//   jobs NAME RESULT          how its jobs end: done (from the beginning), failed, ..., or hold: not before `end`
//   end NAME RESULT           a job that is held ends
//   refuse NAME TEXT          its next jobs are refused in these words
//   reload                    it says that it has read its files again
//   hang NUMBER               it answers nothing for so many milliseconds
//   ping TEXT                 is answered with that line: all before has been done
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

namespace {

struct Unit {
  std::map<std::string, std::string> values{{"load", "loaded"}, {"active", "active"}, {"sub", "running"}};
  std::string jobs = "done";
  std::string refusal;
  std::uint32_t job = 0;  // that is held
  std::string verb;
};

struct Mock {
  sd_bus* bus = nullptr;
  std::map<std::string, Unit> units;
  std::uint32_t last_job = 0;
  std::string pending;  // of standard input
};

std::string path_of(const std::string& name) {
  char* path = nullptr;
  sd_bus_path_encode("/org/freedesktop/systemd1/unit", name.c_str(), &path);
  std::string text = path;
  std::free(path);
  return text;
}

std::string value_of(const Unit& unit, const std::string& key, const std::string& otherwise) {
  const auto found = unit.values.find(key);
  return found == unit.values.end() ? otherwise : found->second;
}

std::uint64_t number_of(const Unit& unit, const std::string& key) {
  const std::string text = value_of(unit, key, "");
  return text.empty() ? UINT64_MAX : std::strtoull(text.c_str(), nullptr, 10);
}

std::string job_path(std::uint32_t job) { return "/org/freedesktop/systemd1/job/" + std::to_string(job); }

void changed(Mock& mock, const std::string& name) {
  const Unit& unit = mock.units[name];
  sd_bus_message* signal = nullptr;
  sd_bus_message_new_signal(mock.bus, &signal, path_of(value_of(unit, "id", name)).c_str(),
                            "org.freedesktop.DBus.Properties", "PropertiesChanged");
  sd_bus_message_append(signal, "sa{sv}as", "org.freedesktop.systemd1.Unit", 2, "ActiveState", "s",
                        value_of(unit, "active", "").c_str(), "SubState", "s", value_of(unit, "sub", "").c_str(), 0);
  sd_bus_send(mock.bus, signal, nullptr);
  sd_bus_message_unref(signal);
}

void end_job(Mock& mock, const std::string& name, std::uint32_t job, const std::string& verb,
             const std::string& result) {
  Unit& unit = mock.units[name];
  unit.job = 0;
  if (result == "done") {
    unit.values["active"] = verb == "StopUnit" ? "inactive" : "active";
    unit.values["sub"] = verb == "StopUnit" ? "dead" : "running";
  } else if (result == "failed") {
    unit.values["active"] = "failed";
    unit.values["sub"] = "failed";
  }
  changed(mock, name);
  sd_bus_emit_signal(mock.bus, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "JobRemoved", "uoss",
                     job, job_path(job).c_str(), name.c_str(), result.c_str());
}

int properties(sd_bus_message* call, void* user, sd_bus_error* /*error*/) {
  auto& mock = *static_cast<Mock*>(user);
  if (sd_bus_message_is_method_call(call, "org.freedesktop.DBus.Properties", "GetAll") == 0) return 0;
  char* decoded = nullptr;
  sd_bus_path_decode(sd_bus_message_get_path(call), "/org/freedesktop/systemd1/unit", &decoded);
  const std::string name = decoded;
  std::free(decoded);
  std::cout << "GetAll " << name << std::endl;
  Unit none;
  none.values = {{"load", "not-found"}, {"active", "inactive"}, {"sub", "dead"}};
  const auto found = mock.units.find(name);
  const Unit& unit = found == mock.units.end() ? none : found->second;
  sd_bus_message* reply = nullptr;
  sd_bus_message_new_method_return(call, &reply);
  sd_bus_message_open_container(reply, 'a', "{sv}");
  const auto text = [&](const char* key, const std::string& value) {
    sd_bus_message_append(reply, "{sv}", key, "s", value.c_str());
  };
  text("Id", value_of(unit, "id", name));
  sd_bus_message_append(reply, "{sv}", "Names", "as", 1, name.c_str());  // as there are many that nobody asks for
  text("LoadState", value_of(unit, "load", "loaded"));
  text("ActiveState", value_of(unit, "active", ""));
  text("SubState", value_of(unit, "sub", ""));
  text("Result", value_of(unit, "result", "success"));
  sd_bus_message_append(reply, "{sv}", "Job", "(uo)", unit.job, unit.job == 0 ? "/" : job_path(unit.job).c_str());
  const std::string restarts = value_of(unit, "restarts", "0");
  sd_bus_message_append(reply, "{sv}", "NRestarts", "u",
                        static_cast<std::uint32_t>(std::strtoul(restarts.c_str(), nullptr, 10)));
  sd_bus_message_append(reply, "{sv}", "MemoryCurrent", "t", number_of(unit, "memory"));
  sd_bus_message_append(reply, "{sv}", "TasksCurrent", "t", number_of(unit, "tasks"));
  sd_bus_message_append(reply, "{sv}", "CPUUsageNSec", "t", number_of(unit, "cpu"));
  sd_bus_message_close_container(reply);
  sd_bus_send(mock.bus, reply, nullptr);
  sd_bus_message_unref(reply);
  return 1;
}

int manager(sd_bus_message* call, void* user, sd_bus_error* error) {
  auto& mock = *static_cast<Mock*>(user);
  const std::string member = sd_bus_message_get_member(call);
  if (sd_bus_message_is_method_call(call, "org.freedesktop.systemd1.Manager", nullptr) == 0) return 0;
  if (member == "Subscribe") {
    std::cout << member << std::endl;
    return sd_bus_reply_method_return(call, "");
  }
  const char* name = nullptr;
  const char* mode = nullptr;
  if (sd_bus_message_read(call, "ss", &name, &mode) < 0) return 0;
  std::cout << member << " " << name << " " << mode << std::endl;
  const auto found = mock.units.find(name);
  if (found == mock.units.end())
    return sd_bus_error_setf(error, "org.freedesktop.systemd1.NoSuchUnit", "Unit %s not found.", name);
  Unit& unit = found->second;
  if (!unit.refusal.empty())
    return sd_bus_error_setf(error, "org.freedesktop.systemd1.UnitMasked", "%s", unit.refusal.c_str());
  const std::uint32_t job = unit.job != 0 ? unit.job : ++mock.last_job;
  unit.job = job;
  unit.verb = member;
  sd_bus_reply_method_return(call, "o", job_path(job).c_str());
  if (unit.jobs != "hold") end_job(mock, name, job, member, unit.jobs);
  return 1;
}

int job(sd_bus_message* call, void* user, sd_bus_error* /*error*/) {
  auto& mock = *static_cast<Mock*>(user);
  if (sd_bus_message_is_method_call(call, "org.freedesktop.systemd1.Job", "Cancel") == 0) return 0;
  const std::string path = sd_bus_message_get_path(call);
  std::cout << "Cancel" << std::endl;
  sd_bus_reply_method_return(call, "");
  for (auto& [name, unit] : mock.units)
    if (unit.job != 0 && job_path(unit.job) == path) {
      end_job(mock, name, unit.job, unit.verb, "canceled");
      break;
    }
  return 1;
}

void obey(Mock& mock, const std::string& line) {
  std::istringstream words(line);
  std::string word, name, value;
  words >> word >> name;
  Unit* const unit = word == "unit" || word == "quiet" || word == "jobs" || word == "end" || word == "refuse"
                         ? &mock.units[name]
                         : nullptr;
  if (word == "unit" || word == "quiet") {
    while (words >> value) {
      const std::size_t sign = value.find('=');
      unit->values[value.substr(0, sign)] = value.substr(sign + 1);
    }
    if (word == "unit") changed(mock, name);
  } else if (word == "jobs") {
    words >> unit->jobs;
  } else if (word == "end") {
    words >> value;
    end_job(mock, name, unit->job, unit->verb, value);
  } else if (word == "refuse") {
    unit->refusal.clear();
    std::getline(words >> std::ws, unit->refusal);
  } else if (word == "reload") {
    for (const int begins : {1, 0})
      sd_bus_emit_signal(mock.bus, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "Reloading", "b",
                         begins);
  } else if (word == "hang") {
    ::usleep(static_cast<useconds_t>(std::strtoul(name.c_str(), nullptr, 10) * 1000));
  } else if (word == "ping") {
    std::cout << name << std::endl;
  }
}

int told(sd_event_source* source, int descriptor, std::uint32_t /*events*/, void* user) {
  auto& mock = *static_cast<Mock*>(user);
  char part[4096];
  const ssize_t got = ::read(descriptor, part, sizeof part);
  if (got <= 0) return sd_event_exit(sd_event_source_get_event(source), 0);
  mock.pending.append(part, static_cast<std::size_t>(got));
  for (std::size_t end = 0; (end = mock.pending.find('\n')) != std::string::npos; mock.pending.erase(0, end + 1))
    obey(mock, mock.pending.substr(0, end));
  return 0;
}

}  // namespace

int main() {
  Mock mock;
  sd_event* loop = nullptr;
  int done = sd_event_default(&loop);
  if (done >= 0) done = sd_bus_open_system(&mock.bus);
  if (done >= 0) done = sd_bus_add_object(mock.bus, nullptr, "/org/freedesktop/systemd1", &manager, &mock);
  if (done >= 0) done = sd_bus_add_fallback(mock.bus, nullptr, "/org/freedesktop/systemd1/unit", &properties, &mock);
  if (done >= 0) done = sd_bus_add_fallback(mock.bus, nullptr, "/org/freedesktop/systemd1/job", &job, &mock);
  if (done >= 0) done = sd_bus_request_name(mock.bus, "org.freedesktop.systemd1", 0);
  if (done >= 0) done = sd_bus_attach_event(mock.bus, loop, 0);
  if (done >= 0) done = sd_event_add_io(loop, nullptr, STDIN_FILENO, 1 /* EPOLLIN */, &told, &mock);
  if (done < 0) {
    std::cerr << std::strerror(-done) << std::endl;
    return 1;
  }
  std::cout << "ready" << std::endl;
  done = sd_event_loop(loop);
  sd_bus_detach_event(mock.bus);
  sd_bus_flush_close_unref(mock.bus);
  sd_event_unref(loop);
  return done < 0 ? 1 : 0;
}
