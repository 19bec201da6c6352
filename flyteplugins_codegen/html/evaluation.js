"use strict";
// Lists the samples, page by page. Strings are only set as text, so nothing of a sample becomes markup.
(() => {
  const PAGE = 50;
  const [TASK, OUTCOME, INDEX, NAME, REASON, JUDGED_BY, CPU_S, WALL_S, ATTEMPTS, CODE] = Array(10).keys();
  const data = JSON.parse(document.getElementById("data").textContent);
  const [task, outcome, found, list, previous, next] =
    ["task", "outcome", "found", "list", "previous", "next"].map((id) => document.getElementById(id));
  let chosen = null; // the number of the problem whose button was pressed: a name may be part of another's
  let start = 0;

  const element = (tag, text, name = "") => {
    const created = document.createElement(tag);
    created.textContent = text;
    created.className = name;
    return created;
  };

  const listing = (text) => {
    const code = element("div", "", "code");
    code.tabIndex = 0;
    code.append(element("pre", text));
    return code;
  };

  const body = (row) => {
    const attempts = row[ATTEMPTS] > 1 ? `, run ${row[ATTEMPTS]} times` : "";
    const judged = `judged by ${row[JUDGED_BY]}, ${row[CPU_S]} s CPU, ${row[WALL_S]} s wall${attempts}`;
    const parts = [element("p", judged, "muted")];
    if (row[REASON]) parts.push(element("pre", row[REASON], "log reason"));
    if (row[CODE] !== null) parts.push(listing(data.codes[row[CODE]]));
    return parts;
  };

  const entry = (row) => {
    const ended = data.outcomes[row[OUTCOME]];
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    const name = row[NAME] ? ` ${row[NAME]}` : "";
    summary.append(element("i", "", `dot ${ended}`), ` ${data.tasks[row[TASK]]} #${row[INDEX]}${name} `);
    summary.append(element("small", [ended.replaceAll("_", " "), row[REASON].split("\n")[0].slice(0, 120)].filter(Boolean).join(": ")));
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(...body(row));
    });
    return details;
  };

  const isWanted = (row) => {
    const part = task.value.trim().toLowerCase();
    const isNamed = chosen === null ? data.tasks[row[TASK]].toLowerCase().includes(part) : row[TASK] === chosen;
    return isNamed && (!outcome.value || data.outcomes[row[OUTCOME]] === outcome.value);
  };

  const show = () => {
    const wanted = data.rows.filter(isWanted);
    const end = Math.min(start + PAGE, wanted.length);
    found.textContent = wanted.length ? `${start + 1} to ${end} of ${wanted.length} samples` : "no such sample";
    list.replaceChildren(...wanted.slice(start, end).map(entry));
    previous.disabled = start === 0;
    next.disabled = end === wanted.length;
  };

  const restart = (number, ended) => {
    [chosen, start, task.value, outcome.value] = [number, 0, number === null ? task.value : data.tasks[number], ended];
    show();
  };

  const openSample = (position) => {
    const row = data.rows[position];
    restart(row[TASK], "");
    const place = data.rows.filter(isWanted).indexOf(row);
    start = Math.floor(place / PAGE) * PAGE;
    show();
    const details = list.children[place - start];
    details.open = true;
    details.scrollIntoView();
  };

  task.addEventListener("input", () => restart(null, outcome.value));
  outcome.addEventListener("change", () => restart(chosen, outcome.value));
  task.form.addEventListener("submit", (event) => event.preventDefault());
  previous.addEventListener("click", () => { start -= PAGE; show(); });
  next.addEventListener("click", () => { start += PAGE; show(); });
  for (const button of document.querySelectorAll("button[data-task]")) {
    button.addEventListener("click", () => {
      restart(Number(button.value), "");
      document.getElementById("samples").scrollIntoView();
    });
  }
  for (const button of document.querySelectorAll("button[data-sample]")) {
    button.addEventListener("click", () => openSample(Number(button.dataset.sample)));
  }
  show();
})();
