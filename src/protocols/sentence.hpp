// SPDX-License-Identifier: MIT
// What came of a probe, in Monit's sentences: somebody's mail filter or script may match on any of them.
#pragma once

#include <string>

#include "protocols/probe.hpp"

namespace healer::protocols {

/// "connection succeeded to [localhost]:80 [TCP/IP]", "failed protocol test [HTTP] at [localhost]:80 [TCP/IP] --
/// Connection refused", "ping test failed". Of a probe that has failed or passed; `now` is when.
[[nodiscard]] std::string sentence(const ProbePlan& plan, const ProbeResult& result, WallTime now);

/// "response time 0.780 ms succeeded [time < 200 ms]"; empty where no time is asked for.
[[nodiscard]] std::string time_sentence(const ProbePlan& plan, const ProbeResult& result);

/// What Monit calls a protocol: "HTTP" of http and https, "DEFAULT" where nothing is said, "generic".
[[nodiscard]] std::string monit_name(const Protocol& protocol);

/// As Monit writes times: "0.780 ms", "163 ms", "1.501 s".
[[nodiscard]] std::string monit_time(microseconds time);

/// Whether all that is wrong is that the certificate expires too soon.
[[nodiscard]] bool expires_soon(const ProbePlan& plan, const ProbeResult& result, WallTime now);

/// Whether all that is wrong is that the answer comes too late, or too soon.
[[nodiscard]] bool mistimed(const ProbePlan& plan, const ProbeResult& result);

/// What is probed: "http localhost:80", "ping node5", "port localhost:22", "redis /run/redis.sock".
[[nodiscard]] std::string name_of(const ProbePlan& plan);

}  // namespace healer::protocols
