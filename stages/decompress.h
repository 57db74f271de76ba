// The stage `decompress`: whole files of text, compressed or not, to records of one line each.
#pragma once

#include "spec/registry.h"

namespace pipeline {

/// Takes files and gives records with column `text`, clean UTF-8.
StageType DecompressType();

}  // namespace pipeline
