"""What report.html does by itself: folds that open where a link leads, and tables that sort. Without it all is there to read."""

SCRIPT = """
(() => {
  const folds = [...document.querySelectorAll("details.fold")];
  const show = () => {
    let at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let up = at; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    if (at) at.scrollIntoView();
  };
  addEventListener("hashchange", show);
  show();
  addEventListener("beforeprint", () => folds.forEach(one => { one.open = true; }));
  document.querySelectorAll("[data-folds]").forEach(button => button.addEventListener("click", () => {
    const open = button.textContent === "open all";
    button.closest("section").querySelectorAll("details.fold").forEach(one => { one.open = open; });
    button.textContent = open ? "close all" : "open all";
  }));
  const value = cell => {
    const text = cell ? cell.textContent.trim() : "";
    const found = text.match(/[-+]?[0-9][0-9,]*(\\.[0-9]+)?(?: *(ns|µs|ms|s)\\b)?/);
    if (!found) return [1, text];
    const unit = { "µs": 1e3, ms: 1e6, s: 1e9 }[found[2]] || 1;
    return [0, parseFloat(found[0].replace(/,/g, "")) * unit, text];
  };
  document.querySelectorAll("table.sorts th").forEach(head => {
    head.tabIndex = 0;
    const sort = () => {
      const table = head.closest("table"), body = table.tBodies[0];
      const column = [...head.parentElement.children].indexOf(head);
      const up = head.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("th").forEach(one => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const text = head.classList.contains("n") ? 0 : 1;
      [...body.rows].map(row => [text ? [1, row.cells[column].textContent] : value(row.cells[column]), row])
        .sort((a, b) => (a[0][0] - b[0][0] || (a[0][1] < b[0][1] ? -1 : a[0][1] > b[0][1] ? 1 : 0)) * (up ? 1 : -1))
        .forEach(pair => body.append(pair[1]));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => { if (event.key === "Enter") sort(); });
  });
  document.querySelectorAll("input[data-filter]").forEach(box => box.addEventListener("input", () => {
    const wanted = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const row of box.parentElement.querySelector("table").tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every(word => text.includes(word));
    }
  }));
})();
"""
