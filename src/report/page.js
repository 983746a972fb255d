"use strict";
// Tables are sorted by their heads; a threshold is moved and the counts follow. Without this script all is readable.
(() => {
  const number = (text) => {
    const found = text.replace(/[\s,]/g, "").match(/^[-+]?\d+(\.\d+)?(?=$|%|[^\d.])/);
    return found ? Number(found[0]) : null;
  };

  const compare = (a, b) => {
    const [x, y] = [number(a), number(b)];
    if (x !== null && y !== null) return x - y;
    if (x !== null) return -1;
    if (y !== null) return 1;
    return a.localeCompare(b);
  };

  const sortBy = (table, column, heads) => {
    const head = heads[column];
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const text = (row) => (row.cells[column] ? row.cells[column].textContent : "");
    rows.sort((a, b) => (down ? compare(text(b), text(a)) : compare(text(a), text(b))));
    body.append(...rows);
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.querySelectorAll("thead th")];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => sortBy(table, column, heads));
      head.replaceChildren(button);
    });
  }

  const fill = (table, heads, rows) => {
    const row = (cells, tag) => {
      const line = document.createElement("tr");
      for (const cell of cells) {
        const place = document.createElement(tag);
        if (tag === "th") place.scope = "col";
        place.textContent = cell;
        if (cell.length > 32) place.className = "long";
        line.append(place);
      }
      return line;
    };
    table.tHead.replaceChildren(row(heads, "th"));
    table.tBodies[0].replaceChildren(...rows.map((cells) => row(cells, "td")));
  };

  for (const box of document.querySelectorAll(".slider")) {
    const data = JSON.parse(box.querySelector("script").textContent);
    const [input, output] = [box.querySelector("input"), box.querySelector("output")];
    const [counts, examples] = box.querySelectorAll("table");
    const show = () => {
      const from = Number(input.value);
      const sums = data.series.map(() => [0, 0]);
      for (const [score, here] of data.bins) {
        here.forEach((count, place) => {
          sums[place][0] += score >= from ? count : 0;
          sums[place][1] += count;
        });
      }
      const share = ([part, all]) => (all ? `${((100 * part) / all).toFixed(4)} %` : "-");
      output.textContent = `${from} ${data.unit}`;
      input.setAttribute("aria-valuetext", output.textContent);
      fill(counts, ["what", "at or above", "of", "share"], data.series.map((name, place) =>
        [name, String(sums[place][0]), String(sums[place][1]), share(sums[place])]));
      const above = data.examples.filter(([score]) => score >= from).slice(0, 20);
      fill(examples, data.heads, above.map(([, cells]) => cells));
    };
    input.addEventListener("input", show);
    box.hidden = false;
    show();
  }
})();
