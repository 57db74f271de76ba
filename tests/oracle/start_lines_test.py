#!/usr/bin/env python3
"""The commands in the heads of pipelines/, parsed by the libraries that their trainers use (absl, ml_collections,
argparse), with the flags that each trainer defines at the commit named here.

    start_lines_test.py
"""

import argparse
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipelines"))

import yaml_vars  # noqa: E402
from absl import flags  # noqa: E402
from ml_collections import ConfigDict  # noqa: E402
from ml_collections.config_dict import config_dict  # noqa: E402
from ml_collections.config_flags import config_flags  # noqa: E402
from program import told  # noqa: E402
from start_lines import PIPELINES, commands  # noqa: E402


def absl_flags(definitions):
    """definitions: {name: default or (kind, default)}."""
    values = flags.FlagValues()
    kinds = {bool: flags.DEFINE_bool, int: flags.DEFINE_integer, float: flags.DEFINE_float, str: flags.DEFINE_string,
             list: flags.DEFINE_list}
    for name, default in definitions.items():
        kind, default = default if isinstance(default, tuple) else (type(default), default)
        kinds[kind](name, default, name, flag_values=values)
    return values


def parsed(values, words, config=None, dotted=None):
    """Parses `words`; the fields of `config`, locked, are flags too: --DOTTED.FIELD."""
    if config is not None:
        config_flags.DEFINE_config_dict(dotted, config, flag_values=values, sys_argv=["program", *words])
    left = values(["program", *words])
    if len(left) > 1:
        raise ValueError(f"too many arguments: {left[1:]}")
    return values


# transformer-lm-japanese c1a0fab: transformer_lm/main.py and the fields of its configurations.
LM_CONFIG = {
    "vocab_path": None, "vocab_size": 30000, "max_corpus_chars": 5000000, "spm_train_options": "", "dataset_name": "lm1b",
    "train_split": "train", "eval_dataset_name": "lm1b", "eval_split": "test", "per_device_batch_size": 32,
    "eval_per_device_batch_size": 32, "sampling_temperature": 0.6, "sampling_top_k": 20, "num_train_steps": 500000,
    "num_eval_steps": 2000, "num_predict_steps": -1, "learning_rate": 0.0016, "warmup_steps": 1000, "label_smoothing": 0.0,
    "weight_decay": 0.1, "max_target_length": 128, "max_eval_target_length": 512, "max_predict_length": 50,
    "logits_via_embedding": False, "num_layers": 6, "qkv_dim": 512, "emb_dim": 512, "mlp_dim": 2048, "num_heads": 8,
    "dropout_rate": 0.1, "attention_dropout_rate": 0.1, "save_checkpoints": True, "restore_checkpoints": True,
    "checkpoint_every_steps": 10000, "eval_every_steps": 1000, "use_bfloat16": True, "seed": 0, "prompts": "I love to "}
LM_LENGTHS = {"configs/lm1b_default.py": 128, "configs/japanese_default_v1.py": 128, "configs/japanese_0.1b_v1.py": 256,
              "configs/japanese_1.0b_v1.py": 1024}


def transformer_lm(words, before, pipeline):
    values = flags.FlagValues()
    flags.DEFINE_string("workdir", None, "", flag_values=values)
    files = [word.partition("=")[2] for word in words if word.startswith("--config=")]
    rest = [word for word in words if not word.startswith("--config=")]
    if len(files) != 1 or files[0] not in LM_LENGTHS:
        yield f"--config names {files}, and there are {sorted(LM_LENGTHS)}"
        return
    config = ConfigDict({**LM_CONFIG, "max_target_length": LM_LENGTHS[files[0]]})
    config = parsed(values, rest, config, "config").config
    model = f"{values.workdir}/sentencepiece_model"
    if ["pipe", "cp", "OUT/tokenizer/tokenizer.model", model] not in before:
        yield f"nothing puts the model at {model}, where the trainer looks for it: it would train one of its own"
    if ["export", "TFDS_DATA_DIR=OUT"] not in before:
        yield "TFDS_DATA_DIR is not set: the trainer has no flag for it"
    stage = next(stage for stage in pipeline["stages"].values() if stage["type"] == "write_tfds")
    for key in ("dataset_name", "eval_dataset_name"):
        if config[key] != stage["name"]:
            yield f"{key} is {config[key]}, and the pipeline writes {stage['name']}"
    splits = yaml_vars.splits(pipeline, stage)
    for key in ("train_split", "eval_split"):
        if config[key] not in splits:
            yield f"{key} is {config[key]}, and the data set has {sorted(splits)}"
    limit = yaml_vars.value(pipeline, stage.get("max_tokens", 0))
    if pipeline["name"] != "lm1b" and not 0 < limit <= config.max_target_length:
        yield f"lines have up to {limit or 'any number of'} tokens, and the trainer drops those above {config.max_target_length}"


# google-research/bert eedf571: run_pretraining.py; the numbers set in the guide's notebook.
BERT = {"bert_config_file": (str, None), "input_file": (str, None), "output_dir": (str, None), "init_checkpoint": (str, None),
        "max_seq_length": 128, "max_predictions_per_seq": 20, "do_train": False, "do_eval": False, "train_batch_size": 32,
        "eval_batch_size": 8, "learning_rate": 5e-5, "num_train_steps": 100000, "num_warmup_steps": 10000,
        "save_checkpoints_steps": 1000, "iterations_per_loop": 1000, "max_eval_steps": 100, "use_tpu": False,
        "tpu_name": (str, None), "tpu_zone": (str, None), "gcp_project": (str, None), "master": (str, None),
        "num_tpu_cores": 8}
BERT_GUIDE = {"max_seq_length": 128, "max_predictions_per_seq": 20, "train_batch_size": 128, "learning_rate": 2e-5,
              "num_train_steps": 1000000, "num_warmup_steps": 10, "save_checkpoints_steps": 2500, "iterations_per_loop": 2500}


def bert(words, before, pipeline):
    del before
    values = parsed(absl_flags(BERT), words)
    for name in ("input_file", "bert_config_file", "output_dir"):
        if not values[name].value:
            yield f"--{name} is missing"
    if not (values.do_train or values.do_eval):
        yield "neither --do_train nor --do_eval: ValueError"
    for name, wanted in BERT_GUIDE.items():
        if values[name].value != wanted:
            yield f"--{name} is {values[name].value}, and the guide's is {wanted}"
    for name, key in (("max_seq_length", "seq_len"), ("max_predictions_per_seq", "max_predictions")):
        if values[name].value != pipeline["vars"][key]:
            yield f"--{name} is {values[name].value}, and the examples have {pipeline['vars'][key]}"


# JEstimator 326824a: jestimator/estimator.py; models/bert/pretrain.py and modeling.py.
JESTIMATOR = {"module_imp": (str, None), "model_dir": (str, None), "checkpoint_path": (str, None), "mode": (str, None),
              "dry_run": False, "max_train_steps": (int, None), "random_seed": (int, None), "train_epochs": (int, None),
              "train_pattern": (list, None), "valid_pattern": (list, None), "train_batch_size": 64, "valid_batch_size": 64,
              "num_valid_examples": -1, "train_shuffle_buf": (int, None), "train_consecutive": (int, None),
              "train_load_step": False, "check_every_steps": 1000, "max_ckpt": 10, "max_save": 3,
              "save_every_steps": (int, None), "profiler_port": (int, None), "eval_pattern": (list, None),
              "eval_batch_size": 256, "num_eval_examples": -1, "eval_label": "eval", "check_ckpt_every_secs": 60,
              "save_high": (list, []), "save_low": (list, []), "pred_pattern": (list, None), "pred_batch_size": 256,
              "num_pred_examples": -1, "num_partitions": 1, "model_parallel_submesh": (str, None)}


def jestimator_config():
    return ConfigDict({
        "model_config": {"max_length": 512, "hidden_size": 768, "num_heads": 12, "num_layers": 12, "mlp_act": "gelu",
                         "mlp_size": 3072, "initializer_range": 0.02, "attention_dropout_rate": 0.1,
                         "hidden_dropout_rate": 0.1, "layer_norm_eps": 1e-12, "vocab_size": -1, "num_segments": 1,
                         "num_labels": -1, "num_special_tokens": 0},
        "opt_config": {"optimizer": "adamw", "learning_rate": 1e-4, "warmup_steps": 10000,
                       "linear_decay_to_step": config_dict.placeholder(int), "momentum": 0.9, "beta": 0.999,
                       "weight_decay": 0.01},
        "mask_token_id": config_dict.placeholder(int), "mask_rate": 0.15})


def jestimator(words, before, pipeline):
    del before
    files = [word for word in words if word.startswith("--module_config=")]
    if files != ["--module_config=jestimator/models/bert/pretrain.py"]:
        yield f"its configuration is {files}"
    values = parsed(absl_flags(JESTIMATOR), [word for word in words if word not in files], jestimator_config(), "module_config")
    config = values.module_config
    if values.module_imp != "jestimator.models.bert.pretrain":
        yield f"--module_imp is {values.module_imp}"
    if config.model_config.vocab_size != pipeline["vars"]["vocab_size"]:
        yield f"vocab_size is {config.model_config.vocab_size}, and the tokenizer has {pipeline['vars']['vocab_size']}"
    if config.mask_token_id != 4:
        yield f"mask_token_id is {config.mask_token_id}, and the layout `jestimator` has 4"
    least = values.num_valid_examples * config.model_config.max_length
    if values.valid_batch_size > values.num_valid_examples or pipeline["vars"]["eval_ids"] < least:
        yield f"{pipeline['vars']['eval_ids']} ids are no batch to evaluate on: {least} are"


# ttt 8d5888a: ttt/args.py, run.py.
TTT_MODELS = ("distilbert-base-cased", "bert-base-uncased", "bert-large-uncased", "google/electra-base-discriminator",
              "google/electra-large-discriminator", "albert-base-v2", "roberta-base", "t5-small", "t5-base", "t5-large")
TTT = {"model_select": "t5-small", "data_path": "data/glue/sst2", "dataset_name": "", "task": "t2t",
       "per_device_train_batch_size": 8, "eval_batch_size": 32, "num_epochs_train": 6, "log_steps": 400, "max_seq_length": 128,
       "max_src_length": 128, "max_tgt_length": 20, "source_field_name": "text", "target_field_name": "label", "lr": 0.001,
       "warmup_ratio": 0.1, "patience": 20, "scheduler": "constant", "seed": 122, "eval_on": "acc", "keep_ck_num": 3,
       "ck_index_select": 0, "tpu_address": "x.x.x.x"}


def ttt(words, before, pipeline):
    parser = argparse.ArgumentParser(exit_on_error=False)
    for name, default in TTT.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    for name in ("do_train", "do_eval", "do_test", "use_gpu", "use_tpu", "use_tb", "default_store"):
        parser.add_argument(f"--{name}", action="store_true")
    args, unknown = parser.parse_known_args(words)
    if unknown:
        yield f"it knows no {unknown}"
    is_t5 = args.model_select.startswith("t5")
    if args.model_select not in TTT_MODELS or args.task not in ("single-label-cls", "t2t") or is_t5 != (args.task == "t2t"):
        yield f"it trains no {args.model_select} for {args.task}"
    if args.scheduler not in ("warmuplinear", "warmupconstant", "constantlinear"):
        yield f"--scheduler {args.scheduler}: its callback reads warmup_steps, which that does not set"
    if not (args.use_tpu or args.use_gpu):
        yield "one of --use_gpu and --use_tpu is mandatory"
    if args.task == "t2t":
        if not any(command[:2] == ["sed", "-i"] and command[2:] == ["s/T2TTrainer(args)/T2TTrainer(args, logger)/", "run.py"]
                   for command in before):
            yield "run.py calls T2TTrainer without the logger that it needs: TypeError"
        if args.do_test:
            yield "--do_test looks for best*.h5, which text to text does not write: IndexError"
    folder = args.data_path.removeprefix("OUT/")
    stage = next((stage for stage in pipeline["stages"].values() if stage.get("out") == "${out}/" + folder), None)
    if stage is None:
        yield f"--data_path is {args.data_path}, which no stage writes"
    elif args.task == "t2t" and (args.source_field_name, args.target_field_name) != ("source", "target"):
        yield f"the fields are not {args.source_field_name} and {args.target_field_name}"


# kc-moe 1645d26 and t5x: t5x/train.py; gin's rule that text is in quotes. Its files, and the macros that they leave
# open.
T5X = {"gin_search_paths": (list, ["."]), "tfds_data_dir": (str, None), "seqio_additional_cache_dirs": (list, []),
       "multiprocess_gpu": False, "coordinator_address": (str, None), "process_count": (int, None), "process_index": (int, None)}
KC_MOE_FILES = ("config/run/base_pretrain.gin", "config/run/base_nsmc.gin", "config/run/base_eval.gin")
GIN_MACROS = ("MODEL_DIR", "INITIAL_CHECKPOINT_PATH", "TRAIN_STEPS", "BATCH_SIZE", "NUM_MODEL_PARTITIONS", "MIXTURE_OR_TASK_NAME")


def t5x(words, before, pipeline):
    bindings = [word for word in words if word.startswith("--gin.")]
    values = absl_flags(T5X)
    flags.DEFINE_multi_string("gin_file", None, "", flag_values=values)
    parsed(values, [word for word in words if word not in bindings])
    for file in values.gin_file or ["none"]:
        if file not in KC_MOE_FILES:
            yield f"--gin_file is {file}, and there are {KC_MOE_FILES}"
    for binding in bindings:
        name, _, text = binding.removeprefix("--gin.").partition("=")
        if name not in GIN_MACROS:
            yield f"--gin.{name} binds nothing that its files ask for"
        if not re.fullmatch(r'"[^"]*"|[0-9_]+', text):
            yield f"--gin.{name}={text}: text has quotes that reach Python"
    if values.gin_search_paths != ["./flaxformer"]:
        yield "its models lie in ./flaxformer"
    if values.tfds_data_dir != "OUT":
        yield "--tfds_data_dir does not name what the pipeline writes; the trainer's own bucket would be read"
    copied = {command[2]: command[3] for command in before if command[:2] == ["pipe", "cp"]}
    if pipeline["name"] == "kc_moe" and {Path(to).name for to in copied.values()} != {
            "morpheme_aware_unigram_32k.model", "morpheme_aware_unigram_32k.100extra.model"}:
        yield f"the two models do not get the names by which tasks.py and the gin file look for them: {copied}"


TRAINERS = {"main.py": transformer_lm, "run_pretraining.py": bert, "jestimator/estimator.py": jestimator, "run.py": ttt,
            "t5x.train": t5x}
NOT_OF_A_SEED = {"quickstart", "nsmc", "maxtext"}  # train in the stage `train`; is configured, not started, by its head


def mistakes(name, lines, pipeline):
    found, before = [], []
    for command in lines:
        if command[0] not in ("python", "python3"):
            before.append(command)
            continue
        at = 2 if command[1] == "-m" else 1
        if command[at] not in TRAINERS:
            found.append(f"{name}: {command[at]} is no trainer of a seed")
            continue
        try:
            problems = list(TRAINERS[command[at]](command[at + 1:], before, pipeline))
        except (flags.Error, ValueError, TypeError, AttributeError, KeyError, argparse.ArgumentError) as error:
            problems = [f"{type(error).__name__}: {error}"]
        found += [f"{name}: {command[at]}: {problem}" for problem in problems]
    if name not in NOT_OF_A_SEED and not any(command[0].startswith("python") for command in lines):
        found.append(f"{name}: its head does not say how its trainer is started")
    return found


# Commands that were in a head once, and could not work.
BROKEN = {
    "wiki40b_ja": ("python3 main.py --workdir=gs://B/RUN --config=configs/japanese_0.1b_v1.py --config.dataset_name=wiki40b_ja "
                   "--config.train_split=train --config.eval_dataset_name=wiki40b_ja --config.eval_split=validation "
                   "--config.vocab_path=OUT/tokenizer/tokenizer.model", "not supported for overriding"),
    "lm1b": ("python3 main.py --workdir=gs://B/RUN --config=configs/lm1b.py", "--config names"),
    "bert_ja": ("python run_pretraining.py --input_file=a --output_dir=b --bert_config_file=c --do_train=True "
                "--train_batch_size=128 --num_train_steps=1000000", "--num_warmup_steps is 10000"),
    "ttt_tweets": ("python3 run.py --model_select t5-small --data_path OUT/text_to_text --task t2t --source_field_name source "
                   "--target_field_name target --scheduler warmuplinear --use_tpu", "TypeError"),
    "kc_moe": ("python -m t5x.train --gin_file=config/run/base_pretrain.gin --gin.MODEL_DIR=gs://B/m "
               "--gin_search_paths=./flaxformer --tfds_data_dir=OUT", "text has quotes"),
    "jestimator_bert": ("python3 jestimator/estimator.py --module_imp=jestimator.models.bert.pretrain "
                        "--module_config=jestimator/models/bert/pretrain.py --module_config.mask_id=4", "mask_id"),
}


def main():
    problems, count = [], 0
    for file in sorted(PIPELINES.glob("*.yaml")):
        lines = commands(file.stem)
        count += len(lines)
        problems += mistakes(file.stem, lines, yaml_vars.load(file))
    for name, (line, wanted) in BROKEN.items():
        found = mistakes(name, [line.split()], yaml_vars.load(PIPELINES / f"{name}.yaml"))
        if not any(wanted in problem for problem in found):
            problems.append(f"{name}: a broken line passes for want of '{wanted}': {found}")
    return told(problems, f"{count} commands as their trainers take them")


if __name__ == "__main__":
    sys.exit(main())
