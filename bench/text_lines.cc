#include "bench/text_lines.h"

#include <fstream>

#include "base/str.h"
#include "text/sentencepiece/sentencepiece_handle.h"

namespace pipeline {

namespace {
constexpr std::size_t kTextBytes = 8 << 20, kBatchBytes = 512 << 10, kTrainBytes = 1 << 20;
constexpr std::size_t kDocumentLines = 20;
}  // namespace

Result<std::vector<std::string>> ReadLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  for (std::string line; bytes < kTextBytes && std::getline(file, line); bytes += line.size())
    if (!line.empty()) lines.push_back(line);
  if (lines.empty()) return Status(Code::kNotFound, StrCat(path, ": no text"));
  return lines;
}

Result<std::string> TrainOn(const std::vector<std::string>& lines,
                            std::map<std::string, std::string> options) {
  options.merge(std::map<std::string, std::string>{
      {"vocab_size", "8000"}, {"byte_fallback", "true"}, {"minloglevel", "2"}});
  std::size_t next = 0, bytes = 0;
  return TrainSentencePiece(options, [&](std::string& sentence) -> Result<bool> {
    if (next == lines.size() || bytes > kTrainBytes) return false;
    sentence = lines[next++];
    bytes += sentence.size();
    return true;
  });
}

std::vector<Batch> BatchesOf(const std::vector<std::string>& lines) {
  std::vector<Batch> batches(1);
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (batches.back().text.bytes() >= kBatchBytes) batches.emplace_back();
    batches.back().heads.push_back({at, 0, at / kDocumentLines, 0});
    batches.back().text.Append(lines[at]);
  }
  for (Batch& batch : batches) batch.counts.resize(1);
  return batches;
}

}  // namespace pipeline
