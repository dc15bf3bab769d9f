// Shows a turn: the HTML that Python has made of it, which is safe, and buttons whose clicks go back to Python.

const PATIENCE = 2000; // milliseconds
const BUSY =
  "The kernel has not taken this yet: it does when the cell that runs is done. If that cell waits for this turn, " +
  "interrupt it, and end it with show(agent.send(…)) without await.";

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function button(label, onclick) {
  return element("button", { type: "button", textContent: label, onclick });
}

/** What the user is asked about a call. */
class Question {
  constructor(name, { number, arguments: given }, send) {
    this.number = number;
    this.problem = element("p", { className: "stepwell-problem", role: "alert" });
    const edited = element("textarea", {
      value: given,
      rows: Math.min(20, given.split("\n").length + 1),
      hidden: true,
      spellcheck: false,
      "aria-label": `Arguments of ${name}, as JSON`,
    });
    const reason = element("input", {
      type: "text",
      placeholder: "why not: the model reads it",
      "aria-label": `Why ${name} may not run`,
    });
    const answer = (message) => {
      this.group.disabled = true;
      this.problem.textContent = "";
      send({ ...message, number });
    };
    const edit = button("Edit", () => {
      edited.hidden = !edited.hidden;
      edit.setAttribute("aria-expanded", String(!edited.hidden));
      run.textContent = edited.hidden ? "Run" : "Run with these";
      (edited.hidden ? edit : edited).focus();
    });
    edit.setAttribute("aria-expanded", "false");
    edited.addEventListener("keydown", (event) => event.key === "Escape" && edit.click());
    const run = button("Run", () => answer({ do: "run", text: edited.hidden ? null : edited.value }));
    run.className = "stepwell-main";
    const deny = button("Deny", () => answer({ do: "deny", text: reason.value }));
    reason.addEventListener("keydown", (event) => event.key === "Enter" && deny.click());
    this.group = element(
      "fieldset",
      {},
      element("legend", {}, "May ", element("code", { textContent: name }), " run?"),
      edited,
      element("div", { className: "stepwell-buttons" }, run, edit, deny, reason),
      this.problem,
    );
  }

  update({ problem }) {
    if (problem === this.problem.textContent) return;
    this.problem.textContent = problem;
    this.group.disabled = false;
  }
}

/** One piece of the view. */
class Piece {
  constructor(send) {
    this.send = send;
    this.body = element("div");
    this.controls = element("div");
    this.box = element("div", {}, this.body, this.controls);
  }

  update({ html, call, question }) {
    if (html !== this.html) {
      const open = [...this.body.querySelectorAll("details")].map((each) => each.open);
      this.body.innerHTML = this.html = html;
      this.body.querySelectorAll("details").forEach((each, at) => (each.open ||= Boolean(open[at])));
    }
    const shows = question ? question.number : call ? call.id : null;
    if (shows !== this.shows) {
      this.shows = shows;
      this.question = question ? new Question(call.name, question, this.send) : null;
      const cancel = () => this.send({ do: "cancel_call", call: call.id });
      const shown = question ? [this.question.group] : call ? [button(`Cancel ${call.name}`, cancel)] : [];
      this.controls.replaceChildren(...shown);
    }
    this.question?.update(question);
  }
}

function render({ model, el }) {
  const live = element("div", { className: "stepwell-live", role: "status" });
  const notice = element("p", { className: "stepwell-problem", role: "alert" });
  const pieces = element("div");
  const cancel = button("Cancel the turn", () => send({ do: "cancel" }));
  const root = element(
    "section",
    // JupyterLab's own keys are not for what is in here.
    { className: "stepwell", "aria-label": "Turn", tabIndex: -1, "data-lm-suppress-shortcuts": "true" },
    pieces,
    element("div", { className: "stepwell-buttons" }, cancel),
    notice,
    live,
  );

  const sent = new Map();
  const send = (message) => {
    const click = crypto.randomUUID?.() ?? String(Math.random());
    sent.set(click, setTimeout(() => (notice.textContent = BUSY), PATIENCE));
    model.send({ ...message, click });
  };
  const onMessage = ({ took }) => {
    if (!sent.has(took)) return;
    clearTimeout(sent.get(took));
    sent.delete(took);
    if (sent.size === 0) notice.textContent = "";
  };

  const shown = [];
  const draw = () => {
    const had = root.contains(document.activeElement);
    const items = model.get("items");
    while (shown.length > items.length) shown.pop().box.remove();
    items.forEach((item, at) => {
      if (at === shown.length) {
        shown.push(new Piece(send));
        pieces.append(shown[at].box);
      }
      shown[at].update(item);
    });
    // What had the focus is gone: the place is not to be.
    if (had && !root.contains(document.activeElement)) root.focus();
  };
  const tell = () => {
    live.textContent = model.get("status");
    cancel.hidden = !model.get("is_running");
  };
  model.on("msg:custom", onMessage);
  model.on("change:items", draw);
  model.on("change:status", tell);
  model.on("change:is_running", tell);
  draw();
  tell();
  el.append(root);
  return () => {
    sent.forEach(clearTimeout);
    model.off("msg:custom", onMessage);
    model.off("change:items", draw);
    model.off("change:status", tell);
    model.off("change:is_running", tell);
  };
}

/** Once Python has heard of us, it sends what has changed; the model keeps the whole, for a view that is made later. */
function initialize({ model }) {
  model.on("msg:custom", ({ patch, length }) => {
    if (!patch) return;
    const items = model.get("items").slice(0, length);
    for (const [at, item] of patch) items[at] = item;
    // A change was missed: a page that was loaded meanwhile.
    if (items.length !== length || items.includes(undefined)) model.send({ do: "show" });
    else model.set("items", items);
  });
  model.send({ do: "show" });
}

export default { initialize, render };
