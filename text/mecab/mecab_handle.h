// Analysers with a compiled dictionary of MeCab. Only mecab_handle.cc includes MeCab.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "text/mecab/segmentation_model.h"
#include "text/word_cutter.h"

namespace pipeline {

/// A loaded dictionary. Immutable; safe from any thread. It must outlive its analysers.
class MecabHandle {
 public:
  /// Both engines find the same morphemes. kOwn: Lattice, and the library for a dictionary that only it can
  /// read.
  enum class Engine : std::uint8_t { kOwn, kLibrary };

  /// Loads a compiled dictionary: `directory` has `dicrc` and the binary files of `mecab-dict-index`
  /// (`sys.dic`, ...). The rc files of the machine and the user have no effect. kFailedPrecondition: a file
  /// is missing, damaged or of another version of MeCab; the charset is not UTF-8; or `dicrc` names a user
  /// dictionary.
  static Result<std::unique_ptr<MecabHandle>> Open(const std::string& directory,
                                                   Engine engine = Engine::kOwn);
  ~MecabHandle();

  /// Returns an analyser for one thread. Safe from any thread.
  std::unique_ptr<Analyser> NewAnalyser() const;

  /// kLibrary if the dictionary is one that only the library can read.
  Engine engine() const { return own_ != nullptr ? Engine::kOwn : Engine::kLibrary; }

  /// Returns the version of the MeCab library at run time: "0.996".
  static std::string Version();

 private:
  struct Library;
  MecabHandle(std::unique_ptr<Library> library, std::unique_ptr<const SegmentationModel> own);
  static Result<std::unique_ptr<MecabHandle>> OpenLibrary(const std::string& directory);

  const std::unique_ptr<Library> library_;              // null: `own_` is there
  const std::unique_ptr<const SegmentationModel> own_;  // null: `library_` is there
};

}  // namespace pipeline
