#include "text/mecab/mecab_handle.h"

#include <mecab.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "text/mecab/dictionary_file.h"
#include "text/mecab/lattice.h"

namespace pipeline {

namespace {

class MecabAnalyser final : public Analyser {
 public:
  MecabAnalyser(const MeCab::Tagger& tagger, std::unique_ptr<MeCab::Lattice> lattice)
      : tagger_(tagger), lattice_(std::move(lattice)) {}

  bool Analyse(std::string_view text, std::vector<std::string_view>& morphemes) override {
    morphemes.clear();
    // Behind white space at the end of a text MeCab looks for words up to a NUL, and writes beyond its memory
    // if it finds one.
    text_ = text;
    lattice_->set_sentence(text_.c_str(), text_.size());  // MeCab keeps the pointer
    if (!tagger_.parse(lattice_.get())) return false;
    std::size_t begin = 0;
    for (const MeCab::Node* node = lattice_->bos_node()->next; node != nullptr && node->next != nullptr;
         node = node->next) {  // the last one is EOS
      morphemes.push_back(text.substr(begin, node->rlength));
      begin += node->rlength;
    }
    return true;
  }

 private:
  const MeCab::Tagger& tagger_;
  const std::unique_ptr<MeCab::Lattice> lattice_;
  std::string text_;
};

}  // namespace

struct MecabHandle::Library {
  std::unique_ptr<MeCab::Model> model;
  std::unique_ptr<MeCab::Tagger> tagger;  // const and shared, because lattices have all variable data
};

MecabHandle::MecabHandle(std::unique_ptr<Library> library, std::unique_ptr<const SegmentationModel> own)
    : library_(std::move(library)), own_(std::move(own)) {}
MecabHandle::~MecabHandle() = default;

Result<std::unique_ptr<MecabHandle>> MecabHandle::Open(const std::string& directory, Engine engine) {
  if (engine == Engine::kLibrary) return OpenLibrary(directory);
  Result<std::unique_ptr<const SegmentationModel>> own = SegmentationModel::Open(directory);
  if (own.ok()) return std::unique_ptr<MecabHandle>(new MecabHandle(nullptr, std::move(own).value()));
  if (own.status().code() != Code::kUnimplemented) return std::move(own).status();
  return OpenLibrary(directory);
}

Result<std::unique_ptr<MecabHandle>> MecabHandle::OpenLibrary(const std::string& directory) {
  // MeCab checks the same first, and leaks memory if the check fails.
  RETURN_IF_ERROR(ReadDictionaryHeader(StrCat(directory, "/sys.dic")).status());
  // MeCab would cut one string at the spaces of a path, so it gets words. It takes char**, and changes
  // nothing. The format of the output, which nobody writes, goes before the one that dicrc names.
  std::array<std::string, 6> words = {"mecab", "-r", "/dev/null", "-Owakati", "-d", directory};
  std::array<char*, 6> arguments;
  std::transform(words.begin(), words.end(), arguments.begin(),
                 [](std::string& word) { return word.data(); });
  auto library = std::make_unique<Library>();
  library->model.reset(MeCab::createModel(static_cast<int>(arguments.size()), arguments.data()));
  if (library->model) library->tagger.reset(library->model->createTagger());
  if (!library->tagger)
    return Status(Code::kFailedPrecondition, StrCat("dictionary ", directory, ": MeCab cannot load it: ",
                                                    MeCab::getLastError(), "; install it again"));
  for (const MeCab::DictionaryInfo* info = library->model->dictionary_info(); info != nullptr;
       info = info->next) {
    if (!IsUtf8Name(info->charset))
      return Status(Code::kFailedPrecondition, StrCat("dictionary ", directory, ": is in the charset ",
                                                      info->charset, ", and text here is UTF-8"));
    if (info->type != MECAB_SYS_DIC)
      return Status(Code::kFailedPrecondition,
                    StrCat("dictionary ", directory, ": its dicrc names the user dictionary ", info->filename,
                           "; compile those words into the dictionary itself"));
  }
  return std::unique_ptr<MecabHandle>(new MecabHandle(std::move(library), nullptr));
}

std::unique_ptr<Analyser> MecabHandle::NewAnalyser() const {
  if (own_ != nullptr) return std::make_unique<Lattice>(*own_);
  return std::make_unique<MecabAnalyser>(*library_->tagger,
                                         std::unique_ptr<MeCab::Lattice>(library_->model->createLattice()));
}

std::string MecabHandle::Version() { return MeCab::Model::version(); }

}  // namespace pipeline
