/** A map of rows above the table: similar rows near each other. A box, a cluster or a point selects rows. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLink } from "./context.ts";
import { Icon } from "./Icon.tsx";
import type { Link } from "./link.ts";
import { COLOURED, draw, inBox, nearest, type Box, type Coloured, type Placed } from "./map.ts";
import type { MapData, MapState, Table } from "./protocol.ts";
import { useWidth } from "./size.ts";
import { useTell, useView } from "./view.ts";
import { count } from "./words.ts";

const HEIGHT = 230;
const FIRST_WIDTH = 380;
/** Milliseconds between two requests for a map that is being computed. */
const PAUSE = 300;
/** Pixels that a pointer moves before a click becomes a box. */
const STILL = 4;

export function RowMap({ table }: { table: Table }) {
  const { map, problem } = useMap(table);
  const state = useMapState(table, map);
  const [by, setBy] = useState<Coloured>("verdict");
  return (
    <section class="row-map" aria-label="Map of the rows">
      <div class="line small">
        <span class="faint cut grow">{map ? map.note : ""}</span>
        <span role="group" aria-label="colour of the points" class="line by">
          {COLOURED.map((each) => <button key={each} type="button" class="btn plain" aria-pressed={by === each} onClick={() => setBy(each)}>{each}</button>)}
        </span>
      </div>
      {problem && <p class="small c-failed" role="alert">No map: {problem}</p>}
      {!problem && !map && <p class="small mute waits" role="status"><Icon name="wait" small /> placing the rows …</p>}
      {map && <Points map={map} state={state} by={by} />}
      {map && <Clusters map={map} />}
    </section>
  );
}

/** The map, requested until it is computed; again for other rows. */
function useMap(table: Table): { map: Placed | null; problem: string } {
  const link = useLink();
  const [map, setMap] = useState<Placed | null>(null);
  const [problem, setProblem] = useState("");
  const { n, seed, by } = link.state.head.value.draw;
  const drawn = `${table.total} ${n} ${seed} ${by}`;
  useEffect(() => {
    let open = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = () =>
      link.ask<MapData>({ ask: "map" }).then((data) => {
        if (!open) return;
        setProblem(data.problem);
        if (data.busy) timer = setTimeout(ask, PAUSE);
        else setMap(data.rows ? (data as Placed) : null);
      }, (reason: Error) => open && setProblem(reason.message));
    setMap(null);
    void ask();
    return () => {
      open = false;
      clearTimeout(timer);
    };
  }, [drawn]);
  return { map, problem };
}

/** Colours and selection of the points, with every state of the table. */
function useMapState(table: Table, map: Placed | null): MapState | null {
  const link: Link = useLink();
  const [state, setState] = useState<MapState | null>(null);
  useEffect(() => {
    let open = true;
    if (map) link.ask<MapState>({ ask: "map_state" }).then((now) => open && setState(now), () => undefined);
    return () => void (open = false);
  }, [table.revision, map]);
  return state;
}

function Points({ map, state, by }: { map: Placed; state: MapState | null; by: Coloured }) {
  const view = useView();
  const tell = useTell();
  const canvas = useRef<HTMLCanvasElement>(null);
  const { element, width } = useWidth<HTMLDivElement>(FIRST_WIDTH);
  const [box, setBox] = useState<Box | null>(null);
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const root = canvas.current?.closest("[data-theme]");
    if (!root || typeof MutationObserver === "undefined") return;
    const observer = new MutationObserver(() => setTheme((times) => times + 1));
    observer.observe(root, { attributeFilter: ["data-theme"] });
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (canvas.current) draw(canvas.current, { width, height: HEIGHT }, map, state, by);
  }, [map, state, by, width, theme]);
  const at = (event: PointerEvent): [number, number] => {
    const around = (event.currentTarget as Element).getBoundingClientRect();
    return [((event.clientX - around.left) * width) / (around.width || 1), ((event.clientY - around.top) * HEIGHT) / (around.height || 1)];
  };
  const down = (event: PointerEvent) => {
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    setBox({ from: at(event), to: at(event) });
  };
  const up = (event: PointerEvent) => {
    if (!box) return;
    const done = { ...box, to: at(event) };
    setBox(null);
    view.narrows = event.shiftKey;
    if (Math.abs(done.to[0] - done.from[0]) + Math.abs(done.to[1] - done.from[1]) <= STILL) {
      const row = nearest(map, done.to, { width, height: HEIGHT });
      if (row !== null) tell({ do: "select", row });
      return;
    }
    const rows = inBox(map, done, { width, height: HEIGHT });
    if (rows.length) view.look({ rows });
  };
  const drawn = box && { left: Math.min(box.from[0], box.to[0]), top: Math.min(box.from[1], box.to[1]), width: Math.abs(box.to[0] - box.from[0]), height: Math.abs(box.to[1] - box.from[1]) };
  return (
    <div class="points" ref={element}>
      <canvas
        ref={canvas} role="img" aria-label={`${count(map.rows.length)} rows, similar ones near each other, in ${map.names.length} clusters`} style={{ width: `${width}px`, height: `${HEIGHT}px` }}
        title="Drag a box to select its rows, with Shift to narrow; click a point to read it" onPointerDown={down} onPointerMove={(event) => box && setBox({ ...box, to: at(event) })} onPointerUp={up} onPointerCancel={() => setBox(null)}
      />
      {drawn && <span class="box" style={Object.fromEntries(Object.entries(drawn).map(([side, pixels]) => [side, `${pixels}px`]))} />}
    </div>
  );
}

/** The clusters by their words, which select their rows: the map by keyboard. */
function Clusters({ map }: { map: Placed }) {
  const view = useView();
  const sizes = map.names.map(() => 0);
  for (const cluster of map.clusters) sizes[cluster] = (sizes[cluster] ?? 0) + 1;
  return (
    <div class="clusters" role="group" aria-label="clusters">
      {map.names.map((name, at) => (
        <button key={name} type="button" class="chip" title={`${name}: ${count(sizes[at] ?? 0)} rows`} onClick={() => view.look({ rows: map.rows.filter((_, place) => map.clusters[place] === at) })}>
          <span class="cut">{name}</span><span class="faint">{count(sizes[at] ?? 0)}</span>
        </button>
      ))}
    </div>
  );
}
