"""Ids and text that a model writes behind a beginning, and those of a run: at each evaluation the model continues the
prompts of the job."""

import jax
import jax.numpy as jnp
import numpy as np

from ..data.text import Text, rules_of
from .decoding import go_on


def generate(params, config, ids, length, temperature=0.8, top_p=0.95, seed=0, stop=-1, compute=None,
             cached=None, pieces=None):
    """Returns up to `length` ids that follow `ids`. The last one is `stop`, if it occurs; -1: nothing stops. `pieces`:
    ids from this number on have no piece and are never drawn; None: all have one.

    A document may be longer than a row. If a row is full, its last half begins the next one, as a row of the training
    may begin inside a document. `cached` False: computes every id from all ids before it."""
    if not ids:
        raise ValueError("generation begins with at least one id: that of eos begins a document")
    cached = config.family == "llama" if cached is None else cached
    row, made = max(config.seq_len, 2), []
    while len(made) < length:
        known = [*ids, *made]
        known = known[-read_of(config, len(known)):]
        until = min(row, len(known) + length - len(made))
        padded = np.zeros(row, np.int32)
        padded[:len(known)] = known
        key = jax.random.fold_in(jax.random.key(seed), len(ids) + len(made) - len(known))
        numbers = [np.int32(number) for number in (len(known), until, stop, pieces or config.vocab)]
        out, end = go_on(params, padded, *numbers, np.float32(temperature), np.float32(top_p), key,
                         config=config, compute=compute or jnp.float32, cached=cached)
        made += np.asarray(out)[len(known):int(end)].tolist()
        if made[-1] == stop:
            break
    return made


def read_of(config, count):
    """Returns how many of the last ids of a beginning of `count` ids are read for the next id."""
    row = max(config.seq_len, 2)
    return count if count < row else row // 2


def continuation(params, config, text, prompt, length, **choices):
    """Returns the text that the model writes behind `prompt`, up to the end of the document."""
    stop = text.eos if text.newline >= 0 else -1  # without a newline id eos ends every line, not only a document
    made = generate(params, config, text.prompt_ids(prompt), length, stop=stop, pieces=text.pieces, **choices)
    return text.text_of(made[:-1] if made and made[-1] == stop else made)


class Samples:
    """`fit`: whether a device has room for them. `latest`: the newest samples."""

    def __init__(self, setup, events, fit):
        self._job, self._config, self._events, self._fit = setup.job, setup.config, events, fit
        self._compute = setup.compute
        self._text = (Text(setup.rows.model_path, setup.rows.tokenizer, rules_of(setup.job.lineage) or ())
                      if self._job.prompts else None)
        self.latest = []

    @property
    def number(self):
        return len(self._job.prompts) if self._fit and self._config.eval.sample_tokens else 0

    def __call__(self, whole, told=0):
        """`told`: the samples of this step that an earlier attempt has told."""
        self.latest = self.written(whole)
        for sample in self.latest[told:]:
            self._events.emit("sample", **sample)

    def written(self, whole):
        """Returns samples, on the first process. `whole()` returns the parameters; all processes call it together."""
        params, wanted = whole() if self._fit else None, self._config.eval
        if params is None or jax.process_index():
            return []
        return [
            {"prompt": prompt, "text": continuation(
                params, self._config.model, self._text, prompt, wanted.sample_tokens, temperature=wanted.temperature,
                top_p=wanted.top_p, seed=self._job.seed, compute=self._compute)}
            for prompt in self._job.prompts if wanted.sample_tokens]
