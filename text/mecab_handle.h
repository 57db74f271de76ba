// The library MeCab: a dictionary for all threads, and an analyser for each thread. Only mecab_handle.cc
// includes MeCab.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "text/word_cutter.h"

namespace pipeline {

/// A loaded dictionary. Immutable; safe from any thread. It must outlive its analysers.
class MecabHandle {
 public:
  /// Loads a compiled dictionary: `directory` has `dicrc` and the binary files of `mecab-dict-index`
  /// (`sys.dic`, ...). The rc files of the machine and the user have no effect. kFailedPrecondition: a file
  /// is missing, damaged or of another version of MeCab; the charset is not UTF-8; or `dicrc` names a user
  /// dictionary.
  static Result<std::unique_ptr<MecabHandle>> Open(const std::string& directory);
  ~MecabHandle();

  /// Returns an analyser for one thread. Safe from any thread.
  std::unique_ptr<Analyser> NewAnalyser() const;

  /// Returns the version of the MeCab library at run time: "0.996".
  static std::string Version();

 private:
  struct Model;
  explicit MecabHandle(std::unique_ptr<Model> model);
  std::unique_ptr<Model> model_;
};

}  // namespace pipeline
