"""inspection-scan.pdf and ticket-infographic.png: pictures drawn with Pillow's own font."""

from __future__ import annotations

import io
import random

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from . import facts
from .pdf import Pdf

Ink = int | tuple[int, int, int]


def _write(
    draw: ImageDraw.ImageDraw,
    at: tuple[float, float],
    text: str,
    size: float,
    *,
    fill: Ink,
    bold: bool = False,
    anchor: str = "ls",
) -> None:
    font = ImageFont.load_default(size)
    if not bold:
        draw.text(at, text, fill=fill, font=font, anchor=anchor)
        return
    # The bundled font has one weight: a stroke thickens it, wider steps keep the letters apart.
    stroke = max(1, round(size / 36))
    steps = [font.getlength(letter) + 1.6 * stroke for letter in text]
    x = at[0] - sum(steps) * {"l": 0.0, "m": 0.5, "r": 1.0}[anchor[0]]
    for letter, step in zip(text, steps, strict=True):
        draw.text(
            (x, at[1]),
            letter,
            fill=fill,
            font=font,
            anchor="ls",
            stroke_width=stroke,
            stroke_fill=fill,
        )
        x += step


def scan() -> bytes:
    """Return a one-page PDF that holds nothing but a skewed, noisy picture of a sheet."""
    sheet = Image.new("L", (1240, 1754), 246)
    _sheet(ImageDraw.Draw(sheet))
    sheet = sheet.rotate(1.4, Image.Resampling.BICUBIC, fillcolor=232)
    sheet = sheet.filter(ImageFilter.GaussianBlur(0.7))
    grain = Image.frombytes("L", sheet.size, random.Random(7).randbytes(1240 * 1754))
    grain = grain.filter(ImageFilter.GaussianBlur(0.6)).point(lambda v: 128 + (v - 128) // 4)
    sheet = ImageChops.add(sheet, grain, scale=1, offset=-134)
    shade = Image.linear_gradient("L").rotate(90).resize(sheet.size).point(lambda v: 225 + v // 9)
    sheet = ImageChops.multiply(sheet, shade)
    packed = io.BytesIO()
    sheet.save(packed, "JPEG", quality=48, dpi=(150, 150))
    pdf = Pdf("Scan 0417")
    pdf.page(595.2, 841.9).image = (packed.getvalue(), *sheet.size)
    return pdf.to_bytes()


def _sheet(draw: ImageDraw.ImageDraw) -> None:
    ink = 30
    _write(draw, (110, 150), "Hull and safety inspection", 50, fill=ink, bold=True)
    _write(draw, (110, 200), "Saltmarsh Yard, Harbourline Ferries", 28, fill=ink)
    draw.line((110, 226, 1130, 226), fill=ink, width=4)
    for i, (label, value) in enumerate(
        (
            ("Report number", "HF-INS-0417"),
            ("Vessel", "Curlew"),
            ("Date of inspection", "14 March 2024"),
            ("Inspector", "Tomas Brandt"),
        )
    ):
        _write(draw, (110, 290 + i * 46), label, 28, fill=ink)
        _write(draw, (420, 290 + i * 46), value, 30, fill=ink, bold=True)
    _findings(draw, ink)
    _write(draw, (110, 1130), "Conditions", 34, fill=ink, bold=True)
    for i, line in enumerate(
        (
            "1. Bow door seal is worn. Replace by 28 March 2024.",
            "2. Emergency light at exit 3 does not work. Repair at once.",
        )
    ):
        _write(draw, (110, 1185 + i * 46), line, 28, fill=ink)
    _write(draw, (110, 1320), "Result", 34, fill=ink, bold=True)
    draw.rounded_rectangle((110, 1345, 640, 1425), 14, outline=60, width=5)
    _write(draw, (375, 1398), "PASSED WITH CONDITIONS", 34, fill=60, bold=True, anchor="ms")
    _write(draw, (110, 1485), "Next inspection due: 14 March 2025", 28, fill=ink)
    draw.line((720, 1560, 1130, 1560), fill=ink, width=2)
    curve = [(760 + t * 7, 1540 - (t * 37 % 53) + t // 4) for t in range(34)]
    draw.line(curve, fill=70, width=4, joint="curve")
    _write(draw, (720, 1596), "Signature of the inspector", 24, fill=ink)


def _findings(draw: ImageDraw.ImageDraw, ink: int) -> None:
    rows = (
        ("Item", "Measured", "Required", "Result"),
        ("Hull plate, thinnest point", "7.8 mm", "7.0 mm", "ok"),
        ("Fire pump pressure", "7.4 bar", "6.0 bar", "ok"),
        ("Life jackets", "242", "232", "ok"),
        ("Life rafts", "6", "6", "ok"),
        ("Bilge pump, per minute", "310 litres", "250 litres", "ok"),
        ("Bow door seal", "worn", "tight", "defect"),
        ("Emergency lights", "11 of 12", "12", "defect"),
        ("Horn", "136 dB", "130 dB", "ok"),
    )
    top, height = 500, 60
    edges = (110, 560, 775, 985, 1130)
    for i, row in enumerate(rows):
        if i == 0:
            draw.rectangle((110, top, 1130, top + height), fill=212)
        for edge, cell in zip(edges, row, strict=False):
            at = (edge + 16, top + i * height + 40)
            _write(draw, at, cell, 27, fill=ink, bold=i == 0 or cell == "defect")
    for i in range(len(rows) + 1):
        draw.line((110, top + i * height, 1130, top + i * height), fill=ink, width=2)
    for edge in edges:
        draw.line((edge, top, edge, top + len(rows) * height), fill=ink, width=2)


def infographic() -> bytes:
    """Return a picture that tells how tickets were sold in 2024."""
    navy, teal, sand, mist = (15, 46, 84), (13, 133, 143), (242, 181, 82), (235, 242, 247)
    picture = Image.new("RGB", (1200, 1500), (255, 255, 255))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, 1200, 300), fill=navy)
    _write(draw, (80, 130), "How the harbour buys", 66, fill=(255, 255, 255), bold=True)
    _write(draw, (80, 205), "Tickets at Harbourline Ferries, 2024", 40, fill=sand)
    for i, (value, name) in enumerate(
        (("63%", "bought on a phone"), ("2.81", "euros, average fare"), ("5.06 m", "journeys"))
    ):
        left = 80 + i * 360
        draw.rounded_rectangle((left, 250, left + 320, 470), 24, fill=(teal, sand, teal)[i])
        tint = navy if i == 1 else (255, 255, 255)
        _write(draw, (left + 160, 370), value, 84, fill=tint, bold=True, anchor="ms")
        _write(draw, (left + 160, 430), name, 32, fill=tint, anchor="ms")
    _write(draw, (80, 570), "Share of journeys by ticket", 44, fill=navy, bold=True)
    for i, (name, price, share) in enumerate(facts.FARES):
        y = 620 + i * 130
        _write(draw, (80, y + 48), name, 38, fill=navy, bold=True)
        _write(draw, (80, y + 92), price, 32, fill=(90, 100, 115))
        draw.rounded_rectangle((340, y + 8, 960, y + 88), 12, fill=mist)
        draw.rounded_rectangle((340, y + 8, 340 + 620 * share // 45, y + 88), 12, fill=teal)
        _write(draw, (1120, y + 66), f"{share}%", 54, fill=navy, bold=True, anchor="rs")
    draw.rectangle((0, 1170, 1200, 1500), fill=mist)
    _write(draw, (80, 1250), "Busiest hour", 44, fill=navy, bold=True)
    _write(draw, (80, 1350), "07:00 to 08:00", 72, fill=teal, bold=True)
    _write(draw, (80, 1420), "1,940 passengers on a working day", 34, fill=navy)
    _write(draw, (720, 1250), "Bicycles", 44, fill=navy, bold=True)
    _write(draw, (720, 1350), "412,000", 72, fill=teal, bold=True)
    _write(draw, (720, 1420), "carried free of charge", 34, fill=navy)
    packed = io.BytesIO()
    picture.quantize(32, dither=Image.Dither.NONE).save(packed, "PNG", optimize=True)
    return packed.getvalue()
