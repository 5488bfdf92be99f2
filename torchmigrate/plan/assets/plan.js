"use strict";
(() => {
  const table = document.getElementById("table");
  if (!table) return;
  const rows = [...table.tBodies];
  const controls = document.getElementById("controls");
  const shown = document.getElementById("shown");
  const filters = [...controls.querySelectorAll("select")];
  const search = document.getElementById("search");
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

  const fits = (row, filter) =>
    !filter.value || ` ${row.dataset[filter.name]} `.includes(` ${filter.value} `);

  function filter() {
    const wanted = search.value.trim().toLowerCase().split(/\s+/);
    let count = 0;
    for (const row of rows) {
      const text = texts.get(row);
      const fit = wanted.every((word) => text.includes(word)) && filters.every((one) => fits(row, one));
      row.hidden = !fit;
      count += fit;
    }
    shown.textContent = `${count} of ${rows.length} shown`;
  }

  function sort(head) {
    const button = head.querySelector("button");
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = button.dataset.key;
    const order = new Intl.Collator("en", { numeric: true });
    const value = (row) => row.dataset[`by${key}`] ?? row.dataset[key];
    const sorted = [...table.tBodies].sort((a, b) => order.compare(value(a), value(b)) * (up ? 1 : -1));
    table.append(...sorted);
  }

  function expand(open) {
    for (const row of rows) if (!row.hidden) for (const one of row.querySelectorAll("details")) one.open = open;
  }

  controls.addEventListener("input", filter);
  document.getElementById("reset").addEventListener("click", () => {
    for (const one of [...filters, search]) one.value = "";
    filter();
  });
  document.getElementById("expand").addEventListener("click", () => expand(true));
  document.getElementById("collapse").addEventListener("click", () => expand(false));
  table.tHead.addEventListener("click", (event) => {
    const head = event.target.closest("th");
    if (head && head.querySelector("button")) sort(head);
  });
  for (const button of document.querySelectorAll("button[data-show]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      for (const one of [...filters, search]) one.value = "";
      for (const part of button.dataset.show.split(" ")) {
        const [name, value] = part.split("=");
        controls.querySelector(`select[name="${name}"]`).value = value;
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
  addEventListener("beforeprint", () => expand(true));
  controls.hidden = false;
  filter();
})();
