// Files of web servers as schemes, https://HOST/PATH and http://HOST/PATH.
#pragma once

#include "storage/remote/scheme/remote_scheme.h"

namespace pipeline {

extern const RemoteScheme kHttpScheme, kHttpsScheme;

}  // namespace pipeline
