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
    const found = text.match(/[-+]?[0-9][0-9,]*(\.[0-9]+)?(?: *(ns|µs|ms|s)\b)?/);
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
  document.querySelectorAll("input[data-filter], button[data-only]").forEach(tool => {
    const place = tool.closest("section, details, div:has(table)") || document;
    const box = place.querySelector("input[data-filter]"), only = place.querySelector("button[data-only]");
    const filter = () => {
      const wanted = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      const kind = only && only.getAttribute("aria-pressed") === "true" ? "td .word." + only.dataset.only : "";
      for (const row of place.querySelector("table").tBodies[0].rows) {
        const text = ((row.dataset.words || "") + " " + row.textContent).toLowerCase();
        row.hidden = !wanted.every(word => text.includes(word)) || (kind && !row.querySelector(kind));
      }
    };
    if (tool === box) box.addEventListener("input", filter);
    else tool.addEventListener("click", () => {
      tool.setAttribute("aria-pressed", tool.getAttribute("aria-pressed") !== "true");
      filter();
    });
  });
  document.querySelectorAll("button[data-key]").forEach(key => key.addEventListener("click", () => {
    const shown = key.getAttribute("aria-pressed") !== "true";
    key.setAttribute("aria-pressed", shown);
    key.closest("section").classList.toggle("no-" + key.dataset.key, !shown);
  }));
  const tip = document.body.appendChild(document.createElement("output"));
  tip.className = "tip";
  tip.hidden = true;
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const human = ns => {
    const [scale, unit] = units.find(one => ns >= one[0]) || [1, "ns"];
    return (ns / scale).toPrecision(3) + " " + unit;
  };
  const near = (chart, event) => {  // the nearest of the dots that have a title, and of the vertices of named paths
    let best = [18, ""];
    const offer = (x, y, text) => {
      const far = Math.hypot(event.clientX - x, event.clientY - y);
      if (far < best[0]) best = [far, text()];
    };
    for (const dot of chart.querySelectorAll("circle")) {
      const box = dot.getBoundingClientRect(), title = dot.querySelector("title");
      if (title && box.width) offer(box.x + box.width / 2, box.y + box.height / 2, () => title.textContent);
    }
    for (const path of chart.querySelectorAll("polyline[data-name]")) {
      const box = path.ownerSVGElement.getBoundingClientRect(), { low, high, reach } = chart.dataset;
      if (!path.getBoundingClientRect().width) continue;
      for (const { x, y } of path.points) offer(box.x + x * box.width / 1000, box.y + y * box.height / 1000, () => {
        const percent = 100 * (1 - 10 ** (-(x / 1000 - 0.01) / 0.96 * reach));
        return path.dataset.name + ", " + +percent.toPrecision(5) + " %: " + human(low * (high / low) ** (1 - y / 1000));
      });
    }
    return best[1];
  };
  document.querySelectorAll("svg.chart").forEach(chart => {
    chart.addEventListener("pointermove", event => {
      const text = near(chart, event);
      tip.hidden = !text;
      tip.textContent = text;
      tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)) + "px";
      tip.style.top = event.clientY + 14 + "px";
    });
    chart.addEventListener("pointerleave", () => { tip.hidden = true; });
  });
})();
