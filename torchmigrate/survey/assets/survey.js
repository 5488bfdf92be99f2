"use strict";
(() => {
  const { heads, families, rows } = JSON.parse(document.getElementById("data").textContent);
  const BATCH = 100;
  const table = document.getElementById("table"), body = table.tBodies[0];
  const controls = document.getElementById("controls"), search = document.getElementById("search");
  const filters = [...controls.querySelectorAll("select")];
  const order = new Intl.Collator("en", { numeric: true });
  let found = rows, made = 0;

  const has = {
    rule: (row, value) => value in row.rules,
    family: (row, value) => Object.keys(row.rules).some((code) => families[code] === value),
    owner: (row, value) => row.owners.includes(value),
  };
  const spelled = (value) => (Array.isArray(value) ? value.join(", ") : String(value ?? ""));
  const text = (row) => `${row.repository} ${row.owners.join(" ")} ${Object.keys(row.rules).join(" ")}`.toLowerCase();

  function make(row) {
    const line = document.createElement("tr");
    for (const key of heads) {
      const cell = line.insertCell();
      cell.textContent = spelled(row[key]);
      if (Array.isArray(row[key])) cell.className = "names";
      else if (typeof row[key] === "number") cell.className = "number";
    }
    line.title = Object.entries(row.rules).map(([code, counted]) => `${code}: ${spelled(Object.values(counted))}`).join("\n");
    if (row.failure) {
      const cell = line.insertCell();
      cell.className = "error";
      cell.textContent = row.failure;
    }
    return line;
  }

  function more() {
    body.append(...found.slice(made, made + BATCH).map(make));
    made = Math.min(made + BATCH, found.length);
  }

  function show() {
    body.replaceChildren();
    made = 0;
    more();
    document.getElementById("shown").textContent = `${found.length} of ${rows.length} shown`;
  }

  function filter() {
    const wanted = search.value.trim().toLowerCase().split(/\s+/);
    found = rows.filter(
      (row) => filters.every((one) => !one.value || has[one.name](row, one.value)) && wanted.every((word) => text(row).includes(word)),
    );
    show();
  }

  function sort(head) {
    const key = head.querySelector("button").dataset.key;
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    rows.sort((a, b) => order.compare(spelled(a[key]), spelled(b[key])) * (up ? 1 : -1));
    filter();
  }

  function choose(name, value) {
    for (const one of [...filters, search]) one.value = "";
    if (name) controls.querySelector(`select[name="${name}"]`).value = value;
    filter();
  }

  controls.addEventListener("input", filter);
  document.getElementById("reset").addEventListener("click", () => choose("", ""));
  table.tHead.addEventListener("click", (event) => {
    const head = event.target.closest("th");
    if (head) sort(head);
  });
  for (const name of ["rule", "family", "owner"]) {
    for (const button of document.querySelectorAll(`button[data-${name}]`)) {
      button.addEventListener("click", () => {
        choose(name, button.dataset[name]);
        document.getElementById("findings").scrollIntoView();
      });
    }
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      search.focus();
    }
  });
  new IntersectionObserver((seen) => {
    if (seen.some((one) => one.isIntersecting) && made < found.length) more();
  }, { rootMargin: "600px" }).observe(document.getElementById("more"));
  addEventListener("beforeprint", () => {
    while (made < found.length) more();
  });
  controls.hidden = false;
  filter();
})();
