// Finds and opens an artifact's directory as the user typed it, or reports what exists there instead.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "dag/books/manifest.h"
#include "storage/store.h"

namespace pipeline {

struct ArtifactLocation {
  std::string name;  // as typed, without slashes at its end; for messages
  std::unique_ptr<Store> store;
};

/// kNotFound if nothing exists there; kInvalidArgument for a file and for text that is not a location.
Result<ArtifactLocation> OpenArtifactLocation(const std::string& location);

/// kFailedPrecondition: a stage has begun an artifact there and has not published it. kNotFound: there is no
/// manifest for another reason, which the message says.
Result<Manifest> ReadManifestOf(const ArtifactLocation& location, std::stop_token stop);

}  // namespace pipeline
