// budget: flat table
#include "plugins/train/external/presets.h"

#include <array>

namespace pipeline {

namespace {

// Members: `repository`, `commit`, `packages`: the pins, of the release that the flags were read from.
// `program` and `flags`, with placeholders: the command; the form of a flag is in flags/. `reads`:
// the stage type of the artifact at `data_set`. `encoding`: of the rows at `data`. `agree`: flags that have
// the value of a key of the stage at an input, and so much more. The others are keys of the stage
// (external.md, section 1).
constexpr std::array<std::string_view, 7> kPresets = {{
    R"json({
  "name": "transformer-lm-japanese",
  "repository": "FookieMonster/transformer-lm-japanese", "commit": "c1a0fab00ca74ce31c458719ca2a2407b76ab3a1",
  "packages": ["jax==0.4.13", "flax==0.6.11", "optax==0.1.5", "clu==0.0.6", "ml-collections==0.1.0", "numpy==1.22.0",
               "tensorflow==2.11.1", "tensorflow-text==2.11.0", "tensorflow-datasets==4.8.3", "sentencepiece==0.1.99"],
  "reads": "write_tfds",
  "program": ["python3", "{checkout}/transformer_lm/main.py"],
  "flags": {
    "workdir": "{run_dir}", "config": "{checkout}/transformer_lm/configs/japanese_0.1b_v1.py",
    "config.dataset_name": "{tfds_name}:{tfds_version}", "config.train_split": "train",
    "config.eval_dataset_name": "{tfds_name}:{tfds_version}", "config.eval_split": "validation",
    "config.num_train_steps": "{steps}", "config.seed": "{seed}",
    "config.per_device_batch_size": 32, "config.learning_rate": 0.0016, "config.warmup_steps": 1000,
    "config.weight_decay": 0.1},
  "variables": {"TFDS_DATA_DIR": "{tfds_dir}"},
  "files": {"sentencepiece_model": "{tokenizer}"},
  "recognise": {"tensorboard": {"directory": ".", "loss": "train_loss"},
                "checkpoint": {"directory": ".", "step": "checkpoint_([0-9]+)"}},
  "success": ["checkpoint_*", "sentencepiece_model"],
  "first_step": 0
})json",
    R"json({
  "name": "bert",
  "repository": "google-research/bert", "commit": "eedf5716ce1268e56f0a50264a88cafad334ac61",
  "packages": ["tensorflow==1.15.5"],
  "reads": "write_bert",
  "agree": {"max_seq_length": ["data_set", "seq_len", 0], "max_predictions_per_seq": ["data_set", "max_predictions", 0]},
  "program": ["python3", "{checkout}/run_pretraining.py"],
  "flags": {
    "input_file": "{data_set}/train-*tfrecord", "bert_config_file": "{data_set}/bert_config.json",
    "output_dir": "{run_dir}", "do_train": true, "num_train_steps": "{steps}",
    "train_batch_size": 128, "eval_batch_size": 64, "max_seq_length": 128, "max_predictions_per_seq": 20,
    "num_warmup_steps": 10, "learning_rate": 2e-5, "save_checkpoints_steps": 2500, "iterations_per_loop": 2500},
  "recognise": {"step": "loss = [0-9.e+-]+, step = ([0-9]+)", "loss": "loss = ([0-9.e+-]+), step = ",
                "checkpoint": {"directory": ".", "step": "model\\.ckpt-([0-9]+)\\..*", "beside": "checkpoint"}}
})json",
    R"json({
  "name": "jestimator",
  "repository": "google-research/jestimator", "commit": "326824a477feef6d92e6f44175000907a72899ca",
  "packages": ["jax>=0.4.16", "flax", "optax", "ml-collections", "tensorflow>=2.10", "sentencepiece",
               "git+https://github.com/google-research/t5x", "git+https://github.com/google/flaxformer"],
  "reads": "write_tfdata",
  "program": ["python3", "{checkout}/jestimator/estimator.py"],
  "flags": {
    "module_imp": "jestimator.models.bert.pretrain",
    "module_config": "{checkout}/jestimator/models/bert/pretrain.py",
    "module_config.model_config.vocab_size": 32000, "module_config.mask_token_id": 4,
    "module_config.opt_config.optimizer": "amos", "module_config.opt_config.learning_rate": 0.005,
    "train_pattern": "{data_set}/text-?????-of-?????", "valid_pattern": "{data_set}/ptb",
    "train_shuffle_buf": 65536, "max_train_steps": "{steps}", "train_batch_size": 256, "valid_batch_size": 512,
    "num_valid_examples": 512, "check_every_steps": 5000, "random_seed": "{seed}", "model_dir": "{run_dir}"},
  "variables": {"PYTHONPATH": "{checkout}"},
  "recognise": {"tensorboard": {"directory": "train", "loss": "train/train_loss"},
                "checkpoint": {"directory": ".", "step": "checkpoint_([0-9]+)"}}
})json",
    R"json({
  "name": "ttt",
  "repository": "wangcongcong123/ttt", "commit": "8d5888a3c26f563f28c996e959a06e351ed58b56",
  "packages": ["tensorflow==2.3.0", "transformers==3.5.1", "datasets", "tensorflow-addons", "torch", "tensorboardX",
               "scikit-learn", "sacrebleu", "tqdm", "keras"],
  "reads": "write_jsonl",
  "program": ["python3", "{checkout}/run.py"],
  "flags": {
    "model_select": "bert-base-uncased", "data_path": "data", "task": "single-label-cls", "max_seq_length": 128,
    "per_device_train_batch_size": 8, "num_epochs_train": "{steps}", "lr": 5e-5, "scheduler": "warmuplinear",
    "log_steps": -1, "seed": "{seed}", "do_train": true, "do_eval": true, "do_test": true, "use_gpu": true},
  "directory": "{run_dir}",
  "fresh": ["tmp", "data"],
  "files": {"data/train.json": "{data_set}/train.json", "data/val.json": "{data_set}/val.json",
            "data/test.json": "{data_set}/test.json"},
  "recognise": {"step": "epoch=([0-9]+), eval_acc"},
  "success": ["tmp/*/best_ck_at_*", "tmp/*/args.json"],
  "ends_early": true
})json",
    R"json({
  "name": "kc-moe",
  "repository": "Quasar-Kim/kc-moe", "commit": "1645d26e01c18ec9866b96bf71681c6fca3f01dc",
  "packages": ["jax==0.4.1", "jaxlib==0.4.1", "flax==0.6.3", "optax==0.1.4", "orbax==0.0.23", "seqio==0.0.13", "t5==0.9.3",
               "tensorflow==2.11.0", "tensorflow-datasets==4.7.0", "python-mecab-ko",
               "git+https://github.com/google-research/t5x@540a659"],
  "reads": "write_tfds",
  "program": ["python3", "-m", "t5x.train"],
  "flags": {
    "gin_file": "config/run/base_pretrain.gin", "gin_search_paths": ["{checkout}", "{checkout}/flaxformer"],
    "tfds_data_dir": "{tfds_dir}", "gin.MODEL_DIR": "{run_dir}", "gin.TRAIN_STEPS": "{steps}",
    "gin.BATCH_SIZE": 256, "gin.NUM_MODEL_PARTITIONS": 2},
  "variables": {"PYTHONPATH": "{checkout}"},
  "recognise": {"tensorboard": {"directory": "train", "loss": "loss"},
                "checkpoint": {"directory": ".", "step": "checkpoint_([0-9]+)"}}
})json",
    R"json({
  "name": "maxtext",
  "repository": "AI-Hypercomputer/maxtext", "commit": "e591f30cbbf217ed67ef71263ec0538239f9c3b8",
  "packages": ["git+https://github.com/AI-Hypercomputer/maxtext@e591f30"],
  "encoding": "example", "agree": {"max_target_length": ["data", "seq_len", 1]},
  "program": ["python3", "-m", "maxtext.trainers.pre_train.train", "{checkout}/src/maxtext/configs/base.yml"],
  "flags": {
    "run_name": "run", "base_output_directory": "{run_dir}", "steps": "{steps}",
    "dataset_type": "grain", "grain_file_type": "tfrecord", "grain_train_files": "{data}/train-*.tfrecord",
    "tokenize_train_data": false, "train_data_columns": ["tokens"], "packing": false, "max_target_length": 2048,
    "tokenizer_type": "sentencepiece", "tokenizer_path": "{data}/tokenizer.model",
    "checkpoint_period": 500, "max_num_checkpoints_to_keep": 1, "enable_checkpointing": true,
    "data_shuffle_seed": "{seed}", "init_weights_seed": "{seed}"},
  "variables": {"PYTHONPATH": "{checkout}/src"},
  "recognise": {"step": "completed step: ([0-9]+), ", "loss": " loss: ([0-9.]+)",
                "checkpoint": {"directory": "run/checkpoints", "step": "([0-9]+)", "commit": "_CHECKPOINT_METADATA"}},
  "success": ["run/checkpoints/*"],
  "first_step": 0
})json",
    R"json({
  "name": "levanter",
  "repository": "stanford-crfm/levanter", "commit": "9263f81e8b453241332c2c0b2d2001bfb2d2241c",
  "packages": ["levanter==1.2.dev1644", "jax==0.7.2", "jaxlib==0.7.2", "chex==0.1.91", "GitPython==3.1.45"],
  "reads": "write_jsonl",
  "program": ["python3", "-m", "levanter.main.train_lm"],
  "flags": {
    "data.train_urls": ["{data_set}/train.json"], "data.validation_urls": ["{data_set}/val.json"],
    "data.cache_dir": "{run_dir}/cache", "trainer.num_train_steps": "{steps}", "trainer.seed": "{seed}",
    "trainer.id": "run", "trainer.tracker": {"type": "json_logger"}, "trainer.log_dir": "{run_dir}/logs",
    "trainer.train_batch_size": 512,
    "trainer.checkpointer.base_path": "{run_dir}/checkpoints",
    "trainer.checkpointer.append_run_id_to_base_path": false,
    "hf_save_path": "{run_dir}/hf", "hf_save_steps": "{steps}"},
  "recognise": {"step": "\"event\": \"log\", \"step\": ([0-9]+)", "loss": "\"train/loss\": ([0-9.e+-]+)",
                "checkpoint": {"directory": "checkpoints", "step": "step-([0-9]+)", "commit": "metadata.json"}},
  "success": ["hf/*"],
  "first_step": 0
})json",
}};

const Json::Array& Parsed() {
  static const Json::Array presets = [] {
    Json::Array all;
    for (const std::string_view text : kPresets)
      if (Result<Json> parsed = Json::Parse(text); parsed.ok()) all.push_back(std::move(*parsed));
    return all;
  }();
  return presets;
}

}  // namespace

const Json& PresetNamed(std::string_view name) {
  static const Json none;
  for (const Json& preset : Parsed())
    if (preset["name"].AsString() == name) return preset;
  return none;
}

std::vector<std::string_view> PresetNames() {
  std::vector<std::string_view> names;
  for (const Json& preset : Parsed()) names.push_back(preset["name"].AsString());
  return names;
}

}  // namespace pipeline
