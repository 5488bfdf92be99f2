"use strict";
(() => {
  const all = document.getElementById("all");
  if (!all) return;
  const CHUNK = 40;
  const SIGNS = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&#x27;": "'" };
  const template = document.createElement("template");
  const create = (bodies) => {
    template.innerHTML = `<table>${bodies}</table>`;
    return [...template.content.firstChild.tBodies];
  };
  const unescape = (text) => text.replace(/&(?:lt|gt|amp|quot|#x27);/g, (sign) => SIGNS[sign]);
  const readText = (row) => (row.words ??= unescape(row.text.replace(/<[^>]*>/g, " ")).toLowerCase());
  const readKeys = (text) =>
    Object.fromEntries(
      [...text.slice(0, text.indexOf(">")).matchAll(/ data-(\w+)="([^"]*)"/g)].map((found) => [found[1], unescape(found[2])]),
    );

  // With scripts, what is inside <noscript> is text. A row is made of its part of the text when it is to be seen.
  const [frame, ...texts] = all.textContent.replace(/<\/table>\s*$/, "").split(/\n(?=<tbody )/);
  const rows = texts.map((text) => ({ text, keys: readKeys(text), words: null }));
  all.insertAdjacentHTML("beforebegin", `${frame}</table>`);
  const table = document.getElementById("table");
  const controls = document.getElementById("controls");
  const shown = document.getElementById("shown");
  const filters = [...controls.querySelectorAll("[name]")];
  const search = document.getElementById("search");
  let chosen = rows;
  let made = 0;
  let unfolds = false;

  function unfold(bodies) {
    for (const body of bodies) for (const one of body.querySelectorAll("details")) one.open = unfolds;
  }

  function add(number) {
    const bodies = create(chosen.slice(made, made + number).map((row) => row.text).join("\n"));
    made += bodies.length;
    if (unfolds) unfold(bodies);
    table.append(...bodies);
  }

  function fill() {
    while (made < chosen.length && table.getBoundingClientRect().bottom < 2 * innerHeight) add(CHUNK);
  }

  function show() {
    for (const body of [...table.tBodies]) body.remove();
    made = 0;
    add(CHUNK);
    fill();
    shown.textContent = `${chosen.length} of ${rows.length} shown`;
  }

  function filter() {
    const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = filters.filter((one) => one.value).map((one) => [one.name, one.list ? one.value : ` ${one.value} `]);
    chosen = rows.filter(
      (row) =>
        wanted.every(([name, value]) => ` ${row.keys[name]} `.includes(value)) &&
        words.every((word) => readText(row).includes(word)),
    );
    show();
  }

  function sort(head) {
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const { key } = head.querySelector("button").dataset;
    const order = new Intl.Collator("en", { numeric: true });
    const value = (row) => row.keys[`by${key}`] ?? row.keys[key];
    rows.sort((a, b) => order.compare(value(a), value(b)) * (up ? 1 : -1));
    filter();
  }

  function expand(open) {
    unfolds = open;
    unfold(table.tBodies);
  }

  function reset() {
    for (const one of [...filters, search]) one.value = "";
    filter();
  }

  function prepareSearch(idle) {
    for (const row of rows) {
      if (row.words !== null) continue;
      if (idle.timeRemaining() < 1) return void requestIdleCallback(prepareSearch);
      readText(row);
    }
  }

  controls.addEventListener("input", filter);
  document.getElementById("reset").addEventListener("click", reset);
  document.getElementById("expand").addEventListener("click", () => expand(true));
  document.getElementById("collapse").addEventListener("click", () => expand(false));
  table.tHead.addEventListener("click", (event) => {
    const head = event.target.closest("th");
    if (head && head.querySelector("button")) sort(head);
  });
  for (const button of document.querySelectorAll("button[data-show]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      reset();
      for (const part of button.dataset.show.split(" ")) {
        const [name, value] = part.split("=");
        controls.querySelector(`[name="${name}"]`).value = value;
      }
      filter();
      document.getElementById("findings").scrollIntoView();
      search.focus({ preventScroll: true });
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      search.focus();
    }
  });
  for (const moved of ["scroll", "resize"]) addEventListener(moved, fill, { passive: true });
  addEventListener("beforeprint", () => {
    expand(true);
    add(chosen.length);
  });
  controls.hidden = false;
  show();
  window.requestIdleCallback?.(prepareSearch);
})();
