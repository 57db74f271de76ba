#!/usr/bin/env python3
"""A small Llama trained by Hugging Face's Trainer on packed rows: a program for `trainer: external`.

    hf_trainer.py --data DIR --out DIR --steps N --seed N

Checkpoints are those of the Trainer, in checkpoints/ below the other DIR: the last file of each is trainer_state.json.
The end is model/, and losses.json with the loss of the rows that are held out.
"""

import argparse
import json
import os
import sys
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "plugins/train/external"))

import torch  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from torch_lm import NO_TARGET, Rows  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments  # noqa: E402

SAVE_EVERY = 10


class Examples(torch.utils.data.Dataset):
    def __init__(self, directory, split):
        self.rows = torch.from_numpy(Rows(directory, split).ids)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return {"input_ids": self.rows[at].clamp(min=0), "labels": self.rows[at],
                "attention_mask": (self.rows[at] != NO_TARGET).long()}


class Lines(TrainerCallback):
    """A line for each step, because those of the Trainer have no number."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        if logs and "loss" in logs:
            print(f"step {state.global_step} loss {logs['loss']}")


def newest(place):
    """Returns the newest checkpoint whose last file is whole, and its step; (None, 0): there is none."""
    for path in sorted(place.glob("checkpoint-*"), key=lambda path: -int(path.name.split("-")[1])):
        try:
            return path, json.loads((path / "trainer_state.json").read_text())["global_step"]
        except (OSError, ValueError):
            pass
    return None, 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    vocabulary = json.loads((options.data / "packed.json").read_text())["tokenizer"]["vocab_size"]
    torch.manual_seed(options.seed)
    torch.use_deterministic_algorithms(True)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                         num_attention_heads=2, max_position_embeddings=64))
    arguments = TrainingArguments(
        output_dir=str(options.out / "checkpoints"), max_steps=options.steps, per_device_train_batch_size=16,
        learning_rate=3e-3, logging_steps=1, save_steps=SAVE_EVERY, save_total_limit=2, seed=options.seed, use_cpu=True,
        report_to=[], disable_tqdm=True, save_safetensors=True)
    trainer = Trainer(model, arguments, train_dataset=Examples(options.data, "train"),
                      eval_dataset=Examples(options.data, "validation"), callbacks=[Lines()])
    place, steps = newest(options.out / "checkpoints")
    print(f"continues from {place}", flush=True)
    if steps < options.steps:
        trainer.train(resume_from_checkpoint=place and str(place))
        steps = trainer.state.global_step
    else:  # after its last step a Trainer that continues takes one more
        model.load_state_dict(load_file(place / "model.safetensors"))
    trainer.save_model(str(options.out / "model"))
    losses = {"steps": steps, "validation_loss": trainer.evaluate()["eval_loss"]}
    (options.out / "losses.json").write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
