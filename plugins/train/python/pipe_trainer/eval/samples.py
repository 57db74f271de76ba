"""Writes samples: at each evaluation the model continues the prompts of the job."""

from ..data.text import Text, form_of
from .generation import continuation


class Samples:
    """`model_path`: the file tokenizer.model. `latest`: the newest samples."""

    def __init__(self, setup, model_path, events):
        self._job, self._config, self._events = setup.job, setup.config, events
        self._compute = setup.compute
        self._text = Text(model_path, setup.rows.tokenizer, form_of(setup.job.lineage)) if self._job.prompts else None
        self.latest = []

    def __call__(self, params):
        self.latest = self.written(params)
        for sample in self.latest:
            self._events.emit("sample", **sample)

    def written(self, params):
        wanted = self._config.eval
        return [
            {"prompt": prompt, "text": continuation(
                params, self._config.model, self._text, prompt, wanted.sample_tokens, temperature=wanted.temperature,
                top_p=wanted.top_p, seed=self._job.seed, compute=self._compute)}
            for prompt in self._job.prompts if wanted.sample_tokens]
