// The labels of the sentence on the page, as spans and unknown tokens. Knows nothing of the page itself.

export class Marks {
  constructor(length, spans, unknown) {
    this.length = length;
    this.spans = spans.map(span => [...span]).sort((a, b) => a[0] - b[0]);
    this.unknown = new Set(unknown);
    this.history = [];
  }

  // Give the tokens start..stop-1 a label; one token inside a longer span: the whole span.
  label(start, stop, type) {
    const around = this.spanAt(start);
    if (stop - start === 1 && around) [start, stop] = around;
    this.change(() => {
      this.empty(start, stop);
      this.spans.push([start, stop, type]);
      this.spans.sort((a, b) => a[0] - b[0]);
    });
  }

  clear(start, stop) {
    this.change(() => this.empty(start, stop));
  }

  // Make the tokens unknown; if all of them are, no longer.
  toggleUnknown(start, stop) {
    const tokens = Array.from({ length: stop - start }, (_, k) => start + k);
    const all = tokens.every(t => this.unknown.has(t));
    this.change(() => {
      this.empty(start, stop);
      if (!all) tokens.forEach(t => this.unknown.add(t));
    });
  }

  undo() {
    const before = this.history.pop();
    if (!before) return false;
    [this.spans, this.unknown] = before;
    return true;
  }

  spanAt(token) {
    return this.spans.find(([start, stop]) => start <= token && token < stop);
  }

  change(make) {
    this.history.push([this.spans.map(span => [...span]), new Set(this.unknown)]);
    make();
  }

  empty(start, stop) {
    this.spans = this.spans.filter(span => span[1] <= start || stop <= span[0]);
    for (let t = start; t < stop; t++) this.unknown.delete(t);
  }
}
