// Runs beside the page: hands every block of samples over, in larger pieces.
class Pieces extends AudioWorkletProcessor {
  constructor() {
    super();
    this.piece = new Float32Array(2048);
    this.filled = 0;
  }

  process(inputs) {
    const block = inputs[0]?.[0];
    if (!block) return true;
    for (const sample of block) {
      this.piece[this.filled++] = sample;
      if (this.filled === this.piece.length) {
        this.port.postMessage(this.piece.slice());
        this.filled = 0;
      }
    }
    return true;
  }
}

registerProcessor("pieces", Pieces);
