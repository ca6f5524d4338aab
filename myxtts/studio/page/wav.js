// Samples to a mono 16-bit wav, without loss beyond that.

export function toWav(pieces, rate) {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const view = new DataView(new ArrayBuffer(44 + 2 * length));
  const text = (at, word) => [...word].forEach((letter, n) => view.setUint8(at + n, letter.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + 2 * length, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * length, true);
  let at = 44;
  for (const piece of pieces) {
    for (const sample of piece) {
      view.setInt16(at, Math.max(-1, Math.min(1, sample)) * 32767, true);
      at += 2;
    }
  }
  return new Blob([view], { type: "audio/wav" });
}

// What the server cannot decode and the browser can (m4a, webm): as a wav.
export async function decodeHere(file) {
  const context = new AudioContext();
  try {
    const sound = await context.decodeAudioData(await file.arrayBuffer());
    const mono = new Float32Array(sound.length);
    for (let channel = 0; channel < sound.numberOfChannels; channel += 1) {
      sound.getChannelData(channel).forEach((value, n) => { mono[n] += value / sound.numberOfChannels; });
    }
    return toWav([mono], sound.sampleRate);
  } finally {
    context.close();
  }
}
