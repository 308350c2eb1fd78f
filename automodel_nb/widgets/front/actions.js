// Buttons that act on a job. Whatever cannot be undone asks once.

class Actions {
  constructor(send) {
    this.send = send;
    this.root = h("div", { class: "amnb-actions" });
    this.draw = redrawn(this.root, (actions) => actions.map((action) => this.button(action)));
  }

  /** actions: [{do, label, ask, title, target}]; with `ask`, a question that is answered before anything is sent. */
  update(actions) {
    this.draw(actions);
  }

  button({ do: what, label, ask, title, target }) {
    const act = () => this.send({ do: what, target });
    const button = h("button", { type: "button", class: `amnb-button amnb-do-${what}`, title, onclick: ask ? () => question() : act }, label);
    if (!ask) return button;
    const place = h("span", { class: "amnb-ask" }, button);
    const back = () => { place.replaceChildren(button); button.focus(); };
    const question = () => {
      const yes = h("button", { type: "button", class: "amnb-button amnb-yes", onclick: () => { back(); act(); } }, label);
      const no = h("button", { type: "button", class: "amnb-button", onclick: back }, "No");
      place.replaceChildren(h("span", { role: "alert" }, ask), yes, no);
      no.focus();
      place.onkeydown = (event) => event.key === "Escape" && back();
    };
    return place;
  }
}
