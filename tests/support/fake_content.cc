#include "tests/support/fake_content.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/crc32c.h"

namespace pipeline {

struct FakeContent::Md5State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  Md5State() { EVP_DigestInit_ex(context, EVP_md5(), nullptr); }
  ~Md5State() { EVP_MD_CTX_free(context); }
};

namespace {

constexpr std::size_t kMostInMemory = 64 << 10;

/// A fake that cannot keep bytes proves nothing.
void Require(bool held, const char* what) {
  if (held) return;
  std::perror(what);
  std::abort();
}

}  // namespace

FakeContent::FakeContent(const FakeKeeping& keeping)
    : discards_(keeping.discards),
      directory_(keeping.directory),
      md5_(keeping.with_md5 ? std::make_unique<Md5State>() : nullptr) {}

FakeContent::~FakeContent() = default;

void FakeContent::MoveToFile() {
  std::filesystem::create_directories(directory_);
  std::string path = directory_ + "/content-XXXXXX";
  file_ = FileDescriptor(mkostemp(path.data(), O_CLOEXEC));
  Require(file_.is_open() && unlink(path.c_str()) == 0, path.c_str());
}

void FakeContent::Append(std::string_view bytes) {
  if (!discards_ && !file_.is_open()) bytes_.append(bytes);
  std::string moved;  // owns the bytes below
  std::string_view left = file_.is_open() ? bytes : std::string_view();
  if (!directory_.empty() && bytes_.size() > kMostInMemory) {
    MoveToFile();
    moved = std::exchange(bytes_, {});
    left = moved;
  }
  while (!left.empty()) {
    const ssize_t written = write(file_.get(), left.data(), left.size());
    Require(written > 0 || errno == EINTR, "writing the content of a fake object");
    left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
  size_ += bytes.size();
  crc32c_ = Crc32c(bytes, crc32c_);
  if (md5_) EVP_DigestUpdate(md5_->context, bytes.data(), bytes.size());
}

void FakeContent::Append(const FakeContent& other) {
  std::vector<char> piece(256 << 10);
  for (std::uint64_t at = 0; at < other.size();) {
    const std::size_t got = other.Read(at, piece);
    Append(std::string_view(piece.data(), got));
    at += got;
  }
}

std::size_t FakeContent::Read(std::uint64_t offset, std::span<char> out) const {
  if (offset >= size_) return 0;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset));
  if (discards_) return std::fill_n(out.begin(), count, '\0'), count;
  if (!file_.is_open()) return bytes_.copy(out.data(), count, static_cast<std::size_t>(offset));
  const ssize_t got = pread(file_.get(), out.data(), count, static_cast<off_t>(offset));
  Require(got > 0, "reading the content of a fake object");
  return static_cast<std::size_t>(got);
}

std::string FakeContent::ReadAll() const {
  std::string all(size_, '\0');
  for (std::size_t at = 0; at < all.size();) at += Read(at, std::span(all).subspan(at));
  return all;
}

std::string FakeContent::Md5() const {
  if (!md5_) return {};
  std::string digest(16, '\0');
  EVP_MD_CTX* const copy = EVP_MD_CTX_new();
  EVP_MD_CTX_copy_ex(copy, md5_->context);
  EVP_DigestFinal_ex(copy, reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  EVP_MD_CTX_free(copy);
  return digest;
}

}  // namespace pipeline
