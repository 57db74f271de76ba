#include "text/mecab_handle.h"

#include <mecab.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

class MecabAnalyser final : public Analyser {
 public:
  MecabAnalyser(const MeCab::Tagger& tagger, std::unique_ptr<MeCab::Lattice> lattice)
      : tagger_(tagger), lattice_(std::move(lattice)) {}

  bool Analyse(std::string_view text, std::vector<std::string_view>& morphemes) override {
    morphemes.clear();
    lattice_->set_sentence(text.data(), text.size());  // MeCab keeps the pointer
    if (!tagger_.parse(lattice_.get())) return false;
    for (const MeCab::Node* node = lattice_->bos_node()->next; node != nullptr && node->next != nullptr;
         node = node->next) {  // the last one is EOS
      const std::size_t space = node->rlength - node->length;
      morphemes.emplace_back(node->surface - space, node->rlength);
    }
    return true;
  }

 private:
  const MeCab::Tagger& tagger_;
  const std::unique_ptr<MeCab::Lattice> lattice_;
};

/// Checks the same values of a dictionary as MeCab does first, because MeCab leaks memory if it finds them
/// wrong.
Status CheckSystemDictionary(const std::string& path) {
  constexpr std::uint32_t kMagic = 0xef718f77;
  constexpr std::uint32_t kVersion = 102;
  std::array<std::uint32_t, 2> words{};  // the whole file has the byte order of the machine that made it
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(words.data()), sizeof(words));
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!file || error || (words[0] ^ kMagic) != size)
    return Status(Code::kFailedPrecondition, StrCat(path, ": is damaged, or no dictionary of MeCab"));
  if (words[1] != kVersion)
    return Status(Code::kFailedPrecondition, StrCat(path, ": has version ", words[1], " of the format, not ",
                                                    kVersion, ": it was made by another MeCab"));
  return {};
}

bool IsUtf8Name(std::string charset) {
  std::transform(charset.begin(), charset.end(), charset.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return charset == "utf-8" || charset == "utf8" || charset == "utf_8";
}

}  // namespace

struct MecabHandle::Model {
  std::unique_ptr<MeCab::Model> model;
  std::unique_ptr<MeCab::Tagger> tagger;  // const and shared, because lattices have all variable data
};

MecabHandle::MecabHandle(std::unique_ptr<Model> model) : model_(std::move(model)) {}
MecabHandle::~MecabHandle() = default;

Result<std::unique_ptr<MecabHandle>> MecabHandle::Open(const std::string& directory) {
  RETURN_IF_ERROR(CheckSystemDictionary(StrCat(directory, "/sys.dic")));
  // MeCab would cut one string at the spaces of a path, so it gets words. It takes char**, and changes
  // nothing.
  std::array<std::string, 5> words = {"mecab", "-r", "/dev/null", "-d", directory};
  std::array<char*, 5> arguments;
  std::transform(words.begin(), words.end(), arguments.begin(),
                 [](std::string& word) { return word.data(); });
  auto model = std::make_unique<Model>();
  model->model.reset(MeCab::createModel(static_cast<int>(arguments.size()), arguments.data()));
  if (model->model) model->tagger.reset(model->model->createTagger());
  if (!model->tagger)
    return Status(Code::kFailedPrecondition, StrCat("dictionary ", directory, ": MeCab cannot load it: ",
                                                    MeCab::getLastError(), "; install it again"));
  for (const MeCab::DictionaryInfo* info = model->model->dictionary_info(); info != nullptr;
       info = info->next) {
    if (!IsUtf8Name(info->charset))
      return Status(Code::kFailedPrecondition, StrCat("dictionary ", directory, ": is in the charset ",
                                                      info->charset, ", and text here is UTF-8"));
    if (info->type != MECAB_SYS_DIC)
      return Status(Code::kFailedPrecondition,
                    StrCat("dictionary ", directory, ": its dicrc names the user dictionary ", info->filename,
                           "; compile those words into the dictionary itself"));
  }
  return std::unique_ptr<MecabHandle>(new MecabHandle(std::move(model)));
}

std::unique_ptr<Analyser> MecabHandle::NewAnalyser() const {
  return std::make_unique<MecabAnalyser>(*model_->tagger,
                                         std::unique_ptr<MeCab::Lattice>(model_->model->createLattice()));
}

std::string MecabHandle::Version() { return MeCab::Model::version(); }

}  // namespace pipeline
