// MeCab: a dictionary that all threads share, and the scratch of one thread. The one place that knows it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "text/word_cutter.h"

namespace pipeline {

/// A loaded dictionary. Immutable; safe from any thread; outlives its analysers.
class MecabHandle {
 public:
  /// Loads `directory` and nothing else: no rc file of the machine or the user has a say, and a user
  /// dictionary that its dicrc names is refused. kFailedPrecondition for another charset than UTF-8.
  static Result<std::unique_ptr<MecabHandle>> Open(const std::string& directory);
  ~MecabHandle();

  std::unique_ptr<Analyser> NewAnalyser() const;

  /// Of the MeCab that this program runs with: "0.996".
  static std::string Version();

 private:
  struct Model;
  explicit MecabHandle(std::unique_ptr<Model> model);
  std::unique_ptr<Model> model_;
};

}  // namespace pipeline
