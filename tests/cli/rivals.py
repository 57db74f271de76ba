"""Two recipes that want one place, and which of them published there."""

from pipe_run import differences, fail

RECIPES = ("one", "two")


def winner(what, alone, runs):
    """The recipe whose artifact lies at the place of `runs`, all of it and nothing else. `alone`: what each publishes alone."""
    published = runs[0].published()
    for recipe in RECIPES:
        if published == alone[recipe]:
            return recipe
    for recipe in RECIPES:
        print(f"against {recipe}:", *differences(alone[recipe], published)[:12], sep="\n  ")
    for run in runs:
        print(f"--- {run.file.parent.name}\n{run.messages()[-1500:]}")
    return fail(f"{what}: what lies there is of neither recipe")
