"""What a page can get wrong that a browser can tell: asked of the page itself."""

from playwright.sync_api import Page

from tests.browser.chromium import COLOURS, RULES
from tests.browser.window import SIZES, THEMES

# Without `preload`, which puts a style element into the page: the policy forbids that, rightly.
AXE = """(rules) => axe.run(
  {runOnly: rules, resultTypes: ["violations"], preload: false}
).then((found) =>
  found.violations.flatMap((one) => one.nodes.map((node) =>
    `axe ${one.id} at ${node.target.join(" ")}: ${node.failureSummary.replaceAll("\\n", " ")}`)))"""
# What reaches beyond the right edge of the window, and is not inside something that scrolls.
OVERFLOW = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const scrolls = (el) => el && el !== document.body &&
    (getComputedStyle(el).overflowX !== "visible" || scrolls(el.parentElement));
  return [...document.querySelectorAll("body *")]
    .filter((el) => el.getBoundingClientRect().right > width + 1 && !scrolls(el.parentElement))
    .map((el) => `${el.tagName} .${el.className} reaches ${el.getBoundingClientRect().right}`)
    .slice(0, 5);
}"""


def all_faults(page: Page, axe: str) -> list[str]:
    """What is wrong with a page that is open, on a desk and on a phone, in light and dark."""
    page.evaluate(axe)
    return [fault for size in SIZES for theme in THEMES for fault in _faults(page, size, theme)]


def _faults(page: Page, size: str, theme: str) -> list[str]:
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    # The layout is the same in the dark: only what depends on colours can differ.
    rules = COLOURS if theme == "dark" else RULES
    found = [*page.evaluate(AXE, rules), *page.evaluate(OVERFLOW)]
    return [f"{theme}, {size}: {fault}" for fault in found]
