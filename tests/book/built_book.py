"""Where the book and its built pages are. It only looks; it never builds."""

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
SITE = ROOT / "_build" / "html"


def toc_pages() -> list[str]:
    """The names of all pages in `_toc.yml`, in reading order."""
    toc = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [toc["root"], *chapters]


def newest_source() -> float:
    sources = [ROOT / "_config.yml", *BOOK.rglob("*"), *(ROOT / "solutions").glob("*.py")]
    return max(p.stat().st_mtime for p in sources if p.is_file() and p.suffix != ".pyc")
