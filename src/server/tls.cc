#include "server/tls.h"

#include <string>
#include <string_view>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/strings.h"

namespace quire {

namespace {

// The library's last complaint, which is then forgotten.
std::string LastError() {
  char text[256] = "unknown fault";
  if (const unsigned long code = ERR_get_error(); code != 0) {
    ERR_error_string_n(code, text, sizeof text);
  }
  ERR_clear_error();
  return text;
}

Status Fault(std::string_view flag, const std::string& file) {
  return InvalidArgument(StrCat("--", flag, ": ", Printable(file, 200), ": ", LastError()));
}

Status LoadClientAuthorities(SSL_CTX* context, const TlsOptions& options) {
  if (options.ca_certs.empty()) return {};
  if (SSL_CTX_load_verify_locations(context, options.ca_certs.c_str(), nullptr) != 1) {
    return Fault("ssl-ca-certs", options.ca_certs);
  }
  SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(options.ca_certs.c_str()));
  int mode = SSL_VERIFY_NONE;
  if (options.cert_reqs >= 1) mode |= SSL_VERIFY_PEER;
  if (options.cert_reqs == 2) mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_CTX_set_verify(context, mode, nullptr);
  return {};
}

// HTTP/1.1 is all that is spoken here.
int ChooseProtocol(SSL*, const unsigned char** out, unsigned char* out_size,
                   const unsigned char* offered, unsigned int offered_size, void*) {
  static constexpr unsigned char kSpoken[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kSpoken, sizeof kSpoken - 1, offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

Result<TlsContext> LoadTls(const TlsOptions& options) {
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr) return Internal(StrCat("TLS cannot be set up: ", LastError()));
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(raw, ChooseProtocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(raw, options.certfile.c_str()) != 1) {
    return Fault("ssl-certfile", options.certfile);
  }
  if (SSL_CTX_use_PrivateKey_file(raw, options.keyfile.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(raw) != 1) {
    return Fault("ssl-keyfile", options.keyfile);
  }
  if (!options.ciphers.empty() && SSL_CTX_set_cipher_list(raw, options.ciphers.c_str()) != 1) {
    return Fault("ssl-ciphers", options.ciphers);
  }
  QUIRE_RETURN_IF_ERROR(LoadClientAuthorities(raw, options));
  return context;
}

}  // namespace quire
