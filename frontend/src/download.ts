/** Save texts and figures as files; copy code to the clipboard. */

import { h, render } from "preact";
import { Figure } from "./Figure.tsx";
import type { Link } from "./link.ts";
import type { Chosen } from "./protocol.ts";
import type { View } from "./view.ts";

/** Copy a text to the clipboard; false if the browser does not allow it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Select the content of an element, to be copied by hand. */
export function selectText(element: Element): void {
  const selection = element.ownerDocument.getSelection();
  selection?.selectAllChildren(element);
}

export function saveText(text: string, name: string, type: string): void {
  saveBlob(new Blob([text], { type: `${type};charset=utf-8` }), name);
}

export async function saveRows(link: Link): Promise<void> {
  saveText(await link.ask<string>({ ask: "csv" }), "rows.csv", "text/csv");
}

function saveBlob(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Save the figure of the selected grader's scores as a file. */
export async function saveFigure({ link, root }: View, kind: "svg" | "png"): Promise<void> {
  const chosen = link.state.chosen.peek();
  const { name, scores } = chosen;
  if (!scores || !root) return;
  const svg = figureText(chosen, root);
  const file = `${name || "scores"}.${kind}`;
  if (kind === "svg") saveText(svg, file, "image/svg+xml");
  else saveBlob(await toPng(svg), file);
}

/** The figure as the text of a self-contained SVG file, with the current colours. */
export function figureText(chosen: Chosen, root: HTMLElement): string {
  const place = document.createElement("div");
  place.className = "to-file";
  root.append(place);
  render(h(Figure, { chosen }), place);
  const svg = place.querySelector("svg.figure") as SVGSVGElement;
  inlineColours(svg);
  const text = new XMLSerializer().serializeToString(svg);
  render(null, place);
  place.remove();
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text}\n`;
}

const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "paint-order", "opacity", "font-family", "font-size", "font-weight", "text-anchor"] as const;

function inlineColours(svg: SVGSVGElement): void {
  for (const area of svg.querySelectorAll(".reach")) area.remove();
  // All are read before the first is changed, because an element's style depends on the classes above it.
  const styles = [svg, ...svg.querySelectorAll<SVGElement>("*")].map((element) => [element, styleOf(element)] as const);
  for (const [element, style] of styles) {
    element.setAttribute("style", style);
    element.removeAttribute("class");
  }
}

function styleOf(element: SVGElement): string {
  const computed = getComputedStyle(element);
  const styles = STYLES.map((name) => [name, computed.getPropertyValue(name)] as const);
  return styles.flatMap(([name, value]) => (value ? [`${name}:${value}`] : [])).join(";");
}

const SHARP = 2;

async function toPng(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * SHARP;
  canvas.height = image.naturalHeight * SHARP;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png"));
}
