/** Text that a user types and the kernel may set: typed text is sent after a pause, the kernel's text replaces it. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Link } from "../../link.ts";

/** Milliseconds without a key after which a text is sent. */
export const PAUSE = 300;

export interface Typed {
  text: string;
  type: (text: string) => void;
  flush: () => void; // send a pending text now
}

/**
 * @param value the kernel's text
 * @param revision counts the kernel's texts: only an increase replaces the content with `value`
 * @param send called with the text, a pause after the last key, or when the field goes
 */
export function useTyped(value: string, revision: number | string, send: (text: string) => void, pause = PAUSE): Typed {
  const [text, setText] = useState(value);
  const known = useRef(revision);
  const waiting = useRef<{ text: string; timer: ReturnType<typeof setTimeout> } | null>(null);
  const sender = useRef(send);
  sender.current = send;
  const forget = () => {
    clearTimeout(waiting.current?.timer);
    waiting.current = null;
  };
  const flush = () => {
    const typed = waiting.current;
    forget();
    if (typed) sender.current(typed.text);
  };
  const type = (typed: string) => {
    forget();
    setText(typed);
    waiting.current = { text: typed, timer: setTimeout(flush, pause) };
  };
  useLayoutEffect(() => flush, []); // not a passive effect: those end after the mode has been removed
  if (known.current !== revision) {
    known.current = revision;
    forget();
    if (text !== value) setText(value);
    return { text: value, type, flush };
  }
  return { text, type, flush };
}

/** A text whose every change is returned by the kernel: a returned text does not replace what was typed since. */
export function useSearch(value: string, send: (text: string) => void): Typed {
  const seen = useRef({ value, sent: value, revision: 0 });
  if (seen.current.value !== value) {
    const revision = seen.current.revision + (value === seen.current.sent ? 0 : 1);
    seen.current = { value, sent: value, revision };
  }
  const tell = (text: string) => {
    if (text === seen.current.sent) return;
    seen.current.sent = text;
    send(text);
  };
  return useTyped(value, seen.current.revision, tell);
}

const counts = new WeakMap<Link, number>();

/** A number that increases with every call, of one page. */
export function nextSeq(link: Link): number {
  const seq = (counts.get(link) ?? 0) + 1;
  counts.set(link, seq);
  return seq;
}
