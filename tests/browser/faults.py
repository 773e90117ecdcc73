"""What a page can get wrong that a browser can tell: asked of the page itself."""

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
