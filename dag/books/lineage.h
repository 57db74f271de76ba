// The lineage of an artifact: the stages that made it, from the source on, with everything that affects the
// bytes. Recipes are hashes of it; manifests and segment lines contain it; --explain compares two.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/json.h"
#include "base/result.h"

namespace pipeline {

struct LineageInput;

/// An input that no stage made.
struct LineageSource {
  std::string name;    // for people; in no key
  std::string digest;  // or its pin; for a value that the stage takes from the name of a file: that value
  bool operator==(const LineageSource&) const = default;
};

/// One stage of a lineage.
struct LineageStage {
  std::string stage;  // its name in the file; in no key, so that a new name changes no bytes
  std::string type;
  std::uint32_t version = 0;  // of the type
  Json config;                // canonical: only keys with Effect::kBytes
  /// Parts of the machine that affect the bytes: {"icu", "72.1"}, and {"dictionary ipadic", digest}.
  std::map<std::string, std::string> libraries;
  std::vector<LineageSource> sources;
  std::vector<LineageInput> named_inputs;  // its named inputs
  Digest recipe;

  bool operator==(const LineageStage&) const;
};

/// From the source to the stage that made the artifact, which is last.
using Lineage = std::vector<LineageStage>;

/// One named input of a stage, and how its artifact was made.
struct LineageInput {
  std::string name;
  Digest digest;  // the recipe of the artifact; in a content key, its content
  Lineage lineage;
  std::string file{};  // name of a file that no stage makes, for people (in no key); empty in old lineages

  bool operator==(const LineageInput&) const = default;
};

inline bool LineageStage::operator==(const LineageStage& other) const {
  return stage == other.stage && type == other.type && version == other.version && config == other.config &&
         libraries == other.libraries && sources == other.sources && named_inputs == other.named_inputs &&
         recipe == other.recipe;
}

/// Returns an array of objects, as in manifests and segment lines.
Json ToJson(const Lineage& lineage);
/// kDataLoss: a member is missing or wrong; the message names it.
Result<Lineage> LineageFromJson(const Json& json);

/// Returns the recipe of `stage` over the recipe of its input; absent: the stage has no input. Ignores
/// `stage.recipe`.
Digest RecipeOf(const LineageStage& stage, std::optional<Digest> input_recipe);

/// One difference between two lineages.
struct Difference {
  std::string stage;        // its new name; the old one if the stage was removed
  std::string what;         // "type", "version", "config.form", "config.shuffle.seed", "library.icu",
                            // "source.ja.txt.xz", "port.tokenizer", "stage added", "stage removed", "order"
  std::string old_value;    // empty: there was none
  std::string new_value;    // empty: there is none
  bool of_machine = false;  // belongs to this machine, not to the file: libraries

  bool operator==(const Difference&) const = default;
};

/// Returns everything that makes the recipes of two lineages differ, in the order of the new one. Empty
/// exactly if RecipeOf gives the same for both. A stage is matched by its name; a renamed one by its type.
/// Lineages of named inputs are compared like the rest; each difference appears once.
std::vector<Difference> Compare(const Lineage& old_lineage, const Lineage& new_lineage);

/// Returns "clean: form: nfkc -> nfc".
std::string ToString(const Difference& difference);
/// Returns at most three of them as one line of text.
std::string Summary(const std::vector<Difference>& differences);

}  // namespace pipeline
