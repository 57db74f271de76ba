"""Two recipes with the same location: finds the one that published there."""

from pipe_run import differences, fail

RECIPES = ("one", "two")


def winner(what, alone, runs):
    """The recipe whose artifact is at the location of `runs`, complete and alone. `alone`: the files that each recipe
    publishes alone."""
    published = runs[0].published()
    for recipe in RECIPES:
        if published == alone[recipe]:
            return recipe
    for recipe in RECIPES:
        print(f"against {recipe}:", *differences(alone[recipe], published)[:12], sep="\n  ")
    for run in runs:
        print(f"--- {run.file.parent.name}\n{run.messages()[-1500:]}")
    return fail(f"{what}: what lies there is of neither recipe")
