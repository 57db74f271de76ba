// The directory of an artifact, as it is typed: found, opened, or a clear word about what is there instead.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "dag/manifest.h"
#include "storage/store.h"

namespace pipeline {

struct ArtifactPlace {
  std::string name;  // as it was typed, without slashes at its end; for messages
  std::unique_ptr<Store> store;
};

/// kNotFound where nothing is there, kInvalidArgument for a file and for what is no place.
Result<ArtifactPlace> OpenArtifactPlace(const std::string& place);

/// kNotFound where there is no manifest, saying whether an artifact was begun there.
Result<Manifest> ReadManifestOf(const ArtifactPlace& place, std::stop_token stop);

}  // namespace pipeline
