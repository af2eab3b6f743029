// Makes the page pleasant: it stays up to date, says times as people do, and copies commands. Every page and button works without this.
"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  const content = document.getElementById("content");

  // Times of more than a month ago are dates, which stay true; the title has the exact time.
  const UNITS = [[3600e3, 60e3, "min"], [86400e3, 3600e3, "h"], [30 * 86400e3, 86400e3, "day"]];
  const said = (time) => {
    const age = Date.now() - time;
    if (age < 0) return new Date(time).toISOString().slice(0, 16).replace("T", " ") + " UTC";
    if (age < 60e3) return "just now";
    const unit = UNITS.find(([below]) => age < below);
    if (!unit) return new Date(time).toISOString().slice(0, 10);
    const count = Math.floor(age / unit[1]);
    return count + " " + unit[2] + (unit[2] === "day" && count > 1 ? "s" : "") + " ago";
  };
  const relative = (part) => {
    for (const element of part.querySelectorAll("time[title]")) {
      const time = Date.parse(element.dateTime);
      if (!Number.isNaN(time)) element.textContent = said(time);
    }
  };
  relative(document);
  setInterval(() => relative(document), 20e3);

  // A note on what was just done is for this view: whoever opens the address later did not do it.
  const address = new URL(location.href);
  address.searchParams.delete("done");
  if (address.href !== location.href) history.replaceState(null, "", address);

  // Asks for the same page again as long as somebody looks, and not while it is being used.
  const offline = document.getElementById("offline");
  const update = async () => {
    let pause = 5e3;
    if (!document.hidden) {
      const begun = performance.now();
      try {
        const text = await (await fetch(address, { credentials: "omit", cache: "no-store" })).text();
        const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("content");
        offline.hidden = true;
        relative(fresh);
        const isUsed = content.contains(document.activeElement) || !getSelection().isCollapsed;
        if (fresh.innerHTML !== content.innerHTML && !isUsed) content.replaceChildren(...fresh.childNodes);
      } catch {
        offline.textContent = "The server does not answer. What you see may be out of date.";
        offline.hidden = false;
      }
      // A page that takes long is not made all the time.
      pause = Math.max(pause, 10 * (performance.now() - begun));
    }
    setTimeout(update, pause);
  };
  if (document.body.hasAttribute("data-live")) setTimeout(update, 5e3);

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const done = await navigator.clipboard.writeText(button.dataset.copy).then(() => true, () => false);
    button.textContent = done ? "Copied" : "The browser refused to copy";
  });
})();
