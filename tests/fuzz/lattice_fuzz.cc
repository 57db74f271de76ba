// A text: our lattice finds the morphemes of the library, with a dictionary whose costs are few, so that many
// ways are equal, and with the layout of UniDic. Or, behind a letter, changes of one of its files: it is
// refused, or read without a fault.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/require.h"
#include "tests/text/mecab/small_dictionary.h"
#include "tests/text/mecab/small_unidic.h"
#include "text/mecab/lattice.h"
#include "text/mecab/mecab_handle.h"

namespace pipeline {
namespace {

namespace fs = std::filesystem;
using Morphemes = std::vector<std::string_view>;

constexpr const char* kFiles[] = {"sys.dic", "unk.dic", "matrix.bin", "char.bin", "dicrc"};

SmallDictionary Text() {
  return {.words =
              "a,0,0,1,*\na,1,1,0,*\nab,0,1,1,*\nb,1,0,0,*\n\"a b\",0,0,2,*\nba,1,1,1,*\n1,0,0,1,*\n"
              "あ,0,0,1,*\nああ,1,1,2,*\nあb,0,1,1,*\n漢,1,0,1,*\n😀,0,0,1,*\né,1,1,0,*\n",
          .unknown = "DEFAULT,0,0,3,*\nSPACE,1,1,1,*\nLETTER,0,1,1,*\nLETTER,1,0,1,*\nKANA,1,1,2,*\n",
          .characters =
              "DEFAULT 0 1 0\nSPACE 0 1 0\nLETTER 1 1 2\nKANA 0 1 3\n0x0020 SPACE\n0x3000 SPACE KANA\n"
              "0x0061..0x007A LETTER\n0x0065 KANA LETTER\n0x3042..0x3050 KANA\n",
          .costs = "2 2\n0 0 0\n0 1 1\n1 0 1\n1 1 0\n"};
}

/// A dictionary with each engine.
struct Engines {
  explicit Engines(const std::string& directory)
      : own(MecabHandle::Open(directory).value()),
        library(MecabHandle::Open(directory, MecabHandle::Engine::kLibrary).value()) {
    Require(own->engine() == MecabHandle::Engine::kOwn);
  }
  std::unique_ptr<MecabHandle> own, library;
};

/// The dictionaries, and a directory for changed copies of the first one; removed at the end.
struct Dictionaries {
  Dictionaries() {
    std::string name = (fs::temp_directory_path() / "lattice_fuzz.XXXXXX").string();
    Require(mkdtemp(name.data()) != nullptr);
    root = name;
    for (const auto& [folder, made] :
         {std::pair("whole", Text()), std::pair("unidic", SmallUnidic(40, 50))}) {
      fs::create_directory(root / folder);
      Compile(made, root / folder);
      engines.emplace_back(root / folder);
    }
    fs::copy(root / "whole", root / "changed");
  }
  ~Dictionaries() { fs::remove_all(root); }
  fs::path root;
  std::vector<Engines> engines;
};

void Compare(const Engines& engines, std::string_view text) {
  Morphemes own, library;
  Require(engines.own->NewAnalyser()->Analyse(text, own) == (text.size() <= kMostLatticeBytes));
  if (text.size() > kMostLatticeBytes) return;
  Require(engines.library->NewAnalyser()->Analyse(text, library));
  Require(own == library);
}

/// Each change is an offset of two bytes and a byte; an offset behind the end cuts the file there.
void ReadChanged(const Dictionaries& dictionaries, const char* file, std::string_view changes) {
  const fs::path from = dictionaries.root / "whole" / file, to = dictionaries.root / "changed" / file;
  std::ifstream in(from, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (; changes.size() >= 3 && !bytes.empty(); changes.remove_prefix(3)) {
    const std::size_t offset =
        static_cast<unsigned char>(changes[0]) + 256U * static_cast<unsigned char>(changes[1]);
    if (offset < bytes.size())
      bytes[offset] = changes[2];
    else
      bytes.resize(bytes.size() - offset % bytes.size());
  }
  std::ofstream(to, std::ios::binary) << bytes;
  const auto model = SegmentationModel::Open((dictionaries.root / "changed").string());
  if (model.ok()) {
    Lattice lattice(**model);
    Morphemes morphemes;
    for (const std::string_view text :
         {"ab a b ba あああb漢😀é 12e  ", "\xe3\x81 \xff", "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"})
      Require(lattice.Analyse(text, morphemes));
  }
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
}

}  // namespace
}  // namespace pipeline

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace pipeline;
  static const Dictionaries dictionaries;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  if (size > 0 && data[0] < std::size(kFiles))
    ReadChanged(dictionaries, kFiles[data[0]], all.substr(1));
  else
    for (const Engines& engines : dictionaries.engines) Compare(engines, all);
  return 0;
}
