// Common part of all decoders of compressed streams: reads input in blocks, returns good bytes before an
// error, and repeats the error.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_reader.h"
#include "formats/member_ends.h"

namespace pipeline {

/// Owns the compressed input. Subclasses wrap one library each.
class StreamDecoder : public ByteReader {
 public:
  Result<std::size_t> Read(std::span<char> out) final;

  /// Call before the first Read. `begin`: where the input begins in the file. `ends` receives the ends of
  /// members; null: nobody needs them.
  void Begin(const StreamPosition& begin, std::shared_ptr<MemberEnds> ends) {
    taken_ = begin.stored;
    given_ = begin.raw;
    ends_ = std::move(ends);
  }

 protected:
  /// `format` is for messages and must live until the program ends.
  StreamDecoder(std::string_view format, std::unique_ptr<ByteReader> input);

  /// Reads bytes from the front of `in`, writes bytes to the front of `out`, and shortens both. `out` is
  /// never empty. `last`: nothing follows `in`. Returns true at the end of the input; with `last`, a call
  /// without progress must return true or fail. Before an error both are shortened by the good bytes; the
  /// message is the reason alone.
  virtual Result<bool> Step(std::string_view& in, bool last, std::span<char>& out) = 0;

  /// Call in a Step that has decoded the last byte of a member and has given all of it.
  void EndMember() { member_ended_ = true; }

  /// Call after a whole stream. Skips the zero bytes with which tapes and block devices fill a file. Returns
  /// whether another stream begins at `in`, which `is_front` says of its first bytes; false: the input ends
  /// with `in`, or the next Step will have more of it. kDataLoss: other bytes follow, or a stream behind
  /// zeros.
  Result<bool> PassPadding(std::string_view& in, bool last, bool (*is_front)(std::string_view));

 private:
  static constexpr std::string_view kFetch = "fetch the file again";

  Status Behind(std::string_view in, bool begins);

  const std::string_view format_;
  const std::unique_ptr<ByteReader> input_;
  std::string buffer_;
  std::string_view pending_;  // part of buffer_ that is not yet decoded
  std::uint64_t taken_ = 0;   // position in the file, also for messages
  std::uint64_t given_ = 0;   // position in the decoded bytes, before the current Read
  std::shared_ptr<MemberEnds> ends_;
  bool member_ended_ = false;  // in this step
  bool short_ = false;         // the next step needs more than pending_
  std::string_view remedy_ = kFetch;
  bool hungry_ = true;  // the last step left room in its output, so it held nothing back
  bool input_ended_ = false;
  std::uint64_t padding_ = 0;  // zero bytes behind the end
  bool ended_ = false;
  Status failure_;
};

}  // namespace pipeline
