"""Pages by Jinja2: the templates in templates/, which escape whatever is not Markup, and the macros that sections are made of."""

from __future__ import annotations

import functools
from pathlib import Path

from ..base.say import human
from ..analysis.comparing import Key, words_of

COLOURS = 12  # of programs; page.css has as many


def place(key: Key) -> str:
    return " · ".join(filter(None, (key[0], words_of(key[1]), "" if key[2] == "free" else "all on one CPU")))


@functools.cache
def environment():
    import jinja2  # here, so that the verbs that write no page run without it

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"), autoescape=lambda name: name.endswith(".html"),
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )
    made.globals |= {"place": place, "human": human, "colours": [f"c{i}" for i in range(COLOURS)]}
    return made


def raw(text: str):
    """Text that is HTML already: a drawing, or what a template made."""
    from markupsafe import Markup

    return Markup(text)


def render(template: str, **view: object) -> str:
    return environment().get_template(template).render(**view)


def macro(name: str, *given: object):
    """One macro of sections.html, called from Python."""
    return getattr(environment().get_template("sections.html").module, name)(*given)
