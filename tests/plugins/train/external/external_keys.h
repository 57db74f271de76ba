// The keys of a stage whose trainer is external_trainer.py.
#pragma once

#include <string>

#include "base/json.h"
#include "base/str.h"
#include "tests/support/built_tree.h"

namespace pipeline {

/// `does`: the path of the file with its behaviours.
inline Json ExternalKeys(const std::string& does) {
  Json keys;
  keys["trainer"] = "external";
  keys["config"] = Json(Json::Object{});
  keys["seed"] = 7;
  keys["environment"] = ".pipe/trainer";
  keys["steps"] = 20;
  keys["log_every"] = 2;
  keys["keep_checkpoints"] = 2;
  keys["restarts"] = 1;
  keys["grace"] = 1;
  keys["patience"] = 0.05;
  for (const std::string& word :
       {StrCat(SourceDir(), "/tests/plugins/train/external/external_trainer.py"), std::string("--run"),
        std::string("{run_dir}"), std::string("--steps"), std::string("{steps}"), std::string("--does"), does,
        std::string("--rest"), std::string("{data}|{tokenizer}|{seed}|{host}/{hosts}|{{}}")})
    keys["command"].Append(word);
  Json& recognise = keys["recognise"];
  recognise["step"] = "step ([0-9]+)";
  recognise["loss"] = "loss=([0-9.]+)";
  recognise["checkpoint"]["directory"] = "checkpoints";
  recognise["checkpoint"]["step"] = "checkpoint-([0-9]+)";
  recognise["checkpoint"]["commit"] = "COMMIT";
  keys["success"].Append("model.*");
  return keys;
}

}  // namespace pipeline
