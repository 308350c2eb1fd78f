// Elements made of text, never of HTML: whatever a job writes stays text.

/** An element. `props`: attributes; `onclick` and the like; `class`. null, undefined and false are left out. */
function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** Sets an element's text where it differs, so that a reader's selection in it stays. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Calls `draw(value)` only where `value` differs from the last one, and puts what it returns in place of the children. */
function redrawn(element, draw) {
  let last;
  return (value) => {
    const key = JSON.stringify(value);
    if (key === last) return;
    last = key;
    element.replaceChildren(...[draw(value)].flat().filter(Boolean));
  };
}

/** A button that copies `text()` and says so. */
function copyButton(label, text, title) {
  const button = h("button", {
    type: "button", class: "amnb-button", title,
    onclick: async () => {
      const done = await copied(text());
      setText(button, done ? "Copied" : "Not allowed");
      setTimeout(() => setText(button, label), 1500);
    },
  }, label);
  return button;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // no clipboard on a page that came over plain http
    const area = h("textarea", { style: "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** Words between backticks as code. */
function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part));
}

const count = (number) => number.toLocaleString("en-US");
