/** Where the evidence rows of the finding come from: the values of one column. */

import { Bar } from "./Bar.tsx";
import type { From as FromData } from "./protocol.ts";
import { useTell } from "./view.ts";
import { count } from "./words.ts";

export function From({ from }: { from: FromData }) {
  const tell = useTell();
  return (
    <div class="from">
      <div class="line"><h3>{from.title}</h3><span class="small faint grow cut">{from.note}</span></div>
      {from.lines.map(({ text, counts, hits, of, where }) => (
        <button key={text} type="button" class="fr" onClick={() => tell({ do: "look", where })}>
          <span class="cut" title={text}>{text}</span>
          <Bar counts={counts} />
          <span class="num small"><b>{count(hits)}</b> <span class="faint">of {count(of)}</span></span>
        </button>
      ))}
    </div>
  );
}
