/** Small texts shared by several modes: terms with a tip, a row's label, what to do if there is nothing yet. */

import type { ComponentChildren } from "preact";
import { Breakable } from "../../Breakable.tsx";
import { Icon, Meaning } from "../../Icon.tsx";
import type { Shape } from "../../protocol.ts";

/** A term of the field with one sentence about it. */
export function Term({ tip, children }: { tip: string; children: string }) {
  if (!tip) return <span>{children}</span>;
  return <span class="term" role="note" tabIndex={0} title={tip} aria-label={`${children}: ${tip}`}>{children}</span>;
}

export function truthShape(label: boolean | null): Shape {
  return label === null ? "none" : label ? "good" : "bad";
}

/** A row's label, as shape and word. */
export function Truth({ label }: { label: boolean | null }) {
  return (
    <span class="truth">
      <Meaning shape={truthShape(label)} small />
      {label === null ? "unlabelled" : label ? "good" : "bad"}
    </span>
  );
}

/** An empty part: what it will show, and the next step. */
export function Empty({ title, step, children }: { title: string; step: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p class="mute">{step}</p>
      {children && <div class="line">{children}</div>}
    </div>
  );
}

/** A sentence that reports something, announced when it comes. */
export function Notice({ shape, children }: { shape: Shape; children: ComponentChildren }) {
  return <div class="notice" role="status"><Meaning shape={shape} /><div>{children}</div></div>;
}

export interface Choice {
  value: string;
  text: string;
  tip?: string;
}

interface SelectProps {
  name: string; // accessible name of the choice
  value: string;
  choices: Choice[];
  class?: string;
  tip?: string;
  disabled?: boolean;
  choose: (value: string) => void;
}

/** A select that looks like its text. Its arrow is drawn here: hosts style the native arrow for one theme only.
 *
 * A long name takes a second line, which a native select cannot do: the text is drawn below an invisible select.
 */
export function Select({ name, value, choices, class: kind = "", tip, disabled = false, choose }: SelectProps) {
  const known = choices.find((choice) => choice.value === value);
  return (
    <span class={`select ${kind}`}>
      {kind === "code" && <span class="shown-name" aria-hidden="true"><Breakable text={known?.text ?? (value || "none")} /></span>}
      <select aria-label={name} title={tip} value={value} disabled={disabled} onChange={(event) => choose(event.currentTarget.value)}>
        {!known && <option value={value}>{value || "none"}</option>}
        {choices.map((choice) => <option key={choice.value} value={choice.value} title={choice.tip}>{choice.text}</option>)}
      </select>
      <Icon name="down" small />
    </span>
  );
}

/** Choices whose value is their text. */
export function named(values: string[]): Choice[] {
  return values.map((value) => ({ value, text: value }));
}

/** A toggle button. */
export function Toggle(props: { on: boolean; shape: Shape; text: string; class?: string; name?: string; title?: string; press: () => void }) {
  return (
    <button type="button" class={props.class ?? "btn"} aria-pressed={props.on} aria-label={props.name} title={props.title} onClick={props.press}>
      <Meaning shape={props.shape} small /> {props.text}
    </button>
  );
}

export function Loading({ what }: { what: string }) {
  return <div class="empty" role="status"><p class="mute"><Icon name="wait" small /> {what}</p></div>;
}

export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
