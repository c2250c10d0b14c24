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

  // A browser takes a minute to lay out tens of thousands of cells that stick. So only rows near those in sight have
  // cells that stick, and a long table begins with as many rows as the page shows; the others follow as it is scrolled.
  const box = holder.querySelector(".tall");
  const step = body.querySelectorAll("tr:not(.later)").length;
  let most = step;
  let last = null;
  const trim = () => {
    let count = 0;
    for (const row of body.rows) {
      if (row.hidden) continue;
      count += 1;
      row.classList.toggle("later", count > most);
      if (count <= most) last = row;
    }
  };
  const near = new IntersectionObserver(
    (changes) => {
      for (const one of changes) one.target.classList.toggle("near", one.isIntersecting);
      if (!changes.some((one) => one.isIntersecting && one.target === last)) return;
      most += step;
      trim();
    },
    { root: box, rootMargin: "100% 0px" },
  );
  for (const row of rows) near.observe(row);

  const filter = () => {
    const wanted = menus.filter((menu) => menu.value);
    let kept = 0;
    for (const row of rows) {
      row.hidden = !wanted.every((menu) => row.cells[menu.dataset.column].textContent === menu.value);
      if (!row.hidden) kept += 1;
    }
    trim();
    box.scrollTop = 0;
    output.textContent = kept === rows.length ? `${grouped(rows.length)} ${holder.dataset.row}s` : `${grouped(kept)} of ${grouped(rows.length)} ${holder.dataset.row}s`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();

  // On a phone a row is a card, whose values carry their headings. Elsewhere the columns that name a row stay in sight.
  const heads = [...table.tHead.rows[0].cells];
  const named = heads.slice(0, Number(holder.dataset.named));
  const labels = heads.map((head, column) => `#${table.id} td:nth-child(${column + 1})::before{content:${JSON.stringify(head.textContent)}}`);
  const rules = holder.appendChild(document.createElement("style"));
  const stick = () => {
    let left = 0;
    const texts = [];
    for (const [column, head] of named.entries()) {
      const width = head.getBoundingClientRect().width;
      if (left + width > box.clientWidth / 2) break;
      texts.push(`#${table.id} :is(thead tr,tr.near)>:nth-child(${column + 1}){position:sticky;left:${left}px}`);
      left += width;
    }
    rules.textContent = `@media screen and (max-width:44rem){${labels.join("")}}@media screen and (min-width:44.01rem){${texts.join("")}}`;
  };
  const sizes = new ResizeObserver(stick);
  for (const one of [box, ...named]) sizes.observe(one);

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.k ?? row.cells[column].textContent;
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "" || y === "") return (x === "") - (y === "");
        const order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
        return down ? -order : order;
      };
      body.append(...[...rows].sort(compare));
      trim();
      box.scrollTop = 0;
    });
  });
}
