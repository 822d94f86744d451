// SPDX-License-Identifier: MIT
// TLS, certificates and logins of mail servers, against tests/support/smtp_sink.py.
#include <catch2/catch.hpp>

#include "runtime/net/smtp.hpp"
#include "support/smtp_sink.hpp"

namespace smtp_test {

using namespace healer;
using namespace healer::runtime;
using Security = engine::MailServer::Security;

namespace {

/// A certificate authority, certificates of it for "localhost" and for a client, and one that signed itself.
class Certificates {
 public:
  Certificates() {
    const std::string script =
        "set -e; cd " + path() +
        "; new() { openssl req -newkey rsa:2048 -nodes -keyout $1.key -subj /CN=$2 \"${@:3}\" 2>/dev/null; }\n"
        "new ca test-ca -x509 -days 3650 -out ca.pem\n"
        "new self localhost -x509 -days 3650 -addext subjectAltName=DNS:localhost -out self.crt\n"
        "for n in server client; do\n"
        "  new $n localhost -out $n.csr\n"
        "  openssl x509 -req -in $n.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 -out $n.crt "
        "-extfile <(echo subjectAltName=DNS:localhost) 2>/dev/null\n"
        "done\n"
        "for n in server client self; do cat $n.crt $n.key > $n.pem; done\n"
        "for d in md5 sha1 sha256; do openssl x509 -in server.crt -noout -fingerprint -$d | cut -d= -f2 > $d; done\n";
    test::Child shell({"bash", "-c", script}, directory_.path() / "log");
    if (shell.wait() != 0) FAIL("openssl: " + test::read_file(directory_.path() / "log"));
  }
  [[nodiscard]] std::string path(const std::string& name = "") const { return (directory_.path() / name).string(); }
  [[nodiscard]] std::string fingerprint(const std::string& digest) const {
    std::string text = test::read_file(path(digest));
    text.pop_back();
    return text;
  }

 private:
  test::TemporaryDirectory directory_;
};

const Certificates& certificates() {
  static const Certificates instance;
  return instance;
}

engine::MailServer server(const test::SmtpSink& sink, Security security) {
  engine::MailServer result;
  result.host = "localhost";
  result.port = sink.port();
  result.security = security;
  return result;
}

const std::string kText = "Subject: s\r\n\r\n.\r\n..text\r\n";

/// What came of a mail.
struct Sent {
  bool is_taken;
  std::uint16_t status;
  std::string text;  ///< what the server said of it, else why it could not
};

Sent send(const engine::MailServer& server) {
  SmtpClient client;
  const std::string from = "monit@vm", to = "root@localhost";
  const SmtpResult result = client.send(server, "vm", seconds{60}, {from, to, kText}, true, [] { return true; });
  CHECK_FALSE(result.is_aborted);
  return {result.status == 250, result.status, result.status != 0 ? result.reply : result.fault};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("Mail goes over TLS, from the start and by STARTTLS") {
  const bool implicit = GENERATE(true, false);
  test::SmtpSink sink(
      {"--tls", implicit ? "implicit" : "starttls", "--certificate", certificates().path("server.pem")});
  engine::MailServer it = server(sink, implicit ? Security::Tls : Security::StartTls);
  SECTION("unverified, Monit's default") {
    const Sent result = send(it);
    CHECK(result.text == "250 taken");
    CHECK(result.is_taken);
    REQUIRE(sink.count() == 1);
    CHECK(contains(sink.envelopes()[0], "\"tls\": true"));
    CHECK(sink.mails()[0] == kText);
  }
  SECTION("verified by its authority") {
    it.verify = true;
    it.ca_file = certificates().path("ca.pem");
    CHECK(send(it).is_taken);
  }
  SECTION("verified, of an authority that nobody knows") {
    it.verify = true;
    const Sent result = send(it);
    CHECK(result.status == 0);
    CHECK(contains(result.text, "certificate"));
    CHECK(sink.count() == 0);
  }
  SECTION("verified, of another name") {
    it.verify = true;
    it.ca_file = certificates().path("ca.pem");
    it.host = "127.0.0.1";
    CHECK(send(it).status == 0);
    CHECK(sink.count() == 0);
  }
  SECTION("with the right checksum") {
    const std::string digest = GENERATE(as<std::string>{}, "md5", "sha1", "sha256");
    it.certificate_checksum = certificates().fingerprint(digest);
    CHECK(send(it).is_taken);
  }
  SECTION("with another checksum") {
    it.certificate_checksum = std::string(64, 'a');
    const Sent result = send(it);
    CHECK(result.status == 0);
    CHECK(result.text == "its certificate has another checksum");
    CHECK(sink.count() == 0);
  }
}

TEST_CASE("A certificate that signed itself is taken only where that is allowed") {
  test::SmtpSink sink({"--tls", "starttls", "--certificate", certificates().path("self.pem")});
  engine::MailServer it = server(sink, Security::StartTls);
  it.verify = true;
  CHECK(send(it).status == 0);
  it.allow_self_signed = true;
  CHECK(send(it).is_taken);
}

TEST_CASE("Allowing certificates that signed themselves allows no other fault") {
  test::SmtpSink sink({"--tls", "starttls", "--certificate", certificates().path("server.pem")});
  engine::MailServer it = server(sink, Security::StartTls);
  it.verify = true;
  it.allow_self_signed = true;
  CHECK(send(it).status == 0);  // of an unknown authority, not self-signed
}

TEST_CASE("Mail never goes in clear where TLS is asked for") {
  test::SmtpSink sink;
  const Sent result = send(server(sink, Security::StartTls));
  CHECK(result.status == 0);
  CHECK(sink.count() == 0);
}

TEST_CASE("A server that wants to know its clients is shown the client certificate") {
  test::SmtpSink sink({"--tls", "implicit", "--certificate", certificates().path("server.pem"), "--client-ca",
                       certificates().path("ca.pem")});
  engine::MailServer it = server(sink, Security::Tls);
  CHECK(send(it).status == 0);
  it.client_certificate = certificates().path("client.pem");
  CHECK(send(it).is_taken);
}

TEST_CASE("TLS versions are Monit's words") {
  test::SmtpSink sink(
      {"--tls", "implicit", "--certificate", certificates().path("server.pem"), "--tls-maximum", "1.2"});
  engine::MailServer it = server(sink, Security::Tls);
  for (const std::string word : {"", "auto", "ssl", "tls", "tlsv12", "sslv3"}) {
    CAPTURE(word);
    it.tls_version = word;
    CHECK(send(it).is_taken);
    CHECK(complaint(it).empty() == (word != "sslv3"));
  }
  it.tls_version = "tlsv13";
  CHECK(send(it).status == 0);
  it.tls_version = "tlsv99";
  CHECK_FALSE(complaint(it).empty());
  it.tls_version.clear();
  it.certificate_checksum = "abcd";
  CHECK_FALSE(complaint(it).empty());
}

TEST_CASE("Only the ciphers that are asked for are offered to a mail server") {
  test::SmtpSink sink(
      {"--tls", "implicit", "--certificate", certificates().path("server.pem"), "--tls-maximum", "1.2"});
  engine::MailServer it = server(sink, Security::Tls);
  it.ciphers = "HIGH";
  CHECK(send(it).is_taken);
  it.ciphers = "NULL-SHA256";
  CHECK_FALSE(send(it).is_taken);
}

TEST_CASE("A login is made and its password is never told") {
  test::SmtpSink sink({"--auth", "healer:s3cret-w0rd"});
  engine::MailServer it = server(sink, Security::None);
  it.username = "healer";
  it.password = "s3cret-w0rd";
  CHECK(send(it).is_taken);
  CHECK(contains(sink.envelopes()[0], "\"user\": \"healer\""));
  it.password = "wr0ng-w0rd";
  const Sent wrong = send(it);
  CHECK(wrong.status == 0);
  CHECK(contains(wrong.text, "535 authentication failed"));
  CHECK_FALSE(contains(wrong.text, "wr0ng"));
  it.username.clear();
  const Sent none = send(it);
  CHECK(none.status == 0);  // kept until the settings are right
  CHECK(contains(none.text, "530 authenticate first"));
}

TEST_CASE("A server that repeats the password does not bring it into the log") {
  test::SmtpSink sink;
  engine::MailServer it = server(sink, Security::None);
  it.password = "recipient";  // the sink will say "recipient refused"
  sink.mode("rcpt 451 *");
  const Sent result = send(it);
  CHECK(result.status == 451);
  CHECK(result.text == "451 ***** refused");
}

TEST_CASE("Bad names of servers are faults, not crashes") {
  engine::MailServer it;
  for (const std::string host : {"", "no host", "a/b", "[::1", "x:y", "h\r\nQUIT"}) {
    CAPTURE(host);
    it.host = host;
    it.port = 1;
    CHECK(send(it).status == 0);
  }
  it.host = "::1";
  CHECK(contains(send(it).text, "connect"));
}

}  // namespace smtp_test
