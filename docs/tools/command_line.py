"""The reference of the command line, from its parser."""

from __future__ import annotations

import argparse
import inspect
import re
from pathlib import Path

from relbounds.api import relbounds
from relbounds.cli.parser import make_parser
from relbounds.options import Options


def write(path: Path) -> None:
    """Write one page with every command and every flag."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parser = make_parser()
    lines = ["# Command line", "", str(parser.description), "", *_usage(parser)]
    actions = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    helps = {choice.dest: choice.help for choice in actions[0]._choices_actions}
    for name, command in actions[0].choices.items():
        lines += [f"## relbounds {name}", "", f"{_sentence(helps[name])}", "", *_usage(command)]
        for group in command._action_groups:
            shown = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
            shown = [action for action in shown if not isinstance(action, argparse._HelpAction)]
            if shown:
                title = {"positional arguments": "Arguments", "options": "Flags"}.get(
                    str(group.title), str(group.title)
                )
                lines += [
                    f"### {title[0].upper()}{title[1:]}",
                    "",
                    *[line for action in shown for line in _flag(action)],
                ]
    lines += [
        "A flag that is left out has the default of the option of the same name of "
        "{py:func}`relbounds.relbounds`. The [guide to the command line](../guides/command-line.md) shows it at work.",
        "",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")


def flags() -> list[str]:
    """Return every flag of every command."""
    parser = make_parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices.values()
    found = {flag for command in commands for action in command._actions for flag in action.option_strings}
    return sorted(found - {"-h", "--help"})


def _usage(parser: argparse.ArgumentParser) -> list[str]:
    text = re.sub(r"\s+", " ", parser.format_usage().removeprefix("usage: ")).strip()
    if len(text) > 160:  # the groups below list every flag
        text = re.sub(r"(?: \[[^\[\]]*(?:\[[^\]]*\][^\[\]]*)?\])+", " [flags]", text, count=1)
    return ["~~~text", text, "~~~", ""]


def _flag(action: argparse.Action) -> list[str]:
    name = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    value = ""
    if action.option_strings and action.nargs != 0:
        value = (
            " {" + ",".join(map(str, action.choices)) + "}"
            if action.choices
            else f" {action.metavar or action.dest}"
        )
    said = _sentence(action.help) if action.help else _from_options(action)
    return [f"`{name}{value}`", f": {said}", ""]


def _from_options(action: argparse.Action) -> str:
    """Return what a flag without words of its own does: what the option of its name does."""
    section = (inspect.getdoc(relbounds) or "").partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found = re.search(rf"^{action.dest} : .*\n((?:    .*\n?)+)", section, re.M)
    if found is None:
        raise SystemExit(
            f"The flag {action.option_strings[0]} is explained neither by the parser nor by a docstring."
        )
    said = re.sub(r"\s+", " ", found[1]).strip().replace("``", "`").replace("<", r"\<")
    said = said.replace("Likewise: ", '`control="published"`: ', 1)  # there it follows `probes`
    default = getattr(Options, action.dest, None)
    if action.nargs == 0:
        return f"Switches this off: {said}" if action.const is False else said
    return f"{said} Default: {default}." if default is not None else said


def _sentence(text: str | None) -> str:
    text = str(text).replace("|", r"\|") if text else ""
    text = text.replace("<", r"\<")
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
