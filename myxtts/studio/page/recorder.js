// The microphone as samples: nothing is compressed, and nothing is "enhanced" by the browser.
import { toWav } from "./wav.js";

const CLIPPED = 0.985;

export class Recorder {
  constructor(onLevel) {
    this.onLevel = onLevel; // (peak of the last piece, 0 to 1)
    this.pieces = [];
    this.recording = false;
  }

  async open() {
    if (this.context) return;
    const wanted = { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false };
    this.stream = await navigator.mediaDevices.getUserMedia({ audio: wanted });
    this.context = new AudioContext();
    await this.context.audioWorklet.addModule("/page/recorder-worklet.js");
    const source = this.context.createMediaStreamSource(this.stream);
    this.node = new AudioWorkletNode(this.context, "pieces", { numberOfOutputs: 1 });
    this.node.port.onmessage = ({ data }) => this.take(data);
    const silent = this.context.createGain();
    silent.gain.value = 0;
    source.connect(this.node).connect(silent).connect(this.context.destination);
  }

  take(piece) {
    let peak = 0;
    for (const sample of piece) peak = Math.max(peak, Math.abs(sample));
    if (this.recording) {
      this.pieces.push(piece);
      this.peak = Math.max(this.peak, peak);
    }
    this.onLevel(peak);
  }

  async start() {
    await this.open();
    await this.context.resume();
    this.pieces = [];
    this.peak = 0;
    this.recording = true;
  }

  stop() {
    this.recording = false;
    const length = this.pieces.reduce((sum, piece) => sum + piece.length, 0);
    return { blob: toWav(this.pieces, this.context.sampleRate), seconds: length / this.context.sampleRate, peak: this.peak, clipped: this.peak >= CLIPPED };
  }

  close() {
    this.stream?.getTracks().forEach((track) => track.stop());
    this.context?.close();
    this.context = null;
  }
}
