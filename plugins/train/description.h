// The stage and the commands of this plugin.
#pragma once

#include <memory>

#include "plugins/native/description.h"

namespace pipeline {

/// The keys of the stage are those of CONTRACT.md, section 1.
std::unique_ptr<const PluginDescription> Description();

}  // namespace pipeline
