"""What a report's page holds."""

import base64
import json
import re
import struct
import zlib

import numpy as np


def decode_frame(data):
    """The header and the arrays of a frame, as web/PROTOCOL.md describes it."""
    assert data[:4] == b"CRZ1"
    (size,) = struct.unpack("<I", data[4:8])
    header = json.loads(data[8 : 8 + size])
    arrays = {}
    for name, place in header.pop("arrays").items():
        count = int(np.prod(place["shape"], dtype=np.int64))
        array = np.frombuffer(data, f"<{place['type']}", count, 8 + size + place["at"])
        arrays[name] = array.reshape(place["shape"])
    return header, arrays


def read(path):
    """The run and the frames, by name, of a page with the viewer in it."""
    return parse(path.read_text("utf-8"))


def parse(page):
    """The same of the text of a page."""
    assert page.startswith("<!doctype html>")
    packed = re.search(r'id="creases-report">([^<]*)<', page).group(1)
    header, arrays = decode_frame(zlib.decompress(base64.b64decode(packed)))
    return header["run"], {name: decode_frame(data.tobytes()) for name, data in arrays.items()}
