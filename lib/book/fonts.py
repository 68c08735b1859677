"""The site's two small fonts: what its formulas and icons need of fonts ten times as large; made once, by hand.

    npm pack --ignore-scripts @fontsource/stix-two-math@5.3.0 && tar xzf fontsource-stix-two-math-5.3.0.tgz
    pip install brotli && python -m lib.book.fonts package/files/stix-two-math-latin-400-normal.woff2

The formulas' font is in a script: so it is there when a page is first drawn. A font that a style sheet names comes later, even
from the sheet itself, and moves what is written in it; and some browsers refuse it where pages are read without a server. Without
scripts formulas are in the reader's own font. The icons are those of the theme's Font Awesome. A test says which sign a new
formula or icon lacks: add it here.
"""

import sys
from base64 import b64encode
from io import BytesIO
from pathlib import Path

import pydata_sphinx_theme

STATIC = Path(__file__).parents[2] / "book" / "_static"
FORMULAS = STATIC / "fonts" / "formulas.js"
AWESOME = Path("vendor", "fontawesome", "webfonts", "fa-solid-900.woff2")  # the theme's place: the book's file is taken instead
THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"

# Letters, digits, accents; Greek; marks, spaces and what is not seen; letters of mathematics; arrows; operators; the alphabets of
# mathematics in bold, italic, script and with double strokes. A formula's letters are there in italic, too.
SIGNS = """
20-7E A0 A8 AC AF B1 B4 B7 D7 F7 131 237 2C6 2C7 2D8-2DC 300-30C 332 338 391-3A9 3B1-3C9 3D1 3D5 3D6 3F0 3F1 3F5
2009-200B 2013 2014 2016 2020 2022 2026 2032-2034 203E 2061-2064 20D6 20D7 FE00
2102 210B 210E 2110-2113 2115 2118-211D 2124 212C 2130 2131 2133
2190-2195 21A6 21D0-21D4 27F5-27FA
2200-2209 220B 220F-2213 2217-221A 221D-2220 2223-222B 2234 223C 2240 2243 2245 2248 224D 2250 2254 2260 2261 2264 2265 226A 226B
227A 227B 2282-2287 2295-2299 22A4 22A5 22C0-22C5 22EE-22F1 2308-230B 23B4 23B5 23DE 23DF 25A1 27C2 27E8 27E9 2A7D 2A7E
1D400-1D49B 1D49C-1D4B5 1D538-1D56B 1D6A8-1D755
"""
ICONS = """
f002 f00d f00e f010 f019 f02d f03a f042 f044 f04b f04c f053 f054 f055 f056 f057 f058 f059 f05a f062 f063 f064 f065 f066 f067 f068
f06a f06e f071 f074 f077 f078 f08e f0c1 f0c5 f0c9 f0d7 f0da f0e2 f0eb f0f3 f104 f105 f106 f107 f121 f135 f15b f15c f185 f186 f188
f1c1 f2f1 f2f9 f303 f35d f422
"""
PRIMES = "′″‴"


def points(words: str) -> set[int]:
    """Read code points, in hexadecimal, and ranges of them."""
    ranges = [word.partition("-") for word in words.split()]
    return {point for first, _, last in ranges for point in range(int(first, 16), int(last or first, 16) + 1)}


def subset(source: Path, wanted: set[int], name: str) -> bytes:
    """Return what is wanted of a font, as WOFF2, under a name of its own, as its licence asks."""
    from fontTools import subset as tools  # needed here only, as brotli is

    options = tools.Options(flavor="woff2", hinting=False, layout_features=[], notdef_outline=True)
    font = tools.load_font(str(source), options)
    chosen = tools.Subsetter(options)
    chosen.populate(unicodes=wanted)
    chosen.subset(font)
    for record in font["name"].names:
        if record.nameID in (1, 3, 4, 6, 16):
            record.string = name
    for prime in PRIMES:  # raised already, where browsers raise it: let it be as large as TeX's there, and no higher
        if glyph := font.getBestCmap().get(ord(prime)):
            drawn, (width, left) = font["glyf"][glyph], font["hmtx"][glyph]
            drawn.coordinates.translate((0, -drawn.yMax))
            drawn.coordinates.scale((1.15, 1.5))
            drawn.coordinates.translate((0, 560))
            drawn.coordinates.toInt()
            drawn.recalcBounds(font["glyf"])
            font["hmtx"][glyph] = (round(1.15 * width), round(1.15 * left))
    written = BytesIO()
    font.flavor = "woff2"
    font.save(written)
    return written.getvalue()


if __name__ == "__main__":
    data = b64encode(subset(Path(sys.argv[1]), points(SIGNS), "BookFormulas")).decode()
    FORMULAS.write_text(
        "// STIX Two Math, the signs that lib/book/fonts.py names; its licence is beside this file.\n"
        f'document.fonts.add(new FontFace("Book Formulas", Uint8Array.from(atob("{data}"), sign => sign.charCodeAt())));\n'
    )
    (STATIC / AWESOME).write_bytes(subset(THEME / AWESOME, points(ICONS), "BookIcons"))
