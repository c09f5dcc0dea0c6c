/** The handle between two parts that share a width: move it by dragging or with arrow keys. */

import { useRef } from "preact/hooks";

interface HandleProps {
  share: number | null; // of the part before it, in percent
  move: (percent: number) => void;
  done: () => void;
}

export function Handle({ share, move, done }: HandleProps) {
  const handle = useRef<HTMLDivElement>(null);
  const box = () => handle.current?.parentElement?.parentElement?.getBoundingClientRect();
  const here = () => {
    const around = box();
    const at = handle.current?.getBoundingClientRect();
    return around?.width && at ? (100 * (at.left + at.width / 2 - around.left)) / around.width : (share ?? 50);
  };
  const drag = (event: PointerEvent) => {
    const around = box();
    if (handle.current?.hasPointerCapture(event.pointerId) && around?.width) move((100 * (event.clientX - around.left)) / around.width);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
    if (!by) return;
    event.preventDefault();
    move(here() + by);
    done();
  };
  return (
    <div
      class="handle" role="separator" aria-orientation="vertical" aria-label="width of the editor" tabIndex={0} ref={handle}
      aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(share ?? 45)} title="Drag to resize"
      onPointerDown={(event) => handle.current?.setPointerCapture(event.pointerId)}
      onPointerMove={drag} onPointerUp={done} onKeyDown={onKeyDown}
    />
  );
}
