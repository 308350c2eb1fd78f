// The notebook around the form, where the front end lets a widget see it (JupyterLab and Notebook 7 do).

const MAGIC = "%%automodel_launch";

class NotebookAround {
  constructor(model, key) {
    Object.assign(this, { model, key });
    this.written = null; // the cell that was written last: {id, text}
  }

  get shared() {
    // the widget manager of JupyterLab and Notebook 7 knows the document that it draws in; others have none
    return this.model.widget_manager?.context?.model?.sharedModel ?? null;
  }

  get cells() {
    return this.shared?.cells ?? [];
  }

  /** Cells that launch: [what to show, text]. */
  launches() {
    return this.cells
      .map((cell, index) => [index, String(cell.source ?? "")])
      .filter(([, text]) => text.trimStart().startsWith(MAGIC))
      .map(([index, text]) => [`Cell ${index + 1} · ${/^\s*job_name:\s*(\S+)/m.exec(text)?.[1] ?? text.split("\n")[0].slice(MAGIC.length).trim() ?? ""}`, text]);
  }

  /** Writes a cell below the form's, or over the one that was written before and not touched since. False: there is no notebook. */
  write(text) {
    const { shared } = this;
    if (!shared?.insertCell) return false;
    const before = this.cells.find((cell) => cell.id === this.written?.id);
    if (before && before.source === this.written.text) {
      before.source = text;
    } else {
      const at = this.place();
      const cell = shared.insertCell(at + 1, { cell_type: "code", source: text, metadata: {}, outputs: [] });
      this.written = { id: (cell ?? this.cells[at + 1]).id };
    }
    this.written.text = text;
    return true;
  }

  /** Index of the cell that the form stands in; the last one where that cannot be told. */
  place() {
    const own = this.cells.findIndex((cell) => JSON.stringify(cell.getOutputs?.() ?? cell.outputs ?? []).includes(this.key));
    return own >= 0 ? own : this.cells.length - 1;
  }
}
