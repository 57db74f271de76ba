// What an artifact was made by: the stages from the source on, with everything that has a say in the
// bytes. Recipes are hashes of it; manifests and segment lines hold it; --explain compares two.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/json.h"
#include "base/result.h"

namespace pipeline {

struct LineagePort;

/// One stage of a lineage.
struct LineageStage {
  std::string stage;  // its name in the file; in no key, so that renaming changes no bytes
  std::string type;
  std::uint32_t version = 0;  // of the type
  Json config;                // canonical: only keys with Effect::kBytes
  /// What the machine has a say with: {"icu", "72.1"}, and {"dictionary ipadic", digest}.
  std::map<std::string, std::string> libraries;
  /// What no stage made: a name for people (in no key), and the digest or pin; of what a stage takes from the
  /// name of a file, that itself.
  std::vector<std::pair<std::string, std::string>> sources;
  std::vector<LineagePort> ports;  // artifacts of other stages that it takes whole
  Digest recipe;

  bool operator==(const LineageStage&) const;
};

/// From the source to the stage that made the artifact, which is last.
using Lineage = std::vector<LineageStage>;

/// What a stage takes at one of its ports, and how that was made.
struct LineagePort {
  std::string name;
  Digest digest;  // the recipe of the artifact; in a content key, what it holds
  Lineage lineage;
  std::string file{};  // of one that no stage makes: its name, for people (in no key); empty where old

  bool operator==(const LineagePort&) const = default;
};

inline bool LineageStage::operator==(const LineageStage& other) const {
  return stage == other.stage && type == other.type && version == other.version && config == other.config &&
         libraries == other.libraries && sources == other.sources && ports == other.ports &&
         recipe == other.recipe;
}

/// An array of objects, as manifests and segment lines hold it.
Json ToJson(const Lineage& lineage);
/// kDataLoss naming the member that is missing or wrong.
Result<Lineage> LineageFromJson(const Json& json);

/// The recipe of `stage` over the recipe of its input; absent for a stage without input. Ignores
/// `stage.recipe`.
Digest RecipeOf(const LineageStage& stage, std::optional<Digest> input_recipe);

/// One thing in which two lineages differ.
struct Difference {
  std::string stage;        // its new name, or the old one where it was removed
  std::string what;         // "type", "version", "config.form", "config.shuffle.seed", "library.icu",
                            // "source.ja.txt.xz", "port.tokenizer", "stage added", "stage removed", "order"
  std::string old_value;    // empty where there was none
  std::string new_value;    // empty where there is none
  bool of_machine = false;  // what this machine has, not what the file says: libraries

  bool operator==(const Difference&) const = default;
};

/// Everything that makes the recipes of two lineages differ, in the order of the new one; empty exactly
/// when RecipeOf gives the same for both. A stage is recognised by its name; one that was renamed, by its
/// type. What an artifact at a port was made by is compared like the rest; each difference stands once.
std::vector<Difference> Compare(const Lineage& old_lineage, const Lineage& new_lineage);

/// "clean: form: nfkc -> nfc"
std::string ToString(const Difference& difference);
/// At most three of them, for one line of text.
std::string Summary(const std::vector<Difference>& differences);

}  // namespace pipeline
