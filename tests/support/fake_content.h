// The bytes of an object of a fake bucket, or of an upload on its way to become one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"

namespace pipeline {

struct FakeKeeping {
  std::string directory = {};  // where large contents lie; empty: in memory
  bool with_md5 = true;
  /// Only the size and the checksums, for measurements: what is read are zeros.
  bool discards = false;
};

/// Grows under one thread at a time; once nobody appends, safe from any thread. What is shared: an object's
/// content lives until the last download of it ends, also when the object was replaced.
class FakeContent {
 public:
  /// In memory; beyond 64 KiB in a new file of the directory, if there is one, which is removed at the end.
  /// So the open files of a process do not bound the number of small objects.
  explicit FakeContent(const FakeKeeping& keeping);
  ~FakeContent();
  FakeContent(const FakeContent&) = delete;
  FakeContent& operator=(const FakeContent&) = delete;

  void Append(std::string_view bytes);
  void Append(const FakeContent& other);
  std::uint64_t size() const { return size_; }
  /// Fills a prefix of `out`; 0 at the end.
  std::size_t Read(std::uint64_t offset, std::span<char> out) const;
  std::string ReadAll() const;
  std::uint32_t crc32c() const { return crc32c_; }
  /// 16 bytes; empty where it was not wanted.
  std::string Md5() const;

 private:
  struct Md5State;

  void MoveToFile();

  const bool discards_;
  const std::string directory_;
  std::string bytes_;    // in memory
  FileDescriptor file_;  // or in a file, whose name is gone already
  std::uint64_t size_ = 0;
  std::uint32_t crc32c_ = 0;
  std::unique_ptr<Md5State> md5_;
};

}  // namespace pipeline
