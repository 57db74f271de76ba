#include "formats/xz.h"

#include <lzma.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/damaged_bytes.h"
#include "base/str.h"
#include "formats/stream_decoder.h"

// The code uses only functions of liblzma 5.2.5 (Ubuntu 22.04): neither the threaded decoder nor
// lzma_file_info_decoder.

namespace pipeline {

namespace {

constexpr std::uint64_t kMemoryLimit = std::uint64_t{256} << 20;
constexpr std::uint64_t kLargestIndex = std::uint64_t{64} << 20;
constexpr std::size_t kTailBytes = 4 << 10;
constexpr std::size_t kBlockInputBytes = 64 << 10;

const std::uint8_t* RawBytes(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

/// A liblzma coder at work.
class XzCoder {
 public:
  XzCoder() = default;
  ~XzCoder() { lzma_end(&stream); }
  XzCoder(const XzCoder&) = delete;
  XzCoder& operator=(const XzCoder&) = delete;

  /// Calls lzma_code, and removes the used bytes from both views.
  lzma_ret Code(std::string_view& in, std::span<char>& out, lzma_action action) {
    bool idle = false;
    return MoveBytes(stream, in, out, idle, [&] { return lzma_code(&stream, action); });
  }

  lzma_stream stream = LZMA_STREAM_INIT;
};

/// The filters of a block header, with the options that liblzma allocated for them.
struct XzFilters {
  std::array<lzma_filter, LZMA_FILTERS_MAX + 1> chain;
  XzFilters() { chain.fill({LZMA_VLI_UNKNOWN, nullptr}); }
  ~XzFilters() {
    for (const lzma_filter& filter : chain) std::free(filter.options);
  }
  XzFilters(const XzFilters&) = delete;
  XzFilters& operator=(const XzFilters&) = delete;
};

struct FreeIndex {
  void operator()(lzma_index* index) const { lzma_index_end(index, nullptr); }
};
using Index = std::unique_ptr<lzma_index, FreeIndex>;

Status XzReason(lzma_ret code, std::uint64_t needed_memory) {
  switch (code) {
    case LZMA_MEM_ERROR: return Status(Code::kResourceExhausted, "no memory to decode it");
    case LZMA_MEMLIMIT_ERROR:
      return Status(Code::kResourceExhausted,
                    StrCat("needs ", HumanBytes(needed_memory), " to decode, more than ",
                           HumanBytes(kMemoryLimit), "; compress it again with a smaller dictionary"));
    case LZMA_UNSUPPORTED_CHECK:
      return Status(Code::kUnimplemented, "a kind of check that this liblzma lacks");
    case LZMA_OPTIONS_ERROR:
      return Status(Code::kUnimplemented, "a filter or option that this liblzma lacks");
    case LZMA_FORMAT_ERROR: return Status(Code::kDataLoss, "no stream header stands here");
    case LZMA_BUF_ERROR: return Status(Code::kDataLoss, "ends inside a stream: truncated");
    case LZMA_DATA_ERROR: return Status(Code::kDataLoss, "the data breaks the format, or a checksum differs");
    default: return Status(Code::kInternal, StrCat("liblzma fails with ", static_cast<int>(code)));
  }
}

class XzReader : public StreamDecoder {
 public:
  explicit XzReader(std::unique_ptr<ByteReader> input) : StreamDecoder("xz", std::move(input)) {}

  Status Start() {
    const lzma_ret code = lzma_stream_decoder(&coder_.stream, kMemoryLimit, LZMA_TELL_UNSUPPORTED_CHECK);
    return code == LZMA_OK ? Status() : XzReason(code, 0);
  }

 private:
  Result<bool> Step(std::string_view& in, bool last, std::span<char>& out) override {
    if (stream_ended_) {
      ASSIGN_OR_RETURN(const bool begins, FindNext(in, last));
      if (!begins) return last && in.empty();
      RETURN_IF_ERROR(Start());
      stream_ended_ = false;
    }
    const std::size_t room = out.size();
    lzma_ret code = coder_.Code(in, out, last ? LZMA_FINISH : LZMA_RUN);
    // liblzma may return OK for the first call without progress; without further input it is the end as well.
    if (code == LZMA_OK && last && out.size() == room) code = LZMA_BUF_ERROR;
    if (code == LZMA_OK) return false;
    if (code != LZMA_STREAM_END) return XzReason(code, lzma_memusage(&coder_.stream));
    stream_ended_ = true;
    return false;
  }

  // Passes the padding of a stream, in groups of four; then PassPadding finds no zeros.
  Result<bool> FindNext(std::string_view& in, bool last) {
    const std::size_t zeros = std::min(in.find_first_not_of('\0'), in.size());
    padding_ = (padding_ + zeros) % 4;
    in.remove_prefix(zeros);
    if (padding_ != 0 && (last || !in.empty()))
      return Status(Code::kDataLoss, "padding that is not a multiple of four bytes after a stream");
    return PassPadding(in, last, IsXz);
  }

  XzCoder coder_;
  bool stream_ended_ = false;
  std::size_t padding_ = 0;
};

Status DamagedXz(std::uint64_t offset, std::string_view why) {
  return Status(Code::kDataLoss,
                StrCat("damaged xz data at byte ", offset, ": ", why, "; fetch the file again"));
}

Result<std::string> ReadRange(const ByteFile& file, std::uint64_t offset, std::uint64_t bytes,
                              const std::stop_token& stop) {
  std::string range(bytes, '\0');
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(offset, stop));
  if (Status status = ReadExactly(*reader, range); !status.ok())
    return std::move(status).Annotate(StrCat("at byte ", offset));
  return range;
}

// Fills `block`, with the given filters, from the header at the front of `bytes`.
Status DecodeHeader(const XzBlock& where, std::string_view bytes, lzma_block& block, XzFilters& filters) {
  block = {};
  block.version = 1;
  block.check = static_cast<lzma_check>(where.check);
  block.filters = filters.chain.data();
  if (bytes.empty() || bytes[0] == 0)
    return DamagedXz(where.offset, "no block stands where the index has one");
  block.header_size = lzma_block_header_size_decode(RawBytes(bytes)[0]);
  if (block.header_size > bytes.size())
    return DamagedXz(where.offset, "a block header larger than its block");
  lzma_ret code = lzma_block_header_decode(&block, nullptr, RawBytes(bytes));
  if (code == LZMA_OK) code = lzma_block_compressed_size(&block, where.unpadded);
  if (code == LZMA_OK && block.uncompressed_size != LZMA_VLI_UNKNOWN &&
      block.uncompressed_size != where.raw_bytes)
    code = LZMA_DATA_ERROR;
  if (code == LZMA_OK) {
    block.uncompressed_size = where.raw_bytes;
    return {};
  }
  if (code == LZMA_DATA_ERROR) return DamagedXz(where.offset, "block header and index do not agree");
  return XzReason(code, 0).Annotate(StrCat("xz block at byte ", where.offset));
}

// Returns the end of the stream that ends at `end` or before padding there; 0: no stream is left.
Result<std::uint64_t> PassPadding(const ByteFile& file, std::uint64_t end, const std::stop_token& stop) {
  while (end > 0) {
    const std::uint64_t bytes = std::min<std::uint64_t>(end, kTailBytes);
    ASSIGN_OR_RETURN(const std::string tail, ReadRange(file, end - bytes, bytes, stop));
    const std::size_t last = tail.find_last_not_of('\0');
    // A footer ends in "YZ", so zeros are padding, in groups of four.
    const std::uint64_t zeros = bytes - (last == std::string::npos ? 0 : last + 1);
    end -= zeros;
    if (zeros < bytes) break;
  }
  return end;
}

// Adds the blocks of the stream that ends at `end` to `index`, last block first; returns the begin of the
// stream.
Result<std::uint64_t> ReadStream(const ByteFile& file, std::uint64_t end, const std::stop_token& stop,
                                 XzIndex& index) {
  std::vector<XzBlock>& reversed = index.blocks;
  if (end < 2 * LZMA_STREAM_HEADER_SIZE) return DamagedXz(end, "no footer ends here: truncated");
  ASSIGN_OR_RETURN(const std::string footer_bytes,
                   ReadRange(file, end - LZMA_STREAM_HEADER_SIZE, LZMA_STREAM_HEADER_SIZE, stop));
  lzma_stream_flags footer;
  if (lzma_stream_footer_decode(&footer, RawBytes(footer_bytes)) != LZMA_OK)
    return DamagedXz(end, "no footer ends here: truncated");
  const std::uint64_t index_end = end - LZMA_STREAM_HEADER_SIZE;
  if (footer.backward_size > index_end) return DamagedXz(index_end, "the index is larger than the file");
  if (footer.backward_size > kLargestIndex)
    return Status(Code::kResourceExhausted, "xz index larger than 64 MiB");
  ASSIGN_OR_RETURN(const std::string index_bytes,
                   ReadRange(file, index_end - footer.backward_size, footer.backward_size, stop));

  lzma_index* raw = nullptr;
  std::uint64_t limit = kMemoryLimit;
  std::size_t at = 0;
  const lzma_ret code =
      lzma_index_buffer_decode(&raw, &limit, nullptr, RawBytes(index_bytes), &at, index_bytes.size());
  if (code == LZMA_MEMLIMIT_ERROR || code == LZMA_MEM_ERROR)
    return Status(Code::kResourceExhausted, "xz index too large for memory");
  if (code != LZMA_OK) return DamagedXz(index_end - footer.backward_size, "the index breaks the format");
  const Index blocks(raw);
  const std::uint64_t size = lzma_index_stream_size(raw);
  if (at != index_bytes.size() || size > end) return DamagedXz(index_end, "the index does not fit the file");
  const std::uint64_t begin = end - size;

  ASSIGN_OR_RETURN(const std::string header_bytes, ReadRange(file, begin, LZMA_STREAM_HEADER_SIZE, stop));
  lzma_stream_flags header;
  if (lzma_stream_header_decode(&header, RawBytes(header_bytes)) != LZMA_OK ||
      lzma_stream_flags_compare(&header, &footer) != LZMA_OK)
    return DamagedXz(begin, "stream header and footer do not agree");
  if (!lzma_check_is_supported(header.check)) return XzReason(LZMA_UNSUPPORTED_CHECK, 0).Annotate("xz index");

  lzma_index_iter iter;
  lzma_index_iter_init(&iter, raw);
  const std::size_t first = reversed.size();
  while (!lzma_index_iter_next(&iter, LZMA_INDEX_ITER_NONEMPTY_BLOCK)) {
    reversed.push_back({begin + iter.block.compressed_stream_offset, iter.block.total_size,
                        iter.block.unpadded_size, 0, iter.block.uncompressed_size,
                        static_cast<std::uint32_t>(header.check)});
  }
  if (reversed.size() > first) {
    const XzBlock& block = reversed[first];
    const std::uint64_t bytes = std::min<std::uint64_t>(block.bytes, LZMA_BLOCK_HEADER_SIZE_MAX);
    ASSIGN_OR_RETURN(const std::string block_bytes, ReadRange(file, block.offset, bytes, stop));
    lzma_block decoded;
    XzFilters filters;
    RETURN_IF_ERROR(DecodeHeader(block, block_bytes, decoded, filters));
    index.decoder_memory = std::max(index.decoder_memory, lzma_raw_decoder_memusage(filters.chain.data()));
  }
  std::reverse(reversed.begin() + static_cast<std::ptrdiff_t>(first), reversed.end());
  return begin;
}

class XzBlockReader final : public ByteReader {
 public:
  XzBlockReader(const XzBlock& where, ByteReader& input)
      : where_(where), input_(input), unread_(where.bytes) {}

  Result<std::size_t> Read(std::span<char> out) override {
    std::span<char> left = out;
    while (left.size() == out.size() && !ended_ && failure_.ok()) {
      Result<bool> step = Step(left);
      if (step.ok())
        ended_ = *step;
      else
        failure_ = std::move(step).status();
    }
    if (failure_.code() == Code::kDataLoss && failure_.Detail<StatusDetail>() == nullptr)
      failure_ = std::move(failure_).With(
          std::make_shared<DamagedBytes>(where_.offset, where_.offset + where_.bytes));
    const std::size_t given = out.size() - left.size();
    if (given == 0 && !failure_.ok()) return failure_;
    return given;
  }

 private:
  /// Decodes some bytes to the front of `out` and shortens it by them. True: the end of the block.
  Result<bool> Step(std::span<char>& out) {
    if (buffer_.empty()) RETURN_IF_ERROR(Begin());
    if (in_.empty() && unread_ > 0) RETURN_IF_ERROR(Fill());
    const lzma_ret code = coder_.Code(in_, out, unread_ == 0 ? LZMA_FINISH : LZMA_RUN);
    if (code == LZMA_OK) return false;
    if (code == LZMA_STREAM_END) {
      if (in_.empty() && unread_ == 0) return true;
      return DamagedXz(where_.offset, "block and index do not agree");
    }
    if (code != LZMA_DATA_ERROR && code != LZMA_BUF_ERROR)
      return XzReason(code, 0).Annotate(StrCat("xz block at byte ", where_.offset));
    return DamagedXz(where_.offset + where_.bytes - unread_ - in_.size(),
                     "the data breaks the format, or a checksum differs");
  }

  Status Begin() {
    buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(unread_, kBlockInputBytes)));
    std::string front(static_cast<std::size_t>(std::min<std::uint64_t>(unread_, LZMA_BLOCK_HEADER_SIZE_MAX)),
                      '\0');
    RETURN_IF_ERROR(ReadExactly(input_, front));
    RETURN_IF_ERROR(DecodeHeader(where_, front, block_, filters_));
    const std::uint64_t memory = lzma_raw_decoder_memusage(filters_.chain.data());
    if (memory > kMemoryLimit)
      return XzReason(LZMA_MEMLIMIT_ERROR, memory).Annotate(StrCat("xz block at byte ", where_.offset));
    if (const lzma_ret code = lzma_block_decoder(&coder_.stream, &block_); code != LZMA_OK)
      return XzReason(code, 0).Annotate(StrCat("xz block at byte ", where_.offset));
    unread_ -= front.size();
    std::copy(front.begin(), front.end(), buffer_.begin());
    in_ = std::string_view(buffer_).substr(0, front.size()).substr(block_.header_size);
    return {};
  }

  Status Fill() {
    const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(unread_, buffer_.size()));
    ASSIGN_OR_RETURN(const std::size_t got, input_.Read(std::span(buffer_).first(most)));
    if (got == 0) return DamagedXz(where_.offset + where_.bytes - unread_, "ends inside a block: truncated");
    unread_ -= got;
    in_ = std::string_view(buffer_).substr(0, got);
    return {};
  }

  const XzBlock where_;
  ByteReader& input_;
  std::uint64_t unread_;  // bytes of the block that input_ still has
  std::string buffer_;    // empty before the first step
  std::string_view in_;   // part of buffer_ that is not yet decoded
  lzma_block block_{};
  XzFilters filters_;
  XzCoder coder_;
  bool ended_ = false;
  Status failure_;
};

}  // namespace

bool IsXz(std::string_view front) {
  return front.starts_with(std::string_view("\xFD\x37\x7A\x58\x5A\x00", 6));
}

Result<std::unique_ptr<ByteReader>> NewXzReader(std::unique_ptr<ByteReader> input) {
  auto reader = std::make_unique<XzReader>(std::move(input));
  RETURN_IF_ERROR(reader->Start());
  return reader;
}

Result<XzIndex> ReadXzIndex(const ByteFile& file, std::stop_token stop) {
  XzIndex index;
  std::uint64_t end = file.size();
  if (end == 0) return DamagedXz(0, "there is nothing");
  while (true) {
    const std::uint64_t padded = end;
    ASSIGN_OR_RETURN(end, PassPadding(file, end, stop));
    if ((padded - end) % 4 != 0 || (end == 0 && padded > 0))
      return DamagedXz(end, "padding that is not a multiple of four bytes after a stream");
    if (end == 0) break;
    ASSIGN_OR_RETURN(end, ReadStream(file, end, stop, index));
  }
  std::reverse(index.blocks.begin(), index.blocks.end());
  for (XzBlock& block : index.blocks) {
    if (block.raw_bytes > LZMA_VLI_MAX - index.raw_bytes)
      return DamagedXz(block.offset, "the indexes have more bytes than a file can hold");
    block.raw_offset = index.raw_bytes;
    index.raw_bytes += block.raw_bytes;
  }
  return index;
}

std::size_t XzBlockAt(const XzIndex& index, std::uint64_t raw_offset) {
  const auto found = std::upper_bound(
      index.blocks.begin(), index.blocks.end(), raw_offset,
      [](std::uint64_t offset, const XzBlock& block) { return offset < block.raw_offset + block.raw_bytes; });
  return static_cast<std::size_t>(found - index.blocks.begin());
}

std::unique_ptr<ByteReader> NewXzBlockReader(const XzBlock& block, ByteReader& input) {
  return std::make_unique<XzBlockReader>(block, input);
}

std::string XzLibraryVersion() { return lzma_version_string(); }

}  // namespace pipeline
