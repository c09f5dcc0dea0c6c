/** The toolbar: which rows, which mode, the state, Run. */

import { useLink } from "./context.ts";
import { DrawSettings } from "./DrawSettings.tsx";
import { Icon, Meaning } from "./Icon.tsx";
import { MoreMenu } from "./MoreMenu.tsx";
import { moveFocus, Popover } from "./Popover.tsx";
import type { Head, Shape } from "./protocol.ts";
import { useTell, useView } from "./view.ts";
import { count } from "./words.ts";

export function Top() {
  const { state } = useLink();
  const view = useView();
  const head = state.head.value;
  return (
    <header class="top">
      <span class="data">
        <Icon name="table" />
        <b class="cut" title={head.dataset}>{head.dataset}</b>
        <Popover class="btn plain drawn" label="Which rows are graded" button={<>{rows(head)} <Icon name="down" small /></>}>
          {(close) => <DrawSettings close={close} />}
        </Popover>
      </span>
      {state.part.value ? null : <Modes />}
      <span class="grow" />
      <State />
      <Run />
      <span class="line tools-end">
        <button type="button" class="btn icon plain" aria-label="keys and terms" title="Keys and terms" aria-haspopup="dialog" aria-expanded={view.help.value} onClick={() => (view.help.value = !view.help.value)}>?</button>
        <MoreMenu />
      </span>
      <Working />
    </header>
  );
}

function rows({ drawn, total }: Head): string {
  return drawn < total ? `${count(drawn)} of ${count(total)} rows` : `${count(total)} rows`;
}

function Modes() {
  const { state } = useLink();
  const tell = useTell();
  const open = state.mode.value;
  const onKeyDown = (event: KeyboardEvent) => {
    if (moveFocus(event, event.currentTarget as HTMLElement, "button", ["ArrowLeft", "ArrowRight"])) event.preventDefault();
  };
  return (
    <nav class="modes" aria-label="modes" onKeyDown={onKeyDown}>
      {state.head.value.modes.map(([mode, title]) => (
        <button key={mode} type="button" aria-current={mode === open ? "page" : undefined} onClick={() => tell({ do: "mode", mode })}>
          <span data-text={title}>{title}</span>
        </button>
      ))}
    </nav>
  );
}

const SHAPES: Record<Head["state"]["shape"], Shape | "tick" | null> = { ok: "tick", busy: "wait", old: "unsettled", none: null, failed: "failed" };

export const LOST = "The kernel does not respond. Your actions wait; if it was restarted, run the cell again, or reload the page.";

/** The state as a shape and a few words. */
function State() {
  const { state, line } = useLink();
  const { running, text } = state.progress.value;
  const { shape, text: stands } = state.head.value.state;
  if (line.value === "lost") return <Standing shape="failed" text={LOST} class="lost" />;
  if (running) return <Standing shape="wait" text={text} />;
  return <Standing shape={SHAPES[shape]} text={stands} />;
}

function Standing({ shape, text, class: kind = "" }: { shape: Shape | "tick" | null; text: string; class?: string }) {
  return (
    <span class={`state ${kind}`} role="status">
      {shape === "tick" ? <Icon name="tick" class="c-good" small /> : shape && <Meaning shape={shape} small />}
      <span class="cut" title={text}>{text}</span>
    </span>
  );
}

function Run() {
  const { state } = useLink();
  const tell = useTell();
  const { can_run: can, plan, cost, state: { shape } } = state.head.value;
  if (state.progress.value.running) {
    return <button type="button" class="btn" onClick={() => tell({ do: "stop" })}><Icon name="stop" small />Stop</button>;
  }
  return (
    <button type="button" class={`btn ${shape === "old" ? "main" : ""}`} disabled={!can} title={plan} onClick={() => tell({ do: "run" })}>
      <Icon name="play" small />Run{cost && <span class="cost" aria-hidden="true">{cost}</span>}
    </button>
  );
}

/** A thin line below the toolbar: the progress of a run, or a sign that a reply is pending. */
function Working() {
  const { state, line } = useLink();
  const { running, done, total } = state.progress.value;
  if (running) {
    const share = total ? Math.min(100, (100 * done) / total) : 0;
    return (
      <span class="working" role="progressbar" aria-label="run" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(share)}>
        <i style={{ width: `${share}%` }} />
      </span>
    );
  }
  return line.value === "busy" ? <span class="working waits" aria-hidden="true"><i /></span> : null;
}
