// The answer to a batch of requests: no input may do harm, or be taken for the answer to a request twice. The
// first line is the Content-Type of the answer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "storage/remote/gcs/gcs_batch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  constexpr std::size_t kRequests = 3;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view body = text.substr(std::min(end + 1, text.size()));
  const auto answers = ParseGcsBatch(text.substr(0, end), body, kRequests);
  if (!answers.ok()) {
    if (answers.status().code() != Code::kUnavailable) std::abort();
    return 0;
  }
  if (answers->size() != kRequests) std::abort();
  std::size_t answered = 0;
  for (const auto& answer : *answers) {
    if (!answer) continue;
    ++answered;
    if (answer->status < 100 || answer->status > 999) std::abort();
    for (const char c : answer->message)
      if (static_cast<unsigned char>(c) < ' ') std::abort();
  }
  // Each is told by a status line of its own.
  std::size_t lines = 0;
  for (std::size_t at = body.find("HTTP/"); at != std::string_view::npos; at = body.find("HTTP/", at + 1))
    ++lines;
  if (answered > lines) std::abort();
  return 0;
}
