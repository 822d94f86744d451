// SPDX-License-Identifier: MIT
// TLS of probes, against servers with certificates that are made for the test.
#include "runtime/net/tls.hpp"

#include "probes.hpp"

namespace tls_probe_test {

using namespace healer;
using namespace healer::test;

namespace {

const TestCertificates& certificates() {
  static const TestCertificates instance;
  return instance;
}

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using ServerContext = std::unique_ptr<SSL_CTX, FreeContext>;

/// A web server with the certificate of that name.
class SecureServer {
 public:
  explicit SecureServer(const std::string& name, std::function<void(SSL_CTX*)> also = {})
      : context_(certificates().server(name)), listener_([this](Peer& peer) {
          if (!peer.secure(context_.get())) return;
          const char* server_name = SSL_get_servername(peer.ssl(), TLSEXT_NAMETYPE_host_name);
          {
            const std::lock_guard lock(mutex_);
            name_ = server_name != nullptr ? server_name : "";
          }
          peer.receive();
          peer.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        }) {
    if (also) also(context_.get());
  }
  [[nodiscard]] const Listener& listener() const { return listener_; }
  [[nodiscard]] std::string name() const {
    const std::lock_guard lock(mutex_);
    return name_;
  }

 private:
  ServerContext context_;
  mutable std::mutex mutex_;
  std::string name_;  // that the client told
  Listener listener_;
};

const std::string kPassed = "passed at done: HTTP status 200";

std::string trusting(const std::string& also = "") {
  return "protocol https with ssl options {verify: enable cacertificatefile: \"" + certificates().path("ca.crt") +
         "\" " + also + "}";
}

}  // namespace

TEST_CASE("TLS is spoken, and the certificate is told", "[probe][tls]") {
  const SecureServer server("server.pem");
  Prober prober;
  const ProbeResult result = prober.run(server.listener(), "protocol https", "localhost");
  CHECK(result.verdict == ProbeVerdict::Passed);
  CHECK(result.tls);
  CHECK(result.tls_version == "TLSv1.3");
  CHECK_FALSE(result.tls_cipher.empty());
  REQUIRE(result.certificate);
  CHECK(result.certificate->subject == "localhost");
  CHECK(result.certificate->issuer == "test-authority");
  CHECK(days_left(result.certificate->expires, runtime::now().wall) == 3649);
  CHECK(server.name() == "localhost");
  CHECK(prober.words(server.listener(), "protocol https") == kPassed);
  CHECK(server.name().empty());  // an address is no name to tell
  CHECK(prober.words(server.listener(), "protocol http using tls") == kPassed);
  CHECK(prober.words(server.listener(), "type tcpssl expect \"x\" timeout 2 seconds") ==
        "failed at talk: no data within 2 s");
}

TEST_CASE("an expired certificate is told with its days", "[probe][tls]") {
  const SecureServer server("expired.pem");
  Prober prober;
  const ProbeResult result = prober.run(server.listener(), trusting(), "localhost");
  CHECK(result.verdict == ProbeVerdict::Failed);
  CHECK(result.phase == ProbePhase::Tls);
  CHECK(result.text == "certificate expired 3 days ago");
  REQUIRE(result.certificate);
  CHECK(describe(*plan_of("localhost", "port 1"), result).find(", certificate expired 3 days ago") !=
        std::string::npos);
  CHECK(prober.words(server.listener(), "protocol https") == kPassed);  // unverified, as in Monit
  // Monit looks at the days only where it verifies, and says nothing of that.
  CHECK(prober.words(server.listener(), "protocol https certificate valid > 10 days") ==
        "failed at tls: certificate expired 3 days ago");
}

TEST_CASE("how long a certificate is valid is judged", "[probe][tls]") {
  const SecureServer server("self.pem");  // of 20 days
  Prober prober;
  CHECK(prober.words(server.listener(), "protocol https certificate valid > 19 days") == kPassed);
  CHECK(prober.words(server.listener(), "protocol https and certificate valid for 20 days") ==
        "failed at tls: certificate expires in 19 days, but must be valid for at least 20 days");
}

TEST_CASE("A server is trusted by its certificate authority", "[probe][tls]") {
  const SecureServer server("server.pem");
  const SecureServer self("self.pem");
  Prober prober;
  CHECK(prober.words(server.listener(), trusting(), "localhost") == kPassed);
  CHECK(prober.words(server.listener(), trusting()) == kPassed);  // by address: nobody's name is asked for
  CHECK(prober.words(server.listener(), "protocol https with ssl options {verify: enable}") ==
        "failed at tls: certificate is from an authority that is not trusted (test-authority)");
  CHECK(prober.words(self.listener(), trusting(), "localhost") ==
        "failed at tls: certificate is self-signed; 'selfsigned: allow' takes it");
  CHECK(prober.words(self.listener(), trusting("selfsigned: allow"), "localhost") == kPassed);
  // It allows no other fault.
  CHECK(prober.words(server.listener(), "protocol https with ssl options {verify: enable selfsigned: allow}") ==
        "failed at tls: certificate is from an authority that is not trusted (test-authority)");
}

TEST_CASE("a certificate of another name is no proof", "[probe][tls]") {
  const DatagramServer names([](const std::string& question) { return dns_answer(question, {"127.0.0.1"}, 60); });
  Prober prober({.resolver = {.servers = "127.0.0.1:" + std::to_string(names.port())}});
  const SecureServer server("server.pem");
  CHECK(prober.words(server.listener(), trusting(), "shop.test") ==
        "failed at tls: certificate is not for shop.test, but for localhost");
  CHECK(prober.words(server.listener(), "protocol https", "shop.test") == kPassed);
  CHECK(server.name() == "shop.test");
}

TEST_CASE("checksums of certificates", "[probe][tls]") {
  const SecureServer server("server.pem");
  Prober prober;
  for (const std::string digest : {"md5", "sha1", "sha256", "sha512"}) {
    const std::string sum = certificates().fingerprint(digest);
    CHECK(prober.words(server.listener(), "protocol https certificate checksum \"" + sum + "\"") == kPassed);
  }
  CHECK(prober.words(server.listener(), "protocol https certificate checksum sha1 = " + std::string(40, 'a'))
            .starts_with("failed at tls: the SHA1 checksum of the certificate is "));
}

TEST_CASE("versions and ciphers", "[probe][tls]") {
  const SecureServer old("server.pem",
                         [](SSL_CTX* context) { SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION); });
  Prober prober;
  const auto with = [](const std::string& options) { return "protocol https with ssl options {" + options + "}"; };
  CHECK(prober.run(old.listener(), with("version: auto")).tls_version == "TLSv1.2");
  CHECK(prober.words(old.listener(), with("version: tlsv13")) ==
        "failed at tls: the server speaks no version of TLS that is allowed");
  const ProbeResult chosen =
      prober.run(old.listener(), with("version: tlsv12 ciphers: \"ECDHE-RSA-AES256-GCM-SHA384\""));
  CHECK(chosen.verdict == ProbeVerdict::Passed);
  CHECK(chosen.tls_cipher == "ECDHE-RSA-AES256-GCM-SHA384");
  CHECK(prober.words(old.listener(), with("ciphers: \"NONE-SUCH\"")) ==
        "unknown at tls: OpenSSL knows none of the ciphers \"NONE-SUCH\": no cipher match");
}

TEST_CASE("client certificates", "[probe][tls]") {
  const SecureServer server("server.pem", [](SSL_CTX* context) {
    SSL_CTX_load_verify_locations(context, certificates().path("ca.crt").c_str(), nullptr);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  });
  Prober prober;
  CHECK(prober.words(server.listener(), "protocol https")
            .starts_with("failed at tls: the server refused: handshake failure"));
  CHECK(prober.words(server.listener(), "protocol https with ssl options {pemfile: \"" +
                                            certificates().path("client.pem") + "\"}") == kPassed);
  CHECK(prober.words(server.listener(), "protocol https with ssl options {pemfile: \"/no/such/file\"}")
            .starts_with("unknown at tls: cannot use the client certificate /no/such/file: "));
}

TEST_CASE("files of TLS that have changed are read again", "[probe][tls]") {
  runtime::Loop loop;
  runtime::TlsContexts contexts(loop);
  const TemporaryDirectory folder;
  const std::string file = (folder.path() / "ca.crt").string();
  const TlsPlan plan{.verify = true, .ca_file = file};
  std::string outcome;
  int answers = 0;
  const auto get = [&] {
    const int before = answers;
    contexts.get(plan, [&](const auto& context) {
      outcome = context ? "fine" : context.error().what;
      ++answers;
    });
    CHECK(run_until(loop, [&] { return answers > before; }));
    return outcome;
  };
  CHECK(get().starts_with("cannot read certificates of authorities from " + file));
  write_file(file, read_file(certificates().path("ca.crt")));
  CHECK(get() == "fine");  // a failure is not kept
  CHECK(get() == "fine");
}

TEST_CASE("TLS begins in mid-conversation", "[probe][tls]") {
  const ServerContext context(certificates().server("server.pem"));
  const auto mail = [&](bool eager) {
    return [&context, eager](Peer& peer) {
      peer.say("220 x\r\n");
      peer.receive();
      peer.say("250-x\r\n250-STARTTLS\r\n250 ok\r\n");
      peer.receive();
      peer.say(eager ? "220 go\r\n250 injected\r\n" : "220 go\r\n");
      if (!peer.secure(context.get())) return;
      peer.receive();
      peer.say("250-x\r\n250 AUTH PLAIN\r\n");
      if (peer.receive().starts_with("AUTH")) {
        peer.say("235 in\r\n");
        peer.receive();
      }
      peer.say("221 bye\r\n");
    };
  };
  const Listener server(mail(false));
  Prober prober;
  const ProbeResult result = prober.run(server, "protocol smtp starttls username u password \"p\"");
  CHECK(result.text == "it is a mail server with TLS");
  CHECK(result.verdict == ProbeVerdict::Passed);
  CHECK(result.tls);
  CHECK(result.certificate);
  CHECK(prober.words(server, "protocol smtp starttls with ssl options {verify: enable}") ==
        "failed at tls: certificate is from an authority that is not trusted (test-authority)");
  const Listener eager(mail(true));
  CHECK(prober.words(eager, "protocol smtp starttls") ==
        "failed at talk: it sent more after it had agreed to begin TLS");
}

}  // namespace tls_probe_test
