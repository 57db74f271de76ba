"""Writes the curves of a run for TensorBoard, from its events."""

from ..objectives.registry import BESIDE, METRICS
from . import tensorboard

SCALARS = {"step": ("loss", "grad_norm", "lr", "tokens_per_s", "mfu", "balance", "router_z", "dropped"),
           "eval": ("loss", "ppl", "bits_per_byte", "bits_per_char", *METRICS, *BESIDE)}
MOST_PROMPT = 60  # characters in a name
FOLDERS = {"step": "train", "eval": "evaluation"}


class Board:
    """Listens to Events. If its file cannot be written (disk full), the run continues without curves. `first_step`: as
    in tensorboard.Writer."""

    def __init__(self, directory, first_step, warn):
        self._warn, self._writer = warn, None
        self._tags = {}  # of the samples, by their prompts
        try:
            self._writer = tensorboard.Writer(directory, first_step)
        except OSError as error:
            self._give_up(error)

    def __call__(self, event):
        if self._writer is None:
            return
        try:
            if event["kind"] == "rewind":
                self._writer.start(event["to"] + 1)
            if event["kind"] == "sample":  # the page shows Markdown, in which four spaces keep a line as it is
                lines = (event["prompt"] + event["text"]).splitlines()
                self._writer.text(self._tag(event["prompt"]), event["step"], "\n".join(f"    {line}" for line in lines))
            for name in SCALARS.get(event["kind"], ()):
                if event.get(name) is not None:
                    self._writer.scalar(f"{FOLDERS[event['kind']]}/{name}", event["step"], event[name])
        except OSError as error:
            self._give_up(error)

    def _tag(self, prompt):
        """Prompts with one beginning get numbers."""
        if prompt not in self._tags:
            tag = f"samples/{prompt[:MOST_PROMPT]}"
            same = sum(other.startswith(tag) for other in self._tags.values())
            self._tags[prompt] = f"{tag} ({same + 1})" if same else tag
        return self._tags[prompt]

    def _give_up(self, error):
        self._writer = None
        self._warn(f"tensorboard: {error.filename or 'its file'}: {error.strerror}; there are no more curves")
