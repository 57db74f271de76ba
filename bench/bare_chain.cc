// xz text to TFRecord shards by the same libraries in one plain loop: no stages, no batches, no threads,
// no log, no digests. What `pipe run` is held against.
//
//   bare_chain INPUT.xz OUTPUT

#include <fcntl.h>
#include <lzma.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "stages/export/tfds/tfds.h"
#include "text/white_space.h"

namespace pipeline {

namespace {

constexpr std::size_t kReadBytes = 256 << 10;
constexpr std::size_t kBufferBytes = 1 << 20;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "bare_chain: %s\n", what);
  std::exit(1);
}

/// Appends a line's example to what is written next.
class LineWriter {
 public:
  explicit LineWriter(const char* path) : file_(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (file_ < 0) Die("cannot open the output");
    UErrorCode error = U_ZERO_ERROR;
    nfkc_ = icu::Normalizer2::getNFKCInstance(error);
    if (U_FAILURE(error)) Die("no ICU data");
  }

  void Add(std::string_view line) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) return;
    text_.clear();
    icu::StringByteSink<std::string> sink(&text_);
    UErrorCode error = U_ZERO_ERROR;
    nfkc_->normalizeUTF8(0, icu::StringPiece(line.data(), static_cast<std::int32_t>(line.size())), sink,
                         nullptr, error);
    if (U_FAILURE(error)) Die("ICU failed");
    CollapseWhiteSpace(text_, 0);
    const std::string_view text = StripWhiteSpace(text_);
    if (text.empty()) return;
    AppendTfRecordHeader(out_, TextExampleSize(kTfdsTextFeature, text));
    const std::size_t begin = out_.size();
    AppendTextExample(out_, kTfdsTextFeature, text);
    AppendTfRecordFooter(out_, begin);
    if (out_.size() >= kBufferBytes) Write();
  }

  void Write() {
    for (std::string_view left = out_; !left.empty();) {
      const ssize_t wrote = write(file_, left.data(), left.size());
      if (wrote < 0) Die("cannot write");
      left.remove_prefix(static_cast<std::size_t>(wrote));
    }
    out_.clear();
  }

 private:
  const int file_;
  const icu::Normalizer2* nfkc_ = nullptr;
  std::string text_;
  std::string out_;
};

void Run(const char* from, const char* to) {
  const int input = open(from, O_RDONLY | O_CLOEXEC);
  if (input < 0) Die("cannot open the input");
  LineWriter writer(to);
  lzma_stream xz = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&xz, UINT64_MAX, LZMA_CONCATENATED) != LZMA_OK) Die("liblzma failed");
  std::string compressed(kReadBytes, '\0');
  std::string text(kBufferBytes, '\0');
  std::size_t kept = 0;  // at the front of `text`: the beginning of a line
  lzma_ret state = LZMA_OK;
  while (state != LZMA_STREAM_END) {
    if (kept == text.size()) text.resize(2 * text.size());
    xz.next_out = reinterpret_cast<std::uint8_t*>(text.data()) + kept;
    xz.avail_out = text.size() - kept;
    while (xz.avail_out > 0 && state == LZMA_OK) {
      lzma_action action = LZMA_RUN;
      if (xz.avail_in == 0) {
        const ssize_t got = read(input, compressed.data(), compressed.size());
        if (got < 0) Die("cannot read");
        if (got == 0) action = LZMA_FINISH;
        xz.next_in = reinterpret_cast<const std::uint8_t*>(compressed.data());
        xz.avail_in = static_cast<std::size_t>(got);
      }
      state = lzma_code(&xz, action);
    }
    if (state != LZMA_OK && state != LZMA_STREAM_END) Die("the input is damaged");
    std::string_view rest(text.data(), text.size() - xz.avail_out);
    while (const void* end = std::memchr(rest.data(), '\n', rest.size())) {
      const auto size = static_cast<std::size_t>(static_cast<const char*>(end) - rest.data());
      writer.Add(rest.substr(0, size));
      rest.remove_prefix(size + 1);
      if (rest.empty()) break;
    }
    kept = rest.size();
    std::memmove(text.data(), rest.data(), kept);
  }
  writer.Add(std::string_view(text.data(), kept));
  writer.Write();
  lzma_end(&xz);
  close(input);
}

}  // namespace

}  // namespace pipeline

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bare_chain INPUT.xz OUTPUT\n");
    return 2;
  }
  pipeline::Run(argv[1], argv[2]);
  return 0;
}
