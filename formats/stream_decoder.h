// What decoders of compressed streams have in common: input in pieces, good bytes before an error,
// and an error that stays.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_reader.h"

namespace pipeline {

/// Owns the compressed input. Subclasses wrap one library each.
class StreamDecoder : public ByteReader {
 public:
  Result<std::size_t> Read(std::span<char> out) final;

 protected:
  /// `format` is for messages and lives for ever.
  StreamDecoder(std::string_view format, std::unique_ptr<ByteReader> input);

  /// Takes bytes from the front of `in` and puts bytes to the front of `out`, shortening both; `out`
  /// is never empty. `last`: nothing follows `in`. True at the end of everything; with `last`, a call
  /// that makes no progress must end or fail. Before an error both are shortened by what was good; its
  /// message is the reason alone.
  virtual Result<bool> Step(std::string_view& in, bool last, std::span<char>& out) = 0;

  /// Behind a whole stream: passes over the zero bytes with which tapes and block devices fill up a file.
  /// kDataLoss where anything else follows them.
  Status PassPadding(std::string_view& in);

 private:
  const std::string_view format_;
  const std::unique_ptr<ByteReader> input_;
  std::string buffer_;
  std::string_view pending_;  // of buffer_, not yet taken
  std::uint64_t taken_ = 0;   // from the input, for messages
  bool hungry_ = true;        // the last step left room in its output: it held nothing back
  bool input_ended_ = false;
  bool padded_ = false;
  bool ended_ = false;
  Status failure_;
};

}  // namespace pipeline
