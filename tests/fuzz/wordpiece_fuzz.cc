// Up to a NUL a vocabulary, behind it a text: what is taken is written as it was read, and every id of the
// text, cut anyhow, is one of the vocabulary and ends where a character does.
#include <algorithm>
#include <string>

#include "tests/fuzz/require.h"
#include "text/sentence_cutter.h"
#include "text/utf8.h"
#include "text/wordpiece.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::string_view file = all.substr(0, all.find('\0'));
  std::string text;
  RepairUtf8(all.substr(std::min(all.size(), file.size() + 1)), text);

  std::vector<std::uint32_t> sentences;
  for (const std::string_view line : {std::string_view(text), all}) {
    FindSentenceEnds(line, sentences);
    std::uint32_t last = 0;
    for (const std::uint32_t end : sentences) {
      Require(end > last && end <= line.size());
      Require(line.data() != text.data() || end == text.size() || !IsUtf8Tail(text[end]));
      last = end;
    }
    Require(last == line.size());
  }

  const auto vocabulary = WordPieceVocabulary::Parse(file);
  if (!vocabulary.ok()) return 0;
  const std::string written = vocabulary->Serialize();
  Require(written == file || written == std::string(file) + "\n");
  for (const BertWordKind kind : {BertWordKind::kText, BertWordKind::kMorphemes}) {
    const WordPieceEncoder encoder(*vocabulary, kind);
    BertWords words;
    std::vector<std::uint32_t> ids, ends;
    encoder.Encode(text, sentences, words, ids, ends);
    Require(ids.size() == ends.size());
    std::uint32_t last = 0;
    for (std::size_t at = 0; at < ids.size(); ++at) {
      Require(ids[at] < vocabulary->size() && ends[at] >= last && ends[at] <= text.size());
      Require(ends[at] == text.size() || !IsUtf8Tail(text[ends[at]]));
      last = ends[at];
    }
    Require(ids.empty() || last == text.size());
  }
  return 0;
}
