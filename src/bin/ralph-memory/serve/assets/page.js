// Makes the page pleasant: live updates, search as one types, and keys. Every page and form works without this.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const $ = (id) => document.getElementById(id);
  const announce = (text) => {
    const box = $("announce");
    if (box && box.textContent !== text) box.textContent = text;
  };

  // What is typed into, so that it must not be replaced.
  const isTyping = (element) =>
    element instanceof HTMLElement && element.matches("input:not([type=checkbox]), textarea, select");

  // Remembers which element of a part has the focus, and which details are open.
  const keep = (part) => {
    const focusable = "a, button, summary, input, [tabindex]";
    const active = part.contains(document.activeElement) ? document.activeElement : null;
    const index = active ? [...part.querySelectorAll(focusable)].indexOf(active) : -1;
    const href = active && active.getAttribute("href");
    const open = [...part.querySelectorAll("details")].map((details) => details.open);
    return () => {
      const all = [...part.querySelectorAll("details")];
      if (all.length === open.length) all.forEach((details, at) => { details.open = open[at]; });
      if (index < 0) return;
      const found = [...part.querySelectorAll(focusable)];
      const same = href && found.find((element) => element.getAttribute("href") === href);
      const target = same || found[index];
      if (target) target.focus({ preventScroll: true });
    };
  };

  // Times as people say them, for as long as the page is open. Those of more than a month ago are dates, which stay true; the title has the
  // exact time.
  const UNITS = [[3600e3, 60e3, "min"], [86400e3, 3600e3, "h"], [30 * 86400e3, 86400e3, "day"]];
  const said = (time) => {
    const age = Date.now() - time;
    const size = Math.abs(age);
    if (size < 60e3) return age < 0 ? "in less than a min" : "just now";
    const unit = UNITS.find(([below]) => size < below);
    if (!unit) return new Date(time).toISOString().slice(0, 10);
    const count = Math.floor(size / unit[1]);
    const length = count + " " + unit[2] + (unit[2] === "day" && count > 1 ? "s" : "");
    return age < 0 ? "in " + length : length + " ago";
  };
  const relative = (part) => {
    for (const element of part.querySelectorAll("time[title]")) {
      const time = Date.parse(element.dateTime);
      const text = Number.isNaN(time) ? element.textContent : said(time);
      if (element.textContent !== text) element.textContent = text;
    }
  };
  // How long something has been going on.
  const elapsed = (part) => {
    for (const element of part.querySelectorAll("time.elapsed")) {
      const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(element.dateTime)) / 1000));
      const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
      const text = hours ? hours + " h " + minutes + " min" : minutes ? minutes + " min " + (seconds % 60) + " s" : seconds + " s";
      if (!Number.isNaN(seconds) && element.textContent !== text) element.textContent = text;
    }
  };
  const timed = (part) => { relative(part); elapsed(part); };
  timed(document);
  setInterval(() => relative(document), 20e3);
  setInterval(() => elapsed(document), 1e3);

  // A note on what was just done is for this view: whoever opens the address later did not do it.
  const address = location.href;
  const shown = new URL(address);
  if (shown.searchParams.has("done")) {
    shown.searchParams.delete("done");
    history.replaceState(null, "", shown);
  }

  // Replaces a part of this page by that of the same page, fetched again: the first of these that both have.
  let fetching = null;
  const refresh = async (address, ...ids) => {
    if (fetching) fetching.abort();
    const own = (fetching = new AbortController());
    try {
      const response = await fetch(address, { signal: own.signal, credentials: "omit", cache: "no-store" });
      const text = await response.text();
      if (own.signal.aborted) return false;
      const page = new DOMParser().parseFromString(text, "text/html");
      const id = ids.find((id) => $(id) && page.getElementById(id));
      if (!id) return false;
      const fresh = page.getElementById(id);
      const part = $(id);
      const [heading, freshHeading] = [document, page].map((one) => one.querySelector("h1"));
      if (document.title !== page.title) document.title = page.title;
      if (heading && freshHeading && heading.innerHTML !== freshHeading.innerHTML) heading.replaceChildren(...freshHeading.childNodes);
      timed(part);
      timed(fresh);
      if (fresh.innerHTML === part.innerHTML) return false;
      const restore = keep(part);
      part.replaceChildren(...fresh.childNodes);
      restore();
      return true;
    } catch {
      return false;
    }
  };

  // Live updates, as long as somebody looks: browsers allow few connections to one server.
  if (document.body.hasAttribute("data-live") && "EventSource" in window) {
    let events = null;
    let seen = document.body.dataset.live;
    let isDue = false;
    let isBusy = false;
    const wait = (time) => new Promise((done) => setTimeout(done, time));
    const update = async () => {
      isDue = true;
      if (isBusy) return;
      isBusy = true;
      // What changes together is shown together.
      let pause = 150;
      while (isDue) {
        await wait(pause);
        isDue = false;
        const begun = performance.now();
        // The form is beside the results. A page with an error has no results.
        if (await refresh(address, "results", "content")) announce("The page was updated.");
        // A page that takes long is not made all the time.
        pause = Math.max(150, performance.now() - begun);
      }
      isBusy = false;
    };
    const offline = $("offline");
    const connected = (is) => {
      root.classList.toggle("offline", !is);
      if (is === offline.hidden) return;
      const time = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      offline.hidden = is;
      offline.textContent = is ? "" : "No connection to the server since " + time + ". What you see may be out of date.";
    };
    const listen = () => {
      if (document.hidden) {
        if (events) events.close();
        events = null;
      } else if (!events) {
        events = new EventSource("events");
        events.onopen = () => connected(true);
        events.onerror = () => connected(false);
        events.onmessage = (message) => {
          if (message.data !== seen) update();
          seen = message.data;
        };
      }
    };
    document.addEventListener("visibilitychange", listen);
    addEventListener("pagehide", () => { if (events) events.close(); events = null; });
    addEventListener("pageshow", listen);
    listen();
  }

  // Search as one types.
  const form = $("search-form");
  if (form) {
    let later = 0;
    const search = async () => {
      const fields = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
      const address = "search?" + fields;
      history.replaceState(null, "", address);
      if (await refresh(address, "results")) {
        const count = $("count");
        announce(count ? count.textContent : "");
      }
    };
    form.addEventListener("input", () => { clearTimeout(later); later = setTimeout(search, 160); });
    form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(later); search(); });
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const done = await navigator.clipboard.writeText(button.dataset.copy).then(() => true, () => false);
    announce(button.textContent = done ? "Copied" : "The browser refused to copy");
  });

  // Keys.
  const rows = () => [...document.querySelectorAll("#content .row a:first-of-type, #content tbody tr a:first-of-type")]
    .filter((link, at, all) => {
      const row = link.closest(".row, tr");
      return row.offsetParent !== null && all.findIndex((other) => other.closest(".row, tr") === row) === at;
    });
  const move = (step) => {
    const links = rows();
    const row = document.activeElement && document.activeElement.closest(".row, tr");
    const at = row ? links.findIndex((link) => link.closest(".row, tr") === row) : -1;
    const target = links[Math.min(Math.max(at + step, 0), links.length - 1)];
    if (target) target.focus();
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const dialog = $("keys");
    if (dialog && dialog.open) return;
    if (event.key === "/") {
      const box = $("q") || $("quick");
      if (box) { box.focus(); box.select(); event.preventDefault(); }
    } else if (event.key === "j" || event.key === "k") {
      move(event.key === "j" ? 1 : -1);
      event.preventDefault();
    } else if (event.key === "?" && dialog) {
      dialog.showModal();
      event.preventDefault();
    }
  });
})();
