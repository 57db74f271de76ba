// Decoders of compressed streams, and their common part: reads input in blocks, returns good bytes before an
// error, and repeats the error. Rules, and sources of the formats: formats/compression.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_reader.h"
#include "base/result.h"
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
  void EndMember() {
    member_ended_ = true;
    ++members_;
  }
  /// Number of members that have ended.
  std::uint64_t members() const { return members_; }
  /// Call in a Step between two members. Returns whether one begins at `in`, as PassPadding; in front of the
  /// first one, whether there are any bytes. kDataLoss: the input is empty.
  Result<bool> MemberBegins(std::string_view& in, bool last, bool (*is_front)(std::string_view));

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
  std::uint64_t members_ = 0;
  bool short_ = false;  // the next step needs more than pending_
  std::string_view remedy_ = kFetch;
  bool hungry_ = true;  // the last step left room in its output, so it held nothing back
  bool input_ended_ = false;
  std::uint64_t padding_ = 0;  // zero bytes behind the end
  bool ended_ = false;
  Status failure_;
};

/// Calls `decode`, which takes bytes from the front of `in` and gives bytes to the front of `out` by the
/// fields of `stream`, as zlib and others have them, and shortens both. Returns its result. `idle`: no byte
/// moved.
template <class Stream, class Decode>
auto MoveBytes(Stream& stream, std::string_view& in, std::span<char>& out, bool& idle, const Decode& decode) {
  constexpr std::size_t kMost = std::numeric_limits<unsigned>::max();
  const std::size_t given = in.size();  // `in` is a part of a small buffer
  const std::size_t room = std::min(out.size(), kMost);
  // No library writes to its input, although not every C signature is const.
  stream.next_in = reinterpret_cast<decltype(stream.next_in)>(const_cast<char*>(in.data()));
  stream.avail_in = static_cast<decltype(stream.avail_in)>(given);
  stream.next_out = reinterpret_cast<decltype(stream.next_out)>(out.data());
  stream.avail_out = static_cast<decltype(stream.avail_out)>(room);
  const auto code = decode();
  idle = stream.avail_in == given && stream.avail_out == room;
  in.remove_prefix(given - stream.avail_in);
  out = out.subspan(room - stream.avail_out);
  return code;
}

/// Each returns true if data of the format begins with `front`. IsBzip2 needs 4 bytes, and looks at 10 if
/// there are as many.
bool IsGzip(std::string_view front);
bool IsBzip2(std::string_view front);
bool IsLz4(std::string_view front);
bool IsZstd(std::string_view front);

/// Each decodes all members, streams or frames of `input`, one after the other, and checks the checksums that
/// they have; zstd with windows up to 128 MiB. kDataLoss: the data are damaged, truncated or empty; the
/// message has the offset in `input`. kResourceExhausted: no memory. Errors of `input` are passed on.
Result<std::unique_ptr<ByteReader>> NewGzipReader(std::unique_ptr<ByteReader> input);
Result<std::unique_ptr<ByteReader>> NewBzip2Reader(std::unique_ptr<ByteReader> input);
Result<std::unique_ptr<ByteReader>> NewLz4Reader(std::unique_ptr<ByteReader> input);
Result<std::unique_ptr<ByteReader>> NewZstdReader(std::unique_ptr<ByteReader> input);

// Content codings of HTTP alone. `input` is one stream.
/// The format has no checksum.
Result<std::unique_ptr<ByteReader>> NewBrotliReader(std::unique_ptr<ByteReader> input);
/// `deflate`: with header and checksum of zlib (RFC 1950), or without both (RFC 1951), as some servers send
/// it.
Result<std::unique_ptr<ByteReader>> NewDeflateReader(std::unique_ptr<ByteReader> input);

}  // namespace pipeline
