#!/usr/bin/env python3
"""Compares plugins/train/external/flags with the sources of the programs, which it parses and never runs.

    preset_sources.py NAME=CHECKOUT...      the directory of a repository, at the commit that the table names
    preset_sources.py --print NAME=CHECKOUT the lines of the table that the sources give

A CHECKOUT may be a bare repository. Needs PyYAML for tables of `yaml` sources. Exit code 1: a difference.
"""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
FLAGS = ROOT / "plugins/train/external/flags"
PRESETS = ROOT / "plugins/train/external/presets.cc"

ABSL = {"string": "text", "integer": "int", "float": "float", "bool": "bool", "boolean": "bool", "list": "list",
        "multi_string": "list", "config_file": "text"}
PYTHON = {"str": "text", "int": "int", "float": "float", "bool": "bool"}
UNKNOWN = object()  # a default that is no literal


def literal(node):
    """The value of an expression of literals and arithmetic; UNKNOWN: it is another one."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        pass
    numbers = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)
    if all(isinstance(part, numbers) for part in ast.walk(node)):
        return eval(compile(ast.Expression(node), "", "eval"))  # only arithmetic of constants: pylint: disable=eval-used
    return UNKNOWN


def type_of(value):
    return {bool: "bool", int: "int", float: "float", str: "text", list: "list", tuple: "list"}.get(type(value), "any")


def absl(tree, _):
    found = {}
    for call in ast.walk(tree):
        name = getattr(call.func, "attr", "") if isinstance(call, ast.Call) else ""
        if name in ("mark_flag_as_required", "mark_flags_as_required"):
            continue
        kind = name.removeprefix("DEFINE_")
        if kind == name:
            continue
        given = dict(zip(("name", "default", "choices" if kind == "enum" else "help"), call.args))
        given.update({word.arg: word.value for word in call.keywords})
        of = "choice:" + "|".join(literal(given["choices"])) if kind == "enum" else ABSL[kind]
        found[literal(given["name"])] = (of, literal(given["default"]) if "default" in given else None)
    return found


def argparse(tree, _):
    found = {}
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "add_argument"):
            continue
        words = {word.arg: word.value for word in call.keywords}
        name = literal(call.args[0]).removeprefix("--")
        if "action" in words and literal(words["action"]) == "store_true":
            found[name] = ("switch", False)
        else:
            found[name] = (PYTHON[words["type"].id], literal(words["default"]) if "default" in words else None)
    return found


def config(tree, prefixes):
    """Assignments `NAME.field = VALUE`, of a ConfigDict; a field that is None cannot be set from outside."""
    found = {}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)):
            continue
        target = node.targets[0]
        owner = getattr(target.value, "id", None)
        if owner not in prefixes or isinstance(node.value, ast.Name):
            continue
        if isinstance(node.value, ast.Call):  # config_dict.placeholder(TYPE)
            kind, value = PYTHON[node.value.args[0].id], None
        else:
            value = literal(node.value)
            kind = "fixed" if value is None else type_of(value)
        found[prefixes[owner] + target.attr] = (kind, value)
    return found


def dataclass(tree, prefixes):
    found = {}
    for owner in ast.walk(tree):
        if not (isinstance(owner, ast.ClassDef) and owner.name in prefixes):
            continue
        for node in owner.body:
            if not isinstance(node, ast.AnnAssign):
                continue
            words = ast.unparse(node.annotation).replace(" | None", "")
            words = re.sub(r"^Optional\[(.*)\]$", r"\1", words)
            kind = "list" if re.match(r"list\[str\]|List\[str\]", words) else PYTHON.get(words, "any")
            default = node.value
            if isinstance(default, ast.Call) and getattr(default.func, "id", "") == "Field" and default.args:
                default = default.args[0]
            value = UNKNOWN if default is None else literal(default)
            found[prefixes[owner.name] + node.target.id] = (kind, value)
    return found


def pydantic(tree, prefixes):
    """The fields of these classes and of those that they inherit from."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    found, left = {}, [(name, prefix) for name, prefix in prefixes.items()]
    for name, prefix in left:
        left += [(base.id, prefix) for base in classes[name].bases if getattr(base, "id", None) in classes]
        for flag, (kind, value) in dataclass(ast.Module([classes[name]], []), {name: prefix}).items():
            found.setdefault(flag, (kind, value))
    return found


def with_yaml(found, text):
    """`found` with the defaults of a YAML file, which the program reads first."""
    import yaml  # pylint: disable=import-outside-toplevel
    for name, value in yaml.safe_load(text).items():
        value = None if value == "None" else value
        found[name] = (found[name][0] if name in found else "any", value)


READERS = {"absl": absl, "argparse": argparse, "config": config, "dataclass": dataclass, "pydantic": pydantic}


def text_of(checkout, commit, name):
    if (Path(checkout) / "HEAD").exists():
        return subprocess.run(["git", "-C", checkout, "show", f"{commit}:{name}"], check=True, capture_output=True,
                              text=True).stdout
    head = subprocess.run(["git", "-C", checkout, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    if head.strip() != commit:
        raise SystemExit(f"{checkout}: is at {head.strip()}, and the table is of {commit}")
    return (Path(checkout) / name).read_text(encoding="utf-8")


class Table:
    """The file of flags of one program; flags after a source `by_hand` are not compared."""

    def __init__(self, text):
        self.sources, self.flags, self.required, self.by_hand = [], {}, set(), []
        for line in text.splitlines():
            if line.startswith("source "):
                name, kind, *prefixes = line.split()[1:]
                if kind == "by_hand":
                    self.by_hand.append(name)
                else:
                    self.sources.append((name, kind, dict(word.split("=", 1) for word in prefixes)))
            elif line and not line.startswith(("form ", "#")):
                words, _, default = line.partition(" = ")
                name, kind, *required = words.split()
                if not self.by_hand:
                    self.flags[name] = (kind, json.loads(default) if default else None)
                self.required |= {name} if required == ["required"] else set()


def tables():
    return {file.stem: Table(file.read_text(encoding="utf-8")) for file in FLAGS.glob("*.flags")}


def presets():
    text = PRESETS.read_text(encoding="utf-8")
    parsed = [json.loads(body) for body in re.findall(r'R"json\((.*?)\)json"', text, re.DOTALL)]
    return {preset["name"]: preset for preset in parsed}


def defined(table, checkout, commit):
    """{flag: (type, default)} in the sources."""
    found = {}
    for name, kind, prefixes in table.sources:
        text = text_of(checkout, commit, name)
        if kind == "yaml":
            with_yaml(found, text)
        else:
            found.update(READERS[kind](ast.parse(text), prefixes))
    return found


def shown(value):
    """The default as the table has it; None: there is none, it is no literal, or it is too long for a line."""
    value = None if value is UNKNOWN else list(value) if isinstance(value, tuple) else value
    return None if len(json.dumps(value, ensure_ascii=False)) > 80 else value


def differences(table, found):
    for name, (kind, default) in found.items():
        if name not in table.flags:
            yield f"{name}: is missing in the table"
            continue
        if table.flags[name][0] != kind:
            yield f"{name}: is {kind}, and the table says {table.flags[name][0]}"
        if table.flags[name][1] != shown(default):
            yield f"{name}: its default is {shown(default)!r}, and the table says {table.flags[name][1]!r}"
    for name in table.flags:
        if name not in found:
            yield f"{name}: the sources have no such flag"


def main(words):
    printed = words[:1] == ["--print"]
    known, bad = tables(), 0
    for word in words[printed:]:
        name, _, checkout = word.partition("=")
        preset = presets()[name]
        if known[name].by_hand:
            print(f"{name}: not compared with {', '.join(known[name].by_hand)}")
        if not known[name].sources:
            continue
        found = defined(known[name], checkout, preset["commit"])
        if printed:
            for flag, (kind, default) in found.items():
                value = shown(default)
                print(f"{flag} {kind}" + ("" if value is None else f" = {json.dumps(value, ensure_ascii=False)}"))
            continue
        problems = list(differences(known[name], found))
        bad += len(problems)
        for problem in problems:
            print(f"{name}: {problem}")
        print(f"{name}: {len(found)} flags of {preset['repository']} at {preset['commit'][:7]}, {len(problems)} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1:]))
