// Pictures of numbers: a curve, and a bar of shares.
import { h, svg } from "./dom.js";
import { number, percent, t } from "./words.js";

const HEIGHT = 220, LEFT = 44, BOTTOM = 26, TOP = 10, RIGHT = 10;

// points: [[step, loss], ...]; held: the same of sentences that were held back, on a scale of their own
export function curve(points, held) {
  const width = innerWidth < 820 ? 360 : 640; // so that its numbers can be read on a phone, too
  const steps = points.map(([step]) => step), losses = points.map(([, loss]) => loss);
  const sorted = [...losses].sort((a, b) => a - b);
  const low = sorted[0], high = Math.max(sorted[Math.floor(0.98 * (sorted.length - 1))], low + 1e-6); // first steps may be huge
  const last = steps[steps.length - 1];
  const x = (step) => LEFT + ((width - LEFT - RIGHT) * step) / Math.max(last, 1);
  const y = (loss) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (Math.min(loss, high) - low) / (high - low));
  const about = t("train_loss_about", { first: number(losses[0], 3), last: number(losses[losses.length - 1], 3) });
  const rows = [0, 0.5, 1].map((part) => low + part * (high - low));
  const path = points.map(([step, loss], n) => `${n ? "L" : "M"}${x(step).toFixed(1)} ${y(loss).toFixed(1)}`).join("");
  const worst = Math.max(...held.map(([, value]) => value)), best = Math.min(...held.map(([, value]) => value));
  const dot = ([step, value]) => svg("circle", { class: "held", r: 3.5, cx: x(step), cy: TOP + (HEIGHT - TOP - BOTTOM) * (worst > best ? 1 - (value - best) / (worst - best) : 0.5) });
  return svg("svg", { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": about },
    rows.map((value) => [svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, number(value, 2))]),
    svg("text", { x: LEFT, y: HEIGHT - 6 }, number(0)), svg("text", { x: width - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, number(last)),
    svg("path", { class: "line", d: path }), held.filter(([step]) => step <= last).map(dot));
}

const CLASSES = { computing: "computing", padding: "padding", "waiting for data": "waiting", compiling: "compiling", "validation, samples, checkpoints": "between" };

export function shares(parts) {
  const entries = Object.entries(parts);
  const bar = h("div", { class: "parts", "aria-hidden": "true" }, entries.map(([name, share]) => {
    const part = h("span", { class: CLASSES[name] ?? "between" });
    part.style.flexGrow = String(Math.max(share, 0.002));
    return part;
  }));
  return [bar, h("ul", { class: "legend" }, entries.map(([name, share]) =>
    h("li", {}, h("i", { class: CLASSES[name] ?? "between", "aria-hidden": "true" }), `${t(`part_${name}`)} ${percent(share)}`)))];
}
