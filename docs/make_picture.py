"""Take the picture of a report's first page: `python docs/make_picture.py runs/fair/report.html`.

Needs a Chromium; nothing is loaded from a network.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

PICTURE = Path(__file__).with_name("page-one.png")
SIZE = (900, 1150)
COLOURS = 24  # enough for text and a few lines; keeps the file small


def main(report: Path) -> None:
    """Open the page, take the top of it, and keep it with few colours."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
    browser = next((found for found in map(shutil.which, names) if found), None)
    if browser is None:
        raise SystemExit(f"none of {', '.join(names)} is installed")
    with tempfile.TemporaryDirectory() as scratch:
        shot = Path(scratch) / "page.png"
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--screenshot={shot}"]
        size = f"--window-size={SIZE[0]},{SIZE[1]}"
        subprocess.run([browser, *options, size, report.resolve().as_uri()], check=True, capture_output=True)
        with Image.open(shot) as image:
            image.convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/fair/report.html"))
