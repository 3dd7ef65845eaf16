// The sliders of a report: one term is held, all others show the bounds that were computed beforehand.
"use strict";
(() => {
  const { MARKS, format, make, axis, share, span, ticksOf, gridOf, sorted } = Bars;
  const data = JSON.parse(document.getElementById("what-if-data").textContent);
  const root = document.getElementById("what-if-bars");
  const scale = axis(data.rows.map((row) => row.upper));
  const parts = new Map();
  const open = new Set();
  let held = null; // the term that is held, and where
  let at = 0;

  // The bounds of a row where the held term has a value: straight lines between knots.
  function bounds(row) {
    const knots = held === null ? null : data.responses[held].knots[row.row];
    if (held === row.row) return [at, at];
    if (!knots) return [row.lower, row.upper];
    const [x, low, high] = knots;
    let k = 1;
    while (k < x.length - 1 && x[k] < at) k += 1;
    if (x.length === 1) return [low[0], high[0]];
    const width = x[k] - x[k - 1];
    const t = width > 0 ? Math.min(Math.max((at - x[k - 1]) / width, 0), 1) : 0;
    return [low, high].map((y) => (1 - t) * y[k - 1] + t * y[k]);
  }

  function hold(row, value) {
    held = row;
    at = value;
    paint();
    const label = data.rows.find((one) => one.row === row).label;
    const moved = data.rows
      .filter((one) => !one.inner && one.row !== row && bounds(one)[0] > one.lower + 1e-3)
      .map((one) => `${one.label} (at least ${format(bounds(one)[0])})`);
    const words = moved.length ? ` Needed more: ${moved.slice(0, 4).join(", ")}${moved.length > 4 ? ` and ${moved.length - 4} more` : ""}.` : "";
    document.getElementById("what-if-said").textContent = `${label} held at ${format(value)}.${words}`;
  }

  function release() {
    held = null;
    document.getElementById("what-if-said").textContent = "No term is held: the bounds of the fit.";
    paint();
  }

  function element(row) {
    const own = { facts: row };
    own.ghost = make("div", { class: "ghost" });
    own.bar = make("div", { class: `bar ${row.relevance}` });
    own.noise = make("div", { class: "noise", title: `Noise reaches ${format(row.noise)}` });
    own.track = make("div", { class: "track" }, gridOf(scale.ticks, scale.end), own.ghost, own.bar, own.noise);
    own.numbers = make("span", { class: "numbers" });
    const response = data.responses[row.row];
    if (response) {
      own.slider = make("input", {
        type: "range", class: "hold", id: `hold-${row.row}`, min: response.lower, max: response.upper, step: "any",
        "aria-label": `Hold ${row.label}`,
        oninput: (event) => hold(row.row, Number(event.currentTarget.value)),
        onkeydown: (event) => step(event, row.row, response),
      });
      own.track.append(own.slider);
      // the middle of the thumb is at the value: it goes over the whole length of the bar
      own.slider.style.left = `calc(${share(response.lower, scale.end)} - 9px)`;
      own.slider.style.width = `calc(${share(response.upper - response.lower, scale.end)} + 18px)`;
    }
    const inner = data.rows.filter((one) => one.inner && one.term === row.term && one.part === row.part);
    const fold = !row.inner && inner.length
      ? make("button", {
          type: "button", class: "fold", "aria-expanded": "false", "aria-label": `Levels of ${row.label}`, text: "▸",
          onclick: (event) => {
            const shown = !open.has(row.term);
            if (shown) open.add(row.term);
            else open.delete(row.term);
            event.currentTarget.setAttribute("aria-expanded", String(shown));
            event.currentTarget.textContent = shown ? "▾" : "▸";
            paint();
          },
        })
      : null;
    const name = make("div", { class: "name" }, fold, make("span", { text: row.inner ? row.short : row.label }));
    const kind = make("span", { class: `class ${row.relevance}` }, make("span", { class: "mark", "aria-hidden": "true", text: MARKS[row.relevance] || "" }), row.relevance);
    own.line = make("div", { class: row.inner ? "row inner" : "row", role: "group", "aria-label": row.label, "data-row": row.row }, name, own.track, own.numbers, kind);
    parts.set(row.row, own);
    return own.line;
  }

  // A range without steps moves by too little on some browsers: a hundredth of the way, a tenth with Page Up and Down.
  function step(event, row, response) {
    const width = response.upper - response.lower;
    const now = Number(event.currentTarget.value);
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (event.key === "Escape") return release();
    const to = event.key === "Home" ? response.lower : event.key === "End" ? response.upper : by === undefined ? null : now + (by * width) / 100;
    if (to === null) return undefined;
    event.preventDefault();
    event.currentTarget.value = String(Math.min(Math.max(to, response.lower), response.upper));
    return hold(row, Number(event.currentTarget.value));
  }

  function build() {
    const order = sorted(data.rows, document.getElementById("what-if-sort").value);
    const line = make("div", { class: "row axis", "aria-hidden": "true" }, make("div", { class: "name" }), ticksOf(scale.ticks, scale.end));
    const focused = document.activeElement;
    root.replaceChildren(line, ...order.map((row) => (parts.has(row.row) ? parts.get(row.row).line : element(row))));
    if (focused && root.contains(focused)) focused.focus();
    paint();
  }

  function paint() {
    const text = document.getElementById("what-if-filter").value.trim().toLowerCase();
    const kind = document.getElementById("what-if-class").value;
    for (const { facts, line, bar, ghost, noise, numbers, slider } of parts.values()) {
      const [low, high] = bounds(facts);
      const still = facts.inner && held !== null; // levels were not followed
      const term = data.rows.find((one) => !one.inner && one.term === facts.term && one.part === facts.part) || facts;
      const found = !text || `${term.label} ${facts.label}`.toLowerCase().includes(text);
      line.hidden = !found || (kind && term.relevance !== kind) || (facts.inner && !open.has(facts.term));
      span(bar, low, high, scale.end);
      span(ghost, facts.lower, facts.upper, scale.end);
      ghost.hidden = ghost.hidden || held === null || facts.inner;
      bar.classList.toggle("still", still);
      bar.classList.toggle("fixed", held === facts.row);
      line.classList.toggle("held", held === facts.row);
      line.classList.toggle("up", held !== null && held !== facts.row && !facts.inner && low - facts.lower > 0.2 * (facts.upper - facts.lower));
      noise.hidden = facts.noise === null || facts.noise > scale.end;
      noise.style.left = share(facts.noise ?? 0, scale.end);
      numbers.textContent = still ? "" : held === facts.row ? format(low) : `${format(low)} to ${format(high)}`;
      const tip = `${facts.label}: ${format(low)} to ${format(high)}; in the fit ${format(facts.lower)} to ${format(facts.upper)}, ${facts.relevance}${facts.p ? `, P adj. ${facts.p}` : ""}`;
      line.title = tip;
      if (slider) {
        if (held !== facts.row) slider.value = String(facts.lower + Math.min(Math.max((facts.best - facts.lower), 0), facts.upper - facts.lower));
        slider.setAttribute("aria-valuetext", held === facts.row ? `held at ${format(at)}` : `free, ${format(low)} to ${format(high)}`);
      }
    }
    document.getElementById("what-if-release").disabled = held === null;
  }

  document.getElementById("what-if-part").hidden = false;
  document.getElementById("what-if-sort").addEventListener("change", build);
  document.getElementById("what-if-filter").addEventListener("input", paint);
  document.getElementById("what-if-class").addEventListener("change", paint);
  document.getElementById("what-if-release").addEventListener("click", () => {
    const slider = held === null ? null : parts.get(held).slider;
    release();
    if (slider) slider.focus();
  });
  build();
  release();
})();
