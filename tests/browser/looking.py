"""How tests look at the page: what was said, pictures of a grid, long lists; what is nameless, too small or pale."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, expect

from .conftest import Served, Visit

VIEWS = ["label", "guesses", "answers", "disagreements", "export"]


def said(served: Served) -> list[tuple[Any, ...]]:
    """List acts without ids and times."""
    return [(act["kind"], act["class"], act["why"]) for act in served.acts()]


def faces(visit: Visit) -> Locator:
    """Find the pictures of the grid."""
    return visit.page.locator(".tile .face")


def scroll_until(visit: Visit, rows: Locator, count: int) -> None:
    """Scroll to the end again and again until there are so many rows."""
    for _ in range(100):
        visit.page.locator(".main-column").evaluate("node => node.scrollTo(0, node.scrollHeight)")
        visit.page.wait_for_timeout(100)
        if rows.count() >= count:
            break
    expect(rows).to_have_count(count)


def unnamed(visit: Visit) -> list[str]:
    """List controls without a name and pictures without an alternative text."""
    return list(
        visit.page.evaluate(
            """() => {
                const shown = (node) => node.checkVisibility();
                const name = (node) => node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.length
                    || node.getAttribute("aria-labelledby");
                const controls = "button, a[href], input, select, summary, dialog[open]";
                const bad = [...document.querySelectorAll(controls)].filter((node) => shown(node) && !name(node));
                bad.push(...[...document.images].filter((node) => shown(node) && !node.hasAttribute("alt")));
                return bad.map((node) => node.outerHTML);
            }"""
        )
    )


def too_small(visit: Visit) -> list[str]:
    """List what is too small for a finger: less than 44 pixels high, or 24 where there is much of it."""
    return list(
        visit.page.evaluate(
            """() => [...document.querySelectorAll("button, #tabs a, summary, input")].filter((node) => {
                const hit = node.matches("[type=radio]") ? node.closest("label") : node; // a label can be clicked, too
                const { height, width } = hit.getBoundingClientRect();
                const least = node.matches(".single") && !matchMedia("(pointer: coarse)").matches ? 32 : 43.5;
                return node.checkVisibility() && (height < least || width < 24);
            }).map((node) => node.outerHTML)"""
        )
    )


def pale(visit: Visit) -> list[str]:
    """List texts whose contrast with what is behind them is below 4.5."""
    return list(
        visit.page.evaluate(
            """() => {
                const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
                const rgba = (colour) => {
                    canvas.clearRect(0, 0, 1, 1);
                    canvas.fillStyle = colour;
                    canvas.fillRect(0, 0, 1, 1);
                    return [...canvas.getImageData(0, 0, 1, 1).data];
                };
                const light = (colour) => {
                    const [r, g, b] = colour.map((value) => value / 255)
                        .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
                    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
                };
                const behind = (node) => {
                    for (let at = node; at; at = at.parentElement) {
                        const colour = rgba(getComputedStyle(at).backgroundColor);
                        if (colour[3] === 255) return colour;
                    }
                    return [255, 255, 255, 255];
                };
                const bad = [];
                const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
                while (texts.nextNode()) {
                    const node = texts.currentNode.parentElement;
                    if (!texts.currentNode.data.trim() || !node.checkVisibility() || node.closest("noscript")) continue;
                    const style = getComputedStyle(node);
                    const own = node.closest("svg") ? style.fill : style.color;
                    const [a, b] = [light(rgba(own)), light(behind(node))].sort((one, other) => other - one);
                    const contrast = (a + 0.05) / (b + 0.05);
                    if (contrast < 4.5) bad.push(`${contrast.toFixed(2)} ${texts.currentNode.data} ${node.className}`);
                }
                return bad;
            }"""
        )
    )
