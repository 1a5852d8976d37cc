"""The built site and a server for it.

The tests look at a site that is already there. They never build one: `make book` does.
"""

import functools
import http.server
import threading
from pathlib import Path

import pytest
from built_book import SITE, newest_source


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    index = SITE / "index.html"
    if not index.is_file():
        pytest.fail(f"The book is not built: {index} is missing. Run `make book`.", pytrace=False)
    if index.stat().st_mtime < newest_source():
        pytest.fail("The built book is older than its sources. Run `make book`.", pytrace=False)
    return SITE


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="session")
def bases(site):
    """The address of the site over each scheme: a small web server, and plain files."""
    handler = functools.partial(QuietHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"http": f"http://127.0.0.1:{server.server_port}", "file": site.as_uri()}
        server.shutdown()
