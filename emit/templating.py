"""The templates of emitted files; a name a template needs and does not get is an error."""

from __future__ import annotations

from functools import cache

import jinja2


@cache
def template(name: str) -> jinja2.Template:
    """A file of emit/templates, compiled once."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("emit"), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    return environment.get_template(name)
