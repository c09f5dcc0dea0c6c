/** The rows on which two graders differ, each next to a completion on which they agree: a list that is loaded as it is scrolled. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLink } from "../../context.ts";
import { Icon } from "../../Icon.tsx";
import type { Pair } from "../../protocol.ts";
import { Passage } from "./Passage.tsx";
import { layout, PairPages, WINDOW } from "./pairPages.ts";
import { Empty, Loading, Truth } from "./words.tsx";

/** Height in pixels of a pair before it is measured, and of a list if nothing can be measured. */
const PAIR = 92;
const HEIGHT = 560;

export function PairList({ revision, count, empty }: { revision: number; count: number; empty: string }) {
  const link = useLink();
  const pages = useMemo(() => new PairPages(link), [link]);
  const scroller = useRef<HTMLDivElement>(null);
  const heights = useRef(new Map<number, number>());
  const [top, setTop] = useState(0);
  const { revision: here, windows, failed } = pages.shown.value;
  const old = here !== revision;
  const { first, last, above, below } = layout(count, heights.current, PAIR, old ? 0 : top, scroller.current?.clientHeight || HEIGHT);
  useLayoutEffect(() => {
    if (count) pages.want(revision, old ? [0] : Array.from({ length: last - first + 1 }, (_, at) => first + at));
  });
  useLayoutEffect(() => {
    heights.current.clear();
    setTop(0);
    if (scroller.current) scroller.current.scrollTop = 0;
  }, [here]);
  if (!count) return <div class="pairs"><Empty title="No row here" step={empty} /></div>;
  const known = [...windows.keys()].filter((at) => old || (at >= first && at <= last)).sort((a, b) => a - b);
  return (
    <div class={`pairs scroll ${old ? "old" : ""}`} ref={scroller} tabIndex={0} role="group" aria-label="Pairs of completions" aria-busy={old} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      {!known.length && !failed && <Loading what="reading the rows" />}
      {failed && <Failed retry={() => pages.retry()} />}
      <div style={{ height: `${old ? 0 : above}px` }} />
      {Array.from({ length: last - first + 1 }, (_, at) => first + at).map((at) => (
        <Window key={`${here} ${at}`} at={at} pairs={windows.get(at)} count={count} measure={(height) => heights.current.set(at, height)} />
      ))}
      <div style={{ height: `${old ? 0 : below}px` }} />
    </div>
  );
}

function Failed({ retry }: { retry: () => void }) {
  return <p class="line small pairs-failed" role="status">Could not read these rows. <button type="button" class="link" onClick={retry}>Try again</button></p>;
}

interface WindowProps {
  at: number;
  pairs: Pair[] | undefined;
  count: number;
  measure: (height: number) => void;
}

/** A window that is not loaded yet takes its estimated height. */
function Window({ at, pairs, count, measure }: WindowProps) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const height = element.current?.offsetHeight;
    if (pairs && height) measure(height);
  });
  const room = PAIR * Math.min(WINDOW, count - at * WINDOW);
  if (!pairs) return <div style={{ height: `${room}px` }} />;
  return <div ref={element}>{pairs.map((pair) => <PairLine key={pair.left.row} pair={pair} />)}</div>;
}

export function PairLine({ pair }: { pair: Pair }) {
  const [open, setOpen] = useState(false);
  return (
    <article class={`pair ${open ? "open" : ""}`} aria-label={`Row ${pair.left.id}`}>
      <p class="prompt"><span class={open ? "words" : "cut"}>{pair.prompt}</span>
        <button type="button" class="btn plain icon" aria-expanded={open} aria-label={`Whole texts of ${pair.left.id}`} title={open ? "cut the texts" : "show the whole texts"} onClick={() => setOpen(!open)}><Icon name={open ? "up" : "down"} small /></button>
      </p>
      <Side side={pair.left} />
      {pair.right ? <Side side={pair.right} similar /> : <div class="side" />}
    </article>
  );
}

/** `similar`: the row is here for comparison. */
function Side({ side, similar = false }: { side: NonNullable<Pair["right"]>; similar?: boolean }) {
  return (
    <div class="side">
      <p class="who">{similar && <span title="The most similar completion that both graders accept">most similar:</span>}<span class="mono cut">{side.id}</span><Truth label={side.label} /><span class="grow" /><span class="cut">{side.said}</span></p>
      <p class="words answer">{side.text.length ? <Passage pieces={side.text} /> : <span class="faint">(empty)</span>}</p>
    </div>
  );
}
