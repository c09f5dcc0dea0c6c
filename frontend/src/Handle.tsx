/** Edges that resize the parts next to them: moved by dragging or with arrow keys. */

import { useRef } from "preact/hooks";

interface SeparatorProps {
  class: string;
  orientation: "vertical" | "horizontal";
  label: string;
  now: number; // of `most`, for screen readers
  most: number;
  drag: (event: PointerEvent, edge: Element) => void;
  step: (by: -1 | 1, edge: Element) => void;
  done?: () => void;
}

export function Separator({ class: kind, orientation, label, now, most, drag, step, done }: SeparatorProps) {
  const edge = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const [less, more] = orientation === "vertical" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    if ((event.key !== less && event.key !== more) || !edge.current) return;
    event.preventDefault();
    event.stopPropagation();
    step(event.key === less ? -1 : 1, edge.current);
    done?.();
  };
  return (
    <div
      class={kind} role="separator" aria-orientation={orientation} aria-label={label} tabIndex={0} ref={edge} title="Drag to resize"
      aria-valuemin={0} aria-valuemax={most} aria-valuenow={now}
      onPointerDown={(event) => edge.current?.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => edge.current?.hasPointerCapture(event.pointerId) && drag(event, edge.current)}
      onPointerUp={done} onKeyDown={onKeyDown}
    />
  );
}

interface HandleProps {
  share: number | null; // of the part before it, in percent
  move: (percent: number) => void;
  done: () => void;
}

/** The edge between two parts that share a width. */
export function Handle({ share, move, done }: HandleProps) {
  const moveTo = (edge: Element, x: number, by = 0) => {
    const around = edge.parentElement?.parentElement?.getBoundingClientRect();
    if (around?.width) move((100 * (x - around.left)) / around.width + by);
    else move((share ?? 50) + by);
  };
  const middle = (edge: Element) => edge.getBoundingClientRect().left + edge.getBoundingClientRect().width / 2;
  return (
    <Separator
      class="handle" orientation="vertical" label="width of the editor" now={Math.round(share ?? 45)} most={100} done={done}
      drag={(event, edge) => moveTo(edge, event.clientX)} step={(by, edge) => moveTo(edge, middle(edge), 2 * by)}
    />
  );
}
