// MeCab: a dictionary for all threads, and an analyser for each thread. Only mecab_handle.cc uses MeCab.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "text/word_cutter.h"

namespace pipeline {

/// A loaded dictionary. Immutable; safe from any thread. It must outlive its analysers.
class MecabHandle {
 public:
  /// Loads `directory` alone: rc files of the machine and the user have no effect, and a user dictionary
  /// named in its dicrc is refused. kFailedPrecondition: the dictionary cannot be used, e.g. its charset is
  /// not UTF-8.
  static Result<std::unique_ptr<MecabHandle>> Open(const std::string& directory);
  ~MecabHandle();

  std::unique_ptr<Analyser> NewAnalyser() const;

  /// Version of the MeCab library at run time: "0.996".
  static std::string Version();

 private:
  struct Model;
  explicit MecabHandle(std::unique_ptr<Model> model);
  std::unique_ptr<Model> model_;
};

}  // namespace pipeline
