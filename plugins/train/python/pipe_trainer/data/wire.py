"""Fields and numbers of protocol buffers, as far as the examples of this project use them: tf.train.Example in
formats/tf_example.md."""

import numpy as np

LONGEST_NUMBER = 5  # bytes of a varint


def field(data, tag):
    """Returns (contents of the first field, what follows it) if it has this tag and is whole; else None."""
    if not data or data[0] != tag:
        return None
    size = 0
    for place, byte in enumerate(data[1:1 + LONGEST_NUMBER]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            begin = place + 2
            return (data[begin:begin + size], data[begin + size:]) if size <= len(data) - begin else None
    return None


def only(data, tag):
    """Returns the contents of a field with this tag, if it is all of `data`; else None."""
    found = field(data, tag)
    return found[0] if found and not found[1] else None


def varints(numbers):
    """Decodes all varints. Those of more than 5 bytes become larger than any id."""
    ends = np.flatnonzero(numbers < 0x80)
    begins = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    sizes = ends - begins + 1
    values = np.zeros(len(ends), np.int64)
    for place in range(min(int(sizes.max(initial=0)), LONGEST_NUMBER)):
        held = sizes > place
        values[held] |= (numbers[begins[held] + place].astype(np.int64) & 0x7F) << 7 * place
    values[sizes > LONGEST_NUMBER] = 1 << 40
    return values
