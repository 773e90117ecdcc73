"use strict";
/* Times as people like them, live regions that know when to be quiet, keys that only move. */
(() => {
  const all = (css) => [...document.querySelectorAll(css)];
  const by = (id) => document.getElementById(id);
  const iso = (ms) => new Date(ms).toISOString().slice(0, 19).replace("T", " ");
  const ago = (ms) => {
    const s = Math.round((Date.now() - ms) / 1000), a = Math.abs(s);
    const [n, u] = a < 60 ? [1, "s"] : a < 3600 ? [60, "min"] : a < 86400 ? [3600, "h"] : [86400, "d"];
    const words = `${Math.floor(a / n)} ${u}`;
    return a < 1 ? "just now" : s > 0 ? `${words} ago` : `in ${words}`;
  };
  const local = (ms) => iso(ms - new Date(ms).getTimezoneOffset() * 6e4);
  const shown = { ago, utc: (ms) => `${iso(ms)} UTC`, local };
  let as = localStorage.getItem("cf-times") || "ago";
  const tell = () => {
    all("[data-cf-times]").forEach((b) => b.setAttribute("aria-pressed", b.dataset.cfTimes === as));
    all("time.cf-time").forEach((t) => { t.textContent = shown[as](Date.parse(t.dateTime)); });
  };

  /* A live region: [data-cf-live] holds the switch, the stamp, and the element that polls. */
  const on = (names, act) => names.split(" ").forEach((name) => document.addEventListener(`htmx:${name}`, (e) => {
    const box = e.target.closest("[data-cf-live]");
    if (box) act(box, e);
  }));
  on("beforeRequest", (box, e) => {
    const focused = box.querySelector("[hx-get]")?.contains(document.activeElement);
    if (document.hidden || focused || box.querySelector("[data-cf-pause]")?.checked) e.preventDefault();
  });
  on("sendError responseError timeout", (box) => {
    box.cfMissed = (box.cfMissed || 0) + 1;
    box.toggleAttribute("data-cf-stale", box.cfMissed > 2);
  });
  on("afterSwap", (box) => {
    box.cfMissed = 0;
    box.removeAttribute("data-cf-stale");
    all("[data-cf-live] .cf-stamp").forEach((stamp) => { stamp.textContent = `updated ${iso(Date.now()).slice(11)} UTC`; });
    tell();
  });

  document.addEventListener("click", (e) => {
    const time = e.target.closest("[data-cf-times]"), copy = e.target.closest("[data-cf-copy]");
    if (time) { localStorage.setItem("cf-times", as = time.dataset.cfTimes); tell(); }
    if (copy) navigator.clipboard?.writeText(copy.dataset.cfCopy).then(() => { copy.textContent = "copied"; });
  });
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select")) return;
    const rows = all("a[data-cf-row]"), at = rows.indexOf(document.activeElement);
    const go = { j: rows[Math.min(at + 1, rows.length - 1)], k: rows[Math.max(at - 1, 0)], "/": by("cf-jump"), e: by("shows") }[e.key];
    if (e.key === "?") by("cf-help")?.togglePopover();
    if (go) { e.preventDefault(); go.focus(); }
  });
  all(".cf-clock").forEach((el) => { el.hidden = false; });
  tell();
  setInterval(() => as === "ago" && tell(), 10000);
  setInterval(() => all("[data-cf-left]").forEach((n) => { n.textContent = Math.max(0, n.textContent - 1); }), 1000);
})();
