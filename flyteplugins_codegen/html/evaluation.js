"use strict";
// Shows the samples, a page at a time. Texts are set as texts: nothing of a sample ever becomes markup.
(() => {
  const PAGE = 50;
  const [TASK, OUTCOME, INDEX, NAME, REASON, JUDGED_BY, CPU_S, WALL_S, ATTEMPTS, CODE] = Array(10).keys();
  const data = JSON.parse(document.getElementById("data").textContent);
  const [task, outcome, found, list, previous, next] =
    ["task", "outcome", "found", "list", "previous", "next"].map((id) => document.getElementById(id));
  let exactly = null; // the task of the button that was pressed: part of its name may be all of another's
  let start = 0;

  const element = (kind, text, name = "") => {
    const made = document.createElement(kind);
    made.textContent = text;
    made.className = name;
    return made;
  };

  const body = (row) => {
    const attempts = row[ATTEMPTS] > 1 ? `, run ${row[ATTEMPTS]} times` : "";
    const parts = [element("p", `judged by ${row[JUDGED_BY]}, ${row[CPU_S]} s CPU, ${row[WALL_S]} s wall${attempts}`)];
    if (row[REASON]) parts.push(element("pre", row[REASON], "reason"));
    if (row[CODE] !== null) parts.push(element("pre", data.codes[row[CODE]], "code"));
    return parts;
  };

  const entry = (row) => {
    const ended = data.outcomes[row[OUTCOME]];
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    const named = row[NAME] ? ` ${row[NAME]}` : "";
    summary.append(element("i", "", `dot ${ended}`), ` ${data.tasks[row[TASK]]} #${row[INDEX]}${named} `);
    summary.append(element("small", [ended.replaceAll("_", " "), row[REASON].split("\n")[0].slice(0, 120)].filter(Boolean).join(": ")));
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(...body(row));
    });
    return details;
  };

  const isWanted = (row) => {
    const name = data.tasks[row[TASK]];
    const isNamed = exactly === null ? name.toLowerCase().includes(task.value.trim().toLowerCase()) : name === exactly;
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

  const restart = (name, ended) => {
    [exactly, start, task.value, outcome.value] = [name, 0, name ?? task.value, ended];
    show();
  };

  const openSample = (position) => {
    const row = data.rows[position];
    restart(data.tasks[row[TASK]], "");
    start = Math.floor(data.rows.filter(isWanted).indexOf(row) / PAGE) * PAGE;
    show();
    const details = list.children[data.rows.filter(isWanted).indexOf(row) - start];
    details.open = true;
    details.scrollIntoView();
  };

  task.addEventListener("input", () => restart(null, outcome.value));
  outcome.addEventListener("change", () => restart(exactly, outcome.value));
  task.form.addEventListener("submit", (event) => event.preventDefault());
  previous.addEventListener("click", () => { start -= PAGE; show(); });
  next.addEventListener("click", () => { start += PAGE; show(); });
  for (const button of document.querySelectorAll("button[data-task]")) {
    button.addEventListener("click", () => {
      restart(button.dataset.task, "");
      document.getElementById("samples").scrollIntoView();
    });
  }
  for (const button of document.querySelectorAll("button[data-sample]")) {
    button.addEventListener("click", () => openSample(Number(button.dataset.sample)));
  }
  show();
})();
