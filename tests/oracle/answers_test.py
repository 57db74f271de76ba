#!/usr/bin/env python3
"""Other programs answer with the export of a training as `pipe sample` does: lm-eval's task finds each of the first 20
ids the likeliest, and llama-cpp-python writes the same text.

    answers_test.py PIPE ENVIRONMENT
"""

import json
import os
import subprocess
import sys
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

import llama_cpp  # noqa: E402
import lm_eval  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "cli"), str(TESTS / "trainer")]

import bucket_training as shared  # noqa: E402
import replan_support as support  # noqa: E402

PROMPTS = ("吾輩は", "名前はまだ", "第1", "")
IDS = 20
TASK = """\
task: answers
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS}}
test_split: test
output_type: loglikelihood
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
target_delimiter: ""
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
"""


def check(good, what):
    if not good:
        raise SystemExit(f"answers_test.py: {what}")


def trained(place, environment):
    train = shared.pipeline(place, place.out, environment)
    train.update(steps=150, eval_every=150, checkpoint_every=150, log_every=50,
                 config={"preset": "tiny", "schedule": {"name": "const"}, "export": {"gguf": "both"}})
    place.ok(timeout=180)
    (run,) = (place.out / "runs").iterdir()
    return run


def answers(place, run, environment):
    """{prompt: the text behind it}."""
    found = {}
    for prompt in PROMPTS:
        words = [support.PIPE, "sample", run, "--prompt", prompt, "--length", IDS, "--temperature", 0, "--environment",
                 environment]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=place.root, check=False)
        check(done.returncode == 0 and done.stdout.startswith(prompt), f"{done.stdout}{done.stderr}")
        found[prompt] = done.stdout[len(prompt):].removesuffix("\n")
    return found


def by_lm_eval(place, export, found):
    """Returns, for each prompt, whether its answer is the likeliest."""
    (place.root / "rows.jsonl").write_text("".join(json.dumps({"question": prompt, "answer": text}) + "\n"
                                                   for prompt, text in found.items()), encoding="utf-8")
    tasks = place.root / "tasks"
    tasks.mkdir(exist_ok=True)
    (tasks / "answers.yaml").write_text(TASK.replace("ROWS", str(place.root / "rows.jsonl")), encoding="utf-8")
    told = lm_eval.simple_evaluate(model="hf", model_args=f"pretrained={export},dtype=float32", tasks=["answers"],
                                   task_manager=TaskManager(include_path=str(tasks)), device="cpu", batch_size=1,
                                   log_samples=True, bootstrap_iters=0)
    samples = {sample["doc"]["question"]: sample["resps"][0][0][1] for sample in told["samples"]["answers"]}
    check(told["results"]["answers"]["acc,none"] == sum(samples.values()) / len(samples), told["results"])
    return samples


def by_llama_cpp(file, prompt):
    model = llama_cpp.Llama(str(file), n_ctx=32, n_threads=1, verbose=False)
    return model.create_completion(prompt, max_tokens=IDS, temperature=0.0)["choices"][0]["text"]


def main():
    pipe, environment = (Path(word).absolute() for word in sys.argv[1:3])
    support.PIPE = str(pipe)
    with support.Sandbox() as place:
        export = trained(place, environment) / "export"
        found = answers(place, export.parent, environment)
        tokenizer = AutoTokenizer.from_pretrained(export)
        sizes = [len(tokenizer(prompt + text)["input_ids"]) - len(tokenizer(prompt)["input_ids"])
                 for prompt, text in found.items()]
        check(len(set(found.values())) == len(PROMPTS) and max(sizes) == IDS and min(sizes) >= IDS - 1, (sizes, found))
        judged = by_lm_eval(place, export, found)
        check(judged == dict.fromkeys(PROMPTS, True), (judged, found))
        wrong = {prompt: text[:-1] + "猫" for prompt, text in found.items()}
        judged = by_lm_eval(place, export, wrong)
        check(judged == dict.fromkeys(PROMPTS, False), (judged, wrong))
        for kind in ("f16", "q8_0"):
            for prompt in filter(None, PROMPTS):  # the library gives an empty one an id less
                text = by_llama_cpp(export / f"model-{kind}.gguf", prompt)
                check(text == found[prompt], f"{kind}: {prompt}: {text!r} instead of {found[prompt]!r}")
    print(f"{len(PROMPTS)} answers of {IDS} ids are those of lm-eval and of llama-cpp-python: {found}")


if __name__ == "__main__":
    main()
