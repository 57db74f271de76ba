#include "storage/remote/http/checksum_hasher.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <string>

#include "base/base64.h"
#include "base/crc32c.h"
#include "base/str.h"

namespace pipeline {

struct ChecksumHasher::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };

  Checksum::Kind kind;
  std::uint32_t crc = 0;
  std::unique_ptr<EVP_MD_CTX, Free> context{};  // null: the checksum is a CRC
  bool failed = false;
};

ChecksumHasher::ChecksumHasher(Checksum::Kind kind) : state_(std::make_unique<State>()) {
  state_->kind = kind;
  if (kind == Checksum::Kind::kCrc32c) return;
  state_->context.reset(EVP_MD_CTX_new());
  const EVP_MD* const type = kind == Checksum::Kind::kMd5 ? EVP_md5() : EVP_sha256();
  state_->failed = !state_->context || EVP_DigestInit_ex(state_->context.get(), type, nullptr) != 1;
  ERR_clear_error();  // otherwise the next caller of the library on this thread finds the error
}
ChecksumHasher::~ChecksumHasher() = default;
ChecksumHasher::ChecksumHasher(ChecksumHasher&&) noexcept = default;
ChecksumHasher& ChecksumHasher::operator=(ChecksumHasher&&) noexcept = default;

void ChecksumHasher::Update(std::string_view bytes) {
  if (state_->kind == Checksum::Kind::kCrc32c)
    state_->crc = Crc32c(bytes, state_->crc);
  else if (!state_->failed)
    state_->failed = EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) != 1;
}

Result<Checksum> ChecksumHasher::Finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int count = 4;
  if (state_->kind == Checksum::Kind::kCrc32c)
    for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<unsigned char>(state_->crc >> (24 - 8 * i));
  else if (state_->failed || EVP_DigestFinal_ex(state_->context.get(), bytes.data(), &count) != 1)
    return Status(Code::kUnimplemented, StrCat("the OpenSSL of this machine computes no ",
                                               state_->kind == Checksum::Kind::kMd5 ? "md5" : "sha256",
                                               "; pin the file by another checksum"));
  return Checksum{state_->kind, ToHex({reinterpret_cast<const char*>(bytes.data()), count})};
}

}  // namespace pipeline
