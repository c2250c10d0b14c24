"use strict";
// Figures answer: by pointer, by touch, and with the arrow keys of a focused figure.
(() => {
  const tip = document.getElementById("answer-tip");
  let current = null;
  const show = (mark) => {
    if (mark === current) return;
    if (current) current.classList.remove("on");
    current = mark;
    tip.hidden = !mark;
    if (!mark) return;
    mark.classList.add("on");
    tip.textContent = mark.dataset.answer;
    const box = mark.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left + box.width / 2 - own.width / 2), innerWidth - own.width - 8);
    const above = box.top - own.height - 8;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 8 ? above : box.bottom + 8}px`;
  };
  for (const plot of document.querySelectorAll("svg.plot")) {
    const marks = [...plot.querySelectorAll(".mark")];
    for (const mark of marks) {
      const title = mark.querySelector("title");
      mark.dataset.answer = title.textContent;
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", title.textContent.replace(/\n/g, ": "));
      title.remove();
    }
    plot.addEventListener("pointerover", (event) => show(event.target.closest(".mark")));
    plot.addEventListener("pointerleave", () => show(null));
    plot.addEventListener("blur", () => show(null));
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") show(null);
      if (!step || !marks.length) return;
      event.preventDefault();
      const at = marks.indexOf(current);
      show(marks[at < 0 ? (step > 0 ? 0 : marks.length - 1) : (at + step + marks.length) % marks.length]);
    });
  }
  addEventListener("scroll", () => show(null), { passive: true });
})();

/** A whole number with thin spaces from 10 000 on, as the page has them elsewhere. */
const grouped = (number) => number < 10000 ? String(number) : String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");

// Tables of treatments: a heading sorts, the menus filter.
for (const holder of document.querySelectorAll("[data-table]")) {
  const table = holder.querySelector("table");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const form = holder.querySelector("form");
  const menus = [...form.querySelectorAll("select")];
  const output = form.querySelector("output");
  form.hidden = false;

  const filter = () => {
    const wanted = menus.filter((menu) => menu.value);
    let kept = 0;
    for (const row of rows) {
      row.hidden = !wanted.every((menu) => row.cells[menu.dataset.column].textContent === menu.value);
      if (!row.hidden) kept += 1;
    }
    output.textContent = kept === rows.length ? `${grouped(rows.length)} ${holder.dataset.row}s` : `${grouped(kept)} of ${grouped(rows.length)} ${holder.dataset.row}s`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();

  // On a phone a row is a card, whose values carry their headings. Elsewhere the columns that name a row stay in sight.
  const heads = [...table.tHead.rows[0].cells];
  for (const row of rows) heads.forEach((head, column) => (row.cells[column].dataset.label = head.textContent));
  const named = Number(holder.dataset.named);
  const rules = holder.appendChild(document.createElement("style"));
  const stick = () => {
    let left = 0;
    const texts = [];
    for (const [column, head] of heads.slice(0, named).entries()) {
      const width = head.getBoundingClientRect().width;
      if (left + width > holder.querySelector(".tall").clientWidth / 2) break;
      texts.push(`#${table.id} tr>:nth-child(${column + 1}){position:sticky;left:${left}px}`);
      left += width;
    }
    rules.textContent = `@media screen and (min-width:44.01rem){${texts.join("")}}`;
  };
  stick();
  addEventListener("resize", stick);

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.k;
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "" || y === "") return (x === "") - (y === "");
        const order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
        return down ? -order : order;
      };
      body.append(...[...rows].sort(compare));
    });
  });
}
