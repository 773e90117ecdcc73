"use strict";
/* Times as people like them, live regions that know when to be quiet, keys that only move. */
(() => {
  const all = (css, root = document) => [...root.querySelectorAll(css)];
  const pad = (n, w = 2) => String(n).padStart(w, "0");
  const day = (d, u) => `${d[`get${u}FullYear`]()}-${pad(d[`get${u}Month`]() + 1)}-${pad(d[`get${u}Date`]())}`;
  const clock = (d, u) => [d[`get${u}Hours`](), d[`get${u}Minutes`](), d[`get${u}Seconds`]()].map((n) => pad(n)).join(":");
  const ago = (d) => {
    const s = Math.round((Date.now() - d) / 1000), a = Math.abs(s);
    const [n, u] = a < 60 ? [a, "s"] : a < 3600 ? [a / 60, "min"] : a < 86400 ? [a / 3600, "h"] : [a / 86400, "d"];
    return a < 1 ? "just now" : s > 0 ? `${Math.floor(n)} ${u} ago` : `in ${Math.floor(n)} ${u}`;
  };
  const shown = { ago, utc: (d) => `${day(d, "UTC")} ${clock(d, "UTC")} UTC`, local: (d) => `${day(d, "")} ${clock(d, "")}` };
  let as = localStorage.getItem("cf-times") || "ago";
  const tell = () => all("time.cf-time").forEach((t) => { t.textContent = shown[as](new Date(t.dateTime)); });
  const press = () => all("[data-cf-times]").forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.cfTimes === as)));

  /* A live region: [data-cf-live] holds the switch, the stamp, and the element that polls. */
  const live = (el) => el.closest("[data-cf-live]");
  const quiet = (box) => document.hidden || box.querySelector("[data-cf-pause]")?.checked || box.querySelector("[hx-get]")?.contains(document.activeElement);
  document.addEventListener("htmx:beforeRequest", (e) => {
    const box = live(e.target);
    if (box && quiet(box)) e.preventDefault();
  });
  const missed = (e) => {
    const box = live(e.target);
    if (!box) return;
    box.dataset.cfMissed = Number(box.dataset.cfMissed || 0) + 1;
    if (box.dataset.cfMissed >= 3) box.dataset.cfStale = "";
  };
  ["htmx:sendError", "htmx:responseError", "htmx:timeout"].forEach((name) => document.addEventListener(name, missed));
  document.addEventListener("htmx:afterSwap", (e) => {
    tell();
    const box = live(e.target);
    if (!box) return;
    delete box.dataset.cfStale;
    box.dataset.cfMissed = 0;
    const stamp = box.querySelector(".cf-stamp");
    if (stamp) stamp.textContent = `updated ${clock(new Date(), "UTC")} UTC`;
  });

  document.addEventListener("click", (e) => {
    const time = e.target.closest("[data-cf-times]"), copy = e.target.closest("[data-cf-copy]");
    if (time) { as = time.dataset.cfTimes; localStorage.setItem("cf-times", as); press(); tell(); }
    if (copy) navigator.clipboard?.writeText(copy.dataset.cfCopy).then(() => { copy.textContent = "copied"; });
  });
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select")) return;
    const rows = all("a[data-cf-row]"), at = rows.indexOf(document.activeElement);
    if (e.key === "/") { e.preventDefault(); document.getElementById("cf-jump")?.focus(); }
    else if (e.key === "j") rows[Math.min(at + 1, rows.length - 1)]?.focus();
    else if (e.key === "k") rows[Math.max(at - 1, 0)]?.focus();
    else if (e.key === "?") document.getElementById("cf-help")?.showPopover?.();
  });
  all(".cf-clock").forEach((el) => { el.hidden = false; });
  press();
  tell();
  setInterval(() => as === "ago" && tell(), 10000);
})();
