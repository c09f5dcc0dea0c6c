/** A value that is moved by dragging or by keys: shown as it moves, sent when it rests. */

import { useEffect, useRef, useState } from "preact/hooks";

/** Milliseconds after the last key. */
export const REST = 250;

export interface Moving {
  /** The current value: the moved one, until the kernel has replied. */
  value: number;
  move: (value: number) => void;
  rest: () => void;
  /** Moved by a key: it rests after a pause. */
  nudge: (value: number) => void;
}

/** `answer` is the kernel's reply: when it is another object, the kernel's value applies again. */
export function useMoving(given: number, answer: unknown, tell: (value: number) => void): Moving {
  const [moved, setMoved] = useState<number | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef<number | null>(null);
  const dragging = useRef(false);
  const move = (value: number) => {
    dragging.current = true;
    latest.current = value;
    setMoved(value);
  };
  const rest = () => {
    clearTimeout(timer.current);
    if (!dragging.current || latest.current === null) return;
    dragging.current = false;
    tell(latest.current);
  };
  const nudge = (value: number) => {
    move(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(rest, REST);
  };
  useEffect(() => {
    if (!dragging.current) setMoved(null);
  }, [answer]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return { value: moved ?? given, move, rest, nudge };
}

/** Round to a step, without the error of binary fractions. */
export function toStep(value: number, step: number, [least, most]: readonly [number, number]): number {
  const stepped = Math.round(value / step) * step;
  return Number(Math.max(least, Math.min(most, stepped)).toPrecision(10));
}

/** Which way a key moves a slider: -1, 1, or 0 for another key. */
export function keyStep(key: string): number {
  return { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[key] ?? 0;
}
