#include "server/tls.h"

#include <cstdio>
#include <filesystem>
#include <memory>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "server/testing.h"

namespace quire {
namespace {

// A key and a certificate signed by itself for `name`, in files of a folder of its own.
class Identity {
 public:
  explicit Identity(const std::string& folder) : folder_(folder) {
    std::filesystem::create_directories(folder_);
  }
  ~Identity() { std::filesystem::remove_all(folder_); }

  void Write(const char* name) const {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"),
                                                                  EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
    X509* x = certificate.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -60);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key.get());
    X509_NAME* subject = X509_get_subject_name(x);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
    X509_set_issuer_name(x, subject);
    X509_sign(x, key.get(), EVP_sha256());
    WritePem(cert(), [&](std::FILE* file) { PEM_write_X509(file, x); });
    WritePem(this->key(), [&](std::FILE* file) {
      PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }
  std::string cert() const { return folder_ + "/cert.pem"; }
  std::string key() const { return folder_ + "/key.pem"; }

 private:
  template <typename Writer>
  static void WritePem(const std::string& path, Writer write) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    write(file);
    std::fclose(file);
  }
  const std::string folder_;
};

// A client's end of TLS over a TestClient's socket.
class TlsClient {
 public:
  explicit TlsClient(int port)
      : socket_(port), context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), socket_.fd());
    is_secure_ = SSL_connect(ssl_.get()) == 1;
  }
  bool is_secure() const { return is_secure_; }

  std::string PeerName() const {
    const std::unique_ptr<X509, decltype(&X509_free)> peer(SSL_get1_peer_certificate(ssl_.get()),
                                                           X509_free);
    char name[64] = "";
    if (peer != nullptr) {
      X509_NAME_get_text_by_NID(X509_get_subject_name(peer.get()), NID_commonName, name,
                                sizeof name);
    }
    return name;
  }

  // The bytes of the answer up to `end`.
  std::string Ask(std::string_view request, std::string_view end) {
    SSL_write(ssl_.get(), request.data(), static_cast<int>(request.size()));
    std::string answer;
    char bytes[4096];
    while (answer.find(end) == std::string::npos) {
      const int size = SSL_read(ssl_.get(), bytes, sizeof bytes);
      if (size <= 0) break;
      answer.append(bytes, static_cast<std::size_t>(size));
    }
    return answer;
  }

 private:
  TestClient socket_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, SSL_free};
  bool is_secure_ = false;
};

class TlsTest : public testing::Test {
 protected:
  TlsTest() : identity_(StrCat("/tmp/quire_tls_test.", getpid())) {
    identity_.Write("first");
    config_ = TestServerConfig();
    config_.tls.certfile = identity_.cert();
    config_.tls.keyfile = identity_.key();
  }

  Identity identity_;
  ServerConfig config_;
};

TEST_F(TlsTest, AnswersRequestsLargeAndSmall) {
  const auto server = StartTestServer(config_, {EchoRoute()});
  EXPECT_EQ(server->address(), StrCat("https://127.0.0.1:", server->port()));
  TlsClient client(server->port());
  ASSERT_TRUE(client.is_secure());
  const std::string small = client.Ask(PostText("/echo", "hello, end"), "end");
  EXPECT_NE(small.find("HTTP/1.1 200"), std::string::npos);
  const std::string text = std::string(1'000'000, 'x') + "end";
  const std::string large = client.Ask(PostText("/echo", text), "end");
  EXPECT_NE(large.find(text), std::string::npos);
}

TEST_F(TlsTest, GivesNewConnectionsTheReloadedCertificateAndKeepsTheOldOnAFault) {
  const auto server = StartTestServer(config_, {EchoRoute()});
  TlsClient before(server->port());
  EXPECT_EQ(before.PeerName(), "first");
  EXPECT_FALSE(server->TlsHasChanged());
  identity_.Write("second");
  EXPECT_TRUE(server->TlsHasChanged());
  ASSERT_TRUE(server->ReloadTls().ok());
  EXPECT_EQ(TlsClient(server->port()).PeerName(), "second");
  EXPECT_NE(before.Ask(PostText("/echo", "the end"), "end").find("200"), std::string::npos);
  std::filesystem::resize_file(identity_.key(), 10);
  EXPECT_FALSE(server->ReloadTls().ok());
  EXPECT_EQ(TlsClient(server->port()).PeerName(), "second");
}

TEST_F(TlsTest, AsksClientsForACertificateWhereItMust) {
  config_.tls.ca_certs = identity_.cert();
  config_.tls.cert_reqs = 2;
  const auto server = StartTestServer(config_, {EchoRoute()});
  // TLS 1.3 tells a client without one only when it reads.
  TlsClient client(server->port());
  EXPECT_EQ(client.Ask(PostText("/echo", "the end"), "end"), "");
}

TEST_F(TlsTest, OutlivesClientsThatSpeakNoTls) {
  config_.limits.header_timeout = 0.2;
  const auto server = StartTestServer(config_, {EchoRoute()});
  TestClient plain(server->port());
  plain.Send(GetText("/health"));
  EXPECT_TRUE(plain.WaitForEnd());
  TestClient silent(server->port());
  EXPECT_TRUE(silent.WaitForEnd());
  TlsClient client(server->port());
  EXPECT_NE(client.Ask(PostText("/echo", "the end"), "end").find("200"), std::string::npos);
}

TEST_F(TlsTest, NamesTheFileThatCannotBeUsed) {
  config_.tls.keyfile = identity_.cert();
  const auto server = Server::Start(config_);
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.status().message().rfind("--ssl-keyfile: ", 0), 0u) << server.status().message();
}

}  // namespace
}  // namespace quire
