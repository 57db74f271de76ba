// Google Cloud Storage as a scheme, gs://BUCKET/OBJECT.
#pragma once

#include "storage/remote/scheme/remote_scheme.h"

namespace pipeline {

extern const RemoteScheme kGcsScheme;

}  // namespace pipeline
