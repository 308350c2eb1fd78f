// One field: its label and help, the control that fits it, where its value comes from, and what is wrong with it.

class FieldView {
  constructor(form, doc) {
    Object.assign(this, { form, doc });
    const id = form.newId("field");
    this.id = id;
    this.label = h("label", { for: id, id: `${id}-label`, class: "amnb-label" }, doc.label);
    this.control = makeControl(form, doc, id);
    this.words = h("span", { class: "amnb-words" });
    this.origin = h("span", { class: "amnb-origin" });
    this.restore = iconButton("↺", "Take this value out", () => form.send({ do: "remove", path: doc.path.split(".") }));
    this.lift = h("button", { type: "button", class: "amnb-link", onclick: () => form.send({ do: "lift", path: doc.path.split(".") }) }, "lift");
    this.findings = h("div", { class: "amnb-findings", "aria-live": "polite" });
    this.drawFindings = redrawn(this.findings, (found) => found.map((finding) => findingView(form, finding)));
    this.help = h("div", { class: "amnb-help", id: `${id}-help` }, ...prose(doc.help), doc.default && !doc.choices.length && doc.control !== "switch" ? h("span", {}, ` Default: ${doc.default}.`) : null);
    this.element = h("div", { class: `amnb-field amnb-is-${doc.control}`, "data-field": doc.name },
      h("div", { class: "amnb-label-line" }, this.label, h("span", { class: "amnb-side" }, this.restore, h("span", { class: "amnb-yaml-name" }, doc.name))),
      h("div", { class: "amnb-value-line" }, this.control.element, doc.unit && doc.control !== "restarts" ? h("span", { class: "amnb-unit" }, doc.unit) : null, this.words),
      this.findings,
      h("div", { class: "amnb-help-line" }, this.help, h("div", { class: "amnb-origin-line" }, this.origin, this.lift)));
    const target = this.control.input;
    target?.setAttribute("aria-describedby", `${id}-help`);
    this.element.addEventListener("focusin", () => form.pointAt(doc.path));
    this.element.addEventListener("focusout", () => form.pointAt(null));
  }

  update(state) {
    this.control.update(state);
    const severities = (state?.findings ?? []).map((finding) => finding.severity);
    const worst = ["error", "warning", "hint"].find((severity) => severities.includes(severity));
    this.element.dataset.worst = worst ?? "";
    this.control.input?.setAttribute("aria-invalid", String(worst === "error"));
    this.drawFindings(state?.findings ?? []);
    setText(this.words, state?.words ?? "");
    const inherited = state?.inherited;
    this.restore.hidden = !state?.here;
    const back = inherited ? `Back to the value of ${inherited.origin}` : "Take this value out";
    this.restore.title = back;
    this.restore.setAttribute("aria-label", `${this.doc.label}: ${back}`);
    this.lift.hidden = !inherited || state.here || Array.isArray(inherited.value);
    this.lift.setAttribute("aria-label", `${this.doc.label}: let this default not hold`);
    setText(this.origin, inherited && !state.here ? `from ${inherited.origin}` : inherited ? `goes over ${inherited.origin}` : "");
    this.element.classList.toggle("amnb-here", Boolean(state?.here));
  }

  focus() {
    this.element.scrollIntoView({ block: "nearest" });
    (this.control.focus ?? (() => this.control.input?.focus())).call(this.control);
  }
}

function findingView(form, finding) {
  const sign = { error: "✗", warning: "▲", hint: "›" }[finding.severity];
  const fix = finding.click
    ? h("button", { type: "button", class: "amnb-button amnb-small", onclick: () => form.send({ do: "fix", ...finding.click }) }, ...prose(finding.fix))
    : finding.fix ? h("span", { class: "amnb-fix" }, ...prose(finding.fix)) : null;
  const field = finding.field ? finding.field.split(/[.[]/).slice(0, 2).join(".") : "";
  const text = finding.message.startsWith(`${field}: `) ? finding.message.slice(field.length + 2) : finding.message;
  return h("div", { class: `amnb-finding amnb-${finding.severity}` }, h("span", { class: "amnb-sign", role: "img", "aria-label": finding.severity }, sign), h("div", {}, h("span", {}, ...prose(text)), " ", fix));
}

/** The control for a field: {element, input, update(state), focus?}. */
function makeControl(form, doc, id) {
  const labelled = `${id}-label`;
  const path = doc.path.split(".");
  const send = (value, step) => form.send({ do: "set", path, value, step });
  switch (doc.control) {
    case "switch": return switchControl(form, doc, id, path);
    case "choice": return choiceControl(form, doc, id, send);
    case "secret": return secretControl(form, doc, id, send);
    case "lines": return new LineRows(form, doc, labelled);
    case "mounts": return new MountRows(form, doc, labelled);
    case "environment": return new EnvironmentRows(form, doc, labelled);
    case "pairs": return new PairRows(form, doc, labelled);
    case "restarts": return restartsControl(form, doc, id, path, send);
    default: return textControl(form, doc, id, send);
  }
}

function textControl(form, doc, id, send) {
  const hint = doc.default || (doc.example ? `e.g. ${doc.example.split("\n")[0]}` : "");
  const input = doc.control === "shell" ? shellInput({ id, placeholder: hint }) : textInput({ id, placeholder: hint });
  if (doc.control === "number") stepping(input);
  const bound = new Bound(form, input, send, doc.whenDone);
  const element = doc.combo ? new Combo(form, input, doc.name).element : input;
  return {
    element, input,
    update: (state) => {
      bound.show(state?.text ?? "");
      input.classList.toggle("amnb-inherited", Boolean(state && !state.here && state.inherited));
      const odd = Boolean(state && state.value !== null && typeof state.value === "object" && !state.text);
      input.readOnly = odd;
      input.title = odd ? "Written as a list or mapping: edit it in the YAML" : "";
    },
  };
}

function secretControl(form, doc, id, send) {
  const input = textInput({ id, placeholder: "name of a variable of this kernel" });
  const bound = new Bound(form, input, (text, step) => send(/^[A-Za-z_]\w*$/.test(text.trim()) ? `\${${text.trim()}}` : text.trim(), step), true);
  return {
    element: new Combo(form, input, doc.name).element, input,
    update: (state) => {
      const text = state?.text ?? "";
      bound.show(REFERENCE.exec(text)?.[1] ?? text);
    },
  };
}

function choiceControl(form, doc, id, send) {
  const say = (word) => ({ true: "yes", false: "no" })[word] ?? word;
  const select = h("select", { id, class: "amnb-input" });
  select.addEventListener("change", () => send(select.value, form.newStep()));
  let known;
  return {
    element: select, input: select,
    update: (state) => {
      const text = state?.here ? state.text : "";
      const inherited = state?.inherited ? `${state.inherited.value} (${state.inherited.origin})` : "";
      const words = doc.choices.includes(text) || text === "" ? doc.choices : [...doc.choices, text];
      const key = JSON.stringify([words, inherited]);
      if (key !== known) {
        known = key;
        const unset = inherited || (doc.default ? `${say(doc.default)} (default)` : "—");
        select.replaceChildren(h("option", { value: "" }, unset), ...words.map((word) => h("option", { value: word }, say(word))));
      }
      if (document.activeElement !== select || select.value !== text) select.value = text;
    },
  };
}

function switchControl(form, doc, id, path) {
  const input = h("input", { type: "checkbox", role: "switch", id, class: "amnb-switch" });
  let inherited = false;
  input.addEventListener("change", () => {
    // off is the default: then the line goes, unless a profile says on
    if (input.checked || inherited) form.send({ do: "set", path, value: input.checked, step: form.newStep() });
    else form.send({ do: "remove", path });
  });
  return {
    element: input, input,
    update: (state) => {
      inherited = isTrue(state?.inherited?.value);
      input.checked = isTrue(state?.text);
    },
  };
}

/** Fault tolerance: on or off, and its options. */
function restartsControl(form, doc, id, path, send) {
  const on = h("input", { type: "checkbox", role: "switch", id, class: "amnb-switch" });
  on.addEventListener("change", () => (on.checked ? send(true, form.newStep()) : form.send({ do: "remove", path })));
  const options = form.shape.restarts.map((option) => {
    const input = textInput({ id: `${id}-${option.name}`, placeholder: option.default || "default", title: option.help });
    stepping(input);
    const bound = new Bound(form, input, (text, step) => form.send(text === "" ? { do: "remove", path: [...path, option.name] } : { do: "set", path: [...path, option.name], value: text, step }));
    return { name: option.name, bound, element: h("div", { class: "amnb-sub" }, h("label", { for: `${id}-${option.name}` }, option.label), input, h("span", { class: "amnb-unit" }, option.unit)) };
  });
  const more = h("div", { class: "amnb-subs" }, ...options.map((option) => option.element));
  return {
    element: h("div", { class: "amnb-restarts" }, on, more), input: on,
    update: (state) => {
      const value = state?.here ? state.value : state?.inherited?.value ?? null;
      const given = value !== null && typeof value === "object" ? value : {};
      on.checked = value !== null && (typeof value === "object" || isTrue(value));
      more.hidden = !on.checked;
      for (const option of options) option.bound.show(given[option.name] ?? "");
    },
  };
}
