// Buttons for the open cells: run, edit, restart, reset. `lib/site/live.py` writes this module into the pages that it serves.
const page = location.pathname.match(/^\/book\/(.+)\.html$/)?.[1];
const cells = [];
let socket;

const lost = "Python cannot be reached: is make serve running, and did you open the address that it printed?";

const ask = (message) => {
  if (!(socket?.readyState <= WebSocket.OPEN)) {
    socket = new WebSocket(`ws://${location.host}/live/${page}`);
    socket.addEventListener("message", ({ data }) => {
      const said = JSON.parse(data);
      cells[said.cell].hear(said);
    });
    socket.addEventListener("close", () => stop(lost));
  }
  const send = () => socket.send(JSON.stringify(message));
  socket.readyState === WebSocket.OPEN ? send() : socket.addEventListener("open", send, { once: true });
};
const stop = (why) => cells.forEach((cell) => cell.busy && cell.hear({ done: why }));

const element = (name, className, text = "") => {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
};

// what is shown of an output: as the book's own outputs are
const shown = (said, before) => {
  if (said.html !== undefined) {
    const box = element("div", "output text_html");
    box.append(document.createRange().createContextualFragment(said.html)); // its scripts run
    return box;
  }
  if (said.png !== undefined) {
    const picture = element("img", "output");
    picture.src = `data:image/png;base64,${said.png}`;
    picture.alt = "figure drawn by this cell";
    return picture;
  }
  const wrong = said.error !== undefined;
  const kind = `output stream highlight-myst-ansi notranslate${wrong ? " live-error" : ""}`;
  if (before?.className === kind) {
    before.querySelector("pre").append(said.text ?? said.error);
    return before;
  }
  const box = element("div", kind);
  const inner = element("div", "highlight");
  const text = element("pre", "", said.text ?? said.error);
  text.tabIndex = 0; // long lines scroll by keyboard
  text.role = "group";
  text.ariaLabel = "output";
  inner.append(text);
  box.append(inner);
  return box;
};

const live = (input, number) => {
  const code = input.querySelector("pre");
  const printed = [...input.parentElement.querySelectorAll(":scope > .cell_output")];
  const book = code.innerHTML;
  const text = code.innerText;
  const bar = element("div", "live-bar");
  bar.role = "group"; // all cells have the same buttons
  bar.ariaLabel = `cell ${number + 1}`;
  const status = element("span", "live-status");
  const output = element("div", "cell_output docutils container live-output");
  const cell = { busy: false };
  status.setAttribute("role", "status");

  const button = (label, title, act) => {
    const made = element("button", "", label);
    made.type = "button";
    made.title = title;
    made.addEventListener("click", act);
    bar.append(made);
    return made;
  };

  cell.hear = (said) => {
    if (said.status ?? said.done) status.textContent = said.status ?? said.done;
    if (said.clear) {
      for (const part of printed) part.hidden = true;
      output.replaceChildren();
      bar.after(output);
    }
    if (["text", "error", "html", "png"].some((kind) => kind in said)) {
      const box = shown(said, output.lastElementChild);
      if (box !== output.lastElementChild) output.append(box);
    }
    if (said.done) {
      cell.busy = false;
      runs.textContent = "Run";
    }
  };
  const run = () => {
    if (cell.busy) return;
    cell.busy = true;
    runs.textContent = "Interrupt";
    restarts.hidden = resets.hidden = false;
    status.textContent = "waiting";
    ask({ ask: "run", cell: number, text, source: code.innerText });
  };
  const edit = () => {
    code.contentEditable = "plaintext-only";
    code.spellcheck = false;
    code.setAttribute("role", "textbox");
    code.setAttribute("aria-multiline", true);
    code.setAttribute("aria-label", `code of cell ${number + 1}; Shift-Enter runs it`);
    resets.hidden = false;
  };
  const leave = () => {
    for (const name of ["contenteditable", "role", "aria-multiline", "aria-label"]) code.removeAttribute(name);
  };

  const runs = button("Run", "Shift-Enter; what this cell needs of earlier ones is run first", () =>
    cell.busy ? ask({ ask: "interrupt" }) : run());
  button("Edit", "or click into the code; Escape leaves it", () => { edit(); code.focus(); });
  const restarts = button("Restart", "end Python; the next run starts it anew", () => {
    ask({ ask: "restart" });
    stop("stopped");
    status.textContent = "Python is restarted";
  });
  const resets = button("Reset", "the code and the output of the book", () => {
    leave();
    code.innerHTML = book;
    output.remove();
    for (const part of printed) part.hidden = false;
    status.textContent = "";
  });
  restarts.hidden = resets.hidden = true;
  bar.append(status);
  input.after(bar);

  code.addEventListener("pointerdown", (event) => event.target.closest("a") || edit());
  code.addEventListener("blur", () => document.activeElement === code || leave()); // not when the window is left
  code.addEventListener("keydown", (event) => {
    if (!code.isContentEditable || event.key === "Tab") return;
    event.stopPropagation(); // the site has keys of its own
    if (event.key === "Escape") runs.focus();
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (event.shiftKey) return run();
    const selection = getSelection();
    selection.deleteFromDocument();
    selection.modify("extend", "backward", "lineboundary");
    const line = selection.toString();
    selection.collapseToEnd();
    const more = line.trimEnd().endsWith(":") ? "    " : "";
    document.execCommand("insertText", false, `\n${line.match(/^ */)[0]}${more}`);
  });
  return cell;
};

if (page) document.querySelectorAll(".bd-article .cell > .cell_input").forEach((input, number) => cells.push(live(input, number)));
addEventListener("pagehide", () => socket?.close());
