"""What every page is put into: one file, no network, light and dark."""

from __future__ import annotations

from .page_style import CSS
from .svg import escape


def shell(title: str, body: str, style: str = "", script: str = "", before: str = "") -> str:
    """`before` stands above the main part, as a contents bar does."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{CSS}{style}</style>\n</head>\n<body>\n"
        f"{before}\n<main>\n{body}\n</main>\n{f'<script>{script}</script>' if script else ''}\n</body>\n</html>\n"
    )
