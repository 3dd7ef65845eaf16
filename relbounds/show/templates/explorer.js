// The page of the explorer. Wishes are triples [row, least, most]; null is an open end; the last one was made last.
"use strict";
(() => {
  const { MARKS, format, make, axis, share, span, ticksOf, gridOf, sorted } = Bars;
  const byId = (id) => document.getElementById(id);
  const SMALL = 5e-4; // half of what is shown
  const LIT = 0.2; // a term steps in where its least use rises by this share of its interval
  const pageName = Array.from(crypto.getRandomValues(new Uint32Array(3)), (n) => n.toString(36)).join("-");

  let start = null; // the fit
  let scale = null; // axis of all tracks
  let number = 0; // of questions
  let history = [[]];
  let at = 0;
  let bounds = []; // of what is shown, by row
  let weights = [];
  let classes = null; // null while they are being asked for
  let known = null; // the last classes that came
  let reach = {}; // how far constrained rows could go beside the others
  let held = new Set();
  let open = new Set(); // terms whose levels are shown
  let costs = {};
  let dragged = null;
  let ended = false;
  const parts = new Map(); // elements of each row

  const current = () => history[at];
  const wishOf = (wishes, row) => wishes.find((wish) => wish[0] === row) || [row, null, null];
  const isOff = (wish) => wish[2] === 0;
  const nameOf = (row) => start.rows.find((one) => one.row === row).label;

  // -- asking -------------------------------------------------------------------------------------------------

  async function ask(what, body = {}) {
    number += 1;
    let response;
    try {
      response = await fetch(what, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ page: pageName, number, ...body }),
      });
    } catch {
      hasEnded();
      return { superseded: true };
    }
    if (!response.ok) {
      complain(`The explorer did not answer (${response.status}). ${await response.text()}`);
      return { superseded: true };
    }
    return response.json();
  }

  function hasEnded() {
    if (ended) return;
    ended = true;
    complain("The explorer has ended. Start it again, and put what follows # in this address behind the new one.");
  }

  function complain(text) {
    byId("alert").textContent = text;
    byId("alert").hidden = !text;
  }

  // The newest wishes are asked for when the answer before is there: one question on its way, the last one wins.
  let wanted = null;
  let asking = false;
  async function propose(wishes, done) {
    wanted = { wishes, done };
    if (asking) return;
    asking = true;
    byId("busy").classList.add("on");
    while (wanted) {
      const { wishes: mine, done: then } = wanted;
      wanted = null;
      const reply = await ask("bounds", { wishes: mine });
      if (reply.superseded) continue;
      if (reply.answer) {
        bounds = reply.answer.rows;
        weights = reply.answer.weights;
        held = new Set(reply.answer.held);
        classes = null;
        complain("");
      }
      if (then) then(reply, mine);
      paint();
    }
    asking = false;
    byId("busy").classList.remove("on");
  }

  // Makes a move for good: it is remembered once it is granted, and taken back with its reason once it is refused.
  function commit(wishes, said, row) {
    clearWhy();
    propose(wishes, (reply, mine) => {
      if (reply.answer) {
        // what changes nothing is no move that could be taken back
        if (JSON.stringify(mine) !== JSON.stringify(current())) {
          history = [...history.slice(0, at + 1), mine];
          at = history.length - 1;
        }
        settled(said);
      } else {
        refuse(row, reply.refused);
      }
    });
  }

  function refuse(row, reason) {
    if (row !== undefined && parts.has(row)) {
      const why = parts.get(row).why;
      why.textContent = reason;
      why.hidden = false;
    }
    complain(row === undefined ? reason : "");
    announce(`Not possible. ${reason}`);
    const back = current();
    propose(back, () => settled(""));
  }

  function clearWhy() {
    for (const one of parts.values()) one.why.hidden = true;
  }

  function go(to, said) {
    const from = at;
    at = to;
    clearWhy();
    propose(current(), (reply) => {
      if (!reply.answer) {
        at = from;
        complain(reply.refused);
      }
      settled(said);
    });
  }

  // After a move: the address, the list, then what takes longer.
  function settled(said) {
    writeAddress();
    byId("undo").disabled = at === 0;
    byId("redo").disabled = at === history.length - 1;
    byId("reset").disabled = current().length === 0;
    listWishes();
    if (said) announce(`${said} ${changes()}`);
    follow();
  }

  let following = 0;
  async function follow() {
    following += 1;
    const mine = following;
    const wishes = current();
    const reply = await ask("classes", { wishes });
    if (mine !== following || wishes !== current()) return;
    if (reply.answer) {
      classes = reply.answer;
      known = classes;
      reach = classes.reach;
      byId("python").textContent = classes.python;
      byId("r").textContent = classes.r;
      byId("notes").replaceChildren(...classes.notes.map((text) => make("li", { text })));
      paint();
      document.body.dataset.settled = String(at);
    } else if (reply.refused) complain(reply.refused);
    await showCheapest(mine, wishes);
  }

  async function showCheapest(mine, wishes) {
    const reply = await ask("cheapest", { wishes, costs: Object.entries(costs).map(([row, cost]) => [Number(row), cost]) });
    if (mine !== following || reply.superseded) return;
    const found = reply.answer;
    const place = byId("cheapest");
    if (!found) {
      place.textContent = reply.refused;
      return;
    }
    const proof = found.exact ? "proved cheapest" : `a set cheaper by up to ${(100 * found.gap).toFixed(1)} % may exist`;
    const terms = found.terms.length ? found.terms.join(" + ") : "no term at all";
    place.replaceChildren(
      make("strong", { text: terms }),
      ` supports an equivalent model. Cost ${plain(found.cost)} of ${plain(found.of_all)} for all relevant terms (${proof}).`,
    );
  }

  const plain = (value) => String(Number(value.toPrecision(6)));

  // -- saying -------------------------------------------------------------------------------------------------

  function announce(text) {
    byId("status").textContent = text;
  }

  function phrase(wish) {
    const [, low, high] = wish;
    const text = (value) => String(Number(value.toFixed(3)));
    if (isOff(wish)) return "off";
    if (low !== null && high !== null) return low === high ? `= ${text(low)}` : `from ${text(low)} to ${text(high)}`;
    return high === null ? `at least ${text(low)}` : `at most ${text(high)}`;
  }

  const risen = (row) => {
    const first = start.rows.find((one) => one.row === row);
    return !held.has(row) && bounds[row][0] !== null && bounds[row][0] > first.lower + 2 * SMALL;
  };

  const stepsIn = (row) => {
    const first = start.rows.find((one) => one.row === row);
    return risen(row) && bounds[row][0] - first.lower > LIT * (first.upper - first.lower);
  };

  function changes() {
    const up = start.rows.filter((row) => row.is_term && risen(row.row));
    const down = start.rows.filter(
      (row) => row.is_term && !held.has(row.row) && bounds[row.row][1] !== null && bounds[row.row][1] < row.upper - 2 * SMALL,
    );
    const list = (rows, end) =>
      rows.slice(0, 4).map((row) => `${row.label} (${format(bounds[row.row][end])})`).join(", ") +
      (rows.length > 4 ? ` and ${rows.length - 4} more` : "");
    const words = [];
    if (up.length) words.push(`Needed more, at least: ${list(up, 0)}.`);
    if (down.length) words.push(`Used less, at most: ${list(down, 1)}.`);
    return words.join(" ") || (current().length ? "No other term is bound by this." : "");
  }

  const given = (row) => {
    const others = current().filter((wish) => wish[0] !== row);
    return others.length ? ` with ${others.map((wish) => `${nameOf(wish[0])} ${phrase(wish)}`).join(", ")}` : "";
  };

  function listWishes() {
    const items = current().map((wish) =>
      make(
        "li",
        {},
        make("span", { text: `${nameOf(wish[0])} ${phrase(wish)}` }),
        make("button", {
          type: "button",
          text: "Release",
          "aria-label": `Release ${nameOf(wish[0])}`,
          onclick: () => release(wish[0]),
        }),
      ),
    );
    byId("asked").replaceChildren(...(items.length ? items : [make("li", { class: "none", text: "None: this is the fit." })]));
  }

  function release(row) {
    const active = document.activeElement && document.activeElement.closest("#asked");
    commit(current().filter((wish) => wish[0] !== row), `${nameOf(row)} is released.`, row);
    if (active) byId("undo").focus();
  }

  // -- moves --------------------------------------------------------------------------------------------------

  // Where a row could be moved to beside all other constraints.
  function room(row) {
    if (wishOf(current(), row).slice(1).every((end) => end === null)) return bounds[row];
    const first = start.rows.find((one) => one.row === row);
    return reach[row] || [first.lower, first.upper];
  }

  function moved(row, end, value, free) {
    const wish = [...wishOf(current(), row)];
    const [low, high] = free;
    if (end === 0) wish[1] = value <= low + SMALL ? null : value;
    else wish[2] = value >= high - SMALL ? null : value;
    if (wish[1] !== null && wish[2] !== null && wish[1] > wish[2]) wish[end === 0 ? 1 : 2] = wish[end === 0 ? 2 : 1];
    // an end that says no more than the set itself is open
    if (wish[1] !== null && wish[1] <= 0) wish[1] = null;
    return replaced(wish);
  }

  function replaced(wish) {
    const others = current().filter((one) => one[0] !== wish[0]);
    if (wish[1] === null && wish[2] === null) return others;
    if (wish[2] === 0) return [...others, [wish[0], 0, 0]];
    return [...others, wish];
  }

  const round = (value) => Math.round(value * 1000) / 1000;

  function limit(row, end, value) {
    const free = room(row);
    const wish = wishOf(current(), row);
    const least = end === 0 ? free[0] : Math.max(free[0], wish[1] ?? free[0]);
    const most = end === 1 ? free[1] : Math.min(free[1], wish[2] ?? free[1]);
    const inside = Math.min(Math.max(value, least), most);
    if (Math.abs(inside - value) > 4 * SMALL && (inside === free[0] || inside === free[1])) {
      const word = value > inside ? "more" : "less";
      announce(`No equivalent model${given(row)} uses ${word} of ${nameOf(row)} than ${format(inside)}.`);
    }
    return { value: inside === free[0] || inside === free[1] ? inside : round(inside), free };
  }

  function beginDrag(event, row, end) {
    if (event.button > 0) return;
    event.preventDefault();
    event.currentTarget.focus();
    event.currentTarget.setPointerCapture(event.pointerId);
    const box = parts.get(row).track.getBoundingClientRect();
    const grip = event.clientX - box.left - (bounds[row][end] / scale.end) * box.width;
    dragged = { row, end, box, grip, value: bounds[row][end], wishes: null };
    parts.get(row).line.classList.add("dragging");
    clearWhy();
  }

  function drag(event) {
    if (!dragged) return;
    const { row, end, box, grip } = dragged;
    const raw = ((event.clientX - box.left - grip) / box.width) * scale.end;
    const { value, free } = limit(row, end, raw);
    if (value === dragged.value) return;
    dragged.value = value;
    dragged.wishes = moved(row, end, value, free);
    paintRow(row);
    propose(dragged.wishes, (reply) => {
      if (reply.refused && dragged) announce(reply.refused);
    });
  }

  function endDrag(event, canceled) {
    if (!dragged) return;
    const { row, wishes } = dragged;
    parts.get(row).line.classList.remove("dragging");
    dragged = null;
    if (canceled) propose(current(), () => settled(""));
    else if (wishes) commit(wishes, said(row, wishes), row);
  }

  const said = (row, wishes) => {
    const wish = wishOf(wishes, row);
    return wish[1] === null && wish[2] === null ? `${nameOf(row)} is released.` : `${nameOf(row)} ${phrase(wish)}.`;
  };

  function key(event, row, end) {
    const step = Math.max(round(scale.end / 100), 0.001);
    const now = bounds[row][end];
    const free = room(row);
    const to = {
      ArrowLeft: now - step, ArrowDown: now - step, ArrowRight: now + step, ArrowUp: now + step,
      PageDown: now - 10 * step, PageUp: now + 10 * step, Home: free[0], End: free[1],
    }[event.key];
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      const wish = [...wishOf(current(), row)];
      wish[1 + end] = null;
      if (isOff(wishOf(current(), row))) wish[1] = wish[2] = null;
      commit(replaced(wish), said(row, replaced(wish)), row);
    } else if (to !== undefined) {
      event.preventDefault();
      // where single steps are finer than what is asked for, the set's own bounds are the last stop
      const { value } = limit(row, end, to);
      const wishes = moved(row, end, value, free);
      commit(wishes, said(row, wishes), row);
    }
  }

  function typed(event, row, end) {
    const input = event.currentTarget;
    const text = input.value.trim().replace(",", ".");
    if (text === format(bounds[row][end])) return;
    const wish = [...wishOf(current(), row)];
    if (text === "") wish[1 + end] = null;
    else if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) {
      refuse(row, `'${text}' is not a number. Type a share of the norm such as 0.1, or nothing to release this end.`);
      return;
    } else wish[1 + end] = Number(text);
    if (isOff(wishOf(current(), row)) && wish[2] !== 0) wish[1] = null;
    if (end === 1 && wish[2] === 0) wish[1] = 0;
    const others = current().filter((one) => one[0] !== row);
    const wishes = wish[1] === null && wish[2] === null ? others : [...others, wish];
    commit(wishes, said(row, wishes), row);
  }

  function flip(row) {
    const wish = wishOf(current(), row);
    if (isOff(wish)) {
      release(row);
    } else if (held.has(row) && bounds[row][1] === 0) {
      refuse(row, `${nameOf(row)} went along with a term that it is made of; release that one.`);
    } else {
      commit([...current().filter((one) => one[0] !== row), [row, 0, 0]], `${nameOf(row)} is off.`, row);
    }
  }

  // -- drawing ------------------------------------------------------------------------------------------------

  function build() {
    const rows = sorted(start.rows.filter((row) => row.upper !== null && row.part !== "adjust"), byId("sort").value);
    scale = axis(rows.map((row) => row.upper));
    const several = new Set(rows.map((row) => row.part)).size > 1;
    const place = byId("rows");
    const focused = document.activeElement && document.activeElement.id;
    place.replaceChildren(axisLine());
    parts.clear();
    let part = null;
    for (const row of rows) {
      if (several && row.part !== part) place.append(make("h3", { class: "part", text: row.part_title }));
      part = row.part;
      place.append(rowElement(row, rows));
    }
    if (focused && byId(focused)) byId(focused).focus();
    paint();
  }

  function axisLine() {
    const line = make("div", { class: "line-of-row" }, make("span", { class: "name" }), ticksOf(scale.ticks, scale.end));
    return make("div", { class: "row axis", "aria-hidden": "true" }, line);
  }

  function rowElement(row, rows) {
    const i = row.row;
    const inner = rows.filter((one) => one.inner && one.term === row.term && one.part === row.part);
    const own = { line: null };
    own.ghost = make("div", { class: "ghost" });
    own.gone = [make("div", { class: "gone" }), make("div", { class: "gone" })];
    own.bar = make("div", { class: "bar" });
    own.noise = make("div", { class: "noise" });
    own.best = make("div", { class: "best" });
    own.ends = row.movable ? [handle(row, 0), handle(row, 1)] : [];
    own.track = make("div", { class: "track" }, gridOf(scale.ticks, scale.end), own.ghost, ...own.gone, own.bar, own.noise, own.best, ...own.ends);
    own.inputs = [0, 1].map((end) =>
      make("input", {
        class: `number ${end ? "most" : "least"}`,
        id: `number-${i}-${end}`,
        type: "text",
        inputmode: "decimal",
        autocomplete: "off",
        disabled: !row.movable,
        "aria-label": `${row.label}, ${end ? "most" : "least"}`,
        onchange: (event) => typed(event, i, end),
      }),
    );
    own.mark = make("span", { class: "mark", "aria-hidden": "true" });
    own.word = make("span", {});
    own.class = make("span", { class: "class" }, own.mark, own.word);
    own.switch = make("button", {
      type: "button",
      class: "switch",
      id: `switch-${i}`,
      role: "switch",
      "aria-label": `${row.label}, in use`,
      onclick: () => flip(i),
    });
    own.tag = make("span", { class: "tag" });
    own.why = make("p", { class: "why", hidden: true });
    const fold = !row.inner && inner.length
      ? make("button", {
          type: "button",
          class: "fold",
          "aria-expanded": String(open.has(row.term)),
          "aria-label": `${row.kind === "term" ? "Levels" : "Columns"} of ${row.label}`,
          text: open.has(row.term) ? "▾" : "▸",
          onclick: (event) => {
            if (open.has(row.term)) open.delete(row.term);
            else open.add(row.term);
            event.currentTarget.setAttribute("aria-expanded", String(open.has(row.term)));
            event.currentTarget.textContent = open.has(row.term) ? "▾" : "▸";
            paint();
          },
        })
      : null;
    const name = make("div", { class: "name" }, fold, make("span", { class: "label", text: row.inner ? row.short : row.label }), own.tag);
    const line = make("div", { class: "line-of-row" }, name, own.track, ...own.inputs, own.class, row.movable ? own.switch : null);
    own.line = make("div", { class: "row", role: "group", "aria-label": row.label, "data-row": i }, line, own.why);
    own.facts = row;
    parts.set(i, own);
    return own.line;
  }

  function handle(row, end) {
    return make("div", {
      class: `end ${end ? "high" : "low"}`,
      id: `end-${row.row}-${end}`,
      role: "slider",
      tabindex: "0",
      "aria-orientation": "horizontal",
      "aria-label": `${row.label}, ${end ? "most" : "least"} use`,
      onpointerdown: (event) => beginDrag(event, row.row, end),
      onpointermove: drag,
      onpointerup: (event) => endDrag(event, false),
      onpointercancel: (event) => endDrag(event, true),
      onkeydown: (event) => key(event, row.row, end),
    });
  }

  function paint() {
    for (const row of parts.keys()) paintRow(row);
  }

  function paintRow(row) {
    const own = parts.get(row);
    const { facts } = own;
    const [low, high] = dragged && dragged.row === row ? shownDrag(row) : bounds[row];
    const wish = wishOf(dragged && dragged.wishes ? dragged.wishes : current(), row);
    const now = classes || known;
    const kind = now.relevance[row];
    const off = isOff(wish) || (held.has(row) && high === 0);
    const up = risen(row);
    own.line.classList.toggle("inner", facts.inner);
    own.line.classList.toggle("held", held.has(row));
    own.line.classList.toggle("up", stepsIn(row));
    own.line.hidden = facts.inner && !open.has(facts.term);
    span(own.bar, low, high, scale.end);
    own.bar.className = `bar ${held.has(row) ? "fixed" : kind} ${classes ? "" : "stale"}`;
    own.bar.title = `${facts.label}: ${format(low)} to ${format(high)}; at the start ${format(facts.lower)} to ${format(facts.upper)}`;
    const compared = byId("compare").checked && current().length > 0;
    span(own.ghost, facts.lower, facts.upper, scale.end);
    own.ghost.hidden = own.ghost.hidden || !compared;
    const free = room(row);
    const reason = `Not possible${given(row)}: the models that are left use ${format(free[0])} to ${format(free[1])} of ${facts.label}.`;
    [[facts.lower, free[0]], [free[1], facts.upper]].forEach(([from, to], k) => {
      span(own.gone[k], from, to, scale.end);
      if (to - from < 2 * SMALL) own.gone[k].hidden = true;
      own.gone[k].title = reason;
    });
    const reached = now.noise[row];
    own.noise.hidden = reached === null || reached > scale.end;
    own.noise.style.left = share(reached ?? 0, scale.end);
    own.noise.title = `Noise reaches ${format(reached)}`;
    const best = Math.abs(weights[row] ?? 0);
    own.best.hidden = weights[row] === null || best > scale.end || high === 0;
    own.best.style.left = share(best, scale.end);
    own.ends.forEach((slider, end) => {
      const value = end ? high : low;
      slider.style.left = share(value, scale.end);
      slider.classList.toggle("set", wish[1 + end] !== null);
      slider.setAttribute("aria-valuemin", format(Math.min(free[0], value)));
      slider.setAttribute("aria-valuemax", format(Math.max(free[1], value)));
      slider.setAttribute("aria-valuenow", format(value));
      slider.setAttribute("aria-valuetext", `${format(value)}${wish[1 + end] === null ? "" : ", held"}, can be ${format(free[0])} to ${format(free[1])}`);
    });
    own.inputs.forEach((input, end) => {
      if (document.activeElement !== input || !dragged) input.value = format(end ? high : low);
      input.classList.toggle("set", wish[1 + end] !== null);
    });
    const word = off ? "off" : held.has(row) ? "held" : kind;
    own.class.className = `class ${held.has(row) ? "fixed" : kind} ${classes ? "" : "stale"}`;
    own.mark.textContent = off ? "–" : MARKS[held.has(row) ? "fixed" : kind] || "";
    own.word.textContent = word;
    own.class.title = now.p[row] ? `P adj. ${now.p[row]}` : "";
    own.tag.textContent = up ? `▲ +${format(low - facts.lower)}` : "";
    own.tag.title = up ? "Every model that is left needs it more than at the start" : "";
    const needed = !off && free[0] > SMALL;
    own.switch.setAttribute("aria-checked", String(!off));
    own.switch.setAttribute("aria-disabled", String(needed));
    own.switch.title = needed ? `It cannot be left out${given(row)}: every equivalent model uses at least ${format(free[0])}.` : "";
  }

  function shownDrag(row) {
    const pair = [...bounds[row]];
    pair[dragged.end] = dragged.value;
    return pair[0] > pair[1] ? [dragged.value, dragged.value] : pair;
  }

  function legend() {
    const item = (kind, text) => make("span", {}, make("i", { class: kind }), text);
    byId("legend").replaceChildren(
      item("bar strong", "strong: needed by every equivalent model"),
      item("bar weak", "weak: used by some"),
      item("bar irrelevant", "irrelevant: not distinguishable from noise"),
      item("bar fixed", "held by you"),
      item("ghost", "at the start"),
      item("lit", "steps in: a substitute"),
      item("gone", "no longer possible"),
      item("noise", "what noise reaches"),
      item("best", "best model"),
    );
  }

  // -- address ------------------------------------------------------------------------------------------------

  let written = null;
  function writeAddress() {
    const words = new URLSearchParams();
    for (const wish of current()) words.append(nameOf(wish[0]), isOff(wish) ? "off" : `${wish[1] ?? ""}..${wish[2] ?? ""}`);
    written = words.toString() ? `#${words}` : "";
    window.history.replaceState(null, "", written || window.location.pathname);
  }

  function readAddress() {
    const wishes = [];
    for (const [name, text] of new URLSearchParams(window.location.hash.slice(1))) {
      const row = start.rows.find((one) => one.label === name && one.movable);
      if (!row) return { wrong: `This address names '${name}', which is no term of this fit that can be held.` };
      const ends = text === "off" ? ["0", "0"] : text.split("..");
      const numbers = ends.map((end) => (end === "" ? null : Number(end)));
      if (ends.length !== 2 || numbers.some(Number.isNaN) || numbers.every((end) => end === null)) {
        return { wrong: `This address wishes '${name}' to be '${text}', which cannot be read. Use off, 0.1..0.2, 0.1.. or ..0.2.` };
      }
      wishes.push([row.row, ...numbers]);
    }
    return { wishes };
  }

  function followAddress() {
    if (window.location.hash === written) return;
    const { wishes, wrong } = readAddress();
    if (wrong) complain(wrong);
    else commit(wishes, "As the address says.", wishes.length ? wishes[wishes.length - 1][0] : undefined);
  }

  // -- files --------------------------------------------------------------------------------------------------

  function save(blob, name) {
    const link = make("a", { href: URL.createObjectURL(blob), download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  async function exportAs(kind) {
    if (kind === "svg" || kind === "png") {
      const { text, width, height } = figure();
      const svg = new Blob([text], { type: "image/svg+xml" });
      if (kind === "svg") return save(svg, "relbounds.svg");
      const image = new Image();
      // not decode(): it waits for a frame, which a page in the background may not get for a minute
      const loaded = new Promise((resolve, reject) => Object.assign(image, { onload: resolve, onerror: reject }));
      image.src = URL.createObjectURL(svg);
      await loaded;
      const canvas = make("canvas", { width: 2 * width, height: 2 * height });
      canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
      return canvas.toBlob((blob) => save(blob, "relbounds.png"), "image/png");
    }
    const reply = await ask("export", { wishes: current(), kind });
    if (reply.refused) return complain(reply.refused);
    if (reply.answer === undefined) return undefined;
    return save(new Blob([reply.answer], { type: "text/plain;charset=utf-8" }), kind === "csv" ? "relbounds.csv" : "relbounds.tex");
  }

  // The chart as a drawing of its own, on white, as it stands: text is written by the serializer, so it stays text.
  function figure() {
    const colours = { strong: "#0b5394", weak: "#e08a1e", irrelevant: "#b9b9b9", fixed: "#7a7a7a" };
    const rows = [...parts.values()].filter((own) => !own.line.hidden);
    const names = rows.map((own) => own.facts.label);
    const left = Math.min(260, 16 + 6.6 * Math.max(...names.map((name) => name.length)));
    const [wide, step, top] = [380, 24, 12];
    const width = left + wide + 150;
    const asked = current().map((wish) => `${nameOf(wish[0])} ${phrase(wish)}`).join(", ");
    const height = top + rows.length * step + 54;
    const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const add = (tag, given, text) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(given)) element.setAttribute(name, value);
      if (text !== undefined) element.textContent = text;
      drawing.append(element);
    };
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "Helvetica, Arial, sans-serif", "font-size": 12 })) drawing.setAttribute(name, value);
    add("rect", { width, height, fill: "#fff" });
    const x = (value) => left + (value / scale.end) * wide;
    const bottom = top + rows.length * step;
    for (const tick of scale.ticks) {
      add("line", { x1: x(tick.at), x2: x(tick.at), y1: top, y2: bottom, stroke: "#e4e4e4" });
      add("text", { x: x(tick.at), y: bottom + 15, "text-anchor": "middle", fill: "#595959" }, tick.text);
    }
    rows.forEach((own, k) => {
      const { facts } = own;
      const y = top + k * step;
      const [low, high] = bounds[facts.row];
      const kind = held.has(facts.row) ? "fixed" : (classes || known).relevance[facts.row];
      add("text", { x: left - 8, y: y + 16, "text-anchor": "end", fill: "#1c1c1c" }, facts.label);
      add("rect", { x: x(low), y: y + 5, width: Math.max(x(high) - x(low), 1.5), height: step - 10, fill: colours[kind] || "#7a7a7a" });
      if (!own.ghost.hidden) {
        add("rect", { x: x(facts.lower), y: y + 5, width: Math.max(x(facts.upper) - x(facts.lower), 1.5), height: step - 10, fill: "none", stroke: "#595959", "stroke-dasharray": "3 2" });
      }
      add("text", { x: left + wide + 12, y: y + 16, fill: "#1c1c1c" }, `${format(low)}–${format(high)} ${own.word.textContent}`);
    });
    add("text", { x: left + wide / 2, y: bottom + 32, "text-anchor": "middle", fill: "#1c1c1c" }, start.measure);
    add("text", { x: 8, y: bottom + 48, fill: "#595959", "font-size": 11 }, asked ? `What if ${asked}` : start.formula);
    return { text: new XMLSerializer().serializeToString(drawing), width, height };
  }

  async function copy(button) {
    const text = byId(button.dataset.copy).textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = make("textarea", { "aria-hidden": "true" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    announce("Copied.");
  }

  // -- beginning ----------------------------------------------------------------------------------------------

  function listCosts() {
    const fields = start.rows.filter((row) => row.has_cost).flatMap((row) => {
      costs[row.row] = 1;
      return [
        make("label", { for: `cost-${row.row}`, text: row.label }),
        make("input", {
          id: `cost-${row.row}`, class: "number", type: "number", min: "0", step: "any", value: "1",
          onchange: (event) => {
            costs[row.row] = event.currentTarget.value === "" ? 1 : Number(event.currentTarget.value);
            showCheapest(following, current());
          },
        }),
      ];
    });
    byId("costs").replaceChildren(...fields);
  }

  async function begin() {
    const reply = await ask("start");
    if (!reply.answer) return;
    start = reply.answer;
    byId("formula").textContent = start.formula;
    bounds = [];
    weights = [];
    for (const row of start.rows) {
      bounds[row.row] = [row.lower, row.upper];
      weights[row.row] = row.weight;
    }
    classes = { ...start.classes };
    known = classes;
    listCosts();
    legend();
    build();
    listWishes();
    byId("undo").addEventListener("click", () => at > 0 && go(at - 1, "Taken back."));
    byId("redo").addEventListener("click", () => at < history.length - 1 && go(at + 1, "Made again."));
    byId("reset").addEventListener("click", () => commit([], "Back at the start."));
    byId("compare").addEventListener("change", paint);
    byId("sort").addEventListener("change", build);
    for (const button of document.querySelectorAll("[data-export]")) button.addEventListener("click", () => exportAs(button.dataset.export));
    for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy(button));
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.target.matches("input")) return;
      const letter = event.key.toLowerCase();
      if (letter === "z" || letter === "y") {
        event.preventDefault();
        byId(letter === "y" || event.shiftKey ? "redo" : "undo").click();
      }
    });
    window.addEventListener("hashchange", followAddress);
    window.addEventListener("pagehide", () => {
      const body = new Blob([JSON.stringify({ page: pageName })], { type: "application/json" });
      navigator.sendBeacon("closed", body);
    });
    window.addEventListener("pageshow", (event) => event.persisted && ask("open"));
    setInterval(() => ended || ask("open"), 20000);
    if (window.location.hash.length > 1) {
      const { wishes, wrong } = readAddress();
      if (wrong) complain(wrong);
      else return commit(wishes, "As the address says.", wishes[wishes.length - 1][0]);
    }
    return follow();
  }

  begin();
})();
