"""The price of leaner weights: the loss on the validation rows with the weights of each file."""

from . import export, gguf, leaner

WORDS = {"float32": "float32", "int8": "8 bits, a scale for each output", "f16": "float16",
         "q8_0": "8 bits, a scale for 32 weights"}


def measured(params, config, wanted, trained, score, warn):
    """Returns (the parameters that are exported, a row for each file with its scores, {file: type} of the files beside
    model.safetensors).

    `wanted`: config.Export; `trained`: the scores of `params`; `score(params)` gives those of others. A file whose type
    cannot hold a weight is left out, and `warn` is told."""
    form, whole = export.FORMS[config.family], "model.safetensors"
    tensors = list(form.tensors_of(params, config))
    rows = [row(None if wanted.prune else whole, WORDS["float32"], trained)]
    if wanted.prune:
        tensors = leaner.pruned(tensors, wanted.prune)
        params = form.parameters_of(leaner.as_read(tensors, "float32"), config)
        said = f"{WORDS['float32']}, {leaner.zeros(tensors):.2%} of the matrices of the layers are 0"
        rows.append(row(whole, said, score(params)))
    files = {}
    for file, kind in leaner.files_of(wanted).items():
        try:
            values = leaner.as_read(tensors, kind)
        except gguf.Beyond as error:
            warn(f"export: {file} is left out: {error}")
            continue
        files[file] = kind
        rows.append(row(file, WORDS[kind], score(form.parameters_of(values, config))))
    return params, rows, files


def row(file, weights, scores):
    """`file` None: these weights are in no file."""
    return {"file": file, "weights": weights, **{key: value for key, value in scores.items() if key != "step"}}
