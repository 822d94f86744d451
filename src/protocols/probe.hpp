// SPDX-License-Identifier: MIT
// What to probe, and what came of it: plain values. How a probe was written (rules, a command line) is read elsewhere,
// and how it is done is runtime/net/connector's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocols/conversation.hpp"
#include "protocols/protocol.hpp"
#include "util/time.hpp"

namespace healer::protocols {

using std::chrono::microseconds;

enum class Transport : std::uint8_t { Tcp, Udp, Unix, Ping };
enum class Family : std::uint8_t { Any, V4, V6 };

/// TLS of a probe, as in `with ssl options {...}`.
struct TlsPlan {
  bool verify = false;             ///< that the certificate is trusted, and the host's
  bool allow_self_signed = false;  ///< with `verify`: one that signed itself will do
  std::uint8_t versions = 0;       ///< a sum of TlsVersion; 0: TLS 1.2 and 1.3
  std::string ciphers;             ///< OpenSSL's list, of TLS 1.2 and before; empty: the usual ones
  std::string client_certificate;  ///< file with certificate and key; empty: none is shown
  std::string ca_file;             ///< whom to trust instead of the machine's authorities
  std::string ca_path;
  std::string checksum;           ///< of the certificate: 32, 40, 64 or 128 hexadecimal digits; empty: any
  std::optional<int> valid_days;  ///< so many more days at least the certificate must be valid
  std::string alpn;               ///< what the server must agree to speak within TLS; empty: it is not asked
  std::string server_name;        ///< for SNI and the certificate's name; empty: the host, where it is a name

  bool operator==(const TlsPlan&) const = default;
};

/// Bits of TlsPlan::versions.
enum TlsVersion : std::uint8_t { kTls10 = 1, kTls11 = 2, kTls12 = 4, kTls13 = 8 };

struct ResponseTime {
  Operator op = Operator::Less;
  microseconds limit{0};

  bool operator==(const ResponseTime&) const = default;
};

/// One connection test, or one ping.
struct ProbePlan {
  Transport transport = Transport::Tcp;
  std::string host;  ///< name or address; of Unix: the path
  std::uint16_t port = 0;
  Family family = Family::Any;
  std::string source;                  ///< address to send from; empty: the kernel's choice
  const Protocol* protocol = nullptr;  ///< never null but for Ping
  std::vector<Setting> settings;
  std::optional<TlsPlan> tls;  ///< set where TLS stands before the first word, and where the protocol begins it later
  Limits limits;
  Duration timeout{5'000};                    ///< for the name, and for each address from its connecting to its verdict
  unsigned attempts = 1;                      ///< at once after one another, until one passes
  std::optional<ResponseTime> response_time;  ///< that must hold
  unsigned pings = 3;                         ///< echo requests; the first answer will do, as in Monit
  unsigned ping_size = 64;                    ///< bytes of an echo request's data
};

/// How far a probe came.
enum class ProbePhase : std::uint8_t { Resolve, Connect, Tls, Talk, Done };
/// What is said in JSON: "resolve", "connect", "tls", "talk", "done".
[[nodiscard]] std::string_view to_string(ProbePhase phase);

/// Unknown: the machine could not even try (no descriptors, no right to ping): nothing is said about the host.
enum class ProbeVerdict : std::uint8_t { Passed, Failed, Unknown };
[[nodiscard]] std::string_view to_string(ProbeVerdict verdict);

struct CertificateFacts {
  std::string subject;  ///< its common name, else its first name
  std::string issuer;
  WallTime expires{};

  bool operator==(const CertificateFacts&) const = default;
};

/// What came of a plan: of the address that passed, else of the last one that was tried.
struct ProbeResult {
  ProbeVerdict verdict = ProbeVerdict::Unknown;
  ProbePhase phase = ProbePhase::Resolve;  ///< where it ended
  std::string text;        ///< Passed: what was found; else why not. Of the phase alone: describe() says the whole
  bool nameless = false;   ///< no name server has answered: nothing is known of the host
  std::string address;     ///< "10.0.0.7:443", "[::1]:80", a path, or "10.0.0.7" (ping); empty: none was tried
  unsigned addresses = 0;  ///< that the name has
  unsigned attempt = 1;    ///< at which it ended
  std::optional<microseconds> resolve;  ///< the time it took to learn the addresses
  std::optional<microseconds> connect;  ///< from there on each by itself
  std::optional<microseconds> tls;
  std::optional<microseconds> first_byte;  ///< from the connection, or TLS, to the server's first byte
  std::optional<microseconds> response;    ///< connect to verdict; of ping the round trip
  std::string tls_version;                 ///< "TLSv1.3"; empty: no TLS
  std::string tls_cipher;
  std::optional<CertificateFacts> certificate;
  unsigned pings_sent = 0;
  unsigned pings_lost = 0;
  unsigned redirects = 0;                    ///< that were followed to what this result is about
  std::optional<Want::Elsewhere> elsewhere;  ///< the server sends its client there: no verdict yet
};

/// What is wrong with the plan as a whole, for people; empty: nothing.
[[nodiscard]] std::string fault(const ProbePlan& plan);

/// The result in words: "connected to 10.0.0.7:443 in 3 ms, certificate expired 3 days ago".
[[nodiscard]] std::string describe(const ProbePlan& plan, const ProbeResult& result);

/// "0.12 ms", "3.4 ms", "25 ms", "1.2 s".
[[nodiscard]] std::string format_latency(microseconds time);

/// The whole days from `now` until `expires`; negative where that is past.
[[nodiscard]] int days_left(WallTime expires, WallTime now);

/// "expired 3 days ago", "expires in 12 days", "expires within a day".
[[nodiscard]] std::string expiry_words(WallTime expires, WallTime now);

}  // namespace healer::protocols
