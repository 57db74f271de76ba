#include "text/mecab/segmentation_model.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

Status CheckDicrc(const std::string& path) {
  const Status other(Code::kUnimplemented, StrCat(path, ": has settings that only MeCab knows"));
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status(Code::kFailedPrecondition, StrCat(path, ": cannot be read"));
  bool has_ends = false;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == ';' || line.front() == '#') continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) return other;
    const std::string_view key = std::string_view(line).substr(0, line.find_first_of(" \t\v\f\r="));
    if (key == "userdic") return other;
    if (key == "bos-feature")
      has_ends |= line.find_first_not_of(" \t\v\f\r", equals + 1) != std::string::npos;
  }
  return has_ends ? Status() : other;
}

Status CheckSystemDictionary(const std::string& directory, const DictionaryHeader& header) {
  if (!IsUtf8Name(header.charset))
    return Status(Code::kFailedPrecondition, StrCat("dictionary ", directory, ": is in the charset ",
                                                    header.charset, ", and text here is UTF-8"));
  if (header.type != kSystemDictionary)
    return Status(Code::kFailedPrecondition,
                  StrCat(directory, "/sys.dic: is a dictionary of users or of unknown words"));
  if (std::max(header.left_ids, header.right_ids) > 0xffff ||
      std::min(header.left_ids, header.right_ids) == 0)
    return Status(Code::kFailedPrecondition, StrCat(directory, "/sys.dic: is damaged: it has ",
                                                    header.left_ids, " by ", header.right_ids, " ids"));
  return {};
}

}  // namespace

bool IsUtf8Name(std::string charset) {
  std::transform(charset.begin(), charset.end(), charset.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return charset == "utf-8" || charset == "utf8" || charset == "utf_8";
}

Result<std::unique_ptr<const SegmentationModel>> SegmentationModel::Open(const std::string& directory) {
  const std::string unknown_path = StrCat(directory, "/unk.dic");
  ASSIGN_OR_RETURN(const DictionaryHeader header, ReadDictionaryHeader(StrCat(directory, "/sys.dic")));
  RETURN_IF_ERROR(CheckSystemDictionary(directory, header));
  RETURN_IF_ERROR(CheckDicrc(StrCat(directory, "/dicrc")));
  ASSIGN_OR_RETURN(DictionaryFile system, DictionaryFile::Read(StrCat(directory, "/sys.dic")));
  ASSIGN_OR_RETURN(const DictionaryFile unknown, DictionaryFile::Read(unknown_path));
  ASSIGN_OR_RETURN(const CharacterCategories categories,
                   CharacterCategories::Read(StrCat(directory, "/char.bin")));

  std::unique_ptr<SegmentationModel> model(new SegmentationModel);
  model->numbers_ = NumbersByUse(system);
  ASSIGN_OR_RETURN(model->costs_, ConnectionCosts::Read(StrCat(directory, "/matrix.bin"), model->numbers_));
  model->words_.resize(system.words.size());
  for (const DictionaryFile::Unit& unit : system.units) {
    if (unit.base >= 0) continue;
    const DictionaryFile::Run run = DictionaryFile::RunOfLeaf(unit);
    model->AddWords(system, run, run.first);
  }
  RETURN_IF_ERROR(model->AddUnknown(unknown_path, unknown, categories));
  model->units_ = std::move(system.units);
  model->MarkEnds();
  model->FillFirstSteps(categories);
  return std::unique_ptr<const SegmentationModel>(std::move(model));
}

/// Writes the words of one surface from `place` on.
void SegmentationModel::AddWords(const DictionaryFile& file, DictionaryFile::Run run, std::uint32_t place) {
  const auto words = file.words.begin() + run.first;
  std::uint32_t end = place;
  for (std::uint32_t at = run.count; at-- > 0;) {
    const DictionaryFile::Word& word = words[at];
    // Of equal words the first one stays, and of the others the cheapest.
    const bool is_beaten = [&] {
      for (std::uint32_t other = 0; other < run.count; ++other) {
        const DictionaryFile::Word& one = words[other];
        if (one.left == word.left && one.right == word.right &&
            (one.cost < word.cost || (one.cost == word.cost && other < at)))
          return true;
      }
      return false;
    }();
    if (!is_beaten) words_[end++] = {numbers_.left[word.left], numbers_.right[word.right], word.cost, true};
  }
  words_[end - 1].more = false;
}

Status SegmentationModel::AddUnknown(const std::string& path, const DictionaryFile& file,
                                     const CharacterCategories& categories) {
  if (file.header.left_ids > numbers_.left.size() || file.header.right_ids > numbers_.right.size())
    return Status(Code::kFailedPrecondition, StrCat(path, ": has other ids than sys.dic"));
  for (const std::string& name : categories.names) {
    const DictionaryFile::Run run = file.Find(name);
    if (run.count == 0)
      return Status(Code::kFailedPrecondition, StrCat(path, ": has no words of the category ", name));
    const auto place = static_cast<std::uint32_t>(words_.size());
    unknown_.push_back(place);
    words_.resize(place + run.count);
    AddWords(file, run, place);
  }
  return {};
}

void SegmentationModel::MarkEnds() {
  for (DictionaryFile::Unit& unit : units_) {
    if (unit.base <= 0) continue;
    const auto base = static_cast<std::uint32_t>(unit.base);
    if (units_[base].IsLeafOf(base)) unit.base = static_cast<std::int32_t>(base | kEndsWord);
  }
}

void SegmentationModel::FillFirstSteps(const CharacterCategories& categories) {
  first_steps_.resize(categories.by_code.size());
  for (std::size_t code = 0; code < first_steps_.size(); ++code) {
    std::array<char, 4> bytes{};
    const std::string_view character = EncodeCharacter(static_cast<char32_t>(code), bytes);
    FirstStep& step = first_steps_[code];
    step = {root(), static_cast<std::uint8_t>(character.size()), categories.by_code[code]};
    for (std::size_t at = 0; at < character.size(); ++at) {
      const DictionaryFile::Unit& next = units_[step.base + static_cast<unsigned char>(character[at]) + 1];
      if (next.check != step.base) {
        step.base = kNowhere;
        break;
      }
      step.base = static_cast<std::uint32_t>(next.base);
      // A surface that ends within a character: the step would pass it over.
      if (at + 1 < character.size() && (step.base & kEndsWord) != 0) {
        step.base = root(), step.bytes = 0;
        break;
      }
    }
  }
}

std::uint64_t SegmentationModel::memory() const {
  return units_.capacity() * sizeof(DictionaryFile::Unit) + words_.capacity() * sizeof(Word) +
         first_steps_.capacity() * sizeof(FirstStep) + costs_.memory();
}

}  // namespace pipeline
