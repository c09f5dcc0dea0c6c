/** What became of the files that were opened: what each was taken for, the rows that wait, undo. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { useLink } from "./context.ts";
import { Icon, Meaning } from "./Icon.tsx";
import type { Offer, OpenedFile } from "./protocol.ts";
import { useTell, useView } from "./view.ts";
import { count } from "./words.ts";

export function OpenedFiles() {
  const { files } = useView();
  const sending = files.sending.value;
  const opened = useLink().state.files.value;
  if (sending) {
    const percent = Math.floor((100 * sending.done) / Math.max(1, sending.total));
    return <Waiting text={`Sending ${sending.name}: ${percent} % of ${megabytes(sending.total)}`} cancel={() => files.cancel()} />;
  }
  if (opened?.reading) return <Waiting text={`Reading ${opened.reading} …`} />;
  if (!opened?.files.length) return null;
  return (
    <section class="opened" aria-label="Opened files">
      <div class="files scroll" tabIndex={0} role="status">
        {opened.files.map((file, at) => <File key={at} file={file} />)}
        {opened.hidden && <p class="small faint">and {opened.hidden}</p>}
      </div>
      <Actions offer={opened.offer} used={opened.used} undo={opened.undo} />
    </section>
  );
}

function Waiting({ text, cancel }: { text: string; cancel?: () => void }) {
  return (
    <div class="opened line" role="status">
      <Meaning shape="wait" small /><span class="grow cut">{text}</span>
      {cancel && <button type="button" class="btn" onClick={cancel}>Cancel</button>}
    </div>
  );
}

function File({ file: { text, notes, problem } }: { file: OpenedFile }) {
  return (
    <div class="file">
      {problem ? <Meaning shape="failed" small /> : <Icon name="file" small />}
      <div class="grow">
        <p><b>{text}</b></p>
        {problem && <p class="said">{problem}</p>}
        {!problem && notes.map((note) => <p key={note} class="small mute">{note}</p>)}
      </div>
    </div>
  );
}

function Actions({ offer, used, undo }: { offer: Offer | null; used: string; undo: string }) {
  const tell = useTell();
  const first = useRef<HTMLButtonElement>(null);
  // The next thing to decide: by keyboard without a way through the whole view.
  useLayoutEffect(() => first.current?.focus({ preventScroll: true }), [offer !== null]);
  return (
    <div class="line acts">
      {offer && offer.rows > 0 && (
        <>
          <button ref={first} type="button" class="btn main" onClick={() => tell({ do: "use_rows", how: "replace" })}>Replace the rows</button>
          {offer.extends && <button type="button" class="btn" onClick={() => tell({ do: "use_rows", how: "extend" })}>Add the rows</button>}
          <span class="small mute grow">{count(offer.rows)} rows of the file; the app has {count(offer.now)}. {offer.why}</span>
        </>
      )}
      {offer && !offer.rows && <span class="small mute grow">{offer.why}</span>}
      {!offer && <span class="small mute grow">{used === "replace" ? "The app shows these rows." : used === "extend" ? "The rows were added below the others." : ""}</span>}
      {undo && <button type="button" class="btn" title={`Undo: ${undo}`} onClick={() => tell({ do: "undo_opening" })}><Icon name="undo" small />Undo</button>}
      <button type="button" class="btn icon plain" aria-label="dismiss the opened files" title={offer ? "Do not use these rows" : "Dismiss"} onClick={() => tell({ do: "close_opening" })}><Icon name="cross" small /></button>
    </div>
  );
}

function megabytes(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
