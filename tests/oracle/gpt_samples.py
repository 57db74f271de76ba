"""The samples that Megatron-LM's GPTDataset takes from documents, in NumPy. Written from its source at d98e8a6
(megatron/core/datasets/gpt_dataset.py and helpers.cpp), for the defaults of its configuration."""

import numpy as np


class GptSamples:
    """`documents[number]` are the ids of a document; `lengths` the numbers of their ids. `samples`: as many are asked
    for; None: one epoch. The samples are more if the last epoch has more."""

    def __init__(self, documents, lengths, seq_length, samples, seed):
        self.documents, self.seq_length = documents, seq_length
        state, epoch = np.random.RandomState(seed), int(np.sum(lengths, dtype=np.int64))
        epochs = 1 if samples is None else max(1, -(-(samples * seq_length + 1) // epoch))
        count, count_before = ((times * epoch - 1) // seq_length for times in (epochs, epochs - 1))
        # A last epoch of which few samples are wanted is shuffled apart.
        apart = epochs > 1 and samples - count_before < int(0.8 * ((epoch - 1) // seq_length))
        self.order = self.shuffled(state, [np.tile(np.arange(len(lengths)), times)
                                           for times in ((epochs - 1, 1) if apart else (epochs,))])
        self.ends = np.cumsum(np.asarray(lengths, np.int64)[self.order])
        self.shuffle = self.shuffled(state, [np.arange(count_before), np.arange(count_before, count)]
                                     if apart else [np.arange(count)])

    @staticmethod
    def shuffled(state, parts):
        for part in parts:
            state.shuffle(part)
        return np.concatenate(parts)

    def __len__(self):
        return len(self.shuffle)

    def __getitem__(self, at):
        """The ids of the sample: `seq_length` + 1 from the joined documents, the last of which the next one has too."""
        begin, parts = int(self.shuffle[at]) * self.seq_length, []
        left, number = self.seq_length + 1, int(np.searchsorted(self.ends, begin, side="right"))
        while left > 0:
            document = self.documents[self.order[number]]
            inside = begin - (int(self.ends[number]) - len(document))
            parts.append(np.asarray(document[inside:inside + left], np.int64))
            begin, left, number = begin + len(parts[-1]), left - len(parts[-1]), number + 1
        return np.concatenate(parts)
