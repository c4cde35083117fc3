"""What a report's page holds."""

import base64
import re
import zlib

from creases.show._viewer import decode_frame


def read(path):
    """The run and the frames, by name, of a page with the viewer in it."""
    return parse(path.read_text("utf-8"))


def parse(page):
    """The same of the text of a page."""
    assert page.startswith("<!doctype html>")
    packed = re.search(r'id="creases-report">([^<]*)<', page).group(1)
    header, arrays = decode_frame(zlib.decompress(base64.b64decode(packed)))
    return header["run"], {name: decode_frame(data.tobytes()) for name, data in arrays.items()}
