#include "storage/remote/gcs/jwt.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <memory>

#include "base/base64.h"
#include "base/str.h"

namespace pipeline {

namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

/// Refuses a key with a passphrase, because nobody can be asked for the passphrase.
int NoPassphrase(char*, int, int, void*) { return 0; }

Status BadKey(std::string_view why) {
  ERR_clear_error();  // otherwise the next caller of the library on this thread finds the error
  return Status(Code::kInvalidArgument, StrCat("private key: ", why));
}

}  // namespace

std::string ToBase64Url(std::string_view bytes) {
  std::string text = ToBase64(bytes);
  while (!text.empty() && text.back() == '=') text.pop_back();
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

Result<Secret> SignJwt(const Json& header, const Json& claims, const Secret& pem_key) {
  const std::string& pem = pem_key.Reveal();
  const Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const Owned<EVP_PKEY> key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr)
                                : nullptr);
  if (!key) return BadKey("is no PEM key, or needs a passphrase");
  if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) return BadKey("is no RSA key");

  std::string text = StrCat(ToBase64Url(header.Dump()), ".", ToBase64Url(claims.Dump()));
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1)
    return BadKey("cannot sign");
  std::string signature(size, '\0');
  auto* out = reinterpret_cast<unsigned char*>(signature.data());
  if (EVP_DigestSign(context.get(), out, &size, bytes, text.size()) != 1) return BadKey("cannot sign");
  signature.resize(size);
  text.append(".").append(ToBase64Url(signature));
  return Secret(std::move(text));
}

}  // namespace pipeline
