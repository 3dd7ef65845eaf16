// What the pages with moving bars share: numbers, scales, elements. Text is only ever set as text.
const Bars = (() => {
  "use strict";

  const MARKS = { strong: "●", weak: "◐", irrelevant: "○", fixed: "■" };

  function format(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    const text = value.toFixed(3);
    return text === "-0.000" ? "0.000" : text;
  }

  // An element with attributes, properties of its text, and children.
  function make(tag, given = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(given)) {
      if (name === "text") element.textContent = value;
      else if (name === "class") element.className = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  // The end of an axis that holds all values, and its ticks: a round step, four to eight of them.
  function axis(values) {
    const most = Math.max(...values.filter((v) => v !== null), 1e-3);
    const raw = most / 5;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => most / s <= 7);
    const end = Math.ceil((most * 1.0001) / step) * step;
    const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9), step / power === 2.5 ? 1 - Math.log10(power) : 0);
    const ticks = [];
    for (let k = 0; k * step <= end * 1.0001; k += 1) ticks.push({ at: k * step, text: (k * step).toFixed(digits) });
    return { end, ticks };
  }

  const share = (value, end) => `${(100 * Math.min(Math.max(value, 0), end)) / end}%`;

  // Puts a piece of a track from one value to another.
  function span(piece, low, high, end) {
    piece.hidden = low === null || high === null || high < low;
    if (piece.hidden) return;
    piece.style.left = share(low, end);
    piece.style.width = share(high - low, end);
  }

  function ticksOf(ticks, end) {
    const line = make("div", { class: "ticks", "aria-hidden": "true" });
    for (const tick of ticks) {
      const mark = make("span", { class: "tick", text: tick.text });
      mark.style.left = share(tick.at, end);
      line.append(mark);
    }
    return line;
  }

  function gridOf(ticks, end) {
    const lines = ticks.map((tick) => {
      const line = make("i", { class: "line" });
      line.style.left = share(tick.at, end);
      return line;
    });
    return make("div", { class: "grid", "aria-hidden": "true" }, ...lines);
  }

  // The order of rows: terms by a key, the levels or columns of a term stay under it.
  function sorted(rows, by) {
    const value = {
      table: (row) => row.row,
      upper: (row) => -(row.upper ?? 0),
      lower: (row) => -(row.lower ?? 0),
      name: (row) => row.label.toLowerCase(),
    }[by];
    const blocks = [];
    for (const row of rows) {
      if (row.inner && blocks.length) blocks[blocks.length - 1].push(row);
      else blocks.push([row]);
    }
    const parts = [...new Set(rows.map((row) => row.part))];
    blocks.sort((a, b) => {
      const part = parts.indexOf(a[0].part) - parts.indexOf(b[0].part);
      const [one, two] = [value(a[0]), value(b[0])];
      return part || (one < two ? -1 : one > two ? 1 : a[0].row - b[0].row);
    });
    return blocks.flat();
  }

  return { MARKS, format, make, axis, share, span, ticksOf, gridOf, sorted };
})();
